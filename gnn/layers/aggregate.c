/* gnn/layers/aggregate.c: see gnn/layers/aggregate.h. */
#include "gnn/layers/aggregate.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"

const weft_activity ACTIVITY_AGGREGATE[1] = {{.text = "aggregate", .kind = ACTIVITY_COMPUTES}};
const weft_activity ACTIVITY_HALO[1] = {{.text = "halo exchange", .kind = ACTIVITY_MOVES}};

/* A vector [n_local, 1] from values of the owned rows, zero on replicas. */
static weft_status vector_upload(gnn_aggregator *a, const double *owned, weft_tensor *vector)
{
    weft_status status = WEFT_OK;
    void *host = NULL;
    WEFT_TRY(tensor_create(a->hal, a->dtype, a->n_local, 1, WEFT_MEM_GRAPH, vector));
    WEFT_TRY(weft_calloc((size_t)a->n_local, weft_dtype_bytes(a->dtype), WEFT_MEM_WORKSPACE, &host));
    for (int64_t i = 0; i < a->n_owned; ++i) {
        if (a->dtype == WEFT_DTYPE_F64) {
            ((double *)host)[i] = owned[i];
        } else {
            ((float *)host)[i] = (float)owned[i];
        }
    }
    status = tensor_upload(vector, host);
    weft_free(host);
    return status;
}

static weft_status halo_post(gnn_halo *halo, halo_direction direction, bool backward, weft_tensor *x)
{
    if (halo == NULL) {
        return WEFT_OK;
    }
    activity_begin(ACTIVITY_HALO);
    weft_status status = gnn_halo_post(halo, direction, backward, x);
    activity_end(ACTIVITY_HALO);
    return status;
}

static weft_status halo_wait(gnn_halo *halo)
{
    if (halo == NULL) {
        return WEFT_OK;
    }
    activity_begin(ACTIVITY_HALO);
    weft_status status = gnn_halo_wait(halo);
    activity_end(ACTIVITY_HALO);
    return status;
}

static weft_status halo_exchange(gnn_halo *halo, halo_direction direction, bool backward, weft_tensor *x)
{
    WEFT_TRY(halo_post(halo, direction, backward, x));
    return halo_wait(halo);
}

/* Replicas learn the scale of their vertex from its root; a replica may appear in either list. */
static weft_status share_vector(gnn_aggregator *a, weft_tensor *vector)
{
    WEFT_TRY(halo_exchange(a->sources, HALO_FORWARD, false, vector));
    return a->destinations != a->sources ? halo_exchange(a->destinations, HALO_FORWARD, false, vector) : WEFT_OK;
}

static bool is_symmetric(gnn_normalisation normalisation)
{
    return normalisation == GNN_NORM_SYMMETRIC || normalisation == GNN_NORM_SYMMETRIC_OTHERS;
}

static bool counts_self(gnn_normalisation normalisation)
{
    return normalisation != GNN_NORM_MEAN && normalisation != GNN_NORM_SYMMETRIC_OTHERS;
}

/* What a rank makes for itself, without talking. degree: [n_owned] edges into each vertex, or their weights, added up. */
static weft_status create_own_scales(gnn_aggregator *a, const double *degree, gnn_normalisation normalisation,
                                     gnn_vertex_scales *scales)
{
    weft_status status = WEFT_OK;
    double *scale = NULL;
    WEFT_TRY(WEFT_NEW(&scale, a->n_owned, WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < a->n_owned; ++i) {
        const double edges = degree[i];
        assert(edges >= 0.0);
        switch (normalisation) {
        case GNN_NORM_MEAN:
            scale[i] = edges > 0 ? 1.0 / edges : 0.0;
            break;
        case GNN_NORM_MEAN_SELF:
            scale[i] = 1.0 / (edges + 1.0);
            break;
        case GNN_NORM_SUM_SELF:
            scale[i] = 1.0;
            break;
        case GNN_NORM_SYMMETRIC:
            scale[i] = 1.0 / sqrt(edges + 1.0);
            break;
        case GNN_NORM_SYMMETRIC_OTHERS:
            scale[i] = edges > 0 ? 1.0 / sqrt(edges) : 0.0;
            break;
        }
    }
    if (normalisation != GNN_NORM_SUM_SELF) {
        WEFT_TRY_GOTO(vector_upload(a, scale, &scales->post), status, done);
    }
    if (is_symmetric(normalisation)) {
        WEFT_TRY_GOTO(vector_upload(a, scale, &scales->pre), status, done);
        for (int64_t i = 0; i < a->n_owned; ++i) {
            scale[i] *= scale[i];
        }
    }
    if (counts_self(normalisation)) {
        status = vector_upload(a, scale, &scales->diag);
    }
done:
    weft_free(scale);
    return status;
}

/* Edges between owned vertices, by destination. */
static weft_status create_scales_of_owned(gnn_aggregator *a, const weft_part *part, gnn_normalisation normalisation)
{
    double *degree = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&degree, a->n_owned, WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < a->n_owned; ++i) {
        for (int64_t e = part->offset[i]; e < part->offset[i + 1]; ++e) {
            const double weight = part->weight != NULL ? (double)part->weight[e] : 1.0;
            degree[i] += part->source[e] < a->n_owned ? weight : 0.0;
        }
    }
    weft_status status = create_own_scales(a, degree, normalisation, &a->own_scales);
    weft_free(degree);
    return status;
}

/* All edges into owned vertices, wherever they lie. */
static weft_status create_scales_of_all(gnn_aggregator *a, const weft_part *part, gnn_normalisation normalisation)
{
    double *degree = NULL;
    if (part->in_weight != NULL) {
        return create_own_scales(a, part->in_weight, normalisation, &a->scales);
    }
    WEFT_TRY(WEFT_NEW(&degree, a->n_owned, WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < a->n_owned; ++i) {
        degree[i] = (double)part->in_degree[i];
    }
    weft_status status = create_own_scales(a, degree, normalisation, &a->scales);
    weft_free(degree);
    return status;
}

/* Agreed before the exchange: a rank that cannot take part would leave the others waiting in it. */
static weft_status create_scales(gnn_aggregator *a, const weft_part *part, const gnn_aggregator_options *options)
{
    const bool symmetric = is_symmetric(options->normalisation);
    weft_status status = create_scales_of_all(a, part, options->normalisation);
    if (status == WEFT_OK && options->halo.none) {
        status = create_scales_of_owned(a, part, options->normalisation);
    }
    WEFT_TRY(comm_agree(a->comm, status));
    WEFT_TRY(options->normalisation != GNN_NORM_SUM_SELF ? share_vector(a, &a->scales.post) : WEFT_OK);
    return symmetric ? share_vector(a, &a->scales.pre) : WEFT_OK;
}

static weft_status create_halos(gnn_aggregator *a, const weft_part *part, const gnn_aggregator_options *options)
{
    WEFT_TRY(gnn_halo_create(a->comm, a->hal, a->dtype, part, &part->sources, options->forms.max_width, &options->halo,
                             &a->sources));
    if (a->whole_rows) {
        return WEFT_OK;
    }
    /* One halo serves both directions when the lists are equal on every rank. */
    int32_t same = part->symmetric;
    WEFT_TRY(comm_allreduce(a->comm, &same, 1, WEFT_DTYPE_I32, COMM_MIN));
    if (same) {
        a->destinations = a->sources;
        return WEFT_OK;
    }
    return gnn_halo_create(a->comm, a->hal, a->dtype, part, &part->destinations, options->forms.max_width,
                           &options->halo, &a->destinations);
}

void gnn_aggregator_forms(const gnn_aggregator *aggregator, char forms[GNN_FORMS + 1])
{
    gnn_local_matrix_forms(&aggregator->forward, forms);
    gnn_local_matrix_forms(&aggregator->transposed, forms + GNN_FORMS / 2);
    forms[GNN_FORMS] = '\0';
}

/* Which of the matrices there will be here. */
static void list_roles(const gnn_aggregator *a, bool has[GNN_FORMS])
{
    const int half = GNN_FORMS / 2;
    for (int role = 0; role < GNN_FORMS; ++role) {
        has[role] = (role < half || !a->shares) && (a->overlaps || role % half == 0);
    }
}

static weft_status create_matrices(gnn_aggregator *a, const weft_part *part, const gnn_aggregator_options *options)
{
    const hal_csr csr = {.rows = a->whole_rows ? part->n_owned : part->n_local, /* replicas have no edges there */
                         .cols = part->n_local,
                         .offset = part->offset,
                         .column = part->source,
                         .value = part->weight};
    const int64_t cut_at = a->overlaps ? part->n_owned : part->n_local;
    bool has[GNN_FORMS];
    gnn_form_choice choice;
    list_roles(a, has);
    WEFT_TRY(gnn_forms_begin(a->comm, a->hal, &options->forms, has, &choice));
    WEFT_TRY(gnn_local_matrix_create(&choice, 0, WEFT_OK, &csr, cut_at, &a->forward));
    int64_t *offset = NULL;
    int32_t *destination = NULL;
    float *weight = NULL;
    weft_status status = a->shares ? WEFT_OK : part_transpose(part, &offset, &destination, &weight);
    const hal_csr back = {
        .rows = part->n_local, .cols = part->n_local, .offset = offset, .column = destination, .value = weight};
    status = gnn_local_matrix_create(&choice, GNN_FORMS / 2, status, a->shares || status != WEFT_OK ? NULL : &back,
                                     cut_at, &a->transposed);
    weft_free(offset);
    weft_free(destination);
    weft_free(weight);
    a->forms = choice.figures;
    return status;
}

bool gnn_overlaps(const weft_comm *comm, halo_overlap overlap)
{
    return comm_size(comm) > 1 && overlap != HALO_OVERLAP_OFF && (overlap == HALO_OVERLAP_ON || comm_moves_alone(comm));
}

weft_status gnn_aggregator_create(weft_comm *comm, weft_hal *hal, weft_dtype dtype, const weft_part *part,
                                  const gnn_aggregator_options *options, gnn_aggregator *aggregator)
{
    double start = clock_seconds();
    assert(part->n_owned >= 0 && part->n_owned <= part->n_local && options->forms.max_width >= 0);
    *aggregator =
        (gnn_aggregator){.comm = comm,
                         .hal = hal,
                         .dtype = dtype,
                         .n_owned = part->n_owned,
                         .n_local = part->n_local,
                         .steps = {.n_shared = part->n_shared, .n_owned = part->n_owned},
                         .overlaps = part->n_local > part->n_owned && /* ranks may differ: the messages do not */
                                     gnn_overlaps(comm, options->overlap)};
    int32_t whole_rows = part->whole_rows;
    WEFT_TRY(comm_allreduce(comm, &whole_rows, 1, WEFT_DTYPE_I32, COMM_MIN));
    aggregator->whole_rows = whole_rows != 0;
    aggregator->shares = aggregator->whole_rows || part->symmetric;
    WEFT_TRY(comm_agree(comm, create_matrices(aggregator, part, options)));
    if (comm_size(comm) > 1) {
        WEFT_TRY(create_halos(aggregator, part, options));
    }
    WEFT_TRY(create_scales(aggregator, part, options));
    aggregator->build_seconds = clock_seconds() - start;
    return WEFT_OK;
}

static const weft_tensor *or_null(const weft_tensor *vector)
{
    return vector->cols > 0 ? vector : NULL;
}

/* ---- one pass --------------------------------------------------------------------------------------------------- */

/* What ACTIVITY_AGGREGATE was booked since the training pass before this one began. */
static void note_epoch(gnn_aggregator *a)
{
    const double booked = activity_get(ACTIVITY_AGGREGATE).seconds;
    const double seconds = booked - a->booked;
    if (a->passes++ > 0 && (a->epoch_seconds == 0.0 || seconds < a->epoch_seconds)) {
        a->epoch_seconds = seconds;
    }
    a->booked = booked;
}

weft_status gnn_aggregator_begin(gnn_aggregator *aggregator, const gnn_halo_pass *pass)
{
    gnn_aggregator *a = aggregator;
    if (pass->training) {
        note_epoch(a);
    }
    if (a->sources == NULL) {
        return WEFT_OK;
    }
    a->open = false; /* after a pass that failed */
    a->steps.count = 0;
    a->local = pass->training && a->own_scales.post.cols > 0;
    WEFT_TRY(gnn_halo_begin(a->sources, pass));
    return a->destinations != NULL && a->destinations != a->sources ? gnn_halo_begin(a->destinations, pass) : WEFT_OK;
}

int64_t gnn_aggregator_staleness(const gnn_aggregator *aggregator)
{
    return aggregator->sources != NULL ? gnn_halo_staleness(aggregator->sources) : 0;
}

/* ---- one aggregation -------------------------------------------------------------------------------------------- */

static gnn_halo *forward_halo(const gnn_aggregator *a)
{
    return a->under_way.transposed && !a->whole_rows ? a->destinations : a->sources;
}

static gnn_halo *reverse_halo(const gnn_aggregator *a)
{
    return a->under_way.transposed && !a->whole_rows ? a->sources : a->destinations;
}

weft_status gnn_aggregator_foresee(gnn_aggregator *aggregator, bool transposed, int64_t width)
{
    gnn_aggregator *a = aggregator;
    a->under_way.transposed = transposed;
    gnn_halo *reverse = reverse_halo(a);
    WEFT_TRY(a->sources != NULL ? gnn_halo_foresee(forward_halo(a), HALO_FORWARD, transposed, width) : WEFT_OK);
    return reverse != NULL ? gnn_halo_foresee(reverse, HALO_REVERSE, transposed, width) : WEFT_OK;
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

static gnn_halo *second_halo(const gnn_aggregator *a)
{
    return a->destinations != a->sources ? a->destinations : NULL;
}

bool gnn_aggregator_remembers(const gnn_aggregator *aggregator)
{
    return aggregator->sources != NULL && gnn_halo_buffers(aggregator->sources) > 0;
}

weft_status gnn_aggregator_state(gnn_aggregator *aggregator, const sync_buffer **buffer, int *count)
{
    gnn_aggregator *a = aggregator;
    gnn_halo *second = second_halo(a);
    const int first = gnn_halo_buffers(a->sources);
    *count = first + (second != NULL ? gnn_halo_buffers(second) : 0);
    if (a->buffer == NULL) {
        WEFT_TRY(WEFT_NEW(&a->buffer, *count, WEFT_MEM_COMM));
    }
    *buffer = a->buffer;
    WEFT_TRY(gnn_halo_state(a->sources, "halo", a->buffer));
    return second != NULL ? gnn_halo_state(second, "destinations", a->buffer + first) : WEFT_OK;
}

weft_status gnn_aggregator_restored(gnn_aggregator *aggregator)
{
    gnn_halo *second = second_halo(aggregator);
    WEFT_TRY(gnn_halo_restored(aggregator->sources));
    return second != NULL ? gnn_halo_restored(second) : WEFT_OK;
}

/* A part of the local product, or one slice of it. */
static weft_status product(gnn_aggregator *a, gnn_side rows, gnn_side sources, double beta, int slice, int slices)
{
    gnn_aggregation *w = &a->under_way;
    const bool transposed = w->transposed;
    const gnn_vertex_scales *scales = a->local ? &a->own_scales : &a->scales;
    const gnn_local_product part = {.rows = rows,
                                    .sources = sources,
                                    .scales = {.pre = or_null(transposed ? &scales->post : &scales->pre),
                                               .post = or_null(transposed ? &scales->pre : &scales->post),
                                               .diag = or_null(&scales->diag)},
                                    .beta = beta,
                                    .slice = slice,
                                    .slices = slices};
    activity_begin(ACTIVITY_AGGREGATE);
    weft_status status =
        gnn_local_matrix_run(transposed && !a->shares ? &a->transposed : &a->forward, &part, &w->x, &w->out);
    activity_end(ACTIVITY_AGGREGATE);
    return status;
}

static int slices_of(const gnn_aggregator *a, gnn_side rows, gnn_side sources)
{
    const gnn_local_matrix *matrix = a->under_way.transposed && !a->shares ? &a->transposed : &a->forward;
    return gnn_local_matrix_slices(matrix, rows, sources, a->under_way.x.cols);
}

void gnn_aggregate_poll(gnn_aggregator *aggregator)
{
    if (aggregator->sources != NULL) {
        activity_begin(ACTIVITY_HALO);
        comm_poll(aggregator->comm);
        activity_end(ACTIVITY_HALO);
    }
}

/* Slices from *slice on, with a look at the messages after each; until `halo` has arrived, if one is given. */
static weft_status product_slices(gnn_aggregator *a, gnn_side rows, gnn_side sources, double beta, const gnn_halo *halo,
                                  int *slice)
{
    const int slices = slices_of(a, rows, sources);
    while (*slice < slices && (halo == NULL || !gnn_halo_arrived(halo))) {
        WEFT_TRY(product(a, rows, sources, beta, (*slice)++, slices));
        gnn_aggregate_poll(a);
    }
    return WEFT_OK;
}

/* Everything at once: the product of the whole part between the two legs. */
static weft_status run_whole(gnn_aggregator *a)
{
    gnn_aggregation *w = &a->under_way;
    WEFT_TRY(halo_wait(forward_halo(a)));
    if (w->beta != 0.0 && a->n_local > a->n_owned && !a->whole_rows) { /* a replica's partial sum starts from nothing */
        weft_tensor replicas = tensor_view(&w->out, a->n_owned, a->n_local - a->n_owned, 0, w->out.cols);
        WEFT_TRY(tensor_axpby(0.0, &replicas, 0.0, &replicas));
    }
    WEFT_TRY(product(a, GNN_OWNED, GNN_OWNED, w->beta, 0, 1));
    return halo_exchange(reverse_halo(a), HALO_REVERSE, w->transposed, &w->out);
}

/* Whole rows: unshared ones have no edge from a replica, so only the shared ones wait, and for nothing else. */
static weft_status leave_whole_rows(gnn_aggregator *a)
{
    int inner = 0;
    return product_slices(a, GNN_OWNED, GNN_OWNED, a->under_way.beta, NULL, &inner);
}

static weft_status complete_whole_rows(gnn_aggregator *a)
{
    int boundary = 0;
    WEFT_TRY(halo_wait(a->sources));
    return product_slices(a, GNN_OWNED, GNN_REPLICAS, 1.0, NULL, &boundary);
}

/* The schedule of the head comment, up to the last wait. */
static weft_status leave_cut(gnn_aggregator *a)
{
    gnn_aggregation *w = &a->under_way;
    int early = 0, inner = 0, boundary = 0;
    WEFT_TRY(product_slices(a, GNN_REPLICAS, GNN_OWNED, 0.0, NULL, &early));
    WEFT_TRY(product_slices(a, GNN_OWNED, GNN_OWNED, w->beta, forward_halo(a), &inner));
    WEFT_TRY(halo_wait(forward_halo(a)));
    WEFT_TRY(product(a, GNN_REPLICAS, GNN_REPLICAS, 1.0, 0, 1));
    WEFT_TRY(halo_post(reverse_halo(a), HALO_REVERSE, w->transposed, &w->out));
    WEFT_TRY(product_slices(a, GNN_OWNED, GNN_OWNED, w->beta, NULL, &inner));
    return product_slices(a, GNN_OWNED, GNN_REPLICAS, 1.0, NULL, &boundary);
}

/* What was left becomes complete. */
static weft_status complete(gnn_aggregator *a)
{
    if (!a->open) {
        return WEFT_OK;
    }
    a->open = false;
    return a->whole_rows ? complete_whole_rows(a) : halo_wait(reverse_halo(a));
}

weft_status gnn_aggregate_settle(gnn_aggregator *aggregator)
{
    gnn_aggregator *a = aggregator;
    const bool halved = a->open;
    WEFT_TRY(complete(a));
    WEFT_TRY(gnn_row_steps_run(&a->steps, halved ? GNN_ROWS_SHARED : GNN_ROWS_ALL, !halved));
    return gnn_row_steps_done(&a->steps);
}

weft_status gnn_aggregate_rows(gnn_aggregator *aggregator, int64_t n_owned, const gnn_row_step *step)
{
    gnn_aggregator *a = aggregator;
    if (!a->overlaps) {
        WEFT_TRY(step->run(step, &(gnn_row_span){.rows = n_owned, .first = true}));
        return step->done != NULL ? step->done(step) : WEFT_OK;
    }
    assert(n_owned == a->n_owned);
    WEFT_TRY(a->steps.count == GNN_ROW_STEPS ? gnn_aggregate_settle(a) : WEFT_OK);
    a->steps.step[a->steps.count++] = *step;
    if (!a->open) {
        return WEFT_OK;
    }
    WEFT_TRY(gnn_row_step_run(&a->steps, step, GNN_ROWS_OTHER, true));
    gnn_aggregate_poll(a);
    return WEFT_OK;
}

weft_status gnn_aggregate_begin(gnn_aggregator *aggregator, bool transposed, weft_tensor *x, double beta,
                                weft_tensor *out)
{
    gnn_aggregator *a = aggregator;
    assert(x->rows == a->n_local && out->rows == a->n_local && x->cols == out->cols);
    assert(beta == 0.0 || beta == 1.0);
    const bool whole = !a->open; /* no half of the steps that wait has been run */
    WEFT_TRY(whole ? gnn_row_steps_run(&a->steps, GNN_ROWS_SHARED, true) : gnn_aggregate_settle(a));
    a->under_way = (gnn_aggregation){.transposed = transposed, .x = *x, .out = *out, .beta = beta};
    WEFT_TRY(halo_post(forward_halo(a), HALO_FORWARD, transposed, x));
    WEFT_TRY(whole ? gnn_row_steps_run(&a->steps, GNN_ROWS_OTHER, false) : WEFT_OK);
    return gnn_row_steps_done(&a->steps);
}

weft_status gnn_aggregate_leave(gnn_aggregator *aggregator)
{
    assert(!aggregator->open && aggregator->steps.count == 0); /* none is added between begin and here */
    if (!aggregator->overlaps) {
        return run_whole(aggregator);
    }
    aggregator->open = true;
    return aggregator->whole_rows ? leave_whole_rows(aggregator) : leave_cut(aggregator);
}

weft_status gnn_aggregate_end(gnn_aggregator *aggregator)
{
    WEFT_TRY(gnn_aggregate_leave(aggregator));
    return gnn_aggregate_settle(aggregator);
}

weft_status gnn_aggregate(gnn_aggregator *aggregator, bool transposed, weft_tensor *x, double beta, weft_tensor *out)
{
    WEFT_TRY(gnn_aggregate_begin(aggregator, transposed, x, beta, out));
    return gnn_aggregate_end(aggregator);
}

static void destroy_scales(gnn_vertex_scales *scales)
{
    tensor_destroy(&scales->pre);
    tensor_destroy(&scales->post);
    tensor_destroy(&scales->diag);
}

void gnn_aggregator_destroy(gnn_aggregator *aggregator)
{
    gnn_aggregator *a = aggregator;
    if (a->hal == NULL) {
        return;
    }
    if (a->destinations != a->sources) {
        gnn_halo_destroy(a->destinations);
    }
    gnn_halo_destroy(a->sources);
    gnn_local_matrix_destroy(&a->transposed);
    gnn_local_matrix_destroy(&a->forward);
    weft_free(a->buffer);
    destroy_scales(&a->scales);
    destroy_scales(&a->own_scales);
    memset(a, 0, sizeof *a);
}

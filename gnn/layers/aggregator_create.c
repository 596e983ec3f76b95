/*
 * gnn/layers/aggregator_create.c: how an aggregator is made (gnn/layers/aggregate.h): scales of vertices, prepared
 * matrices of the part's edges in both directions, and the halos over which rows cross ranks.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sort.h"
#include "gnn/layers/aggregate_internal.h"
#include "gnn/layers/fixed_sums.h"
#include "gnn/layers/part_scope.h"

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

/* Replicas learn the scale of their vertex from its root; a replica may appear in either list. */
static weft_status share_vector(gnn_aggregator *a, weft_tensor *vector)
{
    const gnn_scoped *all = &a->of[GNN_SCOPE_ALL];
    WEFT_TRY(aggregate_exchange(all->sources, HALO_FORWARD, false, vector));
    return all->destinations != all->sources ? aggregate_exchange(all->destinations, HALO_FORWARD, false, vector)
                                             : WEFT_OK;
}

static bool is_symmetric(gnn_normalisation normalisation)
{
    return normalisation == GNN_NORM_SYMMETRIC || normalisation == GNN_NORM_SYMMETRIC_OTHERS;
}

static bool counts_self(gnn_normalisation normalisation)
{
    return normalisation != GNN_NORM_MEAN && normalisation != GNN_NORM_SYMMETRIC_OTHERS;
}

/* A self-loop lies where its vertex is owned (partition/methods/root.h). */
static bool has_loop(const weft_part *part, int64_t i)
{
    const int64_t end = part->offset[i + 1], at = sorted_first(part->source, part->offset[i], end, i);
    return at < end && part->source[at] == i;
}

/* What a rank makes for itself, without talking. degree: [n_owned] edges into each vertex, or their weights, added
 * up. */
static weft_status create_own_scales(gnn_aggregator *a, const weft_part *part, const double *degree,
                                     gnn_normalisation normalisation, gnn_vertex_scales *scales)
{
    weft_status status = WEFT_OK;
    double *scale = NULL;
    WEFT_TRY(WEFT_NEW(&scale, a->n_owned, WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < a->n_owned; ++i) {
        const double edges = degree[i];
        const double with_self = edges + (normalisation == GNN_NORM_SYMMETRIC && has_loop(part, i) ? 0.0 : 1.0);
        assert(edges >= 0.0);
        switch (normalisation) {
        case GNN_NORM_MEAN:
            scale[i] = edges > 0 ? 1.0 / edges : 0.0;
            break;
        case GNN_NORM_MEAN_SELF:
            scale[i] = 1.0 / with_self;
            break;
        case GNN_NORM_SUM_SELF:
            scale[i] = 1.0;
            break;
        case GNN_NORM_SYMMETRIC:
            scale[i] = with_self > 0 ? 1.0 / sqrt(with_self) : 0.0;
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
            scale[i] *= normalisation == GNN_NORM_SYMMETRIC && has_loop(part, i) ? 0.0 : scale[i];
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
    weft_status status = create_own_scales(a, part, degree, normalisation, &a->own_scales);
    weft_free(degree);
    return status;
}

/* All edges into owned vertices, wherever they lie. */
static weft_status create_scales_of_all(gnn_aggregator *a, const weft_part *part, gnn_normalisation normalisation)
{
    double *degree = NULL;
    if (part->in_weight != NULL) {
        return create_own_scales(a, part, part->in_weight, normalisation, &a->scales);
    }
    WEFT_TRY(WEFT_NEW(&degree, a->n_owned, WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < a->n_owned; ++i) {
        degree[i] = (double)part->in_degree[i];
    }
    weft_status status = create_own_scales(a, part, degree, normalisation, &a->scales);
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

static weft_status create_halo(gnn_aggregator *a, const weft_part *part, const part_halo *lists, bool second,
                               const gnn_aggregator_options *options, gnn_halo **halo)
{
    return gnn_halo_create(a->comm, a->hal, a->dtype, part, lists, second, options->forms.max_width, &options->halo,
                           halo);
}

static weft_status create_halos(gnn_aggregator *a, const weft_part *part, const gnn_aggregator_options *options)
{
    gnn_scoped *all = &a->of[GNN_SCOPE_ALL];
    WEFT_TRY(create_halo(a, part, &part->sources, false, options, &all->sources));
    /* One halo serves both directions when the lists are equal on every rank. */
    int32_t same = part->symmetric || a->whole_rows;
    WEFT_TRY(comm_allreduce(a->comm, &same, 1, WEFT_DTYPE_I32, COMM_MIN));
    if (same) {
        all->destinations = all->sources;
        return WEFT_OK;
    }
    return create_halo(a, part, &part->destinations, true, options, &all->destinations);
}

void gnn_aggregator_forms(const gnn_aggregator *aggregator, char forms[GNN_FORMS + 1])
{
    const gnn_scoped *all = &aggregator->of[GNN_SCOPE_ALL];
    gnn_local_matrix_forms(&all->forward, forms);
    gnn_local_matrix_forms(&all->transposed, forms + GNN_FORMS / 2);
    forms[GNN_FORMS] = '\0';
}

static void list_roles(const gnn_aggregator *a, bool shares, bool has[GNN_FORMS])
{
    const int half = GNN_FORMS / 2;
    for (int role = 0; role < GNN_FORMS; ++role) {
        has[role] = (role < half || !shares) && (a->overlaps || role % half == 0);
    }
}

static int64_t cut_at(const gnn_aggregator *a)
{
    return a->overlaps ? a->n_owned : a->n_local;
}

/* With whole rows replicas have no edges. read: [n_local] rows of GNN_SCOPE_READ, which are destinations; NULL: the
 * matrix serves one scope alone. */
static hal_csr csr_of(const gnn_aggregator *a, const part_csr *edges, const uint8_t *read)
{
    return (hal_csr){.rows = a->whole_rows ? a->n_owned : a->n_local,
                     .cols = a->n_local,
                     .offset = edges->offset,
                     .column = edges->column,
                     .value = edges->value,
                     .marked_row = read,
                     .marked_col = read};
}

/* The forward matrix of a scope, where the choice of its forms begins. */
static weft_status create_forward(const gnn_aggregator *a, const gnn_forms_asked *asked, const part_csr *edges,
                                  const uint8_t *read, gnn_scoped *of, gnn_form_choice *choice)
{
    hal_csr csr = csr_of(a, edges, read);
    csr.marked_col = of->shares ? csr.marked_col : NULL;
    bool has[GNN_FORMS];
    list_roles(a, of->shares, has);
    WEFT_TRY(gnn_forms_begin(a->comm, a->hal, asked, has, choice));
    return gnn_local_matrix_create(choice, 0, WEFT_OK, &csr, cut_at(a), &of->forward);
}

/* The transposed matrix of edges that are the matrix's alone: they are freed. status: of making them. */
static weft_status take_transposed(const gnn_aggregator *a, gnn_form_choice *choice, weft_status status,
                                   part_csr *edges, const uint8_t *read, gnn_local_matrix *matrix)
{
    hal_csr csr = csr_of(a, edges, read);
    csr.marked_row = NULL;
    const bool any = status == WEFT_OK && edges->offset != NULL;
    status = gnn_local_matrix_create(choice, GNN_FORMS / 2, status, any ? &csr : NULL, cut_at(a), matrix);
    part_csr_free(edges);
    return status;
}

/* read: [n_local] rows of GNN_SCOPE_READ; NULL: there is no such scope. */
static weft_status create_matrices(gnn_aggregator *a, const weft_part *part, const gnn_aggregator_options *options,
                                   const uint8_t *read)
{
    gnn_scoped *all = &a->of[GNN_SCOPE_ALL];
    const part_csr edges = {.offset = part->offset, .column = part->source, .value = part->weight};
    gnn_form_choice choice;
    all->shares = a->whole_rows || part->symmetric;
    WEFT_TRY(create_forward(a, &options->forms, &edges, read, all, &choice));
    part_csr back = {.offset = NULL};
    weft_status status = all->shares ? WEFT_OK : part_transpose(part, &back.offset, &back.column, &back.value);
    status = take_transposed(a, &choice, status, &back, read, &all->transposed);
    a->forms = choice.figures;
    return status;
}

/* ---- the scope of rows that are read ----------------------------------------------------------------------------- */

/* The forms that suit all edges, one direction's where it served both. */
static void letters_of_scope(const gnn_aggregator *a, char letters[GNN_FORMS + 1])
{
    const int half = GNN_FORMS / 2;
    gnn_aggregator_forms(a, letters);
    if (a->of[GNN_SCOPE_ALL].shares) {
        memcpy(letters + half, letters, (size_t)half);
    }
}

static weft_status create_scope_matrices(gnn_aggregator *a, const weft_part *part, part_scope *scope,
                                         const gnn_aggregator_options *options)
{
    gnn_scoped *read = &a->of[GNN_SCOPE_READ];
    char letters[GNN_FORMS + 1];
    gnn_forms_asked asked = options->forms;
    gnn_form_choice choice;
    letters_of_scope(a, letters);
    asked.letters = letters;
    asked.max_width = options->read_width;
    WEFT_TRY(create_forward(a, &asked, &scope->forward, NULL, read, &choice));
    part_csr back = {.offset = NULL};
    const weft_status status = part_scope_turn(part, scope, a->of[GNN_SCOPE_ALL].shares, &back);
    return take_transposed(a, &choice, status, &back, NULL, &read->transposed);
}

/* On all ranks: messages are the same, but the scope's matrices are made together. Collective. */
static weft_status share_matrices(gnn_aggregator *a)
{
    const gnn_scoped *all = &a->of[GNN_SCOPE_ALL];
    int32_t marked = gnn_local_matrix_is_marked(&all->forward) && gnn_local_matrix_is_marked(&all->transposed);
    WEFT_TRY(comm_allreduce(a->comm, &marked, 1, WEFT_DTYPE_I32, COMM_MIN));
    a->of[GNN_SCOPE_READ].within = marked != 0;
    return WEFT_OK;
}

/* The memory plan expects blocks or lists of graphs with long rows, which need no such matrices. */
static void tell_matrices(const gnn_scoped *read)
{
    const double told_from = 64e6;
    const double bytes = gnn_local_matrix_bytes(&read->forward) + gnn_local_matrix_bytes(&read->transposed);
    if (bytes >= told_from) {
        log_info("last layer: matrices of its own take %.0f MB, which the forms blocks and lists would do without",
                 bytes / 1e6);
    }
}

static weft_status create_scope(gnn_aggregator *a, const weft_part *part, const gnn_aggregator_options *options,
                                part_scope *scope)
{
    gnn_scoped *read = &a->of[GNN_SCOPE_READ];
    a->scopes = GNN_SCOPES;
    WEFT_TRY(share_matrices(a));
    if (!read->within) {
        WEFT_TRY(comm_agree(a->comm, part_scope_cut(part, scope)));
        WEFT_TRY(comm_agree(a->comm, create_scope_matrices(a, part, scope, options)));
        tell_matrices(read);
    }
    if (comm_size(a->comm) == 1) {
        return WEFT_OK;
    }
    WEFT_TRY(part_scope_list(a->comm, part, a->whole_rows, scope));
    WEFT_TRY(create_halo(a, part, &scope->sources, false, options, &read->sources));
    return create_halo(a, part, &scope->destinations, true, options, &read->destinations);
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
                         .scopes = 1,
                         .steps = {.n_shared = part->n_shared, .n_owned = part->n_owned},
                         .overlaps = part->n_local > part->n_owned && /* ranks may differ: the messages do not */
                                     gnn_overlaps(comm, options->overlap)};
    int32_t whole_rows = part->whole_rows;
    WEFT_TRY(comm_allreduce(comm, &whole_rows, 1, WEFT_DTYPE_I32, COMM_MIN));
    aggregator->whole_rows = whole_rows != 0;
    part_scope scope = {.read = NULL};
    const bool reads = options->read_width > 0;
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(reads ? part_scope_create(comm, part, options->read, &scope) : WEFT_OK, status, done);
    WEFT_TRY_GOTO(comm_agree(comm, create_matrices(aggregator, part, options, scope.read)), status, done);
    WEFT_TRY_GOTO(comm_size(comm) > 1 ? create_halos(aggregator, part, options) : WEFT_OK, status, done);
    WEFT_TRY_GOTO(reads ? create_scope(aggregator, part, options, &scope) : WEFT_OK, status, done);
    WEFT_TRY_GOTO(create_scales(aggregator, part, options), status, done);
    WEFT_TRY_GOTO(options->forms.form == HAL_SPMM_I16 ? gnn_fixed_create(aggregator, part, options) : WEFT_OK, status,
                  done);
    aggregator->state = GNN_AGGREGATOR_READY;
    aggregator->build_seconds = clock_seconds() - start;
done:
    part_scope_destroy(&scope);
    return status;
}

int aggregate_list_halos(const gnn_aggregator *a, gnn_halo *halo[GNN_HALOS])
{
    int count = 0;
    for (int i = 0; i < GNN_SCOPES; ++i) {
        const gnn_scoped *of = &a->of[i];
        if (of->sources != NULL) {
            halo[count++] = of->sources;
        }
        if (of->destinations != NULL && of->destinations != of->sources) {
            halo[count++] = of->destinations;
        }
    }
    return count;
}

static void destroy_scales(gnn_vertex_scales *scales)
{
    TENSOR_DESTROY_ALL(&scales->pre, &scales->post, &scales->diag);
}

void gnn_aggregator_destroy(gnn_aggregator *aggregator)
{
    gnn_aggregator *a = aggregator;
    if (a->hal == NULL) {
        return;
    }
    gnn_halo *halo[GNN_HALOS];
    const int halos = aggregate_list_halos(a, halo);
    for (int i = 0; i < halos; ++i) {
        gnn_halo_destroy(halo[i]);
    }
    for (int i = 0; i < GNN_SCOPES; ++i) {
        gnn_local_matrix_destroy(&a->of[i].transposed);
        gnn_local_matrix_destroy(&a->of[i].forward);
    }
    weft_free(a->buffer);
    gnn_fixed_destroy(a);
    destroy_scales(&a->scales);
    destroy_scales(&a->own_scales);
    memset(a, 0, sizeof *a);
}

/* gnn/layers/aggregate.c: the passes and aggregations of gnn/layers/aggregate.h. */
#include <assert.h>

#include "gnn/layers/aggregate_internal.h"
#include "gnn/layers/fixed_sums.h"

const weft_activity ACTIVITY_AGGREGATE[1] = {{.text = "aggregate", .kind = ACTIVITY_COMPUTES}};
const weft_activity ACTIVITY_HALO[1] = {{.text = "halo exchange", .kind = ACTIVITY_MOVES}};

static weft_status halo_post(gnn_halo *halo, halo_direction direction, bool backward, weft_tensor *x)
{
    if (halo == NULL) {
        return WEFT_OK;
    }
    ACTIVITY_TRY(ACTIVITY_HALO, gnn_halo_post(halo, direction, backward, x));
    return WEFT_OK;
}

static weft_status halo_wait(gnn_halo *halo)
{
    if (halo == NULL) {
        return WEFT_OK;
    }
    ACTIVITY_TRY(ACTIVITY_HALO, gnn_halo_wait(halo));
    return WEFT_OK;
}

weft_status aggregate_exchange(gnn_halo *halo, halo_direction direction, bool backward, weft_tensor *x)
{
    WEFT_TRY(halo_post(halo, direction, backward, x));
    return halo_wait(halo);
}

static const weft_tensor *or_null(const weft_tensor *vector)
{
    return vector->cols > 0 ? vector : NULL;
}

/* ---- one pass --------------------------------------------------------------------------------------------------- */

static bool crosses(const gnn_aggregator *a)
{
    return a->of[GNN_SCOPE_ALL].sources != NULL;
}

/* What ACTIVITY_AGGREGATE was booked since the training pass before this one began. */
static void note_epoch(gnn_aggregator *a)
{
    const double booked = activity_get(ACTIVITY_AGGREGATE).seconds, seconds = booked - a->booked;
    if (a->passes++ > 0 && (a->epoch_seconds == 0.0 || seconds < a->epoch_seconds)) {
        a->epoch_seconds = seconds;
    }
    a->booked = booked;
}

weft_status gnn_aggregator_start_pass(gnn_aggregator *aggregator, const gnn_halo_pass *pass)
{
    gnn_aggregator *a = aggregator;
    if (pass->training) {
        note_epoch(a);
    }
    if (a->state != GNN_AGGREGATOR_NONE) {
        a->state = GNN_AGGREGATOR_READY; /* also after a pass that failed */
        a->steps.count = 0;
    }
    if (!crosses(a)) {
        return WEFT_OK;
    }
    a->local = pass->training && a->own_scales.post.cols > 0;
    gnn_halo *halo[GNN_HALOS];
    const int halos = aggregate_list_halos(a, halo);
    for (int i = 0; i < halos; ++i) {
        WEFT_TRY(gnn_halo_begin(halo[i], pass));
    }
    return WEFT_OK;
}

void gnn_aggregator_set_scope(gnn_aggregator *aggregator, gnn_scope scope)
{
    assert(aggregator->state != GNN_AGGREGATOR_BEGUN);
    assert((int)scope < aggregator->scopes || aggregator->state == GNN_AGGREGATOR_NONE);
    aggregator->scope = scope;
}

int64_t gnn_aggregator_staleness(const gnn_aggregator *aggregator)
{
    return crosses(aggregator) ? gnn_halo_staleness(aggregator->of[GNN_SCOPE_ALL].sources) : 0;
}

/* ---- one aggregation -------------------------------------------------------------------------------------------- */

static const gnn_scoped *scope_under_way(const gnn_aggregator *a)
{
    return &a->of[a->under_way.scope];
}

static gnn_halo *forward_halo(const gnn_aggregator *a)
{
    const gnn_scoped *of = scope_under_way(a);
    return a->under_way.transposed ? of->destinations : of->sources;
}

/* Whole rows return nothing. */
static gnn_halo *reverse_halo(const gnn_aggregator *a)
{
    const gnn_scoped *of = scope_under_way(a);
    return a->whole_rows ? NULL : a->under_way.transposed ? of->sources : of->destinations;
}

static const gnn_local_matrix *matrix_under_way(const gnn_aggregator *a)
{
    const gnn_scoped *of = scope_under_way(a)->within ? &a->of[GNN_SCOPE_ALL] : scope_under_way(a);
    return a->under_way.transposed && !of->shares ? &of->transposed : &of->forward;
}

weft_status gnn_aggregator_foresee(gnn_aggregator *aggregator, bool transposed, int64_t width)
{
    gnn_aggregator *a = aggregator;
    assert(a->state == GNN_AGGREGATOR_READY && width >= 1);
    a->under_way.scope = a->scope;
    a->under_way.transposed = transposed;
    gnn_halo *reverse = reverse_halo(a);
    WEFT_TRY(crosses(a) ? gnn_halo_foresee(forward_halo(a), HALO_FORWARD, transposed, width) : WEFT_OK);
    return reverse != NULL ? gnn_halo_foresee(reverse, HALO_REVERSE, transposed, width) : WEFT_OK;
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

bool gnn_aggregator_remembers(const gnn_aggregator *aggregator)
{
    return crosses(aggregator) && gnn_halo_buffers(aggregator->of[GNN_SCOPE_ALL].sources) > 0;
}

static const char *halo_name(const gnn_aggregator *a, const gnn_halo *halo)
{
    const gnn_scoped *all = &a->of[GNN_SCOPE_ALL], *read = &a->of[GNN_SCOPE_READ];
    return halo == all->sources        ? "halo"
           : halo == all->destinations ? "destinations"
           : halo == read->sources     ? "read"
                                       : "read_to";
}

weft_status gnn_aggregator_state_buffers(gnn_aggregator *aggregator, const sync_buffer **buffer, int *count)
{
    gnn_aggregator *a = aggregator;
    gnn_halo *halo[GNN_HALOS];
    const int halos = aggregate_list_halos(a, halo);
    *count = 0;
    for (int i = 0; i < halos; ++i) {
        *count += gnn_halo_buffers(halo[i]);
    }
    if (a->buffer == NULL) {
        WEFT_TRY(WEFT_NEW(&a->buffer, *count, WEFT_MEM_COMM));
    }
    *buffer = a->buffer;
    sync_buffer *next = a->buffer;
    for (int i = 0; i < halos; ++i) {
        WEFT_TRY(gnn_halo_state(halo[i], halo_name(a, halo[i]), next));
        next += gnn_halo_buffers(halo[i]);
    }
    return WEFT_OK;
}

weft_status gnn_aggregator_tune_delay(gnn_aggregator *aggregator, int delay)
{
    gnn_halo *halo[GNN_HALOS];
    const int halos = aggregate_list_halos(aggregator, halo);
    assert(aggregator->state != GNN_AGGREGATOR_BEGUN);
    for (int i = 0; i < halos; ++i) {
        WEFT_TRY(gnn_halo_tune(halo[i], delay));
    }
    return WEFT_OK;
}

int gnn_aggregator_delay(const gnn_aggregator *aggregator)
{
    return crosses(aggregator) ? gnn_halo_delay(aggregator->of[GNN_SCOPE_ALL].sources) : 0;
}

weft_status gnn_aggregator_restored(gnn_aggregator *aggregator)
{
    gnn_halo *halo[GNN_HALOS];
    const int halos = aggregate_list_halos(aggregator, halo);
    for (int i = 0; i < halos; ++i) {
        WEFT_TRY(gnn_halo_restored(halo[i]));
    }
    return WEFT_OK;
}

gnn_scales gnn_scales_under_way(const gnn_aggregator *a)
{
    const bool transposed = a->under_way.transposed;
    const gnn_vertex_scales *scales = a->local ? &a->own_scales : &a->scales;
    return (gnn_scales){.pre = or_null(transposed ? &scales->post : &scales->pre),
                        .post = or_null(transposed ? &scales->pre : &scales->post),
                        .diag = or_null(&scales->diag)};
}

/* Rows travel, and are summed, as integers: apart from x and out. */
static bool sums_integers(const gnn_aggregator *a)
{
    return a->fixed != NULL && a->fixed->travels;
}

/* What crosses ranks: rows of sources, and partial sums. */
static weft_tensor rows_under_way(const gnn_aggregator *a)
{
    return sums_integers(a) ? gnn_fixed_rows(a) : a->under_way.x;
}

static weft_tensor sums_under_way(const gnn_aggregator *a)
{
    return sums_integers(a) ? gnn_fixed_sums_of(a) : a->under_way.out;
}

/* What the sums of owned rows begin with. */
static double first_beta(const gnn_aggregator *a)
{
    return sums_integers(a) ? 0.0 : a->under_way.beta;
}

static weft_status product(gnn_aggregator *a, gnn_side rows, gnn_side sources, double beta, int slice, int slices)
{
    const bool integers = sums_integers(a);
    const gnn_local_product part = {.rows = rows,
                                    .sources = sources,
                                    .scales = integers ? (gnn_scales){.pre = NULL} : gnn_scales_under_way(a),
                                    .beta = beta,
                                    .part = !scope_under_way(a)->within ? HAL_SPMM_ALL_EDGES
                                            : a->under_way.transposed   ? HAL_SPMM_MARKED_COLS
                                                                        : HAL_SPMM_MARKED_ROWS,
                                    .fixed = a->fixed != NULL,
                                    .quanta = a->fixed != NULL && !integers ? &a->fixed->quanta : NULL,
                                    .slice = slice,
                                    .slices = slices};
    const weft_tensor x = rows_under_way(a);
    weft_tensor out = sums_under_way(a);
    ACTIVITY_TRY(ACTIVITY_AGGREGATE, gnn_local_matrix_run(matrix_under_way(a), &part, &x, &out));
    return WEFT_OK;
}

void gnn_aggregate_poll(gnn_aggregator *aggregator)
{
    if (crosses(aggregator)) {
        activity_begin(ACTIVITY_HALO);
        comm_poll(aggregator->comm);
        activity_end(ACTIVITY_HALO);
    }
}

/* Slices from *slice on, with a look at the messages after each; until `halo` has arrived, if one is given. */
static weft_status product_slices(gnn_aggregator *a, gnn_side rows, gnn_side sources, double beta, const gnn_halo *halo,
                                  int *slice)
{
    const int slices = gnn_local_matrix_slices(matrix_under_way(a), rows, sources, a->under_way.x.cols);
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
    const double beta = first_beta(a);
    weft_tensor sums = sums_under_way(a);
    WEFT_TRY(halo_wait(forward_halo(a)));
    if (beta != 0.0 && a->n_local > a->n_owned && !a->whole_rows) { /* a replica's partial sum starts from nothing */
        weft_tensor replicas = tensor_view(&sums, a->n_owned, a->n_local - a->n_owned, 0, sums.cols);
        WEFT_TRY(tensor_axpby(0.0, &replicas, 0.0, &replicas));
    }
    WEFT_TRY(product(a, GNN_OWNED, GNN_OWNED, beta, 0, 1));
    WEFT_TRY(aggregate_exchange(reverse_halo(a), HALO_REVERSE, w->transposed, &sums));
    return gnn_fixed_finish(a, 0, a->n_owned);
}

/* Rows whose sums are complete before shared ones are, and those. */
static weft_status finish_others(gnn_aggregator *a)
{
    return gnn_fixed_finish(a, a->steps.n_shared, a->n_owned);
}

static weft_status finish_shared(gnn_aggregator *a)
{
    return gnn_fixed_finish(a, 0, a->steps.n_shared);
}

/* Whole rows: unshared ones have no edge from a replica, so only the shared ones wait, and for nothing else. */
static weft_status leave_whole_rows(gnn_aggregator *a)
{
    int inner = 0;
    WEFT_TRY(product_slices(a, GNN_OWNED, GNN_OWNED, first_beta(a), NULL, &inner));
    return finish_others(a);
}

static weft_status complete_whole_rows(gnn_aggregator *a)
{
    int boundary = 0;
    WEFT_TRY(halo_wait(forward_halo(a)));
    WEFT_TRY(product_slices(a, GNN_OWNED, GNN_REPLICAS, 1.0, NULL, &boundary));
    return finish_shared(a);
}

/* The schedule of the head comment, up to the last wait. */
static weft_status leave_cut(gnn_aggregator *a)
{
    const double beta = first_beta(a);
    weft_tensor sums = sums_under_way(a);
    int early = 0, inner = 0, boundary = 0;
    WEFT_TRY(product_slices(a, GNN_REPLICAS, GNN_OWNED, 0.0, NULL, &early));
    WEFT_TRY(product_slices(a, GNN_OWNED, GNN_OWNED, beta, forward_halo(a), &inner));
    WEFT_TRY(halo_wait(forward_halo(a)));
    WEFT_TRY(product(a, GNN_REPLICAS, GNN_REPLICAS, 1.0, 0, 1));
    WEFT_TRY(halo_post(reverse_halo(a), HALO_REVERSE, a->under_way.transposed, &sums));
    WEFT_TRY(product_slices(a, GNN_OWNED, GNN_OWNED, beta, NULL, &inner));
    WEFT_TRY(product_slices(a, GNN_OWNED, GNN_REPLICAS, 1.0, NULL, &boundary));
    return finish_others(a);
}

static weft_status complete(gnn_aggregator *a)
{
    if (a->state != GNN_AGGREGATOR_LEFT) {
        return WEFT_OK;
    }
    a->state = GNN_AGGREGATOR_READY;
    if (a->whole_rows) {
        return complete_whole_rows(a);
    }
    WEFT_TRY(halo_wait(reverse_halo(a)));
    return finish_shared(a);
}

weft_status gnn_aggregate_settle(gnn_aggregator *aggregator)
{
    gnn_aggregator *a = aggregator;
    const bool halved = a->state == GNN_AGGREGATOR_LEFT;
    assert(a->state != GNN_AGGREGATOR_BEGUN);
    WEFT_TRY(complete(a));
    WEFT_TRY(gnn_row_steps_run(&a->steps, halved ? GNN_ROWS_SHARED : GNN_ROWS_ALL, !halved));
    return gnn_row_steps_done(&a->steps);
}

weft_status gnn_aggregate_rows(gnn_aggregator *aggregator, int64_t n_owned, const gnn_row_step *step)
{
    gnn_aggregator *a = aggregator;
    assert(a->state != GNN_AGGREGATOR_BEGUN);
    if (!a->overlaps) {
        WEFT_TRY(step->run(step, &(gnn_row_span){.rows = n_owned, .first = true}));
        return step->done != NULL ? step->done(step) : WEFT_OK;
    }
    assert(n_owned == a->n_owned);
    WEFT_TRY(a->steps.count == GNN_ROW_STEPS ? gnn_aggregate_settle(a) : WEFT_OK);
    a->steps.step[a->steps.count++] = *step;
    if (a->state != GNN_AGGREGATOR_LEFT) {
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
    const bool whole = a->state == GNN_AGGREGATOR_READY; /* no half of the steps that wait has been run */
    assert(whole || a->state == GNN_AGGREGATOR_LEFT);
    WEFT_TRY(whole ? gnn_row_steps_run(&a->steps, GNN_ROWS_SHARED, true) : gnn_aggregate_settle(a));
    a->under_way = (gnn_aggregation){.scope = a->scope, .transposed = transposed, .x = *x, .out = *out, .beta = beta};
    if (a->fixed != NULL) {
        WEFT_TRY(whole ? gnn_row_steps_run(&a->steps, GNN_ROWS_OTHER, false) : WEFT_OK);
        WEFT_TRY(gnn_fixed_begin(a));
    }
    weft_tensor rows = rows_under_way(a);
    WEFT_TRY(halo_post(forward_halo(a), HALO_FORWARD, transposed, &rows));
    WEFT_TRY(whole && a->fixed == NULL ? gnn_row_steps_run(&a->steps, GNN_ROWS_OTHER, false) : WEFT_OK);
    a->state = GNN_AGGREGATOR_BEGUN;
    return gnn_row_steps_done(&a->steps);
}

weft_status gnn_aggregate_leave(gnn_aggregator *aggregator)
{
    assert(aggregator->state == GNN_AGGREGATOR_BEGUN);
    assert(aggregator->steps.count == 0); /* none is added between begin and here */
    if (!aggregator->overlaps) {
        aggregator->state = GNN_AGGREGATOR_READY;
        return run_whole(aggregator);
    }
    aggregator->state = GNN_AGGREGATOR_LEFT;
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

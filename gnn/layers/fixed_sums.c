/* gnn/layers/fixed_sums.c: see gnn/layers/fixed_sums.h. */
#include "gnn/layers/fixed_sums.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/log.h"
#include "gnn/layers/aggregate_internal.h"

enum { FORWARD, TRANSPOSED };

/* ---- making ------------------------------------------------------------------------------------------------------ */

static weft_status check(const gnn_aggregator *a, const weft_part *part, const gnn_halo_options *halo)
{
    const bool exact = halo->delay <= 1 && !halo->hidden && !halo->none && (halo->sample <= 0.0 || halo->sample >= 1.0);
    WEFT_CHECK(part->weight == NULL, WEFT_ERR_UNSUPPORTED, "sums in fixed point hold no weights of edges");
    WEFT_CHECK(a->dtype == WEFT_DTYPE_F32, WEFT_ERR_UNSUPPORTED, "sums in fixed point of %s",
               weft_dtype_name(a->dtype));
    WEFT_CHECK(exact && !gnn_halo_codes(halo), WEFT_ERR_UNSUPPORTED,
               "sums in fixed point exchange every row in every epoch, as it is");
    return WEFT_OK;
}

/* The most edges out of a vertex that this rank owns: those on other ranks are counted at its replicas. Collective. */
static weft_status longest_out(gnn_aggregator *a, const weft_part *part, int64_t *longest)
{
    weft_tensor counts = {.data = NULL};
    int32_t *host = NULL;
    weft_status status = comm_agree(a->comm, WEFT_NEW_ZERO(&host, a->n_local, WEFT_MEM_WORKSPACE));
    for (int64_t e = 0; status == WEFT_OK && e < part->edges; ++e) {
        host[part->source[e]] += 1;
    }
    if (status == WEFT_OK) {
        status = tensor_create(a->hal, WEFT_DTYPE_I32, a->n_local, 1, WEFT_MEM_WORKSPACE, &counts);
        status = status == WEFT_OK ? tensor_upload(&counts, host) : status;
        status = comm_agree(a->comm, status);
    }
    if (status == WEFT_OK) {
        status = aggregate_exchange(a->of[GNN_SCOPE_ALL].sources, HALO_REVERSE, false, &counts);
        status = status == WEFT_OK ? tensor_download(&counts, host) : status;
    }
    for (int64_t i = 0; status == WEFT_OK && i < a->n_owned; ++i) {
        *longest = host[i] > *longest ? host[i] : *longest;
    }
    tensor_destroy(&counts);
    weft_free(host);
    return status;
}

/* Collective. */
static weft_status find_most(gnn_aggregator *a, const weft_part *part)
{
    int64_t longest[2] = {0, 0};
    for (int64_t i = 0; i < a->n_owned; ++i) {
        longest[FORWARD] = part->in_degree[i] > longest[FORWARD] ? part->in_degree[i] : longest[FORWARD];
    }
    int32_t shares = a->of[GNN_SCOPE_ALL].shares; /* both directions gather the same rows */
    WEFT_TRY(comm_allreduce(a->comm, &shares, 1, WEFT_DTYPE_I32, COMM_MIN));
    longest[TRANSPOSED] = longest[FORWARD];
    if (!shares) {
        WEFT_TRY(longest_out(a, part, &longest[TRANSPOSED]));
    }
    WEFT_TRY(comm_allreduce(a->comm, longest, 2, WEFT_DTYPE_I64, COMM_MAX));
    for (int i = 0; i < 2; ++i) {
        a->fixed->most[i] = hal_fixed_most(longest[i]);
        WEFT_CHECK(a->fixed->most[i] >= 1, WEFT_ERR_UNSUPPORTED,
                   "a vertex has %lld edges; sums in fixed point hold 2^31 - 1", (long long)longest[i]);
        if (a->fixed->most[i] < INT16_MAX) {
            log_info("a vertex has %lld edges %s: rows of such sums are numbers up to %d, not 32767",
                     (long long)longest[i], i == FORWARD ? "in" : "out", (int)a->fixed->most[i]);
        }
    }
    return WEFT_OK;
}

static weft_status create_matrices(gnn_aggregator *a, int64_t width)
{
    gnn_fixed_sums *fixed = a->fixed;
    WEFT_TRY(tensor_quanta_create(a->hal, width, &fixed->quanta));
    fixed->travels = comm_size(a->comm) > 1;
    if (!fixed->travels) {
        return WEFT_OK;
    }
    WEFT_TRY(tensor_create(a->hal, WEFT_DTYPE_I16, a->n_local, width, WEFT_MEM_WORKSPACE, &fixed->rows));
    WEFT_TRY(tensor_create(a->hal, WEFT_DTYPE_I32, a->n_local, width, WEFT_MEM_WORKSPACE, &fixed->sums));
    WEFT_TRY(tensor_zero(&fixed->rows));
    return tensor_zero(&fixed->sums);
}

weft_status gnn_fixed_create(gnn_aggregator *a, const weft_part *part, const gnn_aggregator_options *options)
{
    weft_status status = check(a, part, &options->halo);
    status = status == WEFT_OK ? WEFT_NEW_ZERO(&a->fixed, 1, WEFT_MEM_WORKSPACE) : status;
    status = status == WEFT_OK ? create_matrices(a, options->forms.max_width) : status;
    WEFT_TRY(comm_agree(a->comm, status));
    return find_most(a, part);
}

void gnn_fixed_destroy(gnn_aggregator *a)
{
    if (a->fixed == NULL) {
        return;
    }
    tensor_quanta_destroy(&a->fixed->quanta);
    TENSOR_DESTROY_ALL(&a->fixed->rows, &a->fixed->sums);
    weft_free(a->fixed);
    a->fixed = NULL;
}

/* ---- one aggregation --------------------------------------------------------------------------------------------- */

/* The matrix of as many columns as x, without gaps. */
static weft_tensor of_width(const gnn_aggregator *a, const weft_tensor *matrix)
{
    weft_tensor narrow = *matrix;
    assert(a->under_way.x.cols <= matrix->cols);
    narrow.cols = narrow.ld = a->under_way.x.cols;
    return narrow;
}

weft_tensor gnn_fixed_rows(const gnn_aggregator *a)
{
    return of_width(a, &a->fixed->rows);
}

weft_tensor gnn_fixed_sums_of(const gnn_aggregator *a)
{
    return of_width(a, &a->fixed->sums);
}

static const weft_tensor *rows_of(const weft_tensor *vector, int64_t first, int64_t rows, weft_tensor *view)
{
    if (vector == NULL) {
        return NULL;
    }
    *view = tensor_view(vector, first, rows, 0, 1);
    return view;
}

weft_status gnn_fixed_begin(gnn_aggregator *a)
{
    gnn_fixed_sums *fixed = a->fixed;
    const gnn_aggregation *w = &a->under_way;
    const weft_tensor owned = tensor_view(&w->x, 0, a->n_owned, 0, w->x.cols);
    weft_tensor view;
    const weft_tensor *pre = rows_of(gnn_scales_under_way(a).pre, 0, a->n_owned, &view);
    ACTIVITY_TRY(ACTIVITY_AGGREGATE, tensor_quanta_measure(&fixed->quanta, &owned, pre));
    if (fixed->travels) {
        ACTIVITY_TRY(ACTIVITY_HALO, comm_allreduce(a->comm, fixed->quanta.host, w->x.cols, WEFT_DTYPE_F32, COMM_MAX));
    }
    WEFT_TRY(tensor_quanta_set(&fixed->quanta, fixed->most[w->transposed ? TRANSPOSED : FORWARD], w->x.cols));
    if (fixed->travels) {
        const weft_tensor all = gnn_fixed_rows(a);
        weft_tensor rounded = tensor_view(&all, 0, a->n_owned, 0, all.cols);
        ACTIVITY_TRY(ACTIVITY_AGGREGATE, tensor_fixed_rows(&owned, pre, &fixed->quanta, &rounded));
    }
    return WEFT_OK;
}

weft_status gnn_fixed_finish(gnn_aggregator *a, int64_t first, int64_t end)
{
    const gnn_aggregation *w = &a->under_way;
    const int64_t rows = end - first;
    if (a->fixed == NULL || !a->fixed->travels || rows <= 0) {
        return WEFT_OK;
    }
    const gnn_scales scales = gnn_scales_under_way(a);
    const weft_tensor all = gnn_fixed_sums_of(a), sums = tensor_view(&all, first, rows, 0, all.cols);
    const weft_tensor x = tensor_view(&w->x, first, rows, 0, w->x.cols);
    weft_tensor out = tensor_view(&w->out, first, rows, 0, w->out.cols), post, diag;
    const tensor_spmm_terms terms = {.post = rows_of(scales.post, first, rows, &post),
                                     .diag = rows_of(scales.diag, first, rows, &diag),
                                     .beta = w->beta};
    ACTIVITY_TRY(ACTIVITY_AGGREGATE, tensor_fixed_finish(&sums, &a->fixed->quanta, &terms, &x, &out));
    return WEFT_OK;
}

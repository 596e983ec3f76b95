/* trees/grow/histograms.c: see trees/grow/histograms.h. */
#include "trees/grow/histograms.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure/failure.h"
#include "base/grow.h"

/* Rows of a node for which a team's start and end would take as long as its sums. */
enum { SMALL_ROWS = 1 << 16 };

static int first_column(int columns, int rank, int ranks)
{
    return (int)((int64_t)columns * rank / ranks);
}

static weft_status make_plan(tree_histograms *h)
{
    const int ranks = comm_size(h->comm), all = (int)h->bins->bin.cols;
    int64_t *count = NULL;
    WEFT_TRY(WEFT_NEW(&count, ranks, WEFT_MEM_WORKSPACE));
    for (int r = 0; r < ranks; ++r) {
        count[r] = (int64_t)(first_column(all, r + 1, ranks) - first_column(all, r, ranks)) * HAL_BINS * 2;
    }
    weft_status status = tensor_create(h->hal, WEFT_DTYPE_I64, (int64_t)all * HAL_BINS, 2, WEFT_MEM_TREES, &h->local);
    const comm_shares_desc desc = {.lane = COMM_LANE_GRADIENT,
                                   .dtype = WEFT_DTYPE_I64,
                                   .op = COMM_SUM,
                                   .count = count,
                                   .buffer = h->local.data,
                                   .name = "histograms"};
    status = comm_agree(h->comm, status);
    status = status == WEFT_OK ? comm_reduce_scatter_plan(h->comm, &desc, &h->plan) : status;
    weft_free(count);
    return status;
}

weft_status histograms_create(weft_comm *comm, const tree_bins *bins, tree_histograms *h)
{
    const int ranks = comm_size(comm), rank = comm_rank(comm), all = (int)bins->bin.cols;
    *h = (tree_histograms){.comm = comm, .hal = bins->bin.hal, .bins = bins};
    h->first = first_column(all, rank, ranks);
    h->columns = first_column(all, rank + 1, ranks) - h->first;
    return ranks > 1 ? make_plan(h) : WEFT_OK;
}

void histograms_destroy(tree_histograms *h)
{
    comm_plan_destroy(h->plan);
    for (int i = 0; i < h->slots; ++i) {
        tensor_destroy(&h->slot[i]);
    }
    tensor_destroy(&h->local);
    WEFT_FREE_ALL(h->slot, h->unused);
    *h = (tree_histograms){0};
}

/* Numbers in a cell. Ranks exchange cells of two. */
static int width_for(const tree_histograms *h, int64_t rows)
{
    return h->plan == NULL && rows <= HAL_HISTOGRAM_ROWS ? 1 : 2;
}

weft_status histograms_take(tree_histograms *h, int64_t rows, int *slot)
{
    const int width = width_for(h, rows);
    for (int i = h->unuseds - 1; i >= 0; --i) {
        if (h->slot[h->unused[i]].cols == width) {
            *slot = h->unused[i];
            h->unused[i] = h->unused[--h->unuseds];
            return WEFT_OK;
        }
    }
    WEFT_TRY(grow_array((void **)&h->slot, sizeof *h->slot, h->slots, &h->slot_capacity, WEFT_MEM_TREES));
    while (h->unused_capacity < h->slot_capacity) {
        WEFT_TRY(grow_array((void **)&h->unused, sizeof *h->unused, h->unused_capacity, &h->unused_capacity,
                            WEFT_MEM_TREES));
    }
    WEFT_TRY(tensor_create(h->hal, WEFT_DTYPE_I64, (int64_t)h->columns * HAL_BINS, width, WEFT_MEM_TREES,
                           &h->slot[h->slots]));
    *slot = h->slots++;
    return WEFT_OK;
}

weft_status histograms_take_rest(tree_histograms *h, int whole, int64_t rows, int *rest)
{
    *rest = whole;
    return h->slot[whole].cols == width_for(h, rows) ? WEFT_OK : histograms_take(h, rows, rest);
}

void histograms_give_back(tree_histograms *h, int slot)
{
    assert(h->unuseds < h->slots);
    h->unused[h->unuseds++] = slot;
}

/* The sums of this rank's rows of a node; alone: on the calling thread, of a team. */
static weft_status sum_rows(tree_histograms *h, const weft_tensor *list, const weft_tensor *pair,
                            const histogram_node *node, bool alone)
{
    const weft_tensor index = tensor_view(list, node->begin, node->end - node->begin, 0, 1);
    weft_tensor *sums = h->plan != NULL ? &h->local : &h->slot[node->slot];
    const hal_histogram_args args = {.bins = tensor_mat(&h->bins->bin),
                                     .pair = tensor_mat(pair),
                                     .index = tensor_mat(&index),
                                     .sums = tensor_mat(sums)};
    if (index.rows == 0) {
        return tensor_zero(sums);
    }
    return alone ? h->hal->op.histogram(h->hal, &args) : hal_histogram(h->hal, &args);
}

static void subtract(const tree_histograms *h, const histogram_node *node)
{
    if (node->whole < 0) {
        return;
    }
    const int64_t *part = h->slot[node->slot].data, *whole = h->slot[node->whole].data;
    const int64_t cells = (int64_t)h->columns * HAL_BINS, width = h->slot[node->whole].cols;
    int64_t *rest = h->slot[node->rest].data;
    if (h->slot[node->slot].cols == width) { /* then the rest is as wide too, as it has more rows */
        for (int64_t i = 0; i < cells * width; ++i) {
            rest[i] = whole[i] - part[i];
        }
    } else if (h->slot[node->rest].cols == width) {
        for (int64_t i = 0; i < cells; ++i) {
            rest[2 * i] = whole[2 * i] - hal_cell_gradient(part[i]);
            rest[2 * i + 1] = whole[2 * i + 1] - hal_cell_hessian(part[i]);
        }
    } else { /* the whole may pass what one number holds, the rest does not: modulo 2^64 */
        for (int64_t i = 0; i < cells; ++i) {
            const uint64_t packed = ((uint64_t)whole[2 * i] << 32) + (uint64_t)whole[2 * i + 1];
            rest[i] = (int64_t)(packed - (uint64_t)part[i]);
        }
    }
}

/* The sums of all ranks go to the ranks that keep the columns. */
static weft_status exchange(tree_histograms *h, const histogram_node *node, weft_status status)
{
    WEFT_TRY(comm_agree(h->comm, status));
    WEFT_TRY(comm_post(h->plan));
    WEFT_TRY(comm_wait(h->plan));
    const int64_t cells = (int64_t)h->columns * HAL_BINS * 2, first = (int64_t)h->first * HAL_BINS * 2;
    if (cells > 0) {
        memcpy(h->slot[node->slot].data, (const int64_t *)h->local.data + first, (size_t)cells * sizeof(int64_t));
    }
    subtract(h, node);
    return WEFT_OK;
}

/* Is a node worth a thread, not a team? */
static bool is_small(const tree_histograms *h, const histogram_node *node, int nodes)
{
    return h->hal->calls_in_team && nodes > 1 && node->end - node->begin <= SMALL_ROWS;
}

static int more_rows(const void *a, const void *b)
{
    const histogram_node *x = a, *y = b;
    const int64_t left = x->end - x->begin, right = y->end - y->begin;
    return (left < right) - (left > right);
}

/* On one rank: small nodes side by side, a thread each, those of most rows first, as threads that end apart wait; then
 * the others one by one. */
static weft_status build_here(tree_histograms *h, const weft_tensor *list, const weft_tensor *pair,
                              histogram_node *node, int nodes)
{
    weft_status status;
    first_failure failure = {.status = WEFT_OK};
    qsort(node, (size_t)nodes, sizeof *node, more_rows);
#pragma omp parallel for schedule(dynamic) num_threads(h->hal->threads) if (nodes > 1)
    for (int n = 0; n < nodes; ++n) {
        if (is_small(h, &node[n], nodes)) {
            first_failure_note(&failure, n, sum_rows(h, list, pair, &node[n], true));
            subtract(h, &node[n]);
        }
    }
    status = first_failure_tell(&failure);
    for (int n = 0; n < nodes && status == WEFT_OK; ++n) {
        if (!is_small(h, &node[n], nodes)) {
            status = sum_rows(h, list, pair, &node[n], false);
            subtract(h, &node[n]);
        }
    }
    return status;
}

weft_status histograms_build(tree_histograms *h, const weft_tensor *list, const weft_tensor *pair, histogram_node *node,
                             int nodes)
{
    if (h->plan == NULL) {
        return build_here(h, list, pair, node, nodes);
    }
    for (int n = 0; n < nodes; ++n) {
        WEFT_TRY(exchange(h, &node[n], sum_rows(h, list, pair, &node[n], false)));
    }
    return WEFT_OK;
}

/* The best split of each node by this rank's columns. */
static void scan(const tree_histograms *h, const split_rule *rule, const int *slot, const split_node *node, int nodes,
                 tree_split *best)
{
#pragma omp parallel for schedule(dynamic) num_threads(h->hal->threads) if (nodes > 1)
    for (int n = 0; n < nodes; ++n) {
        best[n] = (tree_split){0};
        for (int c = 0; c < h->columns; ++c) {
            const int column = h->first + c;
            if (node[n].use[column] != 0) {
                const int width = (int)h->slot[slot[n]].cols;
                const int64_t *cell = (const int64_t *)h->slot[slot[n]].data + (int64_t)c * HAL_BINS * width;
                split_scan(rule, &node[n], &(split_cells){cell, width, h->bins->cells[column]}, column, &best[n]);
            }
        }
    }
}

weft_status histograms_best(tree_histograms *h, const split_rule *rule, const int *slot, const split_node *node,
                            int nodes, tree_split *best)
{
    const int ranks = comm_size(h->comm);
    tree_split *all = NULL;
    scan(h, rule, slot, node, nodes, best);
    if (ranks == 1) {
        return WEFT_OK;
    }
    WEFT_TRY(comm_agree(h->comm, WEFT_NEW(&all, (int64_t)ranks * nodes, WEFT_MEM_WORKSPACE)));
    const weft_status status = comm_allgather(h->comm, best, (int64_t)sizeof *best * nodes, all);
    for (int i = 0; status == WEFT_OK && i < ranks * nodes; ++i) {
        if (all[i].gain > 0.0 && split_is_better(&all[i], &best[i % nodes])) {
            best[i % nodes] = all[i];
        }
    }
    weft_free(all);
    return status;
}

uint64_t histograms_bytes(const tree_histograms *h)
{
    int64_t numbers = h->local.rows * h->local.cols;
    for (int i = 0; i < h->slots; ++i) {
        numbers += h->slot[i].rows * h->slot[i].cols;
    }
    return (uint64_t)numbers * sizeof(int64_t);
}

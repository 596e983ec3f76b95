/* trees/grow/histograms.c: see trees/grow/histograms.h. */
#include "trees/grow/histograms.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/failure/failure.h"
#include "base/grow.h"
#include "base/integer/integers.h"

/* Rows of a node for which a team's start and end would take as long as its sums. */
enum { SMALL_ROWS = 1 << 16 };

/* Bytes of the sums of nodes that threads make side by side before they are sent. */
enum { LOCAL_BYTES = 1 << 24 };

static int64_t all_cells(const tree_histograms *h)
{
    return h->cell[h->bins->bin.cols];
}

/* Cells of a rank's columns. */
static int64_t share_cells(const tree_histograms *h, int rank)
{
    const int columns = (int)h->bins->bin.cols, ranks = comm_size(h->comm);
    return h->cell[growth_first_column(columns, rank + 1, ranks)] - h->cell[growth_first_column(columns, rank, ranks)];
}

/* Cells of the columns first .. end - 1 in a slot. */
static int64_t slot_cells(const tree_histograms *h, int first, int end)
{
    return tree_bins_first(h->bins, end) - tree_bins_first(h->bins, first);
}

static int64_t own_cells(const tree_histograms *h)
{
    return slot_cells(h, h->first, h->first + h->columns);
}

static void set_shares(tree_histograms *h, int64_t numbers)
{
    for (int r = 0; r < comm_size(h->comm); ++r) {
        h->count[r] = numbers * share_cells(h, r);
    }
}

static weft_status allocate_exchange(tree_histograms *h)
{
    const int64_t rows = slot_cells(h, 0, (int)h->bins->bin.cols);
    const int64_t fit = LOCAL_BYTES / (2 * (int64_t)sizeof(int64_t) * (rows > 0 ? rows : 1));
    const int locals = fit < 1 ? 1 : fit < h->hal->threads ? (int)fit : h->hal->threads;
    WEFT_TRY(WEFT_NEW(&h->count, comm_size(h->comm), WEFT_MEM_TREES));
    WEFT_TRY(WEFT_NEW(&h->vector, growth_scatter_most(all_cells(h)) * all_cells(h), WEFT_MEM_TREES));
    WEFT_TRY(WEFT_NEW_ZERO(&h->local, locals, WEFT_MEM_TREES));
    while (h->locals < locals) {
        WEFT_TRY(tensor_create(h->hal, WEFT_DTYPE_I64, rows, 2, WEFT_MEM_TREES, &h->local[h->locals]));
        ++h->locals;
    }
    return WEFT_OK;
}

static weft_status make_plan(tree_histograms *h)
{
    WEFT_TRY(comm_agree(h->comm, allocate_exchange(h)));
    set_shares(h, growth_scatter_most(all_cells(h)));
    const comm_shares_desc desc = {.lane = COMM_LANE_GRADIENT,
                                   .dtype = WEFT_DTYPE_I64,
                                   .op = COMM_SUM,
                                   .count = h->count,
                                   .buffer = h->vector,
                                   .name = "histograms"};
    return comm_reduce_scatter_plan(h->comm, &desc, &h->plan);
}

weft_status histograms_create(weft_comm *comm, const tree_bins *bins, rank_exchange *exchange, tree_histograms *h)
{
    const int ranks = comm_size(comm), rank = comm_rank(comm), all = (int)bins->bin.cols;
    *h = (tree_histograms){.comm = comm, .hal = bins->bin.hal, .bins = bins, .exchange = exchange};
    h->first = growth_first_column(all, rank, ranks);
    h->columns = growth_first_column(all, rank + 1, ranks) - h->first;
    WEFT_TRY(comm_agree(comm, WEFT_NEW_ZERO(&h->cell, all + 1, WEFT_MEM_TREES)));
    for (int c = 0; c < all; ++c) {
        h->cell[c + 1] = h->cell[c] + bins->cells[c];
    }
    return ranks > 1 ? make_plan(h) : WEFT_OK;
}

int histograms_fit(const tree_histograms *h, uint64_t bytes)
{
    const int columns = (int)h->bins->bin.cols, ranks = comm_size(h->comm);
    int64_t most = 1;
    for (int r = 0; r < ranks; ++r) {
        most = larger(
            most, slot_cells(h, growth_first_column(columns, r, ranks), growth_first_column(columns, r + 1, ranks)));
    }
    const uint64_t fit = bytes / ((uint64_t)most * 2 * sizeof(int64_t));
    return bytes == 0 || fit > INT_MAX ? INT_MAX : (int)larger((int64_t)fit, HISTOGRAMS_LEAST);
}

void histograms_destroy(tree_histograms *h)
{
    comm_plan_destroy(h->plan);
    for (int i = 0; i < h->slots; ++i) {
        tensor_destroy(&h->slot[i]);
    }
    for (int i = 0; i < h->locals; ++i) {
        tensor_destroy(&h->local[i]);
    }
    WEFT_FREE_ALL(h->local, h->slot, h->unused, h->cell, h->vector, h->count);
    *h = (tree_histograms){0};
}

/* Numbers in a cell of a slot. Which of two nodes has fewer rows of all ranks is not known when slots are taken. */
static int width_for(const tree_histograms *h, int64_t rows)
{
    return h->plan == NULL ? growth_width(rows) : 2;
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
    WEFT_TRY(tensor_create(h->hal, WEFT_DTYPE_I64, own_cells(h), width, WEFT_MEM_TREES, &h->slot[h->slots]));
    *slot = h->slots++;
    return h->plan != NULL ? tensor_zero(&h->slot[*slot]) : WEFT_OK; /* bins that a column has not are never received */
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
                            const histogram_node *node, bool alone, weft_tensor *sums)
{
    const weft_tensor index = tensor_view(list, node->begin, node->end - node->begin, 0, 1);
    const hal_histogram_args args = {
        .bins = tensor_mat(&h->bins->bin),
        .first = tree_bins_wide(h->bins) ? tensor_mat(&h->bins->first) : (hal_mat){.data = NULL},
        .pair = tensor_mat(pair),
        /* all rows are a list of themselves */
        .index = index.rows < h->bins->bin.rows ? tensor_mat(&index) : (hal_mat){.data = NULL},
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
    const int64_t cells = own_cells(h), width = h->slot[node->whole].cols;
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

/* Is a node worth a thread, not a team? */
static bool is_small(const tree_histograms *h, const histogram_node *node, int nodes)
{
    return h->hal->calls_in_team && nodes > 1 && node->end - node->begin <= SMALL_ROWS;
}

static int more_rows(const void *a, const void *b)
{
    const histogram_node *x = a, *y = b;
    return x->rows != y->rows ? (x->rows < y->rows) - (x->rows > y->rows) : x->slot - y->slot;
}

/* On one rank: small nodes side by side, a thread each, those of most rows first, as threads that end apart wait; then
 * the others one by one. */
static weft_status build_here(tree_histograms *h, const weft_tensor *list, const weft_tensor *pair,
                              histogram_node *node, int nodes)
{
    weft_status status;
    first_failure failure = {.status = WEFT_OK};
#pragma omp parallel for schedule(dynamic) num_threads(h->hal->threads) if (nodes > 1)
    for (int n = 0; n < nodes; ++n) {
        if (is_small(h, &node[n], nodes)) {
            first_failure_note(&failure, n, sum_rows(h, list, pair, &node[n], true, &h->slot[node[n].slot]));
            subtract(h, &node[n]);
        }
    }
    status = first_failure_tell(&failure);
    for (int n = 0; n < nodes && status == WEFT_OK; ++n) {
        if (!is_small(h, &node[n], nodes)) {
            status = sum_rows(h, list, pair, &node[n], false, &h->slot[node[n].slot]);
            subtract(h, &node[n]);
        }
    }
    return status;
}

/* ---- several ranks ----------------------------------------------------------------------------------------------- */

/* The sums of a node go to their places in the vector. numbers: a bin of all its nodes. */
static void put_node(const tree_histograms *h, const histogram_node *node, const weft_tensor *local, int64_t numbers)
{
    const int columns = (int)h->bins->bin.cols, ranks = comm_size(h->comm);
    const int64_t width = local->cols;
    for (int r = 0; r < ranks; ++r) {
        const int first = growth_first_column(columns, r, ranks), end = growth_first_column(columns, r + 1, ranks);
        int64_t *to = h->vector + numbers * h->cell[first] + node->before * share_cells(h, r);
        for (int c = first; c < end; ++c) {
            memcpy(to + width * (h->cell[c] - h->cell[first]),
                   (const int64_t *)local->data + tree_bins_first(h->bins, c) * width,
                   (size_t)(width * h->bins->cells[c]) * sizeof *to);
        }
    }
}

/* This rank's columns of a node come back, as sums of all ranks. */
static void take_node(tree_histograms *h, const histogram_node *node, int64_t numbers)
{
    const int64_t width = growth_width(node->rows), first = h->cell[h->first];
    const int64_t *from = h->vector + numbers * first + node->before * share_cells(h, comm_rank(h->comm));
    for (int c = h->first; c < h->first + h->columns; ++c) {
        const int64_t *cell = from + width * (h->cell[c] - first);
        int64_t *to = (int64_t *)h->slot[node->slot].data + slot_cells(h, h->first, c) * 2;
        if (width == 2) {
            memcpy(to, cell, (size_t)h->bins->cells[c] * 2 * sizeof *to);
        }
        for (int b = 0; width == 1 && b < h->bins->cells[c]; ++b) {
            to[2 * b] = hal_cell_gradient(cell[b]);
            to[2 * b + 1] = hal_cell_hessian(cell[b]);
        }
    }
    subtract(h, node);
}

/* Sums of this rank's rows of a node become part of the vector. */
static weft_status add_node(tree_histograms *h, const weft_tensor *list, const weft_tensor *pair,
                            const histogram_node *node, bool alone, weft_tensor local, int64_t numbers)
{
    local.cols = local.ld = growth_width(node->rows);
    WEFT_TRY(sum_rows(h, list, pair, node, alone, &local));
    put_node(h, node, &local, numbers);
    return WEFT_OK;
}

static weft_status add_nodes(tree_histograms *h, const weft_tensor *list, const weft_tensor *pair,
                             const histogram_node *node, int nodes, int64_t numbers)
{
    first_failure failure = {.status = WEFT_OK};
#pragma omp parallel for schedule(static, 1) num_threads(h->locals) if (nodes > 1 && h->locals > 1)
    for (int part = 0; part < h->locals; ++part) { /* nodes come by falling rows */
        for (int n = part; n < nodes; n += h->locals) {
            if (is_small(h, &node[n], nodes)) {
                first_failure_note(&failure, n, add_node(h, list, pair, &node[n], true, h->local[part], numbers));
            }
        }
    }
    weft_status status = first_failure_tell(&failure);
    for (int n = 0; n < nodes && status == WEFT_OK; ++n) {
        if (!is_small(h, &node[n], nodes)) {
            status = add_node(h, list, pair, &node[n], false, h->local[0], numbers);
        }
    }
    return status;
}

/* One reduce-scatter. A rank that cannot sum takes part with what it has: the others wait for it. */
static weft_status scatter(tree_histograms *h, const weft_tensor *list, const weft_tensor *pair, histogram_node *node,
                           int nodes)
{
    int64_t numbers = 0;
    for (int n = 0; n < nodes; ++n) {
        node[n].before = numbers;
        numbers += growth_width(node[n].rows);
    }
    const double begun = clock_seconds();
    const weft_status local = add_nodes(h, list, pair, node, nodes, numbers);
    h->exchange->seconds.sums += clock_seconds() - begun;
    h->failed = h->failed == WEFT_OK ? local : h->failed;
    set_shares(h, numbers);
    WEFT_TRY(comm_plan_recut(h->plan, h->count));
    WEFT_TRY(exchange_run(h->exchange, h->plan));
#pragma omp parallel for schedule(static) num_threads(h->hal->threads) if (nodes > 1)
    for (int n = 0; n < nodes; ++n) {
        take_node(h, &node[n], numbers);
    }
    return WEFT_OK;
}

weft_status histograms_build(tree_histograms *h, const weft_tensor *list, const weft_tensor *pair, histogram_node *node,
                             int nodes)
{
    int64_t wide = 0;
    qsort(node, (size_t)nodes, sizeof *node, more_rows);
    for (int n = 0; n < nodes; ++n) {
        wide += growth_width(node[n].rows) == 2;
        h->exchange->work.summed += node[n].end - node[n].begin;
    }
    int64_t narrow = nodes - wide;
    growth_add_scatters(&h->exchange->work, wide, narrow, all_cells(h));
    if (h->plan == NULL) {
        const double begun = clock_seconds();
        const weft_status status = build_here(h, list, pair, node, nodes);
        h->exchange->seconds.sums += clock_seconds() - begun;
        return status;
    }
    weft_status status = WEFT_OK;
    for (int64_t at = 0, part; at < nodes && status == WEFT_OK; at += part) {
        part = growth_next_scatter(&wide, &narrow, all_cells(h));
        status = scatter(h, list, pair, node + at, (int)part);
    }
    return status;
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
                const int64_t *cell = (const int64_t *)h->slot[slot[n]].data + slot_cells(h, h->first, column) * width;
                split_scan(rule, &node[n], &(split_cells){cell, width, h->bins->cells[column]}, column, &best[n]);
            }
        }
    }
}

weft_status histograms_best(tree_histograms *h, const split_rule *rule, const int *slot, const split_node *node,
                            int nodes, tree_split *best)
{
    const double begun = clock_seconds();
    h->exchange->work.scanned += nodes;
    scan(h, rule, slot, node, nodes, best);
    h->exchange->seconds.scans += clock_seconds() - begun;
    return exchange_best(h->exchange, best, nodes);
}

/* trees/grow/growth_work.c: see trees/grow/growth_work.h. */
#include "trees/grow/growth_work.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/integer/integers.h"
#include "comm/coll/coll.h"

void growth_add_vector(growth_work *work, int64_t elements, int64_t element_bytes)
{
    const int64_t most = EXCHANGE_BYTES / element_bytes;
    work->calls += (elements + most - 1) / most;
    work->call_bytes += elements * element_bytes;
}

int64_t growth_record_bytes(int category_bins)
{
    return category_bins == 0 ? SPLIT_HEAD_BYTES : category_bins <= HAL_BINS ? SPLIT_BYTES : SPLIT_WIDE_BYTES;
}

int growth_width(int64_t rows)
{
    return rows <= HAL_HISTOGRAM_ROWS ? 1 : 2;
}

uint64_t growth_histogram_bytes(int64_t rows, int depth, int leaves, int64_t cells)
{
    /* Nodes at the greatest depth have none. By leaves some are divided ahead of their turn, a sixteenth at least. */
    const int64_t by_depth = depth > 0 && depth < 40 ? (int64_t)1 << (depth - 1) : rows;
    const int64_t by_leaves = leaves > 0 ? leaves + leaves / 8 + 2 : rows;
    const int64_t nodes = smaller(smaller(by_depth, by_leaves), rows) + 1;
    const int64_t wide = smaller(nodes, rows / HAL_HISTOGRAM_ROWS + 1); /* of 2 numbers a cell */
    return (uint64_t)(nodes + wide) * (uint64_t)cells * sizeof(int64_t);
}

int64_t growth_scatter_most(int64_t cells)
{
    const int64_t most = SCATTER_BYTES / ((int64_t)sizeof(int64_t) * (cells > 0 ? cells : 1));
    return most > 2 ? most : 2;
}

int64_t growth_next_scatter(int64_t *wide, int64_t *narrow, int64_t cells)
{
    const int64_t most = growth_scatter_most(cells);
    const int64_t taken = *wide < most / 2 ? *wide : most / 2, left = *wide > taken ? 0 : most - 2 * taken;
    const int64_t more = *narrow < left ? *narrow : left;
    *wide -= taken;
    *narrow -= more;
    return taken + more;
}

void growth_add_scatters(growth_work *work, int64_t wide, int64_t narrow, int64_t cells)
{
    work->numbers += 2 * wide + narrow;
    work->built += wide + narrow;
    while (growth_next_scatter(&wide, &narrow, cells) > 0) {
        ++work->scatters;
    }
}

uint64_t growth_scatter_bytes(int64_t cells)
{
    return (uint64_t)(growth_scatter_most(cells) * cells) * sizeof(int64_t);
}

/* ---- one tree ---------------------------------------------------------------------------------------------------- */

/* What the divisions of one level send. */
typedef struct level {
    int64_t divided;  /* whose children may be divided, too */
    int64_t built[3]; /* histograms by their width */
} level;

static void add_level(growth_work *work, const level *l, const growth_shape *shape)
{
    growth_add_call(work, AGREE_BYTES);
    growth_add_vector(work, 2 * l->divided, sizeof(int64_t));
    growth_add_vector(work, 2 * l->divided, shape->record_bytes);
    growth_add_scatters(work, l->built[2], l->built[1], shape->cells);
    work->scanned += 2 * l->divided;
}

static int64_t rows_of(const weft_tree *tree, int32_t node, const growth_shape *shape)
{
    return llrint((double)shape->rows * tree->node[node].hessian / tree->node[0].hessian);
}

weft_status growth_add_tree(const weft_tree *tree, const growth_shape *shape, growth_work *work)
{
    int *depth = NULL; /* [nodes] */
    level *of = NULL;  /* [nodes] more than there are levels */
    int levels = 0;
    WEFT_TRY(WEFT_NEW_ZERO(&depth, tree->nodes, WEFT_MEM_WORKSPACE));
    weft_status status = WEFT_NEW_ZERO(&of, tree->nodes, WEFT_MEM_WORKSPACE);
    if (status != WEFT_OK || of == NULL || depth == NULL) {
        goto done;
    }
    for (int32_t n = 0; n < tree->nodes; ++n) {
        const int32_t left = tree->node[n].left;
        depth[n] = n > 0 ? depth[tree->node[n].parent] + 1 : 0;
        if (left < 0) {
            continue;
        }
        levels = depth[n] + 1 > levels ? depth[n] + 1 : levels;
        work->divided += rows_of(tree, n, shape);
        if (shape->depth == 0 || depth[n] + 1 < shape->depth) {
            const int64_t rows[2] = {rows_of(tree, left, shape), rows_of(tree, left + 1, shape)};
            const int64_t less = rows[0] < rows[1] ? rows[0] : rows[1];
            of[depth[n]].divided += 1;
            of[depth[n]].built[growth_width(less)] += 1;
            work->summed += less;
        }
    }
    growth_add_call(work, 3 * sizeof(double));
    growth_add_call(work, 3 * sizeof(int64_t));
    for (int i = 0; i < 3;
         ++i) { /* before the root's histograms, before the end of growth, and before the leaves' sums */
        growth_add_call(work, AGREE_BYTES);
    }
    const bool wide = growth_width(shape->rows) == 2;
    growth_add_scatters(work, wide, !wide, shape->cells);
    growth_add_vector(work, 1, shape->record_bytes);
    work->summed += shape->rows;
    work->trees += 1;
    work->scanned += 1;
    for (int l = 0; l < levels; ++l) {
        add_level(work, &of[l], shape);
    }
    growth_add_vector(work, tree->nodes / 2 + 1, 2 * sizeof(int64_t));
done:
    WEFT_FREE_ALL(depth, of);
    return status;
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

int growth_first_column(int columns, int rank, int ranks)
{
    return (int)((int64_t)columns * rank / ranks);
}

static int64_t share_of(const int *column_cells, int columns, int rank, int ranks)
{
    int64_t cells = 0;
    for (int c = growth_first_column(columns, rank, ranks); c < growth_first_column(columns, rank + 1, ranks); ++c) {
        cells += column_cells[c];
    }
    return cells;
}

/* All all-reduces as one, of the same bytes in as many rounds more. */
static comm_cost all_reduces(const growth_work *work, int rank, int ranks)
{
    const coll_place place = {.rank = rank, .size = ranks};
    const comm_cost whole = coll_algorithm_of(COMM_ALGO_RECURSIVE_DOUBLING)->cost(&place, work->call_bytes, 1);
    comm_cost cost = whole;
    cost.messages_sent *= work->calls;
    cost.inter_rounds *= work->calls;
    return work->calls > 0 && ranks > 1 ? cost : (comm_cost){0};
}

comm_cost growth_cost(const growth_work *work, const int *column_cells, int columns, int rank, int ranks)
{
    comm_cost cost = all_reduces(work, rank, ranks);
    int64_t all = 0, most = 0, least = INT64_MAX;
    for (int r = 0; r < ranks; ++r) {
        const int64_t share = share_of(column_cells, columns, r, ranks);
        all += share;
        most = share > most ? share : most;
        least = share < least ? share : least;
        cost.messages_sent += r != rank && share > 0 ? work->scatters : 0;
    }
    const int64_t bytes = work->numbers * (int64_t)sizeof(int64_t);
    const int64_t out = all - least, in = (ranks - 1) * most;
    cost.bytes_sent += bytes * (all - share_of(column_cells, columns, rank, ranks));
    cost.inter_rounds += work->scatters * (ranks - 1);
    cost.inter_bytes += bytes * (ranks > 1 && in > out ? in : out) * (ranks > 1);
    cost.inter_paired = cost.inter_bytes;
    cost.reduced += bytes * in;
    return cost;
}

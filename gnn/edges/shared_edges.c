/* gnn/edges/shared_edges.c: see gnn/edges/shared_edges.h. */
#include "gnn/edges/shared_edges.h"

#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "hal/spmm_least.h"

/* ---- preparing --------------------------------------------------------------------------------------------------- */
/* Lists of the rows of levels, then of vertices: row r has items start[r] .. start[r + 1]. */
typedef struct row_lists {
    int64_t *start;
    int32_t *item;
} row_lists;

/* Who reads each partial maximum, then each vertex; a reader is the row in which its value stands. */
static weft_status find_readers(const hal_shared_rows *m, row_lists *readers)
{
    const int64_t rows = m->sums + m->targets;
    const int64_t columns = m->sums + m->sources;
    WEFT_TRY(WEFT_NEW_ZERO(&readers->start, columns + 2, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&readers->item, m->plus_start[rows] + 1, WEFT_MEM_WORKSPACE));
    int64_t *next = readers->start + 1;
    for (int64_t e = 0; e < m->plus_start[rows]; ++e) {
        const int64_t column = m->plus[e] < m->sources ? m->sums + m->plus[e] : m->plus[e] - m->sources;
        ++next[column + 1];
    }
    for (int64_t c = 0; c < columns; ++c) {
        next[c + 1] += next[c];
    }
    for (int64_t r = 0; r < rows; ++r) {
        const int64_t reader = r < m->sums ? m->targets + r : r - m->sums;
        for (int64_t e = m->plus_start[r]; e < m->plus_start[r + 1]; ++e) {
            const int64_t column = m->plus[e] < m->sources ? m->sums + m->plus[e] : m->plus[e] - m->sources;
            readers->item[next[column]++] = (int32_t)reader;
        }
    }
    return WEFT_OK;
}

/* Lists of each level and of the vertices on the device, each with offsets of its own. */
static weft_status upload_lists(gnn_shared_edges *shared, const hal_shared_rows *m, const row_lists *lists,
                                const uint8_t *elsewhere, int direction, tensor_edges *edges)
{
    weft_hal *hal = shared->hal;
    weft_status status = WEFT_OK;
    int64_t *offset = NULL;
    const int64_t rows = m->sums + m->targets;
    const size_t offset_bytes = (size_t)(rows + m->levels + 1) * sizeof *offset;
    const size_t column_bytes = (size_t)lists->start[rows] * sizeof *lists->item;
    WEFT_TRY_GOTO(weft_malloc(offset_bytes, 1, WEFT_MEM_WORKSPACE, (void **)&offset), status, done);
    WEFT_TRY_GOTO(hal->mem.alloc(hal, offset_bytes, WEFT_MEM_GRAPH, (void **)&shared->offset[direction]), status, done);
    WEFT_TRY_GOTO(hal->mem.alloc(hal, column_bytes, WEFT_MEM_GRAPH, (void **)&shared->column[direction]), status, done);
    for (int l = 0; l <= m->levels; ++l) {
        const int64_t begin = m->level[l];
        const int64_t end = l < m->levels ? m->level[l + 1] : rows;
        const int64_t first = lists->start[begin];
        int64_t *to = offset + begin + l;
        for (int64_t row = begin; row <= end; ++row) {
            to[row - begin] = lists->start[row] - first;
        }
        edges[l] = (tensor_edges){.rows = end - begin,
                                  .entries = lists->start[end] - first,
                                  .offset = shared->offset[direction] + begin + l,
                                  .column = shared->column[direction] + first,
                                  .elsewhere = l < m->levels ? NULL : elsewhere};
    }
    WEFT_TRY_GOTO(hal->mem.upload(hal, shared->offset[direction], offset, offset_bytes), status, done);
    WEFT_TRY_GOTO(hal->mem.upload(hal, shared->column[direction], lists->item, column_bytes), status, done);
done:
    weft_free(offset);
    return status;
}

static weft_status prepare(const hal_shared_rows *m, const uint8_t *elsewhere, gnn_shared_edges *shared)
{
    weft_status status = WEFT_OK;
    const row_lists read = {.start = m->plus_start, .item = m->plus};
    row_lists readers = {.start = NULL};
    shared->levels = m->levels;
    WEFT_TRY_GOTO(WEFT_NEW(&shared->level, m->levels + 1, WEFT_MEM_GRAPH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&shared->forward, m->levels + 1, WEFT_MEM_GRAPH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&shared->backward, m->levels + 1, WEFT_MEM_GRAPH), status, done);
    memcpy(shared->level, m->level, (size_t)(m->levels + 1) * sizeof *shared->level);
    WEFT_TRY_GOTO(upload_lists(shared, m, &read, elsewhere, 0, shared->forward), status, done);
    WEFT_TRY_GOTO(find_readers(m, &readers), status, done);
    WEFT_TRY_GOTO(upload_lists(shared, m, &readers, NULL, 1, shared->backward), status, done);
    shared->sums = m->sums;
done:
    WEFT_FREE_ALL(readers.start, readers.item);
    return status;
}

weft_status gnn_shared_edges_create(weft_hal *hal, const weft_part *part, bool asked, const uint8_t *elsewhere,
                                    gnn_shared_edges *shared)
{
    const hal_csr csr = {.rows = part->n_local, .cols = part->n_local, .offset = part->offset, .column = part->source};
    hal_shared_rows m;
    double share = 0.0;
    *shared = (gnn_shared_edges){.hal = hal};
    if (part->n_local == 0 || (!asked && part->edges < HAL_SPMM_LEAST)) {
        return WEFT_OK;
    }
    WEFT_TRY(asked ? WEFT_OK : hal_share_sample(&csr, false, hal->threads, &share));
    if (!asked && share < HAL_SHARE_LEAST) {
        return WEFT_OK;
    }
    WEFT_TRY(hal_share_find(&csr, false, hal->threads, hal->keep_folder, &m));
    assert(m.minus_start[m.sums + m.targets] == 0);
    log_info("maxima by what rows have in common: %lld partial ones, %.1f times fewer reads", (long long)m.sums,
             (double)part->edges / (double)(m.plus_start[m.sums + m.targets] + (part->edges == 0)));
    const int64_t most = gnn_partial_most(part->n_local);
    if (m.sums > most) {
        log_warn("maxima along edges one by one: %lld partial maxima would take more memory than is planned for %lld",
                 (long long)m.sums, (long long)most);
    }
    weft_status status = m.sums > 0 && m.sums <= most ? prepare(&m, elsewhere, shared) : WEFT_OK;
    hal_shared_rows_free(&m);
    return status;
}

void gnn_shared_edges_destroy(gnn_shared_edges *shared)
{
    for (int d = 0; d < 2 && shared->hal != NULL; ++d) {
        shared->hal->mem.free(shared->hal, shared->offset[d]);
        shared->hal->mem.free(shared->hal, shared->column[d]);
    }
    WEFT_FREE_ALL(shared->level, shared->forward, shared->backward);
    *shared = (gnn_shared_edges){.sums = 0};
}

/* ---- running ----------------------------------------------------------------------------------------------------- */
/* The rows of a level, of a matrix whose partial maxima begin at row `first`; of the vertices behind the last level. */
static weft_tensor rows_of(const gnn_shared_edges *shared, const weft_tensor *t, int64_t first, int level)
{
    return level < shared->levels ? tensor_view(t, first + shared->level[level],
                                                shared->level[level + 1] - shared->level[level], 0, t->cols)
                                  : tensor_view(t, 0, first, 0, t->cols);
}

/* What rows of a level may read: the vertices and all lower levels. */
static weft_tensor below(const gnn_shared_edges *shared, const weft_tensor *x, int level)
{
    return tensor_view(x, 0, x->rows - shared->sums + shared->level[level], 0, x->cols);
}

weft_status gnn_shared_largest(const gnn_shared_edges *shared, const weft_tensor *x, const weft_tensor *out)
{
    const int64_t n = x->rows - shared->sums;
    for (int l = 0; l <= shared->levels; ++l) {
        const weft_tensor from = below(shared, x, l);
        weft_tensor to = l < shared->levels ? rows_of(shared, x, n, l) : *out;
        WEFT_TRY(tensor_max_forward(&shared->forward[l], &from, &to));
    }
    return WEFT_OK;
}

weft_status gnn_shared_ties(const gnn_shared_edges *shared, const weft_tensor *x, const weft_tensor *y,
                            const weft_tensor *ties)
{
    const int64_t n = x->rows - shared->sums;
    for (int l = 0; l <= shared->levels; ++l) {
        const weft_tensor from = below(shared, x, l);
        const weft_tensor most = l < shared->levels ? rows_of(shared, x, n, l) : *y;
        const weft_tensor count = tensor_view(ties, n, shared->level[l], 0, ties->cols);
        weft_tensor to = rows_of(shared, ties, n, l);
        WEFT_TRY(tensor_max_ties(&shared->forward[l], &from, &most, count.rows > 0 ? &count : NULL, &to));
    }
    return WEFT_OK;
}

weft_status gnn_shared_backward(const gnn_shared_edges *shared, const weft_tensor *x, const weft_tensor *y,
                                const weft_tensor *dy, const weft_tensor *dx)
{
    const int64_t n = x->rows - shared->sums;
    for (int i = 0; i <= shared->levels; ++i) {
        const int level = i < shared->levels ? shared->levels - 1 - i : shared->levels;
        const weft_tensor own = rows_of(shared, x, n, level);
        weft_tensor to = level < shared->levels ? rows_of(shared, dy, n, level) : *dx;
        WEFT_TRY(tensor_max_backward(&shared->backward[level], &own, y, dy, &to));
    }
    return WEFT_OK;
}

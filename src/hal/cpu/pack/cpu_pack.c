/*
 * hal/cpu/pack/cpu_pack.c: the pack operations: elements, or rows where there are gaps between them, are cut evenly
 * over the threads, each part runs a kernel of hal/pack.h.
 */
#include <assert.h>
#include <string.h>

#include "hal/cpu/cpu_backend.h"
#include "hal/cpu/pack/pack_internal.h"

static const hal_pack *pack_of(const weft_hal *hal)
{
    return hal_pack_of(cpu_state_of(hal)->isa);
}

/* ---- element by element ------------------------------------------------------------------------------------------ */

static bool has_gaps(const hal_mat *mat)
{
    return mat->rows > 1 && mat->ld != mat->cols;
}

static char *element_at(const hal_mat *mat, int64_t row, int64_t col)
{
    return (char *)mat->data + (size_t)(row * mat->ld + col) * weft_dtype_bytes(mat->dtype);
}

/* One run of `count` elements from (row, col) of every operand. */
typedef void (*run_fn)(const hal_pack *pack, const void *args, int64_t row, int64_t col, int64_t count);

/* gaps: an operand has some behind its rows; else all elements are one run. */
static void each_run(weft_hal *hal, run_fn run, const void *args, const hal_mat *shape, bool gaps)
{
    const int64_t cols = gaps ? shape->cols : shape->rows * shape->cols;
    const int64_t rows = cols == 0 ? 0 : (gaps ? shape->rows : 1);
    const hal_pack *pack = pack_of(hal);
    const int parts = cpu_parts(hal, rows * cols);
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = 0;
        int64_t end = 0;
        hal_split_rows(gaps ? rows : cols, parts, part, &begin, &end);
        for (int64_t row = begin; gaps && row < end; ++row) {
            run(pack, args, row, 0, cols);
        }
        if (!gaps && end > begin) {
            run(pack, args, 0, begin, end - begin);
        }
    }
}

static void reduce_run(const hal_pack *pack, const void *args, int64_t row, int64_t col, int64_t count)
{
    const hal_reduce_args *a = args;
    (void)pack; /* compiled once: bound by memory */
    pack_reduce(a->to.dtype, a->reduction, element_at(&a->to, row, col), element_at(&a->left, row, col),
                element_at(&a->right, row, col), count);
}

static weft_status cpu_reduce(weft_hal *hal, const hal_reduce_args *a)
{
    assert(a->left.rows == a->to.rows && a->left.cols == a->to.cols);
    assert(a->right.rows == a->to.rows && a->right.cols == a->to.cols);
    each_run(hal, reduce_run, a, &a->to, has_gaps(&a->to) || has_gaps(&a->left) || has_gaps(&a->right));
    return WEFT_OK;
}

static void cast_run(const hal_pack *pack, const void *args, int64_t row, int64_t col, int64_t count)
{
    const hal_cast_args *a = args;
    void *to = element_at(&a->y, row, col);
    const void *from = element_at(&a->x, row, col);
    if (a->x.dtype == WEFT_DTYPE_F32) {
        pack_cast_of(pack, a->y.dtype)->encode(from, to, count);
    } else if (a->add) {
        pack_cast_of(pack, a->x.dtype)->decode_add(from, to, count);
    } else {
        pack_cast_of(pack, a->x.dtype)->decode(from, to, count);
    }
}

/* Between float32 and a 16-bit type; the other pairs, which nothing waits for, run on ref. */
static weft_status cpu_cast(weft_hal *hal, const hal_cast_args *a)
{
    assert(a->x.rows == a->y.rows && a->x.cols == a->y.cols);
    if ((a->x.dtype == WEFT_DTYPE_F32) == (a->y.dtype == WEFT_DTYPE_F32)) {
        return cpu_state_of(hal)->ref.op.cast(hal, a);
    }
    each_run(hal, cast_run, a, &a->y, has_gaps(&a->x) || has_gaps(&a->y));
    return WEFT_OK;
}

/* ---- selection --------------------------------------------------------------------------------------------------- */

/* One part's share of a vector and what it found. */
typedef struct select_share {
    int64_t begin, end;
    int64_t count; /* elements that reach the threshold */
    double sum;
    uint32_t top;
} select_share;

/* Workspace: the parts' shares, then `more` bytes. */
static weft_status make_shares(weft_hal *hal, const hal_mat *x, size_t more, select_share **share, int *parts)
{
    const int64_t n = x->rows * x->cols;
    void *workspace = NULL;
    assert(x->rows <= 1 && n <= INT32_MAX);
    *parts = cpu_parts(hal, n);
    WEFT_TRY(cpu_workspace(hal, (size_t)*parts * sizeof **share + more, &workspace));
    *share = workspace;
    for (int p = 0; p < *parts; ++p) {
        (*share)[p] = (select_share){.count = 0};
        hal_split_rows(n, *parts, p, &(*share)[p].begin, &(*share)[p].end);
    }
    return WEFT_OK;
}

static void count_shares(weft_hal *hal, const float *x, float floor, select_share *share, int parts)
{
    const hal_pack *pack = pack_of(hal);
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int p = 0; p < parts; ++p) {
        share[p].count = pack->count(x, share[p].begin, share[p].end, hal_magnitude(floor));
    }
}

static int64_t count_all(const select_share *share, int parts)
{
    int64_t count = 0;
    for (int p = 0; p < parts; ++p) {
        count += share[p].count;
    }
    return count;
}

static weft_status cpu_count_above(weft_hal *hal, const hal_count_above_args *a)
{
    select_share *share = NULL;
    int parts = 0;
    assert(a->floor >= 0.0f && a->count.data != NULL);
    WEFT_TRY(make_shares(hal, &a->x, 0, &share, &parts));
    count_shares(hal, a->x.source, a->floor, share, parts);
    *(int64_t *)a->count.data = count_all(share, parts);
    return WEFT_OK;
}

/* Kernels write past what they keep: each part compacts into room of its own, from where its entries are copied. */
static weft_status cpu_compact_above(weft_hal *hal, const hal_compact_above_args *a)
{
    const hal_pack *pack = pack_of(hal);
    const int64_t capacity = a->index.cols;
    const float *x = a->x.source;
    int32_t *index = a->index.data;
    float *value = a->value.data;
    select_share *share = NULL;
    int parts = 0;
    assert(a->floor >= 0.0f && a->value.cols == capacity && a->count.data != NULL);
    const int64_t room = capacity + (int64_t)hal->threads * HAL_PACK_SLACK;
    WEFT_TRY(make_shares(hal, &a->x, (size_t)room * (sizeof *index + sizeof *value), &share, &parts));
    int32_t *own_index = (int32_t *)(void *)(share + parts);
    float *own_value = (float *)(void *)(own_index + room);
    count_shares(hal, x, a->floor, share, parts);
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int p = 0; p < parts; ++p) {
        const int64_t before = count_all(share, p);
        const int64_t first = before < capacity ? before : capacity;
        const int64_t wanted = share[p].count < capacity - first ? share[p].count : capacity - first;
        const int64_t at = first + (int64_t)p * HAL_PACK_SLACK;
        uint32_t top = 0;
        if (wanted > 0) {
            (void)pack->compact(x, share[p].begin, share[p].end, hal_magnitude(a->floor), wanted, own_index + at,
                                own_value + at, &top);
            memcpy(index + first, own_index + at, (size_t)wanted * sizeof *index);
            memcpy(value + first, own_value + at, (size_t)wanted * sizeof *value);
        }
    }
    *(int64_t *)a->count.data = count_all(share, parts);
    return WEFT_OK;
}

static weft_status cpu_sum_magnitudes(weft_hal *hal, const hal_sum_magnitudes_args *a)
{
    const hal_pack *pack = pack_of(hal);
    const float *x = a->x.source;
    double *out = a->out.data;
    select_share *share = NULL;
    int parts = 0;
    assert(a->out.rows == 1 && a->out.cols == 2);
    WEFT_TRY(make_shares(hal, &a->x, 0, &share, &parts));
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int p = 0; p < parts; ++p) {
        share[p].sum = pack->sum_magnitudes(x, share[p].begin, share[p].end, &share[p].top);
    }
    double sum = 0.0;
    uint32_t top = 0;
    for (int p = 0; p < parts; ++p) {
        sum += share[p].sum;
        top = share[p].top > top ? share[p].top : top;
    }
    float largest = 0.0f;
    memcpy(&largest, &top, sizeof largest);
    out[0] = sum;
    out[1] = (double)largest;
    return WEFT_OK;
}

void cpu_pack_ops(hal_ops *ops)
{
    ops->reduce = cpu_reduce;
    ops->cast = cpu_cast;
    ops->count_above = cpu_count_above;
    ops->compact_above = cpu_compact_above;
    ops->sum_magnitudes = cpu_sum_magnitudes;
    cpu_pack_row_ops(ops);
}

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
        const hal_span own = hal_split_rows(gaps ? rows : cols, parts, part);
        for (int64_t row = own.begin; gaps && row < own.end; ++row) {
            run(pack, args, row, 0, cols);
        }
        if (!gaps && own.end > own.begin) {
            run(pack, args, 0, own.begin, own.end - own.begin);
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

/* ---- magnitudes -------------------------------------------------------------------------------------------------- */

/* One part's share of a vector and what it found. */
typedef struct magnitude_share {
    hal_span own;
    double sum;
    uint32_t top;
} magnitude_share;

static weft_status cpu_sum_magnitudes(weft_hal *hal, const hal_sum_magnitudes_args *a)
{
    const hal_pack *pack = pack_of(hal);
    const float *x = a->x.source;
    double *out = a->out.data;
    const int64_t n = a->x.rows * a->x.cols;
    const int parts = cpu_parts(hal, n);
    void *workspace = NULL;
    assert(a->x.rows <= 1 && n <= INT32_MAX && a->out.rows == 1 && a->out.cols == 2);
    WEFT_TRY(cpu_workspace(hal, (size_t)parts * sizeof(magnitude_share), &workspace));
    magnitude_share *share = workspace;
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int p = 0; p < parts; ++p) {
        share[p].own = hal_split_rows(n, parts, p);
        share[p].sum = pack->sum_magnitudes(x, share[p].own.begin, share[p].own.end, &share[p].top);
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
    ops->sum_magnitudes = cpu_sum_magnitudes;
    cpu_pack_row_ops(ops);
}

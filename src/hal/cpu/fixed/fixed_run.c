/*
 * hal/cpu/fixed/fixed_run.c: runs the form I16 (fixed.h): strip by strip the sources are rounded and packed, then
 * blocks are swept as those of LISTS or BLOCKS, each row by one thread.
 */
#include <assert.h>
#include <omp.h>

#include "hal/cpu/fixed/fixed.h"
#include "hal/cpu/fixed/fixed_table.h"
#include "hal/table/op_table.h"

/* Columns from `column` on. */
static fixed_pass pass_of(const hal_spmm *spmm, const hal_fixed_run_args *a, int64_t column)
{
    const int64_t left = a->out.cols - column;
    const bool integers = a->x.dtype == WEFT_DTYPE_I16;
    const int64_t widest = spmm_strip(spmm->usual_d);
    const int width = (int)(left < widest ? left : widest);
    const hal_mat x = hal_mat_cols(&a->x, column, width), out = hal_mat_cols(&a->out, column, width);
    fixed_pass pass = {.strip = spmm_strip(width),
                       .width = width,
                       .x = x.source,
                       .ldx = x.ld,
                       .pre = a->pre.source,
                       .packed = (uint32_t *)(void *)spmm->packed,
                       .sum = (int32_t *)(void *)spmm->sum,
                       .integers = integers,
                       .ldo = out.ld,
                       .end.adds = a->beta != 0.0};
    if (integers) {
        pass.integer_out = out.data;
        return pass;
    }
    pass.end.quantum = (const float *)a->quantum.source + column;
    pass.end.post = a->post.source;
    pass.end.diag = a->diag.source;
    pass.end.self = x.source;
    pass.end.ldself = x.ld;
    pass.end.out = out.data;
    pass.end.ldo = out.ld;
    return pass;
}

/* Blocks [begin, end) of a strip. */
static void sweep(const hal_spmm *spmm, const fixed_kernels *kernels, fixed_pass pass, int part, int64_t begin,
                  int64_t end)
{
    const spmm_blocks *m = &spmm->by_block;
    uint32_t *packed = pass.packed;
    for (int64_t b = begin; b < end; b++) {
        pass.packed = packed + (b << m->shift) * (pass.strip / 2);
        pass.first = b == 0;
        pass.last = b == m->count - 1;
        const spmm_chunk *chunk = &m->chunk[part * m->count + b];
        if (m->row_start != NULL) {
            kernels->blocks(m->row_start + chunk->row, m->column + chunk->edge, spmm->split[part],
                            spmm->split[part + 1], &pass);
        } else {
            kernels->lists(m, chunk, spmm->split[part], &pass);
        }
    }
}

/* The work is a sequence of (strip, block): a slice may end between two, the sums and the packed strip wait. */
static void run_strips(const hal_spmm *spmm, const fixed_kernels *kernels, const hal_fixed_run_args *a)
{
    const int64_t blocks = spmm->by_block.count, widest = spmm_strip(spmm->usual_d);
    const int64_t units = blocks * ((a->out.cols + widest - 1) / widest);
    const int64_t slices = a->slices > 1 ? a->slices : 1;
    const int64_t end = units * (a->slice + 1) / slices;
#pragma omp parallel num_threads(spmm->parts)
    {
        const int first = omp_get_thread_num();
        const int team = omp_get_num_threads();
        int64_t next;
        for (int64_t unit = units * a->slice / slices; unit < end; unit = next) {
            const int64_t begin = unit % blocks;
            const int64_t last = end - unit < blocks - begin ? begin + end - unit : blocks;
            const fixed_pass pass = pass_of(spmm, a, unit / blocks * widest);
            for (int part = first; begin == 0 && part < spmm->parts; part += team) {
                const hal_span own = hal_split_rows(spmm->cols, spmm->parts, part);
                kernels->pack(&pass, own.begin, own.end);
            }
#pragma omp barrier
            for (int part = first; part < spmm->parts; part += team) {
                sweep(spmm, kernels, pass, part, begin, last);
            }
#pragma omp barrier
            next = unit + last - begin;
        }
    }
}

weft_status cpu_fixed_run(weft_hal *hal, const hal_fixed_run_args *a)
{
    const hal_spmm *spmm = a->matrix;
    weft_dtype dtype;
    WEFT_TRY(hal_op_type(HAL_OP_fixed_run, a, &dtype));
    assert(a->out.rows == spmm->rows && a->x.rows == spmm->cols && a->x.cols == a->out.cols);
    assert(dtype == WEFT_DTYPE_I16 || a->quantum.cols == a->out.cols || a->out.cols == 0);
    WEFT_CHECK(spmm->form == HAL_SPMM_I16, WEFT_ERR_UNSUPPORTED,
               "sums in fixed point of an aggregation matrix that was prepared in another form than i16");
    WEFT_CHECK(a->out.cols <= spmm->max_d, WEFT_ERR_UNSUPPORTED, "aggregation of width %lld, prepared for %lld",
               (long long)a->out.cols, (long long)spmm->max_d);
    WEFT_CHECK(a->diag.source == NULL || spmm->rows <= spmm->cols, WEFT_ERR_UNSUPPORTED,
               "a diagonal needs rows <= columns, not %lld x %lld", (long long)spmm->rows, (long long)spmm->cols);
    WEFT_CHECK(a->slice >= 0 && a->slice < (a->slices > 1 ? a->slices : 1), WEFT_ERR_INTERNAL,
               "slice %d of %d of an aggregation", a->slice, a->slices);
    if (spmm->rows > 0 && a->out.cols > 0) {
        run_strips(spmm, cpu_fixed_kernels(hal), a);
    }
    return WEFT_OK;
}

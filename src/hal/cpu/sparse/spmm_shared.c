/* hal/cpu/sparse/spmm_shared.c: see hal/cpu/sparse/spmm_shared.h. */
#include "hal/cpu/sparse/spmm_shared.h"

#include <assert.h>
#include <omp.h>
#include <string.h>

#include "hal/cpu/sparse/shared_order.h"

/* Pieces of the rows of the matrix in a strip, between which a slice may end. */
enum { OUT_SHARES = 16 };

/* ---- preparing --------------------------------------------------------------------------------------------------- */
weft_status spmm_join_shared(hal_spmm *spmm, hal_shared_rows *found)
{
    spmm_shared_rows *m = &spmm->shared;
    const int64_t rows = found->sums + found->targets;
    const int64_t reads = found->plus_start[rows] + found->minus_start[rows];
    *m = (spmm_shared_rows){.targets = found->targets,
                            .sources = found->sources,
                            .sums = found->sums,
                            .levels = found->levels,
                            .level = found->level};
    found->level = NULL;
    spmm->bytes += (uint64_t)(m->levels + 1) * sizeof *m->level;
    WEFT_TRY(spmm_new(spmm, (size_t)(2 * rows + 1), sizeof *m->start, (void **)&m->start));
    m->column = found->plus;
    found->plus = NULL;
    spmm->bytes += (uint64_t)(reads + HAL_SHARED_SPARE) * sizeof *m->column;
    for (int64_t row = 0; row <= rows; row++) {
        m->start[2 * row] = found->plus_start[row] + found->minus_start[row];
        if (row < rows) {
            m->start[2 * row + 1] = found->plus_start[row + 1] + found->minus_start[row];
        }
    }
    for (int64_t row = rows; row-- > 0;) { /* entries move up, so that the last ones move first */
        const int64_t *start = m->start + 2 * row;
        const int64_t added = start[1] - start[0], subtracted = start[2] - start[1];
        memmove(m->column + start[0], m->column + found->plus_start[row], (size_t)added * sizeof *m->column);
        memcpy(m->column + start[1], found->minus + found->minus_start[row], (size_t)subtracted * sizeof *m->column);
    }
    memset(m->column + reads, 0, HAL_SHARED_SPARE * sizeof *m->column);
    return WEFT_OK;
}

/* Rows [begin, end) are divided by what they read. */
static void split_level(const spmm_shared_rows *m, int64_t begin, int64_t end, int parts, int64_t *split)
{
    const int64_t first = m->start[2 * begin] + begin;
    const int64_t all = m->start[2 * end] + end - first;
    int64_t row = begin;
    split[0] = begin;
    for (int p = 1; p <= parts; p++) {
        const int64_t wanted = all / parts * p + all % parts * p / parts;
        while (row < end && m->start[2 * row] + row - first < wanted) {
            row++;
        }
        split[p] = p == parts ? end : row;
    }
}

static weft_status split_levels(hal_spmm *spmm)
{
    const spmm_shared_rows *m = &spmm->shared;
    const int parts = spmm->parts;
    WEFT_TRY(spmm_new(spmm, (size_t)(m->levels + 1) * (size_t)(parts + 1), sizeof *spmm->shared_split,
                      (void **)&spmm->shared_split));
    for (int l = 0; l < m->levels; l++) {
        split_level(m, m->level[l], m->level[l + 1], parts, spmm->shared_split + l * (parts + 1));
    }
    split_level(m, m->sums, m->sums + m->targets, parts, spmm->shared_split + m->levels * (parts + 1));
    return WEFT_OK;
}

weft_status spmm_build_shared(hal_spmm *spmm, const hal_csr *csr, const char *keep)
{
    hal_shared_rows found;
    if (csr->rows == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(hal_share_find(csr, true, spmm->parts, keep, &found));
    const weft_status status = spmm_join_shared(spmm, &found);
    hal_shared_rows_free(&found);
    WEFT_TRY(status);
    WEFT_TRY(spmm_order_shared(spmm));
    WEFT_TRY(split_levels(spmm));
    const int64_t strip = spmm_strip(spmm->usual_d);
    return spmm_new(spmm, (size_t)((spmm->cols + spmm->shared.sums) * strip), sizeof *spmm->packed,
                    (void **)&spmm->packed);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */
/* The partial sums of a level that are a part's, into the packed strip. */
static void sum_level(const hal_spmm *spmm, int strip, int level, int part)
{
    const int64_t *split = spmm->shared_split + level * (spmm->parts + 1);
    const spmm_pass pass = {.x = spmm->packed, .width = strip, .out = spmm->packed + spmm->cols * strip, .ldo = strip};
    spmm->kernels->shared(&spmm->shared, strip, split[part], split[part + 1], 0, &pass);
}

/* Shares [begin, end) of a part's rows of the matrix. */
static void sum_rows(const hal_spmm *spmm, spmm_pass pass, int strip, int part, int64_t begin, int64_t end)
{
    const int64_t *split = spmm->shared_split + spmm->shared.levels * (spmm->parts + 1);
    const int64_t rows = split[part + 1] - split[part];
    pass.x = spmm->packed;
    pass.order = spmm->order;
    spmm->kernels->shared(&spmm->shared, strip, split[part] + rows * begin / OUT_SHARES,
                          split[part] + rows * end / OUT_SHARES, spmm->shared.sums, &pass);
}

/* A unit of a strip: packing, a level, or shares of the rows. Returns the first unit after it. */
static int64_t run_unit(const hal_spmm *spmm, const spmm_pass *pass, int strip, int64_t unit, int64_t last)
{
    const int first = omp_get_thread_num();
    const int team = omp_get_num_threads();
    const int levels = spmm->shared.levels;
    const int64_t next = unit > levels ? last : unit + 1;
    for (int part = first; part < spmm->parts; part += team) {
        if (unit == 0) {
            spmm_pack_wide(spmm, pass, strip, part);
        } else if (unit <= levels) {
            sum_level(spmm, strip, (int)unit - 1, part);
        } else {
            sum_rows(spmm, *pass, strip, part, unit - levels - 1, next - levels - 1);
        }
    }
    return next;
}

/* The work is a sequence of (strip, unit): a slice may end between two units, the packed strip waits. */
void spmm_run_shared(const hal_spmm *spmm, const spmm_call *args)
{
    const int64_t of_strip = 1 + spmm->shared.levels + OUT_SHARES;
    const int64_t widest = spmm_strip(spmm->usual_d);
    const int64_t units = of_strip * ((args->d + widest - 1) / widest);
    const int64_t slices = args->slices > 1 ? args->slices : 1;
    const int64_t begin = units * args->slice / slices;
    const int64_t end = units * (args->slice + 1) / slices;
#pragma omp parallel num_threads(spmm->parts)
    {
        int64_t next;
        for (int64_t unit = begin; unit < end; unit = next) {
            const int64_t column = unit / of_strip * widest;
            const int64_t at = unit % of_strip;
            const int64_t last = end - unit < of_strip - at ? at + end - unit : of_strip;
            const int width = (int)(args->d - column < widest ? args->d - column : widest);
            const spmm_pass pass = spmm_pass_of(args, column, width);
            next = unit + run_unit(spmm, &pass, spmm_strip(width), at, last) - at;
#pragma omp barrier
        }
    }
}

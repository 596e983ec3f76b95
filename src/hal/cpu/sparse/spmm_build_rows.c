/*
 * hal/cpu/sparse/spmm_build_rows.c: the ROWS form. The sources of each row are put into two lists: those that a model
 * of the second-level cache holds when the row is reached (near), and those that it does not (far). The kernel
 * prefetches far sources only, which halves its instructions where an order of the vertices keeps neighbours together.
 *
 * The model is a direct-mapped cache of source rows, one for each thread, started empty: deterministic, bounded memory,
 * one table access an edge. Cost: two passes over the edges; memory 4 bytes an edge and 16 a row.
 */
#include <string.h>

#include "hal/cpu/sparse/spmm.h"

int32_t spmm_cache_slots(int64_t max_d)
{
    /* All of the cache: conflicts, which the model has more of than the cache, make up for what else lives there. */
    int64_t fit = (int64_t)cpu_l2_bytes() / (spmm_cache_width(max_d) * (int64_t)sizeof(float));
    int32_t slots = 1024;
    while (slots * 2 <= fit && slots < 65536) {
        slots *= 2;
    }
    return slots;
}

/* Ends of both lists of each row, relative to the part's first edge. */
static void count_part(const hal_csr *csr, int64_t begin, int64_t end, int32_t *table, int32_t slots,
                       spmm_row_end *start)
{
    memset(table, 0xFF, (size_t)slots * sizeof *table);
    spmm_row_end sum = {0, 0};
    for (int64_t row = begin; row < end; row++) {
        for (int64_t e = csr->offset[row]; e < csr->offset[row + 1]; e++) {
            bool hit = spmm_cache_hit(table, slots - 1, csr->column[e]);
            sum.near += hit;
            sum.far += !hit;
        }
        start[row + 1] = sum;
    }
}

static void fill_part(const hal_csr *csr, int64_t begin, int64_t end, int32_t *table, int32_t slots, spmm_row_end base,
                      spmm_rows *m)
{
    memset(table, 0xFF, (size_t)slots * sizeof *table);
    int64_t near = base.near;
    int64_t far = base.far;
    for (int64_t row = begin; row < end; row++) {
        for (int64_t e = csr->offset[row]; e < csr->offset[row + 1]; e++) {
            int32_t column = csr->column[e];
            if (spmm_cache_hit(table, slots - 1, column)) {
                m->near[near++] = column;
            } else {
                m->far[far++] = column;
            }
        }
        m->start[row + 1] = (spmm_row_end){.far = far, .near = near};
    }
}

weft_status spmm_build_rows(hal_spmm *spmm, const hal_csr *csr)
{
    spmm_rows *m = &spmm->by_row;
    int32_t slots = spmm_cache_slots(spmm->max_d);
    int32_t *table = NULL;
    spmm_row_end *base = NULL;
    weft_status status = WEFT_OK;
    int parts = spmm->parts;
    WEFT_TRY_GOTO(spmm_new(spmm, (size_t)spmm->rows + 1, sizeof *m->start, (void **)&m->start), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&table, (size_t)parts * (size_t)slots, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&base, parts + 1, WEFT_MEM_WORKSPACE), status, done);
#pragma omp parallel for num_threads(parts) schedule(static, 1)
    for (int p = 0; p < parts; p++) {
        count_part(csr, spmm->split[p], spmm->split[p + 1], table + (size_t)p * (size_t)slots, slots, m->start);
    }
    m->start[0] = (spmm_row_end){0, 0};
    for (int p = 0; p < parts; p++) {
        bool empty = spmm->split[p] == spmm->split[p + 1];
        spmm_row_end sum = empty ? (spmm_row_end){0, 0} : m->start[spmm->split[p + 1]];
        base[p + 1] = (spmm_row_end){.far = base[p].far + sum.far, .near = base[p].near + sum.near};
    }
    WEFT_TRY_GOTO(spmm_new(spmm, (size_t)base[parts].far, sizeof *m->far, (void **)&m->far), status, done);
    WEFT_TRY_GOTO(spmm_new(spmm, (size_t)base[parts].near, sizeof *m->near, (void **)&m->near), status, done);
#pragma omp parallel for num_threads(parts) schedule(static, 1)
    for (int p = 0; p < parts; p++) {
        fill_part(csr, spmm->split[p], spmm->split[p + 1], table + (size_t)p * (size_t)slots, slots, base[p], m);
    }
done:
    WEFT_FREE_ALL(table, base);
    return status;
}

/*
 * hal/cpu/sparse/spmm_build_blocks.c: the BLOCKS form, and what LISTS shares with it: sources cut into blocks of
 * 2^shift, columns stored in 16 bits relative to their block, everything in the order in which the thread that owns the
 * rows will read it.
 *
 *   BLOCKS  for each (part, block): rows + 1 offsets, then the columns row by row
 *
 * Rows and columns are those of spmm_marks.h where the matrix has marks. Built in two passes over the CSR, each part
 * by the thread that will use it; no copy of the edges is made.
 * Memory: 2 bytes an edge, plus 4 a row and block.
 */
#include <string.h>

#include "hal/cpu/sparse/spmm_marks.h"

int spmm_block_shift(hal_spmm_form form, int64_t usual_d)
{
    const bool fills = form == HAL_SPMM_BLOCKS || form == HAL_SPMM_I16;
    const int64_t room = (int64_t)cpu_l2_bytes() / (fills ? 1 : 2);
    const int64_t fit = room / (int64_t)spmm_strip_bytes(form, usual_d);
    int shift = 13;
    while ((INT64_C(2) << shift) <= fit && (INT64_C(2) << shift) <= SPMM_MAX_BLOCK) {
        shift++;
    }
    return shift;
}

weft_status spmm_begin_blocks(hal_spmm *spmm, const hal_csr *csr, int64_t first, int64_t count)
{
    spmm_blocks *m = &spmm->by_block;
    m->first = first;
    m->count = count;
    m->shift = spmm_block_shift(spmm->form, spmm->usual_d);
    for (int p = 0; p < spmm->parts; p++) {
        int64_t edges = csr->offset[spmm->split[p + 1]] - csr->offset[spmm->split[p]];
        WEFT_CHECK(
            edges < UINT32_MAX, WEFT_ERR_UNSUPPORTED,
            "%lld edges for one thread, the blocked aggregation forms hold 2^32: use more threads or the form rows",
            (long long)edges);
    }
    size_t chunks = (size_t)spmm->parts * (size_t)count + 1;
    WEFT_TRY(spmm_new(spmm, chunks, sizeof *m->chunk, (void **)&m->chunk));
    memset(m->chunk, 0, chunks * sizeof *m->chunk);
    return WEFT_OK;
}

void spmm_sizes_to_starts(spmm_chunk *chunk, int64_t chunks)
{
    spmm_chunk sum = {0, 0, 0};
    for (int64_t i = 0; i <= chunks; i++) {
        spmm_chunk size = chunk[i];
        chunk[i] = sum;
        sum.run += size.run;
        sum.row += size.row;
        sum.edge += size.edge;
    }
}

weft_status spmm_new_columns(hal_spmm *spmm, int64_t edges, uint16_t **column)
{
    WEFT_TRY(spmm_new(spmm, (size_t)edges + SPMM_SLACK, sizeof **column, (void **)column));
    memset(*column + edges, 0, SPMM_SLACK * sizeof **column);
    return WEFT_OK;
}

/* ---- BLOCKS ----------------------------------------------------------------------------------------------------- */

/* Block and local column of an entry, by its place in the packed strip. */
static int64_t block_of_entry(const spmm_blocks *m, const hal_csr *csr, const int32_t *place, int64_t e,
                              uint16_t *local)
{
    const int32_t column = place != NULL ? place[csr->column[e]] : csr->column[e];
    *local = spmm_local_of(m, column);
    return spmm_block_of(m, column);
}

static void blocks_count(hal_spmm *spmm, const hal_csr *csr, const int32_t *place, int part)
{
    spmm_blocks *m = &spmm->by_block;
    const int64_t begin = spmm->split[part];
    const int64_t rows = spmm->split[part + 1] - begin;
    uint32_t *start = m->row_start + (begin + part) * m->count;
    memset(start, 0, (size_t)((rows + 1) * m->count) * sizeof *start);
    for (int64_t row = 0; row < rows; row++) {
        const int64_t from = spmm_row_of(spmm, begin + row);
        for (int64_t e = csr->offset[from]; e < csr->offset[from + 1]; e++) {
            uint16_t local;
            const int64_t block = block_of_entry(m, csr, place, e, &local);
            if (spmm_holds(m, block)) {
                start[block * (rows + 1) + row + 1]++;
            }
        }
    }
    for (int64_t block = 0; block < m->count; block++) {
        uint32_t *of = start + block * (rows + 1);
        for (int64_t row = 0; row < rows; row++) {
            of[row + 1] += of[row];
        }
        m->chunk[part * m->count + block] = (spmm_chunk){.row = rows + 1, .edge = of[rows]};
    }
}

static void blocks_fill(hal_spmm *spmm, const hal_csr *csr, const int32_t *place, int part, int64_t *cursor)
{
    spmm_blocks *m = &spmm->by_block;
    for (int64_t block = 0; block < m->count; block++) {
        cursor[block] = m->chunk[part * m->count + block].edge;
    }
    for (int64_t row = spmm->split[part]; row < spmm->split[part + 1]; row++) {
        const int64_t from = spmm_row_of(spmm, row);
        for (int64_t e = csr->offset[from]; e < csr->offset[from + 1]; e++) {
            uint16_t local;
            const int64_t block = block_of_entry(m, csr, place, e, &local);
            if (spmm_holds(m, block)) {
                m->column[cursor[block]++] = local;
            }
        }
    }
}

weft_status spmm_build_blocks(hal_spmm *spmm, const hal_csr *csr, int64_t first, int64_t count)
{
    spmm_blocks *m = &spmm->by_block;
    const int parts = spmm->parts;
    int64_t *cursor = NULL;
    int32_t *place = NULL;
    int64_t starts;
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(spmm_new_places(spmm, &place), status, done);
    WEFT_TRY_GOTO(spmm_begin_blocks(spmm, csr, first, count), status, done);
    WEFT_CHECK_GOTO(!__builtin_mul_overflow(spmm->rows + parts, count, &starts), status, done, WEFT_ERR_RESOURCE,
                    "%lld rows x %lld blocks of row offsets cannot be addressed: use the form rows",
                    (long long)spmm->rows, (long long)count);
    WEFT_TRY_GOTO(spmm_new(spmm, (size_t)starts, sizeof *m->row_start, (void **)&m->row_start), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&cursor, (size_t)parts * (size_t)count, WEFT_MEM_WORKSPACE), status, done);
#pragma omp parallel for num_threads(parts) schedule(static, 1)
    for (int p = 0; p < parts; p++) {
        blocks_count(spmm, csr, place, p);
    }
    spmm_sizes_to_starts(m->chunk, parts * count);
    WEFT_TRY_GOTO(spmm_new_columns(spmm, m->chunk[parts * count].edge, &m->column), status, done);
#pragma omp parallel for num_threads(parts) schedule(static, 1)
    for (int p = 0; p < parts; p++) {
        blocks_fill(spmm, csr, place, p, cursor + p * count);
    }
done:
    WEFT_FREE_ALL(cursor, place);
    return status;
}

/* hal/cpu/sparse/spmm_long_rows.c: see hal/cpu/sparse/spmm_long_rows.h. */
#include "hal/cpu/sparse/spmm_long_rows.h"

#include <assert.h>

#include "base/half.h"
#include "base/integer/integers.h"

enum {
    SHARES = 4,         /* a thread's share of the work, over the longest piece */
    LEAST_PIECE = 4096, /* edges: shorter pieces cost more to add than to sum */
    LINE_DOUBLES = 8
};

/* ---- cutting ----------------------------------------------------------------------------------------------------- */

static int64_t degree_of(const hal_csr *csr, int64_t row)
{
    return csr->offset[row + 1] - csr->offset[row];
}

static int64_t pieces_of(int64_t degree, int64_t most)
{
    return (degree + most - 1) / most;
}

/* [out] first[i]: the first piece of long row i; one more: their end. */
static void list_rows(const hal_csr *csr, int64_t most, spmm_long_rows *m)
{
    int64_t i = 0;
    m->first[0] = 0;
    for (int64_t row = 0; row < csr->rows; row++) {
        if (degree_of(csr, row) > most) {
            m->row[i] = row;
            m->first[i + 1] = m->first[i] + pieces_of(degree_of(csr, row), most);
            i++;
        }
    }
}

static void cut_offsets(const hal_csr *csr, int64_t most, int64_t *offset)
{
    int64_t at = 0;
    offset[0] = 0;
    for (int64_t row = 0; row < csr->rows; row++) {
        const int64_t degree = degree_of(csr, row);
        const int64_t pieces = degree > most ? pieces_of(degree, most) : 1;
        for (int64_t piece = 1; piece <= pieces; piece++) {
            offset[++at] = csr->offset[row] + degree * piece / pieces;
        }
    }
}

weft_status spmm_cut_rows(hal_spmm *spmm, const hal_csr *csr, hal_csr *swept, int64_t **offset)
{
    spmm_long_rows *m = &spmm->long_rows;
    const int64_t work = csr->rows > 0 ? csr->offset[csr->rows] + csr->rows : 0;
    const int64_t share = work / ((int64_t)spmm->parts * SHARES);
    const int64_t most = share > LEAST_PIECE ? share : LEAST_PIECE;
    int64_t pieces = 0;
    *swept = *csr;
    *offset = NULL;
    for (int64_t row = 0; spmm->parts > 1 && row < csr->rows; row++) {
        if (degree_of(csr, row) > most) {
            m->count++;
            pieces += pieces_of(degree_of(csr, row), most);
        }
    }
    if (m->count == 0) {
        return WEFT_OK;
    }
    m->ld = (spmm->max_d + LINE_DOUBLES - 1) / LINE_DOUBLES * LINE_DOUBLES;
    WEFT_TRY(spmm_new(spmm, (size_t)m->count, sizeof *m->row, (void **)&m->row));
    WEFT_TRY(spmm_new(spmm, (size_t)m->count + 1, sizeof *m->first, (void **)&m->first));
    WEFT_TRY(spmm_new(spmm, (size_t)(pieces * m->ld), sizeof *m->sum, (void **)&m->sum));
    list_rows(csr, most, m);
    swept->rows = csr->rows - m->count + pieces;
    WEFT_TRY(WEFT_NEW(offset, swept->rows + 1, WEFT_MEM_WORKSPACE));
    cut_offsets(csr, most, *offset);
    swept->offset = *offset;
    return WEFT_OK;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

bool spmm_next_span(const hal_spmm *spmm, const spmm_call *call, int64_t *at, int64_t end, spmm_span *span)
{
    const spmm_long_rows *m = &spmm->long_rows;
    int64_t i = 0; /* the first long row that does not end before *at */
    while (i < m->count && m->row[i] + m->first[i + 1] - i <= *at) {
        i++;
    }
    if (*at >= end) {
        return false;
    }
    const int64_t cut = i < m->count ? m->row[i] + m->first[i] - i : end; /* where its pieces begin */
    const bool pieces = *at >= cut;
    const int64_t stop = smaller(end, pieces ? m->row[i] + m->first[i + 1] - i : cut);
    const int64_t moved = pieces ? m->row[i] - i : (i > 0 ? m->first[i] - i : 0);
    *span = (spmm_span){.begin = *at - moved, .end = stop - moved, .moved = moved, .call = *call};
    if (pieces) {
        assert(call->d <= m->ld);
        span->call.out = m->sum;
        span->call.ldo = m->ld;
        span->call.narrow_out = false;
        span->call.post = span->call.diag = NULL;
        span->call.beta = 0.0;
    }
    *at = stop;
    return true;
}

static void put_float(const spmm_long_rows *m, const spmm_call *call, int64_t i)
{
    const int64_t row = m->row[i];
    const float scale = call->post != NULL ? ((const float *)call->post)[row] : 1.0F;
    const float diag = call->diag != NULL ? ((const float *)call->diag)[row] : 0.0F;
    for (int64_t j = 0; j < call->d; j++) {
        const int64_t own = row * call->ldx + j, to = row * call->ldo + j;
        float sum = 0.0F;
        for (int64_t piece = m->first[i]; piece < m->first[i + 1]; piece++) {
            sum += ((const float *)m->sum)[piece * m->ld + j];
        }
        sum *= scale;
        if (call->beta != 0.0) {
            sum += (float)call->beta * (call->narrow_out ? bf16_to_float(((const uint16_t *)call->out)[to])
                                                         : ((const float *)call->out)[to]);
        }
        if (call->diag != NULL) {
            sum +=
                diag * (call->narrow ? bf16_to_float(((const uint16_t *)call->x)[own]) : ((const float *)call->x)[own]);
        }
        if (call->narrow_out) {
            ((uint16_t *)call->out)[to] = bf16_from_float(sum);
        } else {
            ((float *)call->out)[to] = sum;
        }
    }
}

static void put_double(const spmm_long_rows *m, const spmm_call *call, int64_t i)
{
    const int64_t row = m->row[i];
    for (int64_t j = 0; j < call->d; j++) {
        double *to = (double *)call->out + row * call->ldo + j;
        double sum = 0.0;
        for (int64_t piece = m->first[i]; piece < m->first[i + 1]; piece++) {
            sum += m->sum[piece * m->ld + j];
        }
        sum *= call->post != NULL ? ((const double *)call->post)[row] : 1.0;
        sum += call->beta != 0.0 ? call->beta * *to : 0.0;
        sum += call->diag != NULL ? ((const double *)call->diag)[row] * ((const double *)call->x)[row * call->ldx + j]
                                  : 0.0;
        *to = sum;
    }
}

void spmm_put_long_rows(const hal_spmm *spmm, const spmm_call *call)
{
    for (int64_t i = 0; i < spmm->long_rows.count; i++) {
        if (call->wide) {
            put_double(&spmm->long_rows, call, i);
        } else {
            put_float(&spmm->long_rows, call, i);
        }
    }
}

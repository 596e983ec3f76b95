/*
 * hal/cpu/sparse/spmm_double.c: aggregation in double precision, for gradient checks: plain C over whatever form is prepared,
 * adding edge by edge into the output row. Parts and order of additions are those of the form, so results repeat.
 */
#include "hal/cpu/sparse/spmm.h"

/* out[row] += post * weight * pre[column] * x[column] */
static void add_weighted(const spmm_call *args, int64_t row, int64_t column, double weight)
{
    const double *x = (const double *)args->x + column * args->ldx;
    double *out = (double *)args->out + row * args->ldo;
    double scale = weight * (args->pre != NULL ? ((const double *)args->pre)[column] : 1.0);
    scale *= args->post != NULL ? ((const double *)args->post)[row] : 1.0;
    for (int64_t j = 0; j < args->d; j++) {
        out[j] += scale * x[j];
    }
}

static void add_edge(const spmm_call *args, int64_t row, int64_t column)
{
    add_weighted(args, row, column, 1.0);
}

static void begin_row(const spmm_call *args, int64_t row)
{
    double *out = (double *)args->out + row * args->ldo;
    for (int64_t j = 0; j < args->d; j++) {
        out[j] = args->beta == 0.0 ? 0.0 : args->beta * out[j];
    }
    if (args->diag != NULL) {
        const double *self = (const double *)args->x + row * args->ldx;
        double scale = ((const double *)args->diag)[row];
        for (int64_t j = 0; j < args->d; j++) {
            out[j] += scale * self[j];
        }
    }
}

static void part_rows(const hal_spmm *spmm, const spmm_call *args, int part)
{
    const spmm_rows *m = &spmm->by_row;
    for (int64_t row = spmm->split[part]; row < spmm->split[part + 1]; row++) {
        for (int64_t k = m->start[row].near; k < m->start[row + 1].near; k++) {
            add_edge(args, row, m->near[k]);
        }
        for (int64_t k = m->start[row].far; k < m->start[row + 1].far; k++) {
            add_edge(args, row, m->far[k]);
        }
    }
}

static void part_weighted(const hal_spmm *spmm, const spmm_call *args, int part)
{
    const spmm_weighted *m = &spmm->weighted;
    for (int64_t row = spmm->split[part]; row < spmm->split[part + 1]; row++) {
        for (int64_t e = m->offset[row]; e < m->offset[row + 1]; e++) {
            add_weighted(args, row, m->column[e], (double)m->value[e]);
        }
    }
}

static void part_blocks(const hal_spmm *spmm, const spmm_call *args, int part)
{
    const spmm_blocks *m = &spmm->by_block;
    const int64_t begin = spmm->split[part];
    for (int64_t b = 0; b < m->count; b++) {
        const spmm_chunk *chunk = &m->chunk[part * m->count + b];
        const uint32_t *start = m->row_start + chunk->row;
        const uint16_t *column = m->column + chunk->edge;
        for (int64_t row = begin; row < spmm->split[part + 1]; row++) {
            for (uint32_t k = start[row - begin]; k < start[row - begin + 1]; k++) {
                add_edge(args, row, ((m->first + b) << m->shift) + column[k]);
            }
        }
    }
}

static void part_lists(const hal_spmm *spmm, const spmm_call *args, int part)
{
    const spmm_blocks *m = &spmm->by_block;
    for (int64_t b = 0; b < m->count; b++) {
        const spmm_chunk *chunk = &m->chunk[part * m->count + b];
        const uint16_t *column = m->column + chunk->edge;
        const uint16_t *row_id = m->row_id + chunk->row;
        int64_t window = spmm->split[part];
        for (int64_t r = chunk[0].run; r < chunk[1].run; r++) {
            window += m->run[r].advance * m->window;
            for (uint16_t i = 0; i < m->run[r].rows; i++, row_id++) {
                for (uint32_t k = 0; k < m->run[r].edges; k++) {
                    add_edge(args, window + *row_id, ((m->first + b) << m->shift) + *column++);
                }
            }
        }
    }
}

void spmm_run_double(const hal_spmm *spmm, const spmm_call *args)
{
    if (args->slice > 0) {
        return; /* all of it was done in the first slice */
    }
#pragma omp parallel for num_threads(spmm->parts) schedule(static, 1)
    for (int part = 0; part < spmm->parts; part++) {
        for (int64_t row = spmm->split[part]; row < spmm->split[part + 1]; row++) {
            begin_row(args, row);
        }
        if (spmm_is_weighted(spmm)) {
            part_weighted(spmm, args, part);
        } else if (spmm->form == HAL_SPMM_ROWS) {
            part_rows(spmm, args, part);
        } else if (spmm->form == HAL_SPMM_BLOCKS) {
            part_blocks(spmm, args, part);
        } else {
            part_lists(spmm, args, part);
        }
    }
}

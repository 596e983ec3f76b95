/*
 * hal/cpu/sparse/spmm_double.c: aggregation in double precision, for gradient checks: plain C over whatever form is
 * prepared, adding edge by edge into the output row. Parts and order of additions are those of the form, so results
 * repeat.
 */
#include "hal/cpu/sparse/spmm_long_rows.h"
#include "hal/cpu/sparse/spmm_marks.h"

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

static void row_of_lists(const hal_spmm *spmm, const spmm_span *span, int64_t row)
{
    const spmm_rows *m = &spmm->by_row;
    const spmm_row_end *start = m->start + span->moved + row;
    for (int64_t k = start[0].near; k < start[1].near; k++) {
        add_edge(&span->call, row, m->near[k]);
    }
    for (int64_t k = start[0].far; k < start[1].far; k++) {
        add_edge(&span->call, row, m->far[k]);
    }
}

static void row_of_weights(const hal_spmm *spmm, const spmm_span *span, int64_t row)
{
    const spmm_weighted *m = &spmm->weighted;
    const int64_t *offset = m->offset + span->moved + row;
    for (int64_t e = offset[0]; e < offset[1]; e++) {
        add_weighted(&span->call, row, m->column[e], (double)m->value[e]);
    }
}

/* out[row] += weight * the sum of row `from` of the shared rows, partial sums by what they are made of. */
static void add_shared(const hal_spmm *spmm, const spmm_call *args, int64_t row, int64_t from, double weight)
{
    const spmm_shared_rows *m = &spmm->shared;
    for (int64_t e = m->start[2 * from]; e < m->start[2 * from + 2]; e++) {
        const double signed_weight = e < m->start[2 * from + 1] ? weight : -weight;
        if (m->column[e] < m->sources) {
            add_weighted(args, row, spmm_source_of(spmm, m->column[e]), signed_weight);
        } else {
            add_shared(spmm, args, row, m->column[e] - m->sources, signed_weight);
        }
    }
}

static void part_shared(const hal_spmm *spmm, const spmm_call *args, int part)
{
    for (int64_t i = spmm->split[part]; i < spmm->split[part + 1]; i++) {
        const int64_t row = spmm_row_of(spmm, i);
        begin_row(args, row);
        add_shared(spmm, args, row, spmm->shared.sums + i, 1.0);
    }
}

static void part_rows(const hal_spmm *spmm, const spmm_call *args, int part)
{
    int64_t at = spmm->split[part];
    for (spmm_span span; spmm_next_span(spmm, args, &at, spmm->split[part + 1], &span);) {
        for (int64_t row = span.begin; row < span.end; row++) {
            begin_row(&span.call, row);
            if (spmm_is_weighted(spmm)) {
                row_of_weights(spmm, &span, row);
            } else {
                row_of_lists(spmm, &span, row);
            }
        }
    }
}

static void begin_rows(const spmm_call *args, int64_t begin, int64_t end)
{
    for (int64_t row = begin; row < end; row++) {
        begin_row(args, row);
    }
}

static void part_blocks(const hal_spmm *spmm, const spmm_call *args, int part)
{
    const spmm_blocks *m = &spmm->by_block;
    const int64_t begin = spmm->split[part];
    begin_rows(args, begin, spmm->split[part + 1]);
    const int64_t end = spmm_swept_end(spmm, part, args->part == HAL_SPMM_MARKED_ROWS);
    for (int64_t b = 0; b < spmm_run_blocks(spmm, args->part); b++) {
        const spmm_chunk *chunk = &m->chunk[part * m->count + b];
        const uint32_t *start = m->row_start + chunk->row;
        const uint16_t *column = m->column + chunk->edge;
        for (int64_t row = begin; row < end; row++) {
            for (uint32_t k = start[row - begin]; k < start[row - begin + 1]; k++) {
                const int64_t place = ((m->first + b) << m->shift) + column[k];
                add_edge(args, spmm_row_of(spmm, row), spmm_source_of(spmm, place));
            }
        }
    }
}

/* Lists that begin at this row and this source. */
static void chunk_lists(const hal_spmm *spmm, const spmm_blocks *m, const spmm_call *args, const spmm_chunk *chunk,
                        int64_t row, int64_t source)
{
    const bool leaves = args->part == HAL_SPMM_MARKED_ROWS;
    const uint16_t *column = m->column + chunk->edge;
    const uint16_t *row_id = m->row_id + chunk->row;
    for (int64_t r = chunk[0].run; r < chunk[1].run; r++) {
        row += m->run[r].advance * m->row_step;
        source += m->run[r].advance * m->column_step;
        for (uint32_t i = 0; i < spmm_run_rows(m->run[r]); i++, row_id++) {
            for (uint32_t k = 0; k < m->run[r].edges; k++, column++) {
                if (!leaves || !spmm_run_unmarked(m->run[r])) {
                    add_edge(args, row + *row_id, spmm_source_of(spmm, source + *column));
                }
            }
        }
    }
}

static void part_lists(const hal_spmm *spmm, const spmm_call *args, int part)
{
    const spmm_blocks *m = &spmm->by_block;
    const spmm_blocks *tiles = &spmm->tiles;
    const int64_t begin = spmm->split[part];
    begin_rows(args, begin, spmm->split[part + 1]);
    if (spmm_is_tiled(spmm)) {
        int64_t row = begin;
        for (int64_t band = spmm->first_band[part]; band < spmm->first_band[part + 1]; band++, row += tiles->window) {
            chunk_lists(spmm, tiles, args, &tiles->chunk[band], row, 0);
        }
    }
    for (int64_t b = 0; b < spmm_run_blocks(spmm, args->part); b++) {
        chunk_lists(spmm, m, args, &m->chunk[part * m->count + b], begin, (m->first + b) << m->shift);
    }
}

void spmm_run_double(const hal_spmm *spmm, const spmm_call *args)
{
    if (args->slice > 0) {
        return; /* all of it was done in the first slice */
    }
#pragma omp parallel for num_threads(spmm->parts) schedule(static, 1)
    for (int part = 0; part < spmm->parts; part++) {
        if (spmm->form == HAL_SPMM_ROWS) {
            part_rows(spmm, args, part);
        } else if (spmm->form == HAL_SPMM_SHARED) {
            part_shared(spmm, args, part);
        } else if (spmm->form == HAL_SPMM_BLOCKS) {
            part_blocks(spmm, args, part);
        } else {
            part_lists(spmm, args, part);
        }
    }
    spmm_put_long_rows(spmm, args);
}

/*
 * hal/cpu/kernels_max_body.h: the largest row over edges, and its gradient. Included by kernels_table.h once for
 * float32 and once for bfloat16, behind kernels_row_body.h, whose macros it uses. A row's edges are walked once for
 * EDGE_STRIP columns, whose sums stay in registers or close by. No include guard.
 */

/* Asks for the strip that an edge some places ahead reads of x: rows are at random addresses. */
BY_FORM void CELL(look_ahead)(const hal_mat *x, const hal_mat *column, int64_t edge, int64_t col)
{
    const int64_t last = column->rows - 1;
    const int32_t *columns = column->source;
    const int64_t row = columns[edge + ROWS_AHEAD < last ? edge + ROWS_AHEAD : last];
    const cell *ahead = (const cell *)x->source + row * x->ld + col;
    for (int64_t at = 0; at < EDGE_STRIP; at += CELLS_OF_LINE) {
        __builtin_prefetch(ahead + at);
    }
}

/* Functions named _strip are compiled once for a whole strip, whose sums are registers, and once for what is left of a
 * row. */
BY_FORM void CELL(forward_strip)(const hal_max_forward_args *a, int64_t row, int64_t col, int64_t n)
{
    const int64_t *offset = a->offset.source;
    const int32_t *column = a->column.source;
    cell *restrict out = (cell *)a->out.data + row * a->out.ld + col;
    float most[EDGE_STRIP];
    for (int64_t j = 0; j < EDGE_STRIP; ++j) {
        most[j] = -INFINITY;
    }
    for (int64_t e = offset[row]; e < offset[row + 1]; ++e) {
        const cell *restrict x = (const cell *)a->x.source + column[e] * a->x.ld + col;
        CELL(look_ahead)(&a->x, &a->column, e, col);
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
            const float value = LOAD(x[j]);
            most[j] = most[j] >= value || most[j] != most[j] ? most[j] : value;
        }
    }
    for (int64_t j = 0; j < n; ++j) {
        out[j] = STORE(most[j]);
    }
}

static void CELL(max_forward)(const hal_max_forward_args *a, int64_t first, int64_t end)
{
    const int64_t n = a->out.cols;
    for (int64_t r = first; r < end; ++r) {
        if (is_lone(a, r)) {
            memset((cell *)a->out.data + r * a->out.ld, 0, (size_t)n * sizeof(cell));
            continue;
        }
        IN_STRIPS(forward_strip, a, r, n)
    }
}

BY_FORM void CELL(ties_strip)(const hal_max_ties_args *a, int64_t row, int64_t col, int64_t n)
{
    const int64_t *offset = a->offset.source;
    const int32_t *column = a->column.source;
    const cell *restrict y = (const cell *)a->y.source + row * a->y.ld + col;
    float *restrict ties = (float *)a->ties.data + row * a->ties.ld + col;
    const float *counts = a->count.source;
    const int64_t once = a->x.rows - (counts != NULL ? a->count.rows : 0);
    float count[EDGE_STRIP] = {0.0F};
    float ones[EDGE_STRIP];
    for (int64_t j = 0; j < EDGE_STRIP; ++j) {
        ones[j] = 1.0F;
    }
    for (int64_t e = offset[row]; e < offset[row + 1]; ++e) {
        const cell *restrict x = (const cell *)a->x.source + column[e] * a->x.ld + col;
        const float *times = column[e] < once ? ones : counts + (column[e] - once) * a->count.ld + col;
        CELL(look_ahead)(&a->x, &a->column, e, col);
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
            const float more = times[j];
            count[j] += LOAD(x[j]) == LOAD(y[j]) ? more : 0.0F;
        }
    }
    for (int64_t j = 0; j < n; ++j) {
        ties[j] = count[j];
    }
}

static void CELL(max_ties)(const hal_max_ties_args *a, int64_t first, int64_t end)
{
    for (int64_t r = first; r < end; ++r) {
        IN_STRIPS(ties_strip, a, r, a->ties.cols)
    }
}

static void CELL(max_share)(int64_t m, int64_t n, const float *ties, int64_t ldt, void *dy, int64_t lddy)
{
    for (int64_t i = 0; i < m; ++i) {
        const float *count = ties + i * ldt;
        cell *to = (cell *)dy + i * lddy;
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
            const float share = LOAD(to[j]) / (count[j] > 0.0F ? count[j] : 1.0F);
            to[j] = STORE(count[j] > 0.0F ? share : 0.0F);
        }
    }
}

BY_FORM void CELL(backward_strip)(const hal_max_backward_args *a, int64_t row, int64_t col, int64_t n)
{
    const int64_t *offset = a->offset.source;
    const int32_t *column = a->column.source;
    const cell *restrict x = (const cell *)a->x.source + row * a->x.ld + col;
    cell *restrict dx = (cell *)a->dx.data + row * a->dx.ld + col;
    float sum[EDGE_STRIP] = {0.0F};
    for (int64_t e = offset[row]; e < offset[row + 1]; ++e) {
        const cell *restrict y = (const cell *)a->y.source + column[e] * a->y.ld + col;
        const cell *restrict dy = (const cell *)a->dy.source + column[e] * a->dy.ld + col;
        CELL(look_ahead)(&a->y, &a->column, e, col);
        CELL(look_ahead)(&a->dy, &a->column, e, col);
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
            const float share = LOAD(dy[j]);
            sum[j] += LOAD(y[j]) == LOAD(x[j]) ? share : 0.0F;
        }
    }
    for (int64_t j = 0; j < n; ++j) {
        dx[j] = STORE(sum[j]);
    }
}

static void CELL(max_backward)(const hal_max_backward_args *a, int64_t first, int64_t end)
{
    for (int64_t r = first; r < end; ++r) {
        IN_STRIPS(backward_strip, a, r, a->dx.cols)
    }
}

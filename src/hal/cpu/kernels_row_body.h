/*
 * hal/cpu/kernels_row_body.h: packed rows, dropout and layer norm. Included by each kernels_*.c once for float32 and
 * once for bfloat16, as kernels_cell_body.h is.
 */

/* ---- packed rows ------------------------------------------------------------------------------------------------ */

static inline void CELL(copy_row)(int64_t n, const cell *restrict from, cell *restrict to)
{
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
        to[j] = from[j];
    }
}

static inline void CELL(add_row)(int64_t n, const cell *restrict from, cell *restrict to)
{
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
        to[j] = STORE(LOAD(to[j]) + LOAD(from[j]));
    }
}

/* A NaN on either side stays. */
static inline void CELL(max_row)(int64_t n, const cell *restrict from, cell *restrict to)
{
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
        const float value = LOAD(from[j]);
        to[j] = value > LOAD(to[j]) || value != value ? from[j] : to[j];
    }
}

static void CELL(gather_rows)(int64_t m, int64_t n, const int32_t *index, const void *x, int64_t ldx, void *y,
                              int64_t ldy)
{
    int64_t lines = (n + CELLS_OF_LINE - 1) / CELLS_OF_LINE;
    lines = lines < LINES_AHEAD ? lines : LINES_AHEAD;
    for (int64_t i = 0; i < m; ++i) {
        const cell *ahead = (const cell *)x + index[i + ROWS_AHEAD < m ? i + ROWS_AHEAD : m - 1] * ldx;
        for (int64_t line = 0; line < lines; ++line) {
            __builtin_prefetch(ahead + line * CELLS_OF_LINE);
        }
        CELL(copy_row)(n, (const cell *)x + index[i] * ldx, (cell *)y + i * ldy);
    }
}

static void CELL(scatter_rows)(int64_t m, int64_t n, const int32_t *index, hal_scatter mode, const void *x, int64_t ldx,
                               void *y, int64_t ldy)
{
    int64_t lines = (n + CELLS_OF_LINE - 1) / CELLS_OF_LINE;
    lines = lines < LINES_AHEAD ? lines : LINES_AHEAD;
    for (int64_t i = 0; i < m; ++i) {
        const cell *ahead = (const cell *)y + index[i + ROWS_AHEAD < m ? i + ROWS_AHEAD : m - 1] * ldy;
        for (int64_t line = 0; line < lines; ++line) {
            __builtin_prefetch(ahead + line * CELLS_OF_LINE, 1);
        }
        const cell *from = (const cell *)x + i * ldx;
        cell *to = (cell *)y + index[i] * ldy;
        switch (mode) {
        case HAL_SCATTER_REPLACE:
            CELL(copy_row)(n, from, to);
            break;
        case HAL_SCATTER_ADD:
            CELL(add_row)(n, from, to);
            break;
        case HAL_SCATTER_MAX:
            CELL(max_row)(n, from, to);
            break;
        }
    }
}

/* ---- dropout ------------------------------------------------------------------------------------------------ */

/* floor = 0 with ReLU, -infinity without: one loop for both, and a NaN passes. */
static void CELL(act_row_dropout)(int64_t n, const cell *x, float floor, const uint16_t *lane, int32_t threshold,
                                  float scale, cell *y)
{
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
        float value = LOAD(x[j]) < floor ? floor : LOAD(x[j]);
        float kept = value * scale;
        y[j] = STORE((int32_t)lane[j] >= threshold ? kept : 0.0F);
    }
}

static void CELL(act_dropout)(int64_t m, int64_t n, const cell *x, int64_t ldx, bool relu, const hal_dropout *dropout,
                              int64_t row, cell *y, int64_t ldy)
{
    draw_group group;
    uint16_t lane[DRAW_COLUMNS] __attribute__((aligned(64)));
    float scale = (float)(1.0 / (1.0 - (double)dropout->probability));
    float floor = relu ? 0.0F : -INFINITY;
    int32_t threshold = (int32_t)philox_dropout_threshold(dropout->probability);
    for (int64_t column = 0; column < n; column += DRAW_COLUMNS) {
        int64_t columns = n - column < DRAW_COLUMNS ? n - column : DRAW_COLUMNS;
        bool flat = columns == n && n % 8 == 0 && ldx == n && ldy == n; /* lanes lie as the elements do */
        draw_group_begin(&group, column, columns);
        for (int64_t i = 0; i < m; i += group.rows) {
            int64_t rows = m - i < group.rows ? m - i : group.rows;
            draw_lanes(&group, dropout, row + i, rows, lane);
            if (flat) {
                CELL(act_row_dropout)(rows * n, x + i * ldx, floor, lane, threshold, scale, y + i * ldy);
                continue;
            }
            for (int64_t r = 0; r < rows; ++r) {
                CELL(act_row_dropout)
                (columns, x + (i + r) * ldx + column, floor, lane + 8 * r * group.blocks, threshold, scale,
                 y + (i + r) * ldy + column);
            }
        }
    }
}

static void CELL(act_forward)(int64_t m, int64_t n, const void *x, int64_t ldx, bool relu, const hal_dropout *dropout,
                              int64_t row, void *y, int64_t ldy)
{
    if (dropout->probability > 0.0F) {
        CELL(act_dropout)(m, n, x, ldx, relu, dropout, row, y, ldy);
        return;
    }
    for (int64_t i = 0; i < m; ++i) { /* ReLU alone is a kernel of its own */
        memmove((cell *)y + i * ldy, (const cell *)x + i * ldx, (size_t)n * sizeof(cell));
    }
}

/* ---- layer norm ---------------------------------------------------------------------------------------------- */

static void CELL(ln_forward)(int64_t m, int64_t n, const void *x, int64_t ldx, const float *gamma, const float *beta,
                             double epsilon, float *saved, void *y, int64_t ldy)
{
    for (int64_t i = 0; i < m; ++i) {
        const cell *from = (const cell *)x + i * ldx;
        cell *to = (cell *)y + i * ldy;
        double sum = 0.0;
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < n; ++j) {
            sum += (double)LOAD(from[j]);
        }
        double mean = sum / (double)n;
        double squares = 0.0;
#pragma omp simd reduction(+ : squares)
        for (int64_t j = 0; j < n; ++j) {
            double centred = (double)LOAD(from[j]) - mean;
            squares += centred * centred;
        }
        float centre = (float)mean;
        float scale = (float)(1.0 / sqrt(squares / (double)n + epsilon));
        saved[2 * i] = centre;
        saved[2 * i + 1] = scale;
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
            to[j] = STORE(gamma[j] * ((LOAD(from[j]) - centre) * scale) + beta[j]);
        }
    }
}

static void CELL(ln_backward)(int64_t m, int64_t n, const void *dy, int64_t lddy, const void *x, int64_t ldx,
                              const float *gamma, const float *saved, double *sums, void *dx, int64_t lddx)
{
    double *restrict gamma_sum = sums;
    double *restrict beta_sum = sums + n;
    for (int64_t i = 0; i < m; ++i) {
        const cell *gradient = (const cell *)dy + i * lddy;
        const cell *from = (const cell *)x + i * ldx;
        cell *to = (cell *)dx + i * lddx;
        float mean = saved[2 * i];
        float rstd = saved[2 * i + 1];
        double sum = 0.0;
        double products = 0.0;
#pragma omp simd reduction(+ : sum, products)
        for (int64_t j = 0; j < n; ++j) {
            float xhat = (LOAD(from[j]) - mean) * rstd;
            double scaled = (double)(gamma[j] * LOAD(gradient[j]));
            gamma_sum[j] += (double)(LOAD(gradient[j]) * xhat);
            beta_sum[j] += (double)LOAD(gradient[j]);
            sum += scaled;
            products += scaled * (double)xhat;
        }
        float mean_scaled = (float)(sum / (double)n);
        float mean_product = (float)(products / (double)n);
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
            float xhat = (LOAD(from[j]) - mean) * rstd;
            to[j] = STORE(rstd * (gamma[j] * LOAD(gradient[j]) - mean_scaled - xhat * mean_product));
        }
    }
}

/* hal/cpu/kernels_tokens_body.h: rows of shares, as attention over tokens has them. Included by kernels_table.h for
 * each instruction set. No include guard. */

/* Every row of x[m, n] becomes its softmax. */
static void softmax_rows(int64_t m, int64_t n, float *x, int64_t ldx)
{
    for (int64_t i = 0; i < m; ++i) {
        float *row = x + i * ldx;
        float highest = row[0], sum = 0.0F;
#pragma omp simd reduction(max : highest)
        for (int64_t j = 0; j < n; ++j) {
            highest = row[j] > highest ? row[j] : highest;
        }
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < n; ++j) {
            row[j] = exp_negative(row[j] - highest);
            sum += row[j];
        }
        const float inverse = 1.0F / sum;
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
            row[j] *= inverse;
        }
    }
}

/* Gradients dx[m, n] of shares become those of what softmax_rows read, times scale. */
static void softmax_slopes(int64_t m, int64_t n, const float *share, int64_t lds, float scale, float *dx, int64_t lddx)
{
    for (int64_t i = 0; i < m; ++i) {
        const float *of = share + i * lds;
        float *row = dx + i * lddx;
        float mean = 0.0F;
#pragma omp simd reduction(+ : mean)
        for (int64_t j = 0; j < n; ++j) {
            mean += of[j] * row[j];
        }
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
            row[j] = of[j] * (row[j] - mean) * scale;
        }
    }
}

/* Kernels of trees for each instruction set of this machine: the same bits, and what their definitions say. */
#include <math.h>
#include <string.h>

#include "support/random.h"
#include "support/test.h"
#include "trees/grow/divide_rows.h"
#include "trees/loss/logistic.h"

enum { ROWS = 1003, COLUMN = 4 * ROWS, BEHIND = 3 };

static void divided_rows(void **state)
{
    static divide_kernel *const kernel[] = {divide_rows_base, divide_rows_avx512};
    static uint8_t bin[COLUMN + BEHIND], goes_left[DIVIDE_BINS];
    static int32_t row[ROWS], left[ROWS], right[ROWS], expected[2][ROWS];
    uint64_t random = 3;
    (void)state;
    for (int b = 0; b < DIVIDE_BINS; ++b) {
        goes_left[b] = test_uniform(&random) < 0.4;
    }
    for (int i = 0; i < COLUMN; ++i) {
        bin[i] = (uint8_t)(256.0 * test_uniform(&random));
    }
    for (int count = 0; count <= ROWS; count = 3 * count + 1) {
        for (int k = 0; k < (hal_isa_best() == HAL_ISA_AVX512 ? 2 : 1); ++k) {
            int ends[2] = {0, 0};
            for (int i = 0; i < count; ++i) {
                row[i] = COLUMN - 4 * (count - i) + (int)(4.0 * test_uniform(&random));
                const int side = goes_left[bin[row[i]]] != 0 ? 0 : 1;
                expected[side][ends[side]++] = row[i];
            }
            memcpy(left, row, sizeof left);
            assert_int_equal(kernel[k](left, count, bin, goes_left, left, right), ends[0]);
            assert_memory_equal(left, expected[0], (size_t)ends[0] * sizeof *left);
            assert_memory_equal(right, expected[1], (size_t)ends[1] * sizeof *right);
        }
    }
}

static void logistic_bits(void **state)
{
    static logistic_kernel *const kernel[HAL_ISAS] = {logistic_base, logistic_avx2, logistic_avx512};
    static float margin[ROWS], y[ROWS], gradient[HAL_ISAS][ROWS], hessian[HAL_ISAS][ROWS];
    static uint8_t counts[ROWS];
    double loss[HAL_ISAS], expected = 0.0;
    uint64_t random = 5;
    (void)state;
    for (int i = 0; i < ROWS; ++i) {
        margin[i] = i == 7 ? 800.0F : (float)(40.0 * test_uniform(&random) - 20.0);
        y[i] = test_uniform(&random) < 0.5 ? 0.0F : 1.0F;
        counts[i] = test_uniform(&random) < 0.9;
        const double z = y[i] > 0.0F ? -(double)margin[i] : (double)margin[i];
        expected += counts[i] != 0 ? fmax(z, 0.0) + log1p(exp(-fabs(z))) : 0.0;
    }
    for (int k = 0; k <= (int)hal_isa_best(); ++k) {
        loss[k] = kernel[k](&(logistic_rows){margin, y, counts, ROWS, gradient[k], hessian[k]});
        assert_memory_equal(&loss[k], &loss[0], sizeof *loss);
        assert_memory_equal(gradient[k], gradient[0], sizeof *gradient);
        assert_memory_equal(hessian[k], hessian[0], sizeof *hessian);
    }
    assert_true(fabs(loss[0] - expected) <= 1e-9 * expected);
    for (int i = 0; i < ROWS; ++i) {
        const double p = 1.0 / (1.0 + exp(-(double)margin[i]));
        assert_true(fabs((double)gradient[0][i] - (p - (double)y[i])) <= 1e-6);
        assert_true(fabs((double)hessian[0][i] - p * (1.0 - p)) <= 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(divided_rows), cmocka_unit_test(logistic_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

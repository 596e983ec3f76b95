/* backend/test_norms.c: batch norm where rounding decides: masks of the ReLU behind it, and every bfloat16. */
#include <math.h>

#include "backend/backend_env.h"

/* What ReLU let through is the same whether its output or the norm's input tells it, also where a value above 0 is
 * stored as 0: of beta in bfloat16. */
static void check_masks(const char *resource, weft_dtype dtype)
{
    enum { ROWS = 64, COLS = 19 };
    const float edges[] = {0.0F, -0.0F, 0x1p-149F, 0x1p-134F, 0x1.000002p-134F, 0x1p-133F, -0x1p-134F, NAN};
    weft_hal *hal = NULL;
    if (!open_if_there(resource, 2, &hal)) {
        return;
    }
    env e = {.hal = {hal}, .backends = 1, .dtype = dtype, .m = ROWS, .n = COLS, .name = "masks"};
    operand x = operand_make(&e, ROWS, COLS, COARSE);
    operand dy = operand_make(&e, ROWS, COLS, POSITIVE);
    operand y = operand_make(&e, ROWS, COLS, NOTHING);
    float mean[COLS], rstd[COLS], gamma[COLS], beta[COLS];
    uint64_t random = 3;
    for (int j = 0; j < COLS; ++j) {
        mean[j] = j % 2 == 0 ? 0.25F : (float)test_uniform(&random) - 0.5F;
        rstd[j] = 1.0F + (float)test_uniform(&random);
        gamma[j] = j < 8 ? 0.0F : (float)test_uniform(&random) - 0.5F;
        beta[j] = j < 8 ? edges[j] : -gamma[j] * (0.25F - mean[j]) * rstd[j]; /* some x come to about 0 */
    }
    const hal_mat rows[] = {hal_row_of(mean, WEFT_DTYPE_F32, COLS), hal_row_of(rstd, WEFT_DTYPE_F32, COLS),
                            hal_row_of(gamma, WEFT_DTYPE_F32, COLS), hal_row_of(beta, WEFT_DTYPE_F32, COLS)};
    RUN_ON(&e, 0, bn_apply, .x = mat_on(&x, 0), .mean = rows[0], .rstd = rows[1], .gamma = rows[2], .beta = rows[3],
           .relu = true, .y = mat_on(&y, 0));
    static uint32_t counted[2][ROWS * COLS];
    static double stats[2][2 * COLS];
    for (int by_x = 0; by_x < 2; ++by_x) {
        RUN_ON(&e, 0, bn_backward_stats, .dy = mat_on(&dy, 0), .x = mat_on(&x, 0), .mean = rows[0], .rstd = rows[1],
               .gamma = rows[2], .beta = rows[3], .y = by_x ? (hal_mat){.data = NULL} : mat_on(&y, 0),
               .counted = hal_mat_of(counted[by_x], dtype, ROWS, COLS, COLS),
               .stats = hal_mat_of(stats[by_x], WEFT_DTYPE_F64, 2, COLS, COLS), .relu = true);
    }
    assert_memory_equal(counted[0], counted[1], sizeof counted[0]);
    assert_memory_equal(stats[0], stats[1], sizeof stats[0]);
    assert_true(stats[0][5] > 0.0 && stats[0][2] * (dtype == WEFT_DTYPE_BF16 ? 1.0 : 0.0) == 0.0);
    env_free(&e);
    weft_hal_close(hal);
}

static void test_masks(void **state)
{
    (void)state;
    static const char *const resources[] = {"ref", "cpu", "cpu:avx2", "cpu:base"};
    for (size_t i = 0; i < sizeof resources / sizeof *resources; ++i) {
        check_masks(resources[i], WEFT_DTYPE_F32);
        check_masks(resources[i], WEFT_DTYPE_BF16);
    }
}

/* Batch norm that multiplies every bfloat16 there is, denormals, infinities and NaNs among them, rounds to the bits of
 * base/half.h. */
static void test_roundings(void **state)
{
    (void)state;
    enum { COLS = 32, ROWS = 0x10000 / COLS };
    static const char *const resources[] = {"ref", "cpu", "cpu:avx2", "cpu:base"};
    static uint16_t x[ROWS * COLS];
    static uint16_t y[ROWS * COLS];
    float one[COLS];
    float zero[COLS] = {0.0F};
    for (int j = 0; j < COLS; ++j) {
        one[j] = 1.0F;
    }
    for (int i = 0; i < ROWS * COLS; ++i) {
        x[i] = (uint16_t)i;
    }
    const hal_mat ones = hal_row_of(one, WEFT_DTYPE_F32, COLS), zeros = hal_row_of(zero, WEFT_DTYPE_F32, COLS);
    for (size_t r = 0; r < sizeof resources / sizeof *resources; ++r) {
        weft_hal *hal = NULL;
        if (!open_if_there(resources[r], 2, &hal)) {
            continue;
        }
        env e = {.hal = {hal}, .backends = 1, .dtype = WEFT_DTYPE_BF16, .m = ROWS, .n = COLS, .name = "roundings"};
        static const float factors[] = {1.0F, 1.00390625F, 0.9970703125F, 0x1.018p-3F};
        for (size_t f = 0; f < sizeof factors / sizeof *factors; ++f) {
            float factor[COLS];
            for (int j = 0; j < COLS; ++j) {
                factor[j] = factors[f];
            }
            RUN_ON(&e, 0, bn_apply, .x = hal_mat_of(x, WEFT_DTYPE_BF16, ROWS, COLS, COLS), .mean = zeros,
                   .rstd = hal_row_of(factor, WEFT_DTYPE_F32, COLS), .gamma = ones, .beta = zeros,
                   .y = hal_mat_of(y, WEFT_DTYPE_BF16, ROWS, COLS, COLS));
            for (int i = 0; i < ROWS * COLS; ++i) {
                const uint16_t wanted = bf16_from_float(bf16_to_float(x[i]) * factors[f] + 0.0F);
                if (y[i] != wanted) {
                    fail_msg("%s: %#x times %a is %#x, not %#x", resources[r], x[i], (double)factors[f], y[i], wanted);
                }
            }
        }
        weft_hal_close(hal);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_masks), cmocka_unit_test(test_roundings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

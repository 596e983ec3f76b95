/*
 * Rows in fewer bits: the error of an element is below the distance of the numbers that it lies between, the mean over
 * many roundings is the element, and bits depend on what a row is, not on where it stands. On ref and cpu.
 */
#include <math.h>
#include <string.h>

#include "base/philox.h"
#include "hal/hal.h"
#include "support/test.h"

enum { ROWS = 3000, COLS = 21 };

static const char *const backends[] = {"ref", "cpu"};

typedef struct coded {
    uint8_t bytes[ROWS * 4 * COLS];
    float back[ROWS][COLS];
} coded;

static coded once, again;

static float x_of(int64_t i, int64_t j)
{
    return sinf((float)(37 * i + 11 * j)) * expf((float)(i % 9) - 4.0f);
}

/* x [rows, COLS] there and back. */
static void recode(const char *backend, hal_row_codec codec, const float *x, const int64_t *id, int64_t rows,
                   hal_row_rounding rounding, coded *out)
{
    weft_hal *hal = NULL;
    const int64_t bytes = hal_row_bytes(codec, COLS);
    ASSERT_OK(weft_hal_open(backend, 2, &hal));
    ASSERT_OK(
        hal_encode_rows(hal, &(hal_encode_rows_args){.x = hal_mat_from(x, WEFT_DTYPE_F32, rows, COLS, COLS),
                                                     .id = hal_column_from(id, WEFT_DTYPE_I64, rows),
                                                     .y = hal_mat_of(out->bytes, WEFT_DTYPE_U8, rows, bytes, bytes),
                                                     .codec = codec,
                                                     .rounding = rounding}));
    ASSERT_OK(
        hal_decode_rows(hal, &(hal_decode_rows_args){.x = hal_mat_from(out->bytes, WEFT_DTYPE_U8, rows, bytes, bytes),
                                                     .y = hal_mat_of(out->back, WEFT_DTYPE_F32, rows, COLS, COLS),
                                                     .codec = codec}));
    weft_hal_close(hal);
}

/* The distance between the numbers around x that the codec has. */
static double step_of(hal_row_codec codec, const float *row, float x)
{
    double top = 0.0, low = INFINITY, high = -INFINITY;
    for (int j = 0; j < COLS; ++j) {
        top = fmax(top, fabs((double)row[j]));
        low = fmin(low, (double)row[j]);
        high = fmax(high, (double)row[j]);
    }
    if (codec == HAL_ROWS_INT2) { /* the two numbers of the grid have 8 bits */
        return ((high - low) / 3.0 + fabs(low) / 384.0) * (1.0 + 0x1p-7);
    }
    return codec == HAL_ROWS_INT8   ? top / 127.0
           : codec == HAL_ROWS_INT4 ? top / 7.0
           : x == 0.0f              ? 0.0
                                    : exp2(floor(log2(fabs((double)x))) - 7.0);
}

static void test_error(void **state)
{
    (void)state;
    static float x[ROWS][COLS];
    static int64_t id[ROWS];
    for (int i = 0; i < ROWS; ++i) {
        id[i] = 17 * i;
        for (int j = 0; j < COLS; ++j) {
            x[i][j] = x_of(i, j);
        }
    }
    for (int b = 0; b < 2; ++b) {
        for (hal_row_codec codec = HAL_ROWS_BF16; codec <= HAL_ROWS_INT2; ++codec) {
            recode(backends[b], codec, &x[0][0], id, ROWS, (hal_row_rounding){.seed = 1}, &once);
            double largest = 0.0;
            for (int i = 0; i < ROWS * COLS; ++i) {
                const float *row = x[i / COLS];
                const double step = step_of(codec, row, row[i % COLS]);
                const double error = fabs((double)once.back[i / COLS][i % COLS] - (double)row[i % COLS]);
                assert_true(error <= step * (1.0 + 1e-5));
                largest = fmax(largest, error / step);
            }
            assert_true(largest > 0.9); /* rounded at random, not to nearest */
        }
    }
}

/* A row under ROWS ids, seeds, epochs or senders. */
static void round_often(int what, hal_row_codec codec, const float *x)
{
    static float rows[ROWS][COLS];
    static int64_t id[ROWS];
    for (int i = 0; i < ROWS; ++i) {
        id[i] = what == 0 ? i : 5;
        memcpy(rows[i], x, sizeof rows[i]);
    }
    if (what == 0) {
        recode("cpu", codec, &rows[0][0], id, ROWS, (hal_row_rounding){.seed = 1, .purpose = 200, .epoch = 3}, &once);
        return;
    }
    for (int k = 0; k < ROWS; ++k) {
        hal_row_rounding r = {.seed = 1, .purpose = 200, .epoch = 3};
        r.seed += what == 1 ? (uint64_t)k : 0;
        r.epoch += what == 2 ? (uint32_t)k : 0;
        r.sender += what == 3 ? (uint32_t)k : 0;
        recode("ref", codec, x, id, 1, r, &again);
        memcpy(once.back[k], again.back[0], sizeof once.back[k]);
    }
}

/* The mean is the row. */
static void test_unbiased(void **state)
{
    (void)state;
    float x[COLS];
    for (int j = 0; j < COLS; ++j) {
        x[j] = x_of(3, j);
    }
    for (int what = 0; what < 4; ++what) {
        for (hal_row_codec codec = HAL_ROWS_BF16; codec <= HAL_ROWS_INT2; ++codec) {
            round_often(what, codec, x);
            for (int j = 0; j < COLS; ++j) { /* a rounding's deviation is at most half a step: 5 of the mean's */
                double sum = 0.0;
                for (int i = 0; i < ROWS; ++i) {
                    sum += (double)once.back[i][j];
                }
                assert_true(fabs(sum / ROWS - (double)x[j]) <= 2.5 * step_of(codec, x, x[j]) / sqrt(ROWS));
            }
        }
    }
}

static void test_special_rows(void **state)
{
    (void)state;
    static float x[6][COLS];
    const int64_t id[6] = {1, 2, 3, 4, 5, 6};
    for (int j = 0; j < COLS; ++j) {
        x[0][j] = 0.0f;
        x[1][j] = j == 4 ? NAN : 1.0f;
        x[2][j] = j == 20 ? -INFINITY : 1.0f;
        x[3][j] = j == 0 ? 0x1p-120f : 0.0f;
        x[4][j] = j % 2 == 1 ? (float)j : 0.0f; /* what ReLU leaves: int2 keeps the zeros */
        x[5][j] = -3.25f;
    }
    for (int b = 0; b < 2; ++b) {
        for (hal_row_codec codec = HAL_ROWS_INT8; codec <= HAL_ROWS_INT2; ++codec) {
            recode(backends[b], codec, &x[0][0], id, 6, (hal_row_rounding){.seed = 9}, &once);
            for (int j = 0; j < COLS; ++j) {
                assert_true(once.back[0][j] == 0.0f && once.back[3][j] == 0.0f);
                assert_true(codec != HAL_ROWS_INT2 || once.back[4][j] == 0.0f || (j % 2 == 1 && once.back[4][j] > 0));
                assert_true(codec != HAL_ROWS_INT2 || once.back[5][j] == -3.25f);
                assert_true(isnan(once.back[1][j]) && isnan(once.back[2][j]));
            }
        }
        recode(backends[b], HAL_ROWS_BF16, &x[0][0], id, 4, (hal_row_rounding){.seed = 9}, &once);
        for (int j = 0; j < COLS; ++j) {
            assert_true(once.back[0][j] == 0.0f && (j == 4 ? isnan(once.back[1][j]) : once.back[1][j] == 1.0f));
            assert_true(j == 20 ? once.back[2][j] == -INFINITY : once.back[2][j] == 1.0f);
        }
    }
}

/* The same rows in another order, and a part of them. */
static void test_order(void **state)
{
    (void)state;
    static float x[ROWS][COLS], turned[ROWS][COLS];
    static int64_t id[ROWS], turned_id[ROWS];
    for (int i = 0; i < ROWS; ++i) {
        id[i] = turned_id[ROWS - 1 - i] = 3 * i;
        for (int j = 0; j < COLS; ++j) {
            x[i][j] = turned[ROWS - 1 - i][j] = x_of(i, j);
        }
    }
    for (hal_row_codec codec = HAL_ROWS_BF16; codec <= HAL_ROWS_INT2; ++codec) {
        recode("cpu", codec, &x[0][0], id, ROWS, (hal_row_rounding){.seed = 4, .sender = 1}, &once);
        recode("ref", codec, &turned[0][0], turned_id, ROWS, (hal_row_rounding){.seed = 4, .sender = 1}, &again);
        for (int i = 0; i < ROWS; ++i) {
            assert_memory_equal(once.back[i], again.back[ROWS - 1 - i], sizeof once.back[i]);
        }
    }
}

static void test_bytes(void **state)
{
    (void)state;
    assert_int_equal(hal_row_bytes(HAL_ROWS_NONE, 64), 256);
    assert_int_equal(hal_row_bytes(HAL_ROWS_BF16, 64), 128);
    assert_int_equal(hal_row_bytes(HAL_ROWS_INT8, 64), 68);
    assert_int_equal(hal_row_bytes(HAL_ROWS_INT4, 64), 36);
    assert_int_equal(hal_row_bytes(HAL_ROWS_INT4, 63), 36);
    assert_int_equal(hal_row_bytes(HAL_ROWS_INT4, 0), 0);
    assert_int_equal(hal_row_bytes(HAL_ROWS_INT2, 64), 20);
    assert_int_equal(hal_row_bytes(HAL_ROWS_INT2, 65), 21);
    assert_int_equal(hal_row_bytes(HAL_ROWS_INT2, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error), cmocka_unit_test(test_unbiased), cmocka_unit_test(test_special_rows),
        cmocka_unit_test(test_order), cmocka_unit_test(test_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

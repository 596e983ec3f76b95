/*
 * backend/test_gemm_tall.c: products of tall matrices of bfloat16, which are cut into blocks of rows, against sums made
 * here. Operands are small integers, so every way to a product gives the same numbers, rounded once where they are
 * stored as bfloat16. Where the processor has no products of bfloat16 the other ways are compared. Products that are
 * exact beside weights of float32 give the bits of an A of float32.
 *
 * trees: release
 */
#include "base/half.h"
#include "hal/hal.h"
#include "support/open.h"

enum { TERMS = 16500, PAD = 3 };

/* C[m, n] of op(A) op(B). */
typedef struct shape {
    bool trans_a, trans_b;
    int64_t m, n, k;
    bool wide_a, narrow_b, narrow_c, bias;
    double beta;
} shape;

typedef struct matrix {
    weft_dtype dtype;
    int64_t rows, cols, ld;
    void *data;
} matrix;

static int value_at(int64_t row, int64_t column, int salt)
{
    return (int)((row * 5 + column * 3 + row * column % 7 + salt) % 7) - 3;
}

static void set(const matrix *m, int64_t i, int value)
{
    if (m->dtype == WEFT_DTYPE_BF16) {
        ((uint16_t *)m->data)[i] = bf16_from_float((float)value);
    } else {
        ((float *)m->data)[i] = (float)value;
    }
}

static float cell(const matrix *m, int64_t row, int64_t column)
{
    const int64_t i = row * m->ld + column;
    return m->dtype == WEFT_DTYPE_BF16 ? bf16_to_float(((const uint16_t *)m->data)[i]) : ((const float *)m->data)[i];
}

static matrix new_matrix(int64_t rows, int64_t cols, bool narrow, int salt)
{
    matrix m = {.dtype = narrow ? WEFT_DTYPE_BF16 : WEFT_DTYPE_F32, .rows = rows, .cols = cols, .ld = cols + PAD};
    m.data = calloc((size_t)(rows * m.ld), sizeof(float));
    assert_non_null(m.data);
    for (int64_t i = 0; i < rows * cols; ++i) {
        set(&m, i / cols * m.ld + i % cols, value_at(i / cols, i % cols, salt));
    }
    return m;
}

static hal_mat operand(const matrix *m)
{
    return hal_mat_of(m->data, m->dtype, m->rows, m->cols, m->ld);
}

static float expected(const shape *s, int64_t i, int64_t j)
{
    int64_t sum = s->bias ? value_at(0, j, 4) : 0;
    for (int64_t p = 0; p < s->k; ++p) {
        sum += (int64_t)(s->trans_a ? value_at(p, i, 0) : value_at(i, p, 0)) *
               (s->trans_b ? value_at(j, p, 1) : value_at(p, j, 1));
    }
    const float all = (float)sum + (float)(s->beta * value_at(i, j, 2));
    return s->narrow_c ? bf16_to_float(bf16_from_float(all)) : all;
}

static void check(weft_hal *hal, const shape *s)
{
    matrix a = new_matrix(s->trans_a ? s->k : s->m, s->trans_a ? s->m : s->k, !s->wide_a, 0);
    matrix b = new_matrix(s->trans_b ? s->n : s->k, s->trans_b ? s->k : s->n, s->narrow_b, 1);
    matrix c = new_matrix(s->m, s->n, s->narrow_c, 2), bias = new_matrix(1, s->n, false, 4);
    const hal_gemm_args args = {.a = operand(&a),
                                .b = operand(&b),
                                .c = operand(&c),
                                .bias = s->bias ? operand(&bias) : (hal_mat){.data = NULL},
                                .trans_a = s->trans_a,
                                .trans_b = s->trans_b,
                                .alpha = 1.0,
                                .beta = s->beta};
    ASSERT_OK(hal_gemm(hal, &args));
    const int64_t step = s->trans_a ? 1 : 61; /* rows whose sums are made here */
    for (int64_t i = 0; i < s->m; i += step) {
        for (int64_t j = i % 5; j < s->n; j += 5) {
            const float got = cell(&c, i, j), want = expected(s, i, j);
            if (got != want) {
                fail_msg("%s, %lld x %lld x %lld: row %lld column %lld is %g, expected %g", hal->name, (long long)s->m,
                         (long long)s->n, (long long)s->k, (long long)i, (long long)j, (double)got, (double)want);
            }
        }
    }
    for (int64_t i = 0; i < s->m; i += step) {
        assert_true(cell(&c, i, s->n) == 0.0F); /* padding is not written */
    }
    free(a.data);
    free(b.data);
    free(c.data);
    free(bias.data);
}

static void test_maps(void **state)
{
    (void)state;
    static const shape shapes[] = {
        {.m = TERMS, .n = 130, .k = 37},
        {.m = TERMS, .n = 16, .k = 300, .narrow_c = true, .bias = true},
        {.m = TERMS, .n = 130, .k = 33, .trans_b = true, .narrow_c = true},
        {.m = TERMS, .n = 64, .k = 65, .trans_b = true, .narrow_b = true, .beta = 1.0},
        {.m = TERMS, .n = 41, .k = 128, .narrow_c = true, .beta = 1.0},
        {.m = TERMS, .n = 5, .k = 20},
        {.m = TERMS, .n = 64, .k = 41, .trans_b = true, .wide_a = true, .narrow_c = true, .beta = 1.0},
        {.m = TERMS, .n = 530, .k = 520, .narrow_c = true},
    };
    weft_hal *hal = NULL;
    ASSERT_OK(weft_hal_open("cpu", 2, &hal));
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        check(hal, &shapes[i]);
    }
    weft_hal_close(hal);
}

static void test_sums(void **state)
{
    (void)state;
    static const shape shapes[] = {
        {.m = 300, .n = 16, .k = TERMS, .narrow_b = true},
        {.m = 300, .n = 41, .k = TERMS, .beta = 1.0},
        {.m = 16, .n = 300, .k = TERMS, .narrow_b = true, .beta = 1.0},
        {.m = 130, .n = 70, .k = TERMS, .narrow_b = true, .beta = 1.0},
        {.m = 70, .n = 130, .k = TERMS},
        {.m = 20, .n = 9, .k = TERMS, .narrow_b = true},
        {.m = 30, .n = 64, .k = TERMS, .beta = 1.0},
        {.m = 65, .n = 33, .k = TERMS + 1, .beta = 0.5},
    };
    weft_hal *hal = NULL;
    ASSERT_OK(weft_hal_open("cpu", 2, &hal));
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        shape s = shapes[i];
        s.trans_a = true;
        check(hal, &s);
    }
    weft_hal_close(hal);
}

/* C of an exact product with fractions, A being of bfloat16 or of float32. */
static matrix exact_product(weft_hal *hal, const shape *s, bool narrow)
{
    matrix a = new_matrix(s->trans_a ? s->k : s->m, s->trans_a ? s->m : s->k, narrow, 0);
    matrix b = new_matrix(s->trans_b ? s->n : s->k, s->trans_b ? s->k : s->n, false, 1);
    matrix c = new_matrix(s->m, s->n, false, 2), bias = new_matrix(1, s->n, false, 4);
    for (int64_t i = 0; i < b.rows * b.ld; ++i) {
        ((float *)b.data)[i] *= 0.1F + (float)(i % 11) / 37.0F; /* bfloat16 would round it */
    }
    const hal_gemm_args args = {.a = operand(&a),
                                .b = operand(&b),
                                .c = operand(&c),
                                .bias = s->bias ? operand(&bias) : (hal_mat){.data = NULL},
                                .trans_a = s->trans_a,
                                .trans_b = s->trans_b,
                                .exact = true,
                                .alpha = 1.0,
                                .beta = s->beta};
    ASSERT_OK(hal_gemm(hal, &args));
    free(a.data);
    free(b.data);
    free(bias.data);
    return c;
}

static void test_exact(void **state)
{
    (void)state;
    static const shape shapes[] = {
        {.m = TERMS, .n = 41, .k = 300, .bias = true},
        {.m = TERMS + 1, .n = 530, .k = 130, .trans_b = true},
        {.m = 50, .n = 16, .k = 9000, .beta = 1.0},
        {.trans_a = true, .m = 300, .n = 16, .k = TERMS},
        {.trans_a = true, .m = 70, .n = 130, .k = 1000, .beta = 1.0},
    };
    weft_hal *hal = NULL;
    ASSERT_OK(weft_hal_open("cpu", 2, &hal));
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        const matrix wide = exact_product(hal, &shapes[i], false), narrow = exact_product(hal, &shapes[i], true);
        assert_memory_equal(wide.data, narrow.data, (size_t)(wide.rows * wide.ld) * sizeof(float));
        free(wide.data);
        free(narrow.data);
    }
    weft_hal_close(hal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maps),
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

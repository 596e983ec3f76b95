/*
 * backend/test_spmm_marks.c: runs of a prepared matrix along marked rows or columns alone, of every instruction set,
 * against sums over these edges made here straight from the CSR. Operands are small integers, so sums are equal to the
 * last digit in any order, in float32, bfloat16 and float64.
 *
 * trees: release
 */
#include <string.h>

#include "backend/spmm_graphs.h"
#include "base/half.h"

enum { VERTICES = 20000, MOST_WIDTH = 48, SOME_ROWS = 300, SOME_COLS = 9000 };

/* Which of every ten rows and columns are marked. */
typedef struct marking {
    int rows, cols; /* -1: marks are not given */
} marking;

typedef struct setting {
    const graph *g;
    uint8_t *row, *col; /* [rows], [cols]; NULL: not given */
    int64_t d;
    weft_dtype dtype;
    bool narrow, diagonal;
    double beta;
    hal_spmm_part part;
} setting;

static void *typed_zeros(int64_t cells)
{
    void *values = calloc((size_t)cells + 1, sizeof(double));
    assert_non_null(values);
    return values;
}

static void put(void *values, weft_dtype dtype, int64_t i, double value)
{
    if (dtype == WEFT_DTYPE_F64) {
        ((double *)values)[i] = value;
    } else if (dtype == WEFT_DTYPE_BF16) {
        ((uint16_t *)values)[i] = bf16_from_float((float)value);
    } else {
        ((float *)values)[i] = (float)value;
    }
}

static double get(const void *values, weft_dtype dtype, int64_t i)
{
    return dtype == WEFT_DTYPE_F64    ? ((const double *)values)[i]
           : dtype == WEFT_DTYPE_BF16 ? (double)bf16_to_float(((const uint16_t *)values)[i])
                                      : (double)((const float *)values)[i];
}

static int x_at(int64_t row, int64_t column)
{
    return (int)((row * 7 + column * 3) % 11) - 5;
}

static int pre_at(int64_t column)
{
    return (int)(column % 3) + 1;
}

static double expected(const setting *s, int64_t r, int64_t j, bool scaled)
{
    const bool leaves = s->part == HAL_SPMM_MARKED_ROWS && s->row[r] == 0;
    int64_t sum = 0;
    for (int64_t e = s->g->offset[r]; e < s->g->offset[r + 1] && !leaves; e++) {
        const int32_t c = s->g->column[e];
        if (s->part != HAL_SPMM_MARKED_COLS || s->col[c] != 0) {
            sum += (scaled ? pre_at(c) : 1) * x_at(c, j);
        }
    }
    return (double)(sum + (s->diagonal ? 2 * x_at(r, j) : 0)) + s->beta * (double)(j - 1);
}

static void check(weft_hal *hal, hal_spmm *spmm, const setting *s, bool scaled, int slices)
{
    const graph *g = s->g;
    const int64_t d = s->d, ld = d + 3;
    const weft_dtype type = s->narrow ? WEFT_DTYPE_BF16 : s->dtype;
    void *x = typed_zeros(g->cols * ld), *out = typed_zeros(g->rows * ld);
    void *pre = typed_zeros(g->cols), *diag = typed_zeros(g->rows);
    for (int64_t i = 0; i < g->cols * d; i++) {
        put(x, type, i / d * ld + i % d, x_at(i / d, i % d));
    }
    for (int64_t i = 0; i < g->cols; i++) {
        put(pre, s->dtype, i, pre_at(i));
    }
    for (int64_t i = 0; i < g->rows * d; i++) {
        put(diag, s->dtype, i / d, 2.0);
        put(out, s->dtype, i / d * ld + i % d, (double)(i % d - 1));
    }
    flat_args args = {.dtype = s->dtype,
                      .narrow = s->narrow,
                      .rows = g->rows,
                      .cols = g->cols,
                      .d = d,
                      .x = x,
                      .ldx = ld,
                      .pre = scaled ? pre : NULL,
                      .diag = s->diagonal ? diag : NULL,
                      .beta = s->beta,
                      .out = out,
                      .ldo = ld,
                      .part = s->part,
                      .slices = slices};
    for (; args.slice < (slices > 1 ? slices : 1); args.slice++) {
        ASSERT_OK(run_flat(hal, spmm, &args));
    }
    for (int64_t i = 0; i < g->rows * d; i++) {
        const double want = expected(s, i / d, i % d, scaled), got = get(out, s->dtype, i / d * ld + i % d);
        if (got != want) {
            fail_msg("%s, %s, part %d, d %lld, beta %g, %d slices: row %lld column %lld is %g, expected %g", g->name,
                     hal->name, (int)s->part, (long long)d, s->beta, slices, (long long)(i / d), (long long)(i % d),
                     got, want);
        }
    }
    free(x);
    free(out);
    free(pre);
    free(diag);
}

/* `of` in every ten, in no order; NULL for -1. */
static uint8_t *mark(int64_t count, int of)
{
    uint8_t *marks = of < 0 ? NULL : calloc((size_t)count + 1, 1);
    for (int64_t i = 0; marks != NULL && i < count; i++) {
        marks[i] = (int)(next_random() % 10) < of;
    }
    return marks;
}

static void check_parts(weft_hal *hal, const graph *g, hal_spmm_form form, marking of, int64_t max_d)
{
    static const int64_t widths[] = {1, 16, 17, MOST_WIDTH};
    setting s = {.g = g, .row = mark(g->rows, of.rows), .col = mark(g->cols, of.cols)};
    const hal_csr csr = {.rows = g->rows,
                         .cols = g->cols,
                         .offset = g->offset,
                         .column = g->column,
                         .marked_row = s.row,
                         .marked_col = s.col};
    hal_spmm *spmm = NULL;
    ASSERT_OK(hal->sparse.spmm_create(hal, &csr, form, max_d, &spmm));
    assert_true(hal->sparse.spmm_info(hal, spmm).marked);
    for (int k = 0; k < 24; k++) {
        s.part = (hal_spmm_part)(k % 3);
        s.d = widths[(k / 3 + k) % 4] < max_d ? widths[(k / 3 + k) % 4] : max_d;
        s.dtype = k % 8 == 7 ? WEFT_DTYPE_F64 : WEFT_DTYPE_F32;
        s.narrow = s.dtype == WEFT_DTYPE_F32 && k / 3 % 2 == 1;
        s.diagonal = g->rows <= g->cols && k % 5 < 2;
        s.beta = k / 2 % 2;
        const bool given = s.part == HAL_SPMM_ALL_EDGES || (s.part == HAL_SPMM_MARKED_ROWS ? s.row : s.col) != NULL;
        if (given) {
            check(hal, spmm, &s, k % 7 < 3, k % 4 == 3 ? 5 : 0);
        }
    }
    hal->sparse.spmm_destroy(hal, spmm);
    free(s.row);
    free(s.col);
}

static graph random_graph(const char *name, int64_t rows, int64_t cols)
{
    int64_t *degree = calloc((size_t)rows, sizeof *degree);
    for (int64_t r = 0; r < rows; r++) {
        degree[r] = r % 50 == 7 ? 40 : r % 11 == 3 ? 0 : r % 6;
    }
    graph g = new_graph(name, rows, cols, degree);
    free(degree);
    return g;
}

static void test_parts(void **state)
{
    (void)state;
    static const char *const backends[] = {"cpu", "cpu:avx2", "cpu:base"};
    static const marking markings[] = {{6, 6}, {3, -1}, {-1, 8}, {0, 0}, {10, 10}};
    graph graphs[] = {random_graph("blocks", VERTICES, VERTICES), random_graph("wide", SOME_ROWS, SOME_COLS)};
    for (int k = 0; k < 10; k++) {
        weft_hal *hal = NULL;
        if (open_if_there(backends[k % 3], k % 3 + 1, &hal)) {
            check_parts(hal, &graphs[k / 5], HAL_SPMM_LISTS, markings[k % 5], k % 2 == 0 ? MOST_WIDTH : 16);
            check_parts(hal, &graphs[k / 5], HAL_SPMM_BLOCKS, markings[k % 5], k % 2 == 0 ? MOST_WIDTH : 16);
            weft_hal_close(hal);
        }
    }
    free_graph(&graphs[0]);
    free_graph(&graphs[1]);
}

/* A form without marks says so, and does not run along them. */
static void test_other_forms(void **state)
{
    (void)state;
    graph g = random_graph("rows", SOME_ROWS, SOME_COLS);
    weft_hal *hal = NULL;
    hal_spmm *spmm = NULL;
    ASSERT_OK(weft_hal_open("cpu", 1, &hal));
    uint8_t *row = mark(g.rows, 5);
    const hal_csr csr = {.rows = g.rows, .cols = g.cols, .offset = g.offset, .column = g.column, .marked_row = row};
    ASSERT_OK(hal->sparse.spmm_create(hal, &csr, HAL_SPMM_ROWS, 1, &spmm));
    assert_false(hal->sparse.spmm_info(hal, spmm).marked);
    float *x = random_floats((size_t)g.cols), *out = random_floats((size_t)g.rows);
    const flat_args args = {.dtype = WEFT_DTYPE_F32,
                            .rows = g.rows,
                            .cols = g.cols,
                            .d = 1,
                            .x = x,
                            .ldx = 1,
                            .out = out,
                            .ldo = 1,
                            .part = HAL_SPMM_MARKED_ROWS};
    ASSERT_STATUS(run_flat(hal, spmm, &args), WEFT_ERR_INTERNAL);
    ASSERT_MESSAGE("without marks");
    hal->sparse.spmm_destroy(hal, spmm);
    weft_free(x);
    weft_free(out);
    free(row);
    free_graph(&g);
    weft_hal_close(hal);
}

/* Where threads would have unequal shares of a large matrix's marked edges, it takes no marks. */
static void test_unequal_shares(void **state)
{
    (void)state;
    enum { ROWS = 4000, A_ROW = 100 };
    int64_t degree[ROWS];
    uint8_t row[ROWS];
    for (int r = 0; r < ROWS; r++) {
        degree[r] = A_ROW;
        row[r] = r < ROWS / 2;
    }
    graph g = new_graph("halves", ROWS, ROWS, degree);
    const hal_csr csr = {.rows = ROWS, .cols = ROWS, .offset = g.offset, .column = g.column, .marked_row = row};
    for (int threads = 1; threads < 3; threads++) {
        weft_hal *hal = NULL;
        hal_spmm *spmm = NULL;
        ASSERT_OK(weft_hal_open("cpu", threads, &hal));
        ASSERT_OK(hal->sparse.spmm_create(hal, &csr, HAL_SPMM_LISTS, 16, &spmm));
        assert_int_equal(hal->sparse.spmm_info(hal, spmm).marked, threads == 1);
        hal->sparse.spmm_destroy(hal, spmm);
        weft_hal_close(hal);
    }
    free_graph(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_other_forms),
        cmocka_unit_test(test_unequal_shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

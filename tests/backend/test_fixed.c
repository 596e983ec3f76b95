/*
 * backend/test_fixed.c: sums in fixed point on every backend and instruction set, to the last bit: against sums of
 * integers edge by edge, against the formulas of hal/ops.def in float32, and the operations against each other.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/spmm_graphs.h"

enum { THREADS = 2 };

static const char *const backends[] = {"ref", "cpu:base", "cpu:avx2", "cpu:avx512", "shadow"};
enum { BACKENDS = sizeof backends / sizeof *backends };
static const int64_t widths[] = {1, 7, 16, 17, 32, 33, 41, 64, 65, 100, 256};
enum { WIDTHS = sizeof widths / sizeof *widths };

/* ---- operands ---------------------------------------------------------------------------------------------------- */

/* A copy on the device; out: nothing is copied there. */
typedef struct held {
    hal_mat mat;
    size_t bytes;
} held;

static held hold(weft_hal *hal, const void *host, weft_dtype dtype, int64_t rows, int64_t cols, int64_t ld)
{
    held h = {.bytes = (size_t)(rows * ld) * weft_dtype_bytes(dtype)};
    void *device = NULL;
    ASSERT_OK(hal->mem.alloc(hal, h.bytes + 1, WEFT_MEM_GENERAL, &device));
    ASSERT_OK(hal->mem.upload(hal, device, host, h.bytes));
    h.mat = hal_mat_of(device, dtype, rows, cols, ld);
    return h;
}

static void let_go(weft_hal *hal, held *h, void *host)
{
    if (host != NULL) {
        ASSERT_OK(hal->mem.download(hal, host, h->mat.data, h->bytes));
    }
    hal->mem.free(hal, h->mat.data);
}

/* Everything that a sum has, on the host. */
typedef struct problem {
    graph g;
    int64_t d, ldx, ldo;
    float *x, *pre, *post, *diag, *before, *quantum; /* x [cols, ldx], before [rows, ldo] */
    int16_t *q;                                      /* [cols, d] */
    int32_t *sum;                                    /* [rows, d] */
    bool terms;                                      /* pre, post, diag, and beta 1 */
} problem;

static int32_t most_of(const graph *g)
{
    int64_t longest = 0;
    for (int64_t r = 0; r < g->rows; r++) {
        const int64_t edges = g->offset[r + 1] - g->offset[r];
        longest = edges > longest ? edges : longest;
    }
    return hal_fixed_most(longest);
}

/* The oracle: numbers of float32, each product and sum rounded, in plain C. */
static void expect_rows(problem *p)
{
    const int32_t most = most_of(&p->g);
    for (int64_t j = 0; j < p->d; j++) {
        volatile float largest = 0.0F;
        for (int64_t i = 0; i < p->g.cols; i++) {
            volatile float scaled = p->x[i * p->ldx + j] * (p->terms ? p->pre[i] : 1.0F);
            largest = fabsf(scaled) > largest ? fabsf(scaled) : largest;
        }
        p->quantum[j] = hal_fixed_quantum(largest, most);
        for (int64_t i = 0; i < p->g.cols; i++) {
            volatile float scaled = p->x[i * p->ldx + j] * (p->terms ? p->pre[i] : 1.0F);
            const double quanta = rint((double)scaled / (double)p->quantum[j]);
            assert_true(fabs(quanta) <= most);
            p->q[i * p->d + j] = (int16_t)quanta;
        }
    }
    for (int64_t r = 0; r < p->g.rows; r++) {
        for (int64_t j = 0; j < p->d; j++) {
            int64_t sum = 0;
            for (int64_t e = p->g.offset[r]; e < p->g.offset[r + 1]; e++) {
                sum += p->q[p->g.column[e] * p->d + j];
            }
            assert_true(sum >= INT32_MIN && sum <= INT32_MAX);
            p->sum[r * p->d + j] = (int32_t)sum;
        }
    }
}

static float expected(const problem *p, int64_t r, int64_t j)
{
    volatile float y = p->quantum[j] * (float)p->sum[r * p->d + j];
    if (p->terms) {
        volatile float own = p->diag[r] * p->x[r * p->ldx + j];
        y = p->post[r] * y;
        y = y + p->before[r * p->ldo + j];
        y = y + own;
    }
    return y;
}

static problem make_problem(graph g, int64_t d, bool terms, bool whole)
{
    problem p = {.g = g, .d = d, .ldx = d + 3, .ldo = d + 5, .terms = terms};
    p.x = calloc((size_t)(g.cols * p.ldx) + 1, sizeof *p.x);
    p.before = calloc((size_t)(g.rows * p.ldo) + 1, sizeof *p.before);
    p.pre = calloc((size_t)g.cols + 1, sizeof *p.pre);
    p.post = calloc((size_t)g.rows + 1, sizeof *p.post);
    p.diag = calloc((size_t)g.rows + 1, sizeof *p.diag);
    p.quantum = calloc((size_t)d, sizeof *p.quantum);
    p.q = calloc((size_t)(g.cols * d) + 1, sizeof *p.q);
    p.sum = calloc((size_t)(g.rows * d) + 1, sizeof *p.sum);
    for (int64_t i = 0; i < g.cols * p.ldx; i++) { /* column 2 is zeros, column 3 has a range of its own */
        const int64_t j = i % p.ldx;
        const double value = whole ? (double)(next_random() % 201) - 100.0 : random_value() * (j == 3 ? 1e-20 : 3.0);
        p.x[i] = j == 2 ? 0.0F : (float)value;
    }
    for (int64_t i = 0; i < g.rows * p.ldo; i++) {
        p.before[i] = (float)random_value();
    }
    for (int64_t i = 0; i < g.cols; i++) {
        p.pre[i] = (float)(0.1 + fabs(random_value()));
    }
    for (int64_t i = 0; i < g.rows; i++) {
        p.post[i] = (float)random_value();
        p.diag[i] = (float)random_value();
    }
    expect_rows(&p);
    return p;
}

static void free_problem(problem *p)
{
    free_graph(&p->g);
    free(p->x), free(p->pre), free(p->post), free(p->diag), free(p->before), free(p->quantum), free(p->q), free(p->sum);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static void check_out(const problem *p, const float *out, const char *what)
{
    for (int64_t i = 0; i < p->g.rows * p->ldo; i++) {
        const int64_t r = i / p->ldo, j = i % p->ldo;
        const float want = j < p->d ? expected(p, r, j) : p->before[i]; /* padding is not ours */
        if (out[i] != want && !(isnan(out[i]) && isnan(want))) {
            fail_msg("%s, %s, d %lld: row %lld column %lld is %.9g, not %.9g", p->g.name, what, (long long)p->d,
                     (long long)r, (long long)j, (double)out[i], (double)want);
        }
    }
}

/* Of float32, in slices; beta = 0 never reads out. */
static void run_floats(weft_hal *hal, hal_spmm *spmm, const problem *p, int slices, const char *what)
{
    const graph *g = &p->g;
    const hal_mat none = {.data = NULL};
    float *out = malloc((size_t)(g->rows * p->ldo + 1) * sizeof *out);
    memcpy(out, p->before, (size_t)(g->rows * p->ldo) * sizeof *out);
    for (int64_t i = 0; i < g->rows * p->ldo && !p->terms; i++) {
        out[i] = i % p->ldo < p->d ? NAN : out[i];
    }
    held x = hold(hal, p->x, WEFT_DTYPE_F32, g->cols, p->d, p->ldx);
    held quantum = hold(hal, p->quantum, WEFT_DTYPE_F32, 1, p->d, p->d);
    held pre = hold(hal, p->pre, WEFT_DTYPE_F32, g->cols, 1, 1),
         post = hold(hal, p->post, WEFT_DTYPE_F32, g->rows, 1, 1);
    held diag = hold(hal, p->diag, WEFT_DTYPE_F32, g->rows, 1, 1);
    held to = hold(hal, out, WEFT_DTYPE_F32, g->rows, p->d, p->ldo);
    for (int slice = 0; slice < (slices > 1 ? slices : 1); slice++) {
        ASSERT_OK(hal_fixed_run(hal, &(hal_fixed_run_args){.x = x.mat,
                                                           .pre = p->terms ? pre.mat : none,
                                                           .quantum = quantum.mat,
                                                           .post = p->terms ? post.mat : none,
                                                           .diag = p->terms ? diag.mat : none,
                                                           .out = to.mat,
                                                           .matrix = spmm,
                                                           .entries = g->offset[g->rows],
                                                           .beta = p->terms ? 1.0 : 0.0,
                                                           .slice = slice,
                                                           .slices = slices}));
    }
    let_go(hal, &to, out);
    check_out(p, out, what);
    let_go(hal, &x, NULL), let_go(hal, &quantum, NULL), let_go(hal, &pre, NULL), let_go(hal, &post, NULL);
    let_go(hal, &diag, NULL);
    free(out);
}

/* Rows are rounded, summed as integers, twice where there is room, the second time taken off again, and finished: the
 * same bits. */
static void run_integers(weft_hal *hal, hal_spmm *spmm, const problem *p, const char *what)
{
    const graph *g = &p->g;
    const hal_mat none = {.data = NULL};
    const int times = most_of(g) == INT16_MAX ? 2 : 1;
    int16_t *q = calloc((size_t)(g->cols * p->d) + 1, sizeof *q);
    int32_t *sum = calloc((size_t)(g->rows * p->d) + 1, sizeof *sum);
    float *out = malloc((size_t)(g->rows * p->ldo + 1) * sizeof *out), *largest = calloc((size_t)p->d, sizeof *largest);
    memcpy(out, p->before, (size_t)(g->rows * p->ldo) * sizeof *out);
    held x = hold(hal, p->x, WEFT_DTYPE_F32, g->cols, p->d, p->ldx),
         rows = hold(hal, q, WEFT_DTYPE_I16, g->cols, p->d, p->d);
    held sums = hold(hal, sum, WEFT_DTYPE_I32, g->rows, p->d, p->d),
         quantum = hold(hal, p->quantum, WEFT_DTYPE_F32, 1, p->d, p->d);
    held pre = hold(hal, p->pre, WEFT_DTYPE_F32, g->cols, 1, 1),
         post = hold(hal, p->post, WEFT_DTYPE_F32, g->rows, 1, 1);
    held diag = hold(hal, p->diag, WEFT_DTYPE_F32, g->rows, 1, 1),
         to = hold(hal, out, WEFT_DTYPE_F32, g->rows, p->d, p->ldo);
    held of = hold(hal, largest, WEFT_DTYPE_F32, 1, p->d, p->d);
    const hal_mat scale = p->terms ? pre.mat : none;
    ASSERT_OK(hal_fixed_largest(hal, &(hal_fixed_largest_args){.x = x.mat, .scale = scale, .out = of.mat}));
    let_go(hal, &of, largest);
    for (int64_t j = 0; j < p->d; j++) {
        const float own = hal_fixed_quantum(largest[j], most_of(g));
        assert_memory_equal(&own, &p->quantum[j], sizeof own);
    }
    ASSERT_OK(
        hal_fixed_rows(hal, &(hal_fixed_rows_args){.x = x.mat, .scale = scale, .quantum = quantum.mat, .q = rows.mat}));
    for (int time = 0; time < times; time++) {
        ASSERT_OK(hal_fixed_run(
            hal, &(hal_fixed_run_args){
                     .x = rows.mat, .out = sums.mat, .matrix = spmm, .entries = g->offset[g->rows], .beta = time}));
    }
    ASSERT_OK(hal->mem.download(hal, sum, sums.mat.data, sums.bytes));
    for (int64_t i = 0; i < g->rows * p->d; i++) {
        assert_int_equal(sum[i], times * p->sum[i]);
        sum[i] = (1 - times) * p->sum[i];
    }
    int32_t *index = calloc((size_t)g->rows + 1, sizeof *index);
    for (int64_t r = 0; r < g->rows; r++) {
        index[r] = (int32_t)r;
    }
    held other = hold(hal, sum, WEFT_DTYPE_I32, g->rows, p->d, p->d),
         at = hold(hal, index, WEFT_DTYPE_I32, g->rows, 1, 1);
    ASSERT_OK(hal_fixed_add(hal, &(hal_fixed_add_args){.x = other.mat, .index = at.mat, .y = sums.mat}));
    ASSERT_OK(hal_fixed_finish(hal, &(hal_fixed_finish_args){.sum = sums.mat,
                                                             .quantum = quantum.mat,
                                                             .post = p->terms ? post.mat : none,
                                                             .diag = p->terms ? diag.mat : none,
                                                             .x = p->terms ? hal_mat_rows(&x.mat, 0, g->rows) : none,
                                                             .out = to.mat,
                                                             .beta = p->terms ? 1.0 : 0.0}));
    let_go(hal, &rows, q);
    assert_memory_equal(q, p->q, (size_t)(g->cols * p->d) * sizeof *q);
    let_go(hal, &to, out);
    check_out(p, out, what);
    let_go(hal, &x, NULL), let_go(hal, &sums, NULL), let_go(hal, &quantum, NULL), let_go(hal, &pre, NULL);
    let_go(hal, &post, NULL), let_go(hal, &diag, NULL), let_go(hal, &other, NULL), let_go(hal, &at, NULL);
    free(index), free(q), free(sum), free(out), free(largest);
}

/* Rows of all lengths; more columns than rows, of several blocks where it is large; one row of `longest`. */
static graph some_graph(int64_t rows, int64_t cols, int64_t longest)
{
    int64_t *degree = calloc((size_t)rows, sizeof *degree);
    for (int64_t r = 0; r < rows; r++) {
        degree[r] = r % 7 == 0 ? 0 : (int64_t)(next_random() % 40);
    }
    degree[rows / 2] = longest;
    graph g = new_graph("graph", rows, cols, degree);
    free(degree);
    return g;
}

static void check_problem(problem *p)
{
    const hal_csr csr = {.rows = p->g.rows,
                         .cols = p->g.cols,
                         .offset = p->g.offset,
                         .column = p->g.column,
                         .usual_d = p->d % 2 != 0 ? 16 : 0}; /* strips of 16 */
    for (int b = 0; b < BACKENDS; b++) {
        weft_hal *hal = NULL;
        hal_spmm *spmm = NULL;
        if (weft_hal_open(backends[b], THREADS, &hal) != WEFT_OK) {
            weft_error_clear(); /* this processor lacks it */
            continue;
        }
        ASSERT_OK(hal->sparse.spmm_create(hal, &csr, HAL_SPMM_I16, p->d + 3, &spmm));
        run_floats(hal, spmm, p, 0, backends[b]);
        run_floats(hal, spmm, p, 5, backends[b]);
        run_integers(hal, spmm, p, backends[b]);
        hal->sparse.spmm_destroy(hal, spmm);
        weft_hal_close(hal);
    }
    free_problem(p);
}

static void test_widths(void **state)
{
    (void)state;
    for (int w = 0; w < WIDTHS; w++) {
        problem p = make_problem(some_graph(61, 90, 70), widths[w], w % 2 == 0, false);
        check_problem(&p);
    }
}

/* Of more sources than a block holds. */
static void test_blocks(void **state)
{
    (void)state;
    problem narrow = make_problem(some_graph(300, 150000, 900), 16, true, false);
    check_problem(&narrow);
    problem wide = make_problem(some_graph(200, 40000, 900), 65, false, false);
    check_problem(&wide);
}

/* Sums of whole numbers are equal to the last digit to those of the numbers themselves. */
static void test_whole_numbers(void **state)
{
    (void)state;
    problem p = make_problem(some_graph(61, 90, 70), 33, false, true);
    for (int64_t r = 0; r < p.g.rows; r++) {
        for (int64_t j = 0; j < p.d; j++) {
            double sum = 0.0;
            for (int64_t e = p.g.offset[r]; e < p.g.offset[r + 1]; e++) {
                sum += (double)p.x[p.g.column[e] * p.ldx + j];
            }
            assert_true((double)expected(&p, r, j) == sum);
        }
    }
    check_problem(&p);
}

/* A row of more edges than 32767 of full magnitude could have: fewer bits, and no sum leaves 32. */
static void test_long_row(void **state)
{
    (void)state;
    problem p = make_problem(some_graph(11, 50, 200000), 17, false, false);
    for (int64_t i = 0; i < p.g.cols * p.ldx; i++) {
        p.x[i] = 3.0F;
    }
    expect_rows(&p);
    assert_int_equal(most_of(&p.g), INT32_MAX / 200000);
    check_problem(&p);
}

static void test_quantum(void **state)
{
    (void)state;
    assert_int_equal(hal_fixed_most(0), 32767);
    assert_int_equal(hal_fixed_most(65538), 32767);
    assert_int_equal(hal_fixed_most(65539), 32766);
    assert_int_equal(hal_fixed_most(INT32_MAX), 1);
    assert_int_equal(hal_fixed_most(INT64_C(1) << 31), 0);
    assert_true(hal_fixed_quantum(32767.0F, 32767) == 1.0F);
    assert_true(hal_fixed_quantum(32767.5F, 32767) == 2.0F);
    assert_true(hal_fixed_quantum(16384.0F, 32767) == 1.0F);
    assert_true(hal_fixed_quantum(16383.0F, 32767) == 0.5F);
    assert_true(hal_fixed_quantum(0.0F, 32767) == 1.0F);
    assert_true(hal_fixed_quantum(1e-40F, 32767) == 0x1p-100F);
    assert_true(isnan(hal_fixed_quantum(INFINITY, 32767)) && isnan(hal_fixed_quantum(NAN, 1)));
    for (int i = 0; i < 1000; i++) {
        const float largest = (float)(fabs(random_value()) * ldexp(1.0, i % 60 - 30)) + 1e-12F;
        const int32_t most = 1 + (int32_t)(next_random() % 32767);
        const double quanta = (double)largest / (double)hal_fixed_quantum(largest, most);
        assert_true(quanta <= most && 2.0 * quanta > most);
    }
}

/* A number that is not finite makes its column NaNs, and no other. */
static void test_not_finite(void **state)
{
    (void)state;
    problem p = make_problem(some_graph(61, 90, 70), 33, false, false);
    const hal_csr csr = {.rows = p.g.rows, .cols = p.g.cols, .offset = p.g.offset, .column = p.g.column};
    for (int b = 0; b < BACKENDS; b++) {
        weft_hal *hal = NULL;
        hal_spmm *spmm = NULL;
        if (weft_hal_open(backends[b], THREADS, &hal) != WEFT_OK) {
            weft_error_clear();
            continue;
        }
        ASSERT_OK(hal->sparse.spmm_create(hal, &csr, HAL_SPMM_I16, p.d, &spmm));
        float *largest = calloc((size_t)p.d, sizeof *largest), *out = calloc((size_t)(p.g.rows * p.d), sizeof *out);
        const float kept[2] = {p.x[5 * p.ldx + 4], p.x[6 * p.ldx + 20]};
        p.x[5 * p.ldx + 4] = NAN;
        p.x[6 * p.ldx + 20] = -INFINITY;
        held x = hold(hal, p.x, WEFT_DTYPE_F32, p.g.cols, p.d, p.ldx),
             of = hold(hal, largest, WEFT_DTYPE_F32, 1, p.d, p.d);
        ASSERT_OK(hal_fixed_largest(hal, &(hal_fixed_largest_args){.x = x.mat, .out = of.mat}));
        let_go(hal, &of, largest);
        for (int64_t j = 0; j < p.d; j++) {
            largest[j] = hal_fixed_quantum(largest[j], 32767);
            assert_true(isnan(largest[j]) == (j == 4 || j == 20));
        }
        held quantum = hold(hal, largest, WEFT_DTYPE_F32, 1, p.d, p.d),
             to = hold(hal, out, WEFT_DTYPE_F32, p.g.rows, p.d, p.d);
        ASSERT_OK(hal_fixed_run(
            hal, &(hal_fixed_run_args){.x = x.mat, .quantum = quantum.mat, .out = to.mat, .matrix = spmm}));
        let_go(hal, &to, out);
        for (int64_t i = 0; i < p.g.rows * p.d; i++) {
            const int64_t j = i % p.d;
            assert_true(j == 4 || j == 20 ? isnan(out[i]) : out[i] == expected(&p, i / p.d, j));
        }
        p.x[5 * p.ldx + 4] = kept[0];
        p.x[6 * p.ldx + 20] = kept[1];
        let_go(hal, &x, NULL), let_go(hal, &quantum, NULL);
        free(largest), free(out);
        hal->sparse.spmm_destroy(hal, spmm);
        weft_hal_close(hal);
    }
    free_problem(&p);
}

/* What the form does not hold, and what does not take the form. */
static void test_refused(void **state)
{
    (void)state;
    weft_hal *hal = NULL;
    hal_spmm *spmm = NULL;
    graph g = some_graph(11, 20, 5);
    float *value = calloc((size_t)g.offset[g.rows], sizeof *value);
    hal_csr csr = {.rows = g.rows, .cols = g.cols, .offset = g.offset, .column = g.column, .value = value};
    float x[20] = {0}, out[11];
    ASSERT_OK(weft_hal_open("cpu", 1, &hal));
    ASSERT_STATUS(hal->sparse.spmm_create(hal, &csr, HAL_SPMM_I16, 1, &spmm), WEFT_ERR_UNSUPPORTED);
    csr.value = NULL;
    const hal_mat from = hal_mat_of(x, WEFT_DTYPE_F32, 20, 1, 1), to = hal_mat_of(out, WEFT_DTYPE_F32, 11, 1, 1);
    ASSERT_OK(hal->sparse.spmm_create(hal, &csr, HAL_SPMM_I16, 1, &spmm));
    ASSERT_STATUS(hal_spmm_run(hal, &(hal_spmm_run_args){.x = from, .out = to, .matrix = spmm}), WEFT_ERR_UNSUPPORTED);
    hal->sparse.spmm_destroy(hal, spmm);
    ASSERT_OK(hal->sparse.spmm_create(hal, &csr, HAL_SPMM_LISTS, 1, &spmm));
    ASSERT_STATUS(hal_fixed_run(hal, &(hal_fixed_run_args){.x = from,
                                                           .quantum = hal_mat_of(x, WEFT_DTYPE_F32, 1, 1, 1),
                                                           .out = to,
                                                           .matrix = spmm}),
                  WEFT_ERR_UNSUPPORTED);
    hal->sparse.spmm_destroy(hal, spmm);
    weft_hal_close(hal);
    free(value);
    free_graph(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_quantum),  cmocka_unit_test(test_widths),
                                       cmocka_unit_test(test_blocks),   cmocka_unit_test(test_whole_numbers),
                                       cmocka_unit_test(test_long_row), cmocka_unit_test(test_not_finite),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

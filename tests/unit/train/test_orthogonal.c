/*
 * Newton-Schulz iteration (train/second/orthogonal.h): matrices whose singular values and vectors are known because
 * they are made of rotations. What comes out must have the same vectors and values near 1; wide and tall, in float64,
 * float32 and with products of bfloat16, several at once, zeros among them.
 */
#include <math.h>

#include "support/random.h"
#include "support/test.h"
#include "train/second/orthogonal.h"

enum { MOST_SIDE = 40, MOST_MATRICES = 3, MOST = MOST_MATRICES * MOST_SIDE * MOST_SIDE };

/* Turns rows i and j of a[rows, cols], or its columns, by an angle. */
static void turn(double *a, int64_t cols, int64_t length, bool rows, int64_t i, int64_t j, double angle)
{
    for (int64_t k = 0; k < length; ++k) {
        double *x = rows ? &a[i * cols + k] : &a[k * cols + i];
        double *y = rows ? &a[j * cols + k] : &a[k * cols + j];
        const double first = *x, second = *y;
        *x = cos(angle) * first - sin(angle) * second;
        *y = sin(angle) * first + cos(angle) * second;
    }
}

/* a = U diag(value) V^T and u = U V^T, with U and V products of many rotations. */
static void make(int64_t rows, int64_t cols, const double *value, int which, double *a, double *u)
{
    const int64_t k = rows < cols ? rows : cols;
    memset(a, 0, sizeof *a * (size_t)(rows * cols));
    memset(u, 0, sizeof *u * (size_t)(rows * cols));
    for (int64_t i = 0; i < k; ++i) {
        a[i * cols + i] = value[i];
        u[i * cols + i] = 1.0;
    }
    for (int64_t n = 0; n < 12 * (rows + cols); ++n) {
        const bool of_rows = n % (rows + cols) < rows;
        const int64_t side = of_rows ? rows : cols, i = n % side, j = (n + 1 + n / side) % side;
        if (i != j) {
            turn(a, cols, of_rows ? cols : rows, of_rows, i, j, 0.7 + 1.3 * (double)n + which);
            turn(u, cols, of_rows ? cols : rows, of_rows, i, j, 0.7 + 1.3 * (double)n + which);
        }
    }
}

typedef struct outcome {
    double smallest, largest; /* singular values */
    double cosine;            /* with U V^T */
} outcome;

/* Singular values of x by one-sided Jacobi rotations of its shorter side. */
static void find_values(double *x, int64_t rows, int64_t cols, outcome *o)
{
    const bool tall = rows > cols;
    const int64_t k = tall ? cols : rows, n = tall ? rows : cols, near = tall ? 1 : cols, far = tall ? cols : 1;
    for (int sweep = 0; sweep < 30; ++sweep) {
        for (int64_t i = 0; i < k; ++i) {
            for (int64_t j = i + 1; j < k; ++j) {
                double a = 0, b = 0, c = 0;
                for (int64_t t = 0; t < n; ++t) {
                    const double p = x[i * near + t * far], q = x[j * near + t * far];
                    a += p * p, b += q * q, c += p * q;
                }
                if (fabs(c) > 1e-15 * sqrt(a * b)) {
                    turn(x, cols, n, !tall, i, j, 0.5 * atan2(2.0 * c, b - a));
                }
            }
        }
    }
    o->smallest = INFINITY;
    o->largest = 0;
    for (int64_t i = 0; i < k; ++i) {
        double a = 0;
        for (int64_t t = 0; t < n; ++t) {
            a += x[i * near + t * far] * x[i * near + t * far];
        }
        o->smallest = fmin(o->smallest, sqrt(a));
        o->largest = fmax(o->largest, sqrt(a));
    }
}

static void put(weft_tensor *t, const double *values)
{
    float narrow[MOST];
    for (int64_t i = 0; i < t->cols; ++i) {
        narrow[i] = (float)values[i];
    }
    ASSERT_OK(tensor_upload(t, t->dtype == WEFT_DTYPE_F64 ? (const void *)values : (const void *)narrow));
}

static void get(const weft_tensor *t, double *values)
{
    float narrow[MOST];
    ASSERT_OK(tensor_download(t, t->dtype == WEFT_DTYPE_F64 ? (void *)values : (void *)narrow));
    for (int64_t i = 0; t->dtype != WEFT_DTYPE_F64 && i < t->cols; ++i) {
        values[i] = (double)narrow[i];
    }
}

typedef struct kind {
    const char *backend;
    weft_dtype dtype;
    bool half;
} kind;

static const kind kinds[] = {{"ref", WEFT_DTYPE_F64, false},
                             {"cpu", WEFT_DTYPE_F32, false},
                             {"cpu", WEFT_DTYPE_F32, true},
                             {"shadow", WEFT_DTYPE_F32, false}};
static const int64_t shapes[][2] = {{16, 36}, {36, 16}, {24, 24}, {1, 9}, {9, 1}, {40, 40}};

enum { KINDS = sizeof kinds / sizeof *kinds, SHAPES = sizeof shapes / sizeof *shapes };

/* x: count matrices, replaced by what comes out. */
static void run(const kind *k, const orthogonal_shape *shape, double *x)
{
    weft_hal *hal = NULL;
    weft_tensor t;
    orthogonal_work work;
    ASSERT_OK(weft_hal_open(test_device(k->backend), 2, &hal));
    ASSERT_OK(tensor_create(hal, k->dtype, 1, shape->count * shape->rows * shape->cols, WEFT_MEM_WORKSPACE, &t));
    ASSERT_OK(orthogonal_create(hal, k->dtype, k->half, shape, 1, &work));
    put(&t, x);
    ASSERT_OK(orthogonalise(&work, shape, &t));
    get(&t, x);
    orthogonal_destroy(&work);
    tensor_destroy(&t);
    weft_hal_close(hal);
}

/* Compares with U V^T; each matrix has another size, which must not matter. */
static void check_shape(const kind *k, int64_t rows, int64_t cols)
{
    static double x[MOST], u[MOST];
    double value[MOST_SIDE];
    const int64_t side = rows < cols ? rows : cols, each = rows * cols;
    const orthogonal_shape shape = {MOST_MATRICES, rows, cols};
    for (int m = 0; m < MOST_MATRICES; ++m) {
        for (int64_t i = 0; i < side; ++i) { /* of condition 100 */
            value[i] = pow(10.0, 3 * m - 4 - 2.0 * (double)i / (double)(side > 1 ? side - 1 : 1));
        }
        make(rows, cols, value, m, x + m * each, u + m * each);
    }
    memset(x + each, 0, sizeof *x * (size_t)each); /* the second one */
    run(k, &shape, x);
    for (int m = 0; m < MOST_MATRICES; ++m) {
        double dot = 0, square = 0;
        outcome o;
        for (int64_t i = m * each; i < (m + 1) * each; ++i) {
            assert_true(isfinite(x[i]) && (m != 1 || x[i] == 0.0));
            dot += x[i] * u[i];
            square += x[i] * x[i];
        }
        if (m == 1) {
            continue;
        }
        o.cosine = dot / sqrt(square * (double)side);
        find_values(x + m * each, rows, cols, &o);
        const double slack = k->half ? 0.02 : 1e-3;
        if (o.smallest < 0.68 - slack || o.largest > 1.21 + slack || o.cosine < 0.97) {
            fail_msg("%s%s, %d x %d: singular values %.3f to %.3f, cosine %.4f", k->backend, k->half ? " bf16" : "",
                     (int)rows, (int)cols, o.smallest, o.largest, o.cosine);
        }
    }
}

static void test_singular_values_come_near_one(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; ++k) {
        for (int s = 0; s < SHAPES; ++s) {
            check_shape(&kinds[k], shapes[s][0], shapes[s][1]);
        }
    }
}

/* What a tall matrix becomes is the transpose of what its transpose becomes. */
static void test_transposes_agree(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; ++k) {
        enum { ROWS = 13, COLS = 31 };
        double wide[ROWS * COLS], tall[ROWS * COLS];
        uint64_t random = 5;
        for (int i = 0; i < ROWS * COLS; ++i) {
            wide[i] = test_uniform(&random) - 0.5;
            tall[i % COLS * ROWS + i / COLS] = wide[i];
        }
        run(&kinds[k], &(orthogonal_shape){1, ROWS, COLS}, wide);
        run(&kinds[k], &(orthogonal_shape){1, COLS, ROWS}, tall);
        const double tolerance = kinds[k].half ? 0.02 : kinds[k].dtype == WEFT_DTYPE_F64 ? 1e-13 : 1e-5;
        for (int i = 0; i < ROWS * COLS; ++i) {
            assert_true(fabs(wide[i] - tall[i % COLS * ROWS + i / COLS]) < tolerance);
        }
    }
}

/* The polynomial of a matrix of one row is one of numbers, which a loop can follow. */
static void test_a_row_follows_the_polynomial(void **state)
{
    (void)state;
    double x[4] = {3.0, 0.0, -4.0, 0.0}, norm = 1.0;
    for (int i = 0; i < ORTHOGONAL_STEPS; ++i) {
        norm = 3.4445 * norm - 4.7750 * pow(norm, 3) + 2.0315 * pow(norm, 5);
    }
    run(&kinds[0], &(orthogonal_shape){1, 1, 4}, x);
    assert_true(fabs(x[0] - 0.6 * norm) < 1e-14 && fabs(x[2] + 0.8 * norm) < 1e-14 && x[1] == 0.0 && x[3] == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_singular_values_come_near_one),
        cmocka_unit_test(test_transposes_agree),
        cmocka_unit_test(test_a_row_follows_the_polynomial),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * backend/test_factor.c: sums of products, factorisations and histograms beside the figures of NumPy and SciPy in
 * tests/golden/factor.txt (make_golden_factor.py), on ref and on cpu: with LAPACK, without it, and where it is said to
 * compute wrong, each in a process of its own. Many small factorisations at once use the plan's threads and no more.
 * trees: release asan
 */
#include <dirent.h>
#include <math.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hal/cpu/factor/eigen_check.h"
#include "hal/cpu/library/lapack.h"
#include "hal/hal.h"
#include "support/test.h"

enum { PROBES = 8, THREADS = 3, MOST = 640 };

typedef struct trial {
    weft_hal *hal;
    weft_dtype dtype;
    double tolerance;
} trial;

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* Number i of a stream: rule() of make_golden_factor.py. */
static double rule(uint64_t stream, uint64_t i)
{
    uint32_t h = (uint32_t)(i * 2654435761U + stream * 40503U + 12345U);
    h ^= h >> 16;
    h *= 0x7FEB352DU;
    h ^= h >> 15;
    h *= 0x846CA68BU;
    h ^= h >> 16;
    return (double)h / 0x1p31 - 1.0;
}

static double number(const trial *t, const void *from, int64_t i)
{
    return t->dtype == WEFT_DTYPE_F64 ? ((const double *)from)[i] : (double)((const float *)from)[i];
}

static void put(const trial *t, void *to, int64_t i, double x)
{
    if (t->dtype == WEFT_DTYPE_F64) {
        ((double *)to)[i] = x;
    } else {
        ((float *)to)[i] = (float)x;
    }
}

static void *room_for(int64_t numbers)
{
    void *room = calloc((size_t)numbers + 1, sizeof(double));
    assert_non_null(room);
    return room;
}

static hal_mat mat_of(const trial *t, void *data, int64_t rows, int64_t cols)
{
    return hal_mat_of(data, t->dtype, rows, cols, cols);
}

static void *ruled(const trial *t, uint64_t stream, int64_t rows, int64_t cols)
{
    void *x = room_for(rows * cols);
    for (int64_t i = 0; i < rows * cols; ++i) {
        put(t, x, i, rule(stream, (uint64_t)i));
    }
    return x;
}

/* B B^T / n + I / 2 in the lower triangle, NaN above it. */
static void *definite(const trial *t, int64_t n)
{
    void *a = room_for(n * n);
    double *b = room_for(n * n);
    for (int64_t i = 0; i < n * n; ++i) {
        b[i] = rule((uint64_t)n, (uint64_t)i);
    }
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) {
            double sum = i == j ? 0.5 : 0.0;
            for (int64_t k = 0; k < n && j <= i; ++k) {
                sum += b[i * n + k] * b[j * n + k] / (double)n;
            }
            put(t, a, i * n + j, j <= i ? sum : NAN);
        }
    }
    free(b);
    return a;
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

/* [out] figure: the numbers of a line of factor.txt. */
static void golden(const char *name, double figure[PROBES])
{
    char line[512];
    FILE *in = fopen(WEFT_SOURCE_DIR "/tests/golden/factor.txt", "r");
    assert_non_null(in);
    bool found = false;
    while (!found && fgets(line, sizeof line, in) != NULL) {
        const char *colon = strchr(line, ':');
        if (colon == NULL || strlen(name) != (size_t)(colon - line) || strncmp(line, name, strlen(name)) != 0) {
            continue;
        }
        char *at = line + strlen(name) + 1;
        for (int i = 0; i < PROBES; ++i) {
            figure[i] = strtod(at, &at);
        }
        found = true;
    }
    (void)fclose(in);
    if (!found) {
        fail_msg("factor.txt has no line %s", name);
    }
}

/* Eight elements of the result that lie far from each other are as frozen; `lower`: zeros above the diagonal of n
 * columns. */
static void is_golden(const trial *t, const char *op, int64_t n, const void *from, int64_t count, bool lower)
{
    char name[64];
    double wanted[PROBES];
    snprintf(name, sizeof name, n > 0 ? "%s %ld" : "%s", op, (long)n);
    golden(name, wanted);
    for (int64_t i = 0; i < PROBES; ++i) {
        const int64_t at = i * (count - 1) / (PROBES - 1);
        const double given = lower && at % n > at / n ? 0.0 : number(t, from, at);
        if (!(fabs(given - wanted[i]) <= t->tolerance * fmax(1.0, fabs(wanted[i])))) {
            fail_msg("%s on %s, %s: element %ld is %.17g, %.17g was frozen", name, t->hal->name,
                     weft_dtype_name(t->dtype), (long)at, given, wanted[i]);
        }
    }
}

/* ---- what is compared -------------------------------------------------------------------------------------------- */

static void check_cholesky(const trial *t, int64_t n)
{
    void *a = definite(t, n);
    void *x = ruled(t, (uint64_t)n + 1, 5, n);
    int32_t info = -1;
    const hal_mat told = hal_mat_of(&info, WEFT_DTYPE_I32, 1, 1, 1);
    const hal_mat matrix = mat_of(t, a, n, n);
    ASSERT_OK(hal_potrf(t->hal, &(hal_potrf_args){.a = matrix, .info = told}));
    assert_int_equal(info, 0);
    is_golden(t, "potrf", n, a, n * n, true);
    ASSERT_OK(hal_potrs(t->hal, &(hal_potrs_args){.a = matrix, .x = mat_of(t, x, 5, n)}));
    is_golden(t, "potrs", n, x, 5 * n, false);
    ASSERT_OK(hal_potri(t->hal, &(hal_potri_args){.a = matrix}));
    is_golden(t, "potri", n, a, n * n, false);
    free(a);
    free(x);
}

/* The inverse root, in which the signs of vectors do not show, for the vectors. */
static void check_eigen(const trial *t, int64_t n)
{
    void *a = definite(t, n);
    void *vectors = room_for(n * n);
    void *values = room_for(n);
    void *root = room_for(n * n);
    int32_t info = -1;
    ASSERT_OK(hal_syevd(t->hal, &(hal_syevd_args){.a = mat_of(t, a, n, n),
                                                  .vectors = mat_of(t, vectors, n, n),
                                                  .values = mat_of(t, values, 1, n),
                                                  .info = hal_mat_of(&info, WEFT_DTYPE_I32, 1, 1, 1)}));
    assert_int_equal(info, 0);
    is_golden(t, "syevd", n, values, n, false);
    for (int64_t i = 0; i < PROBES; ++i) {
        const int64_t at = i * (n * n - 1) / (PROBES - 1);
        double sum = 0.0;
        for (int64_t k = 0; k < n; ++k) {
            sum += number(t, vectors, k * n + at / n) * number(t, vectors, k * n + at % n) / sqrt(number(t, values, k));
        }
        put(t, root, at, sum);
    }
    is_golden(t, "root", n, root, n * n, false);
    free(a);
    free(vectors);
    free(values);
    free(root);
}

static void check_qr(const trial *t, int64_t n)
{
    void *a = ruled(t, (uint64_t)n + 2, n + 40, n);
    void *r = room_for(n * n);
    int32_t info = -1;
    ASSERT_OK(hal_geqrf(t->hal, &(hal_geqrf_args){.a = mat_of(t, a, n + 40, n),
                                                  .r = mat_of(t, r, n, n),
                                                  .info = hal_mat_of(&info, WEFT_DTYPE_I32, 1, 1, 1)}));
    assert_int_equal(info, 0);
    is_golden(t, "q", n, a, (n + 40) * n, false);
    is_golden(t, "r", n, r, n * n, false);
    free(a);
    free(r);
}

static void check_grams(const trial *t)
{
    enum {
        ROWS = 300,
        COLS = 70,
        TAKEN = 50,
        CELLS = COLS * (COLS + 1) / 2,
        PATCH = 36,
        TAPS = PATCH * (PATCH + 1) / 2
    };
    void *x = ruled(t, 7, ROWS, COLS);
    void *packed = room_for(CELLS);
    int32_t rows[TAKEN];
    for (int i = 0; i < TAKEN; ++i) {
        rows[i] = 5 * i;
    }
    hal_gram_args args = {.x = mat_of(t, x, ROWS, COLS), .packed = mat_of(t, packed, 1, CELLS), .alpha = 0.5};
    ASSERT_OK(hal_gram(t->hal, &args));
    is_golden(t, "gram", 0, packed, CELLS, false);
    args.alpha = 1.0;
    args.index = hal_column_from(rows, WEFT_DTYPE_I32, TAKEN);
    ASSERT_OK(hal_gram(t->hal, &args));
    is_golden(t, "gram of rows", 0, packed, CELLS, false);
    void *images = ruled(t, 8, 3 * 9 * 8, 4);
    const hal_patch_gram_args patches = {.x = mat_of(t, images, 3 * 9 * 8, 4),
                                         .packed = mat_of(t, packed, 1, TAPS),
                                         .shape = {.height = 9,
                                                   .width = 8,
                                                   .in = 4,
                                                   .groups = 1,
                                                   .kernel = {3, 3},
                                                   .stride = {2, 2},
                                                   .dilation = {1, 1},
                                                   .pad = {{1, 1}, {1, 1}}},
                                         .alpha = 1.0};
    ASSERT_OK(hal_patch_gram(t->hal, &patches));
    is_golden(t, "patch_gram", 0, packed, TAPS, false);
    free(x);
    free(images);
    free(packed);
}

/* The sums of float64 have the same bits for every number of threads, of rows as they lie and of patches. */
static void test_gram_bits(void **state)
{
    (void)state;
    enum { ROWS = 600, COLS = 75, PATCH = 36, CELLS = COLS * (COLS + 1) / 2, TAPS = PATCH * (PATCH + 1) / 2 };
    trial t = {.dtype = WEFT_DTYPE_F64};
    static double sum[2][CELLS], taps[2][TAPS];
    void *x = ruled(&t, 7, ROWS, COLS);
    for (int i = 0; i < 2; ++i) {
        ASSERT_OK(weft_hal_open("cpu", i == 0 ? 1 : THREADS, &t.hal));
        ASSERT_OK(hal_gram(
            t.hal,
            &(hal_gram_args){.x = mat_of(&t, x, ROWS, COLS), .packed = mat_of(&t, sum[i], 1, CELLS), .alpha = 0.5}));
        ASSERT_OK(hal_patch_gram(t.hal, &(hal_patch_gram_args){.x = mat_of(&t, x, 50 * 9 * 8, 4),
                                                               .packed = mat_of(&t, taps[i], 1, TAPS),
                                                               .shape = {.height = 9,
                                                                         .width = 8,
                                                                         .in = 4,
                                                                         .groups = 1,
                                                                         .kernel = {3, 3},
                                                                         .stride = {1, 1},
                                                                         .dilation = {1, 1},
                                                                         .pad = {{1, 1}, {1, 1}}},
                                                               .alpha = 1.0}));
        weft_hal_close(t.hal);
    }
    assert_memory_equal(sum[1], sum[0], sizeof sum[0]);
    assert_memory_equal(taps[1], taps[0], sizeof taps[0]);
    free(x);
}

static void check_histogram(const trial *t)
{
    enum { ROWS = 5000, FEATURES = 20, CELLS = 2 * HAL_BINS * FEATURES };
    static uint8_t bins[ROWS * FEATURES];
    static int32_t pair[ROWS];
    static int64_t sums[CELLS];
    static double figures[CELLS];
    for (int64_t i = 0; i < (int64_t)ROWS * FEATURES; ++i) {
        bins[i] = (uint8_t)(fabs(rule(9, (uint64_t)i)) * 256.0);
    }
    for (int64_t i = 0; i < ROWS; ++i) {
        pair[i] =
            hal_pair_of((int16_t)(rule(10, (uint64_t)i) * 32767.0), (uint16_t)(fabs(rule(11, (uint64_t)i)) * 65535.0));
    }
    ASSERT_OK(
        hal_histogram(t->hal, &(hal_histogram_args){.bins = hal_mat_of(bins, WEFT_DTYPE_U8, ROWS, FEATURES, FEATURES),
                                                    .pair = hal_column_from(pair, WEFT_DTYPE_I32, ROWS),
                                                    .sums = hal_mat_of(sums, WEFT_DTYPE_I64, CELLS / 2, 2, 2)}));
    for (int64_t i = 0; i < CELLS; ++i) {
        figures[i] = (double)sums[i];
    }
    const trial exact = {.hal = t->hal, .dtype = WEFT_DTYPE_F64, .tolerance = 0.0};
    is_golden(&exact, "histogram", 0, figures, CELLS, false);
}

static void check_backend(const char *resource, weft_dtype dtype, int64_t most)
{
    static const int64_t sizes[] = {24, 100, MOST};
    trial t = {.dtype = dtype, .tolerance = dtype == WEFT_DTYPE_F64 ? 1e-10 : 2e-4};
    ASSERT_OK(weft_hal_open(resource, THREADS, &t.hal));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        if (sizes[i] <= most) {
            check_cholesky(&t, sizes[i]);
            check_eigen(&t, sizes[i]);
            check_qr(&t, sizes[i]);
        }
    }
    check_grams(&t);
    check_histogram(&t);
    weft_hal_close(t.hal);
}

static void test_ref(void **state)
{
    (void)state;
    check_backend("ref", WEFT_DTYPE_F64, 100);
    check_backend("ref", WEFT_DTYPE_F32, 24);
}

static void test_cpu(void **state)
{
    (void)state;
    check_backend("cpu", WEFT_DTYPE_F32, TEST_SANITIZED ? 100 : MOST);
    check_backend("cpu", WEFT_DTYPE_F64, 100);
}

/* ---- more rows than the halves of a packed cell hold ------------------------------------------------------------- */

static void test_long_histogram(void **state)
{
    (void)state;
    enum { ROWS = 2 * HAL_HISTOGRAM_ROWS + 3 };
    static uint8_t bins[ROWS];
    static int32_t pair[ROWS];
    static int64_t sums[2 * HAL_BINS];
    weft_hal *hal = NULL;
    ASSERT_OK(weft_hal_open("cpu", 1, &hal));
    for (int i = 0; i < ROWS; ++i) {
        bins[i] = 7;
        pair[i] = hal_pair_of(INT16_MIN, UINT16_MAX);
    }
    hal_histogram_args args = {.bins = hal_mat_of(bins, WEFT_DTYPE_U8, ROWS, 1, 1),
                               .pair = hal_column_from(pair, WEFT_DTYPE_I32, ROWS),
                               .sums = hal_mat_of(sums, WEFT_DTYPE_I64, HAL_BINS, 2, 2)};
    ASSERT_OK(hal_histogram(hal, &args));
    assert_true(sums[14] == (int64_t)INT16_MIN * ROWS && sums[15] == (int64_t)UINT16_MAX * ROWS);
    args.sums = hal_mat_of(sums, WEFT_DTYPE_I64, HAL_BINS, 1, 1);
    ASSERT_STATUS(hal_histogram(hal, &args), WEFT_ERR_UNSUPPORTED);
    ASSERT_MESSAGE("65539 rows");
    args.bins.rows = args.pair.rows = HAL_HISTOGRAM_ROWS;
    ASSERT_OK(hal_histogram(hal, &args));
    assert_true(sums[7] == ((int64_t)INT16_MIN * ((int64_t)1 << 32) + UINT16_MAX) * HAL_HISTOGRAM_ROWS);
    weft_hal_close(hal);
}

static void test_grouped_patches(void **state)
{
    (void)state;
    weft_hal *hal = NULL;
    float x[4] = {0}, packed[3];
    ASSERT_OK(weft_hal_open("cpu", 1, &hal));
    const hal_patch_gram_args args = {
        .x = hal_mat_of(x, WEFT_DTYPE_F32, 1, 4, 4),
        .packed = hal_mat_of(packed, WEFT_DTYPE_F32, 1, 3, 3),
        .shape = {
            .height = 1, .width = 1, .in = 4, .groups = 2, .kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}}};
    ASSERT_STATUS(hal_patch_gram(hal, &args), WEFT_ERR_UNSUPPORTED);
    ASSERT_MESSAGE("2 groups");
    weft_hal_close(hal);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static int tasks(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    closedir(folder);
    return count;
}

/* 20 small factorisations side by side, and a large one, after the plan's threads have started. */
static void test_threads(void **state)
{
    (void)state;
    enum { COUNT = 20, SMALL = 100, LARGE = 520 };
    trial t = {.dtype = WEFT_DTYPE_F32};
    ASSERT_OK(weft_hal_open("cpu", THREADS, &t.hal));
    omp_set_dynamic(0);
    omp_set_num_threads(1); /* what the process is told is not what the plan says */
    int team = 0;
#pragma omp parallel num_threads(THREADS) reduction(+ : team)
    team += 1;
    assert_int_equal(team, THREADS);
    (void)lapack_get(); /* it may start a thread that helps to load it, never one that computes */
    const int before = tasks();
    float *all = room_for((int64_t)COUNT * SMALL * SMALL);
    float *one = definite(&t, SMALL);
    int32_t info[COUNT];
    for (int i = 0; i < COUNT; ++i) {
        memcpy(all + i * SMALL * SMALL, one, SMALL * SMALL * sizeof *all);
    }
    const hal_mat matrices = mat_of(&t, all, (int64_t)COUNT * SMALL, SMALL);
    ASSERT_OK(
        hal_potrf(t.hal, &(hal_potrf_args){.a = matrices, .info = hal_mat_of(info, WEFT_DTYPE_I32, COUNT, 1, 1)}));
    ASSERT_OK(hal_potri(t.hal, &(hal_potri_args){.a = matrices}));
    assert_true(tasks() <= before);   /* the runtime sends threads home that a smaller team does not need */
    for (int i = 1; i < COUNT; ++i) { /* whichever thread it was */
        assert_int_equal(info[i], 0);
        assert_memory_equal(all + i * SMALL * SMALL, all, SMALL * SMALL * sizeof *all);
    }
    float *large = definite(&t, LARGE);
    ASSERT_OK(hal_potrf(t.hal, &(hal_potrf_args){.a = mat_of(&t, large, LARGE, LARGE),
                                                 .info = hal_mat_of(info, WEFT_DTYPE_I32, 1, 1, 1)}));
    assert_int_equal(info[0], 0);
    assert_true(tasks() <= before);
    assert_int_equal(omp_get_max_threads(), 1);
    free(all);
    free(one);
    free(large);
    weft_hal_close(t.hal);
}

/* ---- with and without the library -------------------------------------------------------------------------------- */

static void test_description(void **state)
{
    const char *wish = *state;
    char text[200];
    lapack_describe(true, text, sizeof text);
    if (strcmp(text, "none") == 0 || strcmp(text, "not found") == 0) {
        assert_null(lapack_get());
    } else if (strcmp(wish, "wrong") == 0) {
        assert_null(lapack_get());
        assert_non_null(strstr(text, "not used: wrong on this processor"));
    } else if (strcmp(wish, "off") == 0) {
        assert_null(lapack_get());
        assert_string_equal(text, "off (WEFT_LAPACK)");
    }
    print_message("LAPACK: %s\n", text);
}

/* Eigenvectors and eigenvalues of 2 I - (2 / n) 1 1^T by closed form: a row of equal numbers has 0, the rows
 * of cosines 2. */
static void write_eigen(const trial *t, int64_t n, void *a, void *vectors, void *values)
{
    for (int64_t i = 0; i < n; ++i) {
        put(t, values, i, i == 0 ? 0.0 : 2.0);
        for (int64_t j = 0; j < n; ++j) {
            put(t, a, i * n + j, (i == j ? 2.0 : 0.0) - 2.0 / (double)n);
            const double angle = acos(-1.0) * (double)i * ((double)j + 0.5) / (double)n;
            put(t, vectors, i * n + j, sqrt((i == 0 ? 1.0 : 2.0) / (double)n) * cos(angle));
        }
    }
}

/* Sound pairs stand, repeated values too; a wrong number among vectors or values, finite or not, is seen. */
static void test_eigen_check(void **state)
{
    (void)state;
    enum { N = 300 };
    for (int wide = 0; wide < 2; ++wide) {
        const trial t = {.dtype = wide == 1 ? WEFT_DTYPE_F64 : WEFT_DTYPE_F32};
        void *a = room_for(N * N), *vectors = room_for(N * N), *values = room_for(N);
        double work[3 * N];
        const hal_mat all = mat_of(&t, a, N, N), rows = mat_of(&t, vectors, N, N), found = mat_of(&t, values, 1, N);
        write_eigen(&t, N, a, vectors, values);
        assert_true(eigen_stands(&all, &rows, &found, work));
        const double wrong[] = {NAN, INFINITY, 0.1};
        for (int i = 0; i < 3; ++i) {
            put(&t, values, 7, wrong[i]);
            assert_false(eigen_stands(&all, &rows, &found, work));
            put(&t, values, 7, 2.0);
            put(&t, vectors, 11 * N + 5, wrong[i] + 1.0);
            assert_false(eigen_stands(&all, &rows, &found, work));
            write_eigen(&t, N, a, vectors, values);
        }
        free(a);
        free(vectors);
        free(values);
    }
}

/* lapack_get decides once a process. */
static int run_with(const char *wish)
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        (void)setenv("WEFT_LAPACK", wish, 1);
        struct CMUnitTest tests[] = {cmocka_unit_test(test_cpu),
                                     cmocka_unit_test(test_threads),
                                     cmocka_unit_test(test_description),
                                     cmocka_unit_test(test_ref),
                                     cmocka_unit_test(test_long_histogram),
                                     cmocka_unit_test(test_grouped_patches),
                                     cmocka_unit_test(test_gram_bits),
                                     cmocka_unit_test(test_eigen_check)};
        char word[8];
        snprintf(word, sizeof word, "%s", wish);
        tests[2].initial_state = word;
        const int failed = cmocka_run_group_tests(tests, NULL, NULL);
        exit(failed > 0 ? 1 : 0);
    }
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

int main(void)
{
    return run_with("on") + run_with("off") + run_with("wrong");
}

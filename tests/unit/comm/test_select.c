/*
 * Top-k selection against its definitions: a sort for the exact method, a plain transcription of the paper for MSTopK,
 * the threshold rule for reuse, on random and adversarial vectors.
 */
#include <math.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "comm/sparse/select.h"
#include "support/test.h"

enum { TEAM = TEST_RACES ? 1 : 3 }; /* the OpenMP runtime is not built with the sanitizer */
enum { KINDS = 10, CASES = 1000, SAMPLINGS = 30 };

static uint64_t random_state = 88172645463325252u;

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static double random_unit(void)
{
    return ((double)(random_next() >> 11) + 0.5) * 0x1.0p-53;
}

static float random_normal(void)
{
    return (float)(sqrt(-2.0 * log(random_unit())) * cos(6.283185307179586 * random_unit()));
}

static void fill(float *x, int64_t n, int kind)
{
    for (int64_t i = 0; i < n; ++i) {
        float g = random_normal();
        switch (kind) {
        case 0:
            x[i] = g;
            break;
        case 1: /* many ties */
            x[i] = (float)((int)(random_next() % 7) - 3);
            break;
        case 2: /* constant, with both signs */
            x[i] = i % 3 == 0 ? -0.1f : 0.1f;
            break;
        case 3:
            x[i] = i % 2 == 0 ? 0.0f : -0.0f;
            break;
        case 4: /* denormals */
            x[i] = g * 0x1.0p-140f;
            break;
        case 5: /* one huge */
            x[i] = i == n / 2 ? 3e38f : g * 1e-3f;
            break;
        case 6: /* heavy tails */
            x[i] = g * expf(6.0f * random_normal());
            break;
        case 7: /* sparse */
            x[i] = random_next() % 50 == 0 ? g : 0.0f;
            break;
        case 8: /* rising: what a sample sees depends on where it looks */
            x[i] = (float)i * 1e-3f;
            break;
        default: /* periodic */
            x[i] = i % 64 == 0 ? 5.0f + g : 0.01f * g;
            break;
        }
    }
}

/* ---- the exact method ------------------------------------------------------------------------------------ */
typedef struct ranked {
    float magnitude;
    int32_t index;
} ranked;

static int by_rank(const void *a, const void *b)
{
    const ranked *x = a;
    const ranked *y = b;
    if (x->magnitude != y->magnitude) {
        return x->magnitude > y->magnitude ? -1 : 1;
    }
    return (x->index > y->index) - (x->index < y->index);
}

/* taken[i]: whether i is among the k largest, ties by lowest index. */
static void exact_definition(const float *x, int64_t n, int64_t k, bool *taken)
{
    ranked *r = malloc((size_t)n * sizeof *r + 1);
    for (int64_t i = 0; i < n; ++i) {
        r[i] = (ranked){fabsf(x[i]), (int32_t)i};
        taken[i] = false;
    }
    qsort(r, (size_t)n, sizeof *r, by_rank);
    for (int64_t i = 0; i < k; ++i) {
        taken[r[i].index] = true;
    }
    free(r);
}

static void check_well_formed(const float *x, int64_t n, const int32_t *index, const float *value, int64_t found)
{
    for (int64_t i = 0; i < found; ++i) {
        assert_true(index[i] >= 0 && index[i] < n);
        assert_true(i == 0 || index[i] > index[i - 1]);
        assert_memory_equal(&value[i], &x[index[i]], sizeof *value);
    }
}

/* ---- MSTopK as the paper has it -------------------------------------------------------------------------- */
static int64_t reaching(const float *x, int64_t n, float t)
{
    int64_t c = 0;
    for (int64_t i = 0; i < n; ++i) {
        c += fabsf(x[i]) >= t;
    }
    return c;
}

/* S1 and S2; the random start is free: the caller recovers it from what was selected. */
static void mstopk_definition(const float *x, int64_t n, int64_t k, int samplings, float *t1, float *t2)
{
    double mu = 0.0;
    float top = 0.0f;
    for (int64_t i = 0; i < n; ++i) {
        mu += fabs((double)x[i]) / (double)n;
        top = fmaxf(top, fabsf(x[i]));
    }
    double base = reaching(x, n, (float)mu) > k ? mu : 0.0;
    double lo = 0.0;
    double hi = 1.0;
    int64_t k1 = 0;
    int64_t k2 = n;
    *t1 = INFINITY;
    *t2 = 0.0f;
    for (int i = 0; i < samplings; ++i) {
        double r = (lo + hi) / 2.0;
        float t = (float)(base + r * ((double)top - base));
        int64_t c = reaching(x, n, t);
        if (c <= k) {
            hi = r;
            if (c > k1) {
                k1 = c;
                *t1 = t;
            }
        } else {
            lo = r;
            if (c < k2) {
                k2 = c;
                *t2 = t;
            }
        }
    }
}

/* index == S1 and one contiguous run of S2. Returns where the run starts. */
static int64_t check_mstopk(const float *x, int64_t n, int64_t k, int samplings, const int32_t *index)
{
    float t1 = 0.0f;
    float t2 = 0.0f;
    int64_t taken = 0;
    int64_t band = 0;
    int64_t start = -1;
    int64_t stop = -1;
    mstopk_definition(x, n, k, samplings, &t1, &t2);
    for (int64_t i = 0; i < n; ++i) {
        bool is_taken = taken < k && index[taken] == i;
        taken += is_taken;
        if (fabsf(x[i]) >= t1) {
            assert_true(is_taken);
        } else if (fabsf(x[i]) >= t2) {
            if (is_taken) {
                start = start < 0 ? band : start;
                assert_true(stop < 0 || stop == band);
                stop = band + 1;
            }
            ++band;
        } else {
            assert_false(is_taken);
        }
    }
    assert_int_equal(taken, k);
    return start;
}

/* ---- 1,000 vectors --------------------------------------------------------------------------------------- */
static int64_t length_of(int c)
{
    if (c % 100 == 99) {
        return 66000 + (int64_t)(random_next() % 4000);
    }
    if (c % 20 == 19) {
        return 8000 + (int64_t)(random_next() % 9000);
    }
    return 1 + (int64_t)(random_next() % 300);
}

static int64_t k_of(int c, int64_t n)
{
    switch (c % 5) {
    case 0:
        return n / 100;
    case 1:
        return (int64_t)(random_next() % (uint64_t)(n + 1));
    case 2:
        return n / 1000 < 1 ? 1 : n / 1000;
    case 3:
        return c % 3 == 0 ? 0 : n;
    default:
        return n < 2 ? n : 1 + n / 3;
    }
}

static void run_cases(select_method method, int threads)
{
    enum { MOST = 70000 };
    select_options options = {method, SAMPLINGS, 32, 7, threads};
    selector *s = NULL;
    float *x = malloc(MOST * sizeof *x);
    float *value = malloc(MOST * sizeof *value);
    int32_t *index = malloc(MOST * sizeof *index);
    bool *taken = malloc(MOST * sizeof *taken);
    ASSERT_OK(selector_create(&options, MOST, &s));
    for (int c = 0; c < CASES; ++c) {
        int64_t n = length_of(c);
        int64_t k = k_of(c, n);
        int64_t found = -1;
        if (threads > 1 && n < 1 << 16) {
            continue; /* one thread does the short ones */
        }
        fill(x, n, (c / 5) % KINDS);
        memset(index, 0xff, (size_t)n * sizeof *index);
        uint64_t before = weft_mem_usage_total().allocations;
        ASSERT_OK(selector_run(s, x, n, k, k, index, value, &found));
        assert_int_equal(weft_mem_usage_total().allocations, before);
        assert_int_equal(found, k);
        check_well_formed(x, n, index, value, found);
        if (method == SELECT_MSTOPK) {
            if (k > 0 && k < n) {
                check_mstopk(x, n, k, SAMPLINGS, index);
            }
            continue;
        }
        exact_definition(x, n, k, taken);
        for (int64_t i = 0; i < k; ++i) {
            assert_true(taken[index[i]]);
        }
    }
    selector_destroy(s);
    free(x);
    free(value);
    free(index);
    free(taken);
}

static void test_radix(void **state)
{
    (void)state;
    run_cases(SELECT_RADIX, 1);
    run_cases(SELECT_RADIX, TEAM);
}

/* Long enough for threads to narrow the candidates together. */
static void test_radix_long(void **state)
{
    (void)state;
    enum { N = 300000, K = 18000 };
    static const int kinds[] = {0, 6, 8};
    float *x = malloc(N * sizeof *x);
    float *value = malloc(K * sizeof *value);
    int32_t *index = malloc(K * sizeof *index);
    bool *taken = malloc(N * sizeof *taken);
    for (int threads = 1; threads <= TEAM; threads += 2) {
        select_options options = {SELECT_RADIX, 1, 32, 7, threads};
        selector *s = NULL;
        ASSERT_OK(selector_create(&options, N, &s));
        for (int c = 0; c < 3; ++c) {
            int64_t found = 0;
            fill(x, N, kinds[c]);
            for (int i = 0; i < N && c == 1; i += 3) {
                x[i] = 2.0f; /* ties on the threshold, spread over the parts */
            }
            ASSERT_OK(selector_run(s, x, N, K, K, index, value, &found));
            assert_int_equal(found, K);
            check_well_formed(x, N, index, value, found);
            exact_definition(x, N, K, taken);
            for (int i = 0; i < K; ++i) {
                assert_true(taken[index[i]]);
            }
        }
        selector_destroy(s);
    }
    free(x);
    free(value);
    free(index);
    free(taken);
}

static void test_mstopk(void **state)
{
    (void)state;
    run_cases(SELECT_MSTOPK, 1);
    run_cases(SELECT_MSTOPK, TEAM);
}

/* On a constant vector everything is one band: every start in [0, n - k] must be possible, and none beyond. */
static void test_mstopk_starts(void **state)
{
    (void)state;
    enum { N = 5, K = 3, CALLS = 200 };
    select_options options = {SELECT_MSTOPK, SAMPLINGS, 32, 11, 1};
    selector *s = NULL;
    float x[N] = {0.3f, 0.3f, -0.3f, 0.3f, 0.3f};
    int seen[N] = {0};
    int64_t starts[2][CALLS];
    for (int round = 0; round < 2; ++round) {
        ASSERT_OK(selector_create(&options, N, &s));
        for (int c = 0; c < CALLS; ++c) {
            int32_t index[K];
            float value[K];
            int64_t found = 0;
            ASSERT_OK(selector_run(s, x, N, K, K, index, value, &found));
            int64_t start = check_mstopk(x, N, K, SAMPLINGS, index);
            assert_true(start >= 0 && start <= N - K);
            ++seen[start];
            starts[round][c] = start;
        }
        selector_destroy(s);
    }
    assert_true(seen[0] > 60 && seen[1] > 60 && seen[2] > 60);   /* of 400, a third each */
    assert_memory_equal(starts[0], starts[1], sizeof starts[0]); /* the seed decides */
}

/* ---- what is not finite ---------------------------------------------------------------------------------- */
static void test_not_finite(void **state)
{
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    static const select_method methods[] = {SELECT_RADIX, SELECT_MSTOPK, SELECT_REUSE};
    enum { MOST = 100000 };
    float *x = malloc(MOST * sizeof *x);
    float *value = malloc(MOST * sizeof *value);
    int32_t *index = malloc(MOST * sizeof *index);
    for (int m = 0; m < 3; ++m) {
        select_options options = {methods[m], 10, 32, 1, TEAM};
        selector *s = NULL;
        ASSERT_OK(selector_create(&options, MOST, &s));
        for (int c = 0; c < 48; ++c) {
            int64_t n = c % 2 == 0 ? 50 : MOST;
            const int64_t ks[] = {0, 1, n / 100, n / 2, n};
            int64_t at = (int64_t)(random_next() % (uint64_t)n);
            int64_t found = 0;
            fill(x, n, c % KINDS);
            if (c % 3 == 0) { /* a threshold to reuse */
                ASSERT_OK(selector_run(s, x, n, ks[c % 5], n, index, value, &found));
            }
            x[n - 1] = NAN;
            x[at] = bad[c % 3];
            char text[32];
            snprintf(text, sizeof text, "element %d ", (int)at);
            ASSERT_STATUS(selector_run(s, x, n, ks[c % 5], n, index, value, &found), WEFT_ERR_DIVERGED);
            ASSERT_MESSAGE(text);
            assert_int_equal(found, 0);
        }
        selector_destroy(s);
    }
    free(x);
    free(value);
    free(index);
}

/* ---- reuse ----------------------------------------------------------------------------------------------- */

/* The rule in plain words, over drifting vectors; the state of a second selector is restored half-way. */
static void test_reuse(void **state)
{
    (void)state;
    enum { N = 100000, K = 700, CAPACITY = 900, REFRESH = 8, CALLS = 40 };
    select_options options = {SELECT_REUSE, 1, REFRESH, 1, TEAM};
    selector *s[2] = {NULL, NULL};
    float *x = malloc(N * sizeof *x);
    float value[2][CAPACITY];
    int32_t index[2][CAPACITY];
    bool *taken = malloc(N * sizeof *taken);
    float threshold = 0.0f;
    int inexact = 0;
    ASSERT_OK(selector_create(&options, N, &s[0]));
    ASSERT_OK(selector_create(&options, N, &s[1]));
    for (int c = 0; c < CALLS; ++c) {
        int64_t found[2] = {0, 0};
        fill(x, N, 0);
        float scale = 1.0f + 0.15f * sinf((float)c);
        for (int i = 0; i < N; ++i) {
            x[i] *= scale;
        }
        ASSERT_OK(selector_run(s[0], x, N, K, CAPACITY, index[0], value[0], &found[0]));
        check_well_formed(x, N, index[0], value[0], found[0]);
        if (c % REFRESH == 0) {
            assert_int_equal(found[0], K);
            exact_definition(x, N, K, taken);
            threshold = INFINITY;
            for (int i = 0; i < K; ++i) {
                assert_true(taken[index[0][i]]);
                threshold = fminf(threshold, fabsf(value[0][i]));
            }
        } else {
            int64_t reached = reaching(x, N, threshold);
            assert_int_equal(found[0], reached < CAPACITY ? reached : CAPACITY);
            for (int64_t i = 0; i < found[0]; ++i) {
                assert_true(fabsf(value[0][i]) >= threshold);
            }
            threshold = 4 * reached > 5 * K ? threshold * 1.012f : 3 * reached < 2 * K ? threshold / 1.012f : threshold;
            inexact += reached != K;
        }
        if (c == 12) {
            int64_t bytes[2] = {0, 0};
            void *from = selector_state(s[0], &bytes[0]);
            void *to = selector_state(s[1], &bytes[1]);
            assert_int_equal(bytes[0], bytes[1]);
            memcpy(to, from, (size_t)bytes[0]);
        } else if (c > 12) {
            ASSERT_OK(selector_run(s[1], x, N, K, CAPACITY, index[1], value[1], &found[1]));
            assert_int_equal(found[1], found[0]);
            assert_memory_equal(index[1], index[0], (size_t)found[0] * sizeof(int32_t));
        }
    }
    assert_true(inexact > CALLS / 2); /* the threshold really was reused */
    selector_destroy(s[0]);
    selector_destroy(s[1]);
    free(x);
    free(taken);
}

/* More reach the threshold than fit into one thread's candidates. */
static void test_reuse_flood(void **state)
{
    (void)state;
    enum { N = 200000, K = 100, CAPACITY = 150 };
    select_options options = {SELECT_REUSE, 1, 1000, 1, TEAM};
    selector *s = NULL;
    float *x = malloc(N * sizeof *x);
    float value[CAPACITY];
    int32_t index[CAPACITY];
    int64_t found = 0;
    ASSERT_OK(selector_create(&options, N, &s));
    fill(x, N, 0);
    ASSERT_OK(selector_run(s, x, N, K, CAPACITY, index, value, &found));
    for (int i = 0; i < N; ++i) {
        x[i] = i < 10 ? 0.0f : 1000.0f;
    }
    ASSERT_OK(selector_run(s, x, N, K, CAPACITY, index, value, &found));
    assert_int_equal(found, CAPACITY);
    for (int i = 0; i < CAPACITY; ++i) {
        assert_int_equal(index[i], i + 10);
    }
    x[N - 1] = NAN;
    ASSERT_STATUS(selector_run(s, x, N, K, CAPACITY, index, value, &found), WEFT_ERR_DIVERGED);
    selector_destroy(s);
    free(x);
}

static void test_refused(void **state)
{
    (void)state;
    select_options options = {SELECT_RADIX, 30, 32, 0, 1};
    selector *s = NULL;
    float x[4] = {1.0f, 2.0f, 3.0f, 4.0f};
    float value[4];
    int32_t index[4];
    int64_t found = 0;
    ASSERT_STATUS(selector_create(&options, (int64_t)1 << 31, &s), WEFT_ERR_UNSUPPORTED);
    options.threads = 0;
    ASSERT_STATUS(selector_create(&options, 4, &s), WEFT_ERR_USAGE);
    options = (select_options){SELECT_MSTOPK, 0, 32, 0, 1};
    ASSERT_STATUS(selector_create(&options, 4, &s), WEFT_ERR_USAGE);
    options = (select_options){SELECT_REUSE, 30, 0, 0, 1};
    ASSERT_STATUS(selector_create(&options, 4, &s), WEFT_ERR_USAGE);
    options = (select_options){SELECT_RADIX, 30, 32, 0, 1};
    for (int fail = 1; fail <= 6; ++fail) {
        weft_alloc_fail_after(fail);
        ASSERT_STATUS(selector_create(&options, 4, &s), WEFT_ERR_RESOURCE);
    }
    weft_alloc_fail_after(0);
    ASSERT_OK(selector_create(&options, 4, &s));
    ASSERT_STATUS(selector_run(s, x, 5, 1, 1, index, value, &found), WEFT_ERR_INTERNAL);
    ASSERT_STATUS(selector_run(s, x, 4, 5, 5, index, value, &found), WEFT_ERR_INTERNAL);
    ASSERT_STATUS(selector_run(s, x, 4, 2, 1, index, value, &found), WEFT_ERR_INTERNAL);
    ASSERT_OK(selector_run(s, x, 0, 0, 0, index, value, &found));
    assert_int_equal(found, 0);
    selector_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_radix),         cmocka_unit_test(test_radix_long), cmocka_unit_test(test_mstopk),
        cmocka_unit_test(test_mstopk_starts), cmocka_unit_test(test_not_finite), cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_reuse_flood),   cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

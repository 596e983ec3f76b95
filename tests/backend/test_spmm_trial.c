/*
 * backend/test_spmm_trial.c: the choice of a form of aggregation: by figures alone, by trial, and what a trial leaves
 * behind.
 *
 * trees: release
 */
#include <math.h>

#include "backend/spmm_graphs.h"
#include "hal/cpu/sparse/spmm_trial.h"

/* The choice is a function of the figures alone; what is expected wins when it is as good, and where nothing was
 * timed. */
static void test_pick(void **state)
{
    (void)state;
    static const struct {
        double seconds[HAL_SPMM_KINDS], expected[HAL_SPMM_KINDS];
        hal_spmm_form picked;
    } cases[] = {
        {{0, 1.0, 2.0, 3.0}, {0, 5.0, 0, 6.0}, HAL_SPMM_ROWS},
        {{0, 1.0, 2.0, 3.0}, {0, 6.0, 0, 5.0}, HAL_SPMM_ROWS},
        {{0, 3.0, 1.0, 1.5}, {0, 6.0, 0, 5.0}, HAL_SPMM_BLOCKS},
        {{0, 1.04, 2.0, 1.0}, {0, 5.0, 0, 6.0}, HAL_SPMM_ROWS}, /* alike */
        {{0, 1.04, 2.0, 1.0}, {0, 6.0, 0, 5.0}, HAL_SPMM_LISTS},
        {{0, 1.07, 2.0, 1.0}, {0, 5.0, 0, 6.0}, HAL_SPMM_LISTS},
        {{0, 0, 2.0, 3.0}, {0, 5.0, 0, 6.0}, HAL_SPMM_BLOCKS}, /* 0: not tried */
        {{0, 5.0, 0, 0}, {0, 6.0, 0, 5.0}, HAL_SPMM_ROWS},
        {{0, 1.0, 0, 1.04}, {0}, HAL_SPMM_ROWS},                       /* nothing expected */
        {{0, 3.0, 0, 1.04, 1.0}, {0, 6.0, 0, 5.0, 0}, HAL_SPMM_LISTS}, /* alike, and nothing is expected of tiles */
        {{0, 3.0, 0, 1.07, 1.0}, {0, 6.0, 0, 5.0, 0}, HAL_SPMM_TILES},
        {{0}, {0, 6.0, 0, 5.0}, HAL_SPMM_LISTS},
        {{0}, {0}, HAL_SPMM_ROWS}, /* nothing timed, nothing known */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(hal_spmm_pick(cases[i].seconds, cases[i].expected), cases[i].picked);
    }
}

/* By the rule nothing is timed and the answer is the same every time; what is taken is what was picked, and nothing
 * else stays. */
static void test_try(void **state)
{
    (void)state;
    enum { ROWS = 3000, COLS = 4000, DEGREE = 500 }; /* four to eight times what tiles want */
    static int64_t degree[ROWS];
    weft_hal *hal = NULL;
    hal_spmm *spmm = NULL;
    hal_spmm_trial rule, again, timed;
    ASSERT_OK(weft_hal_open("cpu", 1, &hal));
    for (int r = 0; r < ROWS; r++) {
        degree[r] = DEGREE;
    }
    random_state = 7;
    graph g = new_graph("regular", ROWS, COLS, degree);
    const hal_csr csr = {.rows = g.rows, .cols = g.cols, .offset = g.offset, .column = g.column};
    const uint64_t live = weft_mem_usage_total().current_bytes;
    ASSERT_OK(hal->sparse.spmm_try(hal, &csr, &(hal_spmm_request){.max_d = 300, .by_rule = true}, &rule));
    ASSERT_OK(hal->sparse.spmm_try(hal, &csr, &(hal_spmm_request){.max_d = 300, .by_rule = true}, &again));
    assert_memory_equal(&rule, &again, sizeof rule);
    assert_true(rule.expected[HAL_SPMM_ROWS] > 0.0 && rule.expected[HAL_SPMM_LISTS] > 0.0);
    hal_csr narrow = csr;
    narrow.usual_d = 16; /* a narrow strip */
    ASSERT_OK(hal->sparse.spmm_try(hal, &narrow, &(hal_spmm_request){.max_d = 300}, &timed));
    hal_spmm_trial_end(hal, &timed);
    ASSERT_OK(hal->sparse.spmm_try(hal, &csr, &(hal_spmm_request){.max_d = 300}, &timed));
    assert_true(rule.expected[HAL_SPMM_SHARED] == 0.0 &&
                timed.prepared[HAL_SPMM_SHARED] == NULL); /* nothing to share */
    for (int form = HAL_SPMM_ROWS; form < HAL_SPMM_SHARED; form++) {
        assert_true(rule.seconds[form] == 0.0 && rule.prepared[form] == NULL);
        assert_true(timed.seconds[form] > 0.0 && timed.expected[form] == rule.expected[form]);
        assert_int_equal(hal->sparse.spmm_info(hal, timed.prepared[form]).form, form);
    }
    ASSERT_OK(hal_spmm_take(hal, &csr, 300, &timed, HAL_SPMM_LISTS, &spmm));
    assert_int_equal(hal->sparse.spmm_info(hal, spmm).form, HAL_SPMM_LISTS);
    assert_null(timed.prepared[HAL_SPMM_ROWS]);
    hal->sparse.spmm_destroy(hal, spmm);
    ASSERT_OK(hal_spmm_take(hal, &csr, 300, &rule, HAL_SPMM_BLOCKS, &spmm)); /* not prepared: now */
    assert_int_equal(hal->sparse.spmm_info(hal, spmm).form, HAL_SPMM_BLOCKS);
    hal->sparse.spmm_destroy(hal, spmm);
    assert_int_equal(weft_mem_usage_total().current_bytes, live);
    free_graph(&g);
    weft_hal_close(hal);
}

/* Rows that no tile wants leave that form out, at the cost of a look at a sample. */
static void test_no_tiles(void **state)
{
    (void)state;
    enum { ROWS = 3000, COLS = 100000, DEGREE = 100 };
    static int64_t degree[ROWS];
    weft_hal *hal = NULL;
    hal_spmm_trial timed;
    ASSERT_OK(weft_hal_open("cpu", 1, &hal));
    for (int r = 0; r < ROWS; r++) {
        degree[r] = DEGREE;
    }
    random_state = 3;
    graph g = new_graph("no clusters", ROWS, COLS, degree);
    const hal_csr csr = {.rows = g.rows, .cols = g.cols, .offset = g.offset, .column = g.column};
    ASSERT_OK(hal->sparse.spmm_try(hal, &csr, &(hal_spmm_request){.max_d = 16}, &timed));
    assert_true(timed.seconds[HAL_SPMM_ROWS] > 0.0 && timed.seconds[HAL_SPMM_LISTS] > 0.0);
    assert_true(timed.seconds[HAL_SPMM_TILES] == 0.0 && timed.prepared[HAL_SPMM_TILES] == NULL);
    hal_spmm_trial_end(hal, &timed);
    free_graph(&g);
    weft_hal_close(hal);
}

/* Posts that users join are worth sharing: by the rule at once, and measured whole beside the other forms. */
static void test_forum(void **state)
{
    (void)state;
    weft_hal *hal = NULL;
    hal_spmm_trial rule, timed;
    if (HAL_SPMM_SHARED >= kinds_there()) {
        skip();
    }
    ASSERT_OK(weft_hal_open("cpu", 2, &hal));
    random_state = 11;
    graph g = forum_graph("forum", 4000, 1100);
    const hal_csr csr = {.rows = g.rows, .cols = g.cols, .offset = g.offset, .column = g.column};
    const uint64_t live = weft_mem_usage_total().current_bytes;
    assert_true(g.offset[g.rows] > 1 << 18);
    ASSERT_OK(hal->sparse.spmm_try(hal, &csr, &(hal_spmm_request){.max_d = 16, .by_rule = true}, &rule));
    assert_int_equal(hal_spmm_pick(rule.seconds, rule.expected), HAL_SPMM_SHARED);
    ASSERT_OK(hal->sparse.spmm_try(hal, &csr, &(hal_spmm_request){.max_d = 16}, &timed));
    assert_true(timed.seconds[HAL_SPMM_SHARED] > 0.0 && timed.prepared[HAL_SPMM_SHARED] != NULL);
    assert_true(timed.expected[HAL_SPMM_SHARED] == rule.expected[HAL_SPMM_SHARED]);
    hal_spmm_trial_end(hal, &timed);
    assert_int_equal(weft_mem_usage_total().current_bytes, live);
    free_graph(&g);
    weft_hal_close(hal);
}

/* Sums of long rows have room for max_d columns: a trial of a matrix that is narrower than a strip keeps to them. */
static void test_narrow(void **state)
{
    (void)state;
    enum { ROWS = 4000, HUBS = 400, DEGREE = 3000, WIDTH = 2 };
    static int64_t degree[ROWS];
    weft_hal *hal = NULL;
    hal_spmm_trial timed;
    ASSERT_OK(weft_hal_open("cpu", 2, &hal));
    for (int r = 0; r < ROWS; r++) {
        degree[r] = r % (ROWS / HUBS) == 0 ? DEGREE : 4;
    }
    random_state = 5;
    graph g = new_graph("narrow", ROWS, ROWS, degree);
    const hal_csr csr = {.rows = g.rows, .cols = g.cols, .offset = g.offset, .column = g.column};
    const uint64_t live = weft_mem_usage_total().current_bytes;
    ASSERT_OK(hal->sparse.spmm_try(hal, &csr, &(hal_spmm_request){.max_d = WIDTH}, &timed));
    assert_true(timed.seconds[HAL_SPMM_ROWS] > 0.0);
    hal_spmm_trial_end(hal, &timed);
    assert_int_equal(weft_mem_usage_total().current_bytes, live);
    free_graph(&g);
    weft_hal_close(hal);
}

/* The form that it became; its sums are in out. */
static hal_spmm_form sum_by_form(weft_hal *hal, const hal_csr *csr, hal_spmm_form form, const float *x, float *out,
                                 int64_t d)
{
    hal_spmm *spmm = NULL;
    ASSERT_OK(hal->sparse.spmm_create(hal, csr, form, d, &spmm));
    const hal_spmm_form became = hal->sparse.spmm_info(hal, spmm).form;
    const flat_args args = {
        .dtype = WEFT_DTYPE_F32, .rows = csr->rows, .cols = csr->cols, .d = d, .x = x, .ldx = d, .out = out, .ldo = d};
    ASSERT_OK(run_flat(hal, spmm, &args));
    hal->sparse.spmm_destroy(hal, spmm);
    return became;
}

/* Without a sample of its own, tiles are run whole where lists are, and those stay where they are near the quickest. */
static void check_tiles_follow_lists(weft_hal *hal, const hal_csr *csr)
{
    hal_spmm_trial timed;
    ASSERT_OK(hal->sparse.spmm_try(hal, csr, &(hal_spmm_request){.max_d = 16}, &timed));
    assert_true((timed.prepared[HAL_SPMM_TILES] != NULL) == (timed.prepared[HAL_SPMM_LISTS] != NULL));
    assert_true((timed.seconds[HAL_SPMM_TILES] > 0.0) == (timed.prepared[HAL_SPMM_TILES] != NULL));
    double least = timed.seconds[HAL_SPMM_ROWS];
    bool whole = false;
    for (int form = HAL_SPMM_ROWS; form < HAL_SPMM_TILES; form++) {
        least = timed.seconds[form] > 0.0 && timed.seconds[form] < least ? timed.seconds[form] : least;
        whole = whole || timed.prepared[form] != NULL;
    }
    assert_true(whole || timed.seconds[HAL_SPMM_LISTS] > 1.3 * least); /* else the seconds are those of samples */
    hal_spmm_trial_end(hal, &timed);
}

/* Matrices that are tried whole (3e5 edges) and by samples first (9e6): what auto takes is a form, sums rightly and
 * leaks nothing. That it is the quickest is a function of the seconds, above; whether those are right, no busy machine
 * can tell. */
static void test_trial(void **state)
{
    (void)state;
    static const int64_t degrees[] = {60, 1800};
    enum { ROWS = 5000, COLS = 20000, D = 48 };
    weft_hal *hal = NULL;
    assert_true(ROWS * degrees[0] <= SPMM_WHOLE_EDGES && ROWS * degrees[1] > SPMM_WHOLE_EDGES);
    ASSERT_OK(weft_hal_open("cpu", 1, &hal));
    for (size_t c = 0; c < 2; c++) {
        static int64_t degree[ROWS];
        for (int r = 0; r < ROWS; r++) {
            degree[r] = degrees[c];
        }
        random_state = 99;
        graph g = new_graph("regular", ROWS, COLS, degree);
        const hal_csr csr = {.rows = g.rows, .cols = g.cols, .offset = g.offset, .column = g.column};
        float *x = random_floats((size_t)COLS * D);
        float *out = random_floats((size_t)ROWS * D);
        const uint64_t live = weft_mem_usage_total().current_bytes;
        for (int form = HAL_SPMM_ROWS; form < kinds_there(); form++) {
            assert_int_equal(sum_by_form(hal, &csr, (hal_spmm_form)form, x, out, D), form);
        }
        memset(out, 0xff, sizeof(float) * ROWS * D);
        assert_int_not_equal(sum_by_form(hal, &csr, HAL_SPMM_AUTO, x, out, D), HAL_SPMM_AUTO);
        if (c == 1) {
            check_tiles_follow_lists(hal, &csr);
        }
        for (int64_t r = 0; r < ROWS; r += 499) {
            for (int64_t j = 0; j < D; j += 7) {
                double want = 0.0;
                double scale = 0.0;
                for (int64_t e = g.offset[r]; e < g.offset[r + 1]; e++) {
                    want += (double)x[(int64_t)g.column[e] * D + j];
                    scale += fabs((double)x[(int64_t)g.column[e] * D + j]);
                }
                assert_true(fabs((double)out[r * D + j] - want) <= 1e-6 * scale);
            }
        }
        assert_int_equal(weft_mem_usage_total().current_bytes, live);
        weft_free(x);
        weft_free(out);
        free_graph(&g);
    }
    weft_hal_close(hal);
}

/* The allocations of a trial fail one after the other: an error, no leak. */
static void test_trial_allocation_failures(void **state)
{
    (void)state;
    enum { ROWS = 300, COLS = 9000, DEGREE = 900 };
    static int64_t degree[ROWS];
    weft_hal *hal = NULL;
    ASSERT_OK(weft_hal_open("cpu", 1, &hal));
    for (int r = 0; r < ROWS; r++) {
        degree[r] = DEGREE;
    }
    random_state = 5;
    graph g = new_graph("regular", ROWS, COLS, degree);
    const hal_csr csr = {.rows = g.rows, .cols = g.cols, .offset = g.offset, .column = g.column};
    const uint64_t live = weft_mem_usage_total().current_bytes;
    bool done = false;
    for (uint64_t n = 1; !done; n++) {
        hal_spmm *spmm = NULL;
        weft_alloc_fail_after(n);
        weft_status status = hal->sparse.spmm_create(hal, &csr, HAL_SPMM_AUTO, 16, &spmm);
        weft_alloc_fail_after(0);
        done = status == WEFT_OK;
        assert_true(done ? n > 10 : status == WEFT_ERR_RESOURCE && spmm == NULL);
        if (done) {
            hal->sparse.spmm_destroy(hal, spmm);
        }
        assert_int_equal(weft_mem_usage_total().current_bytes, live);
    }
    free_graph(&g);
    weft_hal_close(hal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pick),
                                       cmocka_unit_test(test_try),
                                       cmocka_unit_test(test_no_tiles),
                                       cmocka_unit_test(test_forum),
                                       cmocka_unit_test(test_narrow),
                                       cmocka_unit_test(test_trial),
                                       cmocka_unit_test(test_trial_allocation_failures)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

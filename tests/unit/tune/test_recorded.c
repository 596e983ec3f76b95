/*
 * timeout: 600
 * Searches of recorded tables ($WEFT_SHARED/data/hpo): random search against its closed form, searchers against what
 * random search reaches; and a table that is made here, also damaged.
 */
#include <math.h>

#include "base/file.h"
#include "io/npy.h"
#include "support/folder.h"
#include "support/test.h"
#include "tune/recorded/study.h"

static const char *const names[] = {"hpolib-naval_propulsion",
                                    "hpolib-parkinsons_telemonitoring",
                                    "hpolib-protein_structure",
                                    "hpolib-slice_localization",
                                    "hpobench-credit_g",
                                    "hpobench-kc1",
                                    "hpobench-phoneme",
                                    "hpobench-vehicle",
                                    "hpobench-australian",
                                    "hpobench-blood_transfusion",
                                    "hpobench-car",
                                    "hpobench-segment",
                                    "nasbench201-cifar10",
                                    "nasbench201-cifar100",
                                    "nasbench201-imagenet"};

/* The table, or false where the data are not. */
static bool open_table(const char *name, recorded_table *table)
{
    char path[FILE_PATH_MAX];
    const char *shared = getenv("WEFT_SHARED");
    if (shared == NULL || file_path(path, "%s/data/hpo/%s.npz", shared, name) != WEFT_OK || !file_exists(path)) {
        return false;
    }
    ASSERT_OK(recorded_open(path, table));
    return true;
}

/* The mean regret of `searches` searches. */
static void search(const recorded_table *table, searcher_desc desc, recorded_scores scores, int searches, double *mean)
{
    *mean = 0.0;
    for (int i = 0; i < searches; i++) {
        recorded_study study;
        desc.seed = 500 + (uint64_t)i;
        ASSERT_OK(recorded_search(table, &desc, scores, &study));
        assert_int_equal(study.trials, desc.trials);
        *mean += study.regret / searches;
    }
}

static void test_random_search_has_the_regret_of_its_closed_form(void **state)
{
    (void)state;
    enum { SEARCHES = 100 };
    recorded_table table;
    for (size_t t = 0; t < sizeof names / sizeof *names; t++) {
        if (!open_table(names[t], &table)) {
            skip();
        }
        for (int64_t trials = 10; trials <= 100; trials *= 10) {
            double expected, deviation, mean;
            ASSERT_OK(recorded_random(&table, trials, &expected, &deviation));
            search(&table, (searcher_desc){.kind = SEARCHER_RANDOM, .trials = trials}, RECORDED_MEANS, SEARCHES, &mean);
            ASSERT_NEAR(mean, expected, 3.0 * deviation / sqrt((double)SEARCHES));
        }
        recorded_close(&table);
    }
}

/* Published: random search's regret after 100 trials, to three digits. */
static void test_closed_form_is_that_of_the_reference(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double regret;
    } known[] = {{"hpolib-naval_propulsion", 0.160}, {"hpobench-credit_g", 0.092}, {"nasbench201-cifar100", 0.247}};
    recorded_table table;
    double regret, deviation;
    for (size_t t = 0; t < sizeof known / sizeof *known; t++) {
        if (!open_table(known[t].name, &table)) {
            skip();
        }
        ASSERT_OK(recorded_random(&table, 100, &regret, &deviation));
        ASSERT_NEAR(regret, known[t].regret, 0.0006);
        recorded_close(&table);
    }
}

static void test_models_search_better_than_chance(void **state)
{
    (void)state;
    recorded_table table;
    double chance, deviation, tpe, gp;
    if (!open_table("hpolib-protein_structure", &table)) {
        skip();
    }
    ASSERT_OK(recorded_random(&table, 60, &chance, &deviation));
    search(&table, (searcher_desc){.kind = SEARCHER_TPE, .trials = 60}, RECORDED_RUNS, 6, &tpe);
    search(&table, (searcher_desc){.kind = SEARCHER_GP, .trials = 60, .repeats = 0.1}, RECORDED_RUNS, 4, &gp);
    assert_true(tpe < 0.7 * chance);
    assert_true(gp < 0.4 * chance);
    recorded_close(&table);
}

/* ---- a table that is made here -------------------------------------------------------------------------------- */

enum { A = 4, B = 3, SEEDS = 2 };

static void *folder; /* of the tables that are made */

static int begin(void **state)
{
    (void)state;
    return folder_setup(&folder);
}

static int clean(void **state)
{
    (void)state;
    return folder_teardown(&folder);
}

static void write_table(const char *spaces, const float *scores, int dims, char path[FILE_PATH_MAX])
{
    const int64_t shape[] = {A, B, SEEDS};
    npz_writer *writer = NULL;
    file_writer text;
    char beside[FILE_PATH_MAX];
    ASSERT_OK(file_path(path, "%s/made.npz", (const char *)folder));
    ASSERT_OK(file_path(beside, "%s/spaces.json", (const char *)folder));
    ASSERT_OK(npz_writer_open(path, &writer));
    ASSERT_OK(npz_writer_add(writer, "val", 'f', 4, dims, dims == 3 ? shape : (const int64_t[]){A, B * SEEDS}, scores));
    ASSERT_OK(npz_writer_commit(writer));
    ASSERT_OK(file_writer_open(beside, &text));
    ASSERT_OK(file_write(&text, spaces, strlen(spaces)));
    ASSERT_OK(file_writer_commit(&text));
}

#define SPACES(direction, b)                                                                                           \
    "{\"made\": {\"direction\": \"" direction "\", \"space\": {\"a\": [1, 10, 100, 1000], \"b\": " b "}}}"
static const char good[] = SPACES("minimize", "[\"x\", \"y\", \"z\"]");

static void fill_scores(float *score)
{
    for (int i = 0; i < A * B * SEEDS; i++) {
        score[i] = (float)pow(10.0, (i / SEEDS * 5) % (A * B) + (i % SEEDS ? 0.25 : -0.25));
    }
    score[1] = (float)NAN; /* cell 0 has one run */
}

static void test_means_and_draws_leave_out_what_was_not_run(void **state)
{
    (void)state;
    float score[A * B * SEEDS];
    char path[FILE_PATH_MAX];
    recorded_table table;
    fill_scores(score);
    write_table(good, score, 3, path);
    ASSERT_OK(recorded_open(path, &table));
    assert_int_equal(table.cells, A * B);
    assert_true(table.space.dimension[0].ordered && !table.space.dimension[1].ordered);
    ASSERT_NEAR(table.mean[0], -0.25, 1e-6);
    ASSERT_NEAR(table.mean[5], 1.0, 1e-6);
    assert_int_equal(recorded_cell(&table, (double[]){2.0, 1.0}), 7);
    ASSERT_NEAR(table.best, -0.25, 1e-6);
    ASSERT_NEAR(table.median, 5.5, 1e-6);
    ASSERT_NEAR(recorded_regret(&table, 5), 1.25 / 5.75, 1e-6);
    for (uint32_t i = 0; i < 16; i++) {
        ASSERT_NEAR(recorded_draw(&table, 0, i << 28, 0), -0.25, 1e-6);
        ASSERT_NEAR(recorded_draw(&table, 5, i << 28, 0), i < 8 ? 0.75 : 1.25, 1e-6);
    }
    recorded_close(&table);
}

/* By enumeration of all pairs of cells: two draws. */
static void test_closed_form_is_the_enumeration(void **state)
{
    (void)state;
    float score[A * B * SEEDS];
    char path[FILE_PATH_MAX];
    recorded_table table;
    double sum = 0.0, square = 0.0, mean, deviation;
    fill_scores(score);
    write_table(good, score, 3, path);
    ASSERT_OK(recorded_open(path, &table));
    for (int i = 0; i < A * B; i++) {
        for (int k = 0; k < A * B; k++) {
            const double best = fmin(recorded_regret(&table, i), recorded_regret(&table, k));
            sum += best / (A * B * A * B);
            square += best * best / (A * B * A * B);
        }
    }
    ASSERT_OK(recorded_random(&table, 2, &mean, &deviation));
    ASSERT_NEAR(mean, sum, 1e-12);
    ASSERT_NEAR(deviation, sqrt(square - sum * sum), 1e-12);
    recorded_close(&table);
}

static void test_damaged_tables_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *spaces, *message;
    } cases[] = {
        {"{}", "no \"space\" of a table \"made\""},
        {SPACES("sideways", "[\"x\", \"y\", \"z\"]"), "it is minimize or maximize"},
        {SPACES("minimize", "[\"x\", \"y\"]"), "\"b\" of spaces.json has 2 values"},
        {SPACES("minimize", "[\"x\", \"x\", \"z\"]"), "the choice x stands twice"},
        {SPACES("minimize", "[\"x\", null, \"z\"]"), "value 2 is neither a number nor a text"},
        {SPACES("minimize", "7"), "is not a list of values"},
    };
    float score[A * B * SEEDS];
    char path[FILE_PATH_MAX];
    recorded_table table;
    fill_scores(score);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_table(cases[i].spaces, score, 3, path);
        assert_int_not_equal(recorded_open(path, &table), WEFT_OK);
        ASSERT_MESSAGE(cases[i].message);
    }
    write_table(good, score, 2, path);
    ASSERT_STATUS(recorded_open(path, &table), WEFT_ERR_DATA);
    ASSERT_MESSAGE("val has 2 axes");
    score[4] = -1.0f;
    write_table(good, score, 3, path);
    ASSERT_STATUS(recorded_open(path, &table), WEFT_ERR_DATA);
    ASSERT_MESSAGE("cell 2, seed 0");
    score[4] = score[5] = (float)NAN;
    write_table(good, score, 3, path);
    ASSERT_STATUS(recorded_open(path, &table), WEFT_ERR_DATA);
    ASSERT_MESSAGE("cell 2 has no score");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_search_has_the_regret_of_its_closed_form),
        cmocka_unit_test(test_closed_form_is_that_of_the_reference),
        cmocka_unit_test(test_models_search_better_than_chance),
        cmocka_unit_test(test_means_and_draws_leave_out_what_was_not_run),
        cmocka_unit_test(test_closed_form_is_the_enumeration),
        cmocka_unit_test(test_damaged_tables_are_refused),
    };
    return cmocka_run_group_tests(tests, begin, clean);
}

/* Losses of 50 steps on 1, 2, 3, 4 and 8 ranks, in every mode of rows of embeddings and with a mode for each field, are
 * within 1e-5 of one rank's, and the same bits twice. Modes that add gradients in the order of ranks have equal bits.
 * trees: release asan */
#include "support/click_bench.h"

enum { LONG = 50, WIDE = 8, FIELDS = 4, BY_FIELD = EMBED_MODES_COUNT };

typedef struct mode_run {
    click_kind kind;
    int mode; /* BY_FIELD: fields differ */
    double loss[LONG];
} mode_run;

static weft_status mode_rank(weft_comm *comm, void *argument)
{
    mode_run *run = argument;
    const train_schedule schedule = {.kind = SCHEDULE_CONSTANT, .base = 0.1, .epochs = 1};
    click_model_desc desc = small_desc(run->kind);
    embed_desc rows;
    const uint8_t last = click_model_width(run->kind, WIDE) > 0 ? EMBED_COLUMNS : EMBED_REPLICATE;
    const uint8_t mode_of[FIELDS] = {EMBED_DES, EMBED_REPLICATE, EMBED_ALL_TO_ALL, last};
    bench b;
    stream s;
    desc.schedule = &schedule;
    desc.width = click_model_width(run->kind, WIDE);
    desc.sums = run->mode == EMBED_DES;
    rows = bench_rows(&desc, 0.3);
    rows.mode = run->mode == BY_FIELD ? EMBED_ALL_TO_ALL : (embed_mode)run->mode;
    rows.mode_of = run->mode == BY_FIELD ? mode_of : NULL;
    comm_set_stall_timeout(comm, 120);
    WEFT_TRY(bench_open_rows(&b, comm, "cpu", 1, &desc, &rows));
    for (int step = 0; step < LONG; ++step) {
        double loss = 0.0;
        WEFT_TRY(rank_step(&b, &s, step, &loss));
        if (comm_rank(comm) == 0) {
            run->loss[step] = loss;
        }
    }
    bench_close(&b);
    return WEFT_OK;
}

static mode_run run_mode(int ranks, click_kind kind, int mode)
{
    mode_run run = {.kind = kind, .mode = mode};
    ASSERT_OK(comm_thread_run(ranks, mode_rank, &run));
    return run;
}

/* Against one rank's. */
static mode_run check_mode(int ranks, int mode, const mode_run *one)
{
    const mode_run run = run_mode(ranks, one->kind, mode);
    for (int step = 0; step < LONG; ++step) {
        ASSERT_NEAR(run.loss[step], one->loss[step], 1e-5);
    }
    return run;
}

static void any_number_of_ranks(void **state)
{
    (void)state;
    static const int ranks[] = {1, 2, 3, 4, 8};
    const mode_run one = run_mode(1, CLICK_DEEPFM, EMBED_ALL_TO_ALL);
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i += 1 + TEST_SANITIZED) {
        mode_run run[BY_FIELD + 1];
        for (int m = 0; m <= BY_FIELD; ++m) {
            run[m] = check_mode(ranks[i], m, &one);
            if (ranks[i] == 2) {
                const mode_run again = run_mode(ranks[i], CLICK_DEEPFM, m);
                assert_memory_equal(again.loss, run[m].loss, sizeof again.loss);
            }
        }
        assert_memory_equal(run[EMBED_REPLICATE].loss, run[EMBED_ALL_TO_ALL].loss, sizeof one.loss);
    }
}

/* Of models whose samples' sums travel in mode des. */
static void sums_of_samples(void **state)
{
    (void)state;
    static const click_kind kinds[] = {CLICK_LR, CLICK_FM};
    for (int k = 0; k < 2; ++k) {
        const mode_run one = run_mode(1, kinds[k], EMBED_ALL_TO_ALL);
        (void)check_mode(2 + k, EMBED_DES, &one);
        (void)check_mode(8 - 4 * k, EMBED_DES, &one);
        (void)check_mode(3 - k, BY_FIELD, &one);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_number_of_ranks), cmocka_unit_test(sums_of_samples)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Training in minibatches that stops within an epoch, again and again, ends with the bits of one that did not, whatever
 * its ranks keep of their own; and which checkpoints stopping leaves.
 * processors: one
 */
#include "base/log.h"
#include "support/batch_job.h"
#include "support/folder.h"

/* Start after start until the training is complete. */
static void train_in_pieces(batch_case *c)
{
    weft_status status = WEFT_STOPPED;
    while (status == WEFT_STOPPED) {
        memset(c->steps_here, 0, sizeof c->steps_here);
        c->starts += 1;
        status = comm_thread_run(c->ranks, start_rank, c);
        checkpoint_close(c->from);
        c->from = NULL;
        if (status == WEFT_STOPPED) {
            ASSERT_OK(checkpoint_open(c->folder, &c->from));
            c->stopped_within += checkpoint_progress(c->from)->step > 0;
        }
        assert_true(c->starts <= EPOCHS * MOST_STEPS);
    }
    if (status != WEFT_OK) {
        fail_msg("%d ranks, stopped after %lld steps: %s", c->ranks, (long long)c->stop_after, weft_error_message());
    }
}

static void goes_on_to_the_bit(void **state, const batch_case *base, int64_t stop_after)
{
    batch_case *whole = malloc(sizeof *whole);
    batch_case *pieces = malloc(sizeof *pieces);
    *whole = *base;
    *pieces = *base;
    pieces->folder = in_folder(state, "ckpt");
    pieces->stop_after = stop_after;
    train_in_pieces(whole);
    train_in_pieces(pieces);
    assert_int_equal(whole->starts, 1);
    assert_true(pieces->stopped_within > 0);
    assert_memory_equal(pieces->value, whole->value, sizeof whole->value);
    assert_memory_equal(pieces->loss, whole->loss, sizeof whole->loss);
    assert_memory_equal(pieces->score, whole->score, sizeof whole->score);
    assert_memory_equal(&pieces->run, &whole->run, sizeof whole->run);
    ASSERT_OK(folder_remove(pieces->folder));
    free(whole);
    free(pieces);
}

static void test_stops_within_an_epoch(void **state)
{
    for (int ranks = 1; ranks <= 3; ++ranks) {
        for (int64_t stop_after = 1; stop_after <= 7; stop_after += 2) {
            batch_case *c = make_case(stop_after == 3 ? WEFT_DTYPE_F64 : WEFT_DTYPE_F32, ranks);
            c->batch = 3;
            c->options.sync.overlap = stop_after == 5 ? OVERLAP_SPLIT : OVERLAP_BACKWARD;
            c->options.accumulate = stop_after == 7 ? 2 : 1;
            c->options.optimizer.kind = stop_after == 7 ? OPTIMIZER_ADAM : OPTIMIZER_SGD;
            c->options.optimizer.beta1 = 0.9;
            c->options.optimizer.beta2 = 0.999;
            c->options.optimizer.epsilon = 1e-8;
            goes_on_to_the_bit(state, c, stop_after);
            free(c);
        }
    }
}

static void test_stops_where_replicas_differ(void **state)
{
    static const sync_mode modes[] = {SYNC_TOPK, SYNC_DIVIDE_SHUFFLE, SYNC_SHADOW};
    for (int i = 0; i < 3; ++i) {
        batch_case *c = make_case(WEFT_DTYPE_F32, 2 + i % 2);
        c->batch = 5;
        c->options.sync.mode = modes[i];
        c->options.sync.topk.dense_below = 1;
        c->options.sync.topk.density = 0.3;
        c->options.sync.divide_shuffle.group = 2;
        c->options.sync.shadow.gap = 2;
        goes_on_to_the_bit(state, c, 4);
        free(c);
    }
}

/* Running statistics of each rank go on from where they were, and scores are those of their mean. */
static void test_stops_where_statistics_differ(void **state)
{
    static const sync_mode modes[] = {SYNC_ALLREDUCE, SYNC_TOPK, SYNC_DIVIDE_SHUFFLE};
    for (int i = 0; i < 6; ++i) {
        batch_case *c = make_case(WEFT_DTYPE_F32, 1 + i % 3);
        c->batch = 5;
        c->norm = i < 3 ? NORM_BATCH_LOCAL : NORM_BATCH;
        c->options.sync.mode = modes[(i + i / 3) % 3];
        c->options.sync.topk.dense_below = 1;
        c->options.sync.topk.density = 0.3;
        c->options.sync.divide_shuffle.group = 2;
        goes_on_to_the_bit(state, c, 4);
        free(c);
    }
    batch_case *c = make_case(WEFT_DTYPE_F32, 3); /* the usual way to train a network of convolutions */
    c->norm = NORM_BATCH_LOCAL;
    for (int64_t stop_after = 1; stop_after <= 5; stop_after += 2) {
        goes_on_to_the_bit(state, c, stop_after);
    }
    free(c);
}

/* Best parameters, moments and values of a rank's own block; two runs, and best epochs before the last. */
static void test_stops_with_own_parameters(void **state)
{
    static const sync_mode modes[] = {SYNC_ALLREDUCE, SYNC_ALLREDUCE, SYNC_TOPK, SYNC_DIVIDE_SHUFFLE};
    for (int i = 0; i < 4; ++i) {
        batch_case *c = make_case(i == 1 ? WEFT_DTYPE_F64 : WEFT_DTYPE_F32, 1 + i % 3);
        c->own_bias = true;
        c->batch = 5;
        c->options.sync.mode = modes[i];
        c->options.sync.topk.dense_below = 1;
        c->options.sync.topk.density = 0.3;
        c->options.optimizer.kind = i == 1 ? OPTIMIZER_ADAM : i == 3 ? OPTIMIZER_LARS : OPTIMIZER_SGD;
        c->options.optimizer.beta1 = 0.9;
        c->options.optimizer.beta2 = 0.999;
        c->options.optimizer.epsilon = 1e-8;
        c->options.optimizer.trust = 0.1;
        c->options.schedule.base = 2.0; /* too much: the last epoch is not the best */
        c->options.runs = 2;
        for (int64_t stop_after = 1; stop_after <= 7; stop_after += 3) {
            goes_on_to_the_bit(state, c, stop_after);
        }
        free(c);
    }
}

/* A training that had ended gives its result again, of every rank. */
static void test_own_parameters_of_an_ended_run(void **state)
{
    batch_case *c = make_case(WEFT_DTYPE_F32, 3);
    double value[MOST_RANKS][WEIGHTS];
    c->own_bias = true;
    c->options.schedule.base = 2.0;
    c->folder = in_folder(state, "ckpt");
    c->closing = true;
    ASSERT_OK(comm_thread_run(3, start_rank, c));
    assert_true(c->run.best_epoch < EPOCHS);
    assert_memory_not_equal(c->value[0], c->value[1], sizeof value[0]);
    memcpy(value, c->value, sizeof value);
    memset(c->value, 0, sizeof c->value);
    ASSERT_OK(checkpoint_open(c->folder, &c->from));
    ASSERT_OK(comm_thread_run(3, start_rank, c));
    assert_memory_equal(c->value, value, sizeof value);
    c->ranks = 2;
    ASSERT_STATUS(comm_thread_run(2, start_rank, c), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("of 3 ranks with --sync allreduce, each with parameters of its own");
    checkpoint_close(c->from);
    ASSERT_OK(folder_remove(c->folder));
    free(c);
}

static void test_stops_with_a_preconditioner(void **state)
{
    for (int ranks = 1; ranks <= 3; ++ranks) {
        batch_case *c = make_case(WEFT_DTYPE_F64, ranks);
        c->preconditioned = c->remembers = true;
        c->batch = 5;
        c->options.runs = 2;
        c->options.sync.overlap = ranks == 3 ? OVERLAP_SPLIT : OVERLAP_BACKWARD;
        goes_on_to_the_bit(state, c, 4);
        goes_on_to_the_bit(state, c, 7);
        free(c);
    }
}

static void test_checkpoints_by_steps(void **state)
{
    batch_case *c = make_case(WEFT_DTYPE_F32, 2);
    c->folder = in_folder(state, "ckpt");
    c->every_steps = 3; /* of 20, 4 an epoch: the last one after 18 */
    ASSERT_OK(comm_thread_run(2, start_rank, c));
    assert_true(file_exists(in_folder(state, "ckpt/epoch-00000004-step-00000002")));
    assert_true(file_exists(in_folder(state, "ckpt/epoch-00000005")));
    ASSERT_OK(folder_remove(c->folder));
    free(c);
}

/* Two evaluations of 0.2 s pass before 0.5 s, and a third one would not: the second epoch is the last, or on a machine
 * that is slow the first. */
static void test_limit_foresees_evaluations(void **state)
{
    for (int64_t batch = 3; batch <= TRAINED; batch += TRAINED - 3) { /* 9 steps an epoch, and one */
        batch_case *c = make_case(WEFT_DTYPE_F32, 1);
        c->batch = batch;
        c->eval_batch = ROWS;
        c->folder = in_folder(state, "ckpt");
        c->evaluation_s = 0.2;
        c->stop_in_s = 0.5;
        ASSERT_STATUS(comm_thread_run(1, start_rank, c), WEFT_STOPPED);
        assert_true(c->epochs_seen >= 1 && c->epochs_seen <= 2);
        ASSERT_OK(checkpoint_open(c->folder, &c->from));
        checkpoint_close(c->from);
        ASSERT_OK(folder_remove(c->folder));
        free(c);
    }
}

static void test_another_batch_size_is_refused(void **state)
{
    batch_case *c = make_case(WEFT_DTYPE_F64, 2);
    c->folder = in_folder(state, "ckpt");
    c->stop_after = 6;
    ASSERT_STATUS(comm_thread_run(2, start_rank, c), WEFT_STOPPED);
    ASSERT_MESSAGE("run 1, epoch 2, step 2 of 4");
    assert_true(file_exists(in_folder(state, "ckpt/epoch-00000001-step-00000002")));
    ASSERT_OK(checkpoint_open(c->folder, &c->from));
    c->batch = 13;
    ASSERT_STATUS(comm_thread_run(2, start_rank, c), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("an epoch has 2 steps now");
    checkpoint_close(c->from);
    ASSERT_OK(folder_remove(c->folder));
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stops_within_an_epoch),          cmocka_unit_test(test_stops_where_replicas_differ),
        cmocka_unit_test(test_stops_where_statistics_differ),  cmocka_unit_test(test_stops_with_own_parameters),
        cmocka_unit_test(test_own_parameters_of_an_ended_run), cmocka_unit_test(test_stops_with_a_preconditioner),
        cmocka_unit_test(test_checkpoints_by_steps),           cmocka_unit_test(test_limit_foresees_evaluations),
        cmocka_unit_test(test_another_batch_size_is_refused),
    };
    log_set_level(LOG_QUIET);
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}

/*
 * Training in minibatches: losses, scores and weights of the small model of support/batch_job.h are compared with the
 * same arithmetic written out in double precision here, on any number of ranks.
 */
#include <math.h>

#include "base/log.h"
#include "support/batch_job.h"

/* ---- the same by hand ------------------------------------------------------------------------------------------ */

typedef struct by_hand {
    double w[WEIGHTS], velocity[WEIGHTS], loss[EPOCHS], score[EPOCHS][TRAIN_SPLITS];
    double after[EPOCHS][WEIGHTS];
} by_hand;

static void logits_by_hand(const by_hand *h, const double *x, double z[CLASSES])
{
    for (int k = 0; k < CLASSES; ++k) {
        z[k] = h->w[INPUTS * CLASSES + k];
        for (int j = 0; j < INPUTS; ++j) {
            z[k] += x[j] * h->w[j * CLASSES + k];
        }
    }
}

/* The mean of a batch's labelled rows: its loss summed, its gradient. */
static double gradient_by_hand(const by_hand *h, const data_set *d, const int *row, int rows, double g[WEIGHTS],
                               int *labelled)
{
    double loss = 0;
    *labelled = 0;
    memset(g, 0, WEIGHTS * sizeof *g);
    for (int i = 0; i < rows; ++i) {
        *labelled += row[i] != UNLABELLED;
    }
    for (int i = 0; i < rows; ++i) {
        double z[CLASSES];
        double sum = 0;
        if (row[i] == UNLABELLED) {
            continue;
        }
        logits_by_hand(h, d->x[row[i]], z);
        for (int k = 0; k < CLASSES; ++k) {
            sum += exp(z[k]);
        }
        loss -= z[d->label[row[i]]] - log(sum);
        for (int k = 0; k < CLASSES; ++k) {
            double dz = (exp(z[k]) / sum - (k == d->label[row[i]])) / *labelled;
            g[INPUTS * CLASSES + k] += dz;
            for (int j = 0; j < INPUTS; ++j) {
                g[j * CLASSES + k] += dz * d->x[row[i]][j];
            }
        }
    }
    return loss;
}

static void update_by_hand(by_hand *h, const double g[WEIGHTS], double lr, bool first)
{
    for (int i = 0; i < WEIGHTS; ++i) {
        double gradient = g[i] + (i < INPUTS * CLASSES ? 0.01 * h->w[i] : 0.0);
        h->velocity[i] = first ? gradient : 0.9 * h->velocity[i] + gradient;
        h->w[i] -= lr * (gradient + 0.9 * h->velocity[i]);
    }
}

static void score_by_hand(const by_hand *h, const data_set *d, double score[TRAIN_SPLITS])
{
    double right[TRAIN_SPLITS] = {0};
    double all[TRAIN_SPLITS] = {0};
    for (int i = 0; i < ROWS; ++i) {
        double z[CLASSES];
        int best = 0;
        logits_by_hand(h, d->x[i], z);
        for (int k = 1; k < CLASSES; ++k) {
            best = z[k] > z[best] ? k : best;
        }
        if (d->split[i] < TRAIN_SPLITS) {
            all[d->split[i]] += 1;
            right[d->split[i]] += best == d->label[i];
        }
    }
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        score[s] = right[s] / all[s];
    }
}

static void train_by_hand(const batch_case *c, by_hand *h)
{
    double limit = sqrt(6.0 / (INPUTS + CLASSES));
    memset(h, 0, sizeof *h);
    for (int i = 0; i < WEIGHTS; ++i) {
        philox_block draw = philox4x32(philox_counter(0, (uint64_t)i / 4, WEFT_RNG_INIT, 0), c->options.seed);
        h->w[i] = i < INPUTS * CLASSES ? limit * (2.0 * (double)philox_uniform(draw.word[i % 4]) - 1.0) : 0.1;
    }
    for (int epoch = 0; epoch < EPOCHS; ++epoch) {
        int order[TRAINED];
        double sum = 0;
        order_of(c->options.seed, (uint32_t)epoch + 1, order);
        for (int begin = 0; begin < TRAINED; begin += (int)c->batch) {
            double g[WEIGHTS];
            int labelled;
            int rows = TRAINED - begin < (int)c->batch ? TRAINED - begin : (int)c->batch;
            sum += gradient_by_hand(h, &c->data, order + begin, rows, g, &labelled);
            for (int i = 0; i < WEIGHTS && c->preconditioned; ++i) {
                g[i] *= scale_by_hand(i / CLASSES, i % CLASSES);
            }
            const int step = begin / (int)c->batch;
            double at = epoch + (double)step / (double)steps_of(TRAINED, c->batch);
            update_by_hand(h, g, c->options.schedule.base * (1.0 - at / EPOCHS), epoch == 0 && begin == 0);
        }
        h->loss[epoch] = sum / (TRAINED - 1);
        score_by_hand(h, &c->data, h->score[epoch]);
        memcpy(h->after[epoch], h->w, sizeof h->w);
    }
}

static void check_by_hand(const batch_case *c)
{
    by_hand h;
    train_by_hand(c, &h);
    assert_int_equal(c->epochs_seen, EPOCHS);
    assert_int_equal(c->steps_seen, EPOCHS * (steps_of(TRAINED, c->batch) - 1));
    for (int e = 0; e < EPOCHS; ++e) {
        ASSERT_NEAR(c->loss[e], h.loss[e], 1e-12);
        for (int s = 0; s < TRAIN_SPLITS; ++s) {
            ASSERT_NEAR(c->score[e][s], h.score[e][s], 1e-12);
        }
    }
    for (int i = 0; i < WEIGHTS; ++i) {
        for (int r = 0; r < c->ranks; ++r) {
            ASSERT_NEAR(c->value[r][i], h.after[c->run.best_epoch - 1][i], 1e-12);
        }
    }
}

static void test_batches_equal_hand_calculation(void **state)
{
    (void)state;
    static const int64_t sizes[] = {TRAINED, 13, 8, 3};
    for (int ranks = 1; ranks <= MOST_RANKS; ++ranks) {
        for (int i = 0; i < 4; ++i) {
            batch_case *c = make_case(WEFT_DTYPE_F64, ranks);
            c->batch = sizes[i];
            c->eval_batch = i == 0 ? ROWS : sizes[i] - 1;
            c->options.sync.overlap = i % 2 == 0 ? OVERLAP_BACKWARD : OVERLAP_SPLIT;
            ASSERT_OK(comm_thread_run(ranks, start_rank, c));
            check_by_hand(c);
            free(c);
        }
    }
}

/* Statistics over the ranks' shares of each batch are those of the batch: P ranks train as one does. */
static void test_normalised_batches_do_not_know_ranks(void **state)
{
    (void)state;
    batch_case *one = make_case(WEFT_DTYPE_F64, 1);
    one->norm = NORM_BATCH;
    ASSERT_OK(comm_thread_run(1, start_rank, one));
    for (int ranks = 2; ranks <= MOST_RANKS; ++ranks) {
        batch_case *c = make_case(WEFT_DTYPE_F64, ranks);
        c->norm = NORM_BATCH;
        ASSERT_OK(comm_thread_run(ranks, start_rank, c));
        for (int e = 0; e < EPOCHS; ++e) {
            ASSERT_NEAR(c->loss[e], one->loss[e], 1e-12);
            assert_memory_equal(c->score[e], one->score[e], sizeof c->score[e]);
        }
        for (int i = 0; i < WEIGHTS; ++i) {
            ASSERT_NEAR(c->value[ranks - 1][i], one->value[0][i], 1e-12);
        }
        free(c);
    }
    free(one);
}

/* Alone a rank's own parameters are trained as the others are. */
static void test_own_parameters(void **state)
{
    (void)state;
    batch_case *c = make_case(WEFT_DTYPE_F64, 1);
    c->own_bias = true;
    c->options.schedule.base = 2.0; /* too much: the last epoch is not the best */
    ASSERT_OK(comm_thread_run(1, start_rank, c));
    check_by_hand(c);
    assert_true(c->run.best_epoch < EPOCHS);
    batch_case *again = make_case(WEFT_DTYPE_F64, 1); /* a second run is the first run of another seed */
    again->own_bias = true;
    again->options.schedule.base = 2.0;
    again->options.seed -= 1;
    again->options.runs = 2;
    ASSERT_OK(comm_thread_run(1, start_rank, again));
    assert_memory_equal(again->loss, c->loss, sizeof c->loss);
    assert_memory_equal(again->value, c->value, sizeof c->value);
    free(again);
    free(c);
}

static void test_preconditioner_turns_the_whole_gradient(void **state)
{
    (void)state;
    static const sync_overlap overlaps[] = {OVERLAP_BACKWARD, OVERLAP_SPLIT, OVERLAP_OFF};
    for (int ranks = 1; ranks <= 3; ++ranks) {
        for (int i = 0; i < 3; ++i) {
            batch_case *c = make_case(WEFT_DTYPE_F64, ranks);
            c->preconditioned = true;
            c->options.sync.overlap = overlaps[i];
            c->options.sync.bucket_bytes = 128;
            ASSERT_OK(comm_thread_run(ranks, start_rank, c));
            check_by_hand(c);
            free(c);
        }
    }
}

/* Parts of a batch, some of them empty: one step of the whole. */
static void test_parts_are_one_step(void **state)
{
    (void)state;
    static const sync_overlap overlaps[] = {OVERLAP_BACKWARD, OVERLAP_SPLIT, OVERLAP_OFF};
    for (int ranks = 1; ranks <= 3; ++ranks) {
        for (int parts = 2; parts <= 5; ++parts) {
            batch_case *c = make_case(WEFT_DTYPE_F64, ranks);
            c->options.accumulate = parts;
            c->own_bias = ranks == 1 && parts == 3;
            c->preconditioned = parts == 4;
            c->options.sync.overlap = overlaps[parts % 3];
            c->options.sync.bucket_bytes = parts == 2 ? 128 : 0;
            ASSERT_OK(comm_thread_run(ranks, start_rank, c));
            check_by_hand(c);
            assert_true(ranks > 1 || c->late_allocations == 0);
            free(c);
        }
    }
}

/* A listener that wants every second step is asked before every pass, told of all parts and rows of the steps that it
 * wants, and of nothing else; training has the same bits as without it. */
static void test_listener_hears_of_every_part(void **state)
{
    (void)state;
    static const int ranks[] = {1, 3, 5};
    for (size_t r = 0; r < sizeof ranks / sizeof *ranks; ++r) {
        for (int parts = 1; parts <= 3; ++parts) {
            batch_case *c = make_case(WEFT_DTYPE_F64, ranks[r]);
            batch_case *without = make_case(WEFT_DTYPE_F64, ranks[r]);
            c->options.accumulate = without->options.accumulate = parts;
            c->told_every = 2;
            ASSERT_OK(comm_thread_run(ranks[r], start_rank, c));
            ASSERT_OK(comm_thread_run(ranks[r], start_rank, without));
            const int64_t steps = steps_of(TRAINED, c->batch);
            for (int rank = 0; rank < ranks[r]; ++rank) {
                assert_int_equal(c->passes_asked[rank], EPOCHS * steps * parts);
                assert_int_equal(c->steps_told[rank], EPOCHS * ((steps + 1) / 2));
            }
            assert_memory_equal(c->value, without->value, sizeof c->value);
            free(c);
            free(without);
        }
    }
}

static void test_parts_of_what_has_none(void **state)
{
    (void)state;
    batch_case *c = make_case(WEFT_DTYPE_F64, 2);
    c->indivisible = true;
    c->options.accumulate = 2;
    ASSERT_STATUS(comm_thread_run(2, start_rank, c), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("--accumulate 2");
    free(c);
}

static void test_steps_allocate_nothing(void **state)
{
    (void)state;
    for (int kind = OPTIMIZER_ADAM; kind <= OPTIMIZER_LARS; ++kind) {
        batch_case *c = make_case(WEFT_DTYPE_F64, 1);
        c->options.optimizer.kind = (optimizer_kind)kind;
        ASSERT_OK(comm_thread_run(1, start_rank, c));
        assert_int_equal(c->late_allocations, 0);
        free(c);
    }
}

static void test_divergence_names_the_step(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 3; ranks += 2) {
        batch_case *c = make_case(WEFT_DTYPE_F64, ranks);
        int order[TRAINED];
        order_of(c->options.seed, 1, order);
        c->data.x[order[17]][0] = NAN; /* in the third batch */
        ASSERT_STATUS(comm_thread_run(ranks, start_rank, c), WEFT_ERR_DIVERGED);
        ASSERT_MESSAGE("run 1, epoch 1, step 3 of 4: ");
        free(c);
    }
}

static void test_ranks_must_agree_on_steps(void **state)
{
    (void)state;
    batch_case *c = make_case(WEFT_DTYPE_F64, 3);
    c->odd_rank = 1;
    ASSERT_STATUS(comm_thread_run(3, start_rank, c), WEFT_ERR_INTERNAL);
    ASSERT_MESSAGE("4 to 5 steps an epoch");
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches_equal_hand_calculation),
        cmocka_unit_test(test_normalised_batches_do_not_know_ranks),
        cmocka_unit_test(test_own_parameters),
        cmocka_unit_test(test_preconditioner_turns_the_whole_gradient),
        cmocka_unit_test(test_parts_are_one_step),
        cmocka_unit_test(test_listener_hears_of_every_part),
        cmocka_unit_test(test_parts_of_what_has_none),
        cmocka_unit_test(test_steps_allocate_nothing),
        cmocka_unit_test(test_divergence_names_the_step),
        cmocka_unit_test(test_ranks_must_agree_on_steps),
    };
    log_set_level(LOG_QUIET);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

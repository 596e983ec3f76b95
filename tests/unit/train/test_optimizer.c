/*
 * Optimisers, groups of parameters and a replica of them: what a few steps make of every parameter is compared with
 * the same rules written out in double precision here, with clipped gradients and averaged weights and without, over
 * ranks, with buckets that cut blocks, behind the next forward pass or not. A rank's own block is nobody else's
 * business.
 */
#include <math.h>

#include "support/labelled_graphs.h"
#include "train/replica.h"

enum { STEPS = 4, MOST_RANKS = 3, MOST = 60, TRAINED_BLOCKS = 4, STATE = 4, OWN = 5, BLOCKS = 6 };

static const int64_t block_rows[BLOCKS] = {3, 1, 1, 2, 1, 2};
static const int64_t block_cols[BLOCKS] = {20, 7, 5, 9, 4, 3};
static const double scale_of[BLOCKS] = {1, 1, 3, 3, 0, 0.5};
static const bool block_decays[BLOCKS] = {true, false, true, true, false, true};
#define LR    0.05
#define DECAY 0.02
#define TRUST 0.1

typedef enum rule_kind {
    RULE_ADAM,
    RULE_SGD,
    RULE_MOMENTUM,
    RULE_NESTEROV,
    RULE_LARS,
    RULE_ADAMW,
    RULE_ADADELTA,
    RULES
} rule_kind;

typedef struct step_case {
    rule_kind rule;
    sync_overlap overlap;
    int64_t bucket_bytes;
    double clip, average;                   /* 0: off */
    double value[MOST_RANKS][BLOCKS][MOST]; /* of each rank, at its end */
} step_case;

static int64_t size_of(int block)
{
    return block_rows[block] * block_cols[block];
}

static double first_value(int block, int64_t i, int step, int rank)
{
    (void)step;
    return 0.1 * (double)(i % 7) - 0.3 + 0.01 * block + (block == OWN ? rank : 0);
}

static double gradient_at(int block, int64_t i, int step, int rank)
{
    return sin(1.0 + (double)i + 3.0 * step + 7.0 * rank + 11.0 * block);
}

static optimizer_options options_of(rule_kind rule)
{
    return (optimizer_options){.kind = rule == RULE_ADAM       ? OPTIMIZER_ADAM
                                       : rule == RULE_ADAMW    ? OPTIMIZER_ADAMW
                                       : rule == RULE_ADADELTA ? OPTIMIZER_ADADELTA
                                       : rule == RULE_LARS     ? OPTIMIZER_LARS
                                                               : OPTIMIZER_SGD,
                               .weight_decay = DECAY,
                               .momentum = rule == RULE_SGD ? 0.0 : 0.9,
                               .nesterov = rule == RULE_NESTEROV,
                               .trust = TRUST,
                               .beta1 = 0.9,
                               .beta2 = 0.999,
                               .epsilon = 1e-8};
}

/* ---- a rank ---------------------------------------------------------------------------------------------------- */

static weft_status set_block(weft_tensor view, int block, double (*value)(int, int64_t, int, int), int step, int rank)
{
    double host[MOST];
    for (int64_t i = 0; i < size_of(block); ++i) {
        host[i] = value(block, i, step, rank);
    }
    return tensor_upload(&view, host);
}

static weft_status declare(weft_hal *hal, weft_comm *comm, param_store *params)
{
    param_store_begin(params, hal, WEFT_DTYPE_F64);
    const param_group fast = {.trained = true, .replicated = true, .decays = true, .lr_scale = 3.0};
    const param_group own = {.trained = true, .decays = true, .lr_scale = 0.5};
    int fast_group = param_add_group(params, &fast);
    int own_group = param_add_group(params, &own);
    const int group[BLOCKS] = {PARAM_GROUP_DECAY, PARAM_GROUP_NO_DECAY, fast_group,
                               fast_group,        PARAM_GROUP_STATE,    own_group};
    for (int b = 0; b < BLOCKS; ++b) {
        WEFT_CHECK(param_add_block(params, group[b], block_rows[b], block_cols[b]) == b, WEFT_ERR_INTERNAL, "block");
    }
    WEFT_TRY(param_store_commit(params, comm));
    for (int b = 0; b < BLOCKS; ++b) {
        WEFT_TRY(set_block(param_value(params, b), b, first_value, 0, comm_rank(comm)));
    }
    return WEFT_OK;
}

/* Blocks are asked for before they are read and handed in when they are final, as a model does it. */
static weft_status one_step(train_replica *r, int step, int rank)
{
    const train_hooks *hooks = replica_hooks(r, true);
    WEFT_TRY(replica_begin(r, LR, 1.0));
    for (int b = 0; b < TRAINED_BLOCKS && hooks != NULL; ++b) {
        WEFT_TRY(hooks->need(hooks->self, b));
    }
    for (int b = BLOCKS - 1; b >= 0; --b) {
        if (b != STATE) {
            WEFT_TRY(set_block(param_grad(r->params, b), b, gradient_at, step, rank));
        }
        if (b < TRAINED_BLOCKS && hooks != NULL) {
            WEFT_TRY(hooks->ready(hooks->self, b));
        }
    }
    WEFT_TRY(replica_gradients(r));
    return replica_update(r);
}

static weft_status train(weft_comm *comm, param_store *params, train_replica *r, step_case *c)
{
    int rank = comm_rank(comm);
    sync_options sync = sync_options_default();
    optimizer_options optimizer = options_of(c->rule);
    optimizer.clip_norm = c->clip;
    optimizer.average = c->average;
    sync.overlap = c->overlap;
    sync.bucket_bytes = c->bucket_bytes;
    WEFT_TRY(replica_create(comm, params, &sync, &optimizer, NULL, false, r));
    WEFT_TRY(replica_reset(r));
    for (int step = 0; step < STEPS; ++step) {
        WEFT_TRY(one_step(r, step, rank));
    }
    WEFT_TRY(replica_average(r, true));
    for (int b = 0; b < BLOCKS; ++b) {
        weft_tensor view = param_value(params, b);
        WEFT_TRY(tensor_download(&view, c->value[rank][b]));
    }
    return WEFT_OK;
}

static weft_status run_rank(weft_comm *comm, void *argument)
{
    weft_hal *hal = NULL;
    param_store params = {0};
    train_replica replica = {0};
    weft_status status = weft_hal_open("ref", 1, &hal);
    status = status == WEFT_OK ? declare(hal, comm, &params) : status;
    status = status == WEFT_OK ? train(comm, &params, &replica, argument) : status;
    replica_destroy(&replica);
    param_store_destroy(&params);
    weft_hal_close(hal);
    return status;
}

/* ---- by hand --------------------------------------------------------------------------------------------------- */

static double norm_by_hand(const double *x, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
        sum += x[i] * x[i];
    }
    return sqrt(sum);
}

/* A gradient as the optimiser sees it. */
static double gradient_by_hand(int ranks, int rank, int block, int64_t i, int step)
{
    double g = block == OWN ? gradient_at(block, i, step, rank) : 0.0;
    for (int q = 0; q < ranks && block != OWN; ++q) {
        g += gradient_at(block, i, step, q);
    }
    return g;
}

/* All gradients of a step as one vector, whose parts of ranks' own are of all ranks. */
static double share_by_hand(const step_case *c, int ranks, int step)
{
    double squares = 0.0;
    for (int at = 0; at < ranks * BLOCKS; ++at) {
        const int rank = at / BLOCKS, block = at % BLOCKS;
        for (int64_t i = 0; i < size_of(block) && block != STATE && (rank == 0 || block == OWN); ++i) {
            const double g = gradient_by_hand(ranks, rank, block, i, step);
            squares += g * g;
        }
    }
    return c->clip > 0.0 ? fmin(1.0, c->clip / (sqrt(squares) + 1e-6)) : 1.0;
}

static void update_by_hand(rule_kind rule, int block, int step, const double *g, double *w, double *m, double *v)
{
    int64_t count = size_of(block);
    double decay = block_decays[block] ? DECAY : 0.0;
    double lr = LR * scale_of[block];
    if (rule == RULE_LARS && block_decays[block]) {
        double norm = norm_by_hand(w, count);
        lr *= TRUST * norm / (norm_by_hand(g, count) + decay * norm + 1e-8);
    }
    for (int64_t i = 0; i < count; ++i) {
        double d = g[i] + (rule == RULE_ADAMW ? 0.0 : decay * w[i]);
        w[i] -= rule == RULE_ADAMW ? lr * decay * w[i] : 0.0;
        if (rule == RULE_ADAM || rule == RULE_ADAMW) {
            m[i] = 0.9 * m[i] + 0.1 * d;
            v[i] = 0.999 * v[i] + 0.001 * d * d;
            double mean = m[i] / (1 - pow(0.9, step + 1));
            w[i] -= lr * mean / (sqrt(v[i] / (1 - pow(0.999, step + 1))) + 1e-8);
            continue;
        }
        if (rule == RULE_ADADELTA) {
            v[i] = 0.9 * v[i] + 0.1 * d * d;
            const double taken = d * sqrt(m[i] + 1e-6) / sqrt(v[i] + 1e-6);
            m[i] = 0.9 * m[i] + 0.1 * taken * taken;
            w[i] -= lr * taken;
            continue;
        }
        if (rule == RULE_LARS) { /* a rate that changes is inside the velocity */
            m[i] = 0.9 * m[i] + lr * d;
            w[i] -= m[i];
            continue;
        }
        m[i] = rule == RULE_SGD ? d : step == 0 ? d : 0.9 * m[i] + d;
        w[i] -= lr * (rule == RULE_NESTEROV ? d + 0.9 * m[i] : m[i]);
    }
}

static void check_block(const step_case *c, int ranks, int rank, int block)
{
    double w[MOST];
    double m[MOST] = {0};
    double v[MOST] = {0};
    double g[MOST];
    double mean[MOST];
    for (int64_t i = 0; i < size_of(block); ++i) {
        w[i] = mean[i] = first_value(block, i, 0, rank);
    }
    for (int step = 0; step < STEPS && block != STATE; ++step) {
        const double share = share_by_hand(c, ranks, step), decay = step > 0 ? c->average : 0.0;
        for (int64_t i = 0; i < size_of(block); ++i) {
            g[i] = share * gradient_by_hand(ranks, rank, block, i, step);
        }
        update_by_hand(c->rule, block, step, g, w, m, v);
        for (int64_t i = 0; i < size_of(block); ++i) {
            mean[i] = decay * mean[i] + (1.0 - decay) * w[i];
        }
    }
    for (int64_t i = 0; i < size_of(block); ++i) {
        ASSERT_NEAR(c->value[rank][block][i], mean[i], 1e-12);
    }
}

static void test_steps_equal_hand_calculation(void **state)
{
    (void)state;
    static const int64_t bucket_bytes[] = {0, 128, 512};
    for (int rule = 0; rule < RULES; ++rule) {
        for (int ranks = 1; ranks <= MOST_RANKS; ++ranks) {
            for (int i = 0; i < 12; ++i) {
                step_case c = {.rule = (rule_kind)rule, .bucket_bytes = bucket_bytes[i % 3]};
                c.overlap = i % 3 == 0 ? OVERLAP_BACKWARD : OVERLAP_SPLIT;
                c.clip = i / 3 % 2 == 1 ? 2.5 + 3.0 * (rule % 3) : 0.0;
                c.average = i / 6 == 1 ? 0.6 : 0.0;
                ASSERT_OK(comm_thread_run(ranks, run_rank, &c));
                for (int at = 0; at < ranks * BLOCKS; ++at) {
                    check_block(&c, ranks, at / BLOCKS, at % BLOCKS);
                }
            }
        }
    }
}

/* ---- ranks that measure for each other ------------------------------------------------------------------------- */

enum { LAYERS = 6, LAYER_ROWS = 157, LAYER_COLS = 301, LARGE = LAYERS * LAYER_ROWS * LAYER_COLS + 512 };

typedef struct shared_case {
    bool shared;
    uint64_t sent[MOST_RANKS];
    float value[MOST_RANKS][LARGE];
} shared_case;

/* Bytes that a rank exchanged, as messages and in memory of the node. */
static uint64_t exchanged(const weft_comm *comm)
{
    const comm_stats stats = comm_lane_stats(comm, COMM_LANE_CONTROL);
    return stats.bytes_sent + stats.shared_bytes;
}

static weft_status large_steps(weft_comm *comm, param_store *params, train_optimizer *optimizer, shared_case *c)
{
    int rank = comm_rank(comm);
    float *host = c->value[rank];
    for (int64_t i = 0; i < params->trained; ++i) {
        host[i] = (float)sin((double)i);
    }
    weft_tensor values = tensor_view(&params->value, 0, 1, 0, params->trained);
    WEFT_TRY(tensor_upload(&values, host));
    for (int step = 0; step < STEPS; ++step) {
        for (int64_t i = 0; i < params->trained; ++i) {
            host[i] = (float)(cos(0.7 * (double)i + step) / (1.0 + (double)(i % 1000)));
        }
        WEFT_TRY(tensor_upload(&params->grad, host));
        uint64_t sent = exchanged(comm);
        optimizer_begin(optimizer);
        WEFT_TRY(optimizer_step_range(optimizer, LR, 0, params->trained));
        c->sent[rank] += exchanged(comm) - sent;
    }
    return tensor_download(&values, host);
}

static weft_status large_rank(weft_comm *comm, void *argument)
{
    shared_case *c = argument;
    weft_hal *hal = NULL;
    param_store params = {0};
    train_optimizer optimizer = {0};
    const optimizer_options options = options_of(RULE_LARS);
    WEFT_TRY(weft_hal_open(comm_rank(comm) == 1 ? "shadow" : "cpu", 2, &hal));
    param_store_begin(&params, hal, WEFT_DTYPE_F32);
    for (int i = 0; i < LAYERS; ++i) {
        (void)param_add_block(&params, i == 2 ? PARAM_GROUP_NO_DECAY : PARAM_GROUP_DECAY, LAYER_ROWS, LAYER_COLS);
    }
    weft_status status = param_store_commit(&params, NULL);
    status = status == WEFT_OK && params.trained > LARGE ? WEFT_ERR_INTERNAL : status;
    if (status == WEFT_OK) {
        status = optimizer_create(&params, optimizer_rule_of(OPTIMIZER_LARS), &options, NULL, c->shared ? comm : NULL,
                                  &optimizer);
    }
    status = status == WEFT_OK ? large_steps(comm, &params, &optimizer, c) : status;
    optimizer_destroy(&optimizer);
    param_store_destroy(&params);
    weft_hal_close(hal);
    return status;
}

/* Each rank measures some of the blocks, and every rank has the bits of one that measures them all. */
static void test_shared_norms_are_the_same_bits(void **state)
{
    (void)state;
    shared_case *alone = calloc(1, sizeof *alone);
    shared_case *c = calloc(1, sizeof *c);
    assert_true(alone != NULL && c != NULL);
    ASSERT_OK(comm_thread_run(1, large_rank, alone));
    for (int ranks = 2; ranks <= MOST_RANKS; ++ranks) {
        for (int shared = 0; shared < 2; ++shared) {
            memset(c, 0, sizeof *c);
            c->shared = shared == 1;
            ASSERT_OK(comm_thread_run(ranks, large_rank, c));
            for (int r = 0; r < ranks; ++r) {
                assert_memory_equal(c->value[r], alone->value[0], sizeof alone->value[0]);
                assert_true((c->sent[r] > 0) == c->shared);
            }
        }
    }
    free(alone);
    free(c);
}

/* Modes that keep replicas apart have no gradient of all ranks, and no replicas that are equal. */
static weft_status refused_rank(weft_comm *comm, void *argument)
{
    weft_hal *hal = NULL;
    param_store params = {0};
    train_replica replica = {0};
    sync_options sync = sync_options_default();
    optimizer_options optimizer = options_of(RULE_ADAM);
    sync.mode = SYNC_SHADOW;
    *(*(bool *)argument ? &optimizer.clip_norm : &optimizer.average) = 0.5;
    weft_status status = weft_hal_open("ref", 1, &hal);
    param_store_begin(&params, hal, WEFT_DTYPE_F32);
    (void)param_add_block(&params, PARAM_GROUP_DECAY, 3, 4);
    status = status == WEFT_OK ? param_store_commit(&params, comm) : status;
    status = status == WEFT_OK ? replica_create(comm, &params, &sync, &optimizer, NULL, false, &replica) : status;
    replica_destroy(&replica);
    param_store_destroy(&params);
    weft_hal_close(hal);
    return status;
}

static void test_modes_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 2; ++i) {
        bool clip = i == 1;
        const weft_status status = comm_thread_run(2, refused_rank, &clip);
        if (status != WEFT_ERR_USAGE) {
            fail_msg("%d: %s", (int)status, weft_error_message());
        }
        ASSERT_OK(comm_thread_run(1, refused_rank, &clip));
    }
}

/* The command's choice is the number of a row. */
static void test_rules_are_the_choices(void **state)
{
    (void)state;
    static const char *const words[] = {OPTIMIZER_KINDS(CHOICE_NAME)};
    for (int kind = 0; kind <= OPTIMIZER_ADADELTA; ++kind) {
        assert_string_equal(optimizer_rule_of((optimizer_kind)kind)->name, words[kind]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_equal_hand_calculation),
        cmocka_unit_test(test_shared_norms_are_the_same_bits),
        cmocka_unit_test(test_modes_are_refused),
        cmocka_unit_test(test_rules_are_the_choices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

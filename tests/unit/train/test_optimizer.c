/*
 * Optimisers, groups of parameters and a replica of them: what a few steps make of every parameter is compared with
 * the same rules written out in double precision here, over ranks, with buckets that cut blocks, behind the next
 * forward pass or not. A rule by block, LARS, is written against the table as a test. A rank's own block is nobody
 * else's business.
 *
 *   Y. You, I. Gitman, B. Ginsburg: Large batch training of convolutional networks. 2017, arXiv 1708.03888.
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

typedef enum rule_kind { RULE_ADAM, RULE_SGD, RULE_MOMENTUM, RULE_NESTEROV, RULE_LARS, RULES } rule_kind;

typedef struct step_case {
    rule_kind rule;
    sync_overlap overlap;
    int64_t bucket_bytes;
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
    return (optimizer_options){.kind = rule == RULE_ADAM ? OPTIMIZER_ADAM : OPTIMIZER_SGD,
                               .weight_decay = DECAY,
                               .momentum = rule == RULE_SGD ? 0.0 : 0.9,
                               .nesterov = rule == RULE_NESTEROV,
                               .beta1 = 0.9,
                               .beta2 = 0.999,
                               .epsilon = 1e-8};
}

/* ---- LARS, as a row that somebody adds ------------------------------------------------------------------------- */

static weft_status norm_of(const weft_tensor *x, double *norm)
{
    weft_tensor square;
    WEFT_TRY(tensor_create(x->hal, x->dtype, 1, 1, WEFT_MEM_WORKSPACE, &square));
    weft_status status = tensor_gemm(&(tensor_product){.a = x, .b = x, .trans_b = true}, &square);
    status = status == WEFT_OK ? tensor_download(&square, norm) : status;
    tensor_destroy(&square);
    *norm = sqrt(*norm);
    return status;
}

static int lars_slots(const optimizer_options *options)
{
    (void)options;
    return 1;
}

static weft_status lars_update(const optimizer_options *o, optimizer_run *run)
{
    double w = 0;
    double g = 0;
    WEFT_TRY(norm_of(&run->w, &w));
    WEFT_TRY(norm_of(&run->g, &g));
    const hal_sgd_args sgd = {.lr = run->lr * TRUST * w / (g + run->weight_decay * w),
                              .momentum = o->momentum,
                              .weight_decay = run->weight_decay,
                              .step = run->step};
    return tensor_sgd(&sgd, &run->w, &run->g, &run->slot[0]);
}

static const optimizer_rule lars = {.name = "lars", .by_block = true, .slots = lars_slots, .update = lars_update};

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
    const train_hooks *hooks = replica_hooks(r);
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
    const optimizer_options optimizer = options_of(c->rule);
    sync.overlap = c->overlap;
    sync.bucket_bytes = c->bucket_bytes;
    WEFT_TRY(replica_create(comm, params, &sync, &optimizer, NULL, r));
    r->optimizer.rule = c->rule == RULE_LARS ? &lars : r->optimizer.rule;
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

static void update_by_hand(rule_kind rule, int block, int step, const double *g, double *w, double *m, double *v)
{
    int64_t count = size_of(block);
    double decay = block_decays[block] ? DECAY : 0.0;
    double lr = LR * scale_of[block];
    if (rule == RULE_LARS) {
        double norm = norm_by_hand(w, count);
        lr *= TRUST * norm / (norm_by_hand(g, count) + decay * norm);
    }
    for (int64_t i = 0; i < count; ++i) {
        double d = g[i] + decay * w[i];
        if (rule == RULE_ADAM) {
            m[i] = 0.9 * m[i] + 0.1 * d;
            v[i] = 0.999 * v[i] + 0.001 * d * d;
            double mean = m[i] / (1 - pow(0.9, step + 1));
            w[i] -= lr * mean / (sqrt(v[i] / (1 - pow(0.999, step + 1))) + 1e-8);
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
    for (int64_t i = 0; i < size_of(block); ++i) {
        w[i] = first_value(block, i, 0, rank);
    }
    for (int step = 0; step < STEPS && block != STATE; ++step) {
        for (int64_t i = 0; i < size_of(block); ++i) {
            g[i] = block == OWN ? gradient_at(block, i, step, rank) : 0.0;
            for (int q = 0; q < ranks && block != OWN; ++q) {
                g[i] += gradient_at(block, i, step, q);
            }
        }
        update_by_hand(c->rule, block, step, g, w, m, v);
    }
    for (int64_t i = 0; i < size_of(block); ++i) {
        ASSERT_NEAR(c->value[rank][block][i], w[i], 1e-12);
    }
}

static void test_steps_equal_hand_calculation(void **state)
{
    (void)state;
    static const int64_t bucket_bytes[] = {0, 128, 512};
    for (int rule = 0; rule < RULES; ++rule) {
        for (int ranks = 1; ranks <= MOST_RANKS; ++ranks) {
            for (int i = 0; i < 3; ++i) {
                step_case c = {.rule = (rule_kind)rule, .bucket_bytes = bucket_bytes[i]};
                c.overlap = i == 0 ? OVERLAP_BACKWARD : OVERLAP_SPLIT;
                ASSERT_OK(comm_thread_run(ranks, run_rank, &c));
                for (int at = 0; at < ranks * BLOCKS; ++at) {
                    check_block(&c, ranks, at / BLOCKS, at % BLOCKS);
                }
            }
        }
    }
}

/* The command's choice is the number of a row. */
static void test_rules_are_the_choices(void **state)
{
    (void)state;
    static const char *const words[] = {OPTIMIZER_KINDS(CHOICE_NAME)};
    for (int kind = 0; kind <= OPTIMIZER_SGD; ++kind) {
        assert_string_equal(optimizer_rule_of((optimizer_kind)kind)->name, words[kind]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_equal_hand_calculation),
        cmocka_unit_test(test_rules_are_the_choices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

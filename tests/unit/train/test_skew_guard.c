/*
 * Scores by which the skew guard compares replicas, against those of moving them: every model meets the probe of every
 * rank here, in double precision. Replicas go on as they were, unless the mode's averages stay. And the densities of
 * topk while accuracy is gained at rates that are given, against those that the rates allow.
 */
#include <math.h>

#include "base/philox.h"
#include "support/comm_run.h"
#include "train/skew/skew_guard.h"

enum { PROBE = 40, INPUTS = 5, CLASSES = 3, RANKS_MOST = 8, WEIGHTS = INPUTS * CLASSES };

/* Softmax regression whose batch is the probe that the source gave last. */
typedef struct regression {
    param_store params;
    weft_tensor x, logits;
    int ranks, weight, right;
    int32_t label[PROBE];
    train_targets targets;
    train_model model;
    train_source source;
} regression;

static double uniform(uint32_t what, uint64_t at, uint32_t whose)
{
    const philox_block b = philox4x32(philox_counter(what, at, 50000, whose), 3);
    return 2.0 * philox_uniform_double(b.word[0], b.word[1]) - 1.0;
}

static float input_of(int rank, int row, int i)
{
    return (float)uniform(1, (uint64_t)row * INPUTS + (uint64_t)i, (uint32_t)rank);
}

/* Classes of a rank are mostly its own one. */
static int32_t label_of(int rank, int row)
{
    return uniform(2, (uint64_t)row, (uint32_t)rank) > 0.0 ? rank % CLASSES : row % CLASSES;
}

/* Weights of a rank's replica; equal: those of all ranks. */
static float weight_of(int rank, int i, bool equal)
{
    return (float)uniform(3, (uint64_t)i, equal ? 0 : (uint32_t)rank);
}

static weft_status forward(void *self, const train_pass *pass, weft_tensor *logits)
{
    regression *r = self;
    const weft_tensor w = param_value(&r->params, r->weight);
    (void)pass;
    *logits = r->logits;
    return tensor_gemm(&(tensor_product){.a = &r->x, .b = &w}, &r->logits);
}

/* Has the first rows of a probe right, as many as `right` says, and no other. */
static weft_status forward_known(void *self, const train_pass *pass, weft_tensor *logits)
{
    regression *r = self;
    float z[PROBE * CLASSES] = {0};
    (void)pass;
    for (int row = 0; row < PROBE; ++row) {
        z[row * CLASSES + (r->label[row] + (row >= r->right)) % CLASSES] = 1.0f;
    }
    *logits = r->logits;
    return tensor_upload(&r->logits, z);
}

static weft_status probe(void *self, int64_t step, train_batch *batch)
{
    regression *r = self;
    const int rank = (int)(step % r->ranks);
    float x[PROBE * INPUTS];
    for (int row = 0; row < PROBE; ++row) {
        r->label[row] = label_of(rank, row);
        for (int i = 0; i < INPUTS; ++i) {
            x[row * INPUTS + i] = input_of(rank, row, i);
        }
    }
    *batch = (train_batch){.targets = &r->targets};
    return tensor_upload(&r->x, x);
}

static weft_status regression_open(weft_comm *comm, weft_hal *hal, regression *r)
{
    *r = (regression){.ranks = comm_size(comm)};
    r->targets = (train_targets){.rows = PROBE,
                                 .outputs = CLASSES,
                                 .loss = TRAIN_LOSS_XENT,
                                 .label = r->label,
                                 .label_host = r->label,
                                 .loss_entries = PROBE};
    param_store_begin(&r->params, hal, WEFT_DTYPE_F32);
    r->weight = param_add_block(&r->params, PARAM_GROUP_DECAY, INPUTS, CLASSES);
    WEFT_TRY(param_add(&r->params, r->weight, 0, 0, INPUTS, CLASSES, param_glorot(INPUTS, CLASSES), "w"));
    WEFT_TRY(param_store_commit(&r->params, comm));
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F32, PROBE, INPUTS, WEFT_MEM_ACTIVATION, &r->x));
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F32, PROBE, CLASSES, WEFT_MEM_ACTIVATION, &r->logits));
    r->model = (train_model){.name = "regression", .self = r, .params = &r->params, .forward = forward};
    r->source = source_whole(&r->targets);
    r->source.self = r;
    r->source.steps = 10;
    r->source.probe = probe;
    r->source.probe_steps = r->ranks;
    r->source.probe_rows = PROBE;
    r->source.label_distance = 0.5;
    return WEFT_OK;
}

static void regression_close(regression *r)
{
    TENSOR_DESTROY_ALL(&r->x, &r->logits);
    param_store_destroy(&r->params);
}

/* Returns the share of a rank's probe that a model has right. */
static double share_of(const double w[WEIGHTS], int rank)
{
    int right = 0;
    for (int row = 0; row < PROBE; ++row) {
        double z[CLASSES] = {0};
        int best = 0;
        for (int k = 0; k < WEIGHTS; ++k) {
            z[k % CLASSES] += (double)input_of(rank, row, k / CLASSES) * w[k];
        }
        for (int c = 1; c < CLASSES; ++c) {
            best = z[c] > z[best] ? c : best;
        }
        right += best == label_of(rank, row);
    }
    return (double)right / PROBE;
}

/* Every model on every probe: what moving them gives. */
static skew_check moved(int ranks, bool equal)
{
    skew_check check = {.home = 0.0};
    double mean[WEIGHTS] = {0};
    for (int model = 0; model < ranks; ++model) {
        double w[WEIGHTS];
        for (int i = 0; i < WEIGHTS; ++i) {
            w[i] = (double)weight_of(model, i, equal);
            mean[i] += w[i] / ranks;
        }
        for (int rank = 0; rank < ranks; ++rank) {
            *(rank == model ? &check.home : &check.away) +=
                share_of(w, rank) / (rank == model ? ranks : ranks * (ranks - 1.0));
        }
    }
    for (int rank = 0; rank < ranks; ++rank) {
        check.judge += share_of(mean, rank) / ranks;
    }
    if (equal) {
        check.home = check.away = check.judge;
    }
    return check;
}

static bool has_bits(const void *a, const void *b, size_t bytes)
{
    return memcmp(a, b, bytes) == 0;
}

/* stays: the average takes the place of the replicas, as an average of divide-and-shuffle does. */
static weft_status check_scores(weft_comm *comm, regression *r, train_replica *replica, skew_guard *guard, bool equal,
                                bool stays)
{
    const int ranks = comm_size(comm), rank = comm_rank(comm);
    float w[WEIGHTS], after[WEIGHTS];
    weft_tensor value = param_value(&r->params, r->weight);
    for (int i = 0; i < WEIGHTS; ++i) {
        w[i] = weight_of(rank, i, equal);
    }
    WEFT_TRY(replica_reset(replica));
    WEFT_TRY(skew_guard_reset(guard));
    WEFT_TRY(tensor_upload(&value, w));
    WEFT_TRY(skew_guard_step(guard, 0, skew_guard_every(guard)));
    const skew_figures found = skew_guard_figures(guard);
    const skew_check expected = moved(ranks, equal);
    CASE_CHECK(found.checked && fabs(found.last.home - expected.home) < 1e-12, "home %.15g, moved %.15g",
               found.last.home, expected.home);
    CASE_CHECK(fabs(found.last.away - expected.away) < 1e-12, "away %.15g, moved %.15g", found.last.away,
               expected.away);
    CASE_CHECK(fabs(found.last.judge - expected.judge) < 1e-12, "mean of replicas %.15g, by hand %.15g",
               found.last.judge, expected.judge);
    /* No step has sent anything: what is told are the bytes of the check, an average's, in the steps before it. */
    const double averages = found.last.cost * (double)skew_guard_every(guard);
    CASE_CHECK(equal ? averages == 0.0 : averages > 0.5 && averages < ranks, "a check sends %g all-reduces", averages);
    WEFT_TRY(tensor_download(&value, after));
    CASE_CHECK(stays || has_bits(w, after, sizeof w), "rank %d goes on with another replica", rank);
    return WEFT_OK;
}

/* With a check every 50 steps and a bound of a point, as many steps as a selected element waits for (1 / density) gain
 * less than a point where a check gains less than 6 points at 0.12, 2 at 0.04, 0.75 at 0.015 and 0.25 at 0.005. A row
 * of the 40 is 2.5 points. */
static weft_status check_densities(regression *r, train_replica *replica, skew_guard *guard)
{
    static const struct {
        int rows, of_checks, checks;
        double density;
    } gains[] = {{3, 1, 4, 0.25}, {1, 1, 6, 0.12}, {1, 2, 10, 0.04}, {1, 4, 12, 0.015}, {0, 1, 8, 0.005}};
    int64_t step = 0;
    r->model.forward = forward_known;
    r->right = PROBE / 4;
    CASE_CHECK(skew_guard_every(guard) == 50, "a check every %lld steps", (long long)skew_guard_every(guard));
    WEFT_TRY(replica_reset(replica));
    WEFT_TRY(skew_guard_reset(guard));
    for (size_t i = 0; i < sizeof gains / sizeof *gains; ++i) {
        for (int check = 1; check <= gains[i].checks; ++check) {
            r->right += check % gains[i].of_checks == 0 ? gains[i].rows : 0;
            step += skew_guard_every(guard);
            WEFT_TRY(skew_guard_step(guard, 0, step));
        }
        const skew_figures found = skew_guard_figures(guard);
        CASE_CHECK(found.setting == gains[i].density, "%d rows in %d checks: density %g instead of %g", gains[i].rows,
                   gains[i].of_checks, found.setting, gains[i].density);
    }
    CASE_CHECK(r->right <= PROBE, "%d rows of %d", r->right, (int)PROBE);
    return WEFT_OK;
}

static weft_status scores_of(weft_comm *comm, sync_mode mode)
{
    weft_hal *hal = NULL;
    regression *r = NULL;
    train_replica replica = {0};
    skew_guard *guard = NULL;
    sync_options sync = sync_options_default();
    const optimizer_options optimizer = {.kind = OPTIMIZER_SGD};
    const bool equal = mode == SYNC_TOPK;
    weft_status status = WEFT_OK;
    sync.mode = mode;
    sync.topk.dense_below = 0;
    sync.topk.exchange = SPARSE_ALL_GATHER;
    sync.shadow.gap = 1;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&r, 1, WEFT_MEM_GENERAL), status, done);
    WEFT_TRY_GOTO(weft_hal_open("ref", 1, &hal), status, done);
    WEFT_TRY_GOTO(regression_open(comm, hal, r), status, done);
    WEFT_TRY_GOTO(replica_create(comm, &r->params, &sync, &optimizer, NULL, false, &replica), status, done);
    WEFT_TRY_GOTO(skew_guard_create(comm, &r->model, &r->source, &replica, 1.0, 2000, &guard), status, done);
    if (guard != NULL) {
        status = check_scores(comm, r, &replica, guard, equal, mode == SYNC_DIVIDE_SHUFFLE);
        status = status == WEFT_OK && equal ? check_densities(r, &replica, guard) : status;
    } else if (mode != SYNC_DIVIDE_SHUFFLE || comm_size(comm) > 3) { /* which has one setting on so few ranks */
        status = weft_fail(WEFT_ERR_INTERNAL, "no guard of --sync %s", sync_mode_name(mode));
    }
done:
    skew_guard_destroy(guard);
    replica_destroy(&replica);
    if (r != NULL) {
        regression_close(r);
    }
    weft_free(r);
    weft_hal_close(hal);
    return status;
}

static weft_status case_scores(weft_comm *comm, void *argument)
{
    static const sync_mode modes[] = {SYNC_SHADOW, SYNC_DIVIDE_SHUFFLE, SYNC_TOPK};
    (void)argument;
    weft_comm *nodes = NULL; /* every rank is a node of its own, so that averages are sent */
    weft_status status = WEFT_OK;
    WEFT_TRY(comm_split(comm, 0, comm_rank(comm), &nodes));
    WEFT_TRY(comm_imitate_nodes(nodes, 1));
    for (int i = 0; i < 3 && comm_size(comm) > 1 && status == WEFT_OK; ++i) {
        status = scores_of(nodes, modes[i]);
    }
    comm_destroy(nodes);
    return status;
}

int main(void)
{
    static const comm_case cases[] = {{"scores", case_scores}};
    return comm_run_threads(cases, sizeof cases / sizeof *cases, comm_run_case_once);
}

/* Worker threads that train a model of clicks side by side: one gives the bits of none, several give what batches do
 * that are computed one by one on parameters and rows of some updates before; ranks end together, and learn as well.
 * trees: release asan tsan */
#include <omp.h>

#include "support/click_bench.h"
#include "train/loop/loop.h"
#include "train/loop/team.h"

enum { EPOCHS = 4, TURNS = 36, JUDGED = 48, WORKERS_MOST = 3 }; /* TURNS: steps of an epoch */
enum { VALUES_MOST = 4096, TEAM_RANKS = 2 };
#define RATE 0.05

typedef struct team_run {
    int workers; /* 0: none */
    sync_mode mode;
    optimizer_kind optimizer;
    const char *failure; /* what the loop is expected to say; NULL: it trains */
    double loss[EPOCHS], score;
    int64_t rows;
    float value[TEAM_RANKS][VALUES_MOST]; /* of each rank, at the end */
    int64_t values;
} team_run;

/* A rank's samples of each batch, one batch at a time. */
typedef struct team_source {
    const click_model_desc *desc;
    int rank, size;
    stream s;
    uint8_t split[64], ones[64];
    train_targets targets;
    train_source source;
} team_source;

static void take_share(team_source *t, bool training, uint32_t epoch, int64_t step)
{
    const int64_t whole = training ? BATCH : JUDGED;
    const int64_t begin = training ? ((int64_t)(epoch - 1) * TURNS + step) * BATCH : 1000000;
    const int64_t first = whole * t->rank / t->size, end = whole * (t->rank + 1) / t->size;
    stream_take(&t->s, t->desc, begin + first, end - first);
    for (int64_t i = 0; i < end - first; ++i) { /* what there is to learn: some ids, and a number */
        const uint64_t id = t->s.key[t->s.at[i * t->desc->fields]] % 2;
        t->s.target[i] = t->s.number[i * t->desc->numbers] + (id == 0 ? 0.5F : -0.5F) > 0.0F ? 1.0F : 0.0F;
        t->split[i] = training ? TRAIN_SPLIT_TRAIN : 2;
        t->ones[i] = 1;
    }
    t->targets = (train_targets){.rows = end - first,
                                 .outputs = 1,
                                 .loss = TRAIN_LOSS_BCE,
                                 .labelled = true,
                                 .target = t->s.target,
                                 .target_host = t->s.target,
                                 .split_host = t->split,
                                 .counted = {[0] = training ? BATCH : 0, [2] = training ? 0 : JUDGED},
                                 .mask = {[2] = training ? NULL : t->ones},
                                 .loss_entries = BATCH};
}

static weft_status next_batch(void *self, const train_pass *pass, train_batch *batch)
{
    team_source *t = self;
    take_share(t, pass->training, pass->epoch, pass->step);
    *batch = (train_batch){.input = &t->s.batch, .targets = &t->targets};
    return WEFT_OK;
}

static team_source *open_source(const click_model_desc *desc, weft_comm *comm)
{
    team_source *t = test_calloc(1, sizeof *t);
    t->desc = desc;
    t->rank = comm_rank(comm);
    t->size = comm_size(comm);
    t->source = (train_source){.self = t,
                               .steps = TURNS,
                               .eval_steps = 1,
                               .eval_rows = JUDGED * (t->rank + 1) / t->size - JUDGED * t->rank / t->size,
                               .loss_entries = BATCH * TURNS,
                               .loss = TRAIN_LOSS_BCE,
                               .outputs = 1,
                               .batch = next_batch};
    return t;
}

/* A model for a worker: a lane of the rows, and all else of its own. */
static weft_status open_worker(const bench *of, bench *b)
{
    click_model_desc desc = of->desc;
    desc.worker = true;
    *b = (bench){.comm = of->comm, .desc = desc};
    WEFT_TRY(weft_hal_open("cpu", 1, &b->hal));
    WEFT_TRY(embed_open_lane(of->table, KEYS_MOST, &b->table));
    WEFT_TRY(click_model_create(b->hal, b->comm, &b->desc, b->table, &b->model));
    b->train = click_model_interface(b->model);
    return WEFT_OK;
}

static void close_worker(bench *b)
{
    click_model_destroy(b->model);
    weft_hal_close(b->hal);
}

static weft_status hear(void *self, const train_epoch *epoch)
{
    team_run *run = self;
    run->loss[epoch->epoch - 1] = epoch->loss;
    run->score = epoch->score[2];
    return WEFT_OK;
}

static weft_status train(team_run *run, bench *b, const train_source *source)
{
    const train_observer observer = {.self = run, .on_epoch = hear};
    train_options options = {.epochs = EPOCHS,
                             .runs = 1,
                             .seed = 5,
                             .eval_every = 0,
                             .metric = TRAIN_METRIC_ROCAUC,
                             .sync = sync_options_default(),
                             .optimizer = {.kind = run->optimizer, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
                             .schedule = {.kind = SCHEDULE_CONSTANT, .base = RATE / 10, .epochs = EPOCHS}};
    train_result result;
    options.sync.mode = run->mode;
    options.sync.shadow.gap = 2;
    const weft_status status =
        train_loop(b->comm, b->hal, b->train, source, &options, comm_rank(b->comm) == 0 ? &observer : NULL, &result);
    weft_free(result.run);
    return status;
}

static weft_status team_rank(weft_comm *comm, void *argument)
{
    team_run *run = argument;
    const train_schedule schedule = {.kind = SCHEDULE_CONSTANT, .base = RATE, .epochs = 1};
    click_model_desc desc = small_desc(CLICK_DEEPFM);
    bench b, own[WORKERS_MOST];
    team_source *source[WORKERS_MOST + 1];
    train_worker worker[WORKERS_MOST];
    const train_workers workers = {.count = run->workers, .worker = worker};
    embed_figures figures;
    omp_set_num_threads(1); /* the library of OpenMP is not built for the thread sanitizer */
    desc.schedule = &schedule;
    desc.steps = TURNS;
    WEFT_TRY(bench_open(&b, comm, "cpu", 1, &desc, 0.1));
    source[0] = open_source(&desc, comm);
    for (int w = 0; w < run->workers; ++w) {
        WEFT_TRY(open_worker(&b, &own[w]));
        source[w + 1] = open_source(&desc, comm);
        worker[w] = (train_worker){own[w].train, &source[w + 1]->source};
    }
    b.train->workers = run->workers > 0 ? &workers : NULL;
    weft_status status = train(run, &b, &source[0]->source);
    if (status == WEFT_OK) {
        status = embed_measure(b.table, &figures);
        memcpy(run->value[comm_rank(comm)], b.train->params->value.data,
               (size_t)b.train->params->elements * sizeof(float));
        if (comm_rank(comm) == 0) {
            run->rows = figures.rows;
            run->values = b.train->params->elements;
        }
    }
    for (int w = 0; w < run->workers; ++w) {
        close_worker(&own[w]);
        test_free(source[w + 1]);
    }
    test_free(source[0]);
    bench_close(&b);
    return status;
}

static team_run *run_team(int ranks, team_run how)
{
    team_run *run = test_calloc(1, sizeof *run);
    *run = how;
    const weft_status status = comm_thread_run(ranks, team_rank, run);
    if (how.failure == NULL) {
        ASSERT_OK(status);
    } else {
        assert_int_equal(status, WEFT_ERR_USAGE);
        assert_non_null(strstr(weft_error_message(), how.failure));
    }
    return run;
}

static void one_worker_changes_no_bit(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= TEAM_RANKS; ++ranks) {
        team_run how = {.mode = SYNC_SHADOW, .optimizer = ranks == 2 ? OPTIMIZER_SGD : OPTIMIZER_ADAM};
        team_run *none = run_team(ranks, how);
        how.workers = 1;
        team_run *one = run_team(ranks, how);
        assert_memory_equal(one->loss, none->loss, sizeof one->loss);
        assert_memory_equal(one->value, none->value, sizeof one->value);
        assert_int_equal(one->rows, none->rows);
        test_free(none);
        test_free(one);
    }
}

/* ---- what several compute ---------------------------------------------------------------------------------------- */

/* Batches under way, the oldest first, of which each is computed when it ends: on the values that it began with. */
typedef struct delayed {
    bench own;
    team_source *source;
    train_batch batch;
    train_pass pass;
} delayed;

static void begin_delayed(const bench *b, delayed *d, int64_t update)
{
    d->pass = (train_pass){.training = true,
                           .seed = 5,
                           .epoch = (uint32_t)(update / TURNS + 1),
                           .step = update % TURNS,
                           .parts = 1,
                           .batch = &d->batch};
    ASSERT_OK(next_batch(d->source, &d->pass, &d->batch));
    ASSERT_OK(d->own.train->fetch(d->own.train->self, &d->pass));
    memcpy(d->own.train->params->value.data, b->train->params->value.data,
           (size_t)b->train->params->elements * sizeof(float));
}

/* Returns the loss. */
static double end_delayed(const bench *b, delayed *d)
{
    const param_store *own = d->own.train->params;
    weft_tensor logits;
    ASSERT_OK(d->own.train->forward(d->own.train->self, &d->pass, &logits));
    const double loss = log_loss(&d->source->s, &logits);
    ASSERT_OK(d->own.train->backward(d->own.train->self, &d->pass, &logits));
    ASSERT_OK(d->own.train->give(d->own.train->self, &d->pass));
    for (int64_t i = 0; i < own->trained; ++i) {
        ((float *)b->train->params->value.data)[i] -= (float)(RATE / 10) * ((const float *)own->grad.data)[i];
    }
    return loss;
}

/* One rank, plain steps, without threads. */
static weft_status train_delayed(weft_comm *comm, void *argument)
{
    team_run *run = argument;
    const train_schedule schedule = {.kind = SCHEDULE_CONSTANT, .base = RATE, .epochs = 1};
    click_model_desc desc = small_desc(CLICK_DEEPFM);
    bench b;
    delayed *d = test_calloc((size_t)run->workers, sizeof *d);
    desc.schedule = &schedule;
    desc.steps = TURNS;
    ASSERT_OK(bench_open(&b, comm, "cpu", 1, &desc, 0.1));
    ASSERT_OK(embed_clear(b.table, 7));
    ASSERT_OK(param_initialise(b.train->params, 5));
    for (int w = 0; w < run->workers; ++w) {
        ASSERT_OK(open_worker(&b, &d[w].own));
        d[w].source = open_source(&desc, comm);
    }
    for (int64_t epoch = 0; epoch < EPOCHS; ++epoch) {
        int64_t begun = 0;
        for (int64_t step = 0; step < TURNS; ++step) {
            const int64_t may = 1 + (epoch * TURNS + step) / TEAM_UPDATES;
            for (; begun < TURNS && begun - step < (may < run->workers ? may : run->workers); ++begun) {
                begin_delayed(&b, &d[begun % run->workers], epoch * TURNS + begun);
            }
            run->loss[epoch] += end_delayed(&b, &d[step % run->workers]) / TURNS;
        }
    }
    memcpy(run->value[0], b.train->params->value.data, (size_t)b.train->params->elements * sizeof(float));
    for (int w = 0; w < run->workers; ++w) {
        close_worker(&d[w].own);
        test_free(d[w].source);
    }
    test_free(d);
    bench_close(&b);
    return WEFT_OK;
}

static void several_miss_some_updates(void **state)
{
    (void)state;
    for (int workers = 2; workers <= WORKERS_MOST; ++workers) {
        const team_run how = {.mode = SYNC_SHADOW, .optimizer = OPTIMIZER_SGD, .workers = workers};
        team_run *run = run_team(1, how), *expected = test_calloc(1, sizeof *expected);
        *expected = how;
        ASSERT_OK(comm_thread_run(1, train_delayed, expected));
        for (int e = 0; e < EPOCHS; ++e) {
            ASSERT_NEAR(run->loss[e], expected->loss[e], 1e-6);
        }
        for (int64_t i = 0; i < run->values; ++i) {
            ASSERT_NEAR(run->value[0][i], expected->value[0][i], 1e-5);
        }
        test_free(run);
        test_free(expected);
    }
}

static void ranks_learn_together(void **state)
{
    (void)state;
    {
        const int ranks = TEAM_RANKS;
        team_run how = {.mode = SYNC_SHADOW, .optimizer = OPTIMIZER_ADAM};
        team_run *none = run_team(ranks, how);
        how.workers = 3;
        team_run *three = run_team(ranks, how), *again = run_team(ranks, how);
        assert_memory_equal(three->loss, again->loss, sizeof three->loss);
        assert_memory_equal(three->value, again->value, sizeof three->value);
        assert_memory_not_equal(three->value, none->value, sizeof three->value);
        assert_true(none->score > 0.9 && three->score > none->score - 0.02);
        assert_int_equal(three->rows, none->rows);
        for (int r = 1; r < ranks; ++r) { /* the run's last average stands on all ranks */
            assert_memory_equal(three->value[r], three->value[0], (size_t)three->values * sizeof(float));
        }
        test_free(none);
        test_free(three);
        test_free(again);
    }
}

static void exact_modes_refuse(void **state)
{
    (void)state;
    team_run *run = run_team(2, (team_run){.mode = SYNC_ALLREDUCE, .workers = 2, .failure = "--sync allreduce"});
    test_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_worker_changes_no_bit),
        cmocka_unit_test(several_miss_some_updates),
        cmocka_unit_test(ranks_learn_together),
        cmocka_unit_test(exact_modes_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

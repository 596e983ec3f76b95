/*
 * Training through the synchronisation core: when a bucket is reduced and how the gradient is cut changes no bit of the
 * parameters, nor does it where some ranks have a device and others none; top-k that sends everything is SGD; a
 * gradient that is not finite ends all ranks, with its name.
 * processors: one
 */
#include <math.h>

#include "support/labelled_graphs.h"
#include "support/train_rank.h"

enum { CLASSES = 3, EPOCHS = 20, MOST_ELEMENTS = 4096, MOST_RANKS = 8, NOBODY = -1 };

typedef struct sync_case {
    const labelled_graph *graph;
    const char *backend;
    const char *odd; /* of ranks 1, 3, ...; NULL: as the others */
    bool threaded;   /* every rank has a communication thread */
    train_options options;
    /* Make the gradient of this block NaN on this rank at this epoch. */
    int poisoned_rank, poisoned_block;
    int parted_rank; /* adds `parted` to a parameter after the last epoch; 0: nobody */
    /* results */
    int64_t elements;
    float value[MOST_RANKS][MOST_ELEMENTS]; /* of each rank, at its end */
    double loss[EPOCHS];
    sync_mode ran;
    sync_figures figures;
    uint64_t late_allocations;
    double drift, size; /* as the loop tells it; rank 0's root mean square after the last epoch, where somebody parts */
} sync_case;

static const float parted = 0.25F;

/* ---- a model that spoils its own gradient ------------------------------------------------------------------- */

typedef struct spoiled {
    gnn_model *model;
    const sync_case *c;
    int rank;
    const train_hooks *hooks; /* the loop's */
} spoiled;

static weft_status spoil_need(void *self, int block)
{
    const spoiled *s = self;
    return s->hooks->need(s->hooks->self, block);
}

static weft_status spoil_ready(void *self, int block)
{
    const spoiled *s = self;
    if (block == s->c->poisoned_block && s->rank == s->c->poisoned_rank) {
        weft_tensor grad = param_grad(&s->model->params, block);
        ((float *)grad.data)[0] = NAN;
    }
    return s->hooks->ready(s->hooks->self, block);
}

static weft_status spoiled_forward(void *self, const train_pass *pass, weft_tensor *logits)
{
    const spoiled *s = self;
    return s->model->interface.forward(s->model, pass, logits);
}

static weft_status spoiled_backward(void *self, const train_pass *pass, weft_tensor *dlogits)
{
    spoiled *s = self;
    train_hooks hooks = {.self = s, .need = spoil_need, .ready = spoil_ready};
    train_pass spoiling = *pass;
    if (pass->hooks == NULL || pass->epoch != 5) {
        return s->model->interface.backward(s->model, pass, dlogits);
    }
    s->hooks = pass->hooks;
    spoiling.hooks = &hooks;
    return s->model->interface.backward(s->model, &spoiling, dlogits);
}

/* ---- a rank -------------------------------------------------------------------------------------------------- */

static weft_status on_epoch(void *self, const train_epoch *epoch)
{
    sync_case *c = self;
    c->loss[epoch->epoch - 1] = epoch->loss;
    c->ran = epoch->sync;
    c->figures = epoch->figures;
    c->late_allocations += epoch->epoch > 2 ? epoch->allocations : 0;
    return WEFT_OK;
}

/* An observer of one rank. */
typedef struct rank_observer {
    sync_case *c;
    param_store *params;
    int rank;
} rank_observer;

static weft_status on_rank_epoch(void *self, const train_epoch *epoch)
{
    const rank_observer *o = self;
    float *value = o->params->value.data;
    if (epoch->epoch == EPOCHS && o->c->parted_rank > 0 && o->rank == o->c->parted_rank) {
        value[3] += parted;
    }
    double squares = 0.0;
    for (int64_t i = 0; o->rank == 0 && o->c->parted_rank > 0 && i < o->params->elements; ++i) {
        squares += (double)value[i] * (double)value[i];
    }
    if (o->rank == 0) {
        o->c->size = sqrt(squares / (double)o->params->elements);
    }
    return o->rank == 0 ? on_epoch(o->c, epoch) : WEFT_OK;
}

static weft_status train_model_of(weft_comm *comm, weft_hal *hal, sync_case *c, gnn_model *model,
                                  const train_targets *targets)
{
    int rank = comm_rank(comm);
    train_result result = {0};
    spoiled spoiled_model = {.model = model, .c = c, .rank = rank};
    train_model interface = model->interface;
    if (c->poisoned_rank != NOBODY) {
        interface.self = &spoiled_model;
        interface.forward = spoiled_forward;
        interface.backward = spoiled_backward;
    }
    rank_observer watching = {.c = c, .params = &model->params, .rank = rank};
    const train_observer observer = {.self = &watching, .on_epoch = on_rank_epoch, .on_run = train_rank_ignore_run};
    const train_source source = source_whole(targets);
    weft_status status = train_loop(comm, hal, &interface, &source, &c->options, &observer, &result);
    weft_free(result.run);
    WEFT_TRY(status);
    WEFT_CHECK(model->params.elements <= MOST_ELEMENTS, WEFT_ERR_INTERNAL, "the test's model is too large");
    if (rank == 0) {
        c->elements = model->params.elements;
        c->drift = result.drift;
    }
    return tensor_download(&model->params.value, c->value[rank]);
}

static weft_status case_rank(weft_comm *comm, void *argument)
{
    sync_case *c = argument;
    weft_partition partition = {0};
    train_rank rank = {.hal = NULL};
    const gnn_config config = {.kind = GNN_SAGE,
                               .layers = 3,
                               .inputs = 9,
                               .hidden = 17,
                               .outputs = CLASSES,
                               .norm = NORM_BATCH,
                               .dropout = 0.2f};
    weft_status status = train_rank_partition(&c->graph->graph, comm_size(comm), &partition);
    status = status == WEFT_OK && c->threaded ? comm_thread_start(comm, -1) : status;
    const char *backend = c->odd != NULL && comm_rank(comm) % 2 != 0 ? c->odd : c->backend;
    if (status == WEFT_OK) {
        status = train_rank_open(comm, backend, &c->graph->graph, &partition, &config, HAL_SPMM_ROWS, &rank);
    }
    if (status == WEFT_OK) {
        status = train_model_of(comm, rank.hal, c, rank.model, &rank.labels.targets);
    }
    train_rank_close(&rank);
    partition_destroy(&partition);
    return status;
}

/* ---- cases ----------------------------------------------------------------------------------------------------- */

static labelled_graph graph;

static int make_graph(void **state)
{
    const labelled_graph_spec spec = {
        .vertices = 60, .degree = 4, .features = 9, .classes = CLASSES, .isolated = 5, .seed = 1};
    (void)state;
    labelled_graph_make(&spec, &graph);
    return 0;
}

static int free_graph(void **state)
{
    (void)state;
    labelled_graph_free(&graph);
    return 0;
}

static sync_case *make_case(optimizer_kind optimizer)
{
    sync_case *c = calloc(1, sizeof *c);
    c->graph = &graph;
    c->backend = "cpu";
    c->poisoned_rank = NOBODY;
    c->options = (train_options){
        .epochs = EPOCHS,
        .runs = 1,
        .seed = 3,
        .eval_every = 5,
        .metric = TRAIN_METRIC_ACCURACY,
        .sync = sync_options_default(),
        .optimizer = {.kind = optimizer, .momentum = 0.9, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
        .schedule = {.kind = SCHEDULE_COSINE, .base = 0.02, .epochs = EPOCHS}};
    c->options.sync.topk.exchange = SPARSE_ALL_GATHER; /* topk selects, where a dense exchange would be as fast, too */
    c->options.optimizer.weight_decay = optimizer == OPTIMIZER_ADAM ? 1e-3 : 0.0;
    return c;
}

static void check_same(const sync_case *a, const sync_case *b, int ranks, const char *what)
{
    assert_int_equal(a->elements, b->elements);
    assert_true(a->drift == 0.0 && b->drift == 0.0);
    for (int r = 0; r < ranks; ++r) {
        if (memcmp(a->value[r], b->value[0], (size_t)b->elements * sizeof b->value[0][0]) != 0) {
            fail_msg("%s, rank %d of %d: parameters differ", what, r, ranks);
        }
    }
    for (size_t e = 0; e < sizeof b->loss / sizeof b->loss[0]; ++e) {
        if (a->loss[e] != b->loss[e]) {
            fail_msg("%s on %d ranks: losses differ in epoch %zu", what, ranks, e + 1);
        }
    }
}

/* Every gradient whole, when all are there. */
static sync_case *run_base(optimizer_kind optimizer, int ranks, const char *backend, bool threaded)
{
    sync_case *base = make_case(optimizer);
    base->backend = backend;
    base->threaded = threaded;
    base->options.sync.algorithm = COMM_ALGO_FIXED_ORDER;
    base->options.sync.overlap = OVERLAP_OFF;
    base->options.sync.bucket_bytes = 0;
    ASSERT_OK(comm_thread_run(ranks, case_rank, base));
    assert_true(base->loss[EPOCHS - 1] < base->loss[0]);
    return base;
}

/* The imitated device has the bits of the cpu; a device that is tested in its place has bits of its own, and so have
 * sums with a communication thread: rows of other ranks are added behind the rank's own then. */
static void bits_do_not_depend(optimizer_kind optimizer, int ranks)
{
    static const int64_t sizes[] = {0, 4096, 64};
    static const char *const backends[] = {"cpu", "shadow", "shadow"};
    const bool own_bits = strcmp(test_device("shadow"), "shadow") != 0;
    sync_case *base = run_base(optimizer, ranks, "cpu", false);
    const int cases = own_bits ? 18 : 12; /* threads ask devices alone, of which shadow is not one */
    for (int i = 0; i < cases; ++i) {
        if ((i == 6 && own_bits) || i == 12) {
            free(base);
            base = run_base(optimizer, ranks, "shadow", i == 12);
        }
        sync_case *c = make_case(optimizer);
        char what[160];
        c->options.sync.algorithm = COMM_ALGO_FIXED_ORDER;
        c->options.sync.overlap = i % 2 == 0 ? OVERLAP_SPLIT : OVERLAP_BACKWARD;
        c->options.sync.bucket_bytes = sizes[i / 2 % 3];
        c->backend = backends[i / 6];
        c->threaded = i / 6 == 2;
        snprintf(what, sizeof what, "overlap %d, buckets of %lld bytes, backend %s%s, optimiser %d",
                 (int)c->options.sync.overlap, (long long)c->options.sync.bucket_bytes, c->backend,
                 c->threaded ? ", threads" : "", (int)optimizer);
        ASSERT_OK(comm_thread_run(ranks, case_rank, c));
        check_same(c, base, ranks, what);
        free(c);
    }
    free(base);
}

static void test_bits_do_not_depend_on_buckets_or_overlap(void **state)
{
    static const int ranks[] = {1, 2, 3};
    (void)state;
    for (int i = 0; i < 3; ++i) {
        bits_do_not_depend(OPTIMIZER_SGD, ranks[i]);
        bits_do_not_depend(OPTIMIZER_ADAM, ranks[i]);
    }
}

/* Every step of the test would send a quarter, and everything pays from a twentieth on; steps that select come
 * later. */
static void send_everything_for_now(sync_options *sync)
{
    sync->topk.exchange = SPARSE_AUTO;
    sync->topk.preferred = (sparse_choice){.exchange = SPARSE_ALL_GATHER, .dense_from = 0.05};
    sync->topk.density = 0.01;
    sync->topk.warmup = 1000000000;
    sync->topk.dense_below = 1; /* all matrices are selected from */
}

/* With everything sent nothing waits, and momentum is that of all-reduce: in steps of a mode that selects later, and in
 * a mode that never selects, which is all-reduce itself. */
static void test_topk_that_sends_everything_is_sgd(void **state)
{
    static const int ranks[] = {2, 4, 7};
    (void)state;
    for (int i = 0; i < 12; ++i) {
        sync_case *exact = make_case(i < 9 ? OPTIMIZER_SGD : OPTIMIZER_ADAM);
        sync_case *topk = make_case(i < 9 ? OPTIMIZER_SGD : OPTIMIZER_ADAM);
        const bool never_selects = i % 2 == 0;
        topk->options.sync.mode = SYNC_TOPK;
        topk->options.sync.topk.dense_below = 64;
        topk->options.sync.bucket_bytes = 2048;
        topk->options.optimizer.momentum = exact->options.optimizer.momentum = i % 3 == 0 ? 0.0 : 0.9;
        topk->options.optimizer.nesterov = exact->options.optimizer.nesterov = i == 8;
        topk->options.sync.topk.density = 1.0;
        if (!never_selects) {
            send_everything_for_now(&topk->options.sync);
        }
        ASSERT_OK(comm_thread_run(ranks[i / 3 % 3], case_rank, exact));
        ASSERT_OK(comm_thread_run(ranks[i / 3 % 3], case_rank, topk));
        assert_int_equal(topk->ran, never_selects ? SYNC_ALLREDUCE : SYNC_TOPK);
        for (int e = 0; e < EPOCHS; ++e) {
            ASSERT_NEAR(topk->loss[e], exact->loss[e], 1e-4);
        }
        free(exact);
        free(topk);
    }
}

/* Momentum correction is momentum of weight decay too: its pull is ten times that of the plain rule. */
static void test_topk_decays_as_sgd(void **state)
{
    (void)state;
    sync_case *exact = make_case(OPTIMIZER_SGD);
    sync_case *topk = make_case(OPTIMIZER_SGD);
    sync_case *plain = make_case(OPTIMIZER_SGD);
    sync_case *const cases[] = {exact, topk, plain};
    double squares[3] = {0.0};
    topk->options.sync.mode = SYNC_TOPK;
    send_everything_for_now(&topk->options.sync);
    for (int i = 0; i < 3; ++i) {
        cases[i]->options.optimizer.weight_decay = i < 2 ? 0.05 : 0.005;
        cases[i]->options.schedule.kind = SCHEDULE_CONSTANT;
        ASSERT_OK(comm_thread_run(2, case_rank, cases[i]));
        for (int64_t e = 0; e < cases[i]->elements; ++e) {
            squares[i] += (double)cases[i]->value[0][e] * (double)cases[i]->value[0][e];
        }
    }
    assert_int_equal(topk->ran, SYNC_TOPK);
    ASSERT_NEAR(squares[1] / squares[0], 1.0, 0.02);
    assert_true(squares[2] / squares[0] > 1.1);
    for (size_t i = 0; i < 3; ++i) {
        free(cases[i]);
    }
}

/* Sending a twentieth of the gradient still trains, and every rank holds the same bits. */
static void test_topk_trains(void **state)
{
    static const char *const backends[] = {"cpu", "shadow"};
    (void)state;
    for (int i = 0; i < 2; ++i) {
        sync_case *c = make_case(OPTIMIZER_SGD);
        c->backend = backends[i];
        c->options.sync.mode = SYNC_TOPK;
        c->options.sync.topk.density = 0.05;
        c->options.sync.topk.exchange = i == 0 ? SPARSE_HIERARCHICAL : SPARSE_ALL_GATHER;
        c->options.sync.topk.warmup = 5;
        c->options.sync.topk.dense_below = 64;
        ASSERT_OK(comm_thread_run(4, case_rank, c));
        assert_true(c->figures.density > 0.04 && c->figures.density < 0.3);
        assert_true(c->loss[EPOCHS - 1] < 0.95 * c->loss[0]);
        for (int r = 1; r < 4; ++r) {
            assert_memory_equal(c->value[r], c->value[0], (size_t)c->elements * sizeof c->value[0][0]);
        }
        free(c);
    }
}

/* What is done on a device where all ranks have one is done in host memory, so that all see the same sums. */
static void test_some_ranks_have_devices(void **state)
{
    static const struct {
        sync_mode mode;
        comm_wire wire;
        sync_overlap overlap;
    } rows[] = {{SYNC_ALLREDUCE, COMM_WIRE_SAME, OVERLAP_BACKWARD},
                {SYNC_ALLREDUCE, COMM_WIRE_BF16, OVERLAP_SPLIT},
                {SYNC_TOPK, COMM_WIRE_SAME, OVERLAP_BACKWARD},
                {SYNC_DIVIDE_SHUFFLE, COMM_WIRE_SAME, OVERLAP_BACKWARD}};
    const bool imitated = strcmp(test_device("shadow"), "shadow") == 0; /* the device computes the bits of cpu */
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        sync_case *c[2];
        for (int mixed = 0; mixed < 2; ++mixed) {
            c[mixed] = make_case(OPTIMIZER_SGD);
            c[mixed]->odd = mixed != 0 ? "shadow" : NULL;
            c[mixed]->options.sync.mode = rows[i].mode;
            c[mixed]->options.sync.wire = rows[i].wire;
            c[mixed]->options.sync.overlap = rows[i].overlap;
            c[mixed]->options.sync.topk.density = 0.05;
            c[mixed]->options.sync.topk.dense_below = 64;
            ASSERT_OK(comm_thread_run(4, case_rank, c[mixed]));
        }
        if (imitated) {
            check_same(c[1], c[0], 4, sync_mode_name(rows[i].mode));
        }
        assert_true(c[1]->drift < 1e-4);
        for (int e = 0; e < EPOCHS; ++e) {
            ASSERT_NEAR(c[1]->loss[e], c[0]->loss[e], 1e-4);
        }
        free(c[0]);
        free(c[1]);
    }
}

static void test_nan_on_one_rank_ends_all(void **state)
{
    static const sync_mode modes[] = {SYNC_ALLREDUCE, SYNC_ALLREDUCE, SYNC_TOPK};
    static const sync_overlap overlaps[] = {OVERLAP_BACKWARD, OVERLAP_SPLIT, OVERLAP_BACKWARD};
    (void)state;
    for (int i = 0; i < 3; ++i) {
        sync_case *c = make_case(OPTIMIZER_ADAM);
        c->backend = "ref";
        c->options.sync.mode = modes[i];
        c->options.sync.overlap = overlaps[i];
        c->options.sync.topk.dense_below = 64;
        c->options.sync.bucket_bytes = 1024;
        c->poisoned_rank = 2;
        c->poisoned_block = 4; /* the second layer's weights */
        ASSERT_STATUS(comm_thread_run(4, case_rank, c), WEFT_ERR_DIVERGED);
        ASSERT_MESSAGE("epoch 5");
        ASSERT_MESSAGE("layer1");
        free(c);
    }
}

/* Replicas that part on their own are told, and how far. */
static void test_drift_is_told(void **state)
{
    (void)state;
    for (int rank = 1; rank < 3; ++rank) {
        sync_case *c = make_case(OPTIMIZER_ADAM);
        c->parted_rank = rank;
        ASSERT_OK(comm_thread_run(3, case_rank, c));
        ASSERT_NEAR(c->drift * c->size / (double)parted, 1.0, 1e-5);
        free(c);
    }
}

static void test_epochs_allocate_nothing(void **state)
{
    (void)state;
    for (int split = 0; split < 2; ++split) {
        sync_case *c = make_case(OPTIMIZER_ADAM);
        c->options.sync.overlap = split == 1 ? OVERLAP_SPLIT : OVERLAP_BACKWARD;
        c->options.eval_every = 1;
        ASSERT_OK(comm_thread_run(1, case_rank, c));
        assert_int_equal(c->late_allocations, 0);
        free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits_do_not_depend_on_buckets_or_overlap),
        cmocka_unit_test(test_topk_that_sends_everything_is_sgd),
        cmocka_unit_test(test_topk_decays_as_sgd),
        cmocka_unit_test(test_topk_trains),
        cmocka_unit_test(test_some_ranks_have_devices),
        cmocka_unit_test(test_nan_on_one_rank_ends_all),
        cmocka_unit_test(test_drift_is_told),
        cmocka_unit_test(test_epochs_allocate_nothing),
    };
    return cmocka_run_group_tests(tests, make_graph, free_graph);
}

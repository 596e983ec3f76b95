/*
 * A training that is stopped and goes on, again and again, ends with the bits of one that was never stopped: parameters
 * of every rank, losses and scores of every epoch, results of every run; over ranks, optimisers, models,
 * synchronisation modes and backends. On another number of ranks it ends within rounding.
 * trees: release asan
 * processors: one
 */
#include "base/log.h"
#include "io/npy.h"
#include "support/folder.h"
#include "support/labelled_graphs.h"
#include "support/train_rank.h"

enum { CLASSES = 3, EPOCHS = 9, RUNS = 2, MOST_ELEMENTS = 4096, MOST_RANKS = 4 };

typedef struct stop_case {
    const char *name;
    int ranks, runs;
    gnn_config config;
    const char *backend;
    train_options options;
    const char *folder; /* of checkpoints; NULL: none are written */
    int64_t stop_after; /* epochs of each start; 0: never */
    /* results */
    checkpoint *from;
    int starts;
    int64_t trained_here[MOST_RANKS]; /* epochs of this start, by rank */
    int64_t elements;
    float value[MOST_RANKS][MOST_ELEMENTS]; /* of each rank, at its end */
    double loss[RUNS][EPOCHS], score[RUNS][EPOCHS][TRAIN_SPLITS];
    train_run result[RUNS];
    int64_t epochs;
} stop_case;

static labelled_graph graph;

/* ---- a start --------------------------------------------------------------------------------------------------- */

/* A rank's view of its case. */
typedef struct rank_view {
    stop_case *c;
    int rank;
} rank_view;

static weft_status on_epoch(void *self, const train_epoch *epoch)
{
    const rank_view *view = self;
    stop_case *c = view->c;
    c->trained_here[view->rank] += 1;
    if (view->rank == 0) {
        c->loss[epoch->run][epoch->epoch - 1] = epoch->loss;
        memcpy(c->score[epoch->run][epoch->epoch - 1], epoch->score, sizeof epoch->score);
    }
    return WEFT_OK;
}

/* In the middle of an epoch. */
static bool asked(void *self)
{
    const rank_view *view = self;
    const stop_case *c = view->c;
    return c->stop_after > 0 && c->trained_here[view->rank] + 1 >= c->stop_after;
}

static weft_status train_model_of(weft_comm *comm, weft_hal *hal, stop_case *c, gnn_model *model,
                                  const train_targets *targets)
{
    int rank = comm_rank(comm);
    train_result result = {0};
    train_options options = c->options;
    rank_view view = {.c = c, .rank = rank};
    /* Any rank may ask: here the last one does. */
    const train_checkpoints checkpoints = {.folder = c->folder,
                                           .data_hash = "of the test",
                                           .threads = 1,
                                           .every_epochs = 4,
                                           .self = &view,
                                           .asked_to_stop = rank == comm_size(comm) - 1 ? asked : NULL,
                                           .resume = rank == 0 ? c->from : NULL};
    options.checkpoints = c->folder != NULL ? &checkpoints : NULL;
    const train_observer observer = {.self = &view, .on_epoch = on_epoch, .on_run = train_rank_ignore_run};
    const train_source source = source_whole(targets);
    weft_status status = train_loop(comm, hal, &model->interface, &source, &options, &observer, &result);
    if (status == WEFT_OK && rank == 0) {
        memcpy(c->result, result.run, (size_t)result.runs * sizeof *result.run);
        c->elements = model->params.elements;
        c->epochs = result.epochs;
    }
    weft_free(result.run);
    WEFT_TRY(status);
    WEFT_CHECK(model->params.elements <= MOST_ELEMENTS, WEFT_ERR_INTERNAL, "the test's model is too large");
    return tensor_download(&model->params.value, c->value[rank]);
}

static weft_status start_rank(weft_comm *comm, void *argument)
{
    stop_case *c = argument;
    weft_partition partition = {0};
    train_rank rank = {.hal = NULL};
    weft_status status = train_rank_partition(&graph.graph, comm_size(comm), &partition);
    if (status == WEFT_OK) {
        status = train_rank_open(comm, c->backend, &graph.graph, &partition, &c->config, HAL_SPMM_ROWS, &rank);
    }
    if (status == WEFT_OK) {
        status = train_model_of(comm, rank.hal, c, rank.model, &rank.labels.targets);
    }
    train_rank_close(&rank);
    partition_destroy(&partition);
    return status;
}

/* Start after start until the training is complete. */
static void train_in_pieces(stop_case *c)
{
    weft_status status = WEFT_STOPPED;
    while (status == WEFT_STOPPED) {
        memset(c->trained_here, 0, sizeof c->trained_here);
        c->starts += 1;
        status = comm_thread_run(c->ranks, start_rank, c);
        checkpoint_close(c->from);
        c->from = NULL;
        if (status == WEFT_STOPPED) {
            ASSERT_OK(checkpoint_open(c->folder, &c->from));
        }
        assert_true(c->starts <= EPOCHS * RUNS);
    }
    if (status != WEFT_OK) {
        fail_msg("%s: %s", c->name, weft_error_message());
    }
}

/* ---- cases ----------------------------------------------------------------------------------------------------- */

static int make_graph(void **state)
{
    const labelled_graph_spec spec = {
        .vertices = 60, .degree = 4, .features = 9, .classes = CLASSES, .isolated = 5, .seed = 1};
    labelled_graph_make(&spec, &graph);
    return folder_setup(state);
}

static int free_graph(void **state)
{
    labelled_graph_free(&graph);
    return folder_teardown(state);
}

static stop_case make_case(const char *name, int ranks, optimizer_kind optimizer)
{
    stop_case c = {.name = name, .ranks = ranks, .runs = 1, .backend = "cpu"};
    c.config = (gnn_config){.kind = GNN_SAGE,
                            .layers = 2,
                            .inputs = 9,
                            .hidden = 11,
                            .outputs = CLASSES,
                            .norm = NORM_BATCH,
                            .dropout = 0.3f};
    c.options = (train_options){
        .epochs = EPOCHS,
        .runs = 1,
        .seed = 3,
        .eval_every = 2,
        .metric = TRAIN_METRIC_ACCURACY,
        .sync = sync_options_default(),
        .optimizer = {.kind = optimizer, .momentum = 0.9, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
        .schedule = {.kind = SCHEDULE_COSINE, .base = 0.02, .epochs = EPOCHS}};
    c.options.sync.topk.exchange = SPARSE_ALL_GATHER; /* topk selects, where a dense exchange would be as fast, too */
    return c;
}

static bool same_bits(const void *a, const void *b, size_t bytes)
{
    return memcmp(a, b, bytes) == 0;
}

static void check_same(const stop_case *a, const stop_case *b)
{
    assert_int_equal(a->elements, b->elements);
    assert_int_equal(a->epochs, b->epochs);
    for (int r = 0; r < a->ranks; ++r) {
        if (!same_bits(a->value[r], b->value[r], (size_t)a->elements * sizeof a->value[0][0])) {
            fail_msg("%s, rank %d of %d: parameters differ after %d starts", a->name, r, a->ranks, a->starts);
        }
    }
    if (!same_bits(a->loss, b->loss, sizeof a->loss) || !same_bits(a->score, b->score, sizeof a->score)) {
        fail_msg("%s on %d ranks: losses or scores differ", a->name, a->ranks);
    }
    for (int r = 0; r < a->runs; ++r) {
        const train_run *x = &a->result[r];
        const train_run *y = &b->result[r];
        if (x->best_valid != y->best_valid || x->final_test != y->final_test || x->best_epoch != y->best_epoch ||
            x->epochs != y->epochs || x->best_train != y->best_train || x->final_loss != y->final_loss) {
            fail_msg("%s on %d ranks: the result of run %d differs", a->name, a->ranks, r);
        }
    }
}

static void goes_on_to_the_bit(void **state, const stop_case *base, int64_t stop_after)
{
    stop_case *whole = calloc(1, sizeof *whole);
    stop_case *pieces = calloc(1, sizeof *pieces);
    *whole = *base;
    *pieces = *base;
    pieces->folder = in_folder(state, "ckpt");
    pieces->stop_after = stop_after;
    train_in_pieces(whole);
    train_in_pieces(pieces);
    assert_true(whole->result[0].best_epoch > 0 && pieces->starts > 1);
    check_same(pieces, whole);
    ASSERT_OK(folder_remove(pieces->folder));
    free(whole);
    free(pieces);
}

static void test_exact_modes(void **state)
{
    for (int ranks = 1; ranks <= 3; ++ranks) {
        for (int i = 0; i < 4; ++i) {
            stop_case c = make_case("allreduce", ranks, i % 2 == 0 ? OPTIMIZER_ADAM : OPTIMIZER_SGD);
            c.config.kind = i < 2 ? GNN_SAGE : GNN_GCN;
            c.options.optimizer.nesterov = i == 3;
            c.options.optimizer.weight_decay = i == 0 ? 1e-3 : 0;
            c.options.sync.overlap = i == 1 ? OVERLAP_SPLIT : OVERLAP_BACKWARD;
            c.options.sync.bucket_bytes = 512;
            goes_on_to_the_bit(state, &c, 1 + i);
        }
    }
}

/* What runs on beside the parameters, and decides over the rate. */
static void test_average_and_plateau(void **state)
{
    for (int ranks = 1; ranks <= 3; ++ranks) {
        for (int sgd = 0; sgd < 2; ++sgd) {
            stop_case c = make_case("average", ranks, sgd ? OPTIMIZER_SGD : OPTIMIZER_ADAMW);
            c.options.optimizer.weight_decay = 0.1;
            c.options.optimizer.clip_norm = 0.5;
            c.options.optimizer.average = 0.7;
            c.options.sync.overlap = OVERLAP_SPLIT;
            c.options.schedule.kind = SCHEDULE_PLATEAU;
            c.options.schedule.gamma = 0.5;
            c.options.eval_every = 1;
            c.runs = c.options.runs = RUNS;
            goes_on_to_the_bit(state, &c, 2 + sgd);
        }
    }
}

static void test_runs_and_patience(void **state)
{
    for (int ranks = 1; ranks <= 2; ++ranks) {
        stop_case c = make_case("two runs", ranks, OPTIMIZER_ADAM);
        c.runs = c.options.runs = RUNS;
        goes_on_to_the_bit(state, &c, 3);
        c.name = "patience";
        c.options.patience = 2;
        c.options.eval_every = 1;
        goes_on_to_the_bit(state, &c, 2);
        c.name = "evaluated at the end only";
        c.options.patience = 0;
        c.options.eval_every = 0;
        goes_on_to_the_bit(state, &c, 4);
    }
}

static void test_topk(void **state)
{
    for (int i = 0; i < 4; ++i) {
        stop_case c = make_case("topk", 2 + i % 2, i < 2 ? OPTIMIZER_SGD : OPTIMIZER_ADAM);
        c.options.sync.mode = SYNC_TOPK;
        c.options.sync.topk.density = 0.1;
        c.options.sync.topk.warmup = 4;
        c.options.sync.topk.dense_below = 16;
        c.options.sync.bucket_bytes = i % 2 == 0 ? 0 : 512;
        c.options.sync.topk.exchange = i % 2 == 0 ? SPARSE_HIERARCHICAL : SPARSE_OK_TOPK;
        goes_on_to_the_bit(state, &c, 2);
    }
}

static void test_local_updates(void **state)
{
    for (int i = 0; i < 12; ++i) {
        bool shadow = i < 10 && i % 5 < 3;
        stop_case c = make_case(shadow ? "shadow" : "divide-shuffle", shadow ? 2 + i % 2 : 4,
                                i < 5 || i >= 10 ? OPTIMIZER_ADAM : OPTIMIZER_SGD);
        c.options.sync.mode = shadow ? SYNC_SHADOW : SYNC_DIVIDE_SHUFFLE;
        c.options.sync.shadow.algorithm = (sync_shadow_algorithm)(i % 3);
        c.options.sync.shadow.block_momentum = 0.3;
        c.options.sync.shadow.gap = 1 + i % 3;
        c.options.sync.divide_shuffle.group = 2;
        c.options.sync.divide_shuffle.full_every = i % 2 == 0 ? 0 : 3;
        c.options.sync.tracking = i >= 10                    ? SYNC_TRACKING_MOMENTS
                                  : i % 5 == 2 || i % 5 == 4 ? SYNC_TRACKING_ON
                                                             : SYNC_TRACKING_OFF;
        goes_on_to_the_bit(state, &c, 1 + i % 3);
    }
}

/* Rows of other ranks that a model remembers, one leg for every sum of a pass: hops of sgc are sums of one layer. */
static void test_remembered_rows(void **state)
{
    static const gnn_config models[] = {{.kind = GNN_SGC, .layers = 2, .order = GNN_ORDER_LINEAR_FIRST},
                                        {.kind = GNN_SGC, .layers = 3, .input_dropout = 0.2f},
                                        {.kind = GNN_SAGE, .layers = 3, .order = GNN_ORDER_AGGREGATE_FIRST},
                                        {.kind = GNN_GCN, .layers = 1, .order = GNN_ORDER_LINEAR_FIRST},
                                        {.kind = GNN_GIN, .layers = 2, .learns_eps = true}};
    static const gnn_halo_options halos[] = {{.delay = 2},
                                             {.delay = 1, .hidden = true},
                                             {.delay = 3, .hidden = true, .fresh_gradients = true},
                                             {.delay = 2, .codec = HAL_ROWS_INT8}};
    for (int i = 0; i < 20; ++i) {
        stop_case c = make_case("remembered rows", 2 + i % 2, OPTIMIZER_ADAM);
        const gnn_config *model = &models[i % 5];
        c.config.kind = model->kind;
        c.config.layers = model->layers;
        c.config.order = model->order;
        c.config.learns_eps = model->learns_eps;
        c.config.input_dropout = model->input_dropout;
        c.config.halo = halos[i / 5];
        goes_on_to_the_bit(state, &c, 3);
    }
}

static void test_memory_of_its_own(void **state)
{
    static const sync_mode modes[] = {SYNC_ALLREDUCE, SYNC_TOPK, SYNC_DIVIDE_SHUFFLE, SYNC_DIVIDE_SHUFFLE};
    for (int i = 0; i < 4; ++i) {
        stop_case c = make_case("backend with memory of its own", 2, OPTIMIZER_ADAM);
        c.backend = "shadow";
        c.options.sync.mode = modes[i];
        c.options.sync.topk.dense_below = 16;
        c.options.sync.tracking = i == 3 ? SYNC_TRACKING_MOMENTS : SYNC_TRACKING_AUTO;
        goes_on_to_the_bit(state, &c, 3);
    }
}

/* Written by one number of ranks, continued by another. Batch statistics and dropout do not know how many there are. */
static void test_other_ranks(void **state)
{
    static const int counts[][2] = {{1, 3}, {3, 2}, {2, 1}};
    for (int i = 0; i < 3; ++i) {
        stop_case *whole = calloc(1, sizeof *whole);
        stop_case *moved = calloc(1, sizeof *moved);
        *whole = make_case("other ranks", counts[i][0], OPTIMIZER_ADAM);
        *moved = *whole;
        moved->folder = in_folder(state, "ckpt");
        moved->stop_after = 4;
        train_in_pieces(whole);
        assert_int_equal(comm_thread_run(moved->ranks, start_rank, moved), WEFT_STOPPED);
        ASSERT_OK(checkpoint_open(moved->folder, &moved->from));
        assert_int_equal(checkpoint_ranks(moved->from), counts[i][0]);
        moved->ranks = counts[i][1];
        moved->stop_after = 0;
        train_in_pieces(moved);
        for (int e = 0; e < EPOCHS; ++e) {
            ASSERT_NEAR(moved->loss[0][e], whole->loss[0][e], 1e-4);
        }
        ASSERT_OK(folder_remove(moved->folder));
        free(whole);
        free(moved);
    }
}

/* The sum of the numbers in an .npz, or of its one array of this name. */
static double sum_of(const char *path, const char *name)
{
    npz_file *npz = NULL;
    double sum = 0;
    ASSERT_OK(npz_open(path, &npz));
    for (int i = 0; i < npz_count(npz); ++i) {
        npy_array array;
        float *values = NULL;
        if (name != NULL && strcmp(npz_name(npz, i), name) != 0) {
            continue;
        }
        ASSERT_OK(npz_read(npz, i, &array));
        ASSERT_OK(npy_array_to_f32(name, &array, &values));
        for (int64_t k = 0; k < array.header.count; ++k) {
            sum += values[k];
        }
        npy_array_free(&array);
        weft_free(values);
    }
    npz_close(npz);
    return sum;
}

/* What a mode remembers of other ranks is dropped; training goes on from the mean of the replicas, which for plain SGD
 * is close to where the exact mode is. */
static void test_lossy_modes_on_other_ranks(void **state)
{
    static const sync_mode modes[] = {SYNC_TOPK, SYNC_DIVIDE_SHUFFLE, SYNC_SHADOW};
    for (int i = 0; i < 3; ++i) {
        stop_case *whole = calloc(1, sizeof *whole);
        stop_case *c = calloc(1, sizeof *c);
        *c = make_case("lossy mode on other ranks", 3, OPTIMIZER_SGD);
        c->options.optimizer.momentum = 0;
        c->options.sync.mode = modes[i];
        c->options.sync.topk.density = 0.5;
        c->options.sync.topk.dense_below = 16;
        c->options.sync.shadow.gap = 2;
        *whole = *c;
        whole->options.sync.mode = SYNC_ALLREDUCE;
        train_in_pieces(whole);
        c->folder = in_folder(state, "ckpt");
        c->stop_after = 5;
        assert_int_equal(comm_thread_run(3, start_rank, c), WEFT_STOPPED);
        double mean = (sum_of(in_folder(state, "ckpt/epoch-00000005/rank-00000.npz"), "parameters") +
                       sum_of(in_folder(state, "ckpt/epoch-00000005/rank-00001.npz"), "parameters") +
                       sum_of(in_folder(state, "ckpt/epoch-00000005/rank-00002.npz"), "parameters")) /
                      3;
        ASSERT_NEAR(sum_of(in_folder(state, "ckpt/epoch-00000005/last.npz"), NULL), mean, 1e-4);
        ASSERT_OK(checkpoint_open(c->folder, &c->from));
        c->ranks = 2;
        c->stop_after = 0;
        train_in_pieces(c);
        ASSERT_NEAR(c->loss[0][5], whole->loss[0][5], 0.05);
        ASSERT_OK(folder_remove(c->folder));
        free(whole);
        free(c);
    }
}

/* Who keeps the velocity changes with the mode: it begins anew, and the training goes on. */
static void test_another_mode(void **state)
{
    for (int i = 0; i < 2; ++i) {
        const sync_mode before = i == 0 ? SYNC_TOPK : SYNC_ALLREDUCE;
        const sync_mode after = i == 0 ? SYNC_ALLREDUCE : SYNC_TOPK;
        stop_case *c = calloc(1, sizeof *c);
        *c = make_case("another mode", 2, OPTIMIZER_SGD);
        c->options.sync.mode = before;
        c->options.sync.topk.dense_below = 16;
        c->options.sync.topk.density = 0.5;
        c->folder = in_folder(state, "ckpt");
        c->stop_after = 4;
        assert_int_equal(comm_thread_run(2, start_rank, c), WEFT_STOPPED);
        ASSERT_OK(checkpoint_open(c->folder, &c->from));
        assert_string_equal(checkpoint_sync(c->from), sync_mode_name(before));
        c->options.sync.mode = after;
        c->stop_after = 0;
        train_in_pieces(c);
        assert_true(c->epochs == EPOCHS && isfinite(c->loss[0][EPOCHS - 1]));
        ASSERT_OK(folder_remove(c->folder));
        free(c);
    }
}

/* The checkpoint itself: two of them, the newest last, with both sets of parameters. */
static void test_what_is_kept(void **state)
{
    stop_case *c = calloc(1, sizeof *c);
    checkpoint *ck = NULL;
    *c = make_case("kept", 2, OPTIMIZER_ADAM);
    c->folder = in_folder(state, "ckpt");
    train_in_pieces(c);
    assert_true(file_exists(in_folder(state, "ckpt/epoch-00000009")));
    assert_true(file_exists(in_folder(state, "ckpt/epoch-00000008")));
    assert_false(file_exists(in_folder(state, "ckpt/epoch-00000004")));
    ASSERT_OK(checkpoint_open((const char *)*state, &ck)); /* as a run folder */
    const train_progress *p = checkpoint_progress(ck);
    assert_true(p->run == 0 && p->epoch == EPOCHS && p->trained == EPOCHS && p->run_ended);
    assert_true(p->result[0].best_valid == c->result[0].best_valid);
    assert_int_equal(checkpoint_ranks(ck), 2);
    assert_string_equal(checkpoint_data_hash(ck), "of the test");
    assert_string_equal(checkpoint_sync(ck), "allreduce");
    assert_null(checkpoint_option(ck, "model"));
    c->from = ck; /* the result once more, without an epoch */
    memset(c->trained_here, 0, sizeof c->trained_here);
    float value = c->value[1][3];
    c->value[1][3] = -value;
    ASSERT_OK(comm_thread_run(2, start_rank, c));
    assert_int_equal(c->trained_here[0], 0);
    assert_true(c->value[1][3] == value && c->epochs == EPOCHS);
    checkpoint_close(ck);
    ASSERT_OK(folder_remove(c->folder));
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_modes),       cmocka_unit_test(test_average_and_plateau),
        cmocka_unit_test(test_runs_and_patience), cmocka_unit_test(test_topk),
        cmocka_unit_test(test_local_updates),     cmocka_unit_test(test_remembered_rows),
        cmocka_unit_test(test_memory_of_its_own), cmocka_unit_test(test_other_ranks),
        cmocka_unit_test(test_what_is_kept),      cmocka_unit_test(test_lossy_modes_on_other_ranks),
        cmocka_unit_test(test_another_mode),
    };
    log_set_level(LOG_QUIET);
    return cmocka_run_group_tests(tests, make_graph, free_graph);
}

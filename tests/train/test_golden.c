/*
 * Twenty epochs against a frozen PyTorch run (tests/golden): logits, gradients and losses of GraphSAGE (mean, gcn and
 * max), GCN, plain and with residual and jumping connections, GIN, SGC, GAT and GATv2, and three of them over edges
 * with weights, in double precision on one rank and on three, and in single precision on the fast backend. One GCN has
 * AdamW, clipped gradients, the moving average of its weights, and a rate that follows the scores.
 * trees: release clang
 * room: gnn
 */
#include <math.h>
#include <unistd.h>

#include "gnn/dataset.h"
#include "gnn/gnn_model.h"
#include "io/npy.h"
#include "support/test.h"
#include "train/loop/class_weights.h"
#include "train/loop/loop.h"

enum { EPOCHS = 20, NARROW_MODELS = 4 };

typedef struct golden_graph {
    weft_graph graph;
    npy_array array[5];
} golden_graph;

typedef struct golden_case {
    const golden_graph *graph;
    const char *file;
    gnn_config config;
    weft_dtype dtype;
    const char *backend;
    double tolerance;    /* relative, of losses; absolute, of logits and gradients */
    bool modern;         /* AdamW and what else gcn-adamw has */
    bool balanced;       /* classes weigh by their rows */
    loss_choice numbers; /* the loss of targets that are numbers; LOSS_AUTO: classes */
} golden_case;

static npy_array read_member(npz_file *npz, const char *name)
{
    npy_array array = {0};
    int i = npz_find(npz, name);
    if (i < 0) {
        fail_msg("no member %s", name);
    }
    ASSERT_OK(npz_read(npz, i, &array));
    return array;
}

static void open_graph(golden_graph *g)
{
    npz_file *npz = NULL;
    memset(g, 0, sizeof *g);
    ASSERT_OK(npz_open(WEFT_SOURCE_DIR "/tests/golden/graph.npz", &npz));
    static const char *const names[5] = {"offset", "source", "feature", "label", "split"};
    for (int i = 0; i < 5; ++i) {
        g->array[i] = read_member(npz, names[i]);
    }
    npz_close(npz);
    g->graph = (weft_graph){.vertices = g->array[2].header.shape[0],
                            .edges = g->array[1].header.shape[0],
                            .features = g->array[2].header.shape[1],
                            .classes = 5,
                            .splits = 1,
                            .offset = g->array[0].data,
                            .source32 = g->array[1].data,
                            .feature = g->array[2].data,
                            .label = g->array[3].data,
                            .split = g->array[4].data,
                            .name = "golden"};
}

/* Parameters by name from members PREFIX.name, as doubles into the flat layout. */
static void read_flat(npz_file *npz, const char *prefix, const param_store *params, double *flat)
{
    for (int i = 0; i < params->entries; ++i) {
        const param_entry *entry = &params->entry[i];
        char name[PARAM_NAME_BYTES + 32];
        snprintf(name, sizeof name, "%s.%s", prefix, entry->name);
        npy_array array = read_member(npz, name);
        assert_int_equal(array.header.item_bytes, 8);
        assert_int_equal(array.header.count, entry->rows * entry->cols);
        const double *values = array.data;
        for (int64_t r = 0; r < entry->rows; ++r) {
            for (int64_t c = 0; c < entry->cols; ++c) {
                flat[entry->offset + r * entry->ld + c] = values[r * entry->cols + c];
            }
        }
        npy_array_free(&array);
    }
}

static void upload_flat(weft_tensor *t, const double *flat)
{
    float narrow[4096];
    assert_true(t->cols <= 4096);
    for (int64_t i = 0; i < t->cols; ++i) {
        narrow[i] = (float)flat[i];
    }
    ASSERT_OK(tensor_upload(t, t->dtype == WEFT_DTYPE_F64 ? (const void *)flat : (const void *)narrow));
}

static void download_flat(const weft_tensor *t, double *flat)
{
    float narrow[4096];
    assert_true(t->rows * t->cols <= 4096);
    if (t->dtype == WEFT_DTYPE_F64) {
        ASSERT_OK(tensor_download(t, flat));
        return;
    }
    ASSERT_OK(tensor_download(t, narrow));
    for (int64_t i = 0; i < t->rows * t->cols; ++i) {
        flat[i] = narrow[i];
    }
}

static void check_near(const golden_case *c, const char *what, int64_t i, double actual, double expected)
{
    if (!(fabs(actual - expected) <= c->tolerance * fmax(1.0, fabs(expected)))) {
        fail_msg("%s %s[%lld]: %.12g, PyTorch has %.12g", c->file, what, (long long)i, actual, expected);
    }
}

typedef struct watched {
    const golden_case *c;
    const double *loss, *lr, *valid; /* lr, valid: NULL, unless modern */
} watched;

static weft_status check_epoch(void *self, const train_epoch *epoch)
{
    const watched *w = self;
    check_near(w->c, "loss", epoch->epoch - 1, epoch->loss, w->loss[epoch->epoch - 1]);
    if (w->lr != NULL) {
        check_near(w->c, "lr", epoch->epoch - 1, epoch->lr, w->lr[epoch->epoch - 1]);
        check_near(w->c, "valid", epoch->epoch - 1, epoch->score[1], w->valid[epoch->epoch - 1]);
    }
    return WEFT_OK;
}

static weft_status ignore_run(void *self, int run, const train_run *result)
{
    (void)self;
    (void)run;
    (void)result;
    return WEFT_OK;
}

/* First forward and backward pass: logits of the owned rows, gradients summed over ranks. */
static void check_first_pass(weft_comm *comm, const golden_case *c, gnn_model *model, const train_targets *t,
                             const weft_part *part, npz_file *npz)
{
    static _Thread_local double expected[4096], actual[4096];
    const train_pass pass = {.training = true, .seed = 1, .epoch = 1};
    weft_tensor logits;
    ASSERT_OK(model->interface.forward(model, &pass, &logits));
    npy_array golden = read_member(npz, "logits");
    download_flat(&logits, actual);
    for (int64_t i = 0; i < logits.rows * logits.cols; ++i) {
        int64_t at = part->gid[i / logits.cols] * logits.cols + i % logits.cols;
        check_near(c, "logits", at, actual[i], ((const double *)golden.data)[at]);
    }
    npy_array_free(&golden);
    const tensor_loss_rows rows = {.mask = t->mask[0], .scale = 1.0 / (double)t->loss_entries};
    weft_tensor loss;
    ASSERT_OK(tensor_create(model->hal, WEFT_DTYPE_F64, 1, 1, WEFT_MEM_WORKSPACE, &loss));
    ASSERT_OK(tensor_zero(&loss));
    ASSERT_OK(tensor_softmax_xent(&logits, t->label, &rows, &loss, &logits));
    tensor_destroy(&loss);
    ASSERT_OK(model->interface.backward(model, &pass, &logits));
    memset(expected, 0, sizeof expected);
    read_flat(npz, "grad", &model->params, expected);
    download_flat(&model->params.grad, actual);
    ASSERT_OK(comm_allreduce(comm, actual, model->params.trained, WEFT_DTYPE_F64, COMM_SUM));
    for (int64_t i = 0; i < model->params.trained; ++i) {
        check_near(c, "gradient", i, actual[i], expected[i]);
    }
}

/* The loop draws initial weights itself: give them to it through a file of the frozen ones. */
static void write_initial(gnn_model *model, npz_file *npz, const char *path)
{
    static _Thread_local double flat[4096];
    memset(flat, 0, sizeof flat);
    read_flat(npz, "init", &model->params, flat);
    upload_flat(&model->params.value, flat);
    if (path != NULL) {
        ASSERT_OK(param_save(&model->params, NULL, path));
    }
}

/* What the training ends with: the average of the weights at its best score. */
static void check_best(const golden_case *c, const gnn_model *model, npz_file *npz)
{
    static _Thread_local double expected[4096], actual[4096];
    memset(expected, 0, sizeof expected);
    read_flat(npz, "best", &model->params, expected);
    download_flat(&model->params.value, actual);
    for (int64_t i = 0; i < model->params.trained; ++i) {
        check_near(c, "best", i, actual[i], expected[i]);
    }
}

static void balance(const weft_graph *graph, double weight[5])
{
    int64_t count[5] = {0};
    for (int64_t v = 0; v < graph->vertices; ++v) {
        if (graph->label[v] >= 0 && graph->split[v] == TRAIN_SPLIT_TRAIN) {
            count[graph->label[v]] += 1;
        }
    }
    class_weights_balance(count, 5, weight);
}

/* Half the sum of a vertex' features. */
static float *numbers_of(const weft_graph *graph)
{
    float *target = calloc((size_t)graph->vertices, sizeof *target);
    assert_non_null(target);
    for (int64_t v = 0; v < graph->vertices; ++v) {
        double sum = 0.0;
        for (int64_t j = 0; j < graph->features; ++j) {
            sum += (double)graph->feature[v * graph->features + j];
        }
        target[v] = (float)(0.5 * sum);
    }
    return target;
}

static train_options training_of(const golden_case *c, const train_weights *initial)
{
    train_options training = {
        .epochs = EPOCHS,
        .runs = 1,
        .optimizer = {.kind = OPTIMIZER_ADAM, .weight_decay = 5e-4, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
        .schedule = {.kind = SCHEDULE_CONSTANT, .base = 0.01, .epochs = EPOCHS},
        .init_weights = initial};
    if (c->modern) {
        training.eval_every = 1;
        training.optimizer.kind = OPTIMIZER_ADAMW;
        training.optimizer.weight_decay = 0.05;
        training.optimizer.clip_norm = 0.3;
        training.optimizer.average = 0.9;
        training.schedule.kind = SCHEDULE_PLATEAU;
        training.schedule.gamma = 0.5;
        training.schedule.patience = 1;
    }
    return training;
}

static weft_status golden_rank(weft_comm *comm, void *argument)
{
    const golden_case *c = argument;
    weft_hal *hal = NULL;
    npz_file *npz = NULL;
    weft_partition partition = {0};
    partition_report report;
    weft_part part = {0};
    gnn_model *model = malloc(sizeof *model);
    train_labels labels;
    char path[128];
    char weights[64];
    const weft_graph *graph = &c->graph->graph;
    const partition_options options = {
        .method = "libra", .parts = comm_size(comm), .seed = 0, .balance = 1.1, .threads = 1};
    snprintf(path, sizeof path, "%s/tests/golden/%s", WEFT_SOURCE_DIR, c->file);
    snprintf(weights, sizeof weights, "/tmp/weft-golden-%ld-%d.npz", (long)getpid(), comm_rank(comm));
    ASSERT_OK(npz_open(path, &npz));
    weft_graph weighted = *graph;
    float *target = NULL;
    if (c->numbers != LOSS_AUTO) {
        target = numbers_of(graph);
        weighted.label = NULL;
        weighted.target = target;
        weighted.tasks = 1;
    }
    npy_array weight = {0};
    if (npz_find(npz, "edge_weight") >= 0) {
        weight = read_member(npz, "edge_weight");
        assert_int_equal(weight.header.count, graph->edges);
        weighted.weight = weight.data;
    }
    ASSERT_OK(weft_hal_open(test_device(c->backend), 1, &hal));
    ASSERT_OK(partition_compute(graph, &options, &partition, &report));
    ASSERT_OK(part_extract(&weighted, &partition, comm_rank(comm), NULL, PART_IN_ORDER, &part));
    ASSERT_OK(gnn_model_create(comm, hal, c->dtype, &c->config, &part, NULL, HAL_SPMM_AUTO, model));
    weft_tensor features = gnn_model_features(model);
    ASSERT_OK(gnn_load_features(comm, graph, &part, GNN_SCALE_NONE, NULL, &features));
    ASSERT_OK(gnn_load_labels(comm, hal, &weighted, &part, c->numbers != LOSS_AUTO ? TRAIN_LOSS_VALUE : TRAIN_LOSS_XENT,
                              NULL, &labels));
    ASSERT_OK(gnn_model_prepare(model));
    write_initial(model, npz, weights);
    if (!c->balanced && c->numbers == LOSS_AUTO) {
        check_first_pass(comm, c, model, &labels.targets, &part, npz);
    }

    npy_array loss = read_member(npz, "loss");
    assert_int_equal(loss.header.count, EPOCHS);
    npy_array lr = {0}, valid = {0};
    if (c->modern) {
        lr = read_member(npz, "lr");
        valid = read_member(npz, "valid");
    }
    watched w = {.c = c, .loss = loss.data, .lr = lr.data, .valid = valid.data};
    const train_observer observer = {.self = &w, .on_epoch = check_epoch, .on_run = ignore_run};
    train_weights *initial = calloc(1, sizeof *initial);
    assert_non_null(initial);
    ASSERT_OK(weights_read_npz(weights, initial));
    double of_class[5];
    train_options training = training_of(c, initial);
    balance(graph, of_class);
    training.class_weight = c->balanced ? of_class : NULL;
    if (c->numbers != LOSS_AUTO) {
        training.value_loss = c->numbers;
        training.metric = TRAIN_METRIC_R2;
    }
    train_result result;
    const train_source source = source_whole(&labels.targets);
    ASSERT_OK(train_loop(comm, hal, &model->interface, &source, &training, &observer, &result));
    if (c->modern) {
        check_best(c, model, npz);
    }
    remove(weights);
    weights_destroy(initial);
    free(initial);
    weft_free(result.run);
    npy_array_free(&loss);
    npy_array_free(&lr);
    npy_array_free(&valid);
    npy_array_free(&weight);
    labels_destroy(&labels);
    free(target);
    gnn_model_destroy(model);
    free(model);
    part_destroy(&part);
    partition_destroy(&partition);
    weft_hal_close(hal);
    npz_close(npz);
    return WEFT_OK;
}

static void run_golden(golden_case c, int ranks)
{
    golden_graph graph;
    open_graph(&graph);
    c.graph = &graph;
    c.config.layers = c.config.layers > 0 ? c.config.layers : 2;
    c.config.inputs = graph.graph.features;
    c.config.hidden = c.config.hidden > 0 ? c.config.hidden : 16;
    c.config.outputs = c.numbers != LOSS_AUTO ? 1 : 5;
    ASSERT_OK(comm_thread_run(ranks, golden_rank, &c));
    for (int i = 0; i < 5; ++i) {
        npy_array_free(&graph.array[i]);
    }
}

/* The first NARROW_MODELS of them also in bfloat16: sums that nothing divides, maxima, which keep the error of one row,
 * and three layers round too much for 2e-2. */
static const golden_case models[] = {
    {.file = "sage-mean.npz", .config = {.kind = GNN_SAGE, .aggregator = GNN_SAGE_MEAN}},
    {.file = "sage-gcn.npz", .config = {.kind = GNN_SAGE, .aggregator = GNN_SAGE_GCN}},
    {.file = "gcn.npz", .config = {.kind = GNN_GCN}},
    {.file = "sgc.npz", .config = {.kind = GNN_SGC}},
    {.file = "gcn-jump.npz", .config = {.kind = GNN_GCN, .layers = 3, .residual = true, .jumping = GNN_JUMPING_CAT}},
    {.file = "sage-mean-weighted.npz", .config = {.kind = GNN_SAGE, .aggregator = GNN_SAGE_MEAN}},
    {.file = "gcn-weighted.npz", .config = {.kind = GNN_GCN}},
    {.file = "gin-weighted.npz", .config = {.kind = GNN_GIN}},
    {.file = "gin-eps.npz", .config = {.kind = GNN_GIN, .learns_eps = true}},
    {.file = "sage-max.npz", .config = {.kind = GNN_SAGE, .aggregator = GNN_SAGE_MAX}},
    {.file = "gin.npz", .config = {.kind = GNN_GIN}},
    {.file = "gcn-balanced.npz", .config = {.kind = GNN_GCN}, .balanced = true},
    {.file = "gcn-adamw.npz", .config = {.kind = GNN_GCN}, .modern = true},
    {.file = "gatv2.npz", .config = {.kind = GNN_GATV2, .hidden = 4, .heads = 4, .out_heads = 2, .slope = 0.2f}},
    {.file = "gat.npz", .config = {.kind = GNN_GAT, .hidden = 4, .heads = 4, .out_heads = 2, .slope = 0.2f}},
};

/* Initial weights pass through a float32 file, so losses agree to single precision even in double. */
static void run_all(weft_dtype dtype, const char *backend, int ranks, double tolerance)
{
    for (size_t m = 0; m < sizeof models / sizeof models[0]; ++m) {
        const int orders = models[m].config.heads > 0 ? GNN_ORDER_AUTO : GNN_ORDER_LINEAR_FIRST;
        for (int order = GNN_ORDER_AUTO; order <= orders; ++order) {
            golden_case c = models[m];
            c.config.order = (gnn_order)order;
            c.dtype = dtype;
            c.backend = backend;
            c.tolerance = tolerance;
            run_golden(c, ranks);
        }
    }
}

static void test_double_one_rank(void **state)
{
    (void)state;
    run_all(WEFT_DTYPE_F64, "ref", 1, 1e-6);
}

static void test_single_fast_backend(void **state)
{
    (void)state;
    run_all(WEFT_DTYPE_F32, "cpu", 1, 2e-5);
}

static void test_single_device_memory(void **state)
{
    (void)state;
    run_all(WEFT_DTYPE_F32, "shadow", 1, 2e-5);
}

static void test_three_ranks(void **state)
{
    (void)state;
    run_all(WEFT_DTYPE_F64, "ref", 3, 1e-6);
}

/* Answers that are numbers are float32. */
static void test_numbers(void **state)
{
    (void)state;
    static const golden_case losses[] = {{.file = "gcn-squared.npz", .numbers = LOSS_SQUARED},
                                         {.file = "gcn-absolute.npz", .numbers = LOSS_ABSOLUTE},
                                         {.file = "gcn-huber.npz", .numbers = LOSS_HUBER}};
    for (int i = 0; i < 9; ++i) {
        golden_case c = losses[i % 3];
        c.config.kind = GNN_GCN;
        c.dtype = WEFT_DTYPE_F32;
        c.backend = i == 4 ? "shadow" : "cpu";
        c.tolerance = 5e-5;
        run_golden(c, 1 + i / 3);
    }
}

/* As networks on images are held to it. */
static void test_bfloat16(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 3; ranks += 2) {
        for (int m = 0; m < NARROW_MODELS; ++m) {
            for (int order = GNN_ORDER_AUTO; order <= GNN_ORDER_LINEAR_FIRST; ++order) {
                golden_case c = models[m];
                c.config.order = (gnn_order)order;
                c.config.bf16 = true;
                c.dtype = WEFT_DTYPE_F32;
                c.backend = order == GNN_ORDER_AUTO ? "shadow" : "cpu";
                c.tolerance = 2e-2;
                run_golden(c, ranks);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_double_one_rank),
        cmocka_unit_test(test_single_fast_backend),
        cmocka_unit_test(test_single_device_memory),
        cmocka_unit_test(test_three_ranks),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_bfloat16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Graph networks against independent oracles, in double precision on the reference backend:
 *   - gradients against central finite differences of the loss, dropout on;
 *   - P ranks (threads of this process) against one rank: loss, gradients and logits, for every partitioner, with parts
 *   of one
 *     size and of different ones; the last sum of some runs along edges into rows that the loss reads alone, and the
 *     features of some stay on the host and pass in blocks of a few rows, which must change nothing;
 *   - the weight gradients of every rank against those that a listener forms out of the rows that it is told of.
 * Edges have weights in some of them.
 * trees: release
 * processors: one
 */
#include <math.h>

#include "gnn/dataset.h"
#include "gnn/gnn_model.h"
#include "support/labelled_graphs.h"
#include "support/tap_sums.h"

enum { MAX_WEIGHTS = 4096, CLASSES = 3, MAX_RANKS = 8 };

typedef struct case_result {
    double loss;
    int64_t weights;
    bool cuts;    /* the last sum left rows out */
    bool streams; /* features stayed on the host */
    double gradient[MAX_WEIGHTS];
    double *logits; /* [n, outputs] by global id, evaluation pass */
} case_result;

typedef struct case_input {
    const labelled_graph *graph;
    gnn_config config;
    train_loss loss;
    const char *method;
    bool weighed; /* parts have different sizes */
    const char *backend;
    gnn_feature_scaling scaling;
    /* Added to one weight before the pass, for finite differences. */
    int64_t nudged;
    double nudge;
    bool want_logits;
    case_result *result;
} case_input;

static weft_status nudge_weight(param_store *params, int64_t element, double amount)
{
    weft_tensor one = tensor_view(&params->value, 0, 1, element, 1);
    double value;
    WEFT_TRY(tensor_download(&one, &value));
    value += amount;
    return tensor_upload(&one, &value);
}

/* Biases and shifts start at zero, where ReLU of a masked row has its kink: move every weight off its start. */
static weft_status scatter_weights(param_store *params)
{
    double value[MAX_WEIGHTS];
    draw_stream random = {.key = 99};
    WEFT_CHECK(params->elements <= MAX_WEIGHTS, WEFT_ERR_INTERNAL, "the test's model is too large");
    WEFT_TRY(tensor_download(&params->value, value));
    for (int64_t i = 0; i < params->trained; ++i) {
        value[i] += 0.4 * (double)philox_uniform(draw_next(&random)) - 0.2;
    }
    return tensor_upload(&params->value, value);
}

static weft_status local_loss(weft_hal *hal, const train_targets *t, weft_tensor *logits, double *loss)
{
    const tensor_loss_rows rows = {.mask = t->mask[0], .scale = 1.0 / (double)t->loss_entries};
    weft_tensor sum;
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F64, 1, 1, WEFT_MEM_WORKSPACE, &sum));
    weft_status status = tensor_zero(&sum);
    if (status == WEFT_OK) {
        status = t->loss == TRAIN_LOSS_XENT ? tensor_softmax_xent(logits, t->label, &rows, &sum, logits)
                                            : tensor_bce_logits(logits, t->target, &rows, &sum, logits);
    }
    status = status == WEFT_OK ? tensor_download(&sum, loss) : status;
    *loss *= rows.scale;
    tensor_destroy(&sum);
    return status;
}

static weft_status collect_logits(const weft_part *part, const weft_tensor *logits, double *all)
{
    double *rows = NULL;
    WEFT_TRY(WEFT_NEW(&rows, logits->rows * logits->cols + 1, WEFT_MEM_WORKSPACE));
    weft_status status = tensor_download(logits, rows);
    for (int64_t i = 0; i < logits->rows; ++i) {
        memcpy(all + part->gid[i] * logits->cols, rows + i * logits->cols, (size_t)logits->cols * sizeof *all);
    }
    weft_free(rows);
    return status;
}

/* Linear maps begin within the bound that was asked for, and reach near it; biases are 0, or drawn as they are. */
static weft_status check_draws(param_store *params, const gnn_config *config)
{
    const bool uniform = config->init == GNN_INIT_UNIFORM;
    double value[MAX_WEIGHTS];
    WEFT_TRY(tensor_download(&params->value, value));
    for (int i = 0; i < params->entries && config->kind <= GNN_MLP; ++i) {
        const param_entry *entry = &params->entry[i];
        const char *what = strchr(entry->name, '.');
        if (strcmp(what, ".bias") == 0) {
            WEFT_CHECK((entry->init.draw == PARAM_UNIFORM) == uniform, WEFT_ERR_INTERNAL, "%s", entry->name);
        }
        if (strcmp(what, ".self") != 0 && strcmp(what, ".neigh") != 0 && strcmp(what, ".weight") != 0) {
            continue;
        }
        const double in = (double)entry->rows, out = (double)entry->cols;
        const double bound = uniform ? 1.0 / sqrt(in) : sqrt(6.0 / (in + out));
        double most = 0.0;
        for (int64_t r = 0; r < entry->rows; ++r) {
            for (int64_t c = 0; c < entry->cols; ++c) {
                const double size = fabs(value[entry->offset + r * entry->ld + c]);
                most = size > most ? size : most;
            }
        }
        WEFT_CHECK(most <= bound && most > 0.6 * bound, WEFT_ERR_INTERNAL, "%s: %g of %g", entry->name, most, bound);
    }
    return WEFT_OK;
}

static weft_status pass_through(weft_comm *comm, weft_hal *hal, const case_input *in, gnn_model *model,
                                const train_targets *targets, const weft_part *part)
{
    case_result *result = in->result;
    param_store *params = &model->params;
    train_pass pass = {.training = true, .seed = 7, .epoch = 3};
    weft_tensor logits;
    double loss;
    WEFT_TRY(param_initialise(params, 11));
    WEFT_TRY(check_draws(params, &in->config));
    WEFT_TRY(scatter_weights(params));
    if (in->nudge != 0) {
        WEFT_TRY(nudge_weight(params, in->nudged, in->nudge));
    }
    tap_sums taps;
    weft_status status = tap_sums_create(params, 0, &taps);
    pass.tap = train_tap_of(&taps.tap, &pass);
    status = status == WEFT_OK ? model->interface.forward(model, &pass, &logits) : status;
    status = status == WEFT_OK ? local_loss(hal, targets, &logits, &loss) : status;
    status = status == WEFT_OK ? model->interface.backward(model, &pass, &logits) : status;
    status = status == WEFT_OK ? tap_sums_check(&taps, part->n_owned > 0, 1e-11) : status;
    tap_sums_destroy(&taps);
    pass.tap = NULL;
    WEFT_TRY(comm_agree(comm, status));
    WEFT_TRY(comm_allreduce(comm, &loss, 1, WEFT_DTYPE_F64, COMM_SUM));
    double gradient[MAX_WEIGHTS];
    WEFT_TRY(tensor_download(&params->grad, gradient));
    WEFT_TRY(comm_allreduce(comm, gradient, params->trained, WEFT_DTYPE_F64, COMM_SUM));
    if (comm_rank(comm) == 0) {
        result->loss = loss;
        result->weights = params->trained;
        result->cuts = model->plan.read_width > 0;
        result->streams = model->plan.layer[0].streams;
        memcpy(result->gradient, gradient, sizeof gradient);
    }
    if (in->want_logits) {
        pass.training = false;
        WEFT_TRY(model->interface.forward(model, &pass, &logits));
        WEFT_TRY(collect_logits(part, &logits, result->logits));
    }
    return WEFT_OK;
}

static const char WHOLE_ROWS[] = "whole rows"; /* a method of this test */

/* Of ranks of which every other one gets twice as much as the one before it. */
static void fill_shares(int ranks, double *share)
{
    const int pairs = ranks / 2;
    const double sum = 3.0 * pairs + ranks % 2;
    for (int r = 0; r < ranks; ++r) {
        share[r] = (r % 2 == 0 ? 1.0 : 2.0) / sum;
    }
}

/* An edge-cut: every edge lies at its destination's root. Methods that make one fork, which threads of one process
 * cannot share: they are covered by the tests that start mpirun. */
static void move_to_destinations(const weft_graph *graph, weft_partition *partition)
{
    partition->edge_cut = true;
    for (int64_t v = 0; partition->parts > 1 && v < graph->vertices; ++v) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            partition->edge_part[e] = partition->root[v];
        }
    }
}

/* The training rows as gnn_model_create wants them, of any rank's number. */
static weft_status create_model(weft_comm *comm, weft_hal *hal, const case_input *in, const train_targets *targets,
                                weft_part *part, gnn_model *model)
{
    uint8_t *read = NULL;
    WEFT_TRY(gnn_read_rows(targets, &read));
    const weft_status status =
        gnn_model_create(comm, hal, WEFT_DTYPE_F64, &in->config, part, read, HAL_SPMM_AUTO, model);
    weft_free(read);
    return status;
}

static weft_status case_rank(weft_comm *comm, void *argument)
{
    const case_input *in = argument;
    weft_status status = WEFT_OK;
    weft_hal *hal = NULL;
    weft_partition partition = {0};
    partition_report report;
    weft_part part = {0};
    gnn_model *model = NULL;
    train_labels labels = {0};
    const weft_graph *graph = &in->graph->graph;
    const bool whole_rows = strcmp(in->method, WHOLE_ROWS) == 0;
    input_moments moments = {.columns = 0};
    double share[MAX_RANKS];
    fill_shares(comm_size(comm), share);
    const partition_options options = {.method = whole_rows ? "random" : in->method,
                                       .parts = comm_size(comm),
                                       .seed = 1,
                                       .balance = 1.1,
                                       .threads = 1,
                                       .share = in->weighed ? share : NULL};
    WEFT_TRY_GOTO(weft_hal_open(test_device(in->backend), 1, &hal), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&model, 1, WEFT_MEM_GENERAL), status, done);
    WEFT_TRY_GOTO(partition_compute(graph, &options, &partition, &report), status, done);
    if (whole_rows) {
        move_to_destinations(graph, &partition);
    }
    WEFT_TRY_GOTO(part_extract(graph, &partition, comm_rank(comm), NULL, PART_SHARED_FIRST, &part), status, done);
    WEFT_TRY_GOTO(gnn_load_labels(comm, hal, graph, &part, in->loss, NULL, &labels), status, done);
    WEFT_TRY_GOTO(create_model(comm, hal, in, &labels.targets, &part, model), status, done);
    if (model->plan.layer[0].sparse) {
        WEFT_TRY_GOTO(gnn_load_sparse_features(comm, hal, graph, &part, in->scaling, &model->sparse), status, done);
    } else {
        weft_tensor features = gnn_model_features(model);
        WEFT_TRY_GOTO(gnn_load_features(comm, graph, &part, in->scaling, &moments, &features), status, done);
    }
    WEFT_TRY_GOTO(gnn_model_prepare(model), status, done);
    status = pass_through(comm, hal, in, model, &labels.targets, &part);
done:
    labels_destroy(&labels);
    input_moments_destroy(&moments);
    if (model != NULL) {
        gnn_model_destroy(model);
    }
    weft_free(model);
    part_destroy(&part);
    partition_destroy(&partition);
    weft_hal_close(hal);
    return status;
}

static void run_case(const case_input *in, int ranks)
{
    ASSERT_OK(comm_thread_run(ranks, case_rank, (void *)in));
}

/* Every shape of layer: kinds, aggregators, orders, norms, depths, with and without dropout. */
typedef struct config_row {
    const char *name;
    gnn_config config;
} config_row;

static int all_configs(config_row *rows)
{
    static const gnn_order orders[] = {GNN_ORDER_AUTO, GNN_ORDER_AGGREGATE_FIRST, GNN_ORDER_LINEAR_FIRST};
    int count = 0;
    for (int kind = GNN_SAGE; kind <= GNN_MLP; ++kind) {
        for (int aggregator = 0; aggregator < (kind == GNN_SAGE ? 2 : 1); ++aggregator) {
            for (int order = 0; order < (kind == GNN_MLP ? 1 : 3); ++order) {
                for (int norm = NORM_NONE; norm <= NORM_LAYER; ++norm) {
                    for (int wet = 0; wet < 2; ++wet) {
                        int layers = 1 + (count % 3);
                        const gnn_weight_init init = count % 2 == 0 ? GNN_INIT_GLOROT : GNN_INIT_UNIFORM;
                        rows[count].name = "model";
                        rows[count++].config = (gnn_config){.kind = (gnn_kind)kind,
                                                            .init = init,
                                                            .aggregator = (gnn_sage_aggregator)aggregator,
                                                            .layers = layers,
                                                            .inputs = 9,
                                                            .hidden = 6,
                                                            .norm = (norm_kind)norm,
                                                            .dropout = 0.3f,
                                                            .input_dropout = wet ? 0.4f : 0.0f,
                                                            .order = orders[order]};
                    }
                }
            }
        }
    }
    for (int i = 0; i < 10; ++i) { /* of one, two and three hops, masked and not */
        const bool gin = i < 6;
        rows[count].name = "model";
        rows[count++].config = (gnn_config){.kind = gin ? GNN_GIN : GNN_SGC,
                                            .layers = 1 + i % 3,
                                            .inputs = 9,
                                            .hidden = 5,
                                            .norm = gin ? (norm_kind)(i % 3) : NORM_NONE,
                                            .dropout = 0.3f,
                                            .input_dropout = i % 2 == 0 ? 0.4f : 0.0f,
                                            .order = orders[i / 2 % 3]};
    }
    for (int i = 0; i < 6; ++i) { /* eps learned, masked and not */
        rows[count].name = "model";
        rows[count++].config = (gnn_config){.kind = GNN_GIN,
                                            .learns_eps = true,
                                            .layers = 1 + i % 2,
                                            .inputs = 9,
                                            .hidden = 5,
                                            .norm = (norm_kind)(i % 3),
                                            .dropout = 0.3f,
                                            .input_dropout = i % 2 == 0 ? 0.4f : 0.0f};
    }
    /* Connections past layers, of every kind that has them, with and without what lies between. */
    static const gnn_kind connected[] = {GNN_SAGE, GNN_GIN, GNN_GCN, GNN_GAT};
    for (int i = 0; i < 12; ++i) {
        rows[count].name = "model";
        rows[count++].config = (gnn_config){.kind = connected[i % 4],
                                            .layers = i % 3 == 0 ? 4 : 3,
                                            .inputs = 9,
                                            .hidden = 4,
                                            .norm = (norm_kind)(i / 2 % 3),
                                            .dropout = i % 5 == 0 ? 0.0f : 0.2f,
                                            .heads = 2,
                                            .out_heads = 1,
                                            .slope = 0.2f,
                                            .order = orders[i % 3],
                                            .residual = i < 8,
                                            .jumping = (gnn_jumping)(i / 4)};
    }
    for (int i = 0; i < 4; ++i) {
        const bool v2 = i % 2 != 0, wet = i / 2 != 0;
        for (int norm = NORM_NONE; norm <= NORM_LAYER; ++norm) {
            rows[count].name = "model";
            rows[count].config = (gnn_config){.kind = v2 ? GNN_GATV2 : GNN_GAT,
                                              .layers = 1 + count % 3,
                                              .inputs = 9,
                                              .hidden = 2,
                                              .norm = (norm_kind)norm,
                                              .dropout = 0.3f,
                                              .input_dropout = wet ? 0.4f : 0.0f,
                                              .heads = 3,
                                              .out_heads = 1 + (wet + norm) % 2,
                                              .slope = 0.2f,
                                              .weight_dropout = norm == NORM_BATCH ? 0.0f : 0.5f,
                                              .value_dropout = v2 || norm == NORM_LAYER ? 0.0f : 0.4f};
            count += 1;
        }
    }
    for (int i = 0; i < 6; ++i) { /* the largest of neighbours, masked and not, and what leads past it */
        rows[count].name = "model";
        rows[count++].config = (gnn_config){.kind = GNN_SAGE,
                                            .aggregator = GNN_SAGE_MAX,
                                            .layers = 1 + (i + 1) % 4,
                                            .inputs = 9,
                                            .hidden = 6,
                                            .norm = (norm_kind)(i % 3),
                                            .dropout = i == 2 ? 0.0f : 0.3f,
                                            .input_dropout = i % 2 == 0 ? 0.4f : 0.0f,
                                            .residual = i == 1,
                                            .jumping = i == 5 ? GNN_JUMPING_MAX : GNN_JUMPING_NONE};
    }
    return count;
}

static void describe(const gnn_config *c, char *text, size_t bytes)
{
    snprintf(text, bytes,
             "kind %d aggregator %d layers %d norm %d order %d residual %d jumping %d input dropout %g%s%s%s",
             (int)c->kind, (int)c->aggregator, c->layers, (int)c->norm, (int)c->order, (int)c->residual,
             (int)c->jumping, (double)c->input_dropout, c->density > 0.0 ? ", sparse features" : "",
             c->streams ? ", features on the host" : "", c->read_share > 0.0 ? ", rows read" : "");
}

/* Features of which a third are 0. */
static void thin_graph(const labelled_graph_spec *spec, labelled_graph *graph)
{
    labelled_graph_make(spec, graph);
    for (int64_t i = 0; i < spec->vertices * spec->features; i += 3) {
        graph->feature[i] = 0.0f;
    }
}

static void check_gradients(const labelled_graph *graph, gnn_config config, train_loss loss, int64_t outputs)
{
    char what[160];
    case_result base = {0};
    case_result up = {0};
    case_result down = {0};
    config.outputs = outputs;
    describe(&config, what, sizeof what);
    case_input in = {.graph = graph,
                     .config = config,
                     .loss = loss,
                     .method = "random",
                     .backend = test_any_device("ref"),
                     .result = &base};
    run_case(&in, 1);
    assert_true(isfinite(base.loss) && base.loss > 0);
    double largest = 0;
    for (int64_t i = 0; i < base.weights; ++i) {
        largest = fmax(largest, fabs(base.gradient[i]));
    }
    assert_true(largest > 1e-4); /* the check below would pass on a zero gradient otherwise */
    const double step = 1e-5;
    const int64_t stride = config.learns_eps ? 1 : 1 + base.weights / 23; /* a single number is not passed over */
    for (int64_t i = 0; i < base.weights; i += stride) {
        in.nudged = i;
        in.nudge = step;
        in.result = &up;
        run_case(&in, 1);
        in.nudge = -step;
        in.result = &down;
        run_case(&in, 1);
        double expected = (up.loss - down.loss) / (2 * step);
        if (fabs(expected - base.gradient[i]) > 1e-7 + 1e-5 * largest) {
            fail_msg("%s: weight %lld: gradient %.9g, finite difference %.9g", what, (long long)i, base.gradient[i],
                     expected);
        }
    }
}

static void test_gradients(void **state)
{
    (void)state;
    config_row rows[128];
    labelled_graph undirected;
    labelled_graph directed;
    const labelled_graph_spec spec = {
        .vertices = 40, .degree = 3, .features = 9, .classes = CLASSES, .isolated = 3, .seed = 5};
    labelled_graph_spec directed_spec = spec;
    directed_spec.directed = true;
    thin_graph(&spec, &undirected);
    thin_graph(&directed_spec, &directed);
    int count = all_configs(rows);
    for (int i = 0; i < count; ++i) {
        rows[i].config.density = i % 4 < 2 ? 0.7 : 0.0;
        rows[i].config.streams = i % 4 == 3;
        rows[i].config.stream_rows = 1 + i % 17;
        rows[i].config.read_share = i % 5 < 2 ? 0.5 : 0.0;
        undirected.graph.weight = i % 3 == 0 ? undirected.weight : NULL;
        directed.graph.weight = i % 3 == 0 ? directed.weight : NULL;
        check_gradients(i % 2 == 0 ? &undirected : &directed, rows[i].config, TRAIN_LOSS_XENT, CLASSES);
    }
    labelled_graph_free(&undirected);
    labelled_graph_free(&directed);
}

static void test_gradients_of_tasks(void **state)
{
    (void)state;
    config_row rows[128];
    labelled_graph graph;
    const labelled_graph_spec spec = {.vertices = 40, .degree = 3, .features = 9, .tasks = 4, .isolated = 2, .seed = 6};
    labelled_graph_make(&spec, &graph);
    int count = all_configs(rows);
    for (int i = 0; i < count; i += 7) {
        check_gradients(&graph, rows[i].config, TRAIN_LOSS_BCE, 4);
    }
    labelled_graph_free(&graph);
}

static void compare(const case_result *a, const case_result *b, int64_t logits, const char *what)
{
    if (!(fabs(a->loss - b->loss) <= 1e-12 * fabs(b->loss))) {
        fail_msg("%s: loss %.17g instead of %.17g", what, a->loss, b->loss);
    }
    for (int64_t i = 0; i < b->weights; ++i) {
        if (!(fabs(a->gradient[i] - b->gradient[i]) <= 1e-13 + 1e-11 * fabs(b->gradient[i]))) {
            fail_msg("%s: gradient %lld is %.17g instead of %.17g", what, (long long)i, a->gradient[i], b->gradient[i]);
        }
    }
    for (int64_t i = 0; i < logits; ++i) {
        if (!(fabs(a->logits[i] - b->logits[i]) <= 1e-12 + 1e-11 * fabs(b->logits[i]))) {
            fail_msg("%s: logit %lld is %.17g instead of %.17g", what, (long long)i, a->logits[i], b->logits[i]);
        }
    }
}

/* [in/out] cuts, streams: grow by the runs whose last sum left rows out, and by those whose features stayed on the
 * host. */
static void check_ranks(const labelled_graph *graph, gnn_config config, gnn_feature_scaling scaling,
                        const char *backend, int row, int *cuts, int *streams)
{
    static const int rank_counts[] = {2, 3, 4, 8};
    char what[256];
    char model[160];
    int64_t logits = graph->graph.vertices * CLASSES;
    case_result one = {0};
    case_result many = {0};
    config.outputs = CLASSES;
    ASSERT_OK(WEFT_NEW_ZERO(&one.logits, logits, WEFT_MEM_WORKSPACE));
    ASSERT_OK(WEFT_NEW_ZERO(&many.logits, logits, WEFT_MEM_WORKSPACE));
    case_input in = {.graph = graph,
                     .config = config,
                     .loss = TRAIN_LOSS_XENT,
                     .method = "random",
                     .backend = "ref",
                     .scaling = scaling,
                     .want_logits = true,
                     .result = &one};
    run_case(&in, 1);
    in.result = &many;
    in.backend = backend;
    static const char *const methods[] = {"random", "2d", "libra", WHOLE_ROWS};
    for (int m = 0; m < 8; ++m) {
        const bool hides = m >= 4; /* the halo, behind the products */
        in.method = methods[m % 4];
        in.weighed = (row + m) % 2 == 0 && strcmp(in.method, "2d") != 0;
        in.config.overlap = hides ? HALO_OVERLAP_ON : HALO_OVERLAP_OFF;
        /* Beside features held whole, where that orders weights alike: they are set by their places here. */
        const bool alike = config.order == GNN_ORDER_LINEAR_FIRST || config.kind != GNN_SAGE;
        in.config.density = (m + m / 4) % 2 == 1 && alike && scaling != GNN_SCALE_STANDARD ? 0.7 : 0.0;
        in.config.streams = alike && in.config.density == 0.0 && (row / 4 + m / 2) % 2 == 0;
        in.config.stream_rows = 1 + (row + 3 * m) % 11;
        in.config.read_share = (row + m + m / 4) % 3 != 0 ? 0.5 : 0.0;
        describe(&in.config, model, sizeof model);
        int ranks = rank_counts[(row + m) % 4];
        run_case(&in, ranks);
        snprintf(what, sizeof what, "%s, %s on %d ranks%s%s", model, in.method, ranks, hides ? ", halo hidden" : "",
                 in.weighed ? ", of different shares" : "");
        compare(&many, &one, logits, what);
        *cuts += many.cuts;
        *streams += many.streams;
    }
    weft_free(one.logits);
    weft_free(many.logits);
}

static void test_ranks_equal_one_rank(void **state)
{
    (void)state;
    config_row rows[128];
    labelled_graph graph[3];
    const labelled_graph_spec specs[3] = {
        {.vertices = 60, .degree = 4, .features = 9, .classes = CLASSES, .isolated = 5, .seed = 1},
        {.vertices = 45, .degree = 3, .features = 9, .classes = CLASSES, .directed = true, .isolated = 1, .seed = 2},
        {.vertices = 9, .degree = 1, .features = 9, .classes = CLASSES, .isolated = 2, .seed = 3},
    };
    for (int g = 0; g < 3; ++g) {
        thin_graph(&specs[g], &graph[g]);
    }
    int count = all_configs(rows);
    int cuts = 0;
    int streams = 0;
    for (int i = 0; i < count; ++i) {
        graph[i % 3].graph.weight = i / 3 % 2 != 0 ? graph[i % 3].weight : NULL;
        check_ranks(&graph[i % 3], rows[i].config, (gnn_feature_scaling)(i % 3), "ref", i, &cuts, &streams);
        if (i % 4 == 0) { /* a device whose results appear late */
            check_ranks(&graph[i % 3], rows[i].config, (gnn_feature_scaling)(i % 3), "shadow:ref", i, &cuts, &streams);
        }
    }
    assert_true(cuts > 2 * count); /* of 10 runs a row */
    assert_true(streams > count);
    for (int g = 0; g < 3; ++g) {
        labelled_graph_free(&graph[g]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_gradients_of_tasks),
        cmocka_unit_test(test_ranks_equal_one_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * app/gnn/predict_scaling.c: weft predict-scaling: seconds of an epoch on 1 to 1024 sockets, with each way of
 * exchanging rows, by activity.
 *
 *      weft predict-scaling --data reddit.weft --model sage --hidden 256 --sockets 1,16,256
 *
 * Takes the options of weft train that shape an epoch. Partitions that are kept with the store are used, others made
 * and not kept. What is measured and what is taken is said in app/gnn/scaling/scaling.h; nothing is trained.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "app/gnn/gnn_job.h"
#include "app/gnn/scaling/scaling.h"
#include "app/gnn/scaling/scaling_device.h"
#include "app/setup/machine_limits.h"
#include "app/table/grid.h"
#include "base/alloc.h"
#include "base/log.h"
#include "comm/comm_options.def"
#include "comm/model/model_file.h"
#include "gnn/layers/layer.h"
#include "partition/reorder.h"

enum { SOCKETS_MOST = 64, MODES = 4, USUAL_DELAY = 5, LAYER_LAUNCHES = 20 /* kernels of a layer, both ways */ };

typedef struct scaling_mode {
    char name[32];
    gnn_halo_options halo;
} scaling_mode;

typedef struct scaling_job {
    app_context context;
    workload work;
    gnn_plan plan;
    scaling_machine machine;
    machine_limits limits;
    const scaling_device *device;        /* of figures; NULL: this machine is measured */
    int32_t *position;                   /* [vertices] the order in which parts are cut, or NULL */
    scaling_part part[2 * SOCKETS_MOST]; /* measured, ascending; the first is the whole */
    int parts;
    scaling_mode mode[MODES];
    table_grid head, grid;
} scaling_job;

static const table_column columns[] = {
    {"sockets", CELL_INT, true},      {"parts", CELL_TEXT, true},         {"mode", CELL_TEXT, true},
    {"epoch_s", CELL_REAL, true},     {"least_epoch_s", CELL_REAL, true}, {"speedup", CELL_REAL, true},
    {"aggregate_s", CELL_REAL, true}, {"linear_s", CELL_REAL, true},      {"elementwise_s", CELL_REAL, true},
    {"halo_s", CELL_REAL, true},      {"allreduce_s", CELL_REAL, true},   {"launch_s", CELL_REAL, false},
    {"halo_bytes", CELL_REAL, true},  {"edges", CELL_REAL, false},        {"rows", CELL_REAL, false},
    {"halo_rows", CELL_REAL, false},  {"peers", CELL_REAL, false},        {"replication", CELL_REAL, false},
};

static const table_column head_columns[] = {
    {"graph", CELL_TEXT, true},
    {"vertices", CELL_INT, true},
    {"edges", CELL_INT, true},
    {"threads", CELL_INT, true},
    {"triad_bytes_per_s", CELL_REAL, true},
    {"network", CELL_TEXT, true},
    {"network_bytes_per_s", CELL_REAL, true},
    {"network_latency_s", CELL_REAL, true},
};

/* ---- the machine ---- */

/* --comm-model, else fixed constants; the network's own options above either. */
static weft_status read_network(scaling_job *job, const weft_options *o)
{
    const char *path = option_text(o, OPT_COMM_MODEL);
    const double bandwidth = (double)option_size(o, OPT_NETWORK_BANDWIDTH),
                 latency = option_real(o, OPT_NETWORK_LATENCY);
    comm_model *model = &job->machine.model;
    *model = comm_model_default();
    if (path[0] != '\0') {
        WEFT_TRY(model_read(path, NULL, model));
    }
    if (bandwidth > 0.0) {
        model->inter.seconds_per_byte = 1.0 / bandwidth;
        model->paired_per_byte = 0.0;
    }
    model->inter.latency = latency > 0.0 ? latency : model->inter.latency;
    job->machine.allreduce = option_choice(o, OPT_ALLREDUCE);
    job->machine.wire = option_choice(o, OPT_WIRE);
    job->machine.node_sockets = (int)option_int(o, OPT_SOCKETS_PER_NODE);
    return WEFT_OK;
}

static weft_status measure_machine(scaling_job *job, const weft_graph *graph)
{
    const app_context *context = &job->context;
    const weft_options *o = context->options;
    const int64_t asked = option_int(o, OPT_SOCKET_CORES);
    const double bandwidth = (double)option_size(o, OPT_SOCKET_BANDWIDTH);
    bool kept = false;
    if (job->device != NULL) {
        scaling_device_rows(job->device, &job->plan, job->machine.row_seconds);
        job->machine.byte_seconds = 1.0 / job->device->memory;
        job->machine.aggregate_speed = 1.0;
        job->machine.bus_seconds = 1.0 / job->device->bus;
        job->machine.launch_seconds = LAYER_LAUNCHES * job->device->launch;
        job->limits.triad = job->device->memory;
        return read_network(job, o);
    }
    WEFT_TRY(limits_find(&context->machine, &context->placement, context->hal, &job->limits, &kept));
    WEFT_TRY(scaling_measure_rows(context->hal, graph, &job->plan, job->machine.row_seconds));
    const double cores = asked > 0 ? (double)asked / context->placement.threads : 1.0;
    const double memory = bandwidth > 0.0 ? bandwidth / job->limits.triad : 1.0;
    for (int l = 0; l < job->plan.layers; ++l) {
        job->machine.row_seconds[l] /= cores;
    }
    job->machine.byte_seconds = 1.0 / (job->limits.triad * memory);
    job->machine.aggregate_speed = fmin(cores, memory);
    return read_network(job, o);
}

/* ---- the parts ---- */

static int64_t count_edges(const weft_graph *graph, const weft_partition *partition, int part)
{
    int64_t count = 0;
#pragma omp parallel for schedule(static) reduction(+ : count)
    for (int64_t v = 0; v < graph->vertices; ++v) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            count += partition_part_of(partition, e, v) == part;
        }
    }
    return count;
}

static int busiest(const weft_graph *graph, const weft_partition *partition)
{
    int64_t most = -1;
    int found = 0;
    for (int p = 0; p < partition->parts && partition->parts > 1; ++p) {
        const int64_t edges = count_edges(graph, partition, p);
        found = edges > most ? p : found;
        most = edges > most ? edges : most;
    }
    return found;
}

/* As kept with the store, or made now. */
static weft_status divide(const app_context *context, const graph_data *data, int parts, weft_partition *partition,
                          partition_report *report)
{
    const partition_options options = graph_data_partition_options(context, data, parts);
    if (parts == 1) {
        *partition = (weft_partition){
            .parts = 1, .method = "whole", .vertices = data->graph.vertices, .edges = data->graph.edges};
        report->replication_factor = 1.0;
        return WEFT_OK;
    }
    weft_status status = partition_load(data->store, &data->graph, &options, partition, report);
    if (status == WEFT_ERR_NOINPUT || status == WEFT_ERR_DATA) {
        if (status == WEFT_ERR_DATA) {
            log_warn("divided anew: %s", weft_error_message());
        }
        weft_error_clear();
        partition_destroy(partition);
        status = partition_compute(&data->graph, &options, partition, report);
    }
    return status;
}

static weft_status measure_part(scaling_job *job, const graph_data *data, int parts)
{
    const app_context *context = &job->context;
    assert(job->parts < 2 * SOCKETS_MOST);
    scaling_part *found = &job->part[job->parts];
    weft_partition partition = {0};
    partition_report report = {0};
    weft_part part = {0};
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(divide(context, data, parts, &partition, &report), status, done);
    WEFT_TRY_GOTO(
        part_extract(&data->graph, &partition, busiest(&data->graph, &partition), job->position, PART_IN_ORDER, &part),
        status, done);
    *found = scaling_part_of(&part, report.replication_factor);
    if (job->device != NULL) {
        scaling_device_edges(job->device, &job->plan, (double)part.n_local, found->edge_seconds);
    } else {
        WEFT_TRY_GOTO(scaling_measure_edges(context->hal, &part, &job->plan, option_choice(context->options, OPT_SPMM),
                                            found->edge_seconds),
                      status, done);
    }
    log_info("%d parts: the busiest has %.0f edges, %.0f rows and %.0f that cross, %.0f peers", parts, found->edges,
             found->rows, found->halo_rows, found->peers);
    job->parts++;
done:
    part_destroy(&part);
    partition_destroy(&partition);
    return status;
}

static bool is_asked(const int64_t *sockets, int count, int64_t parts)
{
    for (int i = 0; i < count; ++i) {
        if (sockets[i] == parts) {
            return true;
        }
    }
    return false;
}

/* 1 and what is asked for, up to --divide-up-to; if more is asked for, the two largest powers of two, which tell how
 * rows that cross go on. */
static weft_status measure_parts(scaling_job *job, const graph_data *data, const int64_t *sockets, int count)
{
    const weft_options *o = job->context.options;
    int64_t most = 1;
    for (int i = 0; i < count; ++i) {
        most = sockets[i] > most ? sockets[i] : most;
    }
    const int64_t limit = option_int(o, OPT_DIVIDE_UP_TO);
    const bool extrapolates = most > limit;
    most = extrapolates ? limit : most;
    if (graph_data_wants_clustering(o, &data->graph)) {
        WEFT_TRY(graph_cluster_order(&data->graph, 0, job->context.placement.threads, &job->position, NULL));
    }
    for (int64_t parts = 1; parts <= most; ++parts) {
        const bool power = (parts & (parts - 1)) == 0;
        if (parts == 1 || (extrapolates && power && 4 * parts > most) || is_asked(sockets, count, parts)) {
            WEFT_TRY(measure_part(job, data, (int)parts));
        }
    }
    return WEFT_OK;
}

static scaling_part part_for(const scaling_job *job, int64_t sockets, int64_t vertices)
{
    for (int i = 0; i < job->parts; ++i) {
        if (job->part[i].parts == sockets) {
            return job->part[i];
        }
    }
    const int from = job->parts > 1 ? 1 : 0; /* the whole has no halo to follow */
    return scaling_extrapolate(job->part + from, job->parts - from, sockets, vertices);
}

/* ---- the table ---- */

static void list_modes(scaling_job *job, const weft_options *o)
{
    static const char *const codecs[] = {HALO_CODECS(CHOICE_NAME)};
    const int64_t asked = option_int(o, OPT_DELAY);
    const halo_codec wanted = option_choice(o, OPT_HALO_CODEC);
    const int delay = asked > 1 ? (int)asked : USUAL_DELAY;
    const halo_codec codec = wanted != HALO_CODEC_NONE ? wanted : HALO_CODEC_INT8;
    job->mode[0] = (scaling_mode){.name = "exact"};
    job->mode[1].halo.delay = delay;
    snprintf(job->mode[1].name, sizeof job->mode[1].name, "delay %d", delay);
    job->mode[2].halo.codec = halo_row_codec(codec);
    job->mode[2].halo.mean_bits = codec == HALO_CODEC_ADAPTIVE ? option_real(o, OPT_HALO_BITS) : 0.0;
    snprintf(job->mode[2].name, sizeof job->mode[2].name, "codec %s", codecs[codec]);
    job->mode[3] = (scaling_mode){.name = "no halo", .halo.none = true};
}

static weft_status add_row(scaling_job *job, const scaling_part *part, const scaling_mode *mode, double one)
{
    scaling_epoch epoch;
    WEFT_TRY(scaling_predict(&job->machine, &job->plan, &mode->halo, part, &epoch));
    return table_grid_add(
        &job->grid, (table_cell[]){cell_int(part->parts), cell_text(part->measured ? "made" : "extrapolated"),
                                   cell_text(mode->name), cell_real(epoch.total), cell_real(epoch.least),
                                   cell_real(one / epoch.total), cell_real(epoch.aggregate), cell_real(epoch.linear),
                                   cell_real(epoch.elementwise), cell_real(epoch.halo), cell_real(epoch.allreduce),
                                   cell_real(epoch.launch), cell_real(epoch.halo_bytes), cell_real(part->edges),
                                   cell_real(part->rows), cell_real(part->halo_rows), cell_real(part->peers),
                                   cell_real(part->replication)});
}

static weft_status add_rows(scaling_job *job, const weft_graph *graph, const int64_t *sockets, int count)
{
    const comm_model *model = &job->machine.model;
    assert(job->parts > 0 && job->part[0].parts == 1); /* measure_parts begins with the whole graph */
    scaling_epoch one;
    job->head = (table_grid){.column = head_columns, .columns = sizeof head_columns / sizeof *head_columns};
    job->grid = (table_grid){.name = "rows", .column = columns, .columns = sizeof columns / sizeof *columns};
    WEFT_TRY(table_grid_add(
        &job->head, (table_cell[]){cell_text(graph->name), cell_int(graph->vertices), cell_int(graph->edges),
                                   cell_int(job->context.placement.threads), cell_real(job->limits.triad),
                                   cell_text(model->measured ? "measured" : "fixed constants"),
                                   cell_real(1.0 / model->inter.seconds_per_byte), cell_real(model->inter.latency)}));
    WEFT_TRY(scaling_predict(&job->machine, &job->plan, &job->mode[0].halo, &job->part[0], &one));
    for (int i = 0; i < count; ++i) {
        const scaling_part part = part_for(job, sockets[i], graph->vertices);
        for (int m = 0; m < (sockets[i] > 1 ? MODES : 1); ++m) {
            WEFT_TRY(add_row(job, &part, &job->mode[m], one.total));
        }
    }
    return WEFT_OK;
}

/* ---- the job ---- */

/* Of training, what the seconds of one epoch do not depend on; what a sweep of training passes along is not all
 * listed. */
static const option_id passed_over[] = {OPT_BOUNDARY_SAMPLE, OPT_EPOCHS,       OPT_PATIENCE, OPT_ACCUMULATE,
                                        OPT_FEATURE_PLACE,   OPT_FEATURE_ROWS, OPTION_NONE};
static const option_id passed_over_weights[] = {OPT_RANK_WEIGHTS, OPTION_NONE};
static const option_id passed_over_overlap[] = {OPT_HALO_OVERLAP, OPTION_NONE};

static weft_status check_options(const weft_options *o)
{
    const char *where = "on a prediction: it is of one epoch, exact, with delays, with a codec and without a halo";
    WEFT_CHECK(workload_of(o) == &gnn_workload, WEFT_ERR_USAGE,
               "predict-scaling is for networks on graphs, and " FLAG_MODEL " %s with " FLAG_DATA
               " %s is of %s: weft bench measures what such a network does",
               option_text(o, OPT_MODEL), option_text(o, OPT_DATA), workload_of(o)->field);
    WEFT_CHECK(option_choice(o, OPT_TASK) == LINK_TASK_VERTEX, WEFT_ERR_UNSUPPORTED,
               FLAG_TASK " link: rows of links are not predicted: leave it out, for the network alone");
    WEFT_TRY(option_check_rules(o));
    option_warn_idle(o, passed_over, where);
    option_warn_idle(o, passed_over_weights, "on a prediction, of sockets that are alike");
    if (option_choice(o, OPT_HALO_OVERLAP) == HALO_OVERLAP_EPOCH) {
        option_warn_idle(o, passed_over_overlap, where);
    }
    WEFT_CHECK(option_choice(o, OPT_SYNC) == SYNC_ALLREDUCE, WEFT_ERR_USAGE,
               FLAG_SYNC " %s: predict-scaling knows what allreduce takes; leave it out", option_text(o, OPT_SYNC));
    WEFT_CHECK(option_choice(o, OPT_PRECISION) == TRAIN_PRECISION_F32, WEFT_ERR_USAGE,
               FLAG_PRECISION " %s: predict-scaling measures float32; leave it out",
               option_value_text(o, OPT_PRECISION));
    return WEFT_OK;
}

static weft_status plan_model(scaling_job *job)
{
    const gnn_job *data = job->work.self;
    const weft_graph *graph = &data->data.graph;
    const weft_options *o = job->context.options;
    WEFT_CHECK(graph->features > 0 && job->work.labelled, WEFT_ERR_DATA,
               "%s has no features or no labels, which say how wide the layers are (weft convert --features, --labels)",
               graph->name);
    gnn_config config = gnn_config_of(o, graph, gnn_outputs_of(o, graph));
    config.density = data->density;
    config.read_share = data->read_share;
    WEFT_CHECK(!gnn_layer_ops_of(&config)->walks_edges, WEFT_ERR_UNSUPPORTED,
               "--model %s: attention and maxima are not predicted, sums over neighbours are (sage, gcn)",
               option_text(o, OPT_MODEL));
    gnn_plan_make(&config, graph->vertices, graph->vertices, job->context.placement.threads, WEFT_DTYPE_F32,
                  &job->plan);
    return WEFT_OK;
}

static weft_status run(scaling_job *job, const weft_options *options)
{
    const table_grid none = {.name = "notes"};
    const char *folder = getenv("TMPDIR");
    int64_t sockets[SOCKETS_MOST];
    const int count = option_list(options, OPT_SOCKETS, sockets, SOCKETS_MOST);
    WEFT_TRY(check_options(options));
    WEFT_CHECK(count >= 1 && count <= SOCKETS_MOST, WEFT_ERR_USAGE, "--sockets takes 1 to %d numbers, not %d",
               SOCKETS_MOST, count);
    WEFT_TRY(app_context_open(options, &job->context));
    WEFT_TRY(workload_begin(&gnn_workload, &job->context, &job->work));
    WEFT_TRY(job->work.ops->open(&job->work, folder != NULL && folder[0] != '\0' ? folder : "/tmp"));
    WEFT_TRY(workload_decide(&job->work, &job->context, true));
    const gnn_job *gnn = job->work.self;
    job->device = scaling_device_of(option_choice(options, OPT_SOCKET_DEVICE));
    WEFT_TRY(plan_model(job));
    WEFT_TRY(measure_machine(job, &gnn->data.graph));
    WEFT_TRY(measure_parts(job, &gnn->data, sockets, count));
    list_modes(job, job->context.options);
    WEFT_TRY(add_rows(job, &gnn->data.graph, sockets, count));
    table_grid_print(stdout, &job->head, &job->grid, &none, option_choice(options, OPT_FORMAT_OUT));
    return WEFT_OK;
}

weft_status gnn_command_predict_scaling(const weft_options *options)
{
    scaling_job *job = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&job, 1, WEFT_MEM_GENERAL));
    const weft_status status = run(job, options);
    weft_free(job->position);
    table_grid_free(&job->head);
    table_grid_free(&job->grid);
    workload_end(&job->work);
    app_context_close(&job->context);
    weft_free(job);
    return status;
}

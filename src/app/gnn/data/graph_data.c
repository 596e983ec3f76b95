/* app/gnn/data/graph_data.c: see app/gnn/data/graph_data.h. */
#include "app/gnn/data/graph_data.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "app/activity/activity_table.h"
#include "app/gnn/divide/partition_together.h"
#include "app/gnn/divide/rank_weights.h"
#include "app/gnn/options/gnn_options.h"
#include "app/setup/comm_setup.h"
#include "base/alloc.h"
#include "base/disk/file_sync.h"
#include "base/log.h"
#include "base/number.h"
#include "gnn/data/generate/generator.h"
#include "gnn/layers/aggregate.h"
#include "io/npy.h"
#include "partition/methods/method.h"
#include "partition/part_store.h"
#include "partition/partition_store.h"
#include "partition/reorder.h"

static const double generating_seconds = 3600.0; /* the largest that a memory holds takes minutes */

/* Rank 0's work is over: how it ended, for all. */
static weft_status hear_rank_0(const app_context *context, weft_status status)
{
    status = comm_agree(context->comm, status);
    comm_setup_extend_patience(context, 0.0);
    return status;
}

/* Bytes that a rank of `ranks` holds at least, whatever the model: its features and its edges. */
static double least_bytes(const weft_options *o, const generator_size *size, int ranks)
{
    const double value = option_choice(o, OPT_PRECISION) == TRAIN_PRECISION_F32 ? 4.0 : 2.0;
    return (value * (double)size->features * (double)size->vertices + 4.0 * (double)size->edges) / ranks;
}

/*
 * Rank 0, before anything is generated: is there memory to make the graph, memory to train on it, and room on the disk?
 * These are lower bounds; the plan of the job is compared once the graph is there.
 */
static weft_status check_generated(const app_context *context, const char *spec, const char *folder)
{
    const weft_options *o = context->options;
    const uint64_t limit = option_size(o, OPT_MEMORY_LIMIT);
    const double available = (double)app_context_memory(context);
    const double have = limit > 0 ? (double)limit : available;
    const int here = comm_node_size(context->comm);
    struct statvfs disk;
    generator_size size;
    WEFT_TRY(generator_measure(spec + strlen(GENERATOR_PREFIX), &size));
    const double train = least_bytes(o, &size, graph_data_ranks(context)) * here;
    WEFT_CHECK(
        size.made_bytes <= available, WEFT_ERR_RESOURCE,
        "%s: %lld vertices and %lld edges take %s of memory to make, %s are available: a smaller scale; nothing was "
        "generated",
        spec, (long long)size.vertices, (long long)size.edges, number_say_bytes((uint64_t)size.made_bytes).text,
        number_say_bytes((uint64_t)available).text);
    WEFT_CHECK(
        context->device_ranks > 0 || train <= have, WEFT_ERR_RESOURCE,
        "%s: features and edges alone take %s of memory on %d rank(s) of this node, %s %s: a smaller scale, or more "
        "nodes; nothing was generated",
        spec, number_say_bytes((uint64_t)train).text, here, number_say_bytes((uint64_t)have).text,
        limit > 0 ? "are allowed by --memory-limit" : "are available");
    const bool known = statvfs(folder, &disk) == 0 || statvfs(".", &disk) == 0;
    WEFT_CHECK(!known || size.store_bytes <= (double)disk.f_bavail * (double)disk.f_frsize, WEFT_ERR_IO,
               "%s: the graph takes %s on the disk of %s, which has %s left; nothing was generated", spec,
               number_say_bytes((uint64_t)size.store_bytes).text, folder,
               number_say_bytes((uint64_t)disk.f_bavail * disk.f_frsize).text);
    return WEFT_OK;
}

static weft_status generate(const app_context *context, const char *spec, const char *folder, graph_data *data)
{
    weft_status status = WEFT_OK;
    WEFT_TRY(file_path(data->store, "%s/" WORKLOAD_GENERATED "%ld", folder, (long)getpid()));
    WEFT_TRY(comm_bcast(context->comm, 0, data->store, sizeof data->store));
    comm_setup_extend_patience(context, generating_seconds);
    if (comm_rank(context->comm) == 0) {
        WEFT_TRY_GOTO(check_generated(context, spec, folder), status, done);
        log_info("generating %s", spec);
        WEFT_TRY_GOTO(folder_make(folder), status, done);
        data->temporary = true;
        status = generator_write_store(spec + strlen(GENERATOR_PREFIX), data->store, context->placement.threads, true);
    }
done:
    return hear_rank_0(context, status);
}

bool graph_data_is_generated(const app_context *context)
{
    return generator_named(option_text(context->options, OPT_DATA));
}

int graph_data_ranks(const app_context *context)
{
    const int asked = option_flag(context->options, OPT_DRY_RUN) ? (int)option_int(context->options, OPT_DRY_RANKS) : 0;
    return asked > 0 ? asked : comm_size(context->comm);
}

/* On the split that is asked for. One that is not, but was a model's in training, gives way where the data have no such
 * split. */
static weft_status open_on_split(const weft_options *o, bool verify, graph_data *data)
{
    const int split = (int)option_int(o, OPT_SPLIT_INDEX);
    const bool as_trained = option_source_of(o, OPT_SPLIT_INDEX) == OPTION_DATA;
    weft_status status = graph_open(data->store, split, verify, &data->graph);
    if (as_trained && status == WEFT_OK) {
        log_info("split %d, which the model was trained on; " FLAG_SPLIT_INDEX " takes another", split);
    }
    if (!as_trained || status != WEFT_ERR_USAGE) {
        return status;
    }
    weft_error_clear();
    log_info("the model was trained on split %d, which %s does not have: split 0 is taken", split, data->store);
    return graph_open(data->store, 0, verify, &data->graph);
}

static weft_status open_store(const app_context *context, const char *folder, graph_data *data)
{
    const weft_options *o = context->options;
    const char *source = option_text(o, OPT_DATA);
    WEFT_CHECK(source[0] != '\0', WEFT_ERR_USAGE,
               "--data is missing: name a graph store or a generated one such as synth:quickstart; weft train "
               "--help=data tells what else there is");
    if (graph_data_is_generated(context)) {
        WEFT_TRY(generate(context, source, folder, data));
    } else {
        WEFT_TRY(file_path(data->store, "%s", source));
    }
    bool verify = option_flag(o, OPT_VERIFY) && comm_rank(context->comm) == 0;
    weft_status status = open_on_split(o, verify, data);
    if (status == WEFT_OK) {
        partition_extend_patience(context, &data->graph);
    }
    if (status == WEFT_OK && comm_rank(context->comm) == 0 && graph_data_ranks(context) == comm_size(context->comm)) {
        /* A generated graph is gone before it could be opened again; --verify trusts nothing. */
        bool again = data->temporary || verify;
        status = again ? graph_validate(&data->graph) : graph_validate_once(data->store, &data->graph);
        if (status != WEFT_OK) {
            weft_fail_context(status, "%s: ", data->store);
        }
    }
    return hear_rank_0(context, status);
}

partition_options graph_data_partition_options(const app_context *context, const graph_data *data, int parts)
{
    const weft_options *o = context->options;
    return (partition_options){.method = option_text(o, OPT_PARTITION),
                               .parts = parts,
                               .seed = (uint64_t)option_int(o, OPT_PARTITION_SEED),
                               .balance = option_real(o, OPT_BALANCE),
                               .threads = context->placement.threads,
                               .by_roots = true,
                               .memory_limit = option_size(o, OPT_MEMORY_LIMIT),
                               .share = parts == graph_data_ranks(context) ? data->share : NULL,
                               .share_slack = data->share_slack};
}

weft_status graph_data_weigh(const app_context *context, int64_t width, graph_data *data)
{
    weft_free(data->share);
    return rank_weights_find(context, graph_data_ranks(context), width, &data->share, &data->share_slack);
}

double graph_data_share(const app_context *context, const graph_data *data)
{
    const int ranks = graph_data_ranks(context);
    double largest = 0.0;
    if (data->share == NULL) {
        return 1.0 / ranks;
    }
    for (int r = 0; r < ranks; r++) {
        largest = fmax(largest, data->share[r]);
    }
    return ranks == comm_size(context->comm) ? data->share[comm_rank(context->comm)] : largest;
}

/* What this job can do without when it cannot be written: a disk that is full or read-only, a quota, another's folder.
 */
static bool is_of_disk(weft_status status)
{
    return status == WEFT_ERR_IO || status == WEFT_ERR_PERMISSION;
}

/* As partition_save, without waiting for the disk: a partition that a power failure damaged is made again. */
static weft_status save_soon(const char *place, const graph_data *data, const partition_options *options,
                             const weft_partition *partition)
{
    const bool before = file_sync_later(true);
    const weft_status status = partition_save(place, &data->graph, partition, &data->report, options);
    file_sync_later(before);
    return status;
}

/* Edges whose parts stand in memory. */
static int64_t held_edges(const weft_partition *partition)
{
    return partition->edge_part != NULL ? partition->edges : 0;
}

/* Keep a new partition beside the store, or in `folder` when the store is read-only: `place`. "" when it can be kept
 * nowhere and stays in memory. */
static weft_status keep_partition(const char *folder, const graph_data *data, const partition_options *options,
                                  const weft_partition *partition, char place[FILE_PATH_MAX])
{
    const bool writable = access(data->store, W_OK) == 0;
    weft_status status = file_path(place, "%s", writable ? data->store : folder);
    status = status == WEFT_OK && !writable ? folder_make(folder) : status;
    status = status == WEFT_OK ? save_soon(place, data, options, partition) : status;
    if (is_of_disk(status)) {
        log_warn("the partition is not kept for the next job: %s; this one goes on with it in memory (%.3g MB a rank)",
                 weft_error_message(), (double)(held_edges(partition) + partition->vertices) * sizeof(uint16_t) / 1e6);
        weft_error_clear();
        place[0] = '\0';
        return WEFT_OK;
    }
    return status;
}

/* Rank 0: where the stored partition lies; "" where there is none, or one that is damaged, which is told. */
static weft_status find_partition(graph_data *data, const partition_options *options, char place[FILE_PATH_MAX])
{
    weft_partition stored = {0};
    WEFT_TRY(file_path(place, "%s", data->store));
    weft_status status = partition_load(place, &data->graph, options, &stored, &data->report);
    partition_destroy(&stored);
    if (status == WEFT_OK) {
        return WEFT_OK;
    }
    if (status != WEFT_ERR_NOINPUT && status != WEFT_ERR_DATA) {
        return status;
    }
    if (status == WEFT_ERR_DATA) {
        log_warn("divided anew: %s", weft_error_message());
    }
    weft_error_clear();
    place[0] = '\0';
    return WEFT_OK;
}

/* A new one, rank 0's, by itself or by all ranks together. */
static weft_status make_partition(const app_context *context, graph_data *data, const partition_options *options,
                                  weft_partition *fresh)
{
    weft_status status = WEFT_OK;
    bool together = false;
    WEFT_TRY(partition_goes_together(context, &data->graph, options, &together));
    if (together) {
        return partition_together(context, &data->graph, options, fresh, &data->report);
    }
    partition_extend_patience(context, &data->graph);
    if (comm_rank(context->comm) == 0) {
        status = partition_compute(&data->graph, options, fresh, &data->report);
    }
    return hear_rank_0(context, status);
}

/* What rank 0 made, beside the store or in `folder`: `place`, on all ranks; "" where it stays in rank 0's memory. */
static weft_status keep_new(const app_context *context, const char *folder, const graph_data *data,
                            const partition_options *options, weft_partition *fresh, char place[FILE_PATH_MAX])
{
    const bool first = comm_rank(context->comm) == 0;
    partition_extend_patience(context, &data->graph);
    WEFT_TRY(hear_rank_0(context, first ? keep_partition(folder, data, options, fresh, place) : WEFT_OK));
    if (first && place[0] != '\0') {
        partition_destroy(fresh);
    }
    return comm_bcast(context->comm, 0, place, FILE_PATH_MAX);
}

static weft_status send_partition(weft_comm *comm, partition_report *report, weft_partition *partition)
{
    assert(comm_rank(comm) != 0 || partition->root != NULL); /* rank 0 kept what it made */
    weft_status status = WEFT_OK;
    int64_t edges = held_edges(partition); /* rank 0's is taken */
    WEFT_TRY(comm_bcast(comm, 0, &edges, sizeof edges));
    partition->edge_cut = edges < partition->edges;
    if (comm_rank(comm) != 0) {
        status = WEFT_NEW(&partition->edge_part, edges, WEFT_MEM_PARTITION);
        status = status == WEFT_OK ? WEFT_NEW(&partition->root, partition->vertices, WEFT_MEM_PARTITION) : status;
    }
    WEFT_TRY(comm_agree(comm, status));
    WEFT_TRY(comm_bcast(comm, 0, report, sizeof *report));
    WEFT_TRY(comm_bcast(comm, 0, partition->edge_part, edges * (int64_t)sizeof *partition->edge_part));
    return comm_bcast(comm, 0, partition->root, partition->vertices * (int64_t)sizeof *partition->root);
}

static weft_status share_partition(const app_context *context, const char *folder, graph_data *data,
                                   weft_partition *partition)
{
    weft_comm *comm = context->comm;
    const partition_options options = graph_data_partition_options(context, data, comm_size(context->comm));
    *partition =
        (weft_partition){.parts = 1, .method = "whole", .vertices = data->graph.vertices, .edges = data->graph.edges};
    if (options.parts == 1) {
        return partition_check_method(options.method); /* not used, but meant */
    }
    partition->parts = options.parts;
    partition->method = partition_method_find(options.method)->name;
    char place[FILE_PATH_MAX] = "";
    partition_extend_patience(context, &data->graph);
    WEFT_TRY(hear_rank_0(context, comm_rank(comm) == 0 ? find_partition(data, &options, place) : WEFT_OK));
    WEFT_TRY(comm_bcast(comm, 0, place, sizeof place));
    data->partition_was_stored = place[0] != '\0';
    if (place[0] == '\0') {
        WEFT_TRY(make_partition(context, data, &options, partition));
        WEFT_TRY(keep_new(context, folder, data, &options, partition, place));
    }
    if (place[0] == '\0') {
        return send_partition(comm, &data->report, partition);
    }
    return comm_agree(comm, partition_load(place, &data->graph, &options, partition, &data->report));
}

static void log_partition(const app_context *context, const graph_data *data)
{
    if (comm_size(context->comm) > 1) {
        log_info("partition %s into %d parts%s%s: replication factor %.3f, edge balance %.3f, vertex balance %.3f, "
                 "%lld rows a layer",
                 option_text(context->options, OPT_PARTITION), comm_size(context->comm),
                 data->share != NULL ? " by rank weights" : "", data->partition_was_stored ? " (stored)" : "",
                 data->report.replication_factor, data->report.edge_balance, data->report.vertex_balance,
                 (long long)data->report.rows_per_layer);
    }
}

bool graph_data_wants_clustering(const weft_options *options, const weft_graph *graph)
{
    const char *choice = option_text(options, OPT_REORDER);
    if (strcmp(choice, "auto") != 0) {
        return strcmp(choice, "cluster") == 0;
    }
    return graph_prefers_clustering(graph);
}

/* A stored order names every place once. */
static weft_status check_order(const char *path, int64_t vertices)
{
    npy_map map;
    uint8_t *taken = NULL;
    WEFT_TRY(npy_map_open(path, &map));
    weft_status status = npy_expect(path, &map.header, 'i', 4, 1, &vertices);
    status = status == WEFT_OK ? WEFT_NEW_ZERO(&taken, vertices, WEFT_MEM_WORKSPACE) : status;
    const int32_t *position = map.data;
    for (int64_t v = 0; v < vertices && status == WEFT_OK; ++v) {
        const bool good = position[v] >= 0 && position[v] < vertices && taken[position[v]] == 0;
        if (good) {
            taken[position[v]] = 1;
        } else {
            status = weft_fail(WEFT_ERR_DATA, "%s, row %lld: place %d is taken, or not one of %lld", path, (long long)v,
                               position[v], (long long)vertices);
        }
    }
    weft_free(taken);
    npy_map_close(&map);
    return status;
}

/* Rank 0: the stored order (NULL in *position, a file in `path`), or a new one, kept or in memory. */
static weft_status find_order(const app_context *context, const char *folder, const graph_data *data,
                              int32_t **position, char path[FILE_PATH_MAX])
{
    const bool writable = access(data->store, W_OK) == 0;
    const int64_t shape[1] = {data->graph.vertices};
    double seconds = 0;
    weft_status status = file_path(path, "%s/order-%.16s.npy", writable ? data->store : folder, data->graph.hash);
    WEFT_TRY(status);
    if (file_exists(path)) {
        status = check_order(path, data->graph.vertices);
        if (status != WEFT_ERR_DATA) {
            return status;
        }
        log_warn("the order of the vertices is made anew: %s", weft_error_message());
        weft_error_clear();
    }
    WEFT_TRY(graph_cluster_order(&data->graph, 0, context->placement.threads, position, &seconds));
    log_info("vertices ordered by cluster in %.1f s", seconds);
    status = writable ? WEFT_OK : folder_make(folder);
    status = status == WEFT_OK ? npy_write(path, 'i', 4, 1, shape, *position) : status;
    if (is_of_disk(status)) {
        log_warn("the order of the vertices is not kept for the next job: %s", weft_error_message());
        weft_error_clear();
        path[0] = '\0';
        return WEFT_OK;
    }
    weft_free(*position);
    *position = NULL;
    return status;
}

/* The order of the vertices that keeps neighbours near each other: mapped from a file, or held where it could not be
 * written. */
typedef struct vertex_order {
    npy_map map;
    int32_t *held;           /* [n], or NULL */
    const int32_t *position; /* [n]: either */
} vertex_order;

static weft_status cluster_order(const app_context *context, const char *folder, const graph_data *data,
                                 vertex_order *order)
{
    weft_comm *comm = context->comm;
    char path[FILE_PATH_MAX] = "";
    const int64_t shape[1] = {data->graph.vertices};
    const bool first = comm_rank(comm) == 0;
    partition_extend_patience(context, &data->graph);
    weft_status status = first ? find_order(context, folder, data, &order->held, path) : WEFT_OK;
    WEFT_TRY(hear_rank_0(context, status));
    WEFT_TRY(comm_bcast(comm, 0, path, sizeof path));
    if (path[0] == '\0') {
        assert(!first || order->held != NULL); /* rank 0 holds what it could not write */
        WEFT_TRY(comm_agree(comm, first ? WEFT_OK : WEFT_NEW(&order->held, shape[0], WEFT_MEM_PARTITION)));
        order->position = order->held;
        return comm_bcast(comm, 0, order->held, shape[0] * (int64_t)sizeof *order->held);
    }
    status = npy_map_open(path, &order->map);
    status = status == WEFT_OK ? npy_expect(path, &order->map.header, 'i', 4, 1, shape) : status;
    order->position = order->map.data;
    return comm_agree(comm, status);
}

static part_layout wanted_layout(const app_context *context)
{
    const halo_overlap overlap = option_choice(context->options, OPT_HALO_OVERLAP);
    return gnn_overlaps(context->comm, overlap) ? PART_SHARED_FIRST : PART_IN_ORDER;
}

/* Parts as an earlier job cut them. *found: on every rank, or on none. */
static weft_status load_cut(const app_context *context, graph_data *data, bool *found)
{
    weft_comm *comm = context->comm;
    const partition_options options = graph_data_partition_options(context, data, comm_size(context->comm));
    weft_status damage = WEFT_OK;
    int32_t have = 0;
    *found = false;
    if (options.parts == 1 || graph_data_is_generated(context)) {
        return WEFT_OK;
    }
    weft_status status = partition_load_report(data->store, &data->graph, &options, &data->report);
    if (status == WEFT_OK) {
        status = part_load(data->store, &data->graph, &options, comm_rank(comm), data->reordered,
                           wanted_layout(context), &data->part);
        have = status == WEFT_OK;
        damage = status == WEFT_ERR_DATA ? status : WEFT_OK; /* of the partition find_partition tells */
    }
    const weft_status found_damage = comm_agree(comm, damage);
    if (found_damage == WEFT_ERR_DATA) { /* of any rank, told by rank 0 */
        log_warn("cut anew: %s", weft_error_message());
    }
    WEFT_TRY(found_damage == WEFT_ERR_DATA ? WEFT_OK : found_damage);
    if (status != WEFT_ERR_RESOURCE) { /* anything else is cut anew; a lack of memory is told, in its own words */
        weft_error_clear();
        status = WEFT_OK;
    }
    WEFT_TRY(comm_agree(comm, status));
    WEFT_TRY(comm_allreduce(comm, &have, 1, WEFT_DTYPE_I32, COMM_MIN));
    *found = data->partition_was_stored = have != 0;
    if (!*found) {
        part_destroy(&data->part);
    }
    return WEFT_OK;
}

bool graph_data_is_large(const graph_data *data)
{
    enum { LARGE_EDGES = 1 << 24 };
    return data->graph.edges >= LARGE_EDGES;
}

/* For the next job; of a large graph by the second one of this partition: a job that is alone does not wait for files
 * that nobody reads. A part that cannot be kept, or is damaged by a power failure, is cut again. */
static void keep_cut(const app_context *context, const graph_data *data)
{
    const partition_options options = graph_data_partition_options(context, data, comm_size(context->comm));
    char folder[FILE_PATH_MAX];
    const bool soon = data->partition_was_stored || !graph_data_is_large(data);
    bool stored = soon && options.parts > 1 && !graph_data_is_generated(context) &&
                  partition_folder(data->store, &options, folder) == WEFT_OK && access(folder, W_OK) == 0;
    const bool before = file_sync_later(true);
    if (stored && part_save(data->store, &data->graph, &options, &data->part, data->reordered) != WEFT_OK) {
        log_warn("rank %d: its part is not kept for the next job: %s", comm_rank(context->comm), weft_error_message());
    }
    file_sync_later(before);
    weft_error_clear();
}

static weft_status cut(const app_context *context, const char *folder, graph_data *data)
{
    weft_status status = WEFT_OK;
    weft_partition partition = {0};
    vertex_order order = {.held = NULL};
    WEFT_TRY_GOTO(share_partition(context, folder, data, &partition), status, done);
    if (data->reordered) {
        WEFT_TRY_GOTO(cluster_order(context, folder, data, &order), status, done);
    }
    status = part_extract(&data->graph, &partition, comm_rank(context->comm), order.position, wanted_layout(context),
                          &data->part);
    WEFT_TRY_GOTO(comm_agree(context->comm, status), status, done);
    keep_cut(context, data);
done:
    npy_map_close(&order.map);
    weft_free(order.held);
    partition_destroy(&partition);
    return status;
}

weft_status graph_data_open(const app_context *context, const char *folder, graph_data *data)
{
    memset(data, 0, sizeof *data);
    ACTIVITY_TRY(ACTIVITY_LOAD, open_store(context, folder, data));
    const weft_graph *g = &data->graph;
    log_info("graph %s: %lld vertices, %lld edges (%s%s), %lld features, %lld %s", g->name, (long long)g->vertices,
             (long long)g->edges, g->symmetric ? "symmetric" : "directed", g->weight != NULL ? ", weighted" : "",
             (long long)g->features, (long long)(g->target != NULL ? g->tasks : g->classes),
             gnn_labels_are_numbers(g) ? "number a vertex"
             : g->target != NULL       ? "tasks"
                                       : "classes");
    graph_release_pages(&data->graph);
    return WEFT_OK;
}

bool graph_data_fits(const app_context *context, const graph_data *data)
{
    const weft_part *part = &data->part;
    return part->offset != NULL && part->layout == wanted_layout(context) &&
           (part->in_weight != NULL) == (data->graph.weight != NULL);
}

weft_status graph_data_cut(const app_context *context, const char *folder, graph_data *data)
{
    assert(graph_data_ranks(context) == comm_size(context->comm)); /* other ranks: graph_data_assume */
    bool found = false;
    part_destroy(&data->part);
    activity_begin(ACTIVITY_PARTITION);
    data->reordered = graph_data_wants_clustering(context->options, &data->graph);
    weft_status status = load_cut(context, data, &found);
    if (status == WEFT_OK && !found) {
        status = cut(context, folder, data);
    }
    graph_release_pages(&data->graph);
    activity_end(ACTIVITY_PARTITION);
    WEFT_TRY(status);
    log_partition(context, data);
    return WEFT_OK;
}

void graph_data_assume(const app_context *context, graph_data *data)
{
    const weft_graph *graph = &data->graph;
    const int ranks = graph_data_ranks(context);
    const double asked = option_real(context->options, OPT_REPLICATION);
    const double factor = fmin(asked, ranks);
    if (asked > factor) {
        log_warn(FLAG_REPLICATION " %g is more than " FLAG_DRY_RANKS " %d, the parts there are: %d is taken", asked,
                 ranks, ranks);
    }
    const int64_t replicas = (int64_t)ceil((factor - 1.0) * (double)graph->vertices);
    const double share = graph_data_share(context, data);
    const bool even = data->share == NULL;
    const int64_t owned = even ? (graph->vertices + ranks - 1) / ranks : (int64_t)ceil(share * (double)graph->vertices);
    data->part =
        (weft_part){.parts = ranks,
                    .n_global = graph->vertices,
                    .e_global = graph->edges,
                    .n_owned = owned,
                    .n_local = owned + (replicas + ranks - 1) / ranks,
                    .edges = even ? (graph->edges + ranks - 1) / ranks : (int64_t)ceil(share * (double)graph->edges),
                    .symmetric = graph->symmetric};
    data->report = (partition_report){.replication_factor = factor,
                                      .edge_balance = 1.0,
                                      .vertex_balance = 1.0,
                                      .root_balance = 1.0,
                                      .rows_per_layer = 2 * replicas};
}

weft_status graph_data_release(const app_context *context, graph_data *data)
{
    weft_status status = WEFT_OK;
    graph_close(&data->graph);
    WEFT_TRY(comm_barrier(context->comm));
    if (data->temporary) {
        status = folder_remove(data->store);
    }
    data->temporary = false;
    return comm_agree(context->comm, status);
}

void graph_data_close(graph_data *data)
{
    part_destroy(&data->part);
    weft_free(data->share);
    data->share = NULL;
    graph_close(&data->graph);
    if (data->temporary && file_exists(data->store) && folder_remove(data->store) != WEFT_OK) {
        log_warn("left behind: %s", weft_error_message());
    }
    data->temporary = false;
}

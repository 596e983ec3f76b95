/* app/train_data.c: see app/train_data.h. */
#include "app/train_data.h"

#include <string.h>
#include <unistd.h>

#include "base/activity.h"
#include "base/log.h"
#include "base/npy.h"
#include "gnn/data/generator.h"
#include "partition/part_store.h"
#include "partition/partition_store.h"
#include "partition/reorder.h"

static weft_status generate(const app_context *context, const char *spec, const char *folder, train_data *data)
{
    weft_status status = WEFT_OK;
    WEFT_TRY(file_path(data->store, "%s/graph-%ld", folder, (long)getpid()));
    WEFT_TRY(comm_bcast(context->comm, 0, data->store, sizeof data->store));
    if (comm_rank(context->comm) == 0) {
        log_info("generating %s", spec);
        WEFT_TRY_GOTO(folder_make(folder), status, done);
        data->temporary = true;
        status = generator_write_store(spec + strlen(GENERATOR_PREFIX), data->store, context->placement.threads, true);
    }
done:
    return comm_agree(context->comm, status);
}

/* The same answer on every rank; data->temporary is true on the one that removes the store again. */
static bool is_generated(const app_context *context)
{
    return generator_named(option_text(context->options, OPT_DATA));
}

static weft_status open_store(const app_context *context, const char *folder, train_data *data)
{
    const weft_options *o = context->options;
    const char *source = option_text(o, OPT_DATA);
    WEFT_CHECK(source[0] != '\0', WEFT_ERR_USAGE,
               "--data is missing: name a graph store, or a generated graph such as synth:quickstart");
    if (is_generated(context)) {
        WEFT_TRY(generate(context, source, folder, data));
    } else {
        WEFT_TRY(file_path(data->store, "%s", source));
    }
    bool verify = option_flag(o, OPT_VERIFY) && comm_rank(context->comm) == 0;
    weft_status status = graph_open(data->store, (int)option_int(o, OPT_SPLIT_INDEX), verify, &data->graph);
    if (status == WEFT_OK && comm_rank(context->comm) == 0) {
        /* A generated graph is gone before it could be opened again; --verify trusts nothing. */
        bool again = data->temporary || verify;
        status = again ? graph_validate(&data->graph) : graph_validate_once(data->store, &data->graph);
        if (status != WEFT_OK) {
            weft_fail_context(status, "%s: ", data->store);
        }
    }
    return comm_agree(context->comm, status);
}

static partition_options partition_options_of(const app_context *context)
{
    const weft_options *o = context->options;
    return (partition_options){.method = option_text(o, OPT_PARTITION),
                               .parts = comm_size(context->comm),
                               .seed = (uint64_t)option_int(o, OPT_PARTITION_SEED),
                               .balance = option_real(o, OPT_BALANCE),
                               .threads = context->placement.threads,
                               .memory_limit = option_size(o, OPT_MEMORY_LIMIT)};
}

/* Rank 0: the stored partition, or a new one kept beside the store (or in `folder` when the store is read-only). */
static weft_status find_partition(const char *folder, train_data *data, const partition_options *options,
                                  char place[FILE_PATH_MAX])
{
    weft_partition partition = {0};
    WEFT_TRY(file_path(place, "%s", data->store));
    weft_status status = partition_load(place, &data->graph, options, &partition, &data->report);
    data->partition_was_stored = status == WEFT_OK;
    if (status == WEFT_ERR_NOINPUT || status == WEFT_ERR_DATA) {
        status = partition_compute(&data->graph, options, &partition, &data->report);
        if (status == WEFT_OK && access(place, W_OK) != 0) {
            status = file_path(place, "%s", folder);
            status = status == WEFT_OK ? folder_make(folder) : status;
        }
        if (status == WEFT_OK) {
            status = partition_save(place, &data->graph, &partition, &data->report, options);
        }
    }
    partition_destroy(&partition);
    return status;
}

static weft_status share_partition(const app_context *context, const char *folder, train_data *data,
                                   weft_partition *partition)
{
    weft_comm *comm = context->comm;
    const partition_options options = partition_options_of(context);
    *partition =
        (weft_partition){.parts = 1, .method = "whole", .vertices = data->graph.vertices, .edges = data->graph.edges};
    if (options.parts == 1) {
        return WEFT_OK;
    }
    char place[FILE_PATH_MAX] = "";
    weft_status status = WEFT_OK;
    if (comm_rank(comm) == 0) {
        status = find_partition(folder, data, &options, place);
    }
    WEFT_TRY(comm_agree(comm, status));
    WEFT_TRY(comm_bcast(comm, 0, place, sizeof place));
    return comm_agree(comm, partition_load(place, &data->graph, &options, partition, &data->report));
}

static void log_partition(const app_context *context, const train_data *data)
{
    if (comm_size(context->comm) > 1) {
        log_info("partition %s into %d parts%s: replication factor %.3f, edge balance %.3f, vertex balance %.3f, "
                 "%lld rows a layer",
                 option_text(context->options, OPT_PARTITION), comm_size(context->comm),
                 data->partition_was_stored ? " (stored)" : "", data->report.replication_factor,
                 data->report.edge_balance, data->report.vertex_balance, (long long)data->report.rows_per_layer);
    }
}

static bool wants_clustering(const weft_options *options, const weft_graph *graph)
{
    const char *choice = option_text(options, OPT_REORDER);
    if (strcmp(choice, "auto") != 0) {
        return strcmp(choice, "cluster") == 0;
    }
    return graph_prefers_clustering(graph);
}

/* Rank 0 orders the vertices and keeps the order beside the store (or in `folder`); the others map it. */
static weft_status cluster_order(const app_context *context, const char *folder, const train_data *data, npy_map *order)
{
    weft_status status = WEFT_OK;
    char path[FILE_PATH_MAX] = "";
    int64_t shape[1] = {data->graph.vertices};
    if (comm_rank(context->comm) == 0) {
        bool writable = access(data->store, W_OK) == 0;
        status = writable ? WEFT_OK : folder_make(folder);
        if (status == WEFT_OK) {
            status = file_path(path, "%s/order-%.16s.npy", writable ? data->store : folder, data->graph.hash);
        }
        if (status == WEFT_OK && !file_exists(path)) {
            int32_t *position = NULL;
            double seconds = 0;
            status = graph_cluster_order(&data->graph, 0, context->placement.threads, &position, &seconds);
            if (status == WEFT_OK) {
                log_info("vertices ordered by cluster in %.1f s", seconds);
                status = npy_write(path, 'i', 4, 1, shape, position);
            }
            weft_free(position);
        }
    }
    WEFT_TRY(comm_agree(context->comm, status));
    WEFT_TRY(comm_bcast(context->comm, 0, path, sizeof path));
    status = npy_map_open(path, order);
    if (status == WEFT_OK) {
        status = npy_expect(path, &order->header, 'i', 4, 1, shape);
    }
    return comm_agree(context->comm, status);
}

/* Parts as an earlier job cut them. *found: on every rank, or on none. */
static weft_status load_cut(const app_context *context, train_data *data, bool *found)
{
    weft_comm *comm = context->comm;
    const partition_options options = partition_options_of(context);
    int32_t have = 0;
    *found = false;
    if (options.parts == 1 || is_generated(context)) {
        return WEFT_OK;
    }
    weft_status status = partition_load_report(data->store, &data->graph, &options, &data->report);
    if (status == WEFT_OK) {
        status = part_load(data->store, &data->graph, &options, comm_rank(comm), data->reordered, &data->part);
        have = status == WEFT_OK;
    }
    if (status == WEFT_ERR_DATA) {
        log_warn("cut anew: %s", weft_error_message());
    }
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

/* For the next job; one that cannot be kept is cut again. */
static void keep_cut(const app_context *context, const train_data *data)
{
    const partition_options options = partition_options_of(context);
    char folder[FILE_PATH_MAX];
    bool stored = options.parts > 1 && !is_generated(context) &&
                  partition_folder(data->store, &options, folder) == WEFT_OK && access(folder, W_OK) == 0;
    if (stored && part_save(data->store, &data->graph, &options, &data->part, data->reordered) != WEFT_OK) {
        log_warn("rank %d: its part is not kept for the next job: %s", comm_rank(context->comm), weft_error_message());
    }
    weft_error_clear();
}

static weft_status cut(const app_context *context, const char *folder, train_data *data)
{
    weft_status status = WEFT_OK;
    weft_partition partition = {0};
    npy_map order = {0};
    WEFT_TRY_GOTO(share_partition(context, folder, data, &partition), status, done);
    if (data->reordered) {
        WEFT_TRY_GOTO(cluster_order(context, folder, data, &order), status, done);
    }
    status = part_extract(&data->graph, &partition, comm_rank(context->comm), order.data, &data->part);
    WEFT_TRY_GOTO(comm_agree(context->comm, status), status, done);
    keep_cut(context, data);
done:
    npy_map_close(&order);
    partition_destroy(&partition);
    return status;
}

weft_status train_data_open(const app_context *context, const char *folder, train_data *data)
{
    memset(data, 0, sizeof *data);
    activity_begin(ACTIVITY_LOAD);
    weft_status status = open_store(context, folder, data);
    activity_end(ACTIVITY_LOAD);
    WEFT_TRY(status);
    const weft_graph *g = &data->graph;
    log_info("graph %s: %lld vertices, %lld edges (%s), %lld features, %lld %s", g->name, (long long)g->vertices,
             (long long)g->edges, g->symmetric ? "symmetric" : "directed", (long long)g->features,
             (long long)(g->target != NULL ? g->tasks : g->classes), g->target != NULL ? "tasks" : "classes");
    graph_release_pages(&data->graph);
    return WEFT_OK;
}

weft_status train_data_cut(const app_context *context, const char *folder, train_data *data)
{
    bool found = false;
    activity_begin(ACTIVITY_PARTITION);
    data->reordered = wants_clustering(context->options, &data->graph);
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

weft_status train_data_release(const app_context *context, train_data *data)
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

void train_data_close(train_data *data)
{
    part_destroy(&data->part);
    graph_close(&data->graph);
    if (data->temporary && file_exists(data->store) && folder_remove(data->store) != WEFT_OK) {
        log_warn("left behind: %s", weft_error_message());
    }
    data->temporary = false;
}

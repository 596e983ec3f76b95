/*
 * partition/methods/partition_store.c: partitions kept beside their graph.
 *
 *   STORE/partition-METHOD-K-SEED/   (of a file: partition-file-K-KEY, its key changes with it; of parts of different
 *                                    sizes partition-METHOD-K-SEED-weighted, whose shares stand in the report)
 *                                    edge_part.npy  uint16 [e]; not of an edge-cut that was made by_roots
 *                                    root.npy       uint16 [n]
 *                                    report.json    what was asked for, the graph's hash, the arrays' hashes, the
 *                                                   figures
 *
 * Written whole or not at all; mapped when loaded, so the ranks of a node share the pages. Every part number, and the
 * hash of each array, is checked once at loading: a damaged file is an error, never a wrong answer. Folders from before
 * there were hashes are taken without. One part needs no files.
 */
#include <string.h>

#include "base/alloc.h"
#include "io/json.h"
#include "io/npy.h"
#include "machine/thread_ranges.h"
#include "partition/given/given_parts.h"
#include "partition/methods/method.h"
#include "partition/partition.h"
#include "partition/partition_options.def"
#include "partition/partition_store.h"

enum { STORE_VERSION = 1, REPORT_MAX_BYTES = 1 << 18 };

typedef struct partition_mapping {
    npy_map edge_part, root;
} partition_mapping;

/* Of the data of each array, as in the report; "": the report has none. */
typedef struct array_hashes {
    char edge_part[33], root[33];
    bool by_roots; /* there is no edge_part */
} array_hashes;

weft_status partition_folder(const char *store_path, const partition_options *options, char path[FILE_PATH_MAX])
{
    if (given_is_file(options->method)) {
        char key[33];
        WEFT_TRY(given_parts_identity(options->method, key));
        return file_path(path, "%s/partition-file-%d-%.16s", store_path, options->parts, key);
    }
    return file_path(path, "%s/partition-%s-%d-%llu%s", store_path, options->method, options->parts,
                     (unsigned long long)options->seed,
                     shares_unequal(options->share, options->parts) != NULL ? "-weighted" : "");
}

/* "file" for all files: which it was is in the folder's name. */
static const char *method_name(const partition_options *options)
{
    return given_is_file(options->method) ? "file" : options->method;
}

static weft_status write_report(const char *path, const weft_graph *graph, const partition_report *report,
                                const partition_options *options, const array_hashes *hashes)
{
    file_writer writer;
    WEFT_TRY(file_writer_open(path, &writer));
    json_writer json = json_begin(writer.stream, true);
    json_object(&json, NULL);
    json_text(&json, "format", "weft-partition");
    json_int(&json, "version", STORE_VERSION);
    json_text(&json, "graph", graph->name);
    json_text(&json, "graph_hash", graph->hash);
    json_text(&json, "method", method_name(options));
    json_int(&json, "parts", options->parts);
    json_int(&json, "seed", (int64_t)options->seed);
    json_real(&json, "balance", options->balance);
    if (shares_unequal(options->share, options->parts) != NULL) {
        json_array(&json, "shares");
        for (int p = 0; p < options->parts; ++p) {
            json_real(&json, NULL, options->share[p]);
        }
        json_end(&json);
    }
    if (hashes->edge_part[0] != '\0') {
        json_text(&json, "edge_part_hash", hashes->edge_part);
    } else {
        json_bool(&json, "by_roots", true);
    }
    json_text(&json, "root_hash", hashes->root);
    partition_report_json(&json, report);
    json_end(&json);
    json_line_end(&json);
    return file_writer_commit(&writer);
}

weft_status partition_save(const char *store_path, const weft_graph *graph, const weft_partition *partition,
                           const partition_report *report, const partition_options *options)
{
    char folder[FILE_PATH_MAX], temporary[FILE_PATH_MAX], path[FILE_PATH_MAX];
    if (partition->parts == 1) {
        return WEFT_OK;
    }
    WEFT_TRY(partition_folder(store_path, options, folder));
    WEFT_TRY(folder_begin(folder, true, temporary));
    weft_status status = WEFT_OK;
    const bool by_roots = partition->edge_cut && partition->edge_part == NULL && partition->edges > 0;
    array_hashes hashes = {.edge_part = ""};
    if (!by_roots) {
        file_hash(partition->edge_part, (size_t)partition->edges * sizeof *partition->edge_part, hashes.edge_part);
    }
    file_hash(partition->root, (size_t)partition->vertices * sizeof *partition->root, hashes.root);
    WEFT_TRY_GOTO(file_path(path, "%s/edge_part.npy", temporary), status, done);
    status = by_roots ? WEFT_OK : npy_write(path, 'u', 2, 1, &partition->edges, partition->edge_part);
    WEFT_TRY_GOTO(status, status, done);
    WEFT_TRY_GOTO(file_path(path, "%s/root.npy", temporary), status, done);
    WEFT_TRY_GOTO(npy_write(path, 'u', 2, 1, &partition->vertices, partition->root), status, done);
    WEFT_TRY_GOTO(file_path(path, "%s/report.json", temporary), status, done);
    WEFT_TRY_GOTO(write_report(path, graph, report, options, &hashes), status, done);
    status = folder_commit(temporary, folder, true);
done:
    if (status != WEFT_OK) {
        folder_remove(temporary);
    }
    return status;
}

void partition_report_json(json_writer *json, const partition_report *report)
{
    json_real(json, "replication_factor", report->replication_factor);
    json_real(json, "edge_balance", report->edge_balance);
    json_real(json, "vertex_balance", report->vertex_balance);
    json_real(json, "root_balance", report->root_balance);
    json_int(json, "rows_per_layer", report->rows_per_layer);
    json_int(json, "split_vertices", report->split_vertices);
    json_int(json, "cut_edges", report->cut_edges);
    json_int(json, "empty_parts", report->empty_parts);
    json_real(json, "seconds", report->seconds);
    json_int(json, "peak_rss_bytes", (int64_t)report->peak_rss_bytes);
}

static weft_status get_real(const char *name, const json_value *object, const char *key, double *value)
{
    const json_value *found = json_find(object, key);
    WEFT_CHECK(found != NULL && found->kind == JSON_NUMBER, WEFT_ERR_DATA, "%s: \"%s\" must be a number", name, key);
    *value = found->number;
    return WEFT_OK;
}

static weft_status read_figures(const char *name, const json_value *root, partition_report *report)
{
    int64_t peak = 0;
    WEFT_TRY(get_real(name, root, "replication_factor", &report->replication_factor));
    WEFT_TRY(get_real(name, root, "edge_balance", &report->edge_balance));
    WEFT_TRY(get_real(name, root, "vertex_balance", &report->vertex_balance));
    WEFT_TRY(get_real(name, root, "root_balance", &report->root_balance));
    WEFT_TRY(json_get_int(name, root, "rows_per_layer", 0, INT64_MAX, &report->rows_per_layer));
    WEFT_TRY(json_get_int(name, root, "split_vertices", 0, INT64_MAX, &report->split_vertices));
    WEFT_TRY(json_get_int(name, root, "cut_edges", 0, INT64_MAX, &report->cut_edges));
    WEFT_TRY(json_get_int(name, root, "empty_parts", 0, PARTITION_MAX_PARTS, &report->empty_parts));
    WEFT_TRY(get_real(name, root, "seconds", &report->seconds));
    WEFT_TRY(json_get_int(name, root, "peak_rss_bytes", 0, INT64_MAX, &peak));
    report->peak_rss_bytes = (uint64_t)peak;
    return WEFT_OK;
}

/* Numbers that were written read back the same. */
static weft_status check_shares(const char *name, const json_value *root, const partition_options *options)
{
    const double *share = shares_unequal(options->share, options->parts);
    const json_value *stored = json_find(root, "shares");
    const json_value *found = stored != NULL && stored->kind == JSON_ARRAY ? stored->child : NULL;
    WEFT_CHECK((share != NULL) == (stored != NULL), WEFT_ERR_DATA,
               "%s: \"shares\" belongs to folders that are named -weighted, and to all of them", name);
    for (int p = 0; share != NULL && p < options->parts; ++p, found = found->next) {
        WEFT_CHECK(found != NULL && found->kind == JSON_NUMBER, WEFT_ERR_DATA, "%s: \"shares\" must be %d numbers",
                   name, options->parts);
        WEFT_CHECK(fabs(found->number - share[p]) <= options->share_slack * share[p], WEFT_ERR_NOINPUT,
                   "%s: part %d was made for a share of %g, not %g", name, p, found->number, share[p]);
    }
    WEFT_CHECK(found == NULL, WEFT_ERR_DATA, "%s: \"shares\" must be %d numbers", name, options->parts);
    return WEFT_OK;
}

static weft_status check_report(const char *name, const json_value *root, const weft_graph *graph,
                                const partition_options *options)
{
    int64_t number = 0;
    double balance = 0;
    const char *text = NULL;
    WEFT_TRY(json_get_text(name, root, "format", &text));
    WEFT_CHECK(strcmp(text, "weft-partition") == 0, WEFT_ERR_DATA, "%s: format \"%s\", expected weft-partition", name,
               text);
    WEFT_TRY(json_get_int(name, root, "version", STORE_VERSION, STORE_VERSION, &number));
    WEFT_TRY(json_get_text(name, root, "method", &text));
    WEFT_CHECK(strcmp(text, method_name(options)) == 0, WEFT_ERR_DATA, "%s: method \"%s\", its folder says %s", name,
               text, method_name(options));
    WEFT_TRY(json_get_int(name, root, "parts", options->parts, options->parts, &number));
    WEFT_TRY(get_real(name, root, "balance", &balance));
    WEFT_CHECK(balance == options->balance, WEFT_ERR_NOINPUT, "%s: made with " FLAG_BALANCE " %g, not %g", name,
               balance, options->balance);
    WEFT_TRY(check_shares(name, root, options));
    WEFT_TRY(json_get_text(name, root, "graph_hash", &text));
    WEFT_CHECK(strcmp(text, graph->hash) == 0, WEFT_ERR_DATA,
               "%s: made for graph %s, this one is %s: run weft partition again", name, text, graph->hash);
    return WEFT_OK;
}

static weft_status get_hash(const char *name, const json_value *root, const char *key, char hash[33])
{
    const char *text = "";
    if (json_find(root, key) != NULL) {
        WEFT_TRY(json_get_text(name, root, key, &text));
        WEFT_CHECK(strlen(text) == 32, WEFT_ERR_DATA, "%s: \"%s\" must be a hash of 32 digits", name, key);
    }
    snprintf(hash, 33, "%s", text);
    return WEFT_OK;
}

/* report, hashes: NULL if not wanted. */
static weft_status read_report(const char *path, const weft_graph *graph, const partition_options *options,
                               partition_report *report, array_hashes *hashes)
{
    json_document *document = NULL;
    const json_value *root = NULL;
    weft_status status = WEFT_OK;
    partition_report figures = {0};
    array_hashes found;
    WEFT_TRY(json_read_object(path, REPORT_MAX_BYTES, &document, &root));
    WEFT_TRY_GOTO(check_report(path, root, graph, options), status, done);
    WEFT_TRY_GOTO(read_figures(path, root, &figures), status, done);
    WEFT_TRY_GOTO(get_hash(path, root, "edge_part_hash", found.edge_part), status, done);
    WEFT_TRY_GOTO(get_hash(path, root, "root_hash", found.root), status, done);
    found.by_roots = false;
    if (json_find(root, "by_roots") != NULL) {
        WEFT_TRY_GOTO(json_get_bool(path, root, "by_roots", &found.by_roots), status, done);
    }
    if (hashes != NULL) {
        *hashes = found;
    }
    if (report != NULL) {
        *report = figures;
    }
done:
    json_free(document);
    return status;
}

/* Map one array and check that every part exists, and its hash. One that is missing from its folder is damage, not
 * absence. */
static weft_status map_parts(const char *path, int64_t count, int parts, int threads, const char *hash, npy_map *map)
{
    int64_t bad = -1;
    weft_status status = npy_map_open(path, map);
    WEFT_TRY(status == WEFT_ERR_NOINPUT ? weft_fail_context(WEFT_ERR_DATA, "damaged partition: ") : status);
    WEFT_TRY(npy_expect(path, &map->header, 'u', 2, 1, &count));
    const uint16_t *part = map->data;
#pragma omp parallel for schedule(static) num_threads(split_threads(count, threads)) reduction(max : bad)
    for (int64_t i = 0; i < count; ++i) {
        bad = part[i] >= parts ? i : bad;
    }
    WEFT_CHECK(bad < 0, WEFT_ERR_DATA, "%s: row %lld: part %d of %d", path, (long long)bad, part[bad], parts);
    char own[33];
    file_hash(part, (size_t)count * sizeof *part, own);
    WEFT_CHECK(hash[0] == '\0' || strcmp(hash, own) == 0, WEFT_ERR_DATA,
               "%s: its hash is not that of report.json: run weft partition again", path);
    return WEFT_OK;
}

weft_status partition_load_report(const char *store_path, const weft_graph *graph, const partition_options *options,
                                  partition_report *report)
{
    char folder[FILE_PATH_MAX], path[FILE_PATH_MAX];
    WEFT_TRY(partition_folder(store_path, options, folder));
    WEFT_CHECK(file_exists(folder), WEFT_ERR_NOINPUT, "%s: no such partition", folder);
    WEFT_TRY(file_path(path, "%s/report.json", folder));
    return read_report(path, graph, options, report, NULL);
}

weft_status partition_load(const char *store_path, const weft_graph *graph, const partition_options *options,
                           weft_partition *partition, partition_report *report)
{
    char folder[FILE_PATH_MAX], path[FILE_PATH_MAX];
    weft_status status = WEFT_OK;
    partition_mapping *mapping = NULL;
    array_hashes hashes;
    *partition = (weft_partition){0};
    const partition_method *method = partition_method_find(options->method);
    WEFT_CHECK(method != NULL, WEFT_ERR_USAGE, "unknown partitioning method \"%s\"", options->method);
    if (options->parts == 1) {
        return partition_compute(graph, options, partition, report);
    }
    WEFT_TRY(partition_folder(store_path, options, folder));
    WEFT_CHECK(file_exists(folder), WEFT_ERR_NOINPUT,
               "%s: no such partition: run weft partition %s " FLAG_PARTS " %d " FLAG_METHOD " %s", folder, store_path,
               options->parts, options->method);
    WEFT_TRY(file_path(path, "%s/report.json", folder));
    WEFT_TRY(read_report(path, graph, options, report, &hashes));
    WEFT_TRY(WEFT_NEW_ZERO(&mapping, 1, WEFT_MEM_PARTITION));
    *partition = (weft_partition){.parts = options->parts,
                                  .method = method->name,
                                  .edge_cut = method->kind == PARTITION_EDGE_CUT || hashes.by_roots,
                                  .vertices = graph->vertices,
                                  .edges = graph->edges,
                                  .mapping = mapping};
    int threads = options->threads > 0 ? options->threads : omp_get_max_threads();
    WEFT_TRY_GOTO(file_path(path, "%s/edge_part.npy", folder), status, done);
    status = hashes.by_roots
                 ? WEFT_OK
                 : map_parts(path, graph->edges, options->parts, threads, hashes.edge_part, &mapping->edge_part);
    WEFT_TRY_GOTO(status, status, done);
    WEFT_TRY_GOTO(file_path(path, "%s/root.npy", folder), status, done);
    WEFT_TRY_GOTO(map_parts(path, graph->vertices, options->parts, threads, hashes.root, &mapping->root), status, done);
    /* The pages are read-only: nothing writes to a partition after it is made. */
    partition->edge_part = (uint16_t *)(uintptr_t)mapping->edge_part.data;
    partition->root = (uint16_t *)(uintptr_t)mapping->root.data;
done:
    if (status != WEFT_OK) {
        partition_destroy(partition);
    }
    return status;
}

void partition_unmap(weft_partition *partition)
{
    partition_mapping *mapping = partition->mapping;
    npy_map_close(&mapping->edge_part);
    npy_map_close(&mapping->root);
    weft_free(mapping);
}

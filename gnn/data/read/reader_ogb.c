/*
 * gnn/data/read/reader_ogb.c: OGB node property data sets as they are downloaded (W. Hu et al.: Open Graph Benchmark:
 * datasets for machine learning on graphs. NeurIPS 2020, arXiv:2005.00687). Tables of numbers without headers, .csv.gz
 * or .csv:
 *
 *   raw/edge                       e rows "source,destination"; products and proteins list each undirected edge once:
 *                                  their splits, sales_ranking and species, tell them apart from directed graphs
 *   raw/num-node-list, num-edge-list  one number each (the second may be absent)
 *   raw/node-feat                  n rows of f numbers; absent in proteins, which has raw/edge-feat [e, 8] instead: a
 *                                  vertex then gets the mean over its edges, as OGB's examples do
 *   raw/node-label                 n rows: one column = classes (nan = unlabelled), more = binary tasks
 *   split/NAME/{train,valid,test}  lists of vertices
 *
 * Memory beside the edges: the features as floats; 24 bytes an edge where they come from edges.
 */
#include <dirent.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "gnn/data/build/arcs.h"
#include "gnn/data/edges/edge_text.h"
#include "gnn/data/read/reader_formats.h"
#include "gnn/data/read/reader_ogb.h"
#include "gnn/data/read/reader_parts.h"
#include "gnn/data/read/reader_text.h"
#include "io/text/text_table.h"

static bool find_raw(const char *folder, const char *stem, char path[FILE_PATH_MAX])
{
    char raw[FILE_PATH_MAX];
    return file_path(raw, "%s/raw", folder) == WEFT_OK && reader_find_table(raw, stem, path);
}

static bool matches(const char *path)
{
    char found[FILE_PATH_MAX];
    return find_raw(path, "edge", found) && find_raw(path, "num-node-list", found);
}

static weft_status need_raw(const char *folder, const char *stem, char path[FILE_PATH_MAX])
{
    WEFT_CHECK(find_raw(folder, stem, path), WEFT_ERR_NOINPUT, "%s: lacks raw/%s.csv.gz (or .csv)", folder, stem);
    return WEFT_OK;
}

/* The one number of a num-*-list. */
static weft_status read_count(const char *path, int64_t *count)
{
    int64_t rows = 1;
    int64_t columns = 1;
    int64_t *value = NULL;
    WEFT_TRY(text_table_ints(path, WEFT_MEM_GENERAL, &rows, &columns, &value));
    *count = value[0];
    weft_free(value);
    WEFT_CHECK(*count >= 0, WEFT_ERR_DATA, "%s: row 0: %" PRId64 " is negative", path, *count);
    return WEFT_OK;
}

/* ---- edges ---- */

static weft_status parse_edges(const char *path, text_source *source, raw_graph *raw)
{
    return edge_text_read(source, path, raw->vertices, false, raw->arcs);
}

static weft_status read_edges(const char *folder, raw_graph *raw)
{
    char path[FILE_PATH_MAX];
    int64_t edges = -1;
    if (find_raw(folder, "num-edge-list", path)) {
        WEFT_TRY(read_count(path, &edges));
    }
    WEFT_TRY(need_raw(folder, "edge", path));
    WEFT_TRY(reader_text_read(path, EDGE_LINE_MAX, parse_edges, raw));
    WEFT_CHECK(edges < 0 || arcs_count(raw->arcs) == edges, WEFT_ERR_DATA,
               "%s: %" PRId64 " edges, but raw/num-edge-list says %" PRId64 " (truncated?)", path,
               arcs_count(raw->arcs), edges);
    return WEFT_OK;
}

/* ---- features ---- */

/* Every vertex: the mean of its edges' features, both ends of an edge counting it. pair [edges, 2]: ids are known to
 * be good. */
static weft_status average_edges(const raw_graph *raw, const int64_t *pair, int64_t edges, const float *edge,
                                 int64_t columns, float *feature)
{
    double *sum = NULL;
    int64_t *count = NULL;
    weft_status status;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&sum, raw->vertices * columns, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&count, raw->vertices, WEFT_MEM_WORKSPACE), status, done);
    for (int64_t end = 0; end < 2 * edges; end++) {
        double *row = sum + pair[end] * columns;
        const float *values = edge + end / 2 * columns;
        for (int64_t c = 0; c < columns; c++) {
            row[c] += (double)values[c];
        }
        count[pair[end]]++;
    }
    for (int64_t v = 0; v < raw->vertices; v++) {
        double scale = count[v] > 0 ? 1.0 / (double)count[v] : 0.0;
        for (int64_t c = 0; c < columns; c++) {
            feature[v * columns + c] = (float)(sum[v * columns + c] * scale);
        }
    }
done:
    weft_free(sum);
    weft_free(count);
    return status;
}

/* The edges once more, in the order of their features. */
static weft_status read_edge_features(const char *folder, const char *path, raw_graph *raw)
{
    char edge_path[FILE_PATH_MAX];
    float *edge = NULL;
    int64_t *pair = NULL;
    int64_t edges = arcs_count(raw->arcs);
    int64_t two = 2;
    int64_t columns = -1;
    WEFT_TRY(need_raw(folder, "edge", edge_path));
    weft_status status;
    WEFT_TRY_GOTO(text_table_ints(edge_path, WEFT_MEM_WORKSPACE, &edges, &two, &pair), status, done);
    WEFT_TRY_GOTO(text_table_floats(path, WEFT_MEM_WORKSPACE, false, &edges, &columns, &edge), status, done);
    WEFT_TRY_GOTO(
        weft_malloc((size_t)raw->vertices, (size_t)columns * sizeof(float), WEFT_MEM_FEATURE, (void **)&raw->feature),
        status, done);
    WEFT_TRY_GOTO(average_edges(raw, pair, edges, edge, columns, raw->feature), status, done);
    raw->features = columns;
    log_info("%s: no features of vertices: each gets the mean of its edges' %" PRId64 " features", path, columns);
done:
    weft_free(pair);
    weft_free(edge);
    return status;
}

static weft_status read_features(const char *folder, raw_graph *raw)
{
    char path[FILE_PATH_MAX];
    if (find_raw(folder, "node-feat", path)) {
        int64_t rows = raw->vertices;
        int64_t columns = -1;
        WEFT_TRY(text_table_floats(path, WEFT_MEM_FEATURE, false, &rows, &columns, &raw->feature));
        raw->features = columns;
        return WEFT_OK;
    }
    return find_raw(folder, "edge-feat", path) ? read_edge_features(folder, path, raw) : WEFT_OK;
}

/* ---- labels and split ---- */

static weft_status read_labels(const char *folder, raw_graph *raw)
{
    char path[FILE_PATH_MAX];
    if (!find_raw(folder, "node-label", path)) {
        return WEFT_OK;
    }
    int64_t rows = raw->vertices;
    int64_t columns = -1;
    float *values = NULL;
    WEFT_TRY(text_table_floats(path, WEFT_MEM_GRAPH, true, &rows, &columns, &values));
    weft_status status = reader_take_real_labels(path, columns, &values, false, raw);
    weft_free(values);
    return status;
}

/* The first folder by name below split/ that holds lists; "" when there is none. */
static weft_status find_split(const char *folder, char path[FILE_PATH_MAX])
{
    char parent[FILE_PATH_MAX];
    char candidate[FILE_PATH_MAX];
    path[0] = '\0';
    DIR *entries = file_path(parent, "%s/split", folder) == WEFT_OK ? opendir(parent) : NULL;
    if (entries == NULL) {
        return WEFT_OK;
    }
    weft_status status = WEFT_OK;
    const struct dirent *entry;
    while ((entry = folder_next(entries, parent, &status)) != NULL) {
        bool better = entry->d_name[0] != '.' && file_path(candidate, "%s/%s", parent, entry->d_name) == WEFT_OK &&
                      reader_has_split_lists(candidate) && (path[0] == '\0' || strcmp(candidate, path) < 0);
        if (better) {
            memcpy(path, candidate, FILE_PATH_MAX);
        }
    }
    closedir(entries);
    return status;
}

weft_status reader_ogb_split(const char *folder, raw_graph *raw)
{
    char path[FILE_PATH_MAX];
    WEFT_TRY(find_split(folder, path));
    if (path[0] == '\0') {
        return WEFT_OK;
    }
    log_info("split of %s", path);
    const char *name = strrchr(path, '/') + 1;
    raw->both_ways = strcmp(name, "sales_ranking") == 0 || strcmp(name, "species") == 0;
    return reader_split_lists(path, raw);
}

static weft_status read_graph(const char *path, raw_graph *raw)
{
    char file[FILE_PATH_MAX];
    WEFT_TRY(need_raw(path, "num-node-list", file));
    WEFT_TRY(read_count(file, &raw->vertices));
    WEFT_TRY(reader_check_vertices(file, raw->vertices));
    WEFT_TRY(read_edges(path, raw));
    WEFT_TRY(read_features(path, raw));
    WEFT_TRY(read_labels(path, raw));
    return reader_ogb_split(path, raw);
}

const reader_format reader_ogb = {
    .name = "ogb",
    .description = "folder of an OGB node property data set with raw/edge.csv.gz (arxiv, products, proteins)",
    .symmetrize = true,
    .matches = matches,
    .read = read_graph,
};

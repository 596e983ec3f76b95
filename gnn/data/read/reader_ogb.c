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
 *   split/NAME/{train,valid,test}  lists of vertices; one NAME, or that of --split-name
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
#include "gnn/data/convert_options.def"
#include "gnn/data/edges/edge_text.h"
#include "gnn/data/read/reader_formats.h"
#include "gnn/data/read/reader_parts.h"

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
    int64_t rows, *value;
    const raw_graph numbers = {.vertices = -1};
    WEFT_TRY(reader_text_list(path, &numbers, &rows, &value));
    *count = rows == 1 ? *value : -1;
    weft_free(value);
    WEFT_CHECK(rows == 1, WEFT_ERR_DATA, "%s: %" PRId64 " rows of numbers, expected 1", path, rows);
    WEFT_CHECK(*count >= 0, WEFT_ERR_DATA, "%s: row 0: %" PRId64 " is negative", path, *count);
    return WEFT_OK;
}

/* ---- edges ---- */

static weft_status parse_edges(const char *path, text_source *source, raw_graph *raw)
{
    return edge_text_read(source, path, raw->vertices, raw->arcs);
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
    int64_t *pair = NULL, columns = 0;
    const int64_t edges = arcs_count(raw->arcs);
    WEFT_TRY(need_raw(folder, "edge", edge_path));
    weft_status status;
    WEFT_TRY_GOTO(reader_text_edge_ends(edge_path, edges, &pair), status, done);
    WEFT_TRY_GOTO(reader_text_edge_floats(path, edges, &columns, &edge), status, done);
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
        return reader_text_features(path, raw);
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
    return reader_text_labels(path, false, raw);
}

/* The folders below split/ that hold lists. */
typedef struct split_folders {
    int count;
    bool both_ways;               /* one has the name of a data set that lists each undirected edge once */
    char first[256], second[256]; /* the first two names in order, or "" */
    bool has_asked;               /* one is that of --split-name */
} split_folders;

static bool names_both_ways(const char *name)
{
    return strcmp(name, "sales_ranking") == 0 || strcmp(name, "species") == 0;
}

static void note_folder(const char *name, const char *asked, split_folders *found)
{
    const bool first = found->count == 0 || strcmp(name, found->first) < 0;
    if (first) {
        memcpy(found->second, found->first, sizeof found->second);
        snprintf(found->first, sizeof found->first, "%s", name);
    } else if (found->count == 1 || strcmp(name, found->second) < 0) {
        snprintf(found->second, sizeof found->second, "%s", name);
    }
    found->count++;
    found->both_ways = found->both_ways || names_both_ways(name);
    found->has_asked = found->has_asked || (asked != NULL && strcmp(name, asked) == 0);
}

static weft_status find_splits(const char *folder, const char *asked, split_folders *found)
{
    char parent[FILE_PATH_MAX];
    char candidate[FILE_PATH_MAX];
    *found = (split_folders){.count = 0};
    WEFT_TRY(file_path(parent, "%s/split", folder));
    DIR *entries = opendir(parent);
    const struct dirent *entry;
    weft_status status = WEFT_OK;
    if (entries == NULL) {
        return WEFT_OK;
    }
    while ((entry = folder_next(entries, parent, &status)) != NULL) {
        if (entry->d_name[0] != '.' && file_path(candidate, "%s/%s", parent, entry->d_name) == WEFT_OK &&
            reader_has_split_lists(candidate)) {
            note_folder(entry->d_name, asked, found);
        }
    }
    closedir(entries);
    return status;
}

/* The folder of the split: that of --split-name, or the only one. WEFT_ERR_USAGE / WEFT_ERR_DATA names what is
 * there. */
static weft_status choose_folder(const char *folder, const raw_graph *raw, const split_folders *found,
                                 const char **name)
{
    *name = found->first;
    if (raw->split_name != NULL) {
        WEFT_CHECK(found->has_asked, WEFT_ERR_USAGE,
                   FLAG_SPLIT_NAME " %s: %s/split has no such folder with train, valid and test%s%s%s%s",
                   raw->split_name, folder, found->count > 0 ? "; it has " : "", found->first,
                   found->count > 1 ? " and " : "", found->second);
        *name = raw->split_name;
        return WEFT_OK;
    }
    WEFT_CHECK(
        found->count<2, WEFT_ERR_DATA, "%s/split: holds %d splits, %s and %s%s: choose with " FLAG_SPLIT_NAME " %s",
                     folder, found->count, found->first, found->second, found->count> 2
            ? " among them"
            : "",
        found->first);
    return WEFT_OK;
}

weft_status reader_ogb_split(const char *folder, raw_graph *raw)
{
    char path[FILE_PATH_MAX];
    split_folders found;
    const char *name;
    WEFT_TRY(find_splits(folder, raw->split_name, &found));
    raw->both_ways = found.both_ways;
    if (raw->split_name == NULL && (found.count == 0 || raw->split_elsewhere)) {
        return WEFT_OK;
    }
    WEFT_TRY(choose_folder(folder, raw, &found, &name));
    WEFT_TRY(file_path(path, "%s/split/%s", folder, name));
    log_info("split of %s", path);
    raw->both_ways = names_both_ways(name);
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
    .has_split_folders = true,
    .matches = matches,
    .read = read_graph,
};

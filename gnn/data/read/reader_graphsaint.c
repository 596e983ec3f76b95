/*
 * gnn/data/read/reader_graphsaint.c: the folders of GraphSAINT (H. Zeng et al.: GraphSAINT: graph sampling based
 * inductive learning method. ICLR 2020, arXiv:1907.04931): Flickr, Reddit, Yelp, Amazon, PPI.
 *
 *   adj_full.npz    SciPy CSR, entry (u, v) = edge u -> v (adj_train.npz, its training part, is not needed)
 *   feats.npy       [n, f], used as it stands
 *   class_map.json  {"vertex": class, ...} or {"vertex": [0, 1, ...], ...}; a vertex that is not in it is unlabelled
 *   role.json       {"tr": [...], "va": [...], "te": [...]}
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/number.h"
#include "gnn/data/read/json_scan.h"
#include "gnn/data/read/reader_formats.h"
#include "gnn/data/read/reader_parts.h"

enum { TASKS_MAX = 1 << 20 };

static bool matches(const char *path)
{
    static const char *const names[] = {"adj_full.npz", "class_map.json", "role.json"};
    char file[FILE_PATH_MAX];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (file_path(file, "%s/%s", path, names[i]) != WEFT_OK || !file_exists(file)) {
            return false;
        }
    }
    return true;
}

/* ---- class_map.json ---- */

typedef struct class_map {
    json_scan scan;
    raw_graph *raw;
    int64_t *label; /* classes, or NULL when the map holds tasks */
    float *target;
    int64_t tasks;
    uint8_t *seen;
} class_map;

static weft_status scan_vertex(class_map *map, int64_t *v)
{
    char key[32];
    WEFT_TRY(json_scan_text(&map->scan, key));
    WEFT_CHECK(number_parse_int(key, v) && *v >= 0 && *v < map->raw->vertices, WEFT_ERR_DATA,
               "%s: key \"%s\": vertices are \"0\" to \"%" PRId64 "\"", map->scan.path, key, map->raw->vertices - 1);
    WEFT_CHECK(map->seen[*v] == 0, WEFT_ERR_DATA, "%s: key \"%s\" comes twice", map->scan.path, key);
    map->seen[*v] = 1;
    return json_scan_need(&map->scan, ':');
}

/* The first list tells how many tasks there are. */
static weft_status count_tasks(class_map *map)
{
    json_scan ahead = map->scan;
    int64_t count = 0, value;
    do {
        WEFT_TRY(json_scan_int(&ahead, &value));
        count++;
    } while (json_scan_take(&ahead, ',') && count <= TASKS_MAX);
    WEFT_CHECK(count <= TASKS_MAX, WEFT_ERR_UNSUPPORTED, "%s: more than %d tasks", map->scan.path, TASKS_MAX);
    map->tasks = count;
    WEFT_TRY(
        weft_malloc((size_t)map->raw->vertices, (size_t)count * sizeof(float), WEFT_MEM_GRAPH, (void **)&map->target));
    for (int64_t i = 0; i < map->raw->vertices * count; i++) {
        map->target[i] = NAN;
    }
    return WEFT_OK;
}

static weft_status scan_tasks(class_map *map, int64_t v)
{
    if (map->target == NULL) {
        WEFT_TRY(count_tasks(map));
    }
    for (int64_t task = 0; task < map->tasks; task++) {
        int64_t value;
        if (task > 0) {
            WEFT_TRY(json_scan_need(&map->scan, ','));
        }
        WEFT_TRY(json_scan_int(&map->scan, &value));
        WEFT_CHECK(value == 0 || value == 1, WEFT_ERR_DATA,
                   "%s: vertex %" PRId64 ", task %" PRId64 ": %" PRId64 ": tasks are 0 or 1", map->scan.path, v, task,
                   value);
        map->target[v * map->tasks + task] = (float)value;
    }
    return json_scan_need(&map->scan, ']');
}

static weft_status scan_entry(class_map *map)
{
    int64_t v;
    WEFT_TRY(scan_vertex(map, &v));
    bool list = json_scan_take(&map->scan, '['), first = map->label == NULL && map->target == NULL;
    WEFT_CHECK(first || list == (map->target != NULL), WEFT_ERR_DATA,
               "%s: vertex %" PRId64 ": some vertices have a class, others a list of tasks", map->scan.path, v);
    if (list) {
        return scan_tasks(map, v);
    }
    if (first) {
        WEFT_TRY(WEFT_NEW(&map->label, map->raw->vertices, WEFT_MEM_GRAPH));
        memset(map->label, 0xff, (size_t)map->raw->vertices * sizeof *map->label); /* -1: unlabelled */
    }
    return json_scan_int(&map->scan, &map->label[v]);
}

static weft_status scan_map(class_map *map)
{
    WEFT_TRY(json_scan_need(&map->scan, '{'));
    bool any = !json_scan_take(&map->scan, '}');
    WEFT_CHECK(any, WEFT_ERR_DATA, "%s: no vertex has a label", map->scan.path);
    do {
        WEFT_TRY(scan_entry(map));
    } while (json_scan_take(&map->scan, ','));
    WEFT_TRY(json_scan_need(&map->scan, '}'));
    WEFT_TRY(json_scan_end(&map->scan));
    return map->target != NULL ? reader_take_real_labels(map->scan.path, map->tasks, &map->target, false, map->raw)
                               : reader_take_labels(map->scan.path, map->label, false, map->raw);
}

static weft_status read_classes(const char *path, raw_graph *raw)
{
    class_map map = {.raw = raw};
    WEFT_TRY(json_scan_open(path, &map.scan));
    weft_status status = WEFT_NEW_ZERO(&map.seen, raw->vertices, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? scan_map(&map) : status;
    json_scan_close(&map.scan);
    WEFT_FREE_ALL(map.label, map.target, map.seen);
    return status;
}

/* ---- role.json ---- */

static weft_status scan_role(json_scan *scan, raw_graph *raw, bool seen[READER_PARTS])
{
    static const char *const keys[READER_PARTS] = {"tr", "va", "te"};
    char key[32];
    WEFT_TRY(json_scan_text(scan, key));
    int part = 0;
    while (part < READER_PARTS && strcmp(key, keys[part]) != 0) {
        part++;
    }
    WEFT_CHECK(part < READER_PARTS && !seen[part], WEFT_ERR_DATA,
               "%s: key \"%s\": expected \"tr\", \"va\", \"te\", each once", scan->path, key);
    seen[part] = true;
    WEFT_TRY(json_scan_need(scan, ':'));
    WEFT_TRY(json_scan_need(scan, '['));
    if (json_scan_take(scan, ']')) {
        return WEFT_OK;
    }
    int64_t row = 0;
    do {
        int64_t v;
        WEFT_TRY(json_scan_int(scan, &v));
        WEFT_CHECK(v >= 0 && v < raw->vertices, WEFT_ERR_DATA,
                   "%s: \"%s\", row %" PRId64 ": %" PRId64 ": vertices are 0 to %" PRId64, scan->path, key, row, v,
                   raw->vertices - 1);
        WEFT_TRY(reader_put_part(scan->path, raw, 0, v, part));
        row++;
    } while (json_scan_take(scan, ','));
    return json_scan_need(scan, ']');
}

static weft_status scan_roles(json_scan *scan, raw_graph *raw)
{
    bool seen[READER_PARTS] = {false, false, false};
    WEFT_TRY(json_scan_need(scan, '{'));
    for (int i = 0; i < READER_PARTS; i++) {
        if (i > 0) {
            WEFT_TRY(json_scan_need(scan, ','));
        }
        WEFT_TRY(scan_role(scan, raw, seen));
    }
    WEFT_TRY(json_scan_need(scan, '}'));
    return json_scan_end(scan);
}

static weft_status read_roles(const char *path, raw_graph *raw)
{
    json_scan scan;
    WEFT_TRY(reader_new_splits(raw, 1));
    WEFT_TRY(json_scan_open(path, &scan));
    weft_status status = scan_roles(&scan, raw);
    json_scan_close(&scan);
    return status;
}

static weft_status read_graph(const char *path, raw_graph *raw)
{
    char file[FILE_PATH_MAX];
    WEFT_TRY(file_path(file, "%s/adj_full.npz", path));
    WEFT_TRY(reader_npz_read(file, reader_npz_scipy, raw));
    WEFT_TRY(file_path(file, "%s/feats.npy", path));
    if (file_exists(file)) {
        WEFT_TRY(reader_map_features(file, raw));
    }
    WEFT_TRY(file_path(file, "%s/class_map.json", path));
    WEFT_TRY(read_classes(file, raw));
    WEFT_TRY(file_path(file, "%s/role.json", path));
    return read_roles(file, raw);
}

const reader_format reader_graphsaint = {
    .name = "graphsaint",
    .description = "folder with adj_full.npz, feats.npy, class_map.json, role.json (GraphSAINT)",
    .symmetrize = true,
    .matches = matches,
    .read = read_graph,
};

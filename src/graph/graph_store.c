/*
 * graph/graph_store.c: a graph store opened by mapping its arrays.
 *
 * Opening costs a manifest and six headers whatever the size of the graph: nothing is read until it is used, and the
 * ranks of a node share the page cache. Sizes and types are compared with the manifest; the values are checked by
 * graph_validate, the bytes (checksums) with verify.
 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "graph/graph_manifest.h"
#include "io/store/store_seal.h"

weft_mem_tag WEFT_MEM_GRAPH[1] = {{.text = "graph"}};
weft_mem_tag WEFT_MEM_FEATURE[1] = {{.text = "features"}};

struct graph_mapping {
    npy_map arrays[GRAPH_ARRAYS];
};

static weft_status open_arrays(const char *store, const graph_manifest *manifest, bool verify,
                               struct graph_mapping *mapping, char hash[33], char seal[33])
{
    memcpy(seal, hash, 33);
    for (int id = 0; id < GRAPH_ARRAYS; id++) {
        const store_array *entry = &manifest->arrays[id];
        if (!entry->present) {
            continue;
        }
        char path[FILE_PATH_MAX];
        WEFT_TRY(file_path(path, "%s/%s", store, entry->file));
        WEFT_TRY(store_array_open(path, entry, &mapping->arrays[id]));
        if (verify) {
            WEFT_TRY(store_array_verify(path, entry, &mapping->arrays[id]));
        }
        /* A cache would take an edited graph for the old one if size and time did not tell them apart. */
        if (entry->xxh3[0] == '\0' && entry->crc32[0] == '\0') {
            WEFT_TRY(store_facts_mix(path, hash));
        }
        WEFT_TRY(store_seal_mix(path, seal));
    }
    return WEFT_OK;
}

static weft_status expect(const char *store, const graph_manifest *manifest, const struct graph_mapping *mapping,
                          graph_array id, char kind, int item_bytes, int dims, int64_t rows, int64_t columns)
{
    char path[FILE_PATH_MAX];
    WEFT_TRY(file_path(path, "%s/%s", store, manifest->arrays[id].file));
    const int64_t shape[2] = {rows, columns};
    return npy_expect(path, &mapping->arrays[id].header, kind, item_bytes, dims, shape);
}

/* Offsets run from 0 to the count of what they divide. */
static weft_status check_offset(const char *store, const graph_manifest *m, const struct graph_mapping *mapping,
                                graph_array id, int64_t count, const char *what)
{
    const int64_t *offset = mapping->arrays[id].data;
    WEFT_CHECK(offset[0] == 0 && offset[m->vertices] == count, WEFT_ERR_DATA,
               "%s/%s: runs from %" PRId64 " to %" PRId64 ", expected 0 to %" PRId64 " (%s)", store, m->arrays[id].file,
               offset[0], offset[m->vertices], count, what);
    return WEFT_OK;
}

/* Types and shapes of the arrays against the counts. */
static weft_status check_arrays(const char *store, const graph_manifest *m, const struct graph_mapping *mapping)
{
    int64_t n = m->vertices;
    WEFT_TRY(expect(store, m, mapping, GRAPH_OFFSET, 'i', 8, 1, n + 1, 0));
    bool wide = mapping->arrays[GRAPH_SOURCE].header.item_bytes == 8;
    WEFT_TRY(expect(store, m, mapping, GRAPH_SOURCE, 'i', wide ? 8 : 4, 1, m->edges, 0));
    WEFT_CHECK(wide || n <= INT32_MAX, WEFT_ERR_DATA, "%s: %" PRId64 " vertices need 64-bit ids in the source array",
               store, n);
    if (m->weighted) {
        WEFT_TRY(expect(store, m, mapping, GRAPH_WEIGHT, 'f', 4, 1, m->edges, 0));
    }
    if (m->feature_numbers >= 0) {
        WEFT_TRY(expect(store, m, mapping, GRAPH_FEATURE_OFFSET, 'i', 8, 1, n + 1, 0));
        WEFT_TRY(expect(store, m, mapping, GRAPH_FEATURE_COLUMN, 'i', 4, 1, m->feature_numbers, 0));
        WEFT_TRY(expect(store, m, mapping, GRAPH_FEATURE_VALUE, 'f', 4, 1, m->feature_numbers, 0));
    } else if (m->features > 0) {
        WEFT_TRY(expect(store, m, mapping, GRAPH_FEATURE, 'f', 4, 2, n, m->features));
    }
    if (m->classes > 0) {
        WEFT_TRY(expect(store, m, mapping, GRAPH_LABEL, 'i', 4, 1, n, 0));
    }
    if (m->tasks > 0) {
        WEFT_TRY(expect(store, m, mapping, GRAPH_TARGET, 'f', 4, 2, n, m->tasks));
    }
    if (m->splits > 0) {
        bool single = m->splits == 1 && mapping->arrays[GRAPH_SPLIT].header.dims == 1;
        WEFT_TRY(expect(store, m, mapping, GRAPH_SPLIT, 'u', 1, single ? 1 : 2, single ? n : m->splits, n));
    }
    WEFT_TRY(m->class_named ? expect(store, m, mapping, GRAPH_CLASS_NAME, 'u', 1, 1, -1, 0) : WEFT_OK);
    WEFT_TRY(m->vertex_named ? expect(store, m, mapping, GRAPH_VERTEX_NAME, 'u', 1, 1, -1, 0) : WEFT_OK);
    WEFT_TRY(check_offset(store, m, mapping, GRAPH_OFFSET, m->edges, "the edges"));
    return m->feature_numbers < 0 ? WEFT_OK
                                  : check_offset(store, m, mapping, GRAPH_FEATURE_OFFSET, m->feature_numbers,
                                                 "the numbers of sparse features");
}

static weft_status check_split_index(const char *store, const graph_manifest *manifest, int split_index)
{
    WEFT_CHECK(manifest->splits > 0 || split_index == 0, WEFT_ERR_USAGE,
               "%s: split %d is asked for, but the store holds none: weft convert makes one with it", store,
               split_index);
    WEFT_CHECK(manifest->splits == 0 || (split_index >= 0 && split_index < manifest->splits), WEFT_ERR_USAGE,
               "%s: split %d is asked for; the store holds 0 to %" PRId64, store, split_index, manifest->splits - 1);
    return WEFT_OK;
}

static void fill_graph(const graph_manifest *m, struct graph_mapping *mapping, int split_index, const char *hash,
                       weft_graph *graph)
{
    const npy_map *arrays = mapping->arrays;
    assert(split_index == 0 || split_index < m->splits); /* check_split_index */
    bool wide = arrays[GRAPH_SOURCE].header.item_bytes == 8;
    *graph = (weft_graph){
        .vertices = m->vertices,
        .edges = m->edges,
        .features = m->features,
        .classes = m->classes,
        .tasks = m->tasks,
        .splits = m->splits,
        .symmetric = m->symmetric,
        .offset = arrays[GRAPH_OFFSET].data,
        .source32 = wide || m->edges == 0 ? NULL : arrays[GRAPH_SOURCE].data,
        .source64 = wide && m->edges > 0 ? arrays[GRAPH_SOURCE].data : NULL,
        .weight = m->weighted ? arrays[GRAPH_WEIGHT].data : NULL,
        .feature = m->feature_numbers < 0 && m->features > 0 ? arrays[GRAPH_FEATURE].data : NULL,
        .feature_offset = m->feature_numbers >= 0 ? arrays[GRAPH_FEATURE_OFFSET].data : NULL,
        .feature_column = m->feature_numbers >= 0 ? arrays[GRAPH_FEATURE_COLUMN].data : NULL,
        .feature_value = m->feature_numbers >= 0 ? arrays[GRAPH_FEATURE_VALUE].data : NULL,
        .label = m->classes > 0 ? arrays[GRAPH_LABEL].data : NULL,
        .target = m->tasks > 0 ? arrays[GRAPH_TARGET].data : NULL,
        .vertex_names = m->vertex_named,
        .mapping = mapping,
    };
    if (m->splits > 0) {
        graph->split = (const uint8_t *)arrays[GRAPH_SPLIT].data + (size_t)split_index * (size_t)m->vertices;
    }
    memcpy(graph->name, m->name, sizeof graph->name);
    memcpy(graph->hash, hash, sizeof graph->hash);
}

static weft_status read_names(const char *store, graph_array id, const struct graph_mapping *mapping, int64_t count,
                              name_list *names)
{
    char origin[FILE_PATH_MAX];
    const npy_map *array = &mapping->arrays[id];
    assert(array->data != NULL); /* graph_open mapped what the manifest lists */
    WEFT_TRY(file_path(origin, "%s/%s.npy", store, graph_array_names[id]));
    return name_list_parse(origin, array->data, (size_t)array->header.count, count, names);
}

static weft_status read_class_names(const char *store, const graph_manifest *m, weft_graph *graph)
{
    if (!m->class_named) {
        return WEFT_OK;
    }
    WEFT_TRY(read_names(store, GRAPH_CLASS_NAME, graph->mapping, m->classes + m->tasks, &graph->class_names));
    return name_list_check_distinct(store, &graph->class_names);
}

weft_status graph_vertex_names(const weft_graph *graph, name_list *names)
{
    *names = (name_list){.text = NULL};
    return graph->vertex_names ? read_names(graph->name, GRAPH_VERTEX_NAME, graph->mapping, graph->vertices, names)
                               : WEFT_OK;
}

/* A store whose manifest gives no name is called after its folder. */
static void name_after_folder(const char *path, char name[GRAPH_NAME_BYTES])
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') {
        end--;
    }
    size_t start = end;
    while (start > 0 && path[start - 1] != '/') {
        start--;
    }
    snprintf(name, GRAPH_NAME_BYTES, "%.*s", (int)(end - start), path + start);
}

_Static_assert(sizeof((weft_graph *)0)->name == GRAPH_NAME_BYTES, "a manifest's name fits a graph's");

static void close_mapping(struct graph_mapping *mapping)
{
    if (mapping != NULL) {
        for (int id = 0; id < GRAPH_ARRAYS; id++) {
            npy_map_close(&mapping->arrays[id]);
        }
        weft_free(mapping);
    }
}

weft_status graph_open(const char *path, int split_index, bool verify, weft_graph *graph)
{
    *graph = (weft_graph){.mapping = NULL};
    struct graph_mapping *mapping = NULL;
    graph_manifest *manifest = NULL;
    char hash[33], seal[33];
    weft_status status;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&mapping, 1, WEFT_MEM_GENERAL), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&manifest, 1, WEFT_MEM_GENERAL), status, done);
    WEFT_TRY_GOTO(graph_manifest_read(path, manifest, hash), status, done);
    WEFT_TRY_GOTO(check_split_index(path, manifest, split_index), status, done);
    WEFT_TRY_GOTO(open_arrays(path, manifest, verify, mapping, hash, seal), status, done);
    WEFT_TRY_GOTO(check_arrays(path, manifest, mapping), status, done);
    fill_graph(manifest, mapping, split_index, hash, graph);
    memcpy(graph->seal, seal, sizeof graph->seal);
    if (graph->name[0] == '\0') {
        name_after_folder(path, graph->name);
    }
    mapping = NULL;
    status = read_class_names(path, manifest, graph);
    if (status != WEFT_OK) {
        graph_close(graph);
    }
done:
    weft_free(manifest);
    close_mapping(mapping);
    return status;
}

void graph_release_pages(const weft_graph *graph)
{
    for (int i = 0; graph->mapping != NULL && i < GRAPH_ARRAYS; i++) {
        const file_map *map = &graph->mapping->arrays[i].map;
        if (map->data != NULL) {
            madvise((void *)(uintptr_t)map->data, map->size, MADV_DONTNEED);
        }
    }
}

void graph_close(weft_graph *graph)
{
    close_mapping(graph->mapping);
    name_list_free(&graph->class_names);
    *graph = (weft_graph){.mapping = NULL};
}

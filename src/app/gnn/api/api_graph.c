/* app/gnn/api/api_graph.c: see weft/graph.h. The opaque weft_graph is graph/graph.h's. */
#include "weft/graph.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/graph.h"

weft_status weft_graph_open(const char *path, int split_index, weft_graph **graph)
{
    weft_graph *opened = NULL;
    *graph = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&opened, 1, WEFT_MEM_GRAPH));
    weft_status status = graph_open(path, split_index, false, opened);
    if (status != WEFT_OK) {
        weft_free(opened);
        return status;
    }
    *graph = opened;
    return WEFT_OK;
}

void weft_graph_get(const weft_graph *graph, weft_graph_arrays *arrays)
{
    *arrays = (weft_graph_arrays){
        .vertices = graph->vertices,
        .edges = graph->edges,
        .features = graph->features,
        .classes = graph->classes,
        .tasks = graph->tasks,
        .splits = graph->split != NULL,
        .symmetric = graph->symmetric,
        .offset = graph->offset,
        .source = graph->source32,
        .source64 = graph->source64,
        .weight = graph->weight,
        .feature = graph->feature,
        .feature_offset = graph->feature_offset,
        .feature_column = graph->feature_column,
        .feature_value = graph->feature_value,
        .label = graph->label,
        .target = graph->target,
        .split = graph->split,
        .name = graph->name,
    };
}

int64_t weft_graph_splits(const weft_graph *graph)
{
    return graph->splits;
}

weft_status weft_graph_validate(const weft_graph *graph)
{
    return graph_validate(graph);
}

void weft_graph_close(weft_graph *graph)
{
    if (graph != NULL) {
        graph_close(graph);
        weft_free(graph);
    }
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/* An array and its count come together. */
static weft_status check_pair(const char *path, const char *array, const void *data, const char *count, int64_t value)
{
    WEFT_CHECK(value >= 0 && (data != NULL) == (value > 0), WEFT_ERR_USAGE, "%s: %s is %" PRId64 " but %s is %s: %s",
               path, count, value, array, data != NULL ? "given" : "NULL",
               data != NULL ? "say how many, or give NULL" : "give the array, or set 0");
    return WEFT_OK;
}

static weft_status check_presence(const char *path, const weft_graph_arrays *a)
{
    WEFT_CHECK(a->source64 == NULL, WEFT_ERR_UNSUPPORTED, "%s: source64 cannot be written: give 32-bit ids in source",
               path);
    WEFT_CHECK(a->vertices <= INT32_MAX, WEFT_ERR_UNSUPPORTED, "%s: %" PRId64 " vertices; at most %d can be written",
               path, a->vertices, INT32_MAX);
    WEFT_CHECK(a->vertices >= 1, WEFT_ERR_USAGE, "%s: %" PRId64 " vertices: a graph has at least 1", path, a->vertices);
    WEFT_CHECK(a->offset != NULL, WEFT_ERR_USAGE, "%s: offset is NULL: give [vertices + 1] offsets", path);
    WEFT_CHECK(a->label == NULL || a->target == NULL, WEFT_ERR_USAGE, "%s: label and target are both given: choose one",
               path);
    if (a->edges != 0) { /* without edges the pointer does not matter */
        WEFT_TRY(check_pair(path, "source", a->source, "edges", a->edges));
    }
    WEFT_CHECK(a->feature == NULL || a->feature_offset == NULL, WEFT_ERR_USAGE,
               "%s: feature and feature_offset are both given: choose one", path);
    WEFT_CHECK(a->feature_offset == NULL || (a->feature_column != NULL && a->feature_value != NULL), WEFT_ERR_USAGE,
               "%s: feature_offset is given without feature_column or feature_value: give all three", path);
    WEFT_TRY(check_pair(path, "feature", a->feature != NULL ? (const void *)a->feature : a->feature_offset, "features",
                        a->features));
    WEFT_TRY(check_pair(path, "label", a->label, "classes", a->classes));
    WEFT_TRY(check_pair(path, "target", a->target, "tasks", a->tasks));
    return check_pair(path, "split", a->split, "splits", a->splits);
}

/* Of every split; graph_validate sees one. */
static weft_status check_splits(const char *path, const weft_graph_arrays *a)
{
    assert((a->split != NULL) == (a->splits > 0)); /* check_presence */
    for (int64_t i = 0; i < a->splits * a->vertices; ++i) {
        WEFT_CHECK(a->split[i] <= 2 || a->split[i] == 255, WEFT_ERR_DATA,
                   "%s: split %" PRId64 ", row %" PRId64 ": %u; expected 0 train, 1 valid, 2 test or 255 none", path,
                   i / a->vertices, i % a->vertices, (unsigned)a->split[i]);
    }
    return WEFT_OK;
}

static weft_status check_values(const char *path, const graph_arrays *store, const weft_graph_arrays *a)
{
    weft_graph graph = graph_of_arrays(store);
    const size_t length = a->name != NULL ? strlen(a->name) : 0;
    WEFT_CHECK(length < sizeof graph.name, WEFT_ERR_USAGE, "%s: the name has %zu bytes, at most %zu are kept", path,
               length, sizeof graph.name - 1);
    WEFT_TRY(graph_validate(&graph));
    return check_splits(path, a);
}

weft_status weft_graph_write(const char *path, const weft_graph_arrays *arrays, bool force)
{
    WEFT_TRY(check_presence(path, arrays));
    const graph_arrays store = {.vertices = arrays->vertices,
                                .edges = arrays->edges,
                                .features = arrays->features,
                                .classes = arrays->classes,
                                .tasks = arrays->tasks,
                                .splits = arrays->splits,
                                .symmetric = arrays->symmetric,
                                .offset = arrays->offset,
                                .source = arrays->source,
                                .weight = arrays->weight,
                                .feature = arrays->feature,
                                .feature_offset = arrays->feature_offset,
                                .feature_column = arrays->feature_column,
                                .feature_value = arrays->feature_value,
                                .label = arrays->label,
                                .target = arrays->target,
                                .split = arrays->split,
                                .name = arrays->name,
                                .origin = "weft_graph_write"};
    WEFT_TRY(check_values(path, &store, arrays));
    return graph_store_write(path, &store, force);
}

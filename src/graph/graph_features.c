/* graph/graph_features.c: features of a graph store, whole or sparse, row by row; see graph/graph.h. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "graph/graph.h"

const float *graph_feature_row(const weft_graph *graph, int64_t v, float *room)
{
    assert(v >= 0 && v < graph->vertices);
    if (graph->feature != NULL) {
        return graph->feature + v * graph->features;
    }
    memset(room, 0, (size_t)graph->features * sizeof *room);
    for (int64_t i = graph->feature_offset[v]; i < graph->feature_offset[v + 1]; i++) {
        room[graph->feature_column[i]] = graph->feature_value[i];
    }
    return room;
}

graph_feature_count graph_feature_counts(const weft_graph *graph, int64_t v)
{
    assert(v >= 0 && v < graph->vertices);
    const bool whole = graph->feature != NULL;
    const float *value = whole ? graph->feature + v * graph->features : graph->feature_value + graph->feature_offset[v];
    const int64_t count = whole ? graph->features : graph->feature_offset[v + 1] - graph->feature_offset[v];
    graph_feature_count found = {.numbers = 0};
    for (int64_t i = 0; i < count; i++) {
        found.numbers += value[i] != 0.0F;
        found.negative += value[i] < 0.0F;
        found.sum += (double)value[i];
        found.magnitude += fabs((double)value[i]);
    }
    return found;
}

int64_t graph_feature_numbers(const weft_graph *graph, int64_t v, int32_t *column, float *value)
{
    assert(v >= 0 && v < graph->vertices && (column == NULL) == (value == NULL));
    const bool whole = graph->feature != NULL;
    const int64_t first = whole ? v * graph->features : graph->feature_offset[v];
    const int64_t count = whole ? graph->features : graph->feature_offset[v + 1] - first;
    const float *from = (whole ? graph->feature : graph->feature_value) + first;
    int64_t numbers = 0;
    for (int64_t i = 0; i < count; i++) {
        if (from[i] != 0.0F && column != NULL) {
            column[numbers] = whole ? (int32_t)i : graph->feature_column[first + i];
            value[numbers] = from[i];
        }
        numbers += from[i] != 0.0F;
    }
    return numbers;
}

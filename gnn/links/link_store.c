/* gnn/links/link_store.c: see gnn/links/link_store.h. */
#include "gnn/links/link_store.h"

#include <stdio.h>

#include "base/alloc.h"

typedef struct kept_edges {
    int64_t *offset;
    int32_t *source;
    float *weight; /* NULL: none */
} kept_edges;

static bool is_kept(const weft_graph *graph, const link_shares *shares, int64_t row, int64_t e)
{
    return link_deal_of(shares, !graph->symmetric, row, graph_source(graph, e)).part == LINK_TRAIN;
}

static void count_kept(const weft_graph *graph, const link_shares *shares, int64_t *offset)
{
    offset[0] = 0;
#pragma omp parallel for schedule(static)
    for (int64_t v = 0; v < graph->vertices; ++v) {
        int64_t kept = 0;
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            kept += is_kept(graph, shares, v, e);
        }
        offset[v + 1] = kept;
    }
    for (int64_t v = 0; v < graph->vertices; ++v) {
        offset[v + 1] += offset[v];
    }
}

static void take_kept(const weft_graph *graph, const link_shares *shares, const kept_edges *kept)
{
#pragma omp parallel for schedule(static)
    for (int64_t v = 0; v < graph->vertices; ++v) {
        int64_t at = kept->offset[v];
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            if (is_kept(graph, shares, v, e)) {
                kept->source[at] = (int32_t)graph_source(graph, e);
                if (kept->weight != NULL) {
                    kept->weight[at] = graph->weight[e];
                }
                at += 1;
            }
        }
    }
}

weft_status link_store_write(const weft_graph *graph, const link_shares *shares, const char *path)
{
    kept_edges kept = {.offset = NULL};
    char origin[256];
    weft_status status;
    WEFT_TRY_GOTO(WEFT_NEW(&kept.offset, graph->vertices + 1, WEFT_MEM_GRAPH), status, done);
    count_kept(graph, shares, kept.offset);
    const int64_t edges = kept.offset[graph->vertices];
    WEFT_TRY_GOTO(WEFT_NEW(&kept.source, edges, WEFT_MEM_GRAPH), status, done);
    WEFT_TRY_GOTO(graph->weight != NULL ? WEFT_NEW(&kept.weight, edges, WEFT_MEM_GRAPH) : WEFT_OK, status, done);
    take_kept(graph, shares, &kept);
    snprintf(origin, sizeof origin, "links of %s: train %.17g, valid %.17g, test %.17g, seed %llu", graph->hash,
             shares->share[LINK_TRAIN], shares->share[LINK_VALID], shares->share[LINK_TEST],
             (unsigned long long)shares->seed);
    const graph_arrays arrays = {.vertices = graph->vertices,
                                 .edges = edges,
                                 .features = graph->features,
                                 .symmetric = graph->symmetric,
                                 .offset = kept.offset,
                                 .source = kept.source,
                                 .weight = kept.weight,
                                 .feature = graph->feature,
                                 .feature_offset = graph->feature_offset,
                                 .feature_column = graph->feature_column,
                                 .feature_value = graph->feature_value,
                                 .name = graph->name,
                                 .origin = origin};
    status = graph_store_write(path, &arrays, false);
done:
    WEFT_FREE_ALL(kept.offset, kept.source, kept.weight);
    return status;
}

/*
 * gnn/data/generate/generator.c: spec to graph to store.
 *
 * Features never exist as a whole: the store's writer asks for them in runs of rows. The peak is the CSR while it still
 * holds repeated edges (8 bytes a draw); for the Reddit-size preset that is about 0.7 GB.
 */
#include "gnn/data/generate/generator.h"

#include <omp.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "gnn/data/generate/generator_parts.h"

static weft_status make_edges(const generator_spec *spec, int threads, generated_graph *graph)
{
    rmat_model rmat;
    forum_model *forum = NULL;
    community_model *communities = NULL;
    edge_stream stream;
    if (spec->family != GENERATOR_RMAT) {
        WEFT_TRY(WEFT_NEW(&graph->group, graph->vertices, WEFT_MEM_GRAPH));
    }
    if (spec->family == GENERATOR_RMAT) {
        rmat_model_init(spec, &rmat);
        stream = rmat_model_stream(&rmat);
    } else if (spec->family == GENERATOR_FORUM) {
        WEFT_TRY(forum_model_create(spec, threads, &forum, graph->group));
        stream = forum_model_stream(forum);
    } else {
        WEFT_TRY(community_model_create(spec, threads, &communities, graph->group));
        stream = community_model_stream(communities);
    }
    weft_status status = generator_csr(graph->vertices, &stream, threads, &graph->offset, &graph->source);
    forum_model_destroy(forum);
    community_model_destroy(communities);
    return status;
}

weft_status generator_make(const generator_spec *spec, int threads, generated_graph *graph)
{
    if (threads <= 0) {
        threads = omp_get_max_threads();
    }
    *graph = (generated_graph){.spec = *spec, .vertices = (int64_t)spec->vertices};
    WEFT_TRY(make_edges(spec, threads, graph));
    graph->edges = graph->offset[graph->vertices];
    WEFT_TRY(WEFT_NEW(&graph->class_of, graph->vertices, WEFT_MEM_GRAPH));
    WEFT_TRY(WEFT_NEW(&graph->label, graph->vertices, WEFT_MEM_GRAPH));
    WEFT_TRY(WEFT_NEW(&graph->split, graph->vertices, WEFT_MEM_GRAPH));
    generator_labels(spec, graph->group, threads, graph->class_of, graph->label);
    generator_splits(spec, threads, graph->split);
    if (spec->features > 0) {
        WEFT_TRY(generator_features_create(spec, graph->class_of, threads, &graph->features));
    }
    return WEFT_OK;
}

void generated_graph_free(generated_graph *graph)
{
    WEFT_FREE_ALL(graph->offset, graph->source, graph->group, graph->class_of, graph->label, graph->split);
    generator_features_destroy(graph->features);
    *graph = (generated_graph){0};
}

static weft_status fill_rows(void *self, int64_t row, int64_t rows, float *out)
{
    generator_features_fill(self, row, rows, out);
    return WEFT_OK;
}

static weft_status write_store(const generated_graph *graph, const char *origin, const char *path, bool force)
{
    graph_arrays arrays = {.vertices = graph->vertices,
                           .edges = graph->edges,
                           .features = (int64_t)graph->spec.features,
                           .classes = (int64_t)graph->spec.classes,
                           .splits = 1,
                           .symmetric = true,
                           .offset = graph->offset,
                           .source = graph->source,
                           .fill_features = graph->features != NULL ? fill_rows : NULL,
                           .fill_self = graph->features,
                           .label = graph->label,
                           .split = graph->split,
                           .name = graph->spec.name,
                           .origin = origin};
    return graph_store_write(path, &arrays, force);
}

weft_status generator_measure(const char *spec_text, generator_size *size)
{
    generator_spec spec;
    WEFT_TRY(generator_spec_parse(spec_text, &spec));
    const double n = spec.vertices, ids = sizeof(int32_t) * spec.edges;
    const double rows = (sizeof(int64_t) + 2 * sizeof(int32_t)) * n; /* offsets, labels, classes */
    *size = (generator_size){.vertices = (int64_t)n,
                             .edges = (int64_t)spec.edges,
                             .features = (int64_t)spec.features,
                             .classes = (int64_t)spec.classes,
                             .made_bytes = ids + rows,
                             .store_bytes = ids + rows + sizeof(float) * spec.features * n};
    return WEFT_OK;
}

weft_status generator_write_store(const char *spec_text, const char *path, int threads, bool force)
{
    generator_spec spec;
    generated_graph graph = {0};
    char origin[512];
    weft_status status;
    double start = clock_seconds();
    WEFT_TRY(generator_spec_parse(spec_text, &spec));
    WEFT_TRY(force ? graph_store_check_replaceable(path) : WEFT_OK);
    snprintf(origin, sizeof origin, "synth:%s", spec_text);
    WEFT_TRY_GOTO(generator_make(&spec, threads, &graph), status, done);
    log_info("generated %s: %lld vertices, %lld directed edges in %.1f s", origin, (long long)graph.vertices,
             (long long)graph.edges, clock_seconds() - start);
    status = write_store(&graph, origin, path, force);

done:
    generated_graph_free(&graph);
    return status;
}

/*
 * app/gnn/bench/bench_spmm.c: weft bench spmm: the rate of neighbour aggregation (out = A x, float32).
 *
 *      weft bench spmm --data reddit.weft,synth:arxiv --thread-counts 1,2,4 --dims 64,256 --forms all
 *
 * A row a graph, number of threads, vertex order, form and width: edge elements a second (E * d / t) and shares of
 * limits (spmm_case.c). --reorder cluster measures the library's vertex order, once with operands that live in it and
 * once gathering them from the given order and back; auto does so for graphs that training clusters.
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/gnn/bench/bench_spmm.h"
#include "base/alloc.h"
#include "gnn/data/generate/generator.h"
#include "partition/reorder.h"

weft_status bench_data_parse(const char *text, char data[SPMM_DATA_MAX][SPMM_DATA_BYTES], int *count)
{
    *count = 0;
    while (*text != '\0') {
        const size_t length = strcspn(text, ",");
        WEFT_CHECK(length > 0, WEFT_ERR_USAGE, "--data: an empty name between two commas");
        const bool more = *count > 0 && memchr(text, '=', length) != NULL && generator_named(data[*count - 1]);
        WEFT_CHECK(more || *count < SPMM_DATA_MAX, WEFT_ERR_USAGE, "--data: more than %d graphs", SPMM_DATA_MAX);
        char *name = more ? data[*count - 1] : data[(*count)++];
        const size_t used = more ? strlen(name) : 0;
        WEFT_CHECK(used + more + length < SPMM_DATA_BYTES, WEFT_ERR_USAGE, "--data: a name of over %d characters",
                   SPMM_DATA_BYTES - 1);
        snprintf(name + used, SPMM_DATA_BYTES - used, "%s%.*s", more ? "," : "", (int)length, text);
        text += length;
        text += *text == ',';
    }
    WEFT_CHECK(*count > 0, WEFT_ERR_USAGE,
               "weft bench spmm needs --data: a graph store, or synth:SPEC such as synth:reddit,scale=0.1");
    return WEFT_OK;
}

static weft_status begin(bench_run *run)
{
    spmm_bench *b = (spmm_bench *)run;
    const weft_options *o = run->options;
    const bool listed = option_is_set(o, OPT_FORMS);
    WEFT_TRY(bench_data_parse(option_text(o, OPT_DATA), b->data, &run->sets));
    bench_axis_numbers(o, OPT_DIMS, &run->axis[WIDTH]);
    return bench_axis_names(listed ? "--forms" : "--spmm", option_text(o, listed ? OPT_FORMS : OPT_SPMM),
                            option_row_in(o, OPT_SPMM)->choices, &run->axis[FORM]);
}

/* A generated graph lives in a temporary store for the time of its cases. The generator uses the threads of the first
 * team. */
static weft_status open_graph(spmm_bench *b)
{
    const char *temporary = getenv("TMPDIR"), *data = b->data[b->run.set];
    app_context context = *b->run.context;
    weft_options *options = NULL;
    WEFT_TRY(option_copy(context.options, &options));
    context.options = options;
    weft_status status = option_assign(options, "data", data);
    if (status == WEFT_OK) {
        status = graph_data_open(&context, temporary != NULL && *temporary != '\0' ? temporary : "/tmp", &b->graph);
    }
    option_destroy(options);
    WEFT_TRY(status);
    const weft_graph *graph = &b->graph.graph;
    WEFT_CHECK(graph->source32 != NULL || graph->edges == 0, WEFT_ERR_UNSUPPORTED,
               "%s: %" PRId64 " vertices; aggregation takes 32-bit ids", data, graph->vertices);
    memcpy(b->name[b->run.set], graph->name, sizeof b->name[0]);
    b->order_seconds = (double)NAN;
    return WEFT_OK;
}

static void close_graph(bench_run *run)
{
    spmm_bench *b = (spmm_bench *)run;
    graph_data_close(&b->graph);
    WEFT_FREE_ALL(b->position, b->vertex);
    b->position = b->vertex = NULL;
}

/* The whole graph in the order in which training would cut it. */
static weft_status order_graph(spmm_bench *b)
{
    const weft_graph *graph = &b->graph.graph;
    const weft_partition whole = {.parts = 1, .method = "whole", .vertices = graph->vertices, .edges = graph->edges};
    WEFT_TRY(graph_cluster_order(graph, 0, b->run.context->placement.threads, &b->position, &b->order_seconds));
    WEFT_TRY(part_extract(graph, &whole, 0, b->position, PART_IN_ORDER, &b->graph.part));
    WEFT_TRY(WEFT_NEW(&b->vertex, graph->vertices, WEFT_MEM_GRAPH));
    for (int64_t v = 0; v < graph->vertices; v++) {
        assert(b->graph.part.gid[b->position[v]] == v);
        b->vertex[b->position[v]] = (int32_t)v;
    }
    return WEFT_OK;
}

static weft_status enter(bench_run *run)
{
    spmm_bench *b = (spmm_bench *)run;
    WEFT_TRY(b->graph.graph.mapping != NULL ? WEFT_OK : open_graph(b));
    const bool ordered = graph_data_wants_clustering(run->options, &b->graph.graph);
    run->axis[ORDER].count = ordered ? 2 : 1;
    return ordered && b->position == NULL ? order_graph(b) : WEFT_OK;
}

const bench_kind bench_spmm = {
    BENCH_ROWS(spmm_row), .bytes = sizeof(spmm_bench), .case_bytes = sizeof(spmm_case), .begin = begin,
    .enter = enter,       .open = spmm_case_open,      .measure = spmm_case_measure,    .close = spmm_case_close,
    .leave = close_graph};

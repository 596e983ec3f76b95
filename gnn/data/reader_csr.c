/*
 * gnn/data/reader_csr.c: two arrays of ids sorted into CSR, in memory; see gnn/data/csr_build.h for how.
 */
#include <inttypes.h>
#include <omp.h>

#include "gnn/data/csr_build.h"
#include "gnn/data/reader.h"

enum { SPAN = 65536 };

typedef struct edge_list {
    int64_t edges;
    const int32_t *from, *to;
} edge_list;

static weft_status check_ids(const edge_list *list, int64_t vertices)
{
    int64_t first = list->edges;
    int32_t n = (int32_t)vertices;
#pragma omp parallel for schedule(static) reduction(min : first)
    for (int64_t e = 0; e < list->edges; e++) {
        bool good = list->from[e] >= 0 && list->from[e] < n && list->to[e] >= 0 && list->to[e] < n;
        if (!good && e < first) {
            first = e;
        }
    }
    WEFT_CHECK(first == list->edges, WEFT_ERR_DATA, "edge %" PRId64 ": (%d, %d): vertices are 0 to %d", first,
               list->from[first], list->to[first], n - 1);
    return WEFT_OK;
}

static weft_status span_of_list(void *self, int64_t i, int thread, csr_span *span)
{
    (void)thread;
    const edge_list *list = self;
    int64_t begin = i * SPAN;
    int64_t count = list->edges - begin < SPAN ? list->edges - begin : SPAN;
    *span = (csr_span){.from = list->from + begin, .to = list->to + begin, .stride = 1, .count = count};
    return WEFT_OK;
}

static bool is_symmetric(int64_t vertices, const int64_t *offset, const int32_t *source)
{
    weft_graph graph = {.vertices = vertices, .edges = offset[vertices], .offset = offset, .source32 = source};
    int64_t row;
    return offset[vertices] == 0 || graph_first_one_way(&graph, &row) < 0;
}

weft_status reader_build_csr(int64_t vertices, int64_t edges, const int32_t *from, const int32_t *to, bool add_reverse,
                             bool keep_self_loops, int64_t **offset, int32_t **source, int64_t *entries,
                             bool *symmetric)
{
    *offset = NULL;
    *source = NULL;
    WEFT_CHECK(vertices >= 1 && vertices <= INT32_MAX, WEFT_ERR_UNSUPPORTED,
               "%" PRId64 " vertices; 1 to 2147483647 are supported", vertices);
    edge_list list = {.edges = edges, .from = from, .to = to};
    WEFT_TRY(check_ids(&list, vertices));
    csr_input input = {.vertices = vertices,
                       .spans = (edges + SPAN - 1) / SPAN,
                       .span = span_of_list,
                       .self = &list,
                       .threads = omp_get_max_threads(),
                       .add_reverse = add_reverse,
                       .keep_self_loops = keep_self_loops,
                       .limit_bytes = INT64_MAX};
    csr_graph graph;
    WEFT_TRY(csr_build(&input, &graph));
    *offset = graph.offset;
    *source = graph.memory;
    *entries = graph.entries;
    *symmetric = add_reverse || is_symmetric(vertices, graph.offset, graph.source);
    return WEFT_OK;
}

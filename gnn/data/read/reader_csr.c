/*
 * gnn/data/read/reader_csr.c: two arrays of ids, or collected edges, sorted into CSR; see gnn/data/build/csr_build.h
 * for how.
 */
#include <inttypes.h>
#include <omp.h>

#include "base/alloc.h"
#include "base/sort.h"
#include "gnn/data/build/arcs.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/read/reader_parts.h"

enum { SPAN = 65536 };

/* Edge e goes from from[e] to to[e]. */
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

static weft_status build(int64_t vertices, const edge_list *list, bool add_reverse, bool keep_self_loops,
                         csr_graph *graph)
{
    WEFT_CHECK(vertices >= 1 && vertices <= INT32_MAX, WEFT_ERR_UNSUPPORTED,
               "%" PRId64 " vertices; 1 to 2147483647 are supported", vertices);
    WEFT_TRY(check_ids(list, vertices));
    csr_input input = {.vertices = vertices,
                       .edges = list->edges,
                       .spans = (list->edges + SPAN - 1) / SPAN,
                       .span = span_of_list,
                       .self = (void *)(uintptr_t)list,
                       .threads = omp_get_max_threads(),
                       .add_reverse = add_reverse,
                       .keep_self_loops = keep_self_loops,
                       .limit_bytes = INT64_MAX};
    return csr_build(&input, graph);
}

/* The first entry of the CSR whose reverse is missing, or -1; *row is its row. */
static int64_t first_one_way(const csr_graph *csr, int64_t *row)
{
    weft_graph graph = {
        .vertices = csr->vertices, .edges = csr->entries, .offset = csr->offset, .source32 = csr->source};
    *row = 0;
    return csr->entries == 0 ? -1 : graph_first_one_way(&graph, row);
}

static bool has_entry(const csr_graph *csr, int64_t row, int32_t id)
{
    const int64_t end = csr->offset[row + 1], at = sorted_first(csr->source, csr->offset[row], end, id);
    return at < end && csr->source[at] == id;
}

/* A few entries from everywhere: one without its reverse settles most directed graphs without a look at all of them. */
static bool sample_is_symmetric(const csr_graph *csr)
{
    enum { SAMPLE = 256 };
    int64_t step = csr->entries / SAMPLE + 1, row = 0;
    for (int64_t e = 0; e < csr->entries; e += step) {
        while (csr->offset[row + 1] <= e) {
            row++;
        }
        if (!has_entry(csr, csr->source[e], (int32_t)row)) {
            return false;
        }
    }
    return true;
}

/* Is every reverse there? An input that says so and lacks one is refused. */
static weft_status look_at_reverses(const char *input, const raw_graph *raw, const csr_graph *graph, bool *symmetric)
{
    *symmetric = false;
    if (!raw->stores_both && !sample_is_symmetric(graph)) {
        return WEFT_OK;
    }
    int64_t row;
    int64_t entry = first_one_way(graph, &row);
    *symmetric = entry < 0;
    WEFT_CHECK(entry < 0 || !raw->stores_both, WEFT_ERR_DATA,
               "%s: row of vertex %" PRId64 ": names %" PRId64
               ", whose row does not name it; each edge belongs into both rows (" FLAG_SYMMETRIZE
               " on adds what is missing)",
               input, row + raw->first_id, graph->source[entry] + raw->first_id);
    return WEFT_OK;
}

weft_status reader_csr_make(const char *input, raw_graph *raw, bool add_reverse, bool keep_self_loops, csr_graph *graph,
                            bool *symmetric)
{
    *graph = (csr_graph){.vertices = 0};
    if (raw->arcs != NULL) {
        WEFT_TRY(arcs_build(raw->arcs, raw->vertices, add_reverse, keep_self_loops, graph));
        arcs_free(raw->arcs);
        raw->arcs = NULL;
    } else {
        const edge_list list = {.edges = raw->edges, .from = raw->from, .to = raw->to};
        WEFT_TRY(build(raw->vertices, &list, add_reverse, keep_self_loops, graph));
        WEFT_FREE_ALL(raw->from, raw->to);
        raw->from = NULL;
        raw->to = NULL;
    }
    *symmetric = add_reverse;
    weft_status status = add_reverse ? WEFT_OK : look_at_reverses(input, raw, graph, symmetric);
    if (status != WEFT_OK) {
        csr_graph_free(graph);
    }
    return status;
}

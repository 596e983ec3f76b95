/*
 * partition/methods/quality.c: figures of a partition, and the oracle that says whether it is one.
 *
 * Who holds what is kept as bits [vertices, parts of a window], one array for sources and one for destinations. A
 * window is as many parts as fit WINDOW_BYTES, so memory is bounded whatever the number of parts: the edges are read
 * once for each window.
 */
#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "machine/thread_ranges.h"
#include "partition/methods/method.h"
#include "partition/partition.h"

#define WINDOW_BYTES (INT64_C(256) << 20)

typedef struct measure_state {
    const weft_graph *graph;
    const weft_partition *partition;
    const double *share; /* [all parts], or NULL */
    int threads;
    int first, parts, words;   /* the window: parts first .. first + parts - 1 */
    uint64_t *source, *target; /* [vertices, words] */
    int32_t *copies;           /* [vertices] parts that hold v, over the windows so far */
    int64_t *held;             /* [all parts] vertices held */
    int64_t replicas;          /* source replicas + destination replicas */
} measure_state;

static void mark(uint64_t *row, int bit)
{
    uint64_t mask = UINT64_C(1) << (bit % 64);
    if ((__atomic_load_n(&row[bit / 64], __ATOMIC_RELAXED) & mask) == 0) {
        __atomic_fetch_or(&row[bit / 64], mask, __ATOMIC_RELAXED);
    }
}

/* In an edge-cut of a graph that equals its transpose, a row's neighbours tell which parts read it: what is written is
 * this thread's alone. */
static void mark_own_row(const measure_state *state, int64_t v)
{
    const weft_graph *graph = state->graph;
    const uint16_t *root = state->partition->root;
    uint64_t *readers = state->source + v * state->words;
    int found = 0;
    for (int64_t e = graph->offset[v]; e < graph->offset[v + 1] && found < state->parts; ++e) {
        const int bit = root[graph_source(graph, e)] - state->first;
        if (bit >= 0 && bit < state->parts) {
            found += (readers[bit / 64] >> (bit % 64) & 1) == 0;
            readers[bit / 64] |= UINT64_C(1) << (bit % 64);
        }
    }
    const int own = root[v] - state->first;
    if (graph->offset[v + 1] > graph->offset[v] && own >= 0 && own < state->parts) {
        mark(state->target + v * state->words, own);
    }
}

static void mark_window(const measure_state *state)
{
    const weft_graph *graph = state->graph;
    const bool own_rows = graph->symmetric && state->partition->edge_cut;
#pragma omp parallel num_threads(split_threads(graph->edges, state->threads))
    OWN_ROWS(v, graph->offset, graph->vertices) {
        if (own_rows) {
            mark_own_row(state, v);
            continue;
        }
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            int bit = partition_part_of(state->partition, e, v) - state->first;
            if (bit >= 0 && bit < state->parts) {
                mark(state->target + v * state->words, bit);
                mark(state->source + graph_source(graph, e) * state->words, bit);
            }
        }
    }
}

/* Count vertices held by each part of the window and the replicas among them. */
static weft_status count_window(measure_state *state)
{
    int64_t *held = NULL; /* [team, parts] */
    int64_t replicas = 0, n = state->graph->vertices;
    int team = split_threads(n * state->words, state->threads);
    WEFT_TRY(WEFT_NEW_ZERO(&held, (int64_t)team * state->parts, WEFT_MEM_PARTITION));
#pragma omp parallel num_threads(team) reduction(+ : replicas)
    {
        int64_t *mine = held + (int64_t)omp_get_thread_num() * state->parts;
#pragma omp for schedule(static)
        for (int64_t v = 0; v < n; ++v) {
            int root = state->partition->root[v] - state->first;
            for (int w = 0; w < state->words; ++w) {
                uint64_t own = root >= 0 && root / 64 == w && root < state->parts ? UINT64_C(1) << (root % 64) : 0;
                uint64_t source = state->source[v * state->words + w], target = state->target[v * state->words + w];
                replicas += __builtin_popcountll(source & ~own) + __builtin_popcountll(target & ~own);
                uint64_t all = source | target | own;
                state->copies[v] += __builtin_popcountll(all);
                for (; all != 0; all &= all - 1) {
                    ++mine[64 * w + __builtin_ctzll(all)];
                }
            }
        }
    }
    for (int64_t i = 0; i < (int64_t)team * state->parts; ++i) {
        state->held[state->first + i % state->parts] += held[i];
    }
    state->replicas += replicas;
    weft_free(held);
    return WEFT_OK;
}

static weft_status measure_replicas(measure_state *state)
{
    weft_status status = WEFT_OK;
    int64_t n = state->graph->vertices, total = state->partition->parts;
    int64_t words = WINDOW_BYTES / 16 / (n + 1);
    words = words < 1 ? 1 : words;
    words = words > (total + 63) / 64 ? (total + 63) / 64 : words;
    state->words = (int)words;
    WEFT_TRY_GOTO(WEFT_NEW(&state->source, n * words, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&state->target, n * words, WEFT_MEM_PARTITION), status, done);
    for (state->first = 0; state->first < total; state->first += 64 * state->words) {
        state->parts = total - state->first < 64 * words ? (int)(total - state->first) : 64 * state->words;
        if (n > 0) {
            memset(state->source, 0, (size_t)(n * words) * sizeof state->source[0]);
            memset(state->target, 0, (size_t)(n * words) * sizeof state->target[0]);
        }
        mark_window(state);
        WEFT_TRY_GOTO(count_window(state), status, done);
    }
done:
    WEFT_FREE_ALL(state->target, state->source);
    return status;
}

static int64_t count_cut_edges(const weft_graph *graph, const uint16_t *root, int threads)
{
    int64_t cut = 0;
#pragma omp parallel num_threads(split_threads(graph->edges, threads)) reduction(+ : cut)
    OWN_ROWS(v, graph->offset, graph->vertices) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            cut += root[graph_source(graph, e)] != root[v] ? 1 : 0;
        }
    }
    return cut;
}

double partition_balance_of(const int64_t *count, int parts, const double *share, double total)
{
    return total > 0 ? shares_most(share, parts, count) * parts / total : 1.0;
}

static void measure_counts(measure_state *state, int64_t *edges, int64_t *roots, partition_report *report)
{
    const weft_partition *partition = state->partition;
    int parts = partition->parts;
    int64_t n = partition->vertices, held = 0;
    for (int64_t e = 0; partition->edge_part != NULL && e < partition->edges; ++e) {
        assert(partition->edge_part[e] < parts);
        ++edges[partition->edge_part[e]];
    }
    for (int64_t v = 0; partition->edge_part == NULL && v < n; ++v) {
        edges[partition->root[v]] += state->graph->offset[v + 1] - state->graph->offset[v];
    }
    for (int64_t v = 0; v < n; ++v) {
        ++roots[partition->root[v]];
        report->split_vertices += state->copies[v] > 1 ? 1 : 0;
    }
    for (int p = 0; p < parts; ++p) {
        held += state->held[p];
        report->empty_parts += state->held[p] == 0 ? 1 : 0;
    }
    report->replication_factor = n > 0 ? (double)held / (double)n : 1.0;
    report->edge_balance = partition_balance_of(edges, parts, state->share, (double)partition->edges);
    report->root_balance = partition_balance_of(roots, parts, state->share, (double)n);
    report->vertex_balance = partition_balance_of(state->held, parts, state->share, (double)held);
    report->rows_per_layer = state->replicas;
    report->cut_edges = count_cut_edges(state->graph, partition->root, state->threads);
}

weft_status partition_measure(const weft_graph *graph, const weft_partition *partition, const double *share,
                              partition_report *report)
{
    weft_status status = WEFT_OK;
    int64_t *edges = NULL, *roots = NULL;
    double start = clock_seconds();
    measure_state state = {.graph = graph, .partition = partition, .share = share, .threads = omp_get_max_threads()};
    *report =
        (partition_report){.replication_factor = 1.0, .edge_balance = 1.0, .vertex_balance = 1.0, .root_balance = 1.0};
    if (partition->parts == 1) {
        report->empty_parts = graph->vertices == 0 ? 1 : 0;
        return WEFT_OK;
    }
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&state.copies, graph->vertices, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&state.held, partition->parts, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&edges, partition->parts, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&roots, partition->parts, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(measure_replicas(&state), status, done);
    measure_counts(&state, edges, roots, report);
    report->seconds = clock_seconds() - start;
    report->peak_rss_bytes = clock_peak_rss_bytes();
done:
    WEFT_FREE_ALL(roots, edges, state.held, state.copies);
    return status;
}

weft_status partition_is_valid(const weft_graph *graph, const weft_partition *partition)
{
    WEFT_CHECK(partition->vertices == graph->vertices && partition->edges == graph->edges, WEFT_ERR_DATA,
               "the partition is of a graph with %lld vertices and %lld edges, this one has %lld and %lld",
               (long long)partition->vertices, (long long)partition->edges, (long long)graph->vertices,
               (long long)graph->edges);
    WEFT_CHECK(partition->parts >= 1 && partition->parts <= PARTITION_MAX_PARTS, WEFT_ERR_DATA,
               "%d parts: must be between 1 and %d", partition->parts, PARTITION_MAX_PARTS);
    if (partition->parts == 1) {
        return WEFT_OK;
    }
    for (int64_t v = 0; v < graph->vertices; ++v) {
        WEFT_CHECK(partition->root[v] < partition->parts, WEFT_ERR_DATA, "vertex %lld: root %d of %d parts",
                   (long long)v, partition->root[v], partition->parts);
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            const int part = partition_part_of(partition, e, v);
            WEFT_CHECK(part < partition->parts, WEFT_ERR_DATA, "edge %lld: part %d of %d", (long long)e, part,
                       partition->parts);
            WEFT_CHECK(!partition->edge_cut || part == partition->root[v], WEFT_ERR_DATA,
                       "edge %lld: part %d, but its destination %lld has root %d in an edge-cut", (long long)e, part,
                       (long long)v, partition->root[v]);
        }
    }
    return WEFT_OK;
}

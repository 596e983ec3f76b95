/*
 * partition/methods/method_metis.c: the vertex-cut from METIS, and the choice between it and the edge-cut that it
 * starts from.
 *
 *   METIS node partition, degrees and vertices balanced      metis_call.h
 *   -> minimum vertex cover of the cut between each two parts  cover.h
 *   -> balance, then local refinement                         refine.h
 *   -> replicas with few pairs go as a whole                  evict.h
 *
 * On graphs of up to BEST_CUT_PAIRS pairs Libra with the same balance and refinement is tried as well and the better
 * of the two is kept (best_cut.h): graphs without communities give METIS little to find. Graphs too small for METIS
 * (fewer than 8 vertices a part) get the second one alone.
 *
 * auto: of graphs of that size the ways of method expand are tried too; of larger ones that by a design, and METIS
 * where none applies. METIS's parts, taken as an edge-cut, move H rows a layer and direction (every part gets the rows
 * of its neighbours, once), the vertex-cut made of them 2 R for R replicas that are no roots (rows to replicas, partial
 * sums back). Where nearly every vertex has neighbours in nearly every part, as in a dense graph without order on a few
 * ranks, H is below 2 R, and no rank writes partial sums: then the edge-cut is taken; of large graphs without making
 * the vertex-cut, where a bound on R says so (cover_bound.h). Of graphs that do not equal their transpose backward
 * would need partial sums anyway: vertex-cut. For two parts METIS sees a few neighbours of each vertex of a large dense
 * graph (thin.h), and only four where their parts leave 99 of 100 vertices with neighbours on both sides. What METIS
 * cannot count, or what would not fit into memory, goes to the method stream, and the log says so.
 *
 * The covers: G. Zhuang et al., SuperGCN, ICS'25 (covers of the boundary between two parts, there for choosing what to
 * send); the refinement measure is our own.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "machine/thread_ranges.h"
#include "partition/cover/cover.h"
#include "partition/cover/cover_bound.h"
#include "partition/cover/evict.h"
#include "partition/cover/refine.h"
#include "partition/cover/thin.h"
#include "partition/methods/best_cut.h"
#include "partition/methods/libra.h"
#include "partition/methods/method.h"
#include "partition/methods/metis_call.h"

enum {
    PASSES = 8,
    THIN_FULL = 99,   /* percent of the vertices that no second look is taken from */
    REFINED_AWAY = 10 /* twice the share of a vertex-cut's rows that refinement may still save */
};

static weft_status improve(const partition_job *job, const pair_list *list, const adjacency *adjacent, best_cut *best,
                           refine_result *result)
{
    const refine_options options = {.parts = job->parts,
                                    .threads = job->threads,
                                    .passes = PASSES,
                                    .balance = partition_pair_balance(job->options),
                                    .share = job->options->share};
    return refine_and_evict(list, adjacent, &options, best->other, best->entry_part, result);
}

/* node_part [vertices]: METIS's parts. */
static weft_status offer_covers(const partition_job *job, const pair_list *list, const adjacency *adjacent,
                                const uint16_t *node_part, best_cut *best)
{
    refine_result result = {0};
    WEFT_TRY(cover_assign(list, node_part, job->parts, job->options->share, job->threads, best->other));
    WEFT_TRY(improve(job, list, adjacent, best, &result));
    best_cut_offer(best, "METIS and covers", list, &result, job);
    return WEFT_OK;
}

static weft_status offer_libra(const partition_job *job, const pair_list *list, const adjacency *adjacent,
                               best_cut *best)
{
    refine_result result = {0};
    WEFT_TRY(libra_assign(list, job->parts, job->options->share, job->options->seed, job->threads, best->other));
    WEFT_TRY(improve(job, list, adjacent, best, &result));
    best_cut_offer(best, "Libra", list, &result, job);
    return WEFT_OK;
}

/* ---- edge-cut or vertex-cut ---- */

/* What an edge-cut moves: parts of neighbours of each vertex, its own left out. edges: [parts], zeroed: edges into
 * each. */
static int64_t halo_rows(const partition_job *job, const uint16_t *node_part, int64_t *edges)
{
    const weft_graph *graph = job->graph;
    int64_t rows = 0;
#pragma omp parallel num_threads(split_threads(graph->edges, job->threads)) reduction(+ : rows)
    {
        uint64_t met[PARTITION_MAX_PARTS / 64];
        const int words = (job->parts + 63) / 64;
        OWN_ROWS(v, graph->offset, graph->vertices) {
            int others = 0;
            memset(met, 0, (size_t)words * sizeof met[0]);
            met[node_part[v] / 64] = UINT64_C(1) << (node_part[v] % 64);
            for (int64_t e = graph->offset[v]; e < graph->offset[v + 1] && others < job->parts - 1; ++e) {
                const uint16_t part = node_part[graph_source(graph, e)];
                others += (met[part / 64] >> (part % 64) & 1) == 0;
                met[part / 64] |= UINT64_C(1) << (part % 64);
            }
            rows += others;
#pragma omp atomic
            edges[node_part[v]] += graph->offset[v + 1] - graph->offset[v];
        }
    }
    return rows;
}

/* Vertices with pairs, each of which is held at least once. */
static int64_t connected(const partition_job *job)
{
    const weft_graph *graph = job->graph;
    int64_t count = 0;
    for (int64_t v = 0; v < graph->vertices; ++v) {
        count += graph->offset[v + 1] > graph->offset[v] ? 1 : 0;
    }
    return count;
}

/* What the parts cost as an edge-cut. */
typedef struct edge_cut_cost {
    int64_t rows; /* a layer moves */
    double balance;
    bool allowed; /* the graph is symmetric, and the parts balance */
} edge_cut_cost;

static weft_status find_cost(const partition_job *job, const uint16_t *node_part, edge_cut_cost *cost)
{
    const weft_graph *graph = job->graph;
    int64_t *edges = NULL;
    *cost = (edge_cut_cost){.allowed = false};
    if (!graph->symmetric) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW_ZERO(&edges, job->parts, WEFT_MEM_PARTITION));
    cost->rows = halo_rows(job, node_part, edges);
    cost->balance = partition_balance_of(edges, job->parts, job->options->share, (double)graph->edges);
    cost->allowed = cost->balance <= job->options->balance;
    weft_free(edges);
    return WEFT_OK;
}

static weft_status parts_of(const partition_job *job, const adjacency *seen, uint16_t *node_part)
{
    return metis_partition(seen, job->parts, job->options->share, job->options->seed, job->threads, job->memory_limit,
                           node_part);
}

static weft_status parts_of_thin(const partition_job *job, const adjacency *adjacent, int drawn, uint16_t *node_part)
{
    adjacency thin = {0};
    WEFT_TRY(adjacency_thin(adjacent, drawn, job->options->seed, job->threads, &thin));
    const weft_status status = parts_of(job, &thin, node_part);
    adjacency_free(&thin);
    return status;
}

/* [out] node_part [vertices]: METIS's parts. [out] cost: of these, where `either`, in which case METIS sees a few
 * neighbours of each vertex of a dense graph: very few first, and these parts stay where nearly every vertex has
 * neighbours in the other one, which a second look would not change. */
static weft_status call_metis(const partition_job *job, bool either, const adjacency *adjacent, uint16_t *node_part,
                              edge_cut_cost *cost)
{
    if (!either) {
        return parts_of(job, adjacent, node_part);
    }
    const bool thinly = thin_pays(adjacent->vertices, adjacent->entries, job->parts);
    if (thinly && job->graph->symmetric) {
        WEFT_TRY(parts_of_thin(job, adjacent, THIN_PROBE, node_part));
        WEFT_TRY(find_cost(job, node_part, cost));
        if (cost->allowed && cost->rows >= connected(job) / 100 * THIN_FULL) {
            return WEFT_OK;
        }
    }
    WEFT_TRY(thinly ? parts_of_thin(job, adjacent, THIN_DRAWN, node_part) : parts_of(job, adjacent, node_part));
    return find_cost(job, node_part, cost);
}

/* cost: of METIS's parts. replicas: of the best vertex-cut. */
static void choose_kind(const partition_job *job, const edge_cut_cost *cost, int64_t replicas)
{
    const int64_t both_ways = 2 * (replicas - connected(job));
    if (cost->allowed && cost->rows <= both_ways) {
        *job->made = PARTITION_EDGE_CUT;
    }
    if (job->graph->symmetric) {
        log_info("partition: %lld rows a layer as an edge-cut (edge balance %.3f), %lld as a vertex-cut: %s",
                 (long long)cost->rows, cost->balance, (long long)both_ways,
                 *job->made == PARTITION_EDGE_CUT ? "edge-cut" : "vertex-cut");
    }
}

/* Takes METIS's parts as an edge-cut without a look for covers, where these would need to save rows by being refined
 * that none of them saves before. */
static weft_status settle_early(const partition_job *job, const adjacency *adjacent, const uint16_t *node_part,
                                const edge_cut_cost *cost, bool *settled)
{
    int64_t bound = 0;
    *settled = false;
    if (!cost->allowed) {
        return WEFT_OK;
    }
    WEFT_TRY(cover_bound(adjacent, node_part, job->parts, &bound));
    const int64_t both_ways = 2 * bound;
    *settled = cost->rows <= both_ways + bound / REFINED_AWAY;
    if (*settled) {
        *job->made = PARTITION_EDGE_CUT;
        log_info("partition: %lld rows a layer as an edge-cut (edge balance %.3f), %lld and more as a vertex-cut: "
                 "edge-cut",
                 (long long)cost->rows, cost->balance, (long long)both_ways);
    }
    return WEFT_OK;
}

/* Divides a large graph in two before its pairs are listed: no design has two parts, and the graph's rows are all that
 * METIS and the bound read. [out] parted: root holds METIS's parts, *cost tells of them. */
static weft_status cut_in_two(const partition_job *job, weft_partition *partition, bool *parted, edge_cut_cost *cost,
                              bool *settled)
{
    const weft_graph *graph = job->graph;
    adjacency adjacent = {0};
    *parted = job->parts == 2 && graph->edges / 2 > BEST_CUT_PAIRS &&
              metis_takes(graph->vertices, job->parts, job->options->share) &&
              adjacency_borrow(graph, job->threads, &adjacent) &&
              metis_check_size(graph->vertices, graph->edges, job->memory_limit) == WEFT_OK;
    if (!*parted) {
        weft_error_clear(); /* what METIS cannot take is told once the pairs are known */
        return WEFT_OK;
    }
    WEFT_TRY(call_metis(job, true, &adjacent, partition->root, cost));
    return settle_early(job, &adjacent, partition->root, cost, settled);
}

/* ---- the best of both ---- */

/* The best of what applies. either: of method auto. partition: its arrays are scratch, but for root, which gets METIS's
 * parts where parted is true: before, or after. [out] cost: of these as an edge-cut, where `either`. */
static weft_status find_best(const partition_job *job, bool either, const pair_list *list, weft_partition *partition,
                             best_cut *best, bool *parted, edge_cut_cost *cost)
{
    weft_status status = WEFT_OK;
    adjacency adjacent = {0};
    const bool several = list->pairs <= BEST_CUT_PAIRS,
               takes = metis_takes(list->vertices, job->parts, job->options->share);
    const bool parted_before = *parted;
    bool designed = false;
    WEFT_TRY_GOTO(adjacency_build(job->graph, list, job->threads, &adjacent), status, done);
    WEFT_TRY_GOTO(best_cut_entries(best, &adjacent, partition->edge_part), status, done);
    if (either && !several) {
        WEFT_TRY_GOTO(expand_offer_design(job, list, &adjacent, partition->edge_part, best, &designed), status, done);
    }
    *parted = takes && !designed;
    if (*parted) {
        bool settled = false;
        status = parted_before ? WEFT_OK : call_metis(job, either, &adjacent, partition->root, cost);
        WEFT_TRY_GOTO(status, status, done);
        if (either && !several && !parted_before) {
            WEFT_TRY_GOTO(settle_early(job, &adjacent, partition->root, cost, &settled), status, done);
        }
        if (settled) {
            goto done;
        }
        WEFT_TRY_GOTO(offer_covers(job, list, &adjacent, partition->root, best), status, done);
    } else if (!designed) {
        log_info("partition: %lld vertices are too few for METIS and %d parts: Libra with refinement instead",
                 (long long)list->vertices, job->parts);
    }
    if (several || !best->found) {
        WEFT_TRY_GOTO(offer_libra(job, list, &adjacent, best), status, done);
    }
    if (several && either) {
        WEFT_TRY_GOTO(expand_offer(job, list, &adjacent, partition->edge_part, best), status, done);
    }
    log_debug("partition: %s, %lld replicas", best->from, (long long)best->result.replicas);
done:
    adjacency_free(&adjacent);
    return status;
}

/* ---- what METIS cannot take ---- */

/* Bytes of pairs and their parts, and of the adjacency and its parts where the graph is not one already. entries: both
 * directions. */
static uint64_t pairs_memory(const weft_graph *graph, int64_t entries)
{
    const uint64_t pair = sizeof(int32_t) + sizeof(uint16_t), adjacent = graph->symmetric ? 0 : 2 * pair;
    return (uint64_t)(entries / 2) * (pair + adjacent) + 2 * (uint64_t)graph->vertices * sizeof(int64_t);
}

/* The same failures as the steps to come would have, before they take memory. */
static weft_status check_pairs(const partition_job *job)
{
    const weft_graph *graph = job->graph;
    const int64_t most = graph->symmetric ? graph->edges : 2 * graph->edges;
    const uint64_t need = pairs_memory(graph, most);
    WEFT_CHECK(graph->vertices < INT32_MAX, WEFT_ERR_UNSUPPORTED, "%lld vertices: METIS takes fewer than 2^31",
               (long long)graph->vertices);
    WEFT_CHECK(job->memory_limit == 0 || need <= job->memory_limit, WEFT_ERR_RESOURCE,
               "pairs of %lld edges need up to %.2f GiB, %.2f GiB are left", (long long)graph->edges,
               (double)need / (double)(1 << 30), (double)job->memory_limit / (double)(1 << 30));
    return WEFT_OK;
}

static weft_status check_cut(const partition_job *job, const pair_list *list)
{
    WEFT_CHECK(list->pairs <= INT32_MAX, WEFT_ERR_UNSUPPORTED, "%lld pairs: the vertex cover takes fewer than 2^31",
               (long long)list->pairs);
    return metis_check_size(list->vertices, 2 * list->pairs, job->memory_limit);
}

bool method_auto_streams(const partition_job *job)
{
    const weft_graph *graph = job->graph;
    weft_status status = check_pairs(job);
    if (status == WEFT_OK) {
        status =
            metis_check_size(graph->vertices, graph->symmetric ? graph->edges : 2 * graph->edges, job->memory_limit);
    }
    weft_error_clear();
    return status != WEFT_OK;
}

static weft_status stream_instead(const partition_job *job, weft_partition *partition)
{
    log_info("partition: %s; the method stream is taken", weft_error_message());
    weft_error_clear();
    return method_stream(job, partition);
}

/* ---- both ---- */

/* Roots are chosen after a vertex-cut, so their array holds METIS's parts until then: what an edge-cut has as roots.
 * parted: it does so already, and cost is theirs. */
static weft_status cut_pairs(const partition_job *job, bool either, const pair_list *list, weft_partition *partition,
                             bool parted, edge_cut_cost cost)
{
    weft_status status = WEFT_OK;
    best_cut best = {.found = false};
    WEFT_TRY_GOTO(best_cut_create(list, list->pairs <= BEST_CUT_PAIRS, &best), status, done);
    WEFT_TRY_GOTO(find_best(job, either, list, partition, &best, &parted, &cost), status, done);
    if (either && parted && best.found) {
        choose_kind(job, &cost, best.result.replicas);
    }
    if (*job->made == PARTITION_VERTEX_CUT) {
        status = best_cut_finish(&best, job, list, partition->edge_part);
    }
done:
    best_cut_free(&best);
    return status;
}

weft_status method_metis(const partition_job *job, weft_partition *partition)
{
    pair_list list = {0};
    WEFT_TRY(pair_list_build(job->graph, job->threads, &list));
    weft_status status = cut_pairs(job, false, &list, partition, false, (edge_cut_cost){.allowed = false});
    pair_list_free(&list);
    return status;
}

weft_status method_auto(const partition_job *job, weft_partition *partition)
{
    pair_list list = {0};
    if (check_pairs(job) != WEFT_OK) {
        return stream_instead(job, partition);
    }
    bool parted = false, settled = false;
    edge_cut_cost cost = {.allowed = false};
    WEFT_TRY(cut_in_two(job, partition, &parted, &cost, &settled));
    if (settled) {
        return WEFT_OK;
    }
    WEFT_TRY(pair_list_build(job->graph, job->threads, &list));
    const bool takes = !metis_takes(list.vertices, job->parts, job->options->share) || check_cut(job, &list) == WEFT_OK;
    weft_status status = takes ? cut_pairs(job, true, &list, partition, parted, cost) : WEFT_OK;
    pair_list_free(&list);
    return takes ? status : stream_instead(job, partition);
}

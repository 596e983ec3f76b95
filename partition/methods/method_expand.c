/*
 * partition/methods/method_expand.c: a vertex-cut by growth, pairs and vertices balanced, without METIS.
 *
 *   communities   the stream's cut, whose homes of vertices are communities that grew           edge_stream.h
 *   or a design   the same, where most vertices have neighbours everywhere                       block_design.h
 *   growth        parts grow freely, which tells how many replicas this graph asks for          expand.h
 *                 -> again, none beyond ROWS_SLACK times their mean
 *   either        -> balance, then refinement at prices that rise with a part's vertices        refine.h
 *                 -> replicas with few pairs go as a whole                                       evict.h
 *
 * Of graphs of more than BEST_CUT_PAIRS pairs one start is taken: the stream's where that is a design, or finds
 * COMMUNITIES of the edges with both ends at home, else growth. Of smaller ones all are tried, and growth twice, as
 * what makes a hub decides how evenly vertices fall and how compact parts are: the second time with a limit on the
 * vertices that a part finishes, which meshes and citation graphs ask for. The best is kept (best_cut.h). Takes any
 * number of parts. Memory beyond the pairs (6 bytes each, 12 more where the graph is not symmetric and simple already):
 * 60 bytes a vertex while it streams, parts / 8 + 16 while parts grow, then the counts of refinement (counts.h).
 */
#include "partition/cover/evict.h"
#include "partition/expand/expand.h"
#include "partition/methods/best_cut.h"
#include "partition/stream/edge_stream.h"

enum { PASSES = 4 };
#define COMMUNITIES 0.5
#define HUB         2.0 /* times the mean degree */
#define HUB_AGAIN   4.0
#define ROWS_SLACK  1.1
#define PRICE_POWER 1.0

static weft_status improve(const partition_job *job, const pair_list *list, const adjacency *adjacent,
                           double price_power, best_cut *best, refine_result *result)
{
    const refine_options options = {.parts = job->parts,
                                    .threads = job->threads,
                                    .passes = PASSES,
                                    .balance = partition_pair_balance(job->options),
                                    .price_power = price_power,
                                    .share = job->options->share};
    return refine_and_evict(list, adjacent, &options, best->other, best->entry_part, result);
}

/* finished: vertices that may close in a part while it grows by itself. */
static weft_status try_hubs(const partition_job *job, const pair_list *list, const adjacency *adjacent, double hub,
                            int64_t finished, best_cut *best, refine_result *result)
{
    expand_result grown;
    expand_options options = {.parts = job->parts,
                              .threads = job->threads,
                              .seed = job->options->seed,
                              .hub = hub,
                              .balance = partition_pair_balance(job->options),
                              .rows = INT64_MAX,
                              .finished = finished,
                              .share = job->options->share};
    WEFT_TRY(expand_assign(list, adjacent, &options, best->other, &grown));
    options.rows = (int64_t)(ROWS_SLACK * (double)grown.replicas / job->parts) + 1;
    if (grown.largest > options.rows) {
        WEFT_TRY(expand_assign(list, adjacent, &options, best->other, &grown));
    }
    return improve(job, list, adjacent, PRICE_POWER, best, result);
}

/* What the stream makes of the edges, improved where it is a design, or has at least this share of them at home. [out]
 * streamed. */
static weft_status try_stream(const partition_job *job, const pair_list *list, const adjacency *adjacent,
                              edge_stream_way way, double at_home, uint16_t *edge_part, best_cut *best,
                              edge_stream_result *streamed)
{
    const row_team alone = row_team_alone(job->graph);
    const edge_stream_options options = {.parts = job->parts,
                                         .share = job->options->share,
                                         .threads = job->threads,
                                         .way = way,
                                         .balance = partition_pair_balance(job->options),
                                         .first = true};
    refine_result result = {0};
    WEFT_TRY(edge_stream_assign(&alone, &options, edge_part, NULL, streamed));
    if (streamed->by_design || streamed->at_home >= at_home) {
        pair_list_collect(list, edge_part, job->graph, job->threads, best->other);
        /* Parts of a design hold as many vertices each already. */
        WEFT_TRY(improve(job, list, adjacent, streamed->by_design ? 0 : PRICE_POWER, best, &result));
        best_cut_offer(best, streamed->by_design ? "from a design" : "from a stream", list, &result, job);
    }
    return WEFT_OK;
}

static weft_status try_growth(const partition_job *job, const pair_list *list, const adjacency *adjacent, double hub,
                              int64_t finished, const char *name, best_cut *best)
{
    refine_result result = {0};
    WEFT_TRY(try_hubs(job, list, adjacent, hub, finished, best, &result));
    best_cut_offer(best, name, list, &result, job);
    return WEFT_OK;
}

weft_status expand_offer_design(const partition_job *job, const pair_list *list, const adjacency *adjacent,
                                uint16_t *edge_part, best_cut *best, bool *offered)
{
    edge_stream_result streamed;
    WEFT_TRY(try_stream(job, list, adjacent, STREAM_BY_DESIGN, COMMUNITIES, edge_part, best, &streamed));
    *offered = streamed.by_design;
    return WEFT_OK;
}

weft_status expand_offer(const partition_job *job, const pair_list *list, const adjacency *adjacent,
                         uint16_t *edge_part, best_cut *best)
{
    edge_stream_result streamed;
    if (list->pairs > BEST_CUT_PAIRS) {
        WEFT_TRY(try_stream(job, list, adjacent, STREAM_BEST, COMMUNITIES, edge_part, best, &streamed));
        return best->found ? WEFT_OK : try_growth(job, list, adjacent, HUB, INT64_MAX, "grown", best);
    }
    const int64_t finished = (int64_t)(ROWS_SLACK * (double)list->vertices / job->parts) + 1;
    WEFT_TRY(try_stream(job, list, adjacent, STREAM_BEST, 0, edge_part, best, &streamed));
    if (streamed.by_design) {
        WEFT_TRY(try_stream(job, list, adjacent, STREAM_BY_SCORES, 0, edge_part, best, &streamed));
    }
    WEFT_TRY(try_growth(job, list, adjacent, HUB, INT64_MAX, "grown", best));
    return try_growth(job, list, adjacent, HUB_AGAIN, finished, "grown, few hubs", best);
}

weft_status method_expand(const partition_job *job, weft_partition *partition)
{
    weft_status status = WEFT_OK;
    pair_list list = {0};
    adjacency adjacent = {0};
    best_cut best = {.found = false};
    WEFT_TRY_GOTO(pair_list_build(job->graph, job->threads, &list), status, done);
    WEFT_TRY_GOTO(best_cut_create(&list, list.pairs <= BEST_CUT_PAIRS, &best), status, done);
    WEFT_TRY_GOTO(adjacency_build(job->graph, &list, job->threads, &adjacent), status, done);
    WEFT_TRY_GOTO(best_cut_entries(&best, &adjacent, partition->edge_part), status, done);
    WEFT_TRY_GOTO(expand_offer(job, &list, &adjacent, partition->edge_part, &best), status, done);
    status = best_cut_finish(&best, job, &list, partition->edge_part);
done:
    adjacency_free(&adjacent);
    best_cut_free(&best);
    pair_list_free(&list);
    return status;
}

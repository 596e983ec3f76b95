/*
 * partition/methods/method_expand.c: a vertex-cut by neighbourhood expansion, pairs and vertices balanced.
 *
 *   parts grow freely                                 expand.h: how many replicas this graph asks for
 *   -> again, none beyond ROWS_SLACK times their mean
 *   -> balance, then refinement at prices that rise with a part's vertices    refine.h
 *
 * What makes a hub decides how evenly vertices fall and how compact parts are. On graphs of up to SECOND_TRY_PAIRS pairs
 * two answers are tried, the second with a limit on the vertices that a part finishes, which meshes and citation graphs
 * ask for. The one is kept that needs fewer replicas, or smaller parts where one would exceed GOOD_BALANCE. Takes any
 * number of parts. Memory beyond the pairs (4 bytes each, 4 more where the graph is not symmetric and simple already):
 * parts / 8 + 16 bytes a vertex while parts grow, then the counts of refinement (counts.h).
 */
#include "base/alloc.h"
#include "base/log.h"
#include "partition/cover/refine.h"
#include "partition/expand/expand.h"
#include "partition/methods/method.h"

enum { SECOND_TRY_PAIRS = 8000000, PASSES = 8 };
#define HUB          2.0 /* times the mean degree */
#define HUB_AGAIN    4.0
#define ROWS_SLACK   1.1
#define GOOD_BALANCE 1.12
#define PRICE_POWER  2.0

/* finished: vertices that may close in a part while it grows by itself. */
static weft_status try_hubs(const partition_job *job, const pair_list *list, const adjacency *adjacent, double hub,
                            int64_t finished, uint16_t *pair_part, refine_result *result)
{
    expand_result grown;
    expand_options options = {.parts = job->parts,
                              .seed = job->options->seed,
                              .hub = hub,
                              .balance = partition_pair_balance(job),
                              .rows = INT64_MAX,
                              .finished = finished};
    refine_options refinement = {.parts = job->parts,
                                 .threads = job->threads,
                                 .passes = PASSES,
                                 .balance = partition_pair_balance(job),
                                 .price_power = PRICE_POWER};
    WEFT_TRY(expand_assign(list, adjacent, &options, pair_part, &grown));
    options.rows = (int64_t)(ROWS_SLACK * (double)grown.replicas / job->parts) + 1;
    if (grown.largest > options.rows) {
        WEFT_TRY(expand_assign(list, adjacent, &options, pair_part, &grown));
    }
    WEFT_TRY(refine_pairs(list, &refinement, pair_part, result));
    log_debug("expand, hubs above %g times the mean: %lld replicas, the largest part holds %lld", hub,
              (long long)result->replicas, (long long)result->largest);
    return WEFT_OK;
}

/* Replicas, or as many as would fill every part like the largest, GOOD_BALANCE taken off. */
static double cost_of(const refine_result *result, int parts)
{
    double even = (double)result->largest * parts / GOOD_BALANCE;
    return even > (double)result->replicas ? even : (double)result->replicas;
}

static weft_status best_expansion(const partition_job *job, const pair_list *list, uint16_t *pair_part)
{
    weft_status status = WEFT_OK;
    refine_result first = {0}, second = {0};
    adjacency adjacent = {0};
    uint16_t *other = NULL;
    WEFT_TRY_GOTO(adjacency_build(job->graph, list, job->threads, &adjacent), status, done);
    WEFT_TRY_GOTO(try_hubs(job, list, &adjacent, HUB, INT64_MAX, pair_part, &first), status, done);
    if (list->pairs > SECOND_TRY_PAIRS) {
        goto done;
    }
    WEFT_TRY_GOTO(WEFT_NEW(&other, list->pairs, WEFT_MEM_PARTITION), status, done);
    int64_t finished = (int64_t)(ROWS_SLACK * (double)list->vertices / job->parts) + 1;
    WEFT_TRY_GOTO(try_hubs(job, list, &adjacent, HUB_AGAIN, finished, other, &second), status, done);
    if (cost_of(&second, job->parts) < cost_of(&first, job->parts)) {
        for (int64_t e = 0; e < list->pairs; ++e) {
            pair_part[e] = other[e];
        }
    }
done:
    weft_free(other);
    adjacency_free(&adjacent);
    return status;
}

weft_status method_expand(const partition_job *job, weft_partition *partition)
{
    weft_status status = WEFT_OK;
    pair_list list = {0};
    uint16_t *pair_part = NULL;
    WEFT_TRY_GOTO(pair_list_build(job->graph, job->threads, &list), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&pair_part, list.pairs, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(best_expansion(job, &list, pair_part), status, done);
    status = pair_list_spread(&list, pair_part, job->graph, PARTITION_NO_PART, job->threads, partition->edge_part);
done:
    weft_free(pair_part);
    pair_list_free(&list);
    return status;
}

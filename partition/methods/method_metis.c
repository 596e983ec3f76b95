/*
 * partition/methods/method_metis.c: the default vertex-cut.
 *
 *   METIS node partition, degrees and vertices balanced      metis_call.h
 *   -> minimum vertex cover of the cut between each two parts  cover.h
 *   -> balance, then local refinement                         refine.h
 *
 * On graphs of up to SECOND_TRY_PAIRS pairs Libra with the same balance and refinement is tried as well and the better
 * of the two is kept: graphs without communities give METIS little to find. Graphs too small for METIS (fewer than 8
 * vertices a part) get the second one alone.
 *
 * The covers: G. Zhuang et al., SuperGCN, ICS'25 (covers of the boundary between two parts, there for choosing what to
 * send); the refinement measure is our own.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "partition/cover/cover.h"
#include "partition/cover/refine.h"
#include "partition/methods/libra.h"
#include "partition/methods/method.h"
#include "partition/methods/metis_call.h"

enum { SECOND_TRY_PAIRS = 8000000, PASSES = 8 };

/* Half of the allowed imbalance is left for the two directions of pairs and for self-loops. */
static double inner_balance(const partition_job *job)
{
    return 1.0 + (job->options->balance - 1.0) / 2;
}

static weft_status by_metis(const partition_job *job, const pair_list *list, uint16_t *pair_part, refine_result *result)
{
    weft_status status = WEFT_OK;
    adjacency adjacent = {0};
    uint16_t *node_part = NULL;
    WEFT_TRY_GOTO(WEFT_NEW(&node_part, list->vertices, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(adjacency_build(job->graph, list, job->threads, &adjacent), status, done);
    WEFT_TRY_GOTO(
        metis_partition(&adjacent, job->parts, job->options->seed, job->threads, job->memory_limit, node_part), status,
        done);
    adjacency_free(&adjacent);
    WEFT_TRY_GOTO(cover_assign(list, node_part, job->parts, job->threads, pair_part), status, done);
    status = refine_pairs(list, job->parts, inner_balance(job), PASSES, job->threads, pair_part, result);
done:
    adjacency_free(&adjacent);
    weft_free(node_part);
    return status;
}

static weft_status by_libra(const partition_job *job, const pair_list *list, uint16_t *pair_part, refine_result *result)
{
    WEFT_TRY(libra_assign(list, job->parts, job->options->seed, job->threads, pair_part));
    return refine_pairs(list, job->parts, inner_balance(job), PASSES, job->threads, pair_part, result);
}

/* The better of the two recipes, or the only one that applies. */
static weft_status best_cut(const partition_job *job, const pair_list *list, uint16_t *pair_part)
{
    weft_status status = WEFT_OK;
    refine_result first = {0}, second = {0};
    uint16_t *other = NULL;
    if (!metis_takes(list->vertices, job->parts)) {
        log_info("partition: %lld vertices are too few for METIS and %d parts: Libra with refinement instead",
                 (long long)list->vertices, job->parts);
        return by_libra(job, list, pair_part, &first);
    }
    WEFT_TRY(by_metis(job, list, pair_part, &first));
    if (list->pairs > SECOND_TRY_PAIRS) {
        return WEFT_OK;
    }
    WEFT_TRY_GOTO(WEFT_NEW(&other, list->pairs, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(by_libra(job, list, other, &second), status, done);
    if (second.replicas < first.replicas) {
        log_debug("partition: Libra with refinement beats METIS: %lld replicas, not %lld", (long long)second.replicas,
                  (long long)first.replicas);
        for (int64_t e = 0; e < list->pairs; ++e) {
            pair_part[e] = other[e];
        }
    }
done:
    weft_free(other);
    return status;
}

weft_status method_metis(const partition_job *job, weft_partition *partition)
{
    weft_status status = WEFT_OK;
    pair_list list = {0};
    uint16_t *pair_part = NULL;
    WEFT_TRY_GOTO(pair_list_build(job->graph, job->threads, &list), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&pair_part, list.pairs, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(best_cut(job, &list, pair_part), status, done);
    status = pair_list_spread(&list, pair_part, job->graph, PARTITION_NO_PART, job->threads, partition->edge_part);
done:
    weft_free(pair_part);
    pair_list_free(&list);
    return status;
}

/* partition/methods/best_cut.c: see partition/methods/best_cut.h. */
#include "partition/methods/best_cut.h"

#include "base/alloc.h"
#include "base/log.h"
#include "partition/partition.h"

enum { NOBODY = UINT16_MAX, SEVERAL = UINT16_MAX - 1 };

weft_status best_cut_create(const pair_list *list, bool several, best_cut *best)
{
    *best = (best_cut){.found = false};
    WEFT_TRY(WEFT_NEW(&best->other, list->pairs, WEFT_MEM_PARTITION));
    if (!several) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(&best->pair_part, list->pairs, WEFT_MEM_PARTITION));
    return WEFT_NEW(&best->holder, list->vertices, WEFT_MEM_PARTITION);
}

weft_status best_cut_entries(best_cut *best, const adjacency *adjacent, uint16_t *edge_part)
{
    best->entry_part = edge_part;
    if (adjacency_is_graph(adjacent)) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(&best->own_entry_part, adjacent->entries, WEFT_MEM_PARTITION));
    best->entry_part = best->own_entry_part;
    return WEFT_OK;
}

void best_cut_free(best_cut *best)
{
    WEFT_FREE_ALL(best->own_entry_part, best->holder, best->other, best->pair_part);
    *best = (best_cut){.found = false};
}

static void note_holder(uint16_t *holder, uint16_t part)
{
    *holder = *holder == NOBODY || *holder == part ? part : SEVERAL;
}

/* Vertices that one part alone holds, of the part with most of them. */
static double most_alone(const best_cut *best, const pair_list *list, const partition_job *job)
{
    int64_t alone[PARTITION_MAX_PARTS] = {0};
    for (int64_t v = 0; v < list->vertices; ++v) {
        best->holder[v] = NOBODY;
    }
    for (int64_t u = 0; u < list->vertices; ++u) {
        for (int64_t i = list->offset[u]; i < list->offset[u + 1]; ++i) {
            note_holder(&best->holder[u], best->other[i]);
            note_holder(&best->holder[list->other[i]], best->other[i]);
        }
    }
    for (int64_t v = 0; v < list->vertices; ++v) {
        if (best->holder[v] < SEVERAL) {
            ++alone[best->holder[v]];
        }
    }
    return shares_most(job->options->share, job->parts, alone);
}

static double cost_of(const best_cut *best, const pair_list *list, const refine_result *result,
                      const partition_job *job)
{
    const int parts = job->parts;
    const double even = (double)result->largest * parts / BEST_CUT_BALANCE;
    const double rows = even > (double)result->replicas ? even : (double)result->replicas;
    const double roots = most_alone(best, list, job) * parts / (BEST_CUT_BALANCE * (double)list->vertices);
    return roots > 1.0 ? rows * roots : rows;
}

void best_cut_offer(best_cut *best, const char *from, const pair_list *list, const refine_result *result,
                    const partition_job *job)
{
    const double cost = best->holder != NULL ? cost_of(best, list, result, job) : 0.0;
    log_debug("partition, %s: %lld replicas, the largest part holds %lld", from, (long long)result->replicas,
              (long long)result->largest);
    best->is_last = !best->found || cost < best->cost;
    if (best->is_last) {
        uint16_t *spare = best->pair_part;
        best->pair_part = best->other;
        best->other = spare;
        best->result = *result;
        best->cost = cost;
        best->from = from;
        best->found = true;
    }
}

weft_status best_cut_finish(const best_cut *best, const partition_job *job, const pair_list *list, uint16_t *edge_part)
{
    const bool stands = best->is_last && best->entry_part == edge_part;
    return stands ? WEFT_OK
                  : pair_list_spread(list, best->pair_part, job->graph, PARTITION_NO_PART, job->threads, edge_part);
}

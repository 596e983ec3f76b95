/* partition/methods/best_cut.c: see partition/methods/best_cut.h. */
#include "partition/methods/best_cut.h"

#include "base/alloc.h"
#include "base/log.h"

weft_status best_cut_create(int64_t pairs, bool several, best_cut *best)
{
    *best = (best_cut){.found = false};
    WEFT_TRY(WEFT_NEW(&best->other, pairs, WEFT_MEM_PARTITION));
    return several ? WEFT_NEW(&best->pair_part, pairs, WEFT_MEM_PARTITION) : WEFT_OK;
}

void best_cut_free(best_cut *best)
{
    weft_free(best->other);
    weft_free(best->pair_part);
    *best = (best_cut){.found = false};
}

static double cost_of(const refine_result *result, int parts)
{
    const double even = (double)result->largest * parts / BEST_CUT_BALANCE;
    return even > (double)result->replicas ? even : (double)result->replicas;
}

void best_cut_offer(best_cut *best, const char *from, const refine_result *result, int parts)
{
    log_debug("partition, %s: %lld replicas, the largest part holds %lld", from, (long long)result->replicas,
              (long long)result->largest);
    if (!best->found || cost_of(result, parts) < cost_of(&best->result, parts)) {
        uint16_t *spare = best->pair_part;
        best->pair_part = best->other;
        best->other = spare;
        best->result = *result;
        best->from = from;
        best->found = true;
    }
}

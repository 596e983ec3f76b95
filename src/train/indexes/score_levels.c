/* train/indexes/score_levels.c: see train/indexes/score_levels.h. */
#include "train/indexes/score_levels.h"

#include "base/alloc.h"
#include "train/score/score_record.h"

static int64_t count_levels(const uint64_t *sorted, int64_t count)
{
    int64_t levels = 0;
    for (int64_t i = 0; i < count; ++i) {
        levels += i == 0 || sorted[i] >> 32 != sorted[i - 1] >> 32;
    }
    return levels;
}

weft_status score_levels_make(uint64_t *records, uint64_t *spare, int64_t count, score_levels *levels)
{
    const uint64_t *sorted = score_records_sort(records, spare, count);
    *levels = (score_levels){.count = count_levels(sorted, count)};
    WEFT_TRY(WEFT_NEW(&levels->level, levels->count, WEFT_MEM_WORKSPACE));
    for (int64_t i = 0, k = -1; i < count; ++i) {
        const int64_t positive = (int64_t)(sorted[i] & 1);
        if (i == 0 || sorted[i] >> 32 != sorted[i - 1] >> 32) {
            levels->level[++k] = (score_level){.score = score_of_record(sorted[i])};
        }
        levels->level[k].positives += positive;
        levels->level[k].negatives += 1 - positive;
        levels->positives += positive;
    }
    levels->negatives = count - levels->positives;
    return WEFT_OK;
}

void score_levels_free(score_levels *levels)
{
    weft_free(levels->level);
    *levels = (score_levels){.count = 0};
}

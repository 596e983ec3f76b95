/* focus/index/focus_units.c: see focus/index/focus_units.h. */
#include "focus/index/focus_units.h"

static uint16_t surest(const focus_index *index, int64_t item)
{
    uint16_t most = 0;
    for (int64_t class = 0; class < index->head.classes; ++class) {
        const uint16_t code = focus_index_code(index, item, class);
        most = code > most ? code : most;
    }
    return most;
}

static weft_status reserve(focus_units *units)
{
    WEFT_TRY(WEFT_NEW(&units->item, units->count, WEFT_MEM_FOCUS));
    WEFT_TRY(WEFT_NEW(&units->first, units->count, WEFT_MEM_FOCUS));
    WEFT_TRY(WEFT_NEW(&units->last, units->count, WEFT_MEM_FOCUS));
    return WEFT_NEW_ZERO(&units->items, units->count, WEFT_MEM_FOCUS);
}

weft_status focus_units_make(const focus_index *index, focus_units *units)
{
    uint16_t *best = NULL;
    *units = (focus_units){.count = index->head.moving ? index->tracks : index->items};
    if (!index->head.moving) {
        return WEFT_OK;
    }
    weft_status status = reserve(units);
    status = status == WEFT_OK ? WEFT_NEW(&best, units->count, WEFT_MEM_FOCUS) : status;
    for (int64_t i = 0; status == WEFT_OK && i < index->items; ++i) {
        const int64_t track = focus_index_origin(index, i).track;
        const uint16_t sure = surest(index, i);
        if (units->items[track]++ == 0) {
            units->first[track] = i;
        }
        if (units->items[track] == 1 || sure > best[track]) {
            units->item[track] = i;
            best[track] = sure;
        }
        units->last[track] = i;
    }
    weft_free(best);
    return status;
}

void focus_units_free(focus_units *units)
{
    WEFT_FREE_ALL(units->item, units->first, units->last, units->items);
    *units = (focus_units){.count = 0};
}

weft_status focus_units_score(const focus_units *units, const focus_index *index, int64_t class, uint16_t *code)
{
    int64_t *sum = NULL;
    if (units->item == NULL) {
        for (int64_t i = 0; i < units->count; ++i) {
            code[i] = focus_index_code(index, i, class);
        }
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW_ZERO(&sum, units->count, WEFT_MEM_FOCUS));
    for (int64_t i = 0; i < index->items; ++i) {
        sum[focus_index_origin(index, i).track] += focus_index_code(index, i, class);
    }
    for (int64_t u = 0; u < units->count; ++u) {
        code[u] = focus_mean_code(sum[u], units->items[u]);
    }
    weft_free(sum);
    return WEFT_OK;
}

int64_t focus_units_of_stride(const item_origin *origin, int64_t items, int64_t stride, int32_t *seen, int64_t *runs)
{
    int64_t tracks = 0;
    *runs = 0;
    for (int64_t i = 0; i < items; ++i) {
        if (origin[i].frame % stride == 0) {
            *runs += 1;
            tracks += seen[origin[i].track] != stride;
            seen[origin[i].track] = (int32_t)stride;
        }
    }
    return tracks;
}

weft_status focus_units_stride(const item_origin *origin, int64_t items, int64_t tracks, double share, int64_t *stride,
                               int64_t *runs)
{
    int32_t *seen = NULL;
    int64_t boxes = items;
    WEFT_TRY(WEFT_NEW_ZERO(&seen, tracks, WEFT_MEM_FOCUS));
    *stride = 1;
    *runs = items;
    while (*stride < FOCUS_STRIDE_MOST &&
           (double)focus_units_of_stride(origin, items, *stride + 1, seen, &boxes) >= share * (double)tracks) {
        *stride += 1;
        *runs = boxes;
    }
    weft_free(seen);
    return WEFT_OK;
}

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
        code[u] = (uint16_t)((sum[u] + units->items[u] / 2) / units->items[u]); /* codes are linear in log-odds */
    }
    weft_free(sum);
    return WEFT_OK;
}

/* Returns the tracks with a box in every stride-th frame. seen: [tracks] strides that were tried. [out] runs: boxes. */
static int64_t tracks_of_stride(const focus_index *index, int64_t stride, int32_t *seen, int64_t *runs)
{
    int64_t tracks = 0;
    *runs = 0;
    for (int64_t i = 0; i < index->items; ++i) {
        const item_origin from = focus_index_origin(index, i);
        if (from.frame % stride == 0) {
            *runs += 1;
            tracks += seen[from.track] != stride;
            seen[from.track] = (int32_t)stride;
        }
    }
    return tracks;
}

weft_status focus_units_stride(const focus_index *index, double share, int64_t *stride, int64_t *runs)
{
    int32_t *seen = NULL;
    int64_t boxes = index->items;
    WEFT_TRY(WEFT_NEW_ZERO(&seen, index->tracks, WEFT_MEM_FOCUS));
    *stride = 1;
    *runs = index->items;
    while (*stride < FOCUS_STRIDE_MOST &&
           (double)tracks_of_stride(index, *stride + 1, seen, &boxes) >= share * (double)index->tracks) {
        *stride += 1;
        *runs = boxes;
    }
    weft_free(seen);
    return WEFT_OK;
}

/* focus/index/focus_units.c: see focus/index/focus_units.h. */
#include "focus/index/focus_units.h"

#include "base/integer/integers.h"

static uint16_t surest(const focus_index *index, int64_t item)
{
    uint16_t most = 0;
    for (int64_t class = 0; class < index->head.classes; ++class) {
        const uint16_t code = focus_index_code(index, item, class);
        most = code > most ? code : most;
    }
    return most;
}

static weft_status reserve(focus_units *units, int64_t tracks)
{
    WEFT_TRY(WEFT_NEW(&units->item, tracks, WEFT_MEM_FOCUS));
    WEFT_TRY(WEFT_NEW(&units->track, tracks, WEFT_MEM_FOCUS));
    WEFT_TRY(WEFT_NEW(&units->first, tracks, WEFT_MEM_FOCUS));
    WEFT_TRY(WEFT_NEW(&units->last, tracks, WEFT_MEM_FOCUS));
    WEFT_TRY(WEFT_NEW_ZERO(&units->items, tracks, WEFT_MEM_FOCUS));
    return WEFT_NEW(&units->unit, tracks, WEFT_MEM_FOCUS);
}

static bool in_span(const focus_units *units, int64_t frame)
{
    return frame >= units->span.first && frame <= units->span.last;
}

/* Arrays are by the numbers of tracks. best: [tracks] */
static void list_tracks(const focus_index *index, focus_units *units, uint16_t *best)
{
    for (int64_t i = 0; i < index->items; ++i) {
        const item_origin origin = focus_index_origin(index, i);
        const int64_t track = origin.track;
        units->frames = larger(units->frames, (int64_t)origin.frame + 1);
        if (!in_span(units, origin.frame)) {
            continue;
        }
        const uint16_t sure = surest(index, i);
        units->all += 1;
        if (units->items[track]++ == 0) {
            units->first[track] = i;
        }
        if (units->items[track] == 1 || sure > best[track]) {
            units->item[track] = i;
            best[track] = sure;
        }
        units->last[track] = i;
    }
}

/* Tracks without items leave the arrays. */
static void close_ranks(focus_units *units, int64_t tracks)
{
    for (int64_t track = 0; track < tracks; ++track) {
        const int64_t unit = units->count;
        units->unit[track] = units->items[track] > 0 ? unit : -1;
        if (units->items[track] > 0) {
            units->item[unit] = units->item[track];
            units->first[unit] = units->first[track];
            units->last[unit] = units->last[track];
            units->items[unit] = units->items[track];
            units->track[unit] = track;
            units->count += 1;
        }
    }
}

weft_status focus_units_make(const focus_index *index, focus_span span, focus_units *units)
{
    uint16_t *best = NULL;
    *units = (focus_units){.span = span};
    if (!index->head.moving) {
        units->frames = index->items;
        units->count = span.first < index->items ? smaller(span.last, index->items - 1) - span.first + 1 : 0;
        units->all = units->count;
        return WEFT_OK;
    }
    weft_status status = reserve(units, index->tracks);
    status = status == WEFT_OK ? WEFT_NEW(&best, index->tracks, WEFT_MEM_FOCUS) : status;
    if (status == WEFT_OK) {
        list_tracks(index, units, best);
        close_ranks(units, index->tracks);
    }
    weft_free(best);
    return status;
}

void focus_units_free(focus_units *units)
{
    WEFT_FREE_ALL(units->item, units->track, units->first, units->last, units->items, units->unit);
    *units = (focus_units){.count = 0};
}

weft_status focus_units_score(const focus_units *units, const focus_index *index, int64_t class, uint16_t *code)
{
    int64_t *sum = NULL;
    if (units->item == NULL) {
        for (int64_t i = 0; i < units->count; ++i) {
            code[i] = focus_index_code(index, focus_unit_item(units, i), class);
        }
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW_ZERO(&sum, units->count, WEFT_MEM_FOCUS));
    for (int64_t i = 0; i < index->items; ++i) {
        const item_origin origin = focus_index_origin(index, i);
        if (in_span(units, origin.frame)) {
            sum[units->unit[origin.track]] += focus_index_code(index, i, class);
        }
    }
    for (int64_t u = 0; u < units->count; ++u) {
        code[u] = focus_mean_code(sum[u], units->items[u]);
    }
    weft_free(sum);
    return WEFT_OK;
}

/* Adds those of items [first, end) that no item of this stride showed before. */
static int64_t count_new(const item_origin *origin, int64_t first, int64_t end, int64_t stride, int32_t *seen)
{
    int64_t tracks = 0;
    for (int64_t i = first; i < end; ++i) {
        tracks += seen[origin[i].track] != stride;
        seen[origin[i].track] = (int32_t)stride;
    }
    return tracks;
}

int64_t focus_units_of_stride(const item_origin *origin, int64_t items, int64_t stride, int32_t *seen, int64_t *runs)
{
    int64_t tracks = 0;
    *runs = 0;
    for (int64_t i = 0; i < items; ++i) {
        if (origin[i].frame % stride == 0) {
            *runs += 1;
            tracks += count_new(origin, i, i + 1, stride, seen);
        }
    }
    return tracks;
}

/* Items of one frame that follow each other: there are far fewer of them than items, and each stride looks at all. */
typedef struct frame_runs {
    int64_t *first;            /* [count + 1] items where they begin */
    int64_t count, last, most; /* last: number of the last frame; most: items of one run */
} frame_runs;

static weft_status find_runs(const item_origin *origin, int64_t items, frame_runs *runs)
{
    *runs = (frame_runs){.first = NULL};
    WEFT_TRY(WEFT_NEW(&runs->first, items + 1, WEFT_MEM_FOCUS));
    for (int64_t i = 0; i < items; ++i) {
        if (i == 0 || origin[i].frame != origin[i - 1].frame) {
            runs->first[runs->count++] = i;
        }
        runs->last = larger(runs->last, origin[i].frame);
        runs->most = larger(runs->most, i + 1 - runs->first[runs->count - 1]);
    }
    runs->first[runs->count] = items;
    return WEFT_OK;
}
/* As focus_units_of_stride. */
static int64_t look(const item_origin *origin, const frame_runs *runs, int64_t stride, int32_t *seen, int64_t *boxes)
{
    int64_t tracks = 0;
    *boxes = 0;
    for (int64_t k = 0; k < runs->count; ++k) {
        const int64_t first = runs->first[k], end = runs->first[k + 1];
        if (origin[first].frame % stride == 0) {
            *boxes += end - first;
            tracks += count_new(origin, first, end, stride, seen);
        }
    }
    return tracks;
}

weft_status focus_units_stride(const item_origin *origin, int64_t items, int64_t tracks, double share, int64_t *stride,
                               int64_t *runs)
{
    int32_t *seen = NULL;
    int64_t boxes = 0;
    frame_runs frames;
    *stride = 1;
    *runs = items;
    weft_status status = find_runs(origin, items, &frames);
    status = status == WEFT_OK ? WEFT_NEW_ZERO(&seen, tracks, WEFT_MEM_FOCUS) : status;
    const double wanted = share * (double)tracks;
    for (int64_t s = 2; status == WEFT_OK && s <= FOCUS_STRIDE_MOST; ++s) {
        const int64_t most = (frames.last / s + 1) * frames.most;
        if ((double)most < wanted) {
            break; /* so few frames do not have as many boxes */
        }
        if ((double)look(origin, &frames, s, seen, &boxes) >= wanted && boxes <= *runs) {
            *stride = s;
            *runs = boxes;
        }
    }
    WEFT_FREE_ALL(seen, frames.first);
    return status;
}

/*
 * focus/index/focus_units.h: what a query counts: items, or of an index of moving things tracks.
 *
 * A track is asked about once, by one of its items: the one for which the cheap network is surest of any class, the
 * first of equal ones. Its score for a class is the mean log-odds of all of its items.
 */
#pragma once

#include "focus/index/focus_index.h"

/* The frames that a query is about, both ends included. An item that does not move is a frame of its own number. */
typedef struct focus_span {
    int64_t first, last;
} focus_span;

#define FOCUS_ALL_FRAMES ((focus_span){.first = 0, .last = INT64_MAX})

typedef struct focus_units {
    int64_t count;
    focus_span span;
    int64_t all;    /* items of these units in the span */
    int64_t frames; /* of the index: one more than the last one's number */
    int64_t *item;  /* [count] the one that is asked about; NULL: unit i is item span.first + i */
    /* ---- of tracks; else NULL ---- */
    int64_t *track;        /* [count] their numbers, ascending */
    int64_t *first, *last; /* [count] items in the span */
    int64_t *items;        /* [count] how many */
    int64_t *unit;         /* [tracks of the index] unit of a track, -1: it has no item in the span */
} focus_units;

/* Units that have items in the span, made of these items alone. [out] units: for focus_units_free, also after a
 * failure. */
weft_status focus_units_make(const focus_index *index, focus_span span, focus_units *units);
void focus_units_free(focus_units *units);

static inline int64_t focus_unit_item(const focus_units *units, int64_t unit)
{
    return units->item != NULL ? units->item[unit] : units->span.first + unit;
}

/* Returns the code of the mean log-odds of items, of which codes are a linear function. sum: of `items` codes. */
static inline uint16_t focus_mean_code(int64_t sum, int64_t items)
{
    return (uint16_t)((sum + items / 2) / items);
}

/* [out] code: [units->count] scores of a class. WEFT_ERR_RESOURCE. */
weft_status focus_units_score(const focus_units *units, const focus_index *index, int64_t class, uint16_t *code);

/*
 * The other way to save runs on moving things: to look at every stride-th frame alone, and ask about each of its boxes.
 * origin: [items] of the boxes. tracks: their number.
 */

/* Returns the tracks that have a box in one of those frames. [in, out] seen: [tracks], zeros, and then what earlier
 * calls with other strides left. [out] runs: boxes of those frames. */
int64_t focus_units_of_stride(const item_origin *origin, int64_t items, int64_t stride, int32_t *seen, int64_t *runs);
/* [out] stride: of those up to FOCUS_STRIDE_MOST that come upon at least this share of all tracks, the one with the
 * fewest boxes in its frames, the largest of equal ones; 1: every frame has to be looked at. runs: these boxes. A
 * stride may come upon more tracks than a smaller one. WEFT_ERR_RESOURCE. */
enum { FOCUS_STRIDE_MOST = 1024 };
weft_status focus_units_stride(const item_origin *origin, int64_t items, int64_t tracks, double share, int64_t *stride,
                               int64_t *runs);

/*
 * focus/index/focus_units.h: what a query counts: items, or of an index of moving things tracks.
 *
 * A track is asked about once, by one of its items: the one for which the cheap network is surest of any class, the
 * first of equal ones. Its score for a class is the mean log-odds of all of its items.
 */
#pragma once

#include "focus/index/focus_index.h"

typedef struct focus_units {
    int64_t count;
    int64_t *item;         /* [count] the one that is asked about; NULL: unit i is item i */
    int64_t *first, *last; /* [count] items; NULL without tracks */
    int64_t *items;        /* [count] how many; NULL without tracks */
} focus_units;

/* [out] units: for focus_units_free, also after a failure. */
weft_status focus_units_make(const focus_index *index, focus_units *units);
void focus_units_free(focus_units *units);

static inline int64_t focus_unit_item(const focus_units *units, int64_t unit)
{
    return units->item != NULL ? units->item[unit] : unit;
}

/* [out] code: [units->count] scores of a class. WEFT_ERR_RESOURCE. */
weft_status focus_units_score(const focus_units *units, const focus_index *index, int64_t class, uint16_t *code);

/*
 * What the other way to save runs would need of an index of moving things: to look at every stride-th frame alone, and
 * ask about each of its boxes. [out] stride: the largest up to FOCUS_STRIDE_MOST that comes upon at least this share
 * of all tracks, as every smaller one does; 1: every frame has to be looked at. runs: boxes of those frames.
 * WEFT_ERR_RESOURCE.
 */
enum { FOCUS_STRIDE_MOST = 1024 };
weft_status focus_units_stride(const focus_index *index, double share, int64_t *stride, int64_t *runs);

/*
 * app/focus/focus_query.h: weft focus query: items of a class, found in an index and confirmed by the expensive
 * network.
 *
 *      1  the expensive network labels a uniform sample of all items, once for all classes
 *      2  lo: the threshold that keeps the recall (focus/bounds/thresholds.h); where the sample has too few items of
 *         the class, of a second sample that is drawn by the scores
 *      3  hi: the threshold that keeps the precision, of a sample of the likeliest items from lo on
 *      4  the expensive network decides about the items from lo to hi; those from hi on are accepted
 *
 * With a limit of time it decides about the likeliest first, and what it came to is answered; the uniform sample then
 * says how much of the class that is at least.
 *
 * The thresholds share what the confidence leaves (focus_delta_low). Samples are functions of the seed, so a second
 * query of a class finds all answers in the index, and the network does not run.
 */
#pragma once

#include <stdio.h>

#include "app/focus/focus_asker.h"
#include "focus/bounds/thresholds.h"
#include "focus/index/focus_units.h"

typedef struct focus_query {
    /* ---- set by the caller ---- */
    focus_asker *asker;
    int64_t asked_class; /* of the expensive network */
    double recall, precision, delta;
    int64_t labels, limit;
    double seconds; /* after which the network is asked no more; 0: no such limit */
    uint64_t seed;
    focus_span span; /* items of other frames do not count */
    /* ---- of focus_query_run ---- */
    focus_units units;  /* what is counted: items or tracks; "items" below */
    uint16_t *code;     /* [items] scores of the class */
    int32_t lo, hi;     /* accepted: code >= hi */
    int32_t high_alone; /* the hi of a query that time ends, whose answers below hi are not all verified */
    bool importance;    /* lo is of the second sample */
    double start;
    int64_t rounds;      /* in which the network was asked */
    bool late;           /* the time was up: lo is where it was up, or the sample is not whole, and drawn is 0 */
    double kept;         /* share of the class that the answers hold at least; less than `recall` where it is late */
    focus_label *sample; /* [drawn] labels of the uniform sample, ascending */
    int64_t drawn;
    double positives;            /* items of the class, as many as the first sample says */
    double recall_most;          /* the largest recall for which that sample leaves items out; 0: it shows none */
    int64_t stride, stride_runs; /* of tracks, with a promise: focus_units_stride for `recall`; 0: not looked for */
    int64_t *found;              /* [count] items that are answers, ascending; with a limit the likeliest first */
    int64_t count, accepted;
    double accepted_share;        /* of the sample from hi on, that is of the class */
    double estimate, least, most; /* items of the class in the index, and the interval of their number */
} focus_query;

/* indexed_class: of the index. On rank 0, while the others are in focus_asker_serve. WEFT_ERR_DATA: the index is empty;
 * WEFT_ERR_USAGE: it holds nothing of the span. */
weft_status focus_query_run(focus_query *q, int64_t indexed_class);
/* The answers as CSV: item, score and whether it was verified; of tracks their number, the box that is asked about,
 * first and last frame, and how many boxes they have, too. title: heading of the items. */
void focus_query_print(FILE *out, const focus_query *q, const char *title);
void focus_query_free(focus_query *q);

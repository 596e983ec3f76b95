/*
 * comm/sync/significance.h: which accumulated updates matter, and how the threshold moves.
 *
 * An update is significant when |acc| > theta |w|: always when w is 0, never when there is none (acc = 0). A NaN is
 * significant, so that all sites learn of it.
 */
#pragma once

#include "comm/sync/sync.h"

/* An update on its way: the place in its bucket and what to add there. */
typedef struct significance_entry {
    int32_t index;
    float value;
} significance_entry;

enum { SIGNIFICANCE_DENSE = -1 };

/*
 * Move the significant part of acc into payload ([count] floats of room) and leave zeros behind.
 * Returns the number of entries (sorted by index), or SIGNIFICANCE_DENSE when those would take as many bytes as all of
 * acc: then payload is acc as it was, count floats, and acc is 0.
 */
int64_t significance_take(const float *w, float *acc, int64_t count, double theta, void *payload);
/* w += what lies in payload; entries as above. WEFT_ERR_INTERNAL when an index is out of range. */
weft_status significance_apply(float *w, int64_t count, int64_t entries, const void *payload);

/* What the threshold follows; part of a checkpoint. */
typedef struct significance_threshold {
    double theta;    /* of the next step */
    double first_lr; /* of the first step, 0: none yet */
} significance_threshold;

/* Theta of a step with this learning rate. */
double significance_theta(significance_threshold *threshold, const sync_asp_options *options, double lr);
/* ASP_BANDWIDTH: the last step took so many seconds and sent so many bytes. Theta goes up by 0.005 above 110 % of the
 * budget, down by 0.005 below 90 %; between 0 and the larger of 1 and where it began. */
void significance_note(significance_threshold *threshold, const sync_asp_options *options, uint64_t bytes,
                       double seconds);

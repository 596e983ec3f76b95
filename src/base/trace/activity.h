/*
 * base/trace/activity.h: where the time goes.
 *
 * The training loop is cut into activities; each second of a rank belongs to exactly one of them (beginning an activity
 * pauses the one around it). The closing table shows min/avg/max over ranks. Cost of a begin/end pair: two clock reads.
 * While a trace is open (base/trace/trace.h) each pair is a span of it too.
 * The table belongs to the calling thread: a rank, also where ranks are threads of one process.
 */
#ifndef WEFT_BASE_TRACE_ACTIVITY_H
#define WEFT_BASE_TRACE_ACTIVITY_H

#include <stdint.h>

/* X(name, text): the rows of the closing table, in order. */
#define WEFT_ACTIVITY_LIST(X)                                                                                          \
    X(ACTIVITY_OTHER, "other")                                                                                         \
    X(ACTIVITY_LOAD, "load data")                                                                                      \
    X(ACTIVITY_PARTITION, "partition")                                                                                 \
    X(ACTIVITY_PREPARE, "prepare matrices")                                                                            \
    X(ACTIVITY_LINEAR, "linear")                                                                                       \
    X(ACTIVITY_AGGREGATE, "aggregate")                                                                                 \
    X(ACTIVITY_HALO, "halo exchange")                                                                                  \
    X(ACTIVITY_ELEMENTWISE, "norm, activation, dropout")                                                               \
    X(ACTIVITY_LOSS, "loss")                                                                                           \
    X(ACTIVITY_ALLREDUCE, "gradient all-reduce")                                                                       \
    X(ACTIVITY_OPTIMIZER, "optimizer")                                                                                 \
    X(ACTIVITY_EVALUATE, "evaluate")                                                                                   \
    X(ACTIVITY_WRITE, "write results")

typedef enum weft_activity {
#define ACTIVITY_ENUM(name, text) name,
    WEFT_ACTIVITY_LIST(ACTIVITY_ENUM)
#undef ACTIVITY_ENUM
        ACTIVITY_COUNT
} weft_activity;

typedef struct activity_row {
    double seconds;
    uint64_t calls;
} activity_row;

/* Start the clock: everything before belongs to ACTIVITY_OTHER. */
void activity_reset(void);
void activity_begin(weft_activity activity);
void activity_end(weft_activity activity);
/* Seconds and calls so far, the running activity included up to now. */
activity_row activity_get(weft_activity activity);
const char *activity_text(weft_activity activity);

#endif

/*
 * app/activity/activity_table.h: the rows of the closing table, put together from the rooms' activities.
 *
 * Loading and preparing are those of every workload. A room's new activity is a row here; one that is left out ends a
 * debug build's job when its table is made.
 */
#ifndef WEFT_APP_ACTIVITY_ACTIVITY_TABLE_H
#define WEFT_APP_ACTIVITY_ACTIVITY_TABLE_H

#include "base/trace/activity.h"

extern const weft_activity ACTIVITY_LOAD[1];
extern const weft_activity ACTIVITY_PARTITION[1];
extern const weft_activity ACTIVITY_PREPARE[1];

/* X(activity, colour), in order. colour: class of the bars in reports (app/report/page.c), another one for each; "": not
 * of an epoch. */
#define ACTIVITY_TABLE(X)                                                                                              \
    X(ACTIVITY_OTHER, "")                                                                                              \
    X(ACTIVITY_LOAD, "")                                                                                               \
    X(ACTIVITY_PARTITION, "")                                                                                          \
    X(ACTIVITY_PREPARE, "")                                                                                            \
    X(ACTIVITY_BATCH, "batches")                                                                                       \
    X(ACTIVITY_CONVOLVE, "convolve")                                                                                   \
    X(ACTIVITY_LINEAR, "linear")                                                                                       \
    X(ACTIVITY_AGGREGATE, "aggregate")                                                                                 \
    X(ACTIVITY_HALO, "halo")                                                                                           \
    X(ACTIVITY_ELEMENTWISE, "element")                                                                                 \
    X(ACTIVITY_LOSS, "lossa")                                                                                          \
    X(ACTIVITY_NORM_SUMS, "sums")                                                                                      \
    X(ACTIVITY_ALLREDUCE, "reduce")                                                                                    \
    X(ACTIVITY_OPTIMIZER, "optim")                                                                                     \
    X(ACTIVITY_EVALUATE, "evaluate")                                                                                   \
    X(ACTIVITY_WRITE, "")

/* ROW_ACTIVITY_LINEAR: a row by number. */
typedef enum activity_row_number {
#define ACTIVITY_ROW(activity, colour) ROW_##activity,
    ACTIVITY_TABLE(ACTIVITY_ROW)
#undef ACTIVITY_ROW
        ACTIVITY_COUNT
} activity_row_number;

typedef struct activity_entry {
    const weft_activity *activity;
    const char *colour;
} activity_entry;

extern const activity_entry activity_table[ACTIVITY_COUNT];

/* The calling thread's seconds by row. */
void activity_table_seconds(double seconds[ACTIVITY_COUNT]);

#endif

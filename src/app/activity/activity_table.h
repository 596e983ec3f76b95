/*
 * app/activity/activity_table.h: the rows of the closing table: activities that every job has, and those that the kinds
 * of workload bring (workload_ops.activities), in the order of their places.
 *
 * A job of one kind has the rows of all kinds: files of ranks and reports name them alike. An activity that no row has
 * ends a debug build's job when its table is made.
 */
#pragma once

#include <stdbool.h>

#include "base/trace/activity.h"

extern const weft_activity ACTIVITY_LOAD[1];
extern const weft_activity ACTIVITY_PARTITION[1];
extern const weft_activity ACTIVITY_PREPARE[1];

enum { ACTIVITY_ROWS_MAX = ACTIVITIES_MOST };

typedef struct activity_entry {
    const weft_activity *activity;
    const char
        *colour;  /* class of its bars in reports (app/report/page.c), another one for each; "": not of an epoch */
    int place;    /* rows go up by it */
    bool of_kind; /* a kind of workload brings it */
} activity_entry;

/* [activity_table_rows()] */
const activity_entry *activity_table(void);
int activity_table_rows(void);
/* The row of an activity of the table. */
int activity_table_row(const weft_activity *activity);

/* The calling thread's seconds by row. */
void activity_table_seconds(double seconds[ACTIVITY_ROWS_MAX]);

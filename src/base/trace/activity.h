/*
 * base/trace/activity.h: where the time goes.
 *
 * The training loop is cut into activities; each second of a rank belongs to exactly one of them (beginning an activity
 * pauses the one around it). Rooms define the activities of what they do; app puts them in the order of the closing
 * table (app/activity/activity_table.h), which shows min/avg/max over ranks. Cost of a begin/end pair: two clock reads.
 * While a trace is open (base/trace/trace.h) each pair is a span of it too.
 * What is booked belongs to the calling thread: a rank, also where ranks are threads of one process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef enum activity_kind {
    ACTIVITY_ONCE,     /* a job: loading, preparing, writing */
    ACTIVITY_COMPUTES, /* each step */
    ACTIVITY_MOVES,    /* each step: messages to and from other ranks */
    ACTIVITY_SCORES    /* each evaluation */
} activity_kind;

/* A room declares `extern const weft_activity ACTIVITY_HALO[1]` in a header and defines it in one of its files (an
 * array of one, so that the name is the address that the functions below take). */
typedef struct weft_activity {
    const char *text; /* in tables, summary.json and traces */
    activity_kind kind;
    bool absorbs; /* what runs inside it is booked to it, so that the other rows tell what a training step costs */
} weft_activity;

extern const weft_activity ACTIVITY_OTHER[1]; /* what is no other activity's */

enum { ACTIVITIES_MOST = 32 }; /* that a thread can book */

typedef struct activity_row {
    double seconds;
    uint64_t calls;
} activity_row;

/* Start the clock: everything before belongs to nothing, what follows to ACTIVITY_OTHER. */
void activity_reset(void);

/* What a thread has booked, and what runs: the books of a job, put aside while another job runs within it. */
enum { ACTIVITIES_DEEP = 16 }; /* that run inside each other */

typedef struct activity_booking {
    const weft_activity *activity;
    activity_row booked;
} activity_booking;

typedef struct activity_book {
    activity_booking row[ACTIVITIES_MOST];
    const weft_activity *stack[ACTIVITIES_DEEP]; /* the running ones, the innermost last */
    double span_begin[ACTIVITIES_DEEP];          /* for the trace */
    int rows, depth;
    double last; /* time up to which seconds are booked; 0: the clock was not started */
} activity_book;

/* Puts the calling thread's book aside in *outer and begins an empty one, as activity_reset does. */
void activity_put_aside(activity_book *outer);
/* Ends that empty book and goes on with *outer: all seconds since it was put aside belong to its running activity. */
void activity_take_up(const activity_book *outer);

void activity_begin(const weft_activity *activity);
void activity_end(const weft_activity *activity);
/* Books a call that returns a weft_status, and returns the status from the caller if it is a failure. */
#define ACTIVITY_TRY(activity, call)                                                                                   \
    do {                                                                                                               \
        activity_begin(activity);                                                                                      \
        const weft_status activity_status_ = (call);                                                                   \
        activity_end(activity);                                                                                        \
        WEFT_TRY(activity_status_);                                                                                    \
    } while (0)
/* Seconds and calls so far, the running activity included up to now. */
activity_row activity_get(const weft_activity *activity);
/* The i-th activity that this thread has booked since activity_reset, or NULL past the last. */
const weft_activity *activity_booked(int i);

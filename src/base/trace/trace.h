/*
 * base/trace/trace.h: what happened when; io/trace_file.h makes a file of it.
 *
 * A span has a name, a category, a begin and an end on the clock of base/clock.h. Threads record into their own ring
 * without locks; a full ring forgets its oldest spans and counts them. Off (the default) a span costs one load.
 *
 *      double begin = trace_begin();
 *      ...
 *      trace_end(begin, TRACE_COMM, "inter", bytes);
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef enum trace_category {
    TRACE_STEP,
    TRACE_COMPUTE,
    TRACE_COMM,  /* local work of an operation */
    TRACE_INTRA, /* messages or flags inside a node */
    TRACE_INTER, /* messages between nodes */
    TRACE_SYNC   /* the caller hands over or stands still: submit, wait */
} trace_category;

/* Record from now on, at most `spans` of each thread (0: 65536). A trace that is open already goes on as it is, for one
 * holder more: jobs of one process share its spans, and each writes those since it began (io/trace_file.h). */
weft_status trace_open(int64_t spans);
bool trace_on(void);
/* Now, or 0 when off. */
double trace_begin(void);
/* name must be a literal or live as long as the trace. bytes: an argument shown with the span; < 0: none. */
void trace_end(double begin, trace_category category, const char *name, int64_t bytes);
/* Name the calling thread ("main", "communication"). */
void trace_thread(const char *name); /* a literal */
/* The last holder ends the recording, while the threads that record are quiet. Harmless without a trace. */
void trace_close(void);

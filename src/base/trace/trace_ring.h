/*
 * base/trace/trace_ring.h: the rings that threads record into, for the writer of the file (io/trace_file.c).
 *
 * A thread is the only one that writes to its ring; the number of spans recorded is stored last (release), so a reader
 * that loads it (acquire) sees whole spans.
 */
#pragma once

#include <stdatomic.h>

#include "base/trace/trace.h"

typedef struct trace_span {
    double begin, end;
    const char *name;
    int64_t bytes;
    trace_category category;
} trace_span;

typedef struct trace_ring {
    struct trace_ring *next;
    _Atomic(const char *) thread;
    int number;
    uint64_t capacity;
    _Atomic uint64_t recorded; /* span i lies at i % capacity */
    trace_span span[];
} trace_ring;

/* The rings of the open trace, linked. */
trace_ring *trace_rings(void);
/* Spans of threads that got no ring. */
uint64_t trace_lost(void);

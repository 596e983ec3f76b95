/*
 * base/trace/trace.c: a ring of spans a thread.
 *
 * A thread finds its ring through a thread-local pointer and is the only one that writes to it; the number of spans
 * recorded is stored last (release), so a writer of the file that loads it (acquire) sees whole spans. Rings are linked
 * into one list when a thread records its first span and live until trace_close. A generation number tells a thread
 * that the ring it remembers belongs to a trace that was closed.
 *
 * Cost: 40 bytes a span; two clock reads and a few stores to record one.
 */
#include "base/trace/trace.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/trace/trace_ring.h"

enum { DEFAULT_SPANS = 65536, MOST_SPANS = 1 << 26 };

static atomic_bool recording;
static atomic_int holders;
static _Atomic uint64_t generation;
static _Atomic uint64_t ring_capacity;
static _Atomic(trace_ring *) rings;
static atomic_int threads;
static _Atomic uint64_t lost; /* spans of threads that got no ring */
static _Thread_local trace_ring *own_ring;
static _Thread_local uint64_t own_generation;
static _Thread_local const char *own_name;

/* ---- recording --------------------------------------------------------------------------------------------- */
weft_status trace_open(int64_t spans)
{
    WEFT_CHECK(spans >= 0 && spans <= MOST_SPANS, WEFT_ERR_INTERNAL, "a trace of %lld spans a thread: 0 to %d",
               (long long)spans, MOST_SPANS);
    if (atomic_fetch_add(&holders, 1) > 0) {
        return WEFT_OK;
    }
    atomic_store(&ring_capacity, spans == 0 ? DEFAULT_SPANS : (uint64_t)spans);
    atomic_store(&threads, 0);
    atomic_store(&lost, 0);
    atomic_fetch_add(&generation, 1);
    atomic_store(&recording, true);
    return WEFT_OK;
}

bool trace_on(void)
{
    return atomic_load_explicit(&recording, memory_order_acquire);
}

double trace_begin(void)
{
    return trace_on() ? clock_seconds() : 0.0;
}

/* The calling thread's ring, made at its first span; NULL without memory, which is not tried again. */
static trace_ring *ring_of_thread(void)
{
    uint64_t current = atomic_load_explicit(&generation, memory_order_relaxed);
    if (own_generation == current) {
        return own_ring;
    }
    own_generation = current;
    own_ring = NULL;
    uint64_t capacity = atomic_load(&ring_capacity);
    void *block = NULL;
    if (weft_malloc(1, sizeof(trace_ring) + capacity * sizeof(trace_span), WEFT_MEM_GENERAL, &block) != WEFT_OK) {
        weft_error_clear();
        return NULL;
    }
    own_ring = block;
    own_ring->capacity = capacity;
    own_ring->number = atomic_fetch_add(&threads, 1);
    atomic_init(&own_ring->thread, own_name);
    atomic_init(&own_ring->recorded, 0);
    own_ring->next = atomic_load(&rings);
    while (!atomic_compare_exchange_weak(&rings, &own_ring->next, own_ring)) {
    }
    return own_ring;
}

void trace_end(double begin, trace_category category, const char *name, int64_t bytes)
{
    if (begin == 0.0 || !trace_on()) {
        return;
    }
    double end = clock_seconds();
    trace_ring *ring = ring_of_thread();
    if (ring == NULL) {
        atomic_fetch_add(&lost, 1);
        return;
    }
    uint64_t at = atomic_load_explicit(&ring->recorded, memory_order_relaxed);
    ring->span[at % ring->capacity] = (trace_span){begin, end, name, bytes, category};
    atomic_store_explicit(&ring->recorded, at + 1, memory_order_release);
}

void trace_thread(const char *name)
{
    own_name = name;
    trace_ring *ring = trace_on() ? ring_of_thread() : NULL;
    if (ring != NULL) {
        atomic_store(&ring->thread, name);
    }
}

void trace_close(void)
{
    if (!trace_on() || atomic_fetch_sub(&holders, 1) > 1) {
        return;
    }
    atomic_store(&recording, false);
    trace_ring *next = NULL;
    for (trace_ring *ring = atomic_exchange(&rings, NULL); ring != NULL; ring = next) {
        next = ring->next;
        weft_free(ring);
    }
}

trace_ring *trace_rings(void)
{
    return atomic_load(&rings);
}

uint64_t trace_lost(void)
{
    return atomic_load(&lost);
}

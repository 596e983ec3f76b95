/*
 * base/alloc.h: the one allocator.
 *
 * Every long-lived array of Weft comes from here: 64-byte aligned, counted by tag, with 2 MiB pages asked for on large
 * blocks (transparent huge pages are in madvise mode on most clusters; gathers over feature arrays gain 20-30 % from
 * them). Pages are not touched here: the first touch by the owning thread decides the NUMA node.
 *
 * Tests can make the n-th allocation fail (weft_alloc_fail_after) so that every error path runs. Thread-safe.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct weft_mem_usage {
    uint64_t current_bytes; /* live now */
    uint64_t peak_bytes;    /* high-water mark */
    uint64_t allocations;   /* calls so far: equal before and after an epoch means the epoch allocated nothing */
} weft_mem_usage;

/* What memory is for, and what is counted for it. Each room defines the tags of what it holds, in one of its files:
 *
 *      weft_mem_tag WEFT_MEM_GRAPH[1] = {{.text = "graph"}};      declared extern in a header of the room
 *
 * (an array of one, so that the name is the address that the functions below take). */
typedef struct weft_mem_tag {
    const char *text; /* in messages: "no memory for 64 bytes (graph)" */
    _Atomic uint64_t current_bytes, peak_bytes, allocations;
} weft_mem_tag;

extern weft_mem_tag WEFT_MEM_GENERAL[1];
extern weft_mem_tag WEFT_MEM_WORKSPACE[1]; /* gone when the call that took it returns, or kept to be used again */

/*
 * Allocate count * size bytes, 64-byte aligned, uninitialised (zeroed for weft_calloc).
 * [out] out  the block, or NULL on failure; NULL with WEFT_OK when count * size is 0. Free with weft_free.
 * Returns WEFT_ERR_RESOURCE when the product overflows or memory is short; the message names bytes and tag.
 */
weft_status weft_malloc(size_t count, size_t size, weft_mem_tag *tag, void **out);
weft_status weft_calloc(size_t count, size_t size, weft_mem_tag *tag, void **out);

/* Grow or shrink, keeping the contents; *block may be NULL. On failure *block is unchanged. */
weft_status weft_realloc(void **block, size_t count, size_t size, weft_mem_tag *tag);

/* Free; NULL is allowed. */
void weft_free(void *block);
/* Gives the whole pages of bytes [begin, end) of a block back to the system. Nothing reads them again, and they count
 * as freed; the block is not grown afterwards. A block below 4 MiB keeps its pages until it is freed. */
void weft_free_part(void *block, size_t begin, size_t end);
/* Frees each of these blocks. */
void weft_free_each(void *const *block, size_t count);
#define WEFT_FREE_ALL(...)                                                                                             \
    weft_free_each((void *const[]){__VA_ARGS__}, sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *))

/* Typed: weft_status s = WEFT_NEW(&x, n, WEFT_MEM_WORKSPACE) with `int32_t *x`. */
#define WEFT_NEW(pointer, count, tag)      weft_malloc((size_t)(count), sizeof **(pointer), (tag), (void **)(pointer))
#define WEFT_NEW_ZERO(pointer, count, tag) weft_calloc((size_t)(count), sizeof **(pointer), (tag), (void **)(pointer))

/* Count memory that comes from elsewhere, a device's, as if it had come from here: before it is taken
 * (WEFT_ERR_RESOURCE where a test makes this allocation fail), and after it was given back. */
weft_status weft_mem_take(size_t bytes, weft_mem_tag *tag);
void weft_mem_give_back(size_t bytes, weft_mem_tag *tag);

weft_mem_usage weft_mem_usage_of(const weft_mem_tag *tag);
weft_mem_usage weft_mem_usage_total(void);

/* Begins a new high-water mark of all memory, at what is live now. Returns the mark so far, for
 * weft_mem_peak_resume. */
uint64_t weft_mem_peak_restart(void);
/* Ends the span that weft_mem_peak_restart began: the mark becomes the larger of `earlier` and that of the span. */
void weft_mem_peak_resume(uint64_t earlier);

/* Make the n-th allocation from now fail once (1 = the next); 0 switches injection off. For tests. */
void weft_alloc_fail_after(uint64_t n);

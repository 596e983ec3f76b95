/*
 * gnn/data/build/csr_build.h: edges sorted into CSR by destination, without duplicates, within a memory limit.
 *
 * The edges come in spans, from memory or from a file, and are looked at several times: once to count, then once for
 * each range of destinations that fits the limit. The result is the same whatever the limit, the order of the edges and
 * the number of threads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"

/* Edge i goes from from[i * stride] to to[i * stride]. */
typedef struct csr_span {
    const int32_t *from, *to;
    int64_t stride, count;
} csr_span;

typedef struct csr_input {
    int64_t vertices; /* all ids are below it; 1 .. INT32_MAX */
    int64_t edges;    /* of all spans, for progress lines */
    int64_t spans;
    /* Span i; it stays valid until the same thread asks for another. Threads are 0 .. threads - 1. */
    weft_status (*span)(void *self, int64_t i, int thread, csr_span *span);
    void *self;
    int threads;
    bool add_reverse, keep_self_loops;
    int64_t limit_bytes; /* for the range in work, INT64_MAX = none; the offsets come on top */
    const char *beside;  /* beyond one range the ids go to an unlinked file in the folder of this path */
} csr_input;

/* source lies in memory (`memory`) or in a mapped, unlinked file (`map`). */
typedef struct csr_graph {
    int64_t vertices, entries;
    int64_t *offset;       /* [vertices + 1] */
    const int32_t *source; /* [entries] */
    int32_t *memory;
    file_map map;
    int ranges; /* how many it took */
} csr_graph;

/* WEFT_ERR_RESOURCE when even the smallest range does not fit, with the bytes that are needed. */
weft_status csr_build(const csr_input *input, csr_graph *graph);
void csr_graph_free(csr_graph *graph);

/* A new unlinked file in the folder of `path`: it goes when it is closed, or the process ends. */
weft_status csr_scratch_file(const char *path, int *fd);
weft_status csr_scratch_write(int fd, const char *beside, const void *data, size_t bytes, int64_t offset);

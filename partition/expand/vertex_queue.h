/*
 * partition/expand/vertex_queue.h: the vertices that wait at the borders of growing parts, fewest open pairs first.
 *
 *   part p   bucket 1 -> v -> v      one list a part and number of open pairs; all above QUEUE_BUCKETS share the last,
 *            bucket 2 -> v           because vertices with that many are hardly ever the fewest
 *            ...
 *
 * A vertex waits in one list of one part at most. Putting, moving and taking are O(1) (the search for the lowest bucket
 * is paid by what was put there). Memory: 12 bytes a vertex + 2 KiB a part.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

enum { QUEUE_BUCKETS = 512 };

typedef struct vertex_queue {
    int parts;
    int32_t *first;         /* [parts, QUEUE_BUCKETS] head of a list, -1 when empty */
    int32_t *lowest;        /* [parts] no bucket below it is in use */
    int32_t *next, *before; /* [vertices] neighbours in the list, -1 at its ends */
    int32_t *list;          /* [vertices] part * QUEUE_BUCKETS + bucket, -1: waits nowhere */
} vertex_queue;

weft_status vertex_queue_create(int64_t vertices, int parts, vertex_queue *queue);
void vertex_queue_free(vertex_queue *queue);

/* v leaves the list it waits in, if any. */
void vertex_queue_remove(vertex_queue *queue, int64_t v);
/* v waits for `part` alone, with open >= 1 pairs; wherever it waited before. */
void vertex_queue_put(vertex_queue *queue, int64_t v, int part, int32_t open);
/* The number of open pairs of v has changed to open >= 1: it stays with its part, if it waits at all. */
void vertex_queue_update(vertex_queue *queue, int64_t v, int32_t open);
/* A vertex of `part` with the fewest open pairs, the last put first; it no longer waits. -1: none waits there. */
int64_t vertex_queue_take(vertex_queue *queue, int part);

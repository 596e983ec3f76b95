/* partition/expand/vertex_queue.c: see partition/expand/vertex_queue.h. */
#include "partition/expand/vertex_queue.h"

#include <assert.h>

#include "base/alloc.h"
#include "partition/partition.h"

weft_status vertex_queue_create(int64_t vertices, int parts, vertex_queue *queue)
{
    weft_status status = WEFT_OK;
    int64_t lists = (int64_t)parts * QUEUE_BUCKETS;
    *queue = (vertex_queue){.parts = parts};
    WEFT_TRY_GOTO(WEFT_NEW(&queue->first, lists, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&queue->lowest, parts, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&queue->next, vertices, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&queue->before, vertices, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&queue->list, vertices, WEFT_MEM_PARTITION), status, done);
    for (int64_t i = 0; i < lists; ++i) {
        queue->first[i] = -1;
    }
    for (int64_t v = 0; v < vertices; ++v) {
        queue->list[v] = -1;
    }
done:
    if (status != WEFT_OK) {
        vertex_queue_free(queue);
    }
    return status;
}

void vertex_queue_free(vertex_queue *queue)
{
    WEFT_FREE_ALL(queue->first, queue->lowest, queue->next, queue->before, queue->list);
    *queue = (vertex_queue){0};
}

void vertex_queue_remove(vertex_queue *queue, int64_t v)
{
    int32_t list = queue->list[v], next = queue->next[v], before = queue->before[v];
    if (list < 0) {
        return;
    }
    if (before >= 0) {
        queue->next[before] = next;
    } else {
        queue->first[list] = next;
    }
    if (next >= 0) {
        queue->before[next] = before;
    }
    queue->list[v] = -1;
}

void vertex_queue_put(vertex_queue *queue, int64_t v, int part, int32_t open)
{
    assert(open >= 1 && part >= 0 && part < queue->parts);
    int32_t bucket = open < QUEUE_BUCKETS ? open - 1 : QUEUE_BUCKETS - 1, list = part * QUEUE_BUCKETS + bucket;
    if (queue->list[v] == list) {
        return;
    }
    vertex_queue_remove(queue, v);
    int32_t head = queue->first[list];
    queue->before[v] = -1;
    queue->next[v] = head;
    if (head >= 0) {
        queue->before[head] = (int32_t)v;
    }
    queue->first[list] = (int32_t)v;
    queue->list[v] = list;
    if (bucket < queue->lowest[part]) {
        queue->lowest[part] = bucket;
    }
}

void vertex_queue_update(vertex_queue *queue, int64_t v, int32_t open)
{
    if (queue->list[v] >= 0) {
        vertex_queue_put(queue, v, queue->list[v] / QUEUE_BUCKETS, open);
    }
}

int64_t vertex_queue_take(vertex_queue *queue, int part)
{
    const int32_t *first = queue->first + (int64_t)part * QUEUE_BUCKETS;
    int32_t bucket = queue->lowest[part];
    while (bucket < QUEUE_BUCKETS && first[bucket] < 0) {
        ++bucket;
    }
    queue->lowest[part] = bucket;
    if (bucket == QUEUE_BUCKETS) {
        return -1;
    }
    int64_t v = first[bucket];
    vertex_queue_remove(queue, v);
    return v;
}

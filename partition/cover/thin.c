/* partition/cover/thin.c: see partition/cover/thin.h. */
#include "partition/cover/thin.h"

#include "base/alloc.h"
#include "base/philox.h"
#include "machine/thread_ranges.h"
#include "partition/partition.h"

/* The neighbours that each vertex draws, as rows: offset [vertices + 1], neighbour [offset[vertices]]. */
static void draw(const adjacency *from, uint64_t seed, int threads, const int64_t *offset, int32_t *neighbour)
{
#pragma omp parallel for schedule(static) num_threads(split_threads(offset[from->vertices], threads))
    for (int64_t v = 0; v < from->vertices; ++v) {
        const int64_t first = from->offset[v], degree = from->offset[v + 1] - first, drawn = offset[v + 1] - offset[v];
        const uint32_t word = philox4x32(philox_counter(0, (uint64_t)v, WEFT_RNG_PARTITION, 1), seed).word[0];
        const int64_t start = (int64_t)(((uint64_t)word * (uint64_t)degree) >> 32);
        for (int64_t i = 0; i < drawn; ++i) {
            neighbour[offset[v] + i] = from->neighbour[first + (start + i * degree / drawn) % degree];
        }
    }
}

weft_status adjacency_thin(const adjacency *from, int drawn, uint64_t seed, int threads, adjacency *thin)
{
    weft_status status = WEFT_OK;
    int64_t *offset = NULL;
    int32_t *neighbour = NULL;
    pair_list list = {0};
    *thin = (adjacency){0};
    WEFT_TRY_GOTO(WEFT_NEW(&offset, from->vertices + 1, WEFT_MEM_PARTITION), status, done);
    offset[0] = 0;
    for (int64_t v = 0; v < from->vertices; ++v) {
        const int64_t degree = from->offset[v + 1] - from->offset[v];
        offset[v + 1] = offset[v] + (degree < drawn ? degree : drawn);
    }
    WEFT_TRY_GOTO(WEFT_NEW(&neighbour, offset[from->vertices], WEFT_MEM_PARTITION), status, done);
    draw(from, seed, threads, offset, neighbour);
    const weft_graph few = {
        .vertices = from->vertices, .edges = offset[from->vertices], .offset = offset, .source32 = neighbour};
    WEFT_TRY_GOTO(pair_list_build(&few, threads, &list), status, done);
    WEFT_TRY_GOTO(adjacency_build(&few, &list, threads, thin), status, done);
    thin->weight = from->offset;
done:
    pair_list_free(&list);
    WEFT_FREE_ALL(neighbour, offset);
    return status;
}

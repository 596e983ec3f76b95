/* partition/extract/part.c: what can be done with an extracted part. */
#include "partition/part.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "machine/thread_ranges.h"

enum { TRANSPOSE_THREADS = 8 }; /* every thread reads all edges: more of them only share the bandwidth */

/* Each thread places the edges of its own range of sources: no conflicts, and rows come out ascending. */
static void place_edges(const weft_part *part, const int64_t *offset, int threads, int64_t *next, int32_t *destination,
                        float *weight)
{
#pragma omp parallel num_threads(threads)
    {
        int t = omp_get_thread_num(), team = omp_get_num_threads();
        int64_t low = split_rows(offset, part->n_local, t, team);
        int64_t high = split_rows(offset, part->n_local, t + 1, team);
        for (int64_t v = 0; v < part->n_local; ++v) {
            for (int64_t e = part->offset[v]; e < part->offset[v + 1]; ++e) {
                int64_t u = part->source[e];
                if (u >= low && u < high) {
                    if (weight != NULL) {
                        weight[next[u]] = part->weight[e];
                    }
                    destination[next[u]++] = (int32_t)v;
                }
            }
        }
    }
}

weft_status part_transpose(const weft_part *part, int64_t **offset, int32_t **destination, float **weight)
{
    weft_status status = WEFT_OK;
    int64_t *next = NULL, n = part->n_local;
    float *moved = NULL;
    *offset = NULL;
    *destination = NULL;
    if (weight != NULL) {
        *weight = NULL;
    }
    WEFT_CHECK(part->offset != NULL, WEFT_ERR_INTERNAL, "part %d: its edges have been released", part->part);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(offset, n + 1, WEFT_MEM_GRAPH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(destination, part->edges, WEFT_MEM_GRAPH), status, done);
    if (weight != NULL && part->weight != NULL) {
        WEFT_TRY_GOTO(WEFT_NEW(&moved, part->edges, WEFT_MEM_GRAPH), status, done);
    }
    WEFT_TRY_GOTO(WEFT_NEW(&next, n + 1, WEFT_MEM_GRAPH), status, done);
    for (int64_t e = 0; e < part->edges; ++e) {
        assert(part->source[e] >= 0 && part->source[e] < n);
        ++(*offset)[part->source[e] + 1];
    }
    for (int64_t u = 0; u < n; ++u) {
        (*offset)[u + 1] += (*offset)[u];
    }
    memcpy(next, *offset, (size_t)(n + 1) * sizeof next[0]);
    int threads = split_threads(part->edges, omp_get_max_threads());
    place_edges(part, *offset, threads < TRANSPOSE_THREADS ? threads : TRANSPOSE_THREADS, next, *destination, moved);
done:
    weft_free(next);
    if (status != WEFT_OK) {
        WEFT_FREE_ALL(*offset, *destination, moved);
        *offset = NULL;
        *destination = NULL;
        moved = NULL;
    }
    if (weight != NULL) {
        *weight = moved;
    }
    return status;
}

void part_release_edges(weft_part *part)
{
    WEFT_FREE_ALL(part->offset, part->source, part->weight);
    part->offset = NULL;
    part->source = NULL;
    part->weight = NULL;
}

void part_halo_free(part_halo *halo)
{
    WEFT_FREE_ALL(halo->own_offset, halo->own_row, halo->leaf_offset, halo->leaf_row);
}

void part_destroy(weft_part *part)
{
    WEFT_FREE_ALL(part->gid, part->in_degree, part->out_degree, part->in_weight);
    part_release_edges(part);
    part_halo_free(&part->sources);
    part_halo_free(&part->destinations);
    *part = (weft_part){0};
}

/* partition/cover/counts.c: see partition/cover/counts.h. */
#include "partition/cover/counts.h"

#include <assert.h>

#include "base/alloc.h"
#include "partition/partition.h"

static weft_status layout(const pair_list *list, const int32_t *degree, part_counts *counts)
{
    int parts = counts->parts;
    WEFT_TRY(WEFT_NEW(&counts->row, list->vertices, WEFT_MEM_PARTITION));
    for (int64_t v = 0; v < list->vertices; ++v) {
        bool dense = parts <= COUNTS_DENSE && degree[v] >= parts;
        counts->row[v] = (counts_row){.first = counts->slots, .used = dense ? -1 : 0, .degree = degree[v]};
        counts->slots += dense ? counts_stride(parts) : (degree[v] < parts ? degree[v] : parts);
    }
    WEFT_TRY(WEFT_NEW_ZERO(&counts->count, counts->slots, WEFT_MEM_PARTITION));
    return WEFT_NEW(&counts->part, counts->slots, WEFT_MEM_PARTITION);
}

weft_status counts_create(const pair_list *list, const uint16_t *pair_part, int parts, int threads, part_counts *counts)
{
    weft_status status = WEFT_OK;
    int32_t *degree = NULL;
    assert(parts >= 1);
    *counts = (part_counts){.parts = parts};
    WEFT_TRY_GOTO(pair_list_degrees(list, threads, &degree), status, done);
    WEFT_TRY_GOTO(layout(list, degree, counts), status, done);
    for (int64_t u = 0; u < list->vertices; ++u) {
        for (int64_t e = list->offset[u]; e < list->offset[u + 1]; ++e) {
            assert(pair_part[e] < parts);
            counts_increment(counts, u, pair_part[e]);
            counts_increment(counts, list->other[e], pair_part[e]);
        }
    }
done:
    weft_free(degree);
    if (status != WEFT_OK) {
        counts_free(counts);
    }
    return status;
}

void counts_free(part_counts *counts)
{
    weft_free(counts->row);
    weft_free(counts->count);
    weft_free(counts->part);
    *counts = (part_counts){0};
}

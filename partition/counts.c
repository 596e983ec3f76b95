/* partition/counts.c: see partition/counts.h. */
#include "partition/counts.h"

#include "base/alloc.h"

static weft_status layout(const pair_list *list, int parts, part_counts *counts)
{
    int64_t n = list->vertices, slots = 0;
    WEFT_TRY(WEFT_NEW(&counts->first, n + 1, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&counts->used, n, WEFT_MEM_PARTITION));
    for (int64_t v = 0; v < n; ++v) {
        bool dense = parts <= COUNTS_DENSE && counts->degree[v] >= parts;
        counts->first[v] = slots;
        counts->used[v] = dense ? -1 : 0;
        slots += counts->degree[v] < parts ? counts->degree[v] : parts;
    }
    counts->first[n] = slots;
    WEFT_TRY(WEFT_NEW_ZERO(&counts->count, slots, WEFT_MEM_PARTITION));
    return WEFT_NEW(&counts->part, slots, WEFT_MEM_PARTITION);
}

weft_status counts_create(const pair_list *list, const uint16_t *pair_part, int parts, int threads, part_counts *counts)
{
    weft_status status = WEFT_OK;
    *counts = (part_counts){.parts = parts};
    WEFT_TRY_GOTO(pair_list_degrees(list, threads, &counts->degree), status, done);
    WEFT_TRY_GOTO(layout(list, parts, counts), status, done);
    for (int64_t u = 0; u < list->vertices; ++u) {
        for (int64_t e = list->offset[u]; e < list->offset[u + 1]; ++e) {
            counts_increment(counts, u, pair_part[e]);
            counts_increment(counts, list->other[e], pair_part[e]);
        }
    }
done:
    if (status != WEFT_OK) {
        counts_free(counts);
    }
    return status;
}

void counts_free(part_counts *counts)
{
    weft_free(counts->first);
    weft_free(counts->used);
    weft_free(counts->count);
    weft_free(counts->part);
    weft_free(counts->degree);
    *counts = (part_counts){0};
}

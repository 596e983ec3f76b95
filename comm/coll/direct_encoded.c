/*
 * comm/coll/direct_encoded.c: the direct exchange with a shorter type on the wire. The idea and the error bound are in
 * comm/coll/direct.h.
 *
 * Scratch:   [ running sum, float32 | the vector, encoded | received slices, encoded ]
 *
 * The encoded vector holds what goes out in the scatter and, overwritten, everybody's finished slices in the gather.
 */
#include "base/integer/integers.h"
#include "comm/coll/direct.h"
#include "comm/core/wire.h"

enum { ALIGN = 64 };

typedef struct encoded_areas {
    float *sum;
    char *vector, *slots;
    int64_t bytes;
} encoded_areas;

static encoded_areas areas_of(const coll_direct *d, char *scratch)
{
    int64_t wire = wire_bytes(d->wire);
    int64_t mine = coll_split(d->count, d->size, d->rank).count;
    int64_t sum_bytes = whole(mine * (int64_t)sizeof(float), ALIGN);
    int64_t vector_bytes = whole(d->count * wire, ALIGN);
    encoded_areas out = {.bytes = sum_bytes + vector_bytes + whole((d->size - 1) * mine * wire, ALIGN)};
    if (scratch != NULL) {
        out.sum = (float *)(void *)scratch;
        out.vector = scratch + sum_bytes;
        out.slots = scratch + sum_bytes + vector_bytes;
    }
    return out;
}

int64_t coll_encoded_scratch(const coll_direct *d)
{
    return areas_of(d, NULL).bytes;
}

/* ((x0 + x1) + ...) with every x but our own decoded; ends in the vector. */
static void sum_slices(comm_schedule *s, const coll_direct *d, const encoded_areas *area, coll_range mine)
{
    int64_t slot_bytes = mine.count * wire_bytes(d->wire);
    float *own = (float *)(void *)d->buffer + mine.begin;
    float *sum = d->rank == 0 ? own : area->sum;
    for (int q = 0; q < d->size; ++q) {
        const char *slot = area->slots + (q < d->rank ? q : q - 1) * slot_bytes;
        if (q == d->rank && q > 0) {
            schedule_reduce(s, d->dtype, d->op, own, sum, own, mine.count);
            sum = own;
        } else if (q != d->rank && q == 0) {
            schedule_decode(s, d->wire, sum, slot, mine.count);
        } else if (q != d->rank) {
            schedule_decode_add(s, d->wire, sum, slot, mine.count);
        }
    }
}

void coll_encoded_reduce_scatter(comm_schedule *s, const coll_direct *d, char *scratch)
{
    encoded_areas area = areas_of(d, scratch);
    int64_t wire = wire_bytes(d->wire);
    coll_range mine = coll_split(d->count, d->size, d->rank);
    const float *vector = (const float *)(void *)d->buffer;
    schedule_round(s, "encode");
    for (int k = 1; k < d->size; ++k) {
        coll_range theirs = coll_split(d->count, d->size, (d->rank + k) % d->size);
        schedule_encode(s, d->wire, area.vector + theirs.begin * wire, vector + theirs.begin, theirs.count);
    }
    schedule_round(s, "scatter");
    for (int k = 1; k < d->size; ++k) {
        int from = (d->rank + d->size - k) % d->size;
        int to = (d->rank + k) % d->size;
        coll_range theirs = coll_split(d->count, d->size, to);
        schedule_receive(s, from, area.slots + (from < d->rank ? from : from - 1) * mine.count * wire,
                         mine.count * wire);
        schedule_send(s, to, area.vector + theirs.begin * wire, theirs.count * wire);
    }
    sum_slices(s, d, &area, mine);
}

void coll_encoded_all_gather(comm_schedule *s, const coll_direct *d, char *scratch)
{
    encoded_areas area = areas_of(d, scratch);
    int64_t wire = wire_bytes(d->wire);
    coll_range mine = coll_split(d->count, d->size, d->rank);
    float *vector = (float *)(void *)d->buffer;
    schedule_round(s, "encode the sum");
    schedule_encode(s, d->wire, area.vector + mine.begin * wire, vector + mine.begin, mine.count);
    schedule_round(s, "gather");
    for (int k = 1; k < d->size; ++k) {
        int from = (d->rank + d->size - k) % d->size;
        int to = (d->rank + k) % d->size;
        coll_range theirs = coll_split(d->count, d->size, from);
        schedule_receive(s, from, area.vector + theirs.begin * wire, theirs.count * wire);
        schedule_send(s, to, area.vector + mine.begin * wire, mine.count * wire);
    }
    schedule_decode(s, d->wire, vector, area.vector, d->count);
}

/* comm/coll/direct.c: slices straight to their owners and back. The idea is in the header. */
#include "comm/coll/direct.h"

#include <assert.h>

static coll_range slice_of(const coll_direct *d, int owner)
{
    assert(owner >= 0 && owner < d->size && d->owners <= d->size);
    return owner < d->owners ? coll_split(d->count, d->owners, owner) : (coll_range){d->count, 0};
}

int64_t coll_direct_scratch(const coll_direct *d)
{
    if (d->wire != COMM_WIRE_SAME) {
        return coll_encoded_scratch(d);
    }
    return slice_of(d, d->rank).count * (int64_t)weft_dtype_bytes(d->dtype) * (d->size - 1);
}

/* Where rank q's copy of this rank's slice lies: one slot a peer, none for the rank itself. */
static char *slot_of(const coll_direct *d, char *slots, int64_t slice_bytes, char *own, int q)
{
    return q == d->rank ? own : slots + (q < d->rank ? q : q - 1) * slice_bytes;
}

void coll_direct_reduce_scatter(comm_schedule *s, const coll_direct *d, char *scratch)
{
    if (d->wire != COMM_WIRE_SAME) {
        coll_encoded_reduce_scatter(s, d, scratch);
        return;
    }
    int64_t element = (int64_t)weft_dtype_bytes(d->dtype);
    coll_range mine = slice_of(d, d->rank);
    char *own = d->buffer + mine.begin * element;
    schedule_round(s, "scatter");
    for (int k = 1; k < d->size; ++k) {
        int from = (d->rank + d->size - k) % d->size;
        int to = (d->rank + k) % d->size;
        coll_range theirs = slice_of(d, to);
        schedule_receive(s, from, slot_of(d, scratch, mine.count * element, own, from), mine.count * element);
        schedule_send(s, to, d->buffer + theirs.begin * element, theirs.count * element);
    }
    /* The running sum stays in rank 0's slot until every operand has been read; the last one may land in the vector. */
    char *sum = slot_of(d, scratch, mine.count * element, own, 0);
    for (int q = 1; q < d->size; ++q) {
        schedule_reduce(s, d->dtype, d->op, q == d->size - 1 ? own : sum, sum,
                        slot_of(d, scratch, mine.count * element, own, q), mine.count);
    }
}

void coll_direct_all_gather(comm_schedule *s, const coll_direct *d, char *scratch)
{
    if (d->wire != COMM_WIRE_SAME) {
        coll_encoded_all_gather(s, d, scratch);
        return;
    }
    int64_t element = (int64_t)weft_dtype_bytes(d->dtype);
    coll_range mine = slice_of(d, d->rank);
    schedule_round(s, "gather");
    for (int k = 1; k < d->size; ++k) {
        int from = (d->rank + d->size - k) % d->size;
        int to = (d->rank + k) % d->size;
        coll_range theirs = slice_of(d, from);
        schedule_receive(s, from, d->buffer + theirs.begin * element, theirs.count * element);
        schedule_send(s, to, d->buffer + mine.begin * element, mine.count * element);
    }
}

void coll_direct_sent(comm_cost *cost, const coll_direct *d, comm_half half, int64_t link)
{
    int64_t slices = d->count < d->owners ? d->count : d->owners; /* that hold anything */
    int64_t mine = slice_of(d, d->rank).count;
    if (coll_scatters(half)) {
        cost->messages_sent += slices - (mine > 0);
        cost->bytes_sent += (d->count - mine) * link;
    }
    if (coll_gathers(half)) {
        cost->messages_sent += mine > 0 ? d->size - 1 : 0;
        cost->bytes_sent += (d->size - 1) * mine * link;
    }
}

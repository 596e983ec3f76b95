/*
 * embed/exchange/row_ahead.c: values of the next batch's keys that travel ahead, and those of them that this batch
 * changes, which travel once more (embed/exchange/row_route.h).
 *
 * A late element is the slot of a key in the message that asked for it, and the key's value: 4 + 4 stride bytes. Its
 * slot is below the keys that were asked for, or the owner has made a mistake.
 */
#include <assert.h>
#include <string.h>

#include "embed/exchange/row_route.h"

weft_status row_route_post_rows(row_route *r)
{
    return r->desc.all_own ? WEFT_OK : route_send_rows(r, row_route_next(r));
}

weft_status row_route_drop(row_route *r)
{
    WEFT_TRY(comm_exchange_wait(r->keys));
    return r->desc.all_own ? WEFT_OK : comm_exchange_wait(r->rows);
}

void row_route_turn(row_route *r, const bag_index *index)
{
    r->now = !r->now;
    row_route_now(r)->index = index;
}

static int64_t late_bytes(const row_route *r)
{
    return (int64_t)sizeof(int32_t) + r->desc.stride * (int64_t)sizeof(float);
}

/* [out] r->begin: how many go to each rank. */
static void pack_late(row_route *r, const route_batch *b, const int32_t *place, const float *changed)
{
    const size_t value_bytes = (size_t)r->desc.stride * sizeof *changed;
    const int32_t *own = b->own.place;
    for (int p = 0; p < comm_size(r->comm); ++p) {
        char *to = comm_exchange_area(r->late, p);
        r->begin[p] = 0;
        for (int64_t k = 0; k < b->received[p]; ++k) {
            const int32_t row = place[own[k]], slot = (int32_t)k;
            if (row >= 0) {
                memcpy(to, &slot, sizeof slot);
                memcpy(to + sizeof slot, changed + (int64_t)row * r->desc.stride, value_bytes);
                to += late_bytes(r);
                r->begin[p] += 1;
            }
        }
        r->reread += p != comm_rank(r->comm) ? r->begin[p] : 0;
        own += b->received[p];
    }
}

/* [out] r->asked, and r->begin of each owner in it. */
static void list_asked(row_route *r, const route_batch *b)
{
    r->begin[0] = 0;
    for (int p = 0; p < comm_size(r->comm); ++p) {
        r->begin[p + 1] = r->begin[p] + b->sent[p];
    }
    for (int64_t i = 0; i < b->index->distinct; ++i) {
        r->asked[r->begin[b->owner[i]] + b->slot[i]] = (int32_t)i;
    }
}

static weft_status place_late(row_route *r, route_batch *b)
{
    const int64_t stride = r->desc.stride;
    list_asked(r, b);
    for (int p = 0; p < comm_size(r->comm); ++p) {
        int64_t count = 0;
        const char *from = comm_exchange_received(r->late, p, &count);
        for (int64_t k = 0; k < count; ++k, from += late_bytes(r)) {
            int32_t slot;
            memcpy(&slot, from, sizeof slot);
            WEFT_CHECK(slot >= 0 && slot < b->sent[p], WEFT_ERR_INTERNAL,
                       "rank %d sends a changed row for place %d of %lld that it was asked for", p, slot,
                       (long long)b->sent[p]);
            memcpy(b->value + r->asked[r->begin[p] + slot] * stride, from + sizeof slot,
                   (size_t)stride * sizeof *b->value);
        }
    }
    return WEFT_OK;
}

weft_status row_route_late_rows(row_route *r, const int32_t *place, const float *changed, const float **value)
{
    route_batch *b = row_route_now(r);
    assert(r->late != NULL);
    pack_late(r, b, place, changed);
    WEFT_TRY(comm_exchange_post(r->late, r->begin));
    WEFT_TRY(route_place_rows(r, b));
    WEFT_TRY(comm_exchange_wait(r->late));
    *value = b->value;
    return comm_agree(r->comm, place_late(r, b));
}

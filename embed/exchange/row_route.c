/* embed/exchange/row_route.c: see embed/exchange/row_route.h. */
#include "embed/exchange/row_route.h"

#include <assert.h>
#include <string.h>

#include "base/integer/mix.h"
#include "comm/core/layout.h"
#include "embed/rows/row_store.h"

/* A key on its way. */
typedef struct sent_key {
    uint64_t key;
    int64_t times;
} sent_key;

int row_route_owner(uint64_t key, uint64_t seed, int ranks)
{
    const uint64_t x = mix64(key + (seed + 1) * UINT64_C(0x9E3779B97F4A7C15));
    return (int)(((x >> 32) * (uint64_t)ranks) >> 32);
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

/* Returns true if this rank exchanges keys with rank p. */
static bool is_peer(const row_route *r, int p)
{
    const comm_layout *layout = comm_get_layout(r->comm);
    const int rank = comm_rank(r->comm);
    switch (r->desc.level) {
    case ROUTE_IN_NODE:
        return layout->node_of[p] == layout->node_of[rank];
    case ROUTE_BETWEEN_NODES:
        return layout->local_of[p] == layout->local_of[rank];
    case ROUTE_FLAT:
        break;
    }
    return true;
}

/* The rank that keys of an owner go to. */
static int way_to(const row_route *r, int owner)
{
    const comm_layout *layout = comm_get_layout(r->comm);
    return r->desc.level == ROUTE_IN_NODE
               ? layout->member[layout->first[layout->node_of[comm_rank(r->comm)]] + layout->local_of[owner]]
               : owner;
}

static weft_status plan_messages(row_route *r)
{
    const row_route_desc *d = &r->desc;
    const int ranks = comm_size(r->comm);
    for (int p = 0; p < ranks; ++p) {
        r->begin[p] = is_peer(r, p) ? d->most : 0;
    }
    comm_exchange_desc desc = {.lane = COMM_LANE_ROWS,
                               .element_bytes = sizeof(sent_key),
                               .most = r->begin,
                               .name = "keys of rows",
                               .sent = &r->sent};
    WEFT_TRY(comm_exchange_plan(r->comm, &desc, &r->keys));
    desc.element_bytes = d->stride * (int64_t)sizeof(float);
    desc.name = "rows of embeddings";
    WEFT_TRY(d->all_own ? WEFT_OK : comm_exchange_plan(r->comm, &desc, &r->rows));
    desc.name = "gradients of rows";
    WEFT_TRY(comm_exchange_plan(r->comm, &desc, &r->gradients));
    desc.element_bytes += (int64_t)sizeof(int32_t);
    desc.name = "changed rows of embeddings";
    return d->ahead && !d->all_own ? comm_exchange_plan(r->comm, &desc, &r->late) : WEFT_OK;
}

static weft_status allocate(row_route *r)
{
    const int ranks = comm_size(r->comm);
    for (int i = 0; i < 1 + r->desc.ahead; ++i) {
        WEFT_TRY(WEFT_NEW(&r->batch[i].owner, r->desc.most, WEFT_MEM_ROWS));
        WEFT_TRY(WEFT_NEW(&r->batch[i].slot, r->desc.most, WEFT_MEM_ROWS));
        WEFT_TRY(WEFT_NEW(&r->batch[i].sent, ranks, WEFT_MEM_ROWS));
        WEFT_TRY(WEFT_NEW(&r->batch[i].received, ranks, WEFT_MEM_ROWS));
    }
    WEFT_TRY(r->desc.ahead ? WEFT_NEW(&r->asked, r->desc.most, WEFT_MEM_ROWS) : WEFT_OK);
    return WEFT_NEW(&r->begin, ranks + 1, WEFT_MEM_ROWS);
}

weft_status row_route_open(weft_comm *comm, const row_route_desc *desc, row_route *r)
{
    *r = (row_route){.comm = comm, .desc = *desc};
    if (comm_size(comm) == 1) {
        return WEFT_OK;
    }
    WEFT_TRY(comm_agree(comm, allocate(r)));
    return plan_messages(r);
}

void row_route_close(row_route *r)
{
    comm_exchange_destroy(r->keys);
    comm_exchange_destroy(r->rows);
    comm_exchange_destroy(r->gradients);
    comm_exchange_destroy(r->late);
    for (int i = 0; i < 2; ++i) {
        route_batch *b = &r->batch[i];
        bag_index_free(&b->own);
        WEFT_FREE_ALL(b->owner, b->slot, b->sent, b->received, b->at, b->key, b->times, b->value);
    }
    WEFT_FREE_ALL(r->asked, r->begin);
    *r = (row_route){0};
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

/* Keys of each rank stay ascending in its message. */
static void pack_keys(row_route *r, route_batch *b)
{
    const int ranks = comm_size(r->comm);
    memset(b->sent, 0, (size_t)ranks * sizeof *b->sent);
    for (int64_t i = 0; i < b->index->distinct; ++i) {
        const int owner = way_to(r, row_route_owner(b->index->key[i], r->desc.seed, ranks));
        sent_key *to = comm_exchange_area(r->keys, owner);
        b->owner[i] = owner;
        b->slot[i] = (int32_t)b->sent[owner]++;
        to[b->slot[i]] = (sent_key){b->index->key[i], b->index->times[i]};
    }
}

weft_status route_batch_reserve(row_route *r, route_batch *b, int64_t keys)
{
    if (keys <= b->held && b->held > 0) {
        return WEFT_OK;
    }
    const int64_t room = keys + keys / 2 + 1; /* a first batch may bring none */
    WEFT_FREE_ALL(b->at, b->key, b->times, b->value);
    b->at = NULL;
    b->key = NULL;
    b->times = NULL;
    b->value = NULL;
    b->held = 0;
    WEFT_TRY(WEFT_NEW(&b->at, room + 1, WEFT_MEM_ROWS));
    WEFT_TRY(WEFT_NEW(&b->key, room, WEFT_MEM_ROWS));
    WEFT_TRY(WEFT_NEW(&b->times, room, WEFT_MEM_ROWS));
    WEFT_TRY(WEFT_NEW(&b->value, room * r->desc.stride, WEFT_MEM_ROWS));
    b->held = room;
    return WEFT_OK;
}

static weft_status unpack_keys(row_route *r, route_batch *b)
{
    const int ranks = comm_size(r->comm);
    int64_t keys = 0;
    for (int p = 0; p < ranks; ++p) {
        (void)comm_exchange_received(r->keys, p, &b->received[p]);
        keys += b->received[p];
    }
    WEFT_TRY(route_batch_reserve(r, b, keys));
    int64_t n = 0;
    for (int p = 0; p < ranks; ++p) {
        int64_t count = 0;
        const sent_key *from = comm_exchange_received(r->keys, p, &count);
        for (int64_t k = 0; k < count; ++k, ++n) {
            b->key[n] = from[k].key;
            b->at[n] = n;
        }
    }
    b->at[n] = n;
    const embed_bags bags = {.samples = n, .fields = 1, .at = b->at, .key = b->key};
    WEFT_TRY(bag_index_fill(&b->own, &bags));
    memset(b->times, 0, (size_t)b->own.distinct * sizeof *b->times);
    n = 0;
    for (int p = 0; p < ranks; ++p) {
        int64_t count = 0;
        const sent_key *from = comm_exchange_received(r->keys, p, &count);
        for (int64_t k = 0; k < count; ++k, ++n) {
            const int64_t times = b->times[b->own.place[n]] + from[k].times;
            b->times[b->own.place[n]] = (int32_t)(times < INT32_MAX ? times : INT32_MAX);
        }
    }
    return WEFT_OK;
}

static void pack_keys_for_all(row_route *r, route_batch *b)
{
    for (int p = 0; p < comm_size(r->comm); ++p) {
        sent_key *to = comm_exchange_area(r->keys, p);
        for (int64_t i = 0; i < b->index->distinct; ++i) {
            to[i] = (sent_key){b->index->key[i], b->index->times[i]};
        }
        b->sent[p] = b->index->distinct;
    }
}

static weft_status post_keys(row_route *r, route_batch *b)
{
    if (r->desc.all_own) {
        pack_keys_for_all(r, b);
    } else {
        pack_keys(r, b);
    }
    return comm_exchange_post(r->keys, b->sent);
}

static weft_status take_keys(row_route *r, route_batch *b)
{
    WEFT_TRY(comm_exchange_wait(r->keys));
    return comm_agree(r->comm, unpack_keys(r, b));
}

weft_status row_route_keys(row_route *r, const bag_index *index, bool training, const uint64_t **key,
                           const int32_t **times, int64_t *count)
{
    route_batch *b = row_route_now(r);
    b->index = index;
    b->local = comm_size(r->comm) == 1 || (r->desc.all_own && !training);
    if (b->local) {
        *key = index->key;
        *times = index->times;
        *count = index->distinct;
        return route_batch_reserve(r, b, index->distinct);
    }
    WEFT_TRY(post_keys(r, b));
    WEFT_TRY(take_keys(r, b));
    *key = b->own.key;
    *times = b->times;
    *count = b->own.distinct;
    return WEFT_OK;
}

weft_status row_route_post_keys(row_route *r, const bag_index *index)
{
    route_batch *b = row_route_next(r);
    assert(r->desc.ahead && comm_size(r->comm) > 1);
    b->index = index;
    b->local = false;
    return post_keys(r, b);
}

weft_status row_route_take_keys(row_route *r)
{
    return take_keys(r, row_route_next(r));
}

/* ---- rows and gradients ------------------------------------------------------------------------------------------ */

float *row_route_values(row_route *r)
{
    return row_route_now(r)->value;
}

/* Values of this rank's keys move to the front: none stands before its place there, as both are ascending. */
static void pick_values(const row_route *r, route_batch *b)
{
    const int stride = r->desc.stride;
    const int32_t *place = b->own.place;
    for (int p = 0; p < comm_rank(r->comm); ++p) {
        place += b->received[p];
    }
    for (int64_t i = 0; i < b->index->distinct; ++i) {
        memmove(b->value + i * stride, b->value + (int64_t)place[i] * stride, (size_t)stride * sizeof *b->value);
    }
}

weft_status route_send_rows(row_route *r, const route_batch *b)
{
    const int stride = r->desc.stride;
    int64_t n = 0;
    for (int p = 0; p < comm_size(r->comm); ++p) {
        float *to = comm_exchange_area(r->rows, p);
        const int32_t *place = b->own.place + n;
#pragma omp parallel for schedule(static)
        for (int64_t k = 0; k < b->received[p]; ++k) {
            memcpy(to + k * stride, b->value + (int64_t)place[k] * stride, (size_t)stride * sizeof *to);
        }
        n += b->received[p];
    }
    return comm_exchange_post(r->rows, b->received);
}

weft_status route_place_rows(row_route *r, route_batch *b)
{
    const int stride = r->desc.stride;
    WEFT_TRY(comm_exchange_wait(r->rows));
    WEFT_TRY(comm_agree(r->comm, route_batch_reserve(r, b, b->index->distinct)));
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < b->index->distinct; ++i) {
        int64_t count;
        const float *from = comm_exchange_received(r->rows, b->owner[i], &count);
        memcpy(b->value + i * stride, from + (int64_t)b->slot[i] * stride, (size_t)stride * sizeof *from);
    }
    return WEFT_OK;
}

weft_status row_route_rows(row_route *r, const float **value)
{
    route_batch *b = row_route_now(r);
    if (!b->local && r->desc.all_own) {
        pick_values(r, b);
    } else if (!b->local) {
        WEFT_TRY(route_send_rows(r, b));
        WEFT_TRY(route_place_rows(r, b));
    }
    *value = b->value;
    return WEFT_OK;
}

static void pack_gradients(row_route *r, const route_batch *b, const float *gradient)
{
    const int stride = r->desc.stride;
    const bool all = r->desc.all_own;
    for (int p = 0; all && b->index->distinct > 0 && p < comm_size(r->comm); ++p) {
        memcpy(comm_exchange_area(r->gradients, p), gradient, (size_t)(b->index->distinct * stride) * sizeof *gradient);
    }
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < (all ? 0 : b->index->distinct); ++i) {
        float *to = comm_exchange_area(r->gradients, b->owner[i]);
        memcpy(to + (int64_t)b->slot[i] * stride, gradient + i * stride, (size_t)stride * sizeof *to);
    }
}

weft_status row_route_gradients(row_route *r, const float *gradient)
{
    const int stride = r->desc.stride;
    route_batch *b = row_route_now(r);
    if (b->local) {
        if (b->index->distinct > 0) {
            memcpy(b->value, gradient, (size_t)(b->index->distinct * stride) * sizeof *gradient);
        }
        return WEFT_OK;
    }
    pack_gradients(r, b, gradient);
    WEFT_TRY(comm_exchange_post(r->gradients, b->sent));
    WEFT_TRY(comm_exchange_wait(r->gradients));
    if (b->own.distinct > 0) {
        memset(b->value, 0, (size_t)(b->own.distinct * stride) * sizeof *b->value);
    }
    int64_t n = 0;
    for (int p = 0; p < comm_size(r->comm); ++p) {
        int64_t count = 0;
        const float *from = comm_exchange_received(r->gradients, p, &count);
        const int32_t *place = b->own.place + n;
#pragma omp parallel for schedule(static)
        for (int64_t k = 0; k < count; ++k) { /* keys of a rank are distinct */
            for (int j = 0; j < stride; ++j) {
                b->value[(int64_t)place[k] * stride + j] += from[k * stride + j];
            }
        }
        n += count;
    }
    return WEFT_OK;
}

/* embed/exchange/row_route.c: see embed/exchange/row_route.h. */
#include "embed/exchange/row_route.h"

#include <string.h>

#include "base/integer/mix.h"
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

static weft_status plan_messages(row_route *r)
{
    const int ranks = comm_size(r->comm);
    int64_t *most = NULL;
    weft_status status = comm_agree(r->comm, WEFT_NEW(&most, ranks, WEFT_MEM_ROWS));
    for (int p = 0; status == WEFT_OK && p < ranks; ++p) {
        most[p] = r->most;
    }
    comm_exchange_desc desc = {
        .lane = COMM_LANE_ROWS, .element_bytes = sizeof(sent_key), .most = most, .name = "keys of rows"};
    status = status == WEFT_OK ? comm_exchange_plan(r->comm, &desc, &r->keys) : status;
    desc.element_bytes = r->stride * (int64_t)sizeof(float);
    desc.name = "rows of embeddings";
    status = status == WEFT_OK && !r->all_own ? comm_exchange_plan(r->comm, &desc, &r->rows) : status;
    desc.name = "gradients of rows";
    status = status == WEFT_OK ? comm_exchange_plan(r->comm, &desc, &r->gradients) : status;
    weft_free(most);
    return status;
}

static weft_status allocate(row_route *r)
{
    const int ranks = comm_size(r->comm);
    WEFT_TRY(WEFT_NEW(&r->owner, r->most, WEFT_MEM_ROWS));
    WEFT_TRY(WEFT_NEW(&r->slot, r->most, WEFT_MEM_ROWS));
    WEFT_TRY(WEFT_NEW(&r->sent, ranks, WEFT_MEM_ROWS));
    return WEFT_NEW(&r->received, ranks, WEFT_MEM_ROWS);
}

weft_status row_route_open(weft_comm *comm, int stride, int64_t most, uint64_t seed, bool all_own, row_route *r)
{
    *r = (row_route){.comm = comm, .seed = seed, .stride = stride, .most = most, .all_own = all_own};
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
    bag_index_free(&r->own);
    WEFT_FREE_ALL(r->owner, r->slot, r->sent, r->received, r->at, r->key, r->times, r->value);
    *r = (row_route){0};
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

/* Keys of each rank stay ascending in its message. */
static void pack_keys(row_route *r)
{
    const int ranks = comm_size(r->comm);
    memset(r->sent, 0, (size_t)ranks * sizeof *r->sent);
    for (int64_t i = 0; i < r->index->distinct; ++i) {
        const int owner = row_route_owner(r->index->key[i], r->seed, ranks);
        sent_key *to = comm_exchange_area(r->keys, owner);
        r->owner[i] = owner;
        r->slot[i] = (int32_t)r->sent[owner]++;
        to[r->slot[i]] = (sent_key){r->index->key[i], r->index->times[i]};
    }
}

/* Room for that many keys that come, of which no two ranks need have the same. */
static weft_status reserve(row_route *r, int64_t keys)
{
    if (keys <= r->held && r->held > 0) {
        return WEFT_OK;
    }
    const int64_t room = keys + keys / 2 + 1; /* a first batch may bring none */
    WEFT_FREE_ALL(r->at, r->key, r->times, r->value);
    r->at = NULL;
    r->key = NULL;
    r->times = NULL;
    r->value = NULL;
    r->held = 0;
    WEFT_TRY(WEFT_NEW(&r->at, room + 1, WEFT_MEM_ROWS));
    WEFT_TRY(WEFT_NEW(&r->key, room, WEFT_MEM_ROWS));
    WEFT_TRY(WEFT_NEW(&r->times, room, WEFT_MEM_ROWS));
    WEFT_TRY(WEFT_NEW(&r->value, room * r->stride, WEFT_MEM_ROWS));
    r->held = room;
    return WEFT_OK;
}

static weft_status unpack_keys(row_route *r)
{
    const int ranks = comm_size(r->comm);
    int64_t keys = 0;
    for (int p = 0; p < ranks; ++p) {
        (void)comm_exchange_received(r->keys, p, &r->received[p]);
        keys += r->received[p];
    }
    WEFT_TRY(reserve(r, keys));
    int64_t n = 0;
    for (int p = 0; p < ranks; ++p) {
        int64_t count = 0;
        const sent_key *from = comm_exchange_received(r->keys, p, &count);
        for (int64_t k = 0; k < count; ++k, ++n) {
            r->key[n] = from[k].key;
            r->at[n] = n;
        }
    }
    r->at[n] = n;
    const embed_bags bags = {.samples = n, .fields = 1, .at = r->at, .key = r->key};
    WEFT_TRY(bag_index_fill(&r->own, &bags));
    memset(r->times, 0, (size_t)r->own.distinct * sizeof *r->times);
    n = 0;
    for (int p = 0; p < ranks; ++p) {
        int64_t count = 0;
        const sent_key *from = comm_exchange_received(r->keys, p, &count);
        for (int64_t k = 0; k < count; ++k, ++n) {
            const int64_t times = r->times[r->own.place[n]] + from[k].times;
            r->times[r->own.place[n]] = (int32_t)(times < INT32_MAX ? times : INT32_MAX);
        }
    }
    return WEFT_OK;
}

static void pack_keys_for_all(row_route *r)
{
    for (int p = 0; p < comm_size(r->comm); ++p) {
        sent_key *to = comm_exchange_area(r->keys, p);
        for (int64_t i = 0; i < r->index->distinct; ++i) {
            to[i] = (sent_key){r->index->key[i], r->index->times[i]};
        }
        r->sent[p] = r->index->distinct;
    }
}

static weft_status exchange_keys(row_route *r)
{
    if (r->all_own) {
        pack_keys_for_all(r);
    } else {
        pack_keys(r);
    }
    WEFT_TRY(comm_exchange_post(r->keys, r->sent));
    WEFT_TRY(comm_exchange_wait(r->keys));
    return comm_agree(r->comm, unpack_keys(r));
}

weft_status row_route_keys(row_route *r, const bag_index *index, bool training, const uint64_t **key,
                           const int32_t **times, int64_t *count)
{
    r->index = index;
    r->local = comm_size(r->comm) == 1 || (r->all_own && !training);
    if (r->local) {
        *key = index->key;
        *times = index->times;
        *count = index->distinct;
        return reserve(r, index->distinct);
    }
    WEFT_TRY(exchange_keys(r));
    *key = r->own.key;
    *times = r->times;
    *count = r->own.distinct;
    return WEFT_OK;
}

/* ---- rows and gradients ------------------------------------------------------------------------------------------ */

float *row_route_values(row_route *r)
{
    return r->value;
}

/* Values of this rank's keys move to the front: none stands before its place there, as both are ascending. */
static void pick_values(row_route *r)
{
    const int stride = r->stride;
    const int32_t *place = r->own.place;
    for (int p = 0; p < comm_rank(r->comm); ++p) {
        place += r->received[p];
    }
    for (int64_t i = 0; i < r->index->distinct; ++i) {
        memmove(r->value + i * stride, r->value + (int64_t)place[i] * stride, (size_t)stride * sizeof *r->value);
    }
}

weft_status row_route_rows(row_route *r, const float **value)
{
    const int ranks = comm_size(r->comm), stride = r->stride;
    *value = r->value;
    if (r->local) {
        return WEFT_OK;
    }
    if (r->all_own) {
        pick_values(r);
        return WEFT_OK;
    }
    int64_t n = 0;
    for (int p = 0; p < ranks; ++p) {
        float *to = comm_exchange_area(r->rows, p);
        const int32_t *place = r->own.place + n;
#pragma omp parallel for schedule(static)
        for (int64_t k = 0; k < r->received[p]; ++k) {
            memcpy(to + k * stride, r->value + (int64_t)place[k] * stride, (size_t)stride * sizeof *to);
        }
        n += r->received[p];
    }
    WEFT_TRY(comm_exchange_post(r->rows, r->received));
    WEFT_TRY(comm_exchange_wait(r->rows));
    WEFT_TRY(comm_agree(r->comm, reserve(r, r->index->distinct)));
    *value = r->value;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < r->index->distinct; ++i) {
        int64_t count;
        const float *from = comm_exchange_received(r->rows, r->owner[i], &count);
        memcpy(r->value + i * stride, from + (int64_t)r->slot[i] * stride, (size_t)stride * sizeof *from);
    }
    return WEFT_OK;
}

static void pack_gradients(row_route *r, const float *gradient)
{
    const int stride = r->stride;
    for (int p = 0; r->all_own && r->index->distinct > 0 && p < comm_size(r->comm); ++p) {
        memcpy(comm_exchange_area(r->gradients, p), gradient, (size_t)(r->index->distinct * stride) * sizeof *gradient);
    }
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < (r->all_own ? 0 : r->index->distinct); ++i) {
        float *to = comm_exchange_area(r->gradients, r->owner[i]);
        memcpy(to + (int64_t)r->slot[i] * stride, gradient + i * stride, (size_t)stride * sizeof *to);
    }
}

weft_status row_route_gradients(row_route *r, const float *gradient)
{
    const int ranks = comm_size(r->comm), stride = r->stride;
    if (r->local) {
        if (r->index->distinct > 0) {
            memcpy(r->value, gradient, (size_t)(r->index->distinct * stride) * sizeof *gradient);
        }
        return WEFT_OK;
    }
    pack_gradients(r, gradient);
    WEFT_TRY(comm_exchange_post(r->gradients, r->sent));
    WEFT_TRY(comm_exchange_wait(r->gradients));
    if (r->own.distinct > 0) {
        memset(r->value, 0, (size_t)(r->own.distinct * stride) * sizeof *r->value);
    }
    int64_t n = 0;
    for (int p = 0; p < ranks; ++p) {
        int64_t count = 0;
        const float *from = comm_exchange_received(r->gradients, p, &count);
        const int32_t *place = r->own.place + n;
#pragma omp parallel for schedule(static)
        for (int64_t k = 0; k < count; ++k) { /* keys of a rank are distinct */
            for (int j = 0; j < stride; ++j) {
                r->value[(int64_t)place[k] * stride + j] += from[k * stride + j];
            }
        }
        n += count;
    }
    return WEFT_OK;
}

/* embed/exchange/bag_route.c: see embed/exchange/bag_route.h. */
#include "embed/exchange/bag_route.h"

#include <stddef.h>
#include <string.h>

#include "embed/exchange/row_route.h"
#include "embed/rows/row_store.h"

/* A key on its way, in two halves so that an element is 12 bytes, and 16 where keys have weights. Before a rank's keys
 * goes one that holds how many samples it has. */
typedef struct sent_bag {
    uint32_t key[2];
    uint32_t bag; /* of the sender's samples */
    float weight; /* left out where no key has one */
} sent_bag;

enum { BARE_BYTES = offsetof(sent_bag, weight) };

/* Puts element `at` of a message. */
static void put_sent(const bag_route *r, char *message, int64_t at, uint64_t key, int64_t bag, float weight)
{
    const sent_bag sent = {{(uint32_t)key, (uint32_t)(key >> 32)}, (uint32_t)bag, weight};
    if (r->desc.weighted) {
        memcpy(message + (size_t)at * sizeof sent, &sent, sizeof sent);
    } else {
        memcpy(message + (size_t)at * BARE_BYTES, &sent, BARE_BYTES);
    }
}

static sent_bag get_sent(const bag_route *r, const char *message, int64_t at)
{
    sent_bag sent = {.weight = 1.0F};
    if (r->desc.weighted) {
        memcpy(&sent, message + (size_t)at * sizeof sent, sizeof sent);
    } else {
        memcpy(&sent, message + (size_t)at * BARE_BYTES, BARE_BYTES);
    }
    return sent;
}

static uint64_t sent_key_of(const sent_bag *sent)
{
    return sent->key[0] | (uint64_t)sent->key[1] << 32;
}

static float weight_of(const embed_bags *bags, int64_t position)
{
    return bags->weight == NULL ? 1.0F : bags->weight[position];
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

weft_status bag_route_open(weft_comm *comm, const bag_route_desc *desc, bag_route *r)
{
    const int ranks = comm_size(comm);
    *r = (bag_route){.comm = comm, .desc = *desc};
    WEFT_TRY(WEFT_NEW(&r->first, ranks + 1, WEFT_MEM_ROWS));
    return WEFT_NEW(&r->count, ranks, WEFT_MEM_ROWS);
}

void bag_route_close(bag_route *r)
{
    comm_exchange_destroy(r->keys);
    comm_exchange_destroy(r->sums);
    comm_exchange_destroy(r->gradients);
    bag_store_free(&r->own);
    WEFT_FREE_ALL(r->first, r->count, r->gradient);
    *r = (bag_route){0};
}

/* Collective. most: elements that each pair exchanges at most. */
static weft_status plan(bag_route *r, int64_t bytes, int64_t most, const char *name, comm_exchange **exchange)
{
    for (int p = 0; p < comm_size(r->comm); ++p) {
        r->count[p] = most;
    }
    const comm_exchange_desc desc = {
        .lane = COMM_LANE_ROWS, .element_bytes = bytes, .most = r->count, .name = name, .sent = &r->sent};
    return comm_exchange_plan(r->comm, &desc, exchange);
}

/* ---- bags -------------------------------------------------------------------------------------------------------- */

static void pack_keys(bag_route *r, const embed_bags *bags)
{
    const int ranks = comm_size(r->comm);
    for (int p = 0; p < ranks; ++p) {
        put_sent(r, comm_exchange_area(r->keys, p), 0, (uint64_t)bags->samples, 0, 0.0F);
        r->count[p] = 1;
    }
    for (int64_t b = 0; b < bags->samples * r->desc.fields; ++b) {
        for (int64_t k = bags->at[b]; k < bags->at[b + 1]; ++k) {
            const int owner = row_route_owner(bags->key[k], r->desc.seed, ranks);
            for (int p = r->desc.to_all ? 0 : owner; p < (r->desc.to_all ? ranks : owner + 1); ++p) {
                put_sent(r, comm_exchange_area(r->keys, p), r->count[p]++, bags->key[k], b, weight_of(bags, k));
            }
        }
    }
}

/* Key n of the bags of all ranks. */
static void keep_key(bag_route *r, int64_t n, uint64_t key, float weight)
{
    r->own.key[n] = key;
    if (r->desc.weighted) {
        r->own.weight[n] = weight;
    }
}

/* Keys of a bag stay in their order: each rank's bags come in ascending order. */
static weft_status unpack_keys(bag_route *r)
{
    const int ranks = comm_size(r->comm);
    int64_t keys = 0, count = 0;
    r->first[0] = 0;
    for (int p = 0; p < ranks; ++p) {
        const sent_bag head = get_sent(r, comm_exchange_received(r->keys, p, &count), 0);
        r->first[p + 1] = r->first[p] + (int64_t)sent_key_of(&head);
        keys += count - 1;
    }
    const int64_t bags = r->first[ranks] * r->desc.fields;
    WEFT_TRY(bag_store_reserve(&r->own, r->desc.weighted, bags, keys));
    int64_t n = 0, bag = 0;
    for (int p = 0; p < ranks; ++p) {
        const char *from = comm_exchange_received(r->keys, p, &count);
        for (int64_t k = 1; k < count; ++k, ++n) {
            const sent_bag sent = get_sent(r, from, k);
            for (const int64_t of = r->first[p] * r->desc.fields + sent.bag; bag <= of; ++bag) {
                r->own.at[bag] = n;
            }
            keep_key(r, n, sent_key_of(&sent), sent.weight);
        }
    }
    for (; bag <= bags; ++bag) {
        r->own.at[bag] = n;
    }
    r->bags = (embed_bags){.samples = r->first[ranks],
                           .fields = r->desc.fields,
                           .at = r->own.at,
                           .key = r->own.key,
                           .weight = r->own.weight};
    return WEFT_OK;
}

static weft_status exchange_bags(bag_route *r, const embed_bags *bags)
{
    const int64_t count = bags->samples * r->desc.fields, keys = count > 0 ? bags->at[count] : 0;
    weft_status status = WEFT_OK;
    if (keys > r->desc.most) {
        status = weft_fail(WEFT_ERR_INTERNAL, "a batch of %lld keys, and messages are for %lld", (long long)keys,
                           (long long)r->desc.most);
    } else if (count > UINT32_MAX) {
        status = weft_fail(WEFT_ERR_DATA, "a batch of %lld bags: there may be %u", (long long)count, UINT32_MAX);
    }
    WEFT_TRY(comm_agree(r->comm, status));
    if (r->keys == NULL) {
        WEFT_TRY(plan(r, r->desc.weighted ? sizeof(sent_bag) : BARE_BYTES, r->desc.most + 1, "keys of bags", &r->keys));
    }
    pack_keys(r, bags);
    WEFT_TRY(comm_exchange_post(r->keys, r->count));
    WEFT_TRY(comm_exchange_wait(r->keys));
    return comm_agree(r->comm, unpack_keys(r));
}

/* Of bags that every rank has read: those keys that this rank owns. */
static weft_status pick_own(bag_route *r, const embed_bags *bags, const int64_t *samples_of)
{
    const int ranks = comm_size(r->comm), rank = comm_rank(r->comm);
    const int64_t count = bags->samples * r->desc.fields;
    r->first[0] = 0;
    for (int p = 0; p < ranks; ++p) {
        r->first[p + 1] = r->first[p] + samples_of[p];
    }
    WEFT_CHECK(r->first[ranks] == bags->samples, WEFT_ERR_INTERNAL, "bags of %lld samples, and ranks have %lld",
               (long long)bags->samples, (long long)r->first[ranks]);
    WEFT_TRY(bag_store_reserve(&r->own, r->desc.weighted, count, count > 0 ? bags->at[count] : 0));
    int64_t n = 0;
    for (int64_t b = 0; b < count; ++b) {
        r->own.at[b] = n;
        for (int64_t k = bags->at[b]; k < bags->at[b + 1]; ++k) {
            if (row_route_owner(bags->key[k], r->desc.seed, ranks) == rank) {
                keep_key(r, n++, bags->key[k], weight_of(bags, k));
            }
        }
    }
    r->own.at[count] = n;
    r->bags = (embed_bags){.samples = bags->samples,
                           .fields = r->desc.fields,
                           .at = r->own.at,
                           .key = r->own.key,
                           .weight = r->own.weight};
    return WEFT_OK;
}

/* Sums and gradients of batches as large as this one. All ranks know all numbers of samples, so they plan together. */
static weft_status plan_sums(bag_route *r, int64_t columns)
{
    const int64_t samples = bag_route_most_samples(r->first, comm_size(r->comm));
    if (r->gradients != NULL && samples <= r->samples && columns == r->columns) {
        return WEFT_OK;
    }
    comm_exchange_destroy(r->sums);
    comm_exchange_destroy(r->gradients);
    r->sums = NULL;
    r->gradients = NULL;
    r->columns = columns;
    r->samples = samples;
    const int64_t bytes = columns * (int64_t)sizeof(float);
    WEFT_TRY(plan(r, bytes, samples, "sums of samples", &r->sums));
    return plan(r, bytes, samples, "gradients of sums", &r->gradients);
}

weft_status bag_route_bags(bag_route *r, const embed_bags *bags, const int64_t *samples_of, int64_t columns)
{
    if (comm_size(r->comm) == 1) {
        r->bags = *bags;
        r->first[0] = 0;
        r->first[1] = bags->samples;
        r->columns = columns;
        return WEFT_OK;
    }
    WEFT_TRY(samples_of == NULL ? exchange_bags(r, bags) : comm_agree(r->comm, pick_own(r, bags, samples_of)));
    return columns > 0 ? plan_sums(r, columns) : WEFT_OK;
}

/* ---- sums and gradients ------------------------------------------------------------------------------------------ */

float *bag_route_partial(bag_route *r, int rank)
{
    return r->sums == NULL ? NULL : comm_exchange_area(r->sums, rank);
}

weft_status bag_route_totals(bag_route *r, float *total, int64_t ld)
{
    const int ranks = comm_size(r->comm), rank = comm_rank(r->comm);
    const int64_t samples = r->first[rank + 1] - r->first[rank], columns = r->columns;
    for (int p = 0; p < ranks; ++p) {
        r->count[p] = r->first[p + 1] - r->first[p];
    }
    WEFT_TRY(comm_exchange_post(r->sums, r->count));
    WEFT_TRY(comm_exchange_wait(r->sums));
#pragma omp parallel for schedule(static)
    for (int64_t s = 0; s < samples; ++s) {
        float *to = total + s * ld;
        memset(to, 0, (size_t)columns * sizeof *to);
        for (int p = 0; p < ranks; ++p) {
            int64_t count;
            const float *from = (const float *)comm_exchange_received(r->sums, p, &count) + s * columns;
            for (int64_t j = 0; j < columns; ++j) {
                to[j] += from[j];
            }
        }
    }
    return WEFT_OK;
}

static weft_status reserve_gradients(bag_route *r, int64_t samples)
{
    if (samples * r->columns > r->gradients_held) {
        weft_free(r->gradient);
        r->gradient = NULL;
        r->gradients_held = 0;
        WEFT_TRY(WEFT_NEW(&r->gradient, samples * r->columns, WEFT_MEM_ROWS));
        r->gradients_held = samples * r->columns;
    }
    return WEFT_OK;
}

weft_status bag_route_gradients(bag_route *r, const float *gradient, int64_t ld, const float **all, int64_t *all_ld)
{
    const int ranks = comm_size(r->comm), rank = comm_rank(r->comm);
    const int64_t own = r->first[rank + 1] - r->first[rank], columns = r->columns;
    *all = gradient;
    *all_ld = ld;
    if (ranks == 1) {
        return WEFT_OK;
    }
    WEFT_TRY(comm_agree(r->comm, reserve_gradients(r, r->first[ranks])));
    for (int p = 0; p < ranks; ++p) {
        float *to = comm_exchange_area(r->gradients, p);
        for (int64_t s = 0; s < own; ++s) {
            memcpy(to + s * columns, gradient + s * ld, (size_t)columns * sizeof *to);
        }
        r->count[p] = own;
    }
    WEFT_TRY(comm_exchange_post(r->gradients, r->count));
    WEFT_TRY(comm_exchange_wait(r->gradients));
    for (int p = 0; p < ranks; ++p) {
        int64_t count = 0;
        const float *from = comm_exchange_received(r->gradients, p, &count);
        if (count > 0) {
            memcpy(r->gradient + r->first[p] * columns, from, (size_t)(count * columns) * sizeof *from);
        }
    }
    *all = r->gradient;
    *all_ld = columns;
    return WEFT_OK;
}

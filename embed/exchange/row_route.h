/*
 * embed/exchange/row_route.h: the way of a batch's keys to the ranks that own them, and of rows and gradients between
 * them.
 *
 *     this rank                               owners
 *     distinct keys, how often each   ---->   the distinct keys of all ranks, ascending
 *     a value of each key             <----   values of those
 *     a gradient of each key          ---->   sums over ranks, in their order
 *
 * Every key travels once a rank and batch. With one rank nothing is sent or copied. Where every rank owns every key,
 * keys of training passes and gradients go to all ranks, and no values travel.
 */
#pragma once

#include "comm/exchange.h"
#include "embed/pool/bag_index.h"

typedef struct row_route {
    weft_comm *comm;
    uint64_t seed; /* of which rank owns which key */
    int stride;
    int64_t most; /* keys of a batch of any rank */
    bool all_own; /* every rank owns every key */
    comm_exchange *keys, *rows, *gradients;
    /* ---- of the batch ---- */
    const bag_index *index;
    bool local;            /* nothing travels */
    int32_t *owner, *slot; /* [index->distinct] the owner of each key, and its place in the message */
    int64_t *sent;         /* [ranks] keys that go to each rank */
    int64_t *received;     /* [ranks] */
    bag_index own;         /* keys that this rank owns; own.place: of each key that came, in the order of ranks */
    int64_t *at;           /* arrival of keys: scratch of own's bags */
    uint64_t *key;
    int32_t *times; /* [own.distinct] */
    float *value;   /* [own.distinct, stride] */
    int64_t held;   /* keys that at, key, times and value have room for */
} row_route;

/* The rank that owns a key: a function of key and seed. */
int row_route_owner(uint64_t key, uint64_t seed, int ranks);

/* most: keys of a batch of any rank. Free with row_route_close, also after a failure. Collective. */
weft_status row_route_open(weft_comm *comm, int stride, int64_t most, uint64_t seed, bool all_own, row_route *route);
void row_route_close(row_route *route);

/* Keys go to their owners. [out] key, times: [count] distinct keys that this rank owns, ascending, and how often the
 * batch of all ranks has each; valid until the next call. index: of this rank's bags, until the last of the calls.
 * training: gradients will follow. Collective. */
weft_status row_route_keys(row_route *route, const bag_index *index, bool training, const uint64_t **key,
                           const int32_t **times, int64_t *count);
/* Memory for a value of each key that this rank owns: [count, stride]. */
float *row_route_values(row_route *route);
/* These values go to whoever asked. [out] value: [index->distinct, stride] of this rank's keys. Collective. */
weft_status row_route_rows(row_route *route, const float **value);
/* gradient: [index->distinct, stride] of this rank's keys. Their sums stand in row_route_values. Collective. */
weft_status row_route_gradients(row_route *route, const float *gradient);

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
 *
 * Nodes: two routes behind each other move keys of all ranks of a node once between nodes, with rows and gradients.
 * Each rank of a node gathers the keys of the node whose owners have its number in theirs (comm/core/layout.h):
 *
 *     keys of each rank   --in the node-->   distinct keys of the node   --between nodes-->   owner
 *
 * Ahead: keys and values of the next batch travel while this batch computes. The update of this batch changes some of
 * those values, so owners send these once more (row_ahead.c):
 *
 *     batch t            row_route_post_keys ... row_route_take_keys, row_route_post_rows ... row_route_gradients
 *     batch t + 1        row_route_turn, row_route_late_rows                       ---->   slot and value of each
 */
#pragma once

#include "comm/exchange.h"
#include "embed/pool/bag_index.h"

/* The keys of a batch: those of this rank, and those that it owns. */
typedef struct route_batch {
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
} route_batch;

typedef enum route_level {
    ROUTE_FLAT,         /* from each rank to owners */
    ROUTE_IN_NODE,      /* to the rank of this node that has the owner's number */
    ROUTE_BETWEEN_NODES /* of keys whose owners have this rank's number, to owners */
} route_level;

typedef struct row_route_desc {
    int stride;
    int64_t most;  /* keys of a batch of any rank */
    uint64_t seed; /* of which rank owns which key */
    bool all_own;  /* every rank owns every key */
    bool ahead;    /* keys of the next batch may travel behind this one */
    route_level level;
} row_route_desc;

typedef struct row_route {
    weft_comm *comm;
    row_route_desc desc;
    comm_exchange *keys, *rows, *gradients;
    comm_exchange *late;  /* values that changed since they were sent; NULL without `ahead` */
    int32_t *asked;       /* [most] keys of this rank by owner and slot; without `ahead` NULL */
    int64_t *begin;       /* [ranks + 1] of each owner in `asked`, or scratch */
    route_batch batch[2]; /* the other one is that of the next batch */
    int now;
    int64_t sent;   /* bytes so far, to other ranks */
    int64_t reread; /* values that were sent once more so far, to other ranks */
} row_route;

static inline route_batch *row_route_now(row_route *route)
{
    return &route->batch[route->now];
}
static inline route_batch *row_route_next(row_route *route)
{
    return &route->batch[!route->now];
}

/* The rank that owns a key: a function of key and seed. */
int row_route_owner(uint64_t key, uint64_t seed, int ranks);

/* Free with row_route_close, also after a failure. Collective. */
weft_status row_route_open(weft_comm *comm, const row_route_desc *desc, row_route *route);
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

/* Keys of the next batch, a training batch, leave for their owners. index: as for row_route_keys. Collective, with more
 * than one rank. */
weft_status row_route_post_keys(row_route *route, const bag_index *index);
/* They have arrived in row_route_next: its own.key, own.distinct and value. Collective. */
weft_status row_route_take_keys(row_route *route);
/* The values of row_route_next leave for whoever asked; where every rank owns every key nothing leaves. Collective. */
weft_status row_route_post_rows(row_route *route);
/* What was posted for the next batch arrives and is forgotten. Collective. */
weft_status row_route_drop(row_route *route);
/* The next batch is the batch now. index: where its index stands from now on. */
void row_route_turn(row_route *route, const bag_index *index);
/*
 * Values of the batch now, which travelled ahead, and those that have changed since.
 * place    [own.distinct] of each key that this rank owns: its row of `changed`, or -1
 * changed  [.., stride]
 * value    [out] as of row_route_rows
 * Collective; not where every rank owns every key.
 */
weft_status row_route_late_rows(row_route *route, const int32_t *place, const float *changed, const float **value);

/* Room for that many keys that come, of which no two ranks need have the same. */
weft_status route_batch_reserve(row_route *route, route_batch *batch, int64_t keys);
/* Sends values of keys of the batch to whoever asked for them. Collective. */
weft_status route_send_rows(row_route *route, const route_batch *batch);
/* Takes values that have arrived. */
weft_status route_place_rows(row_route *route, route_batch *batch);

/*
 * embed/pool/bag_index.h: the distinct keys of a batch and where each occurs.
 *
 *     keys of bags   7 3 | 3 | - | 9 7 3
 *     key            3      7      9            distinct, ascending
 *     times          3      2      1
 *     place          1 0   0   2 1 0            of each position among the distinct keys
 *     at             0      3      5    6       CSR: distinct key i is in bags bag[at[i]] up to bag[at[i + 1]]
 *     bag            0 1 3  0 3    3            in the order of positions
 *     weight         of each of these, where bags have weights
 *
 * A stable radix sort by threads (key_order.h). Memory is 48 bytes a position, taken for the
 * largest batch so far and kept.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "embed/embed.h"

typedef struct bag_index {
    int64_t positions, distinct;
    uint64_t *key;  /* [distinct] */
    int32_t *times; /* [distinct] */
    int32_t *place; /* [positions] */
    int64_t *at;    /* [distinct + 1] */
    int32_t *bag;   /* [positions]: sample * fields + field */
    bool weighted;  /* the bags have weights */
    float *weight;  /* [positions] beside `bag` */

    int64_t capacity;  /* positions that fit */
    uint64_t *word[2]; /* work: embed/pool/key_order.h */
} bag_index;

/* Begin with a bag_index of zeros. Takes memory for batches of up to `positions` keys; bag_index_fill does so
 * itself. */
weft_status bag_index_reserve(bag_index *index, int64_t positions);
/* WEFT_ERR_DATA: more than 2^31 - 1 positions or bags. bags is not kept. */
weft_status bag_index_fill(bag_index *index, const embed_bags *bags);
void bag_index_free(bag_index *index);

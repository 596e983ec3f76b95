/*
 * embed/exchange/bag_store.h: memory for bags of a batch, which grows to the largest batch so far.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* All zero = empty. */
typedef struct bag_store {
    int64_t *at; /* [bags + 1] */
    uint64_t *key;
    float *weight;      /* [keys] where keys have weights, else NULL */
    int64_t bags, keys; /* what there is room for */
} bag_store;

/* Room for so many bags and keys; what was in it may be gone. For bag_store_free, also after a failure. */
weft_status bag_store_reserve(bag_store *store, bool weighted, int64_t bags, int64_t keys);
void bag_store_free(bag_store *store);

/* embed/rows/row_shard_layout.h: the bytes of a shard, for those who write and read it (drawn in row_shard.h). */
#pragma once

#include <stdint.h>

#include "base/integer/integers.h"
#include "embed/pool/key_sort.h"
#include "embed/rows/row_lookup.h"
#include "embed/rows/row_store.h"

#define SHARD_MAGIC "weftrows" /* 8 bytes */

enum { SHARD_VERSION = 2, SHARD_BLOCK_BYTES = 1 << 20, SHARD_BLOCK_MOST = 4096, SHARD_WAITING_BYTES = 24 };
#define SHARD_COUNT_MOST (INT64_MAX >> 17) /* of made, refused and expired: those of 99,999 shards have a sum */

typedef struct shard_header {
    char magic[8];
    uint32_t version;
    int32_t width, linear, rule;
    int32_t state; /* words that the rule keeps a row */
    int32_t reserved;
    int64_t rows, waiting, batches;
    uint64_t mark;                  /* of the parameters that the rows belong to; 0: not known */
    int64_t made, refused, expired; /* counts so far; 0 in files of older programs */
    uint64_t zero[4];
    uint64_t checksum; /* of the bytes before it */
} shard_header;

_Static_assert(sizeof(shard_header) == 128, "the header of a shard has 128 bytes");

/* What a store had taken; zeros where desc.memory_most is 0. It follows the header from version 2 on. */
typedef struct shard_room {
    int64_t rows;              /* that it had memory for */
    int64_t swept;             /* the batch of its last sweep */
    int64_t slots[ROW_GROUPS]; /* of a stripe of each group */
    uint64_t checksum;         /* of the bytes before it */
} shard_room;

static inline int64_t shard_head_bytes(uint32_t version)
{
    return (int64_t)(sizeof(shard_header) + (version > 1 ? sizeof(shard_room) : 0));
}

typedef struct shard_block {
    int64_t records;
    uint64_t checksum; /* of the records, seeded by the block's number */
} shard_block;

/* What each record begins with. */
typedef struct shard_record {
    uint64_t key;
    int64_t seen; /* the batch */
} shard_record;

static inline int64_t shard_row_bytes(int64_t stride, int64_t state)
{
    return (int64_t)sizeof(shard_record) + 4 * (stride + state);
}

/* Records of a full block. */
static inline int64_t shard_block_records(int64_t record_bytes)
{
    return larger(1, smaller(SHARD_BLOCK_MOST, SHARD_BLOCK_BYTES / record_bytes));
}

/* Keys of a store with their marks, those of rows first: pair [keys] and as many behind them to sort with. Each part is
 * sorted. */
key_pair *shard_sorted_keys(const row_store *store, key_pair *pair, int64_t rows, int64_t keys);
shard_record shard_record_of(const row_store *store, const key_pair *pair);
/* [out] to: a record of a row: its numbers as float32 and its state behind it. */
void shard_put_row(const row_store *store, const key_pair *pair, char *to);
/* Puts a row, or the count of a key that waits, into a store that has room. from: [whole stride + state of whole rows]
 * float32 numbers and state, of which a store of some columns takes its own. */
void shard_take_row(row_store *store, const shard_record *record, const char *from);
void shard_take_waiting(row_store *store, const shard_record *record, uint64_t count);

/* A rule's state of a row is arrays of a number each column, and words that belong to no column. */
static inline int64_t shard_state_arrays(int64_t words, int64_t stride)
{
    return words / stride;
}

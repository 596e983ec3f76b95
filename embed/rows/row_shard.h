/*
 * embed/rows/row_shard.h: the rows of a store in a file, sorted by key, with what their rules keep and when they were
 * last seen. Any number of shards is read into stores of any number of ranks: each takes the keys that it owns.
 *
 *     WEFT_TRY(row_shard_write(store, mark, "rows-00003.rows"));      on each rank
 *     for (each shard)  WEFT_TRY(row_shard_read(path, mark, is_mine, &rank, store));
 *
 * A mark says what the rows belong to, such as a hash of the parameters beside them; 0: of nothing known.
 *
 * Layout, little-endian; each block has a checksum (XXH3, seeded by its number):
 *
 *     header       128 bytes: magic, version, widths, rule, numbers of rows and keys, batches, mark, counts so far,
 *                  checksum
 *     room         88 bytes: what a store under a bound of memory had taken, with a checksum (row_shard_take_room)
 *     blocks       16 bytes (records, checksum), then records of rows, 4,096 or 1 MiB at most:
 *                  key u64 | last seen i64 (a batch) | numbers f32[stride] | what the rule keeps, u32[state]
 *     blocks       the same of keys that wait for admission: key u64 | last seen i64 | count i64
 *
 * Files of version 1 have no room. Numbers are float32 whatever a store keeps: those of a bf16 store are all 32 bits,
 * so either kind reads either.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "embed/rows/row_store.h"

/* Whole or absent. WEFT_ERR_IO, WEFT_ERR_PERMISSION, WEFT_ERR_RESOURCE. */
weft_status row_shard_write(const row_store *store, uint64_t mark, const char *path);
/* Bytes that row_shard_write takes for so many rows: keys are sorted a sixteenth of them at a time. */
int64_t row_shard_bytes(int64_t rows);

/* Returns true if this store takes the key. */
typedef bool row_shard_filter(uint64_t key, const void *context);

/*
 * Adds the rows of a file to a store, those that `mine` takes (NULL: all). Their ages count from the file's batches,
 * which the store takes over; shards of one checkpoint have the same. The store's own counts stay.
 * WEFT_ERR_NOINPUT; WEFT_ERR_DATA: damaged, cut
 * short, of another width, rule or mark, a key that the store has already, or another number of batches than the shards
 * before. WEFT_ERR_RESOURCE: memory_most and an eighth do not hold the rows. After a failure part of the rows may be
 * there: close the store.
 */
weft_status row_shard_read(const char *path, uint64_t mark, row_shard_filter *mine, const void *context,
                           row_store *store);

/*
 * Gives an empty store the room for rows and keys that the store of this file had, and the time of its last sweep:
 * which keys find room under desc.memory_most, and when old rows leave, is then as if the run had not ended. The file
 * holds the keys that this store will hold. Its rows are read afterwards.
 * [out] taken: false where one of the stores has no bound, or this one's is too small.
 * Errors are those of row_shard_read.
 */
weft_status row_shard_take_room(const char *path, row_store *store, bool *taken);

typedef struct row_shard_facts {
    int width;
    bool linear;
    embed_rule rule;
    int64_t rows, waiting, batches;
    uint64_t mark;
    row_counts counts; /* of the store that was written; zeros in files of older programs */
} row_shard_facts;

/* Of the header alone. */
weft_status row_shard_look(const char *path, row_shard_facts *facts);

/*
 * Reads rows in the order of keys, for exports: calls `take` for each block of rows: key [rows], number [rows, stride].
 * Stops at the first failure of `take`.
 */
typedef weft_status row_shard_take(const uint64_t *key, const float *number, int64_t rows, void *context);
weft_status row_shard_visit(const char *path, row_shard_take *take, void *context);

/* focus/index/focus_index_layout.h: bytes of an index (focus/index/focus_index.h), for its reader, writer and tests. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"

#define FOCUS_MAGIC  "WEFTFOC1"
#define FOCUS_FORMAT "weft-focus-index"

enum { FOCUS_VERSION = 2, FOCUS_HEAD_MOST = 1 << 20 /* bytes of the first block */ };

enum { FOCUS_KIND_HEAD = 1, FOCUS_KIND_ITEMS = 2, FOCUS_KIND_ANSWERS = 3 };

/* Stands before the contents of a block, which end with zeros up to a multiple of 8 bytes. */
typedef struct focus_block_head {
    char magic[8];
    uint32_t kind, zero;
    uint64_t bytes;   /* contents, with the zeros behind them */
    uint64_t sum;     /* of the contents */
    uint64_t own_sum; /* of the fields above */
} focus_block_head;

/* Contents of a block of items begin so; behind it stand, in this order:
 *      with names  uint64 sum [count];  of moving things  uint32 frame [count], track [count], uint16 box [count][4]
 *      uint16 score [kept][count];  with kept < classes also  uint16 rest [count], uint16 class [kept][count]
 *      zeros up to a multiple of 4;  with names  uint32 name_at [count + 1], names with their NULs */
typedef struct focus_items_head {
    uint64_t first; /* number of the first item */
    uint32_t count, kept;
    uint64_t name_bytes; /* of the names; 0: items have none */
} focus_items_head;

/* Contents of a block of answers begin so; behind it stand uint32 item [count], ascending, and uint16 class [count]. */
typedef struct focus_answers_head {
    char expensive[32]; /* hexadecimal digits */
    uint64_t count;
} focus_answers_head;

/* Checksums depend on the byte at which a block begins, so that a block in another place is found out. */
static inline uint64_t focus_own_sum(const focus_block_head *head, uint64_t at)
{
    return file_checksum(head, offsetof(focus_block_head, own_sum), at);
}

static inline uint64_t focus_sum(const void *contents, uint64_t bytes, uint64_t at)
{
    return file_checksum(contents, bytes, at + 1);
}

/* Bytes of the columns of origins of a block of items, a multiple of 8; the scores follow. */
static inline uint64_t focus_origin_bytes(uint64_t count, bool named, bool moving)
{
    return count * (named ? sizeof(uint64_t) : 0) + count * (moving ? 2 * sizeof(uint32_t) + 4 * sizeof(uint16_t) : 0);
}

/* Bytes of the columns of scores of a block of items, up to name_at. */
static inline uint64_t focus_column_bytes(uint64_t count, uint64_t kept, uint64_t classes)
{
    const uint64_t words = kept < classes ? 2 * kept + 1 : kept;
    return (words * count * sizeof(uint16_t) + 3) & ~(uint64_t)3;
}

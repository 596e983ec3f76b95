/* dense/data/tar/tar_block.c: see dense/data/tar_block.h. */
#include "dense/data/tar/tar_block.h"

#include <string.h>

enum { SUM_AT = 148, SUM_BYTES = 8, MAGIC_AT = 257 };

bool tar_has_prefix(const uint8_t *block)
{
    return block[TAR_PREFIX_AT] != '\0' && memcmp(block + MAGIC_AT, "ustar\0", 6) == 0;
}

bool tar_is_zero(const uint8_t *block)
{
    static const uint8_t zeros[TAR_BLOCK];
    return memcmp(block, zeros, TAR_BLOCK) == 0;
}

int64_t tar_number(const uint8_t *at, int bytes)
{
    uint64_t value = 0;
    if ((at[0] & 0x80) != 0) {
        for (int i = 1; i < bytes; ++i) {
            if (value >> 54 != 0) {
                return -1;
            }
            value = value << 8 | at[i];
        }
        return at[0] == 0x80 ? (int64_t)value : -1;
    }
    int i = 0;
    while (i < bytes && at[i] == ' ') {
        i += 1;
    }
    for (; i < bytes && at[i] >= '0' && at[i] <= '7'; ++i) {
        value = value << 3 | (uint64_t)(at[i] - '0');
    }
    return i == bytes || at[i] == ' ' || at[i] == '\0' ? (int64_t)value : -1;
}

bool tar_is_header(const uint8_t *block)
{
    uint32_t sum = SUM_BYTES * ' ';
    for (int i = 0; i < TAR_BLOCK; ++i) { /* whole vectors, with the checksum itself, which is taken off again */
        sum += block[i];
    }
    for (int i = SUM_AT; i < SUM_AT + SUM_BYTES; ++i) {
        sum -= block[i];
    }
    return block[TAR_NAME_AT] != '\0' && tar_number(block + SUM_AT, SUM_BYTES) == sum;
}

/*
 * dense/data/tar/tar_block.h: one block of a tar archive: where the fields of a header stand, and whether a block is
 * one.
 *
 * A header's checksum is the sum of its bytes, with blanks in the place of the checksum itself. It decides what a
 * header is, so archives of 1979 (v7), which have no magic word, are understood as well as ustar, pax and GNU ones.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    TAR_BLOCK = 512,
    TAR_NAME_AT = 0,
    TAR_NAME_BYTES = 100,
    TAR_SIZE_AT = 124,
    TAR_SIZE_BYTES = 12,
    TAR_TYPE_AT = 156,
    TAR_LINK_AT = 157,
    TAR_LINK_BYTES = 100,
    TAR_PREFIX_AT = 345,
    TAR_PREFIX_BYTES = 155
};

/* Returns true if the block's checksum is that of a header. */
bool tar_is_header(const uint8_t *block);
/* Returns true if names may be parted: ustar and pax, where GNU's headers have other fields. */
bool tar_has_prefix(const uint8_t *block);
/* Returns true if all bytes of the block are zero. */
bool tar_is_zero(const uint8_t *block);
/* A number of a header: octal digits, or 8 bytes at the end where the first bit is set. -1: neither. */
int64_t tar_number(const uint8_t *at, int bytes);

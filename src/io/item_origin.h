/* io/item_origin.h: where an item of data was taken from: the contents of its file and, for a part of a frame, its
 * place and its track. */
#pragma once

#include <stdint.h>

typedef struct item_origin {
    uint64_t sum;                      /* checksum of the file's contents; 0: items have no files */
    uint32_t frame, track;             /* numbers from 0 */
    uint16_t left, top, width, height; /* pixels of the frame; width 0: the item is a whole file */
} item_origin;

/*
 * dense/data/image_sizes.h: the sizes of a set's files, kept beside its decoded samples (image_disk.h), so that a later
 * job need not look at files that it will not read. A part of image_files.c.
 *
 *      head, 256 bytes: in words, of which files; zeros | int32 [files, 5] | checksum (8 bytes)
 *
 * Whole or absent; the head is compared with the one that this job would write, and no size is taken from the file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "dense/data/image_hash.h"

enum { IMAGE_SIZES_COLUMNS = 5 };

/* sizes [files, IMAGE_SIZES_COLUMNS]: heights, widths and channels (1: grey, 3), 0 of malformed files, and the two
 * halves of a checksum. False: they are not known, and may be anything now. */
bool image_sizes_read(const char *folder, const image_key *key, int64_t files, int32_t *sizes);
/* A folder that takes no files is told in the log. */
void image_sizes_write(const char *folder, const image_key *key, int64_t files, const int32_t *sizes);

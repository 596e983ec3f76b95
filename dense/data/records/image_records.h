/*
 * dense/data/records/image_records.h: samples that are runs of bytes in files, all of one length: what image_idx.c and
 * image_cifar.c share.
 *
 *      file 0   offset | sample 0 | .. | sample 1 | ..    file 1   offset | sample n | ..       a sample every `stride`
 *
 * A plain file is mapped: the ranks of a node read the same pages. A packed one is unpacked into memory, of which a
 * node with several ranks keeps one copy (image_store.h, `kept`). Samples are numbered through the files in their
 * order.
 */
#pragma once

#include "dense/data/image_file.h"

enum { IMAGE_RECORDS_FILES_MAX = 66 };

typedef struct image_records {
    struct {
        image_bytes all;
        int64_t first; /* number of its first sample */
    } file[IMAGE_RECORDS_FILES_MAX];
    int files;
    int64_t samples; /* of all files */
    size_t offset, stride;
    size_t bytes;                                         /* of a sample */
    void (*take)(const uint8_t *stored, uint8_t *pixels); /* NULL: as they are stored */
} image_records;

/* The set's samples are those of records, which it owns from now on, also after a failure. */
weft_status image_records_create(image_set *set, image_records **records);
/* One file more (image_bytes_open); its samples are not counted yet. *all: valid as long as the set. WEFT_ERR_DATA: too
 * many files. */
weft_status image_records_open(image_set *set, const char *path, const image_options *options,
                               image_bytes_stated stated, const image_bytes **all);
/* The file that was opened last has so many samples. */
void image_records_count(image_records *records, int64_t samples);

/*
 * dense/data/image_list.h: the files of image_files.h as a list: their names, order and classes, and the reading of one. A
 * part of image_files.c.
 */
#ifndef WEFT_DENSE_DATA_IMAGE_LIST_H
#define WEFT_DENSE_DATA_IMAGE_LIST_H

#include <pthread.h>
#include <stdatomic.h>

#include "dense/data/image_decode.h"
#include "dense/data/image_files.h"

typedef struct image_file {
    char *name;                     /* owned */
    const char *tail;               /* CLASS/FILE, a part of it */
    int64_t offset, bytes, changed; /* as in image_place */
    int32_t split, class;
    int32_t height, width; /* 0: malformed */
} image_file;

/* Memory of one thread, lent for an image. */
typedef struct image_bench {
    uint8_t *encoded;
    image_scratch scratch;
    struct image_bench *next;
} image_bench;

struct image_files {
    image_file *file;
    int count, capacity;
    bool loose;              /* without classes, all to test */
    int first[TRAIN_SPLITS]; /* file of each split */
    size_t largest;          /* file, in bytes */
    size_t scratch;          /* bytes that the largest image needs */
    image_shape wanted;
    atomic_ullong *source_bytes; /* read so far, of the store */
    image_files_load load;
    void *self;
    void (*close)(void *self);
    int32_t *slot; /* by the hash of a name: 1 + the number of its file, 0: free; only while files are added */
    int64_t slots;
    int64_t passed;                   /* entries that were left out */
    char first_passed[FILE_PATH_MAX]; /* of their names, the first in order: folders have none */
    image_bench *bench;               /* that nobody uses */
    pthread_mutex_t lock;
};

/* Into the order of split, class and name; the set gets its hash and its classes, each file its class. */
weft_status image_list_sort(const char *path, image_files *files, image_set *set);

/* Tell what was left out: one warning for all. */
void image_list_tell_passed(const char *path, const image_files *files);

/* files->first of a sorted list, again after some left it. */
void image_list_find_splits(image_files *files);
int image_list_split_end(const image_files *files, int split);

/* Decode a file, or, with pixels NULL, look at it: it gets its size, 0 where it is malformed. Any thread. */
weft_status image_list_read(image_files *files, image_file *file, uint8_t *pixels);

/* From now on images are decoded when they are asked for: memory for the largest, so that none is taken later. */
void image_list_size_benches(image_files *files);

#endif

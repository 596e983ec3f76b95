/*
 * dense/data/image_store.h: where the samples of an open image set are, behind image_set_read: the private part of
 * image_set.
 *
 * A reader (image_reader.h) gives the store a function that makes a sample. Where that takes work a cache keeps the
 * samples that were made; where it copies bytes that the ranks of a node share already, there is no cache.
 */
#pragma once

#include <stdatomic.h>

#include "base/permutation.h"
#include "dense/data/image_cache.h"
#include "dense/data/image_set.h"
#include "dense/data/teach/teacher.h"
#include "io/item_origin.h"

/* Samples of a split as they come. */
typedef struct image_part {
    int64_t count;
    /* [count] */
    int32_t *label;
    /* Memory that the labels lie in; freed with the set. */
    void *owned;
} image_part;

typedef struct image_store {
    image_part part[TRAIN_SPLITS];
    /* Order of training samples, of which the last ones are set apart for validation; n = 0: none are. */
    permutation held;
    /* The reader's own, and its functions. */
    void *self;
    /* Make the sample of this number over all parts. Any thread. WEFT_ERR_DATA: malformed. */
    weft_status (*make)(void *self, int64_t number, uint8_t *pixels);
    /* The name of the sample's file; NULL: samples have none. */
    const char *(*name)(void *self, int64_t number);
    /* Where the sample comes from; NULL: samples have no files. */
    item_origin (*origin)(void *self, int64_t number);
    void (*close)(void *self);
    /* Frees what samples are made of; names and origins stay. NULL: there are none to keep. */
    void (*let_go)(void *self);
    /* Hash of places and times of files. Together with the set's hash it says that samples come out as before. */
    char identity[33];
    /* Making a sample is copying it. */
    bool stored;
    /* Bytes that the reader keeps on each rank to make samples of. */
    uint64_t kept;
    /* Samples that were made; NULL: none is kept. */
    image_cache *cache;
    /* A malformed sample is an error; else it is grey. */
    bool strict;
    /* Number of samples that were made grey, and the rank that says so. */
    atomic_int grey;
    int rank;
    /* Whose answers stand in for labels, and the set's class of each of its classes; NULL: nobody's. */
    teacher teacher;
    int32_t *taught;
    double temperature; /* at which probabilities are learnt; 0: the likeliest class is */
    /* Figures of image_use. */
    atomic_llong samples[IMAGE_LEVELS];
    atomic_ullong source_bytes;
} image_store;

/* ---- other labels, for image_set_open; in image_lessons.c ---- */

/* The classes of a set become those of a folder's answers (image_options.teacher), of all parts as a reader left them;
 * images that have none become training images, unless the set is for a trained model. WEFT_ERR_DATA: they are answers
 * for other images. */
weft_status image_set_teach(const char *folder, double temperature, bool trained, image_set *set);
/* Classes outside of a list become one (image_options.choose, .learnt). WEFT_ERR_USAGE. */
weft_status image_set_choose_classes(const char *list, bool learnt, image_set *set);

/* Where a sample of a split stands in the parts, which know nothing of images set apart. */
const image_part *image_set_find(const image_set *set, int *split, int64_t *index);
/* Names and number of classes; labels stay. names: [classes], or NULL; copied. */
weft_status image_set_rename_classes(image_set *set, int64_t classes, char *const *names);

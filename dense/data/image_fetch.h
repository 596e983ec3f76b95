/*
 * dense/data/image_fetch.h: samples of a batch from the memories of other nodes (the cooperative cache of C.-C. Yang,
 * G. Cong, HiPC 2019). A part of image_source.c.
 *
 *      post    everybody knows the batch, and who has what: sends each rank what it answers for, asked by nobody
 *      ...     rows that are at hand are made
 *      wait    the others are here
 *
 * The order of an epoch is computed, a sample's home is a function of its number, and memories were filled when the set
 * was opened (image_set_is_spread), so no request travels. One batch at a time; its exchange moves while others are
 * computed. Memory: P batches of a rank to send and as much to receive. Each rank looks at the whole batch.
 */
#pragma once

#include "dense/data/image_set.h"
#include "train/batch/batch_order.h"

typedef struct image_fetch image_fetch;

/* What a batch is to all ranks. */
typedef struct image_fetch_batch {
    const void *self;
    batch_share (*share)(const void *self, int rank);
    void (*sample)(const void *self, int64_t position, int *split, int64_t *index);
} image_fetch_batch;

/* rows: most that a rank has of a batch. *fetch is NULL where nothing is to be fetched. Collective. */
weft_status image_fetch_create(weft_comm *comm, const image_set *set, int64_t rows, image_fetch **fetch);
void image_fetch_destroy(image_fetch *fetch); /* NULL is allowed */

/* Collective, as wait is. WEFT_ERR_INTERNAL: a batch is on its way already, or others sent something else. */
weft_status image_fetch_post(image_fetch *fetch, const image_fetch_batch *batch);
weft_status image_fetch_wait(image_fetch *fetch);

/* Of the batch that was posted last: whether a row of this rank comes from elsewhere; and its pixels, after wait. */
bool image_fetch_is_away(const image_fetch *fetch, int64_t row);
const uint8_t *image_fetch_pixels(const image_fetch *fetch, int64_t row);

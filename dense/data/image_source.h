/*
 * dense/data/image_source.h: batches of an image set as a source of the training loop (train/source.h).
 *
 *      loader threads:   read, augment batch t + 1        |  the caller:   forward, backward of batch t
 *                        into one of two buffers          |
 *
 * A training step takes the batch of (seed, epoch, step); each rank its share of it (image_order.h). An evaluation goes
 * over the validation and then the test images, without augmentation, and `split_host` and the masks say which is
 * which. Without loader threads the caller's OpenMP threads fill the batch when it is asked for. What comes next is
 * guessed; a wrong guess (another seed, a resumed training) costs time and changes nothing. Images that other nodes keep come
 * from there (image_fetch.h): then asking for a batch is collective.
 *
 *      image_source *source;
 *      WEFT_TRY(image_source_create(comm, hal, &options, &source));
 *      ... train_run(..., image_source_of(source), ...);
 *      image_source_destroy(source);
 */
#ifndef WEFT_DENSE_DATA_IMAGE_SOURCE_H
#define WEFT_DENSE_DATA_IMAGE_SOURCE_H

#include "base/trace/activity.h"
#include "dense/data/augment.h"
#include "dense/data/image_set.h"
#include "tensor/tensor.h"
#include "train/source.h"

extern const weft_activity ACTIVITY_BATCH[1]; /* reading and varying images, where the caller does or awaits it */

/* train_batch.input: this rank's share of a batch, which may be empty. */
typedef struct image_batch {
    weft_tensor pixels;            /* device [rows * height * width, channels] float32, of what the network sees */
    int64_t rows;                  /* images, */
    int64_t all_rows;              /* and those of all ranks, of this part of the batch */
    weft_tensor sample_id;         /* device [rows, 1] int64, numbers over all splits: row_id of hal_dropout */
    const int64_t *sample_id_host; /* the same on the host */
} image_batch;

typedef struct image_source image_source;

typedef struct image_source_options {
    const image_set *set; /* must outlive the source */
    int64_t outputs;      /* of the model, where the set has no classes */
    augment augment;      /* its first line is the set's size */
    int64_t batch;        /* images of a training step, over all ranks */
    int parts;            /* that training asks for a batch in; 0 or 1: whole */
    int64_t least;        /* images of a training step and of a part of it, and of a rank's share: image_batches */
    int64_t share_least;
    int64_t eval_batch; /* of a step of the evaluation; 0: batch */
    bool drop_last;     /* leave the short last batch of an epoch out */
    int loaders;        /* threads that prepare the next batch, on the CPUs of the creating thread; 0: none */
    int threads;        /* >= 1, OpenMP threads of the caller where there are no loaders */
} image_source_options;

/*
 * Collective. Memory: two batches of this rank; nothing is taken after the first epoch. WEFT_ERR_USAGE: no batch, an
 * empty set, a bad augmentation. WEFT_ERR_RESOURCE: memory or threads.
 */
weft_status image_source_create(weft_comm *comm, weft_hal *hal, const image_source_options *options,
                                image_source **source);
void image_source_destroy(image_source *source); /* ends the loaders; NULL is allowed */

/* What the training loop takes; valid until the source is destroyed. */
const train_source *image_source_of(const image_source *source);

/* Seconds that the caller stood still for data since the source was made. */
double image_source_wait_seconds(const image_source *source);

#endif

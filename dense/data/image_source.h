/*
 * dense/data/image_source.h: batches of an image set as a source of the training loop (train/source.h).
 *
 * A training step takes the batch of (seed, epoch, step); each rank takes its share of it (train/batch/batch_order.h).
 * An evaluation goes over the validation and then the test images, without augmentation; `split_host` and the masks say
 * which is which. Loader threads prepare the next batch while the caller computes (train/batch/batch_loader.h). Images
 * that only other nodes keep are fetched from there (image_fetch.h): then asking for a batch is collective.
 *
 *      image_source *source;
 *      WEFT_TRY(image_source_create(comm, hal, &options, &source));
 *      ... train_loop(comm, hal, &model, image_source_of(source), ...);
 *      image_source_destroy(source);
 */
#pragma once

#include "base/trace/activity.h"
#include "dense/data/image_set.h"
#include "dense/data/vary/augment.h"
#include "tensor/tensor.h"
#include "train/batch/batch_deal.h"
#include "train/source.h"

/* Reading and augmenting images, where the caller does it or waits for it. */
extern const weft_activity ACTIVITY_BATCH[1];

/* train_batch.input: this rank's share of a batch, which may be empty. */
typedef struct image_batch {
    /* Device matrix [rows * height * width, channels] float32, of the size that the network sees. */
    weft_tensor pixels;
    /* Images of this rank. */
    int64_t rows;
    /* Images of all ranks, of this part of the batch. */
    int64_t all_rows;
    /* Device vector [rows, 1] int64: numbers over all splits, the row_id of hal_dropout. */
    weft_tensor sample_id;
    /* The host's copy of sample_id. */
    const int64_t *sample_id_host;
} image_batch;

typedef struct image_source image_source;

typedef struct image_source_options {
    /* The data; must outlive the source. */
    const image_set *set;
    /* Outputs of the model, where the set has no classes. */
    int64_t outputs;
    /* What training does to images. Its height, width and channels are the set's. */
    augment augment;
    /* Above 0: training images are mixed with others of their batch by shares from Beta(mixup, mixup), and the
     * classes of both are learnt by these shares (dense/data/vary/mixup.h), of which `smoothing` is spread over all
     * classes. The set has classes, and no shares of its own. */
    double mixup, smoothing;
    /* Images of a training step, over all ranks. */
    int64_t batch;
    /* Micro-batches that training asks for a batch in; 0 and 1: the batch is whole. */
    int parts;
    /* The smallest number of images of a step or part, and of a rank's share (batch_plan). */
    int64_t least, share_least;
    /* Images of a step of the evaluation; 0: as `batch`. */
    int64_t eval_batch;
    /* Training images of every rank are probes to compare replicas by (train_source.probe). */
    bool probes;
    /* Leave the short last batch of an epoch out. */
    bool drop_last;
    /* Shards of the ranks (batch_plan); must outlive the source. NULL: none. */
    const batch_deal *deal;
    /* [only_count] positions of the evaluation (image_set_evaluated_at) that it goes over, ascending; must outlive the
     * source. NULL: all. */
    const int64_t *only;
    int64_t only_count;
    /* Threads that prepare the next batch, on the CPUs of the creating thread; 0: none. */
    int loaders;
    /* OpenMP threads of the caller that prepare a batch where there are no loaders; >= 1. */
    int threads;
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

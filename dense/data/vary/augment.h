/*
 * dense/data/vary/augment.h: a sample's pixels, changed at random for training, as normalised floats.
 *
 *      uint8 [height, width, c]  --crop or resized crop, flip, cutout, erasing-->  (value / 255 - mean) / deviation,
 *                                                                                  float [.. c]
 *
 * One pass, without intermediate images. The draws are a function of (seed, epoch, sample): the same pixels for any
 * number of ranks and threads. Where the sample is larger than what the network sees, an evaluation takes its centre.
 *
 * Pad, crop and flip: He et al., Deep residual learning, CVPR 2016, doi:10.1109/CVPR.2016.90. Cutout: DeVries and
 * Taylor, arXiv:1708.04552 (2017). Crops of random size: Szegedy et al., Going deeper with convolutions, CVPR 2015,
 * doi:10.1109/CVPR.2015.7298594. Erasing: Zhong et al., Random erasing data augmentation, AAAI 2020, arXiv:1708.04896.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum { AUGMENT_CHANNELS_MAX = 4 };

typedef struct augment {
    int64_t height, width, channels;  /* of a sample as it comes */
    int64_t crop_height, crop_width;  /* of what the network sees; at most the sample's size */
    int64_t pad;                      /* zero pixels (the mean) on each side, before the crop is placed at random */
    bool flip;                        /* left and right, every other time */
    int64_t cutout;                   /* side of a square that is set to the mean, centre anywhere; 0: none */
    float erase;                      /* how often a rectangle of 2 to 33 % of the crop is set to the mean; 0: never */
    bool resized_crop;                /* instead of pad and crop: a part of the image, stretched */
    float area_least;                 /* of that part: its share of the image, up to 1; 0.08 is usual */
    float mean[AUGMENT_CHANNELS_MAX]; /* of values 0 .. 1 */
    float deviation[AUGMENT_CHANNELS_MAX]; /* not 0 */
    bool numbers; /* a pixel's channels are bytes of a whole number, low ones first, which is all that comes out */
} augment;

/* WEFT_ERR_USAGE: a crop that is larger than the image, a padding of the image's size, shares beyond 1. */
weft_status augment_check(const augment *a);

/* Channels of what comes out. */
static inline int64_t augment_channels(const augment *a)
{
    return a->numbers ? 1 : a->channels;
}

/* For training. [out] out [crop_height, crop_width, channels]. Any thread. */
void augment_train(const augment *a, uint64_t seed, uint32_t epoch, int64_t sample, const uint8_t *pixels, float *out);
/* For evaluation: the centre, normalised. */
void augment_plain(const augment *a, const uint8_t *pixels, float *out);

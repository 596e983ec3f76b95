/*
 * train/second/capture_conv.h: the input factor of a convolution: sums of products of the patches that its kernel sees.
 *
 * A listener of a training pass (train/tap.h) gets the images that a convolution read, and perhaps the batch norm that
 * they pass on their way into it. The patch of an output pixel is a row of in * kernel rows * kernel columns numbers,
 * zeros where it reaches into the padding, in the order of the weights' columns; the factor is
 *
 *      packed = sum over images and output pixels of patch^T patch        a packed triangle (hal/ops.def)
 *
 * A bias is one more column, with a 1 behind every patch. Patches are never stored. A norm is applied to some images at
 * a time in scratch memory, to the bits that the convolution sees.
 *
 * The form `reduce` has one row for each image: the mean of its patches (capture_mean_inputs), and the sum of its
 * output gradients (capture_sum_outputs). The mean is a product: seen[p, k] = 1 says that some output pixel sees pixel
 * p at place k of the kernel, and x^T seen / (output pixels) is the mean, for 2 places * pixels * in operations an
 * image.
 *
 * With n columns a factor costs n^2 operations for each output pixel, more than the convolution itself where n is
 * larger than 4 times its outputs. Therefore a part of the output pixels may stand for all: the same ones in each
 * image, drawn anew for each step, so sums of P ranks are those of one rank.
 */
#pragma once

#include "train/tap.h"

/* Scratch memory [bytes] for images under a norm, or one image if it is larger. */
enum { CAPTURE_NORMED_BYTES = 4 << 20 };

/* The output pixels of every image that count. */
typedef struct capture_pixels {
    int64_t most; /* number of pixels; 0, or more than there are: all */
    uint64_t seed;
    uint32_t draw; /* number of the draw, such as the step */
} capture_pixels;

/* Scratch memory, which grows to what the largest call needs. Begin with zeros. */
typedef struct capture_conv {
    weft_tensor normed;  /* [1, bytes] uint8 */
    weft_tensor index;   /* [rows, 1] int32: patches that count */
    int32_t *index_host; /* [rows] */
    weft_tensor seen;    /* [1, bytes] uint8: which pixels of an image its row sums up */
    void *seen_host;     /* [bytes] */
    weft_tensor rows;    /* [1, elements] rows of some images */
    weft_tensor ones;    /* [1, images] the last number of each row */
} capture_conv;

void capture_conv_destroy(capture_conv *scratch);

/* packed [1, n (n + 1) / 2], in the type of the parameters: becomes the sums of these rows, or with `add` grows by
 * them. n counts the weights of one output, and one more where the factor has the column of a bias. rows: of a
 * convolution without groups. [out] count: number of patches that were summed, at least 1. */
weft_status capture_conv_inputs(capture_conv *scratch, const tap_rows *rows, const capture_pixels *pixels, bool add,
                                weft_tensor *packed, int64_t *count);

/* Like capture_conv_inputs, with one row for each image, the mean of its patches or of its rows of a linear map; of all
 * pixels. */
weft_status capture_mean_inputs(capture_conv *scratch, const tap_rows *rows, bool add, weft_tensor *packed);
/* packed [1, out (out + 1) / 2]: the same of one row for each image, the sum of its output gradients. */
weft_status capture_sum_outputs(capture_conv *scratch, const tap_rows *rows, bool add, weft_tensor *packed);

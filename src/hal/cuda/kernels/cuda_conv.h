/* hal/cuda/kernels/cuda_conv.h: a prepared convolution: its shape, who makes it, and the scratch memory that it
 * takes. */
#pragma once

#include <stddef.h>

#include "hal/cuda/device/cuda_queue.h"
#include "hal/op_args.h"

/* Begins as every hal_conv does, so that checks common to all backends apply. */
typedef struct cuda_conv {
    hal_conv common;
    int64_t made[2];                    /* height and width of what comes out */
    size_t scratch_bytes;               /* most of any operation and number of images */
    cuda_dnn_conv *dnn[HAL_CONV_SIZES]; /* by common.images; NULL where cuDNN has no part */
} cuda_conv;

enum { CUDA_CONV_CHUNKS = 512 /* of rows, whose columns are summed for a bias */ };

/* Pixels of a piece, one sum after the other, in backward_weights: by shape alone, so that the bits are. */
static inline int64_t cuda_conv_piece(const hal_conv_shape *s, int64_t pixels)
{
    const int64_t least = 1024, most_pieces = 256, most_sums = 1 << 24;
    const int64_t sums = s->out * (s->in / s->groups * s->kernel[0] * s->kernel[1] + 1);
    const int64_t fit = sums < most_sums ? most_sums / sums : 1;
    const int64_t pieces = fit < most_pieces ? fit : most_pieces;
    const int64_t piece = (pixels + pieces - 1) / pieces;
    return piece > least ? piece : least;
}

/* Of a filter for libraries, in the type of what is summed; a library's workspace lies behind it. */
static inline size_t cuda_conv_filter_bytes(const hal_conv_shape *s)
{
    const size_t sum = s->dtype == WEFT_DTYPE_F64 ? 8 : 4;
    const size_t bytes = (size_t)(s->out * (s->in / s->groups) * s->kernel[0] * s->kernel[1]) * sum;
    return (bytes + 255) / 256 * 256;
}

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Whether a convolution is a product of matrices as they lie in memory: a kernel of one pixel that goes to every pixel,
 * or one that covers the image, which is then one row. [out] p  the product of a pass, but for its operands: x or dy,
 * the filter [out, kernel height, kernel width, in] or dy with it, and what comes out. `pixels`: rows of y.
 */
bool cuda_conv_product(const cuda_conv *conv, cuda_conv_pass pass, int64_t pixels, cuda_product *p);

/* Convolutions by libraries (image_library.cu). CUDA_REFUSED where none makes this one: nothing was done. */
int cuda_library_conv_forward(cuda_queue *queue, const hal_conv_forward_args *a);
int cuda_library_conv_backward_data(cuda_queue *queue, const hal_conv_backward_data_args *a);
int cuda_library_conv_backward_weights(cuda_queue *queue, const hal_conv_backward_weights_args *a);

#ifdef __cplusplus
}
#endif

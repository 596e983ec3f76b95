/* hal/cuda/kernels/cuda_conv.h: a prepared convolution: its shape, and the scratch memory that its kernels take. */
#ifndef WEFT_HAL_CUDA_KERNELS_CUDA_CONV_H
#define WEFT_HAL_CUDA_KERNELS_CUDA_CONV_H

#include <stddef.h>

#include "hal/op_args.h"

/* Begins as every hal_conv does, so that checks common to all backends apply. */
typedef struct cuda_conv {
    hal_conv common;
    int64_t made[2];      /* height and width of what comes out */
    size_t scratch_bytes; /* most of any operation and number of images */
} cuda_conv;

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

#endif

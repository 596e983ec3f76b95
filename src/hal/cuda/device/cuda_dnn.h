/*
 * hal/cuda/device/cuda_dnn.h: convolutions by cuDNN, where the machine has it. It is opened at run time, by the first
 * convolution that is prepared: a program runs without it, and kernels/image.cu does what it does not.
 *
 * Images are [images, height, width, channels] and filters [out, kernel height, kernel width, in / groups], without
 * gaps and of one type: float32, multiplied as float32, or a 16-bit float, with float32 sums. What makes a convolution
 * is chosen when it is prepared, by the library's rules and not by a measurement, among what the library calls
 * deterministic: the same bits every time on one kind of card.
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hal/cuda/device/cuda_device.h"
#include "hal/op_args.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cuda_dnn cuda_dnn;
typedef struct cuda_dnn_conv cuda_dnn_conv; /* of one shape and number of images */

typedef enum cuda_conv_pass { CUDA_CONV_FORWARD, CUDA_CONV_DATA, CUDA_CONV_WEIGHTS, CUDA_CONV_PASSES } cuda_conv_pass;

enum {
    CUDA_DNN_WORKSPACE =
        512 << 20,        /* bytes of a pass, at most: not what is free, so that the choice is the same every time */
    CUDA_DNN_ALIGNED = 16 /* bytes of operands */
};

/* What a library says before it does anything: something else may do it. Beside the codes of cuda_device.h. */
enum { CUDA_REFUSED = -1 };

/* WEFT_CUDNN=off does without the library: to compare, or where it is broken. */
static inline bool cuda_dnn_wanted(void)
{
    const char *text = getenv("WEFT_CUDNN");
    return text == NULL || strcmp(text, "off") != 0;
}

/* Whether its descriptors can tell of such images: those know padding of one width at both sides, and numbers below
 * 2^31. */
static inline bool cuda_dnn_describes(const hal_conv_shape *s, const int64_t made[2], int64_t images)
{
    const int64_t most = INT32_MAX;
    const int64_t in = s->height * s->width * s->in;
    const int64_t out = made[0] * made[1] * s->out;
    const bool fits = images > 0 && in <= most / images && out <= most / images && s->stride[0] <= most &&
                      s->stride[1] <= most && s->dilation[0] <= most && s->dilation[1] <= most &&
                      s->pad[0][0] <= most && s->pad[1][0] <= most && s->kernel[0] * s->kernel[1] <= most &&
                      s->out <= most / (s->in / s->groups * s->kernel[0] * s->kernel[1]);
    return s->dtype != WEFT_DTYPE_F64 && fits && s->pad[0][0] == s->pad[0][1] && s->pad[1][0] == s->pad[1][1];
}

/* made: height and width of what comes out.
 * [update] dnn  NULL before the first convolution on this stream; cuda_dnn_close frees it.
 * [out] conv  the passes that the shape asks for; NULL where the library is absent or makes none of them.
 * cuda_dnn_release. */
void cuda_dnn_prepare(cuda_dnn **dnn, cuda_stream *stream, const hal_conv_shape *shape, const int64_t made[2],
                      int64_t images, cuda_dnn_conv **conv);
void cuda_dnn_release(cuda_dnn_conv *conv);

/* What makes a pass: "cuDNN implicit product"; NULL where the library does not. conv may be NULL. */
const char *cuda_dnn_name(const cuda_dnn_conv *conv, cuda_conv_pass pass);
/* Whether that takes fewer products (hal_conv_shape.winograd). */
bool cuda_dnn_is_winograd(const cuda_dnn_conv *conv, cuda_conv_pass pass);
/* Bytes of device memory that it works in. */
size_t cuda_dnn_workspace(const cuda_dnn_conv *conv, cuda_conv_pass pass);

/* c = the pass of a and b, or with `add` c and that:
 *      forward   x, filter -> y            data   filter, dy -> dx            weights   x, dy -> filter's gradient
 * All aligned to CUDA_DNN_ALIGNED, workspace to 256. CUDA_REFUSED: the library does not do it after all, which is
 * logged; from here on cuda_dnn_name says so too. */
int cuda_dnn_run(cuda_dnn_conv *conv, cuda_conv_pass pass, const void *a, const void *b, void *c, bool add,
                 void *workspace);

void cuda_dnn_close(cuda_dnn *dnn);
/* "cuDNN 9.6", or "no cuDNN". */
void cuda_dnn_library(char *text, size_t bytes);

#ifdef __cplusplus
}
#endif

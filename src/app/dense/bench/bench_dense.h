/*
 * app/dense/bench/bench_dense.h: what the files of `weft bench dense` share.
 *
 *      forward    y = conv(x) + bias, and ReLU where one follows
 *      data       dx from dy
 *      weights    dweight, and dbias, from x and dy
 *
 * A linear layer is the same on images of one pixel, by products of matrices.
 *
 * The *peak* of a pass is the best rate at which its own primitive was seen alone: the fastest repetition of all, with
 * the whole batch, and with an image a thread, whose operands stay in the caches where they fit.
 */
#ifndef WEFT_APP_DENSE_BENCH_BENCH_DENSE_H
#define WEFT_APP_DENSE_BENCH_BENCH_DENSE_H

#include "app/bench/bench_run.h"
#include "dense/engine/dense_model.h"
#include "hal/hal.h"

typedef enum dense_pass { DENSE_FORWARD, DENSE_BACKWARD_DATA, DENSE_BACKWARD_WEIGHTS, DENSE_PASSES } dense_pass;

typedef struct dense_question {
    hal_conv_shape shape; /* a linear layer is a convolution of images of one pixel */
    bool linear;
    int64_t images, few; /* images of the batch; images of the small batch, one a thread (0: no small batch) */
    bool rounds_sums, rounds_gradient; /* see hal_conv_info */
} dense_question;

typedef struct dense_result {
    bench_result run; /* time.seconds.count 0: the network does without this pass */
    double flops;     /* of one run */
    double peak;      /* operations a second */
} dense_result;

/* Measures the passes of one layer, and checks samples of their results against sums in double precision. name: of the
 * layer, in messages. */
weft_status bench_dense_case(bench_run *run, const char *name, const dense_question *question,
                             dense_result result[DENSE_PASSES]);

/* Host copies of the operands of a layer: x [images * pixels, in], weight [out, terms], bias [out] or NULL, dy like y.
 * */
typedef struct dense_operands {
    const float *x, *weight, *bias, *dy;
} dense_operands;
/* Returns the largest error of samples of `given` over its bound; infinite if a sample is not a number. given: y, dx or
 * dweight, in the type in which the pass writes it. question: its shape.winograd, rounds_sums and rounds_gradient say
 * how the pass computed. */
double bench_dense_error(const dense_question *question, dense_pass pass, const dense_operands *operands,
                         const void *given);

/* Measures training steps of a network on one batch (forward, loss, backward, update by SGD) in one process. config:
 * for training, with one number of images. [out] loss: of the last step; not a number if something is wrong. */
weft_status bench_dense_step(bench_run *run, const dense_config *config, bench_pair *time, double *loss);

extern const char *const dense_pass_names[DENSE_PASSES];
extern const bench_kind bench_dense;

#endif

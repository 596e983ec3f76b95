/*
 * app/dense/bench/bench_dense.h: what the files of `weft bench dense` share.
 *
 *      forward    y = conv(x) + bias, and ReLU where one follows
 *      data       dx from dy
 *      weights    dweight, and dbias, from x and dy
 *
 * A linear layer is the same on images of one pixel, by products of matrices.
 */
#ifndef WEFT_APP_DENSE_BENCH_BENCH_DENSE_H
#define WEFT_APP_DENSE_BENCH_BENCH_DENSE_H

#include "app/bench/bench_run.h"
#include "dense/engine/dense_model.h"

typedef enum dense_pass { DENSE_FORWARD, DENSE_BACKWARD_DATA, DENSE_BACKWARD_WEIGHTS, DENSE_PASSES } dense_pass;

/* Operands of a layer; those before Y are inputs, which are filled and kept on the host too. x, dx: [images * pixels,
 * in]; y, dy: [images * pixels, out]; weights: [out, terms]; bias: [1, out], empty without one. */
enum { X, WEIGHT, BIAS, DY, Y, DX, DWEIGHT, DBIAS, OPERANDS };

/* A layer whose passes are measured. */
typedef struct dense_case {
    weft_hal *hal;
    hal_conv_shape shape;
    int64_t batch;      /* images of the operands */
    int64_t images;     /* images of the runs under way */
    dense_pass pass;    /* of the runs under way */
    hal_conv *conv;     /* NULL: a linear layer */
    hal_conv_info info; /* how conv computes */
    weft_tensor t[OPERANDS];
    float *host[Y];
    void *given; /* room for the result of a pass, in its type */
} dense_case;

/* Measures the passes of a layer. [out] time: of the whole batch; time.seconds.count 0: the network does without the
 * pass. [out] peak: operations a second of the fastest repetition, with the whole batch, or with `few` images (0: not
 * measured). name: of the layer, in messages. */
weft_status bench_dense_case(bench_run *run, const char *name, dense_case *c, bool linear, int64_t few,
                             bench_result result[DENSE_PASSES], double peak[DENSE_PASSES]);
/* Operations of a pass. */
double bench_dense_flops(const hal_conv_shape *shape, int64_t images);
/* Computes an element of the result of c->pass again (bench_case.element). */
bench_sum bench_dense_element(const void *self, int64_t at);

/* Measures training steps of a network on one batch (forward, loss, backward, update by SGD) in one process. config:
 * for training, with one number of images. [out] loss: of the last step; not a number if something is wrong. */
weft_status bench_dense_step(bench_run *run, const dense_config *config, bench_pair *time, double *loss);

extern const char *const dense_pass_names[DENSE_PASSES];
extern const bench_kind bench_dense;

#endif

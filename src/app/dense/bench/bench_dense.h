/*
 * app/dense/bench/bench_dense.h: what the files of `weft bench dense` share. A linear layer is a
 * convolution of images of one pixel, computed by products of matrices.
 */
#pragma once

#include "app/bench/bench.h"
#include "dense/engine/dense_model.h"

typedef enum dense_pass {
    DENSE_FORWARD,          /* y = conv(x) + bias, and ReLU where one follows */
    DENSE_BACKWARD_DATA,    /* dx from dy */
    DENSE_BACKWARD_WEIGHTS, /* dweight, and dbias, from x and dy */
    DENSE_PASSES
} dense_pass;

/* Operands of a layer; those before Y are inputs. x, dx: [images * pixels,
 * in]; y, dy: [images * pixels, out]; weights: [out, terms]; bias: [1, out], empty without one. */
enum { X, WEIGHT, BIAS, DY, Y, DX, DWEIGHT, DBIAS, OPERANDS };

enum { DENSE_SHAPE_BYTES = 128 };

/* Layers of one shape. */
typedef struct dense_layers {
    const char *first; /* its name */
    int count;
    char text[DENSE_SHAPE_BYTES]; /* of the shape: what is alike reads alike */
    hal_conv_shape shape;         /* a linear layer is a convolution of images of one pixel */
    bool linear;
} dense_layers;

typedef struct dense_bench {
    bench_run run;
    network net;
    unit_list list;
    dense_layers *layers; /* [kinds] */
    int kinds;
    dense_layers all; /* the whole step */
    int64_t images;
    dense_config config;
    double flops, seconds_at_peak; /* of the passes of all layers so far, with a team */
    bool valid;                    /* they are */
} dense_bench;

/* A layer whose passes are measured. */
typedef struct dense_case {
    weft_hal *hal;
    const dense_layers *layers; /* NULL: the whole step */
    hal_conv_shape shape;
    int64_t extent[2];  /* rows and columns of places of y */
    int64_t batch;      /* images of the operands */
    int64_t few;        /* images of the small batch, one a thread; 0: there is none */
    int64_t images;     /* images of the runs under way */
    dense_pass pass;    /* of the runs under way */
    bench_array *to;    /* what the pass gives */
    hal_conv *conv;     /* NULL: a linear layer */
    hal_conv_info info; /* how conv computes */
    bench_array a[OPERANDS];
} dense_case;

/* Computes an element of the result of c->pass again (bench_case.element). */
bench_sum bench_dense_element(const void *self, int64_t at);

/* Measures training steps of the network on one batch: forward, loss, backward, update by SGD. */
weft_status bench_dense_step(dense_bench *b, bench_result *result);

extern const bench_kind bench_dense;

/*
 * clicks/model/click_kernels.h: arithmetic of samples [begin, end) of a batch, by instruction set. Samples are
 * independent, so threads share them out (click_each_sample), and bits do not depend on the number of threads.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hal/hal.h"

/* Bags of a batch: [samples, fields * stride] with stride = width + linear, and what is made of them. */
typedef struct click_fields {
    int64_t fields, width, stride;
    bool linear, fm;
    bool of_ids; /* fm adds up pairs of ids, not of fields: behind the fields stands a sample's sum of squares of ids */
    const float *pooled;
    float *dpooled;
    int64_t ld; /* of pooled and dpooled */
    /* [samples, fields * width at least] vectors without the linear weights; NULL: nobody reads them. */
    float *x;
    const float *dx;
    int64_t ld_x; /* of x and dx */
    float *sum;   /* [samples, width] of the fields' vectors; with fm */
    float *logit; /* [samples] */
    const float *dlogit;
} click_fields;

/* Dot products of pairs among `vectors` vectors of a sample: `first`, where there is one, then those of the fields. */
typedef struct click_dots {
    int64_t vectors, width;
    bool has_first;
    const float *first; /* [samples, width] */
    float *dfirst;
    int64_t ld_first;
    const float *field; /* [samples, fields * width] */
    float *dfield;      /* written */
    int64_t ld_field, ld_dfield;
    float *y; /* [samples, width + pairs]: first, then (1, 0) (2, 0) (2, 1) (3, 0) ... */
    const float *dy;
    int64_t ld_y;
    float *scratch; /* [threads, click_dots_scratch] */
} click_dots;

/* y = x0 * p + x, and back: dp = dy * x0, dx0 += dy * p; all [samples, cols] without gaps but x, x0 and dx0. */
typedef struct click_cross {
    int64_t cols;
    const float *x0, *x, *p;
    float *y;
    const float *dy;
    float *dp, *dx0;
    int64_t ld_x, ld_x0;
} click_cross;

/* z[r, i * fields + j] = map[r, i] * field[r, j] of rows r, and back from dz. */
typedef struct click_outer {
    int64_t maps, fields;
    const float *map, *field; /* [rows, maps], [rows, fields] */
    float *z;                 /* [rows, maps * fields] */
    const float *dz;
    float *dmap, *dfield; /* dmap is written, dfield added to */
} click_outer;

typedef struct click_kernels {
    void (*gather)(const click_fields *a, int64_t begin, int64_t end);
    void (*spread)(const click_fields *a, int64_t begin, int64_t end);
    void (*dots)(const click_dots *a, int64_t begin, int64_t end, float *scratch);
    void (*dots_backward)(const click_dots *a, int64_t begin, int64_t end, float *scratch);
    void (*cross)(const click_cross *a, int64_t begin, int64_t end);
    void (*cross_backward)(const click_cross *a, int64_t begin, int64_t end);
    void (*outer)(const click_outer *a, int64_t begin, int64_t end);
    void (*outer_backward)(const click_outer *a, int64_t begin, int64_t end);
} click_kernels;
extern const click_kernels click_kernels_base, click_kernels_avx2, click_kernels_avx512;

/* Returns the kernels that this processor runs fastest. */
const click_kernels *click_kernels_get(void);

/* Floats of a thread's scratch memory: vectors, their transpose, and gradients of pairs, padded to CLICK_PAD columns.
 */
enum { CLICK_PAD = 16 };
int64_t click_dots_scratch(int64_t vectors, int64_t width);

/* Calls run(args, begin, end, thread) on this many threads with equal shares of the samples. */
void click_each_sample(const weft_hal *hal, int64_t samples,
                       void (*run)(const void *args, int64_t begin, int64_t end, int thread), const void *args);

/* The kernels dots and dots_backward on all samples. */
void click_dots_forward(const weft_hal *hal, int64_t samples, const click_dots *dots);
void click_dots_backward(const weft_hal *hal, int64_t samples, const click_dots *dots);

/* app/focus/focus_front.h: plans that are compared: answers of networks for a sample become costs and figures. */
#pragma once

#include "app/focus/focus_plan.h"

enum {
    FRONT_NETWORKS = 17, /* the expensive one, and cheap ones */
    FRONT_RUNS = 8,      /* runs of FRONT_RUN consecutive items */
    FRONT_RUN = 64,
    FRONT_STRIDES = 5 /* plans of every s-th item: s = 2, 4, ..., 32 */
};

typedef struct front_network {
    const char *path;
    int64_t rows, classes;
    int64_t *class_of;     /* [classes of the expensive network] that stand for its classes, on rank 0 */
    float *logits;         /* [rows, classes] of the sample, on rank 0 */
    double flops, seconds; /* an item */
} front_network;

typedef struct front_sample {
    int64_t items; /* of the data */
    int64_t *row;  /* [rows] all rows of the sample, ascending */
    int64_t rows;
    int64_t *uniform; /* [uniforms] those that were drawn one by one */
    int64_t uniforms;
    int64_t run[FRONT_RUNS]; /* [runs] first item / FRONT_RUN */
    int64_t runs;
    front_network network[FRONT_NETWORKS]; /* [networks], the expensive one first */
    int networks;
} front_sample;

typedef struct front_goal {
    double recall, precision, delta;
    int64_t labels; /* of a class, that a query sets hi by */
} front_goal;

/* Rank 0; the others return at once. Names of networks stay those of the sample's paths. Not collective. */
weft_status front_make(const front_sample *sample, const front_goal *goal, focus_plan *plan);

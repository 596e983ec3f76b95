/*
 * app/focus/focus_sample.h: what a plan looks at: units that are drawn, and what networks say of them.
 *
 * A unit is what queries count (focus/index/focus_units.h): an item, or the track of several items. Units are drawn
 * uniformly, and in runs of consecutive ones. A cheap network answers for all items of a drawn unit; the expensive one
 * for the item that a query would ask about, which is another one for each cheap network.
 */
#pragma once

#include "app/workload/workload.h"

enum {
    FRONT_NETWORKS = 17, /* the expensive one, and cheap ones */
    FRONT_RUNS = 8,      /* runs of FRONT_RUN consecutive units */
    FRONT_RUN = 64,
    FRONT_STRIDES = 5 /* plans of every s-th item or frame: s = 2, 4, ..., 32 */
};

/* A network, and what it says of the sample's units. Arrays are on rank 0 alone. */
typedef struct front_network {
    const char *path;
    int64_t classes;
    name_list names;       /* of its classes, where they have some */
    int64_t *class_of;     /* [classes of the expensive network] that stand for its classes */
    uint16_t *code;        /* [units, classes] scores, as a query reads them in an index */
    int64_t *asked;        /* [units] row of the data that a query asks the expensive network about */
    int32_t *class;        /* [units] the likeliest class there */
    int32_t *truth;        /* [units] what the expensive network says there */
    double flops, seconds; /* an item */
} front_network;

typedef struct front_sample {
    int64_t items, units; /* of the data; different where items have tracks */
    int64_t *unit;        /* [drawn] the sample, ascending */
    int64_t drawn;
    int64_t *row, *owner; /* [rows] items of these units, ascending, and whose they are: places in `unit` */
    int64_t rows;
    int64_t *uniform; /* [uniforms] units that were drawn one by one */
    int64_t uniforms;
    int64_t run[FRONT_RUNS]; /* [runs] first unit / FRONT_RUN */
    int64_t runs;
    item_origin *origin;                   /* [items] where they have tracks; else NULL */
    int64_t stride_runs[FRONT_STRIDES];    /* with tracks: items of every s-th frame, */
    double stride_share[FRONT_STRIDES];    /* and the share of all tracks that they come upon */
    front_network network[FRONT_NETWORKS]; /* [networks], the expensive one first */
    int networks;
} front_sample;

/* Draws `labels` units one by one, and the runs, of the data that a network has open. The same on every rank.
 * WEFT_ERR_RESOURCE. */
weft_status front_sample_draw(front_sample *s, const workload *work, int64_t labels, uint64_t seed);
void front_sample_free(front_sample *s);

/* Rank 0: adds up what a network says of sample->row, handed over in this order, and in the end divides. */
typedef struct front_fold {
    const front_sample *sample;
    front_network *network;
    int64_t *sum;   /* [drawn, classes] of codes */
    int64_t *count; /* [drawn] items so far */
    uint16_t *most; /* [drawn] highest code of any class so far */
    double *odds;   /* [classes] */
} front_fold;

/* For focus_scores_run; self: a front_fold. WEFT_ERR_DATA: numbers that are not finite. */
weft_status front_fold_take(void *self, int64_t first, int64_t rows, const float *logits, int64_t classes);
void front_fold_end(front_fold *f);
void front_fold_free(front_fold *f);

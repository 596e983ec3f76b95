/*
 * dense/engine/units.h: units: layers that pass over the same memory and are computed in one go.
 *
 *      conv [relu]                 relu in the convolution's own loop
 *      linear [relu]
 *      norm [add] [relu]           one pass for normalising, the sum and the sign
 *      add [relu]
 *      relu [dropout]
 *      gelu, multiply, concat ... by themselves
 *
 * A layer joins the layer above it if it is the only reader of that layer's output. A *value* is a matrix in memory
 * between units: the network's input, or the output of a unit's last layer.
 */
#pragma once

#include "dense/net/net.h"
#include "hal/op_args.h"

typedef enum unit_kind {
    UNIT_CONV, /* linear layers over more than one pixel too: a kernel as large as the image */
    UNIT_LINEAR,
    UNIT_NORM,
    UNIT_GROUPNORM,
    UNIT_LAYERNORM,
    UNIT_ADD,
    UNIT_GATE,   /* multiply: of a gate of one pixel, that is `other` */
    UNIT_CONCAT, /* the channels of `other`, and then those of x */
    UNIT_ACT,    /* relu, dropout, or both */
    UNIT_CURVE,  /* gelu and its like */
    UNIT_POOL,
    UNIT_SUBSAMPLE,
    UNIT_UPSAMPLE,
    UNIT_SCALE,
    UNIT_GAIN,
    UNIT_EMBED,
    UNIT_POSITION,
    UNIT_ATTENTION,
    UNIT_TOKENMEAN
} unit_kind;

enum { UNIT_NO_VALUE = -1, UNIT_INPUT_VALUE = 0, UNIT_NO_UNIT = -1 };

typedef struct unit {
    unit_kind kind;
    const net_layer *layer; /* the first of its layers: gives names and numbers */
    int x, other, y;        /* values; other: what is added, multiplied or put in front, or UNIT_NO_VALUE */
    bool relu;
    double dropout;
    hal_curve curve;
    int64_t kernel[2]; /* of convolutions and pooling */
} unit;

typedef struct unit_list {
    int units, values;
    unit *unit;
    net_size *size; /* [values] of each value */
    int *maker;     /* [values] the unit that gives it; of the input: UNIT_NO_UNIT */
    int *readers;   /* [values] units that read it; one that reads it twice counts twice */
    int output;     /* the value of the network's last layer */
} unit_list;

/* net: after net_fit, and as long as the list. Layers whose result nobody reads are left out. Free with units_destroy,
 * also after a failure. */
weft_status units_create(const network *net, unit_list *list);
void units_destroy(unit_list *list);

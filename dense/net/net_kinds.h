/* dense/net/net_kinds.h: the table of layer kinds that the parser, the printer and help share. */
#pragma once

#include "dense/net/net.h"

/* What a number of a layer is; those that stand in a row of the table without a default must be given. */
typedef enum net_field {
    NET_FIELD_NONE,
    NET_FIELD_OUT,
    NET_FIELD_KERNEL,
    NET_FIELD_STRIDE,
    NET_FIELD_PAD,
    NET_FIELD_DILATION,
    NET_FIELD_GROUPS,
    NET_FIELD_HEADS,
    NET_FIELD_WORDS,
    NET_FIELD_BIAS,
    NET_FIELD_START,
    NET_FIELD_VALUE,
    NET_FIELD_EPSILON,
    NET_FIELD_FACTOR,
    NET_FIELD_OTHER
} net_field;

enum { NET_NUMBERS_MAX = 2, NET_KEYS_MAX = 6 };

typedef struct net_kind_row {
    const char *word, *usage;
    net_field number[NET_NUMBERS_MAX]; /* in order, all needed */
    net_field key[NET_KEYS_MAX];       /* KEY=VALUE, any order, none needed */
} net_kind_row;

extern const net_kind_row net_kind_rows[NET_KINDS];
/* "stride", the word of a field in front of '='. */
const char *net_field_word(net_field field);
/* The pair that a field sets, or NULL. */
int64_t *net_field_pair(net_layer *layer, net_field field);
/* What the field is when the text does not say. */
void net_layer_defaults(net_kind kind, net_layer *layer);
/* Keys whose default follows another number: pooling moves by its kernel. */
void net_layer_complete(net_layer *layer);

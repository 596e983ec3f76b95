/*
 * embed/exchange/embed_table.h: a table of embeddings: groups of fields, each in a mode of its own.
 *
 * Bags and sums of a batch pass to the only group as they are. Where there are several groups, each gets bags of its
 * fields, and its columns go to and from their places:
 *
 *     fields of the table    0 1 2 3 4        modes    a r a a r
 *     group all-to-all       0 2 3            pooled   [samples, 3 * stride]
 *     group replicate        1 4              pooled   [samples, 2 * stride]
 *
 * Memory: a copy of keys (of two batches with embed_ahead), sums and gradients of a batch, where there are several
 * groups. Keys keep the numbers of the table's fields.
 */
#pragma once

#include "embed/exchange/bag_store.h"
#include "embed/exchange/embed_group.h"

/* The bags of a group's fields. */
typedef struct table_part {
    embed_bags bags;
    bag_store own; /* what bags point to */
} table_part;

/* A group of fields, and its part of a batch where there are several. */
typedef struct table_group {
    embed_group *rows;
    int fields;
    table_part part[2]; /* of the batch, and of the one that comes next */
    float *number;      /* [samples, fields * stride + squares]: sums, then their gradients */
    int64_t numbers;
} table_group;

/* Where a field is. */
typedef struct field_place {
    int group, place; /* place: among the fields of the group */
} field_place;

struct embed_table {
    weft_comm *comm;
    embed_desc desc; /* mode_of: NULL */
    int stride;
    int groups;
    table_group group[EMBED_MODES_COUNT];
    field_place *place;                  /* [fields] */
    int now;                             /* which part of a group is that of the batch */
    uint64_t ahead;                      /* name of the batch whose bags the other part holds; 0: of none */
    embed_table *lane[EMBED_LANES_MOST]; /* [lanes] that share the rows */
    int lanes;
};

/*
 * embed/exchange/embed_group.h: fields of a table of embeddings that are in one mode: a table of their own, with its
 * rows and messages. What a table (embed/exchange/embed_table.h) is asked for, its groups do one after the other.
 */
#pragma once

#include "embed/embed.h"
#include "embed/exchange/bag_route.h"
#include "embed/exchange/row_route.h"
#include "embed/exchange/split_route.h"
#include "embed/rows/row_store.h"

/* The batch that comes next (embed/exchange/embed_ahead.c). */
typedef enum ahead_stage { AHEAD_NONE, AHEAD_KEYS, AHEAD_ROWS } ahead_stage; /* what travels */
typedef struct group_ahead {
    ahead_stage stage;
    uint64_t batch; /* its name (embed_bags) */
    bool void_rows; /* the rows are others now: what travels is of no use */
    bag_index index;
    int64_t *row;     /* [keys that this rank owns] in the store, as they were when values left */
    int64_t *changed; /* rows that changed since, then room for their values */
    int32_t *place;   /* of each key that this rank owns, among those: -1: it has not changed */
    float *value;     /* of changed rows */
    int64_t held;     /* keys that row, changed and place have room for */
    int64_t values;   /* that `value` has room for */
    int64_t expired;  /* rows that had left when values left */
} group_ahead;

typedef struct embed_group {
    weft_comm *comm;
    embed_desc desc;
    int width, stride;            /* of the columns that this rank holds: all, but in mode columns */
    uint64_t seed;                /* of which rank owns which key */
    row_store *store;             /* rows of the keys that this rank owns */
    const struct embed_group *of; /* the group whose store it is, of a lane (embed_open_lane); NULL: its own */
    row_route route;              /* of modes all-to-all and replicate: to owners */
    row_route in_node;            /* in front of it, where keys are gathered in nodes (gathers) */
    bool gathers;
    bag_index of_node; /* a view of the keys that in_node brings */
    bag_route bags;    /* of modes des and columns */
    split_route split; /* of mode columns */
    group_ahead ahead;
    /* ---- of the batch ---- */
    bag_index index; /* of this rank's bags; mode des: of the bags of all ranks, with keys that this rank owns */
    int64_t owned;   /* keys of the batch that this rank owns */
    int64_t *row;    /* [owned] in the store */
    int64_t rows;    /* that `row` has room for */
    float *gradient; /* [index.distinct, stride] */
    int64_t gradients;
    const float *value; /* [index.distinct, stride]: rows, until gradients are sent */
    float *square;      /* [index.distinct] with desc.squares: |v|^2 of each key, then its gradient */
    int64_t squares;    /* that `square` has room for */
    /* ---- of the batch, mode des ---- */
    embed_sums sums;
    int64_t *sample_at; /* [samples of all ranks + 1] where the keys of each sample begin */
    int64_t samples;    /* that sample_at has room for */
    float *number;      /* [index.distinct, stride]: rows */
    float *given;       /* [index.distinct, columns]: what each key gives to its samples, then its gradient */
    int64_t numbers, givens;
} embed_group;

/* As the functions of embed/embed.h, whose names end alike; `mode` of desc is that of the group. */
weft_status embed_group_open(weft_comm *comm, const embed_desc *desc, int64_t most, embed_group **group);
/* From now on the rows are those of `of`, which is alike and outlives the group. */
void embed_group_share(embed_group *group, const embed_group *of);
void embed_group_close(embed_group *group);
weft_status embed_group_forward(embed_group *group, const embed_bags *bags, bool training, float *pooled, int64_t ld);
weft_status embed_group_ahead(embed_group *group, const embed_bags *bags);
weft_status embed_group_ahead_rows(embed_group *group);
weft_status embed_group_backward(embed_group *group, const float *dpooled, int64_t ld, double rate);
int embed_group_sums_columns(const embed_group *group, const embed_sums *sums);
weft_status embed_group_sums_forward(embed_group *group, const embed_sums *sums, const embed_bags *bags,
                                     const int64_t *samples_of, bool training, float *total, int64_t ld);
weft_status embed_group_sums_backward(embed_group *group, const float *dtotal, int64_t ld, double rate, float *dweight);
weft_status embed_group_clear(embed_group *group, uint64_t seed);
/* A pass of a lane begins: rows that were read or cleared since stand in another store. */
static inline void embed_group_follow(embed_group *group)
{
    if (group->of != NULL) {
        group->store = group->of->store;
    }
}
/* Returns true if every rank has rows of all keys. */
static inline bool embed_group_shares_keys(const embed_group *group)
{
    return group->desc.mode == EMBED_REPLICATE || group->desc.mode == EMBED_COLUMNS;
}
/* [out] whole: a store of the whole rows of the keys that this rank owns, of a group in mode columns; the caller closes
 * it. Takes as much memory as its rows. Collective. */
weft_status embed_group_join_columns(const embed_group *group, row_store **whole);
/* Figures of the rows that this rank answers for, over all ranks each row once. Local. */
embed_figures embed_group_figures(const embed_group *group);

/* Finds the rows of table->owned keys as row_store_touch does, after those left that no batch named for long. */
weft_status embed_touch(embed_group *table, const uint64_t *key, const int32_t *times, bool training);
/* Mode all-to-all or replicate, more than one rank, and desc.ahead. */
bool embed_group_looks_ahead(const embed_group *group);
/* Values of the batch, of which keys and values travelled ahead; false: they did not, and what travelled is forgotten.
 * Collective. */
weft_status embed_ahead_take(embed_group *group, const embed_bags *bags, bool training, bool *taken);
/* Distinct keys of bags for messages; local. WEFT_ERR_INTERNAL: more keys than messages hold. */
weft_status embed_index_bags(const embed_group *group, const embed_bags *bags, bag_index *index);
/* Room for the places of `rows` rows. */
weft_status embed_take_rows(embed_group *table, int64_t rows);
/* The gradients of index.distinct rows have room. */
weft_status embed_take_gradients(embed_group *table);
/* A block of floats that is at least so large; what it held is gone. */
weft_status embed_take_floats(float **block, int64_t *held, int64_t count);
/* What desc.squares asks for. Columns of pooled and its gradient. */
static inline int64_t embed_columns(const embed_group *table)
{
    return (int64_t)table->desc.fields * table->stride + (table->desc.squares ? 1 : 0);
}
/* table->square of table->value, and room for it. */
weft_status embed_take_squares(embed_group *table);
void embed_square_rows(embed_group *table);
/* Adds to table->gradient what the last column of dpooled [samples, embed_columns] gives to rows. */
void embed_add_squares(embed_group *table, const float *dpooled, int64_t ld);
/* embed_forward and embed_backward of mode des (embed/exchange/embed_partial.c). */
weft_status embed_partial_forward(embed_group *table, const embed_bags *bags, bool training, float *pooled, int64_t ld);
weft_status embed_partial_backward(embed_group *table, const float *dpooled, int64_t ld, double rate);
/* Forward and backward passes of a group in mode columns (embed/exchange/embed_split.c). */
weft_status embed_split_forward(embed_group *table, const embed_bags *bags, bool training, float *pooled, int64_t ld);
weft_status embed_split_backward(embed_group *table, const float *dpooled, int64_t ld, double rate);

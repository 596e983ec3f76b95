/* embed/exchange/embed_internal.h: a table of embeddings, as the files of embed/exchange see it. */
#pragma once

#include "embed/embed.h"
#include "embed/exchange/row_route.h"
#include "embed/rows/row_store.h"

struct embed_table {
    weft_comm *comm;
    embed_desc desc;
    int stride;
    row_store *store; /* rows of the keys that this rank owns */
    row_route route;
    /* ---- of the batch ---- */
    bag_index index; /* of this rank's bags */
    int64_t owned;   /* keys of the batch that this rank owns */
    int64_t *row;    /* [owned] in the store */
    int64_t rows;    /* that `row` has room for */
    float *gradient; /* [index.distinct, stride] */
    int64_t gradients;
};

/* embed/exchange/embed_partial.h: what the passes of mode des share: rows of the keys that this rank owns, in the bags
 * of all ranks, and their sums. */
#pragma once

#include "embed/exchange/embed_group.h"

/* t->bags.bags are there. Fills t->index from `view`, bags with the same keys, and t->number. Local. */
weft_status embed_partial_rows(embed_group *t, const embed_bags *view, bool training);
/* The terms of each key, which partial sums add up. */
typedef struct partial_terms {
    const float *value; /* [t->index.distinct, stride] */
    int stride;
    bool squares;                 /* there are squares: a rank without a key of the batch has none, and sums of 0 */
    const float *square;          /* [t->index.distinct] with leading dimension square_ld, by the squares of weights */
    int64_t square_ld, square_at; /* column of their sum */
} partial_terms;

/* total: [samples of this rank, t->bags.columns], of `view` the sums of terms; a sample of view has view->fields *
 * stride columns, and what stands in column square_at is replaced. Collective. */
weft_status embed_partial_sums(embed_group *t, const embed_bags *view, const partial_terms *terms, float *total,
                               int64_t ld);

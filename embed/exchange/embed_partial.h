/* embed/exchange/embed_partial.h: what the passes of mode des share: rows of the keys that this rank owns, in the bags
 * of all ranks, and their sums. */
#pragma once

#include "embed/exchange/embed_internal.h"

/* t->bags.bags are there. Fills t->index from `view`, bags with the same keys, and t->number. Local. */
weft_status embed_partial_rows(embed_table *t, const embed_bags *view, bool training);
/* total: [samples of this rank, t->bags.columns], of `view` the sums of value [t->index.distinct, stride]; a sample of
 * view has view->fields * stride columns. Collective. */
weft_status embed_partial_sums(embed_table *t, const embed_bags *view, const float *value, int stride, float *total,
                               int64_t ld);

/*
 * tune/search/importance.h: which dimensions of a space matter.
 *
 * What a dimension explains by itself is the variance, over its values, of the model's expected score with all other
 * dimensions averaged out, as a share of the variance over the whole space. Shares add up to less than 1 where
 * dimensions matter together. The model brings bad scores nearer (tune/search/surrogate.h), so shares tell what matters
 * among configurations that are not hopeless.
 *
 * F. Hutter, H. Hoos, K. Leyton-Brown: An efficient approach for assessing hyperparameter importance. ICML 2014.
 */
#pragma once

#include "tune/search/searcher.h"

/* [out] share [dimensions]: 0 to 1; all NaN where fewer than IMPORTANCE_VALUES values are known, or all are alike. */
enum { IMPORTANCE_VALUES = 5 };
weft_status searcher_importance(searcher *s, double *share);

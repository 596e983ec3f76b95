/*
 * train/param_patterns.h: parameters that train slower than others, or not at all, chosen by patterns of names.
 *
 * A pattern is that of a shell (* ? [a-z]) and has to fit the whole name of a parameter, such as layer1.* or *.bias.
 * What stands still keeps its bits: neither gradient nor weight decay moves it. Running statistics of norms are no
 * parameters, and go on.
 */
#pragma once

#include "train/param.h"

typedef struct param_pattern_figures {
    int64_t frozen, scaled; /* elements that stand still, and that have a rate of their own */
} param_pattern_figures;

/*
 * freeze: patterns, separated by commas; scales: PATTERN=X, separated by commas: X times the learning rate, of which
 * the last one that fits a name counts. Both may be "". Before training begins: every block gets its rate anew.
 * WEFT_ERR_USAGE: a pattern that fits no parameter, or some of those only that share a block, X is no number from 0 to
 * 1e6, or nothing is left to train; the message has names. Local.
 */
weft_status param_patterns_apply(param_store *store, const char *freeze, const char *scales,
                                 param_pattern_figures *figures);

/* trees/tree_choices.h: choices of trees/tree_options.def. */
#pragma once

#include "base/option_words.h"

#define TREE_ORDERS(X)                                                                                                 \
    X(TREE_ORDER_AUTO, "auto")                                                                                         \
    X(TREE_ORDER_LEVELS, "levels")                                                                                     \
    X(TREE_ORDER_LEAVES, "leaves")
#define TREE_SAMPLINGS(X)                                                                                              \
    X(TREE_SAMPLING_UNIFORM, "uniform")                                                                                \
    X(TREE_SAMPLING_GOSS, "goss")
typedef enum tree_sampling { TREE_SAMPLINGS(CHOICE_VALUE) } tree_sampling;
#define TREE_BOOSTERS(X)                                                                                               \
    X(TREE_BOOSTER_GBTREE, "gbtree")                                                                                   \
    X(TREE_BOOSTER_DART, "dart")
typedef enum tree_booster { TREE_BOOSTERS(CHOICE_VALUE) } tree_booster;
typedef enum tree_order { TREE_ORDERS(CHOICE_VALUE) } tree_order;

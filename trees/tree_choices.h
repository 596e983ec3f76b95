/* trees/tree_choices.h: choices of trees/tree_options.def. */
#pragma once

#include "base/option_words.h"

#define TREE_ORDERS(X)                                                                                                 \
    X(TREE_ORDER_AUTO, "auto")                                                                                         \
    X(TREE_ORDER_LEVELS, "levels")                                                                                     \
    X(TREE_ORDER_LEAVES, "leaves")
typedef enum tree_order { TREE_ORDERS(CHOICE_VALUE) } tree_order;

/* clicks/click_choices.h: choices of clicks/click_options.def. */
#pragma once

#include "base/option_words.h"

/* Models; clicks/model/click_kinds.h has what they are made of. */
#define CLICK_MODELS(X)                                                                                                \
    X(CLICK_LR, "lr")                                                                                                  \
    X(CLICK_FM, "fm")                                                                                                  \
    X(CLICK_WIDE_DEEP, "wide-deep")                                                                                    \
    X(CLICK_DEEPFM, "deepfm")                                                                                          \
    X(CLICK_DCN, "dcn")                                                                                                \
    X(CLICK_DCN_V2, "dcn-v2")                                                                                          \
    X(CLICK_DLRM, "dlrm")                                                                                              \
    X(CLICK_XDEEPFM, "xdeepfm")                                                                                        \
    X(CLICK_PARTS, "parts") /* those that the user names */
typedef enum click_kind { CLICK_MODELS(CHOICE_VALUE) CLICK_KINDS } click_kind;

/* Who sends ids to owners on other nodes? */
#define CLICK_GROUPS(X)                                                                                                \
    X(CLICK_GROUP_RANK, "rank")                                                                                        \
    X(CLICK_GROUP_NODE, "node") /* keys of the ranks of a node go together */
typedef enum click_groups { CLICK_GROUPS(CHOICE_VALUE) } click_groups;

/* Do ids of the next batch travel while this one computes? */
#define CLICK_AHEADS(X)                                                                                                \
    X(CLICK_AHEAD_AUTO, "auto") /* where ranks are on several nodes */                                                 \
    X(CLICK_AHEAD_ON, "on")                                                                                            \
    X(CLICK_AHEAD_OFF, "off")
typedef enum click_ahead { CLICK_AHEADS(CHOICE_VALUE) } click_ahead;

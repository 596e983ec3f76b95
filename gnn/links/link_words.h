/* gnn/links/link_words.h: words of options about links. */
#pragma once

#include "base/option_words.h"

/* --task: what a network on a graph answers for. */
#define LINK_TASKS(X)                                                                                                  \
    X(LINK_TASK_VERTEX, "vertex")                                                                                      \
    X(LINK_TASK_LINK, "link")
typedef enum link_task { LINK_TASKS(CHOICE_VALUE) } link_task;

/* --link-loss */
#define LINK_LOSSES(X)                                                                                                 \
    X(LINK_LOSS_BCE, "bce")                                                                                            \
    X(LINK_LOSS_BPR, "bpr")
typedef enum link_loss { LINK_LOSSES(CHOICE_VALUE) } link_loss;

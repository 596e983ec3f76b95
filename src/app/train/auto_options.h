/*
 * app/train/auto_options.h: the options that follow from the graph: --recipe auto and --normalize auto.
 *
 * They are decided once, when the graph is open, and from then on stand in the options as if somebody had typed them,
 * so that run.json, checkpoints and whatever reads those know values and never "auto".
 */
#ifndef WEFT_APP_TRAIN_AUTO_OPTIONS_H
#define WEFT_APP_TRAIN_AUTO_OPTIONS_H

#include "app/setup/context.h"
#include "graph/graph.h"

/*
 * context->options becomes a copy of what it was with both decided; the copy is the context's. What is decided is
 * logged with its reason. training: false for a trained model, whose features stay as they are unless its makers or the
 * user say otherwise. Collective.
 */
weft_status auto_options_decide(app_context *context, const weft_graph *graph, bool training);

#endif

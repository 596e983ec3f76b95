/*
 * app/gnn/auto_options.h: the options that follow from the graph where they say auto: --recipe, --normalize,
 * --feature-form, --edge-weights, --last-layer.
 *
 * They are decided once, when the graph is open, and from then on stand in the options as if somebody had typed them,
 * so that run.json, checkpoints and whatever reads those know values and never "auto".
 */
#pragma once

#include "app/gnn/options/gnn_options.h"
#include "comm/comm.h"
#include "gnn/facts.h"

/* In `options`, logged with the reason. training: false for a trained model, whose features stay as they are unless
 * its makers or the user say otherwise. [out] facts: what was looked at for it, zeros where nothing had to be.
 * WEFT_ERR_USAGE: sparse features are asked for beside a scaling that leaves no zeros, or weights of edges for a model
 * or a matrix that takes none; WEFT_ERR_DATA: of a graph without. Collective. */
weft_status auto_options_decide(weft_comm *comm, const weft_graph *graph, bool training, weft_options *options,
                                gnn_facts *facts);

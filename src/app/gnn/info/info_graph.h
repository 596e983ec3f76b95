/* app/gnn/info/info_graph.h: what `weft info` tells of graph stores, and of weights that graph networks have. */
#pragma once

#include "app/workload/workload.h"

/* See workload_ops.info; in app/gnn/info/info_store.c. */
weft_status gnn_info(const workload_subject *subject, bool *known);

/* A line about the network whose weights these are, under names of PyTorch Geometric; in app/gnn/info/info_pyg.c. */
weft_status gnn_info_tensors(safetensors_file *file, const char *path, bool *known);

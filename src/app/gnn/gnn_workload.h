/*
 * app/gnn/gnn_workload.h: full-batch training of graph networks, as a workload: a graph store, divided into parts by
 * edges (partition/partition.h), and the models of gnn/gnn_model.h.
 */
#pragma once

#include "app/workload/workload.h"

extern const workload_ops gnn_workload;

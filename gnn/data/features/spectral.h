/*
 * gnn/data/features/spectral.h: spectral positions of vertices, as features.
 *
 * S = D^-1/2 A D^-1/2 of the graph without directions and self-loops. Its largest eigenvalues belong to vectors that
 * vary slowly along edges: near vertices get near rows. Where the graph has c components, the eigenvalue 1 stands c
 * times.
 */
#pragma once

#include "graph/graph.h"

/*
 * *matrix [n, width], freed by the caller: column j is the eigenvector of the j-th largest eigenvalue, with a mean
 * square of 1 over the vertices, its entry of largest size positive (the first such). The same bits for every number of
 * threads. memory_bytes: limit, 0 = half of what is available. WEFT_ERR_USAGE: fewer vertices than columns;
 * WEFT_ERR_RESOURCE with the bytes that are needed. Not converged after all steps: a warning with the residual, and the
 * vectors as they are.
 */
weft_status spectral_features(const weft_graph *graph, int64_t width, uint64_t seed, int64_t memory_bytes,
                              float **matrix);

/*
 * graph/graph_seal.c: a graph that was checked once is not checked again while its files stay as they are
 * (io/store/store_seal.h). Labels and split are always checked: they take n steps, where the rest takes every edge and
 * feature (5 s of processor time for 115 million edges and 140 million features).
 */
#include "graph/graph.h"
#include "io/store/store_seal.h"

weft_status graph_validate_once(const char *store, const weft_graph *graph)
{
    if (store_is_sealed(store, graph->seal)) {
        return graph_validate_labels(graph);
    }
    WEFT_TRY(graph_validate(graph));
    store_seal_keep(store, graph->seal);
    return WEFT_OK;
}

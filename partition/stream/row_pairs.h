/*
 * partition/stream/row_pairs.h: pairs of neighbours as they lie in the rows of a team.
 *
 * A pair {u, v} is one or two runs of entries: those of source u in row v, and those of source v in row u. Of a
 * symmetric graph both are there, equally long. A pair is placed where a walk over all rows meets it first, and what
 * lies in the higher row follows (row_pairs_follow).
 *
 * In a directed graph a row does not show whether the other direction of a pair exists. If that direction would lie in
 * a row of another rank, the rank of the higher row asks for each of its entries, in rounds of bounded size. Afterwards
 * both ranks know; this takes
 * 2 bytes an edge of a rank's own rows.
 */
#pragma once

#include "partition/row_team.h"

typedef struct row_pairs {
    const row_team *team;
    /* [edges of own rows] At the first entry of a run whose source belongs to another rank: the number of entries of
     * the other direction (in higher rows, up to UINT16_MAX), or whether there are any (in lower rows). NULL if the
     * graph is symmetric or the rank is alone. */
    uint16_t *across;
} row_pairs;

/* Bytes that row_pairs_open keeps. */
uint64_t row_pairs_memory(const row_team *team);
/* Collective. Free with row_pairs_close, also after a failure. */
weft_status row_pairs_open(const row_team *team, row_pairs *pairs);
void row_pairs_close(row_pairs *pairs);

/* edge_part [edges of own rows]: of pairs placed where they are met first; else PARTITION_NO_PART, which becomes that
 * of the pair, but for self-loops. next [n]: scratch; 8 bytes a vertex more for each thread but the first; a team's
 * ranks have one each. WEFT_ERR_DATA: the graph says that it is symmetric and is not, or rows do not ascend.
 * Collective. */
weft_status row_pairs_follow(const row_pairs *pairs, int threads, uint16_t *edge_part, int64_t *next);

/* The first entry of row v with source u, or -1. */
static inline int64_t row_entry_of(const weft_graph *graph, int64_t v, int64_t u)
{
    const int64_t e = graph_first_from(graph, v, u);
    return e < graph->offset[v + 1] && graph_source(graph, e) == u ? e : -1;
}

static inline bool row_repeats(const weft_graph *graph, int64_t v, int64_t e)
{
    return e > graph->offset[v] && graph_source(graph, e - 1) == graph_source(graph, e);
}

static inline int64_t row_run_length(const weft_graph *graph, int64_t v, int64_t e)
{
    int64_t end = e + 1;
    while (end < graph->offset[v + 1] && graph_source(graph, end) == graph_source(graph, e)) {
        ++end;
    }
    return end - e;
}

/* Entries of source v in row u, where entry e, the first of its run, of row v has source u. */
static inline int64_t row_pairs_back(const row_pairs *pairs, int64_t v, int64_t e, int64_t u)
{
    const row_team *team = pairs->team;
    if (pairs->across != NULL && !row_team_owns(team, u)) {
        return pairs->across[e - team->graph->offset[team->begin]];
    }
    const int64_t back = row_entry_of(team->graph, u, v);
    return back >= 0 ? row_run_length(team->graph, u, back) : 0;
}

/* Is entry e of row v, with source u, where a walk over all rows first meets the pair? */
static inline bool row_pairs_first(const row_pairs *pairs, int64_t v, int64_t e, int64_t u)
{
    const weft_graph *graph = pairs->team->graph;
    if (u == v || row_repeats(graph, v, e)) {
        return false;
    }
    return u > v || (!graph->symmetric && row_pairs_back(pairs, v, e, u) == 0);
}

/* No entry of row v before this one is where a pair is met first. */
static inline int64_t row_pairs_begin(const row_pairs *pairs, int64_t v)
{
    const weft_graph *graph = pairs->team->graph;
    return graph->symmetric ? graph_first_from(graph, v, v + 1) : graph->offset[v];
}

/* Edges of the pair that is first met at entry e of row v, both directions and repetitions counted. */
static inline int64_t row_pairs_edges(const row_pairs *pairs, int64_t v, int64_t e, int64_t u)
{
    const weft_graph *graph = pairs->team->graph;
    const int64_t here = row_run_length(graph, v, e);
    if (graph->symmetric) {
        return 2 * here;
    }
    return here + (u > v ? row_pairs_back(pairs, v, e, u) : 0);
}

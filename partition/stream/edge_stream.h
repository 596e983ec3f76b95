/*
 * partition/stream/edge_stream.h: a vertex-cut of edges that are read as they lie in the store, a few times, and never
 * copied.
 *
 *   homes of vertices                                           homes.h
 *   -> where a design promises fewer replicas than homes, pairs go by it, and that is all      design_pairs.h
 *   -> pairs whose ends have the same home go there, while it has room
 *   -> every other pair {u, v} goes, in the order of rows, to the part with the highest
 *
 *          [u is there] (1 + d(v) / (d(u) + d(v)))  +  [v is there] (1 + d(u) / (d(u) + d(v)))
 *              +  EVEN_EDGES (most edges - edges) / (most - fewest)
 *              +  EVEN_ROWS (most vertices - vertices) / (most - fewest)
 *
 *      among those with room for its edges; the last term counts where a vertex would be added, and is full where none
 *      would. Vertices of high degree are cut first. Parts with ROWS_LIMIT times the mean vertices take no new ones
 *      while another can. Of parts with shares, edges and vertices are counted beside a part's share.
 *
 * Only parts that hold an end, and the part that gains most by evenness, can be highest: a pair costs O(these parts),
 * whatever the number of parts. All counts have 64 bits. Memory: at most 60 bytes a vertex (homes.h), or parts / 8 + 12
 * where that is more; for edges nothing but the result, but for a team and a directed graph (row_pairs.h). Pairs are
 * placed one by one; threads, as many as that memory is enough for, lead their second directions after them: any number
 * of threads gives the same.
 *
 * In a team (partition/row_team.h) each rank places the pairs that its rows meet first. Between blocks of rows it
 * learns which vertices each part holds by now; until then each rank uses its share of a part's remaining room. The
 * rank that has the second direction of a pair learns its part from the rank that placed the first. The result depends
 * on the number of ranks and on nothing else.
 *
 * Two phases, clusters first: R. Mayer, K. Orujzade, H.-A. Jacobsen: Out-of-core edge partitioning at linear run-time.
 * ICDE 2022, arXiv 2203.12721; the score: F. Petroni et al.: HDRF: stream-based partitioning for power-law graphs. CIKM
 * 2015, doi:10.1145/2806416.2806424. Clusters by rows and vertices in the balance are our own.
 */
#pragma once

#include "partition/row_team.h"

/* Bytes that edge_stream_assign takes at most, without messages and what becomes the result. */
uint64_t edge_stream_memory(const row_team *team, int parts);

/* By a design where that promises fewer replicas, and else by scores; or only one of the two. */
typedef enum edge_stream_way { STREAM_BEST, STREAM_BY_SCORES, STREAM_BY_DESIGN } edge_stream_way;

typedef struct edge_stream_options {
    int parts, threads;
    edge_stream_way way;
    double balance;      /* allowed edges of a part over the mean */
    const double *share; /* [parts] or NULL: partition/shares.h */
    bool first; /* of a team of one: pairs are told where they are met first, the rest stays PARTITION_NO_PART */
} edge_stream_options;

typedef struct edge_stream_result {
    bool by_design; /* else nothing is placed by STREAM_BY_DESIGN */
    double at_home; /* of scores: the share of edges with both ends at home, which tells communities */
} edge_stream_result;

/* [out] edge_part [edges of the team's own rows]: both directions of a pair lie in one part,
 * self-loops are PARTITION_NO_PART; held [n, (parts + 63) / 64] (weft_free): bit p of v's words: part p has an edge of
 * v, on all ranks, or NULL; at_home: the share of edges with both ends at home, which tells communities, or NULL.
 * WEFT_ERR_DATA: the graph says that it is symmetric and is not, or its rows do not ascend. Collective over the
 * team. */
weft_status edge_stream_assign(const row_team *team, const edge_stream_options *options, uint16_t *edge_part,
                               uint64_t **held, edge_stream_result *result);

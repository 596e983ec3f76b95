/*
 * partition/methods/replication.h: for each vertex of a rank's rows, the parts that hold it and how many of its edges
 * lie in each.
 *
 *   held     bit p of row v: part p has an edge (not a self-loop) with endpoint v
 *   edges    one count for each set bit, ascending parts; a vertex's counts start at replica_at(v)
 *   leaving  how many of those edges begin at v; only if asked for
 *
 * In a symmetric graph the rows of v show all its edges: as many begin at v as end there, and `edges` counts the ones
 * that end. In a directed graph a rank counts the edges that its rows show for every vertex, and the ranks add up their
 * counts in pieces.
 *
 * Memory: parts / 8 + 8 bytes a vertex, and 4 bytes a (vertex, part) that occurs; in a team with a directed graph at
 * least 8 bytes a (vertex, part) of a rank's rows.
 */
#pragma once

#include <stdbool.h>

#include "partition/row_team.h"

typedef struct replica_table {
    const row_team *team;
    int words;        /* 64-bit words of a row of held */
    uint64_t *held;   /* [n, words] */
    int64_t *first;   /* [n + 1] set bits before those of v */
    int32_t *edges;   /* [set bits of own rows] */
    int32_t *leaving; /* [set bits of own rows], or NULL */
} replica_table;

/* [out] held [n, words] (weft_free) of a whole graph's edge_part; edges without a part are self-loops. */
weft_status replica_marks(const weft_graph *graph, const uint16_t *edge_part, int parts, int threads, uint64_t **held);
/*
 * Builds the table. edge_part: [edges of own rows]. held: the marks of all ranks' edges; the table owns them from here
 * on, also after a failure. leaving: also count the edges that begin at a vertex (directed graphs). Free with
 * replica_table_free. Collective over the team.
 */
weft_status replica_table_build(const row_team *team, const uint16_t *edge_part, int parts, uint64_t *held,
                                bool leaving, int threads, replica_table *table);
void replica_table_free(replica_table *table);

/* Returns the index in `edges` of the first count of v, a vertex of an own row. */
static inline int64_t replica_at(const replica_table *table, int64_t v)
{
    return table->first[v] - table->first[table->team->begin];
}

/* [out] seen: the parts of v, ascending; as many as returned, up to the number of parts. */
static inline int replica_parts(const replica_table *table, int64_t v, int *seen)
{
    int count = 0;
    for (int w = 0; w < table->words; ++w) {
        for (uint64_t bits = table->held[v * table->words + w]; bits != 0; bits &= bits - 1) {
            seen[count++] = 64 * w + __builtin_ctzll(bits);
        }
    }
    return count;
}

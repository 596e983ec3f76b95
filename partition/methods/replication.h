/*
 * partition/methods/replication.h: for each vertex of a rank's rows, the parts that hold it and how many of its edges lie in
 * each.
 *
 *   held     bit p of row v: part p has an edge (not a self-loop) with endpoint v
 *   edges    one count for each set bit, ascending parts; a vertex's counts start at replica_at(v)
 *   leaving  of these the edges that begin at v, where that is asked
 *
 * A symmetric graph shows every edge of v twice, and the rows of v show all: edges are those that end at v, and as many begin there.
 * Of a directed graph a rank counts what its rows show of every vertex, and the ranks add up; they do so in pieces.
 *
 * Memory: parts / 8 + 8 bytes a vertex, and 4 bytes a (vertex, part) that occurs, of a directed graph and a team 8 and more of
 * those of a rank's rows.
 */
#ifndef WEFT_PARTITION_METHODS_REPLICATION_H
#define WEFT_PARTITION_METHODS_REPLICATION_H

#include <stdbool.h>

#include "partition/row_team.h"

typedef struct replica_table {
    const row_team *team;
    int words;        /* 64-bit words of a row of held */
    uint64_t *held;   /* [n, words] */
    int64_t *first;   /* [n + 1] set bits before those of v */
    int32_t *edges;   /* [set bits of own rows] */
    int32_t *leaving; /* the same, or NULL */
} replica_table;

/* [out] held [n, words] (weft_free) of a whole graph's edge_part; edges without a part are self-loops. */
weft_status replica_marks(const weft_graph *graph, const uint16_t *edge_part, int parts, int threads, uint64_t **held);
/*
 * edge_part [edges of own rows]; held: of edge_part's of all ranks, taken over, also when this fails. leaving: tell those apart, of
 * a directed graph. Free with replica_table_free. Collective over the team.
 */
weft_status replica_table_build(const row_team *team, const uint16_t *edge_part, int parts, uint64_t *held,
                                bool leaving, int threads, replica_table *table);
void replica_table_free(replica_table *table);

/* Where the counts of a vertex of an own row begin. */
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

#endif

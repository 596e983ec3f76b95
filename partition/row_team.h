/*
 * partition/row_team.h: ranks that make a partition together, each of them from its own rows of the graph.
 *
 * Rows are cut by edges, in order: rank r has [first[r], first[r + 1]). How ranks talk is the caller's: this room knows
 * no messages. Every function is collective over the team, and every rank must come to each.
 */
#pragma once

#include <stdbool.h>

#include "graph/graph.h"

/* How ranks talk: each function does what the function of that name in comm/comm.h does, and gets `self`. */
typedef struct row_team_talk {
    void *self;
    weft_status (*agree)(void *self, weft_status local);
    weft_status (*sum)(void *self, int64_t *values, int64_t count);
    weft_status (*allgatherv)(void *self, const void *send, int64_t send_bytes, void *recv, const int64_t *recv_bytes);
    weft_status (*alltoallv)(void *self, const void *send, const int64_t *send_bytes, void *recv,
                             const int64_t *recv_bytes);
} row_team_talk;

typedef struct row_team {
    int rank, size;
    const row_team_talk *talk; /* NULL: alone */
    const weft_graph *graph;
    int64_t begin, end; /* rows of this rank */
    int64_t *first;     /* [size + 1], NULL: alone */
    int64_t *bytes;     /* [size] scratch of messages; NULL: alone */
} row_team;

/* All rows, without messages. */
row_team row_team_alone(const weft_graph *graph);
/* talk: NULL with one rank. Free with row_team_free. */
weft_status row_team_create(const weft_graph *graph, int rank, int size, const row_team_talk *talk, row_team *team);
void row_team_free(row_team *team);

/* Returns the worst status of all ranks. */
static inline weft_status row_team_agree(const row_team *team, weft_status local)
{
    const weft_status worst = team->size > 1 ? team->talk->agree(team->talk->self, local) : local;
    return worst != WEFT_OK ? worst : local;
}
/* Adds up `values` over the ranks, in place. */
weft_status row_team_sum(const row_team *team, int64_t *values, int64_t count);
/* Concatenates the bytes that every rank hands in, in rank order. [out] *all: freed by weft_free; *all_bytes. */
weft_status row_team_gather(const row_team *team, const void *send, int64_t bytes, void **all, int64_t *all_bytes);
static inline bool row_team_owns(const row_team *team, int64_t v)
{
    return v >= team->begin && v < team->end;
}
/* [out] at [size]: prefix sums of count [size], which is where each rank's items begin. Returns the total. */
int64_t row_team_starts(const row_team *team, const int64_t *count, int64_t *at);
/* Sends to[r] to every rank r. [out] from [size]: the numbers that the ranks sent to this one. */
weft_status row_team_counts(const row_team *team, const int64_t *to, int64_t *from);
/* Returns the first row of block `block` of `blocks`, into which this rank's rows are cut by equal numbers of edges. */
int64_t row_team_block(const row_team *team, int block, int blocks);
/* Returns the rank that owns row v. */
int row_team_of(const row_team *team, int64_t v);

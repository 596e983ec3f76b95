/* partition/stream/row_team.c: see partition/row_team.h. */
#include "partition/row_team.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/integer/search.h"
#include "machine/thread_ranges.h"
#include "partition/partition.h"

row_team row_team_alone(const weft_graph *graph)
{
    return (row_team){.size = 1, .graph = graph, .end = graph->vertices};
}

weft_status row_team_create(const weft_graph *graph, int rank, int size, const row_team_talk *talk, row_team *team)
{
    *team = row_team_alone(graph);
    if (size == 1) {
        return WEFT_OK;
    }
    team->rank = rank;
    team->size = size;
    team->talk = talk;
    weft_status status = WEFT_NEW(&team->first, size + 1, WEFT_MEM_PARTITION);
    status = status == WEFT_OK ? WEFT_NEW(&team->bytes, size, WEFT_MEM_PARTITION) : status;
    WEFT_TRY(row_team_agree(team, status));
    for (int r = 0; r <= size; ++r) {
        team->first[r] = split_rows(graph->offset, graph->vertices, r, size);
    }
    team->begin = team->first[rank];
    team->end = team->first[rank + 1];
    return WEFT_OK;
}

void row_team_free(row_team *team)
{
    WEFT_FREE_ALL(team->first, team->bytes);
    *team = (row_team){0};
}

weft_status row_team_sum(const row_team *team, int64_t *values, int64_t count)
{
    return team->size > 1 ? team->talk->sum(team->talk->self, values, count) : WEFT_OK;
}

weft_status row_team_gather(const row_team *team, const void *send, int64_t bytes, void **all, int64_t *all_bytes)
{
    const row_team_talk *talk = team->talk;
    *all = NULL;
    *all_bytes = 0;
    assert(team->size > 1);
    for (int r = 0; r < team->size; ++r) {
        team->bytes[r] = r == team->rank ? bytes : 0;
    }
    WEFT_TRY(talk->sum(talk->self, team->bytes, team->size));
    for (int r = 0; r < team->size; ++r) {
        *all_bytes += team->bytes[r];
    }
    WEFT_TRY(row_team_agree(team, weft_malloc((size_t)*all_bytes, 1, WEFT_MEM_PARTITION, all)));
    return talk->allgatherv(talk->self, send, bytes, *all, team->bytes);
}

int64_t row_team_starts(const row_team *team, const int64_t *count, int64_t *at)
{
    int64_t sum = 0;
    for (int r = 0; r < team->size; ++r) {
        at[r] = sum;
        sum += count[r];
    }
    return sum;
}

weft_status row_team_counts(const row_team *team, const int64_t *to, int64_t *from)
{
    assert(team->size > 1);
    for (int r = 0; r < team->size; ++r) {
        team->bytes[r] = sizeof *to;
    }
    return team->talk->alltoallv(team->talk->self, to, team->bytes, from, team->bytes);
}

int64_t row_team_block(const row_team *team, int block, int blocks)
{
    return team->begin + split_rows(team->graph->offset + team->begin, team->end - team->begin, block, blocks);
}

int row_team_of(const row_team *team, int64_t v)
{
    int64_t rank = 0;
    SEARCH_FIRST(rank, team->size - 1, team->first[at + 1] <= v);
    return (int)rank;
}

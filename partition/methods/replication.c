/* partition/methods/replication.c: see partition/methods/replication.h. */
#include "partition/methods/replication.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "machine/thread_ranges.h"
#include "partition/methods/method.h"

enum { PIECE = 1 << 20 }; /* counts of all ranks' vertices that go to one rank at once */

static void mark(uint64_t *row, int part)
{
    uint64_t bit = UINT64_C(1) << (part % 64), *word = &row[part / 64];
    if ((__atomic_load_n(word, __ATOMIC_RELAXED) & bit) == 0) {
        __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
    }
}

/* A symmetric graph shows every edge of v in row v, so the source side is left alone there. */
weft_status replica_marks(const weft_graph *graph, const uint16_t *edge_part, int parts, int threads, uint64_t **held)
{
    const bool both = !graph->symmetric;
    const int words = (parts + 63) / 64;
    WEFT_TRY(WEFT_NEW_ZERO(held, graph->vertices * words, WEFT_MEM_PARTITION));
    uint64_t *rows = *held;
#pragma omp parallel num_threads(split_threads(graph->edges, threads))
    OWN_ROWS(v, graph->offset, graph->vertices) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            int part = edge_part[e];
            int64_t u = graph_source(graph, e);
            if (u == v || part == PARTITION_NO_PART) {
                continue;
            }
            mark(rows + v * words, part);
            if (both) {
                mark(rows + u * words, part);
            }
        }
    }
    return WEFT_OK;
}

static void count_bits(replica_table *table)
{
    int64_t sum = 0;
    const int64_t n = table->team->graph->vertices;
    for (int64_t v = 0; v < n; ++v) {
        table->first[v] = sum;
        for (int w = 0; w < table->words; ++w) {
            sum += __builtin_popcountll(table->held[v * table->words + w]);
        }
    }
    table->first[n] = sum;
}

/* The place of part's count among those of v. */
static int rank_of(const replica_table *table, int64_t v, int part)
{
    const uint64_t *row = table->held + v * table->words;
    int rank = 0;
    for (int w = 0; w < part / 64; ++w) {
        rank += __builtin_popcountll(row[w]);
    }
    assert((row[part / 64] >> (part % 64) & 1) != 0); /* marked before it is counted */
    return rank + __builtin_popcountll(row[part / 64] & ((UINT64_C(1) << (part % 64)) - 1));
}

/* Of own rows: edges that end at v to its counts, and those that begin at u to `begun` [first[n]], or nowhere. */
static void count_rows(const replica_table *table, const uint16_t *edge_part, int32_t *begun, int threads)
{
    const row_team *team = table->team;
    const weft_graph *graph = team->graph;
    const int64_t first = graph->offset[team->begin], rows = team->end - team->begin;
#pragma omp parallel num_threads(split_threads(graph->offset[team->end] - first, threads))
    {
        const int t = omp_get_thread_num(), of = omp_get_num_threads();
        const int64_t *offset = graph->offset + team->begin;
        const int64_t end = team->begin + split_rows(offset, rows, t + 1, of);
        for (int64_t v = team->begin + split_rows(offset, rows, t, of); v < end; ++v) {
            for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
                const int part = edge_part[e - first];
                const int64_t u = graph_source(graph, e);
                if (u == v || part == PARTITION_NO_PART) {
                    continue;
                }
                __atomic_fetch_add(&table->edges[replica_at(table, v) + rank_of(table, v, part)], 1, __ATOMIC_RELAXED);
                if (begun != NULL) {
                    __atomic_fetch_add(&begun[table->first[u] + rank_of(table, u, part)], 1, __ATOMIC_RELAXED);
                }
            }
        }
    }
}

/* ---- what the rows of all ranks show of a rank's vertices -------------------------------------------------------- */

typedef struct adding {
    const replica_table *table;
    int64_t piece;
    int64_t *to, *from;       /* [size] bytes */
    int32_t *send, *received; /* [size, piece] */
} adding;

static int64_t counts_of(const replica_table *table, int r)
{
    const int64_t *first = table->team->first;
    return table->first[first[r + 1]] - table->first[first[r]];
}

/* Of `all` counts those of piece i. */
static int64_t in_piece(const adding *add, int64_t all, int64_t i)
{
    const int64_t left = all - i * add->piece;
    return left < 0 ? 0 : left < add->piece ? left : add->piece;
}

static weft_status add_piece(adding *add, const int32_t *begun, int64_t i, int32_t *sum)
{
    const replica_table *table = add->table;
    const row_team *team = table->team;
    const int64_t own = in_piece(add, counts_of(table, team->rank), i);
    int64_t at = 0;
    for (int r = 0; r < team->size; ++r) {
        const int64_t count = in_piece(add, counts_of(table, r), i);
        if (count > 0) {
            memcpy(add->send + at, begun + table->first[team->first[r]] + i * add->piece,
                   (size_t)count * sizeof *begun);
        }
        at += count;
        add->to[r] = count * (int64_t)sizeof *begun;
        add->from[r] = own * (int64_t)sizeof *begun;
    }
    WEFT_TRY(team->talk->alltoallv(team->talk->self, add->send, add->to, add->received, add->from));
    for (int r = 0; r < team->size; ++r) {
        for (int64_t k = 0; k < own; ++k) {
            sum[i * add->piece + k] += add->received[r * own + k];
        }
    }
    return WEFT_OK;
}

/* begun [first[n]] of every rank, [out] sum [set bits of own rows], zero before. */
static weft_status add_up(const replica_table *table, const int32_t *begun, int32_t *sum)
{
    const row_team *team = table->team;
    const int size = team->size;
    adding add = {.table = table, .piece = PIECE / size + 1};
    int64_t most = 0;
    weft_status status = WEFT_NEW(&add.to, size, WEFT_MEM_PARTITION);
    status = status == WEFT_OK ? WEFT_NEW(&add.from, size, WEFT_MEM_PARTITION) : status;
    status = status == WEFT_OK ? WEFT_NEW(&add.send, size * add.piece, WEFT_MEM_PARTITION) : status;
    status = status == WEFT_OK ? WEFT_NEW(&add.received, size * add.piece, WEFT_MEM_PARTITION) : status;
    WEFT_TRY_GOTO(row_team_agree(team, status), status, done);
    for (int r = 0; r < size; ++r) {
        most = counts_of(table, r) > most ? counts_of(table, r) : most;
    }
    for (int64_t i = 0; i * add.piece < most && status == WEFT_OK; ++i) {
        status = add_piece(&add, begun, i, sum);
    }
done:
    WEFT_FREE_ALL(add.received, add.send, add.from, add.to);
    return status;
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

/* Edges that begin at own vertices are added to those that end there. */
static weft_status add_leaving(replica_table *table, int32_t **begun, int64_t own, bool leaving)
{
    const row_team *team = table->team;
    if (team->size == 1) {
        table->leaving = *begun;
        *begun = NULL;
    } else {
        WEFT_TRY(row_team_agree(team, WEFT_NEW_ZERO(&table->leaving, own, WEFT_MEM_PARTITION)));
        WEFT_TRY(add_up(table, *begun, table->leaving));
    }
    for (int64_t i = 0; i < own; ++i) {
        table->edges[i] += table->leaving[i];
    }
    if (!leaving) {
        weft_free(table->leaving);
        table->leaving = NULL;
    }
    return WEFT_OK;
}

weft_status replica_table_build(const row_team *team, const uint16_t *edge_part, int parts, uint64_t *held,
                                bool leaving, int threads, replica_table *table)
{
    const weft_graph *graph = team->graph;
    int32_t *begun = NULL;
    *table = (replica_table){.team = team, .words = (parts + 63) / 64, .held = held};
    weft_status status = WEFT_NEW(&table->first, graph->vertices + 1, WEFT_MEM_PARTITION);
    WEFT_TRY_GOTO(row_team_agree(team, status), status, done);
    count_bits(table);
    const int64_t own = table->first[team->end] - table->first[team->begin];
    const bool apart = !graph->symmetric && (leaving || team->size > 1);
    status = WEFT_NEW_ZERO(&table->edges, own, WEFT_MEM_PARTITION);
    status =
        status == WEFT_OK && apart ? WEFT_NEW_ZERO(&begun, table->first[graph->vertices], WEFT_MEM_PARTITION) : status;
    WEFT_TRY_GOTO(row_team_agree(team, status), status, done);
    count_rows(table, edge_part, graph->symmetric ? NULL : apart ? begun : table->edges, threads);
    status = apart ? add_leaving(table, &begun, own, leaving) : WEFT_OK;
done:
    weft_free(begun);
    if (status != WEFT_OK) {
        replica_table_free(table);
    }
    return status;
}

void replica_table_free(replica_table *table)
{
    WEFT_FREE_ALL(table->held, table->first, table->edges, table->leaving);
    *table = (replica_table){0};
}

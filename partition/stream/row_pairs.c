/* partition/stream/row_pairs.c: see partition/stream/row_pairs.h. */
#include "partition/stream/row_pairs.h"

#include <assert.h>

#include "base/alloc.h"
#include "partition/partition.h"

enum { ROUND_EDGES = 1 << 22 }; /* of all ranks' rows in a round, which is what one rank may be asked */

/* An entry of row v with source u: has row u the source v? */
typedef struct question {
    int64_t u, v;
} question;

typedef struct asking {
    const row_team *team;
    uint16_t *across;
    int64_t *to, *from, *at; /* [size] questions, and where those of a rank begin */
    question *asked, *heard; /* of a round */
    uint8_t *answer, *told;  /* what is said to `heard`, and to `asked` */
} asking;

static bool is_question(const row_team *team, int64_t u)
{
    return u < team->begin;
}

static int rounds_of(const row_team *team)
{
    const int64_t *offset = team->graph->offset, most = ROUND_EDGES / team->size + 1;
    int64_t rounds = 1;
    for (int r = 0; r < team->size; ++r) {
        const int64_t edges = offset[team->first[r + 1]] - offset[team->first[r]];
        const int64_t own = (edges + most - 1) / most;
        rounds = own > rounds ? own : rounds;
    }
    return (int)rounds;
}

static void count_questions(asking *ask, int64_t begin, int64_t end)
{
    const row_team *team = ask->team;
    for (int r = 0; r < team->size; ++r) {
        ask->to[r] = 0;
    }
    for (int64_t e = team->graph->offset[begin]; e < team->graph->offset[end]; ++e) {
        const int64_t u = graph_source(team->graph, e);
        if (is_question(team, u)) {
            ++ask->to[row_team_of(team, u)];
        }
    }
}

static void put_questions(asking *ask, int64_t begin, int64_t end)
{
    const row_team *team = ask->team;
    for (int64_t v = begin; v < end; ++v) {
        for (int64_t e = team->graph->offset[v]; e < team->graph->offset[v + 1]; ++e) {
            const int64_t u = graph_source(team->graph, e);
            if (is_question(team, u)) {
                ask->asked[ask->at[row_team_of(team, u)]++] = (question){u, v};
            }
        }
    }
}

/* Both learn: who answers counts the entries of the other direction, one a question. */
static void answer(asking *ask, int64_t count)
{
    const row_team *team = ask->team;
    const int64_t first = team->graph->offset[team->begin];
    for (int64_t i = 0; i < count; ++i) {
        const question *q = &ask->heard[i];
        assert(row_team_owns(team, q->u));
        const int64_t e = row_entry_of(team->graph, q->u, q->v);
        ask->answer[i] = e >= 0 ? 1 : 0;
        if (e >= 0 && ask->across[e - first] < UINT16_MAX) {
            ++ask->across[e - first];
        }
    }
}

static void learn(asking *ask, int64_t begin, int64_t end)
{
    const row_team *team = ask->team;
    const int64_t first = team->graph->offset[team->begin];
    for (int64_t e = team->graph->offset[begin]; e < team->graph->offset[end]; ++e) {
        const int64_t u = graph_source(team->graph, e);
        if (is_question(team, u)) {
            ask->across[e - first] = ask->told[ask->at[row_team_of(team, u)]++];
        }
    }
}

static void scale(int64_t *count, int size, int64_t from, int64_t to)
{
    for (int r = 0; r < size; ++r) {
        count[r] = count[r] / from * to;
    }
}

static void round_end(asking *ask)
{
    WEFT_FREE_ALL(ask->asked, ask->heard, ask->answer, ask->told);
    ask->asked = ask->heard = NULL;
    ask->answer = ask->told = NULL;
}

/* About the entries of rows [begin, end), and what the others ask meanwhile. */
static weft_status ask_about(asking *ask, int64_t begin, int64_t end)
{
    const row_team *team = ask->team;
    const row_team_talk *talk = team->talk;
    count_questions(ask, begin, end);
    WEFT_TRY(row_team_counts(team, ask->to, ask->from));
    const int64_t heard = row_team_starts(team, ask->from, ask->at), asked = row_team_starts(team, ask->to, ask->at);
    weft_status status = WEFT_NEW(&ask->asked, asked, WEFT_MEM_PARTITION);
    status = status == WEFT_OK ? WEFT_NEW(&ask->heard, heard, WEFT_MEM_PARTITION) : status;
    status = status == WEFT_OK ? WEFT_NEW(&ask->answer, heard, WEFT_MEM_PARTITION) : status;
    status = status == WEFT_OK ? WEFT_NEW(&ask->told, asked, WEFT_MEM_PARTITION) : status;
    WEFT_TRY(row_team_agree(team, status));
    put_questions(ask, begin, end);
    scale(ask->to, team->size, 1, sizeof(question));
    scale(ask->from, team->size, 1, sizeof(question));
    WEFT_TRY(talk->alltoallv(talk->self, ask->asked, ask->to, ask->heard, ask->from));
    answer(ask, heard);
    scale(ask->to, team->size, sizeof(question), 1);
    scale(ask->from, team->size, sizeof(question), 1);
    WEFT_TRY(talk->alltoallv(talk->self, ask->answer, ask->from, ask->told, ask->to));
    row_team_starts(team, ask->to, ask->at);
    learn(ask, begin, end);
    return WEFT_OK;
}

static weft_status ask_all(const row_team *team, uint16_t *across)
{
    asking ask = {.team = team, .across = across};
    const int rounds = rounds_of(team);
    weft_status status = WEFT_NEW(&ask.to, team->size, WEFT_MEM_PARTITION);
    status = status == WEFT_OK ? WEFT_NEW(&ask.from, team->size, WEFT_MEM_PARTITION) : status;
    status = status == WEFT_OK ? WEFT_NEW(&ask.at, team->size, WEFT_MEM_PARTITION) : status;
    WEFT_TRY_GOTO(row_team_agree(team, status), status, done);
    for (int round = 0; round < rounds && status == WEFT_OK; ++round) {
        status = ask_about(&ask, row_team_block(team, round, rounds), row_team_block(team, round + 1, rounds));
        round_end(&ask);
    }
done:
    WEFT_FREE_ALL(ask.at, ask.from, ask.to);
    return status;
}

/* The edges whose other direction another rank may have to tell. */
static int64_t edges_across(const row_team *team)
{
    const int64_t *offset = team->graph->offset;
    return team->size > 1 && !team->graph->symmetric ? offset[team->end] - offset[team->begin] : 0;
}

uint64_t row_pairs_memory(const row_team *team)
{
    return (uint64_t)edges_across(team) * sizeof(uint16_t);
}

weft_status row_pairs_open(const row_team *team, row_pairs *pairs)
{
    *pairs = (row_pairs){.team = team};
    if (team->size == 1 || team->graph->symmetric) {
        return WEFT_OK;
    }
    WEFT_TRY(row_team_agree(team, WEFT_NEW_ZERO(&pairs->across, edges_across(team), WEFT_MEM_PARTITION)));
    return ask_all(team, pairs->across);
}

void row_pairs_close(row_pairs *pairs)
{
    weft_free(pairs->across);
    *pairs = (row_pairs){0};
}

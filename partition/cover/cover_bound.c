/* partition/cover/cover_bound.c: see partition/cover/cover_bound.h. */
#include "partition/cover/cover_bound.h"

#include "base/alloc.h"
#include "partition/partition.h"

enum { DEGREE_BITS = 32, NONE = -1, NOT_SOUGHT = -2 };
enum { LOOKED_AT = 32 }; /* free neighbours for each other part, once each has one: more gain next to nothing */

typedef struct matching {
    const adjacency *adjacent;
    const uint16_t *part;
    int parts;
    uint64_t *taken; /* bit v * parts + p: vertex v is an end of a taken pair whose other end lies in part p */
} matching;

static bool is_taken(const matching *m, int64_t v, int part)
{
    const int64_t at = v * m->parts + part;
    return (m->taken[at / 64] >> (at % 64) & 1) != 0;
}

static void take(matching *m, int64_t v, int part)
{
    const int64_t at = v * m->parts + part;
    m->taken[at / 64] |= UINT64_C(1) << (at % 64);
}

static int64_t degree_of(const adjacency *adjacent, int64_t v)
{
    return adjacent->offset[v + 1] - adjacent->offset[v];
}

/* Takes a pair of v and a free neighbour in each other part, that of least degree, as ends of many pairs find one
 * later. -> how many. best: [parts], scratch. */
static int64_t match(matching *m, int64_t v, int64_t *best)
{
    const adjacency *adjacent = m->adjacent;
    const int own = m->part[v];
    int64_t found = 0, left = (int64_t)LOOKED_AT * (m->parts - 1), open = 0;
    for (int p = 0; p < m->parts; ++p) {
        best[p] = p == own || is_taken(m, v, p) ? NOT_SOUGHT : NONE;
        open += best[p] == NONE;
    }
    for (int64_t e = adjacent->offset[v]; e < adjacent->offset[v + 1] && (left > 0 || open > 0); ++e) {
        const int64_t u = adjacent->neighbour[e], rival = best[m->part[u]];
        if (rival == NOT_SOUGHT || is_taken(m, u, own)) {
            continue;
        }
        --left;
        open -= rival == NONE;
        if (rival == NONE || degree_of(adjacent, u) < degree_of(adjacent, rival)) {
            best[m->part[u]] = u;
        }
    }
    for (int p = 0; p < m->parts; ++p) {
        if (best[p] >= 0) {
            take(m, v, p);
            take(m, best[p], own);
            ++found;
        }
    }
    return found;
}

weft_status cover_bound(const adjacency *adjacent, const uint16_t *node_part, int parts, int64_t *bound)
{
    int64_t best[PARTITION_MAX_PARTS];
    matching m = {.adjacent = adjacent, .part = node_part, .parts = parts};
    WEFT_TRY(WEFT_NEW_ZERO(&m.taken, adjacent->vertices * parts / 64 + 1, WEFT_MEM_PARTITION));
    *bound = 0;
    for (int bits = 0; bits < DEGREE_BITS; ++bits) { /* vertices of few pairs choose first */
        for (int64_t v = 0; v < adjacent->vertices; ++v) {
            if (degree_of(adjacent, v) >> bits == 1) {
                *bound += match(&m, v, best);
            }
        }
    }
    weft_free(m.taken);
    return WEFT_OK;
}

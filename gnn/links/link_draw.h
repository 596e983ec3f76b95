/*
 * gnn/links/link_draw.h: what is random about links: the part of an edge and the other ends of negatives. Both are
 * functions of a seed and of the edge, so any number of ranks draws the same.
 *
 * The two directions of an undirected edge are one pair {u, v} and fall into one part. Of such a pair one end is its
 * anchor, which negatives keep; chance decides which. The anchor of a directed edge is its destination.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/integer/search.h"
#include "base/philox.h"

enum { LINK_TRAIN, LINK_VALID, LINK_TEST, LINK_PARTS };

/* Shares of the parts, of a sum of 1, and the seed that deals them. */
typedef struct link_shares {
    double share[LINK_PARTS];
    uint64_t seed;
    int64_t users; /* of an undirected graph: edges join one of the first `users` vertices, which is their anchor, with
                    * one of the others, from which the other ends of negatives are drawn; 0: any two are joined */
} link_shares;

/* Rows [begin, begin + rows) of a CSR; columns of a row ascend. */
typedef struct link_rows {
    int64_t begin, rows;
    const int64_t *offset; /* [rows + 1], from any number on */
    const int32_t *source; /* entry e of row v is source[e - offset[0]] */
} link_rows;

/* The part of an edge, whose ends are in any order where it is undirected, and the vertex that negatives keep. */
typedef struct link_deal {
    int part;
    int64_t anchor;
} link_deal;

static inline link_deal link_deal_of(const link_shares *shares, bool directed, int64_t row, int64_t column)
{
    const uint64_t low = (uint64_t)(row < column ? row : column), high = (uint64_t)(row < column ? column : row);
    const philox_block b = philox_edge(0, directed ? (uint64_t)column : low, directed ? (uint64_t)row : high,
                                       WEFT_RNG_LINKS, 0, shares->seed);
    const double at = philox_uniform_double(b.word[0], b.word[1]);
    const int part = at < shares->share[LINK_TRAIN]                               ? LINK_TRAIN
                     : at < shares->share[LINK_TRAIN] + shares->share[LINK_VALID] ? LINK_VALID
                                                                                  : LINK_TEST;
    const bool first = shares->users > 0 || (b.word[2] & 1) != 0;
    return (link_deal){part, directed ? row : (int64_t)(first ? low : high)};
}

static inline bool link_rows_have(const link_rows *rows, int64_t row, int64_t column)
{
    int64_t place = rows->offset[row - rows->begin] - rows->offset[0];
    const int64_t end = rows->offset[row - rows->begin + 1] - rows->offset[0];
    SEARCH_FIRST(place, end, rows->source[at] < column);
    return place < end && rows->source[place] == column;
}

/*
 * The other end of negative number k < 65536 of the link {anchor, other}, from vertices [from, vertices): neither end
 * of the link, and none that `known` (with the anchor's row) joins to the anchor. Of an anchor that 16 draws find
 * joined to all of them the last draw is taken: where nearly all pairs are edges, some negatives are edges.
 */
static inline int64_t link_negative(const link_rows *known, int64_t from, int64_t vertices, int64_t anchor,
                                    int64_t other, uint32_t k, uint32_t epoch, uint64_t seed)
{
    enum { BLOCKS = 4, WORDS = 4 };
    int64_t drawn = 0;
    for (uint64_t block = 0; block < BLOCKS; ++block) {
        const philox_block b = philox4x32(
            (philox_block){{(uint32_t)anchor, (uint32_t)other, ((uint32_t)WEFT_RNG_NEGATIVES << 16) | k, epoch}},
            seed ^ block << 40);
        for (int w = 0; w < WORDS; ++w) {
            drawn = from + (int64_t)(((uint64_t)b.word[w] * (uint64_t)(vertices - from)) >> 32);
            if (drawn != anchor && drawn != other && !link_rows_have(known, anchor, drawn)) {
                return drawn;
            }
        }
    }
    return drawn;
}

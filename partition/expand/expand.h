/*
 * partition/expand/expand.h: a vertex-cut by neighbourhood expansion.
 *
 * A part grows by one vertex after the other: the border vertex with the fewest open pairs brings all its
 * partners in, and what lies between vertices of a part belongs to it. Vertices of low degree close first, so few are
 * left with pairs elsewhere. Plain expansion gives the first part the densest core of the graph and the last one what
 * is left, thinly spread: pairs are balanced, vertices are not (the largest part has two to four times the mean).
 * Three rules keep both:
 *
 *   hubs       pairs between two vertices of many times the mean degree are no reason to grow, and are placed last, in
 *              parts that hold both ends anyway: they fill up parts that have vertices but few pairs
 *   one first  parts grow one after the other until they have their share of pairs, `rows` vertices or `finished` ones:
 *              that makes them compact
 *   then all   what is left is given to all of them, the part with the fewest vertices first
 *
 * With shares (partition/shares.h) "fewest" compares amounts divided by shares.
 *
 * Growth decides which parts hold a vertex, and nothing else: a pair is open while no part holds both of its ends. A
 * pair with several parts to choose from goes to the one with the fewest pairs.
 *
 * Time: O(sum over vertices of degree x parts that hold it), sequential except for counting and for pairs without a
 * choice. Memory: parts / 8 + 16 bytes a vertex, 2 KiB a part; nothing for pairs.
 *
 * C. Zhang, F. Wei, Q. Liu, Z. Tang, Z. Li: Graph edge partitioning via neighborhood heuristic. KDD'17,
 * doi:10.1145/3097983.3098033; R. Mayer, H.-A. Jacobsen: Hybrid edge partitioner (hubs last). SIGMOD'21,
 * doi:10.1145/3448016.3457300.
 */
#pragma once

#include "partition/cover/adjacency.h"

typedef struct expand_options {
    int parts, threads;
    uint64_t seed;
    double hub;          /* a hub has more than so many times the mean degree */
    double balance;      /* allowed pairs of a part over the mean while all grow */
    int64_t rows;        /* vertices at which a part stops growing by itself; INT64_MAX: none */
    int64_t finished;    /* the same for vertices that have their last open pair there; most get their root there too */
    const double *share; /* [parts] or NULL (partition/shares.h): rows and finished are those of the mean part then */
} expand_options;

typedef struct expand_result {
    int64_t replicas; /* (vertex, part) that occur */
    int64_t
        largest; /* vertices of the part that holds most; of shares: as if it were as large as the mean, rounded up */
} expand_result;

/* adjacent: of the pairs in list. [out] pair_part [pairs]. The same for any number of threads. */
weft_status expand_assign(const pair_list *list, const adjacency *adjacent, const expand_options *options,
                          uint16_t *pair_part, expand_result *result);

/*
 * partition/cover/evict.h: take whole replicas out of a vertex-cut.
 *
 * Refinement (refine.h) moves one pair at a time, and only if that one move pays. Often several pairs together keep a
 * replica of v in part p alive. Here all of them leave p at once, each for another part that holds v:
 *
 *      a part that holds the partner already, the one with most of the partner's pairs first; else a part that takes
 *      the partner in
 *
 * This happens if fewer replicas arise than vanish (v's replica in p, and replicas of partners that had their last pair
 * there), or as many out of a part with more than VERTEX_LIMIT times the mean vertices. Parts above that limit take no
 * partner in, and no part exceeds its share of pairs, so the number of replicas never rises and the balance of pairs
 * stays.
 *
 * A walk over the vertices tries replicas of few pairs, which cost a part the least room, and a second one, where the
 * first took more than one in WORTH out, those of up to MOST_PAIRS. Walks are sequential, the same for any number of
 * threads. O(sum over vertices of degree x parts that hold it); memory: the caller's, 2 bytes an entry of the
 * adjacency.
 */
#pragma once

#include "partition/cover/adjacency.h"
#include "partition/cover/refine.h"

/* Uses balance, threads and share of the options. Changes pair_part [pairs] and its counts in place. [out] entry_part
 * [entries of the adjacency]: the part of each entry's pair, both directions; result: replicas and largest.
 * WEFT_ERR_DATA: the adjacency has an entry without its reverse. */
weft_status evict_replicas(const pair_list *list, const adjacency *adjacent, const refine_options *options,
                           part_counts *counts, uint16_t *pair_part, uint16_t *entry_part, refine_result *result);

/* Refines, then takes replicas out, within the same balance. */
weft_status refine_and_evict(const pair_list *list, const adjacency *adjacent, const refine_options *options,
                             uint16_t *pair_part, uint16_t *entry_part, refine_result *result);

/*
 * partition/cover/evict.h: take whole replicas out of a vertex-cut.
 *
 * Refinement (refine.h) moves one pair at a time, and only where that one move pays. A replica of v in part p with a few pairs is
 * often kept by them together: here all of them leave p at once, each for another part that holds v, where it fits best,
 *
 *      those that hold the partner already, the one with most of its pairs first; else one that takes the partner in
 *
 * when fewer replicas arise than vanish (v's in p, and those of partners that had their last pair there), or as many, out of a
 * part that holds more than VERTEX_LIMIT times the mean vertices. Parts above it take no partner in, and no part exceeds its share
 * of pairs, so replicas never rise and the balance of pairs stays.
 *
 * A walk over the vertices tries replicas of few pairs, which cost a part the least room, and a second one, where the first
 * took more than one in WORTH out, those of up to MOST_PAIRS. Walks are sequential, the same for any number of threads. O(sum over
 * vertices of degree x parts that hold it); memory: the caller's, 2 bytes an entry of the adjacency.
 */
#ifndef WEFT_PARTITION_COVER_EVICT_H
#define WEFT_PARTITION_COVER_EVICT_H

#include "partition/cover/adjacency.h"
#include "partition/cover/refine.h"

/* options: balance, threads and share count. pair_part [pairs] and the counts of it: changed in place. [out] entry_part
 * [entries of the adjacency]: the same of both directions; result: replicas and largest. WEFT_ERR_DATA: the adjacency lacks a
 * reverse. */
weft_status evict_replicas(const pair_list *list, const adjacency *adjacent, const refine_options *options,
                           part_counts *counts, uint16_t *pair_part, uint16_t *entry_part, refine_result *result);

/* Refines, then takes replicas out, within the same balance. */
weft_status refine_and_evict(const pair_list *list, const adjacency *adjacent, const refine_options *options,
                             uint16_t *pair_part, uint16_t *entry_part, refine_result *result);

#endif

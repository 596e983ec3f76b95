/*
 * comm/sync/groups.h: who averages with whom: the cycle of divisions that divide-and-shuffle runs through.
 *
 * A set of n = g^s ranks (a rack, or all) goes through the base-g digits of its ranks: in round t those that agree on
 * all digits but digit t mod s form a group: a g-ary butterfly, after whose s rounds every rank holds the exact mean.
 *
 *      n = 8, g = 2      round 0   01 23 45 67      round 1   02 13 46 57      round 2   04 15 26 37
 *
 * Other sizes are shuffled: a seeded permutation, the same on every rank, cut into groups of g. What is left over joins
 * the last group when it is a single rank or less than half a group, and is a smaller group otherwise. The mean of a
 * group in place of each member's values keeps their sum, so groups of any sizes keep the mean over all ranks.
 *
 * With racks the rounds stay inside them, except the last one of every `period`, whose groups take their members from
 * different racks. The whole cycle joins every rank to every other (directly or through groups): it is drawn again
 * until it does.
 */
#pragma once

#include "comm/sync/racks.h"

typedef struct sync_groups {
    int rounds, ranks;
    int period; /* rounds from one crossing of racks to the next; 0: there is one rack */
    bool exact; /* all ranks hold the mean of all after one cycle */
    int *color; /* [rounds, ranks] group of a rank in a round */
} sync_groups;

/* group: ranks of a group, at least 2 (WEFT_ERR_USAGE). Not collective. */
weft_status groups_create(const comm_topology *racks, int group, uint64_t seed, sync_groups **groups);
void groups_destroy(sync_groups *groups);

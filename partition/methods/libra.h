/* partition/methods/libra.h: the Libra rule on a list of pairs, shared by the method of that name and by the METIS
 * vertex-cut.
 */
#pragma once

#include "partition/cover/edge_pairs.h"

/* share [parts] or NULL: partition/shares.h. [out] pair_part [list->pairs], the caller's. Sequential: every choice
 * depends on those before it. */
weft_status libra_assign(const pair_list *list, int parts, const double *share, uint64_t seed, int threads,
                         uint16_t *pair_part);

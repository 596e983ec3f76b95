/* gnn/data/build/pairs_look.h: what gnn/data/build/arcs.c keeps of edges as they come, one function by instruction
 * set. */
#pragma once

#include <stdint.h>

/* Of `count` pairs, 2^20 at most: *smallest falls to the smallest id, *largest grows to the largest; returns how many
 * are self-loops. */
typedef int32_t (*pairs_look_fn)(const int32_t *pairs, int64_t count, int32_t *smallest, int32_t *largest);

int32_t pairs_look_base(const int32_t *pairs, int64_t count, int32_t *smallest, int32_t *largest);
int32_t pairs_look_avx2(const int32_t *pairs, int64_t count, int32_t *smallest, int32_t *largest);

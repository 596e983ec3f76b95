/* trees/forest/forest_walk_base.c: forest_walk.h for every x86-64: one row after the other takes a step, so that their
 * loads overlap. Gathers of eight numbers are no faster. */
#include "trees/forest/forest_walk.h"

/* Returns whether some row moved. */
static inline bool step_down(const walk_tree *tree, const float *value, bool holes, int32_t *at)
{
    uint32_t moved = 0;
    for (int i = 0; i < WALK_ROWS; ++i) {
        const walk_node node = tree->node[at[i]];
        const uint32_t step = node.link >> WALK_STEP_SHIFT;
        const float x = value[(node.link & (WALK_COLUMNS - 1)) * WALK_ROWS + (uint32_t)i];
        const int32_t missing = holes && x != x && (node.link & WALK_MISSING) != 0;
        at[i] += (int32_t)step + (x >= node.threshold) + missing;
        moved |= step;
    }
    return moved != 0;
}

void forest_walk_base(const walk_tree *tree, const float *value, bool holes, int32_t *at, float *sum)
{
    for (int i = 0; i < WALK_ROWS; ++i) {
        at[i] = 0;
    }
    if (holes) {
        while (step_down(tree, value, true, at)) {
        }
    } else {
        while (step_down(tree, value, false, at)) {
        }
    }
    for (int i = 0; i < WALK_ROWS; ++i) {
        sum[i] += tree->value[at[i]];
    }
}

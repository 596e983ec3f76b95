/* trees/forest/forest_walk_body.h: the kernel of forest_walk.h, included once for each instruction set as WALK. */
#include "trees/forest/forest_walk.h"

static inline void go_top(const walk_tree *tree, const float *value, int32_t *at)
{
    for (int i = 0; i < WALK_ROWS; ++i) {
        at[i] = 0;
    }
    for (int level = 0; level < tree->levels; ++level) {
        const walk_node *node = tree->top + (1 << level) - 1;
        int32_t right[WALK_ROWS] = {0};
        for (int n = 0; n < 1 << level; ++n) {
            const float *x = value + (node[n].link & (WALK_COLUMNS - 1)) * WALK_ROWS, threshold = node[n].threshold;
            const int32_t missing = (node[n].link & WALK_MISSING) != 0;
#pragma omp simd
            for (int i = 0; i < WALK_ROWS; ++i) {
                const int32_t goes = (x[i] >= threshold) | ((x[i] != x[i]) & missing);
                right[i] |= (at[i] == n) & goes;
            }
        }
        for (int i = 0; i < WALK_ROWS; ++i) {
            at[i] = 2 * at[i] + right[i];
        }
    }
    for (int i = 0; i < WALK_ROWS; ++i) {
        at[i] = tree->start[at[i]];
    }
}

/* Returns whether some row moved. */
static inline bool step_down(const walk_tree *tree, const float *value, bool holes, int32_t *at)
{
    const walk_node *restrict node = tree->node;
    uint32_t moved = 0;
#pragma omp simd reduction(| : moved)
    for (int i = 0; i < WALK_ROWS; ++i) {
        const uint32_t link = node[at[i]].link, step = link >> WALK_STEP_SHIFT;
        const float x = value[(link & (WALK_COLUMNS - 1)) * WALK_ROWS + (uint32_t)i];
        const int32_t missing = holes && x != x ? (link & WALK_MISSING) != 0 : 0;
        at[i] += (int32_t)step + (x >= node[at[i]].threshold ? 1 : 0) + missing;
        moved |= step;
    }
    return moved != 0;
}

void WALK(const walk_tree *tree, const float *value, bool holes, int32_t *at, float *sum)
{
    go_top(tree, value, at);
    for (int step = 0; step < tree->steps && step_down(tree, value, holes, at); ++step) {
    }
    for (int i = 0; i < WALK_ROWS; ++i) {
        sum[i] += tree->value[at[i]];
    }
}

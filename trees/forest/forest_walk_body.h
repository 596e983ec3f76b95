/* trees/forest/forest_walk_body.h: the kernel of forest_walk.h, included once for each instruction set as WALK. */
#include "trees/forest/forest_walk.h"

void WALK(const forest_nodes *nodes, int tree, const float *value, bool holes, int32_t at[WALK_ROWS])
{
    const int32_t *restrict left = nodes->left, *restrict feature = nodes->feature, *restrict missing = nodes->missing;
    const float *restrict threshold = nodes->threshold;
    for (int i = 0; i < WALK_ROWS; ++i) {
        at[i] = nodes->first[tree];
    }
    for (int step = 0; step < nodes->depth[tree] && !holes; ++step) {
#pragma omp simd
        for (int i = 0; i < WALK_ROWS; ++i) {
            const int32_t node = at[i];
            const float x = value[feature[node] * WALK_ROWS + i];
            at[i] = left[node] + (x >= threshold[node] ? 1 : 0);
        }
    }
    for (int step = 0; step < nodes->depth[tree] && holes; ++step) {
#pragma omp simd
        for (int i = 0; i < WALK_ROWS; ++i) {
            const int32_t node = at[i];
            const float x = value[feature[node] * WALK_ROWS + i];
            at[i] = left[node] + (x >= threshold[node] ? 1 : 0) + (x != x ? missing[node] : 0);
        }
    }
}

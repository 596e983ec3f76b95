/* partition/cover/matching.c: see partition/cover/matching.h. */
#include "partition/cover/matching.h"

#include <stdbool.h>

static void match_greedily(const bipartite *graph, const matching_work *work)
{
    for (int32_t r = 0; r < graph->right; ++r) {
        work->right_match[r] = -1;
    }
    for (int32_t l = 0; l < graph->left; ++l) {
        work->left_match[l] = -1;
        for (int64_t e = graph->offset[l]; e < graph->offset[l + 1]; ++e) {
            int32_t r = graph->adjacent[e];
            if (work->right_match[r] < 0) {
                work->right_match[r] = l;
                work->left_match[l] = r;
                break;
            }
        }
    }
}

/* Levels of left vertices by breadth-first search from the unmatched ones; stops after the level that meets an
 * unmatched right vertex. Returns whether one was met. */
static bool find_levels(const bipartite *graph, const matching_work *work)
{
    int64_t head = 0, tail = 0;
    int32_t last = INT32_MAX;
    for (int32_t l = 0; l < graph->left; ++l) {
        work->level[l] = work->left_match[l] < 0 ? 0 : -1;
        work->next[l] = graph->offset[l];
        if (work->level[l] == 0) {
            work->queue[tail++] = l;
        }
    }
    while (head < tail) {
        int32_t l = work->queue[head++];
        if (work->level[l] >= last) {
            break;
        }
        for (int64_t e = graph->offset[l]; e < graph->offset[l + 1]; ++e) {
            int32_t mate = work->right_match[graph->adjacent[e]];
            if (mate < 0) {
                last = work->level[l] + 1;
            } else if (work->level[mate] < 0) {
                work->level[mate] = work->level[l] + 1;
                work->queue[tail++] = mate;
            }
        }
    }
    return last != INT32_MAX;
}

/* Walk down the levels from `start` along edges not tried in this phase; flip the path when it ends unmatched. */
static void augment(const matching_work *work, const bipartite *graph, int32_t start)
{
    int32_t *path = work->queue;
    int64_t depth = 0;
    path[0] = start;
    while (depth >= 0) {
        int32_t l = path[depth];
        if (work->next[l] == graph->offset[l + 1]) {
            --depth;
            continue;
        }
        int32_t r = graph->adjacent[work->next[l]++], mate = work->right_match[r];
        if (mate >= 0) {
            if (work->level[mate] == work->level[l] + 1) {
                path[++depth] = mate;
            }
            continue;
        }
        for (; depth >= 0; --depth) {
            int32_t freed = work->left_match[path[depth]];
            work->left_match[path[depth]] = r;
            work->right_match[r] = path[depth];
            r = freed;
        }
    }
}

/* Mark Z's left side in level (>= 0) and its right side in covered_right. */
static void reach(const bipartite *graph, const matching_work *work, uint8_t *covered_right)
{
    int64_t head = 0, tail = 0;
    for (int32_t r = 0; r < graph->right; ++r) {
        covered_right[r] = 0;
    }
    for (int32_t l = 0; l < graph->left; ++l) {
        work->level[l] = work->left_match[l] < 0 ? 0 : -1;
        if (work->level[l] == 0) {
            work->queue[tail++] = l;
        }
    }
    while (head < tail) {
        int32_t l = work->queue[head++];
        for (int64_t e = graph->offset[l]; e < graph->offset[l + 1]; ++e) {
            int32_t r = graph->adjacent[e];
            int32_t mate = work->right_match[r]; /* matched: an unmatched one would end an augmenting path */
            covered_right[r] = 1;
            if (work->level[mate] < 0) {
                work->level[mate] = 0;
                work->queue[tail++] = mate;
            }
        }
    }
}

int64_t matching_cover(const bipartite *graph, const matching_work *work, uint8_t *covered_left, uint8_t *covered_right)
{
    match_greedily(graph, work);
    while (find_levels(graph, work)) {
        for (int32_t l = 0; l < graph->left; ++l) {
            if (work->left_match[l] < 0) {
                augment(work, graph, l);
            }
        }
    }
    reach(graph, work, covered_right);
    int64_t size = 0;
    for (int32_t l = 0; l < graph->left; ++l) {
        covered_left[l] = work->level[l] < 0;
        size += covered_left[l];
    }
    for (int32_t r = 0; r < graph->right; ++r) {
        size += covered_right[r];
    }
    return size;
}

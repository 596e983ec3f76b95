/* trees/boost/dropped.c: see trees/boost/dropped.h. */
#include "trees/boost/dropped.h"

#include <string.h>

#include "trees/grow/row_sample.h"

enum { DRAW_ROUND = 2, DRAW_SKIP = 3 };

int dropped_draw(double drop, double skip, uint64_t seed, int rounds, uint8_t *out)
{
    const bool skipped = tree_place(seed, 0, rounds, DRAW_SKIP) < skip;
    int count = 0;
    for (int round = 0; round < rounds; ++round) {
        out[round] = !skipped && tree_place(seed, round, rounds, DRAW_ROUND) < drop;
        count += out[round];
    }
    return count;
}

weft_status dropped_margins(const weft_forest *forest, const tree_columns *data, const uint8_t *out, int rounds,
                            int threads, float *margin)
{
    for (int64_t i = 0; i < data->rows; ++i) {
        memcpy(margin + i * forest->outputs, forest->base, (size_t)forest->outputs * sizeof *margin);
    }
    for (int round = 0; round < rounds; ++round) {
        const int first = round;
        while (round < rounds && out[round] == 0) {
            ++round;
        }
        if (round > first) {
            WEFT_TRY(forest_margins(forest, data, first * forest->outputs, round * forest->outputs, threads, margin));
        }
    }
    return WEFT_OK;
}

static void scale_tree(weft_tree *tree, double by)
{
    for (int32_t n = 0; n < tree->nodes; ++n) {
        tree_node *node = &tree->node[n];
        node->weight *= (float)by;
        node->value *= node->left < 0 ? (float)by : 1.0F;
    }
}

void dropped_scale(weft_forest *forest, const uint8_t *out, int rounds, int count, double rate)
{
    for (int t = 0; t < forest->trees; ++t) {
        const int round = t / forest->outputs;
        if (round >= rounds || out[round] != 0) {
            scale_tree(&forest->tree[t], (round >= rounds ? 1.0 : (double)count) / ((double)count + rate));
        }
    }
}

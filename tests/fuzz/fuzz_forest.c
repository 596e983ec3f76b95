/*
 * libFuzzer: any bytes as a model of trees, of XGBoost's form or LightGBM's. What is read is a forest that answers:
 * every row ends at a leaf, and many rows at a time end at the same ones.
 */
#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "trees/forest/forest_json.h"
#include "trees/forest/forest_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { COLUMNS = 8 };

static void answer(const weft_forest *forest)
{
    const float value[3][COLUMNS] = {
        {0.0F}, {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN}, {9.0F, -9.0F, 1e30F, -1e30F, 2.0F, 31.0F, 32.0F, 65535.0F}};
    for (int t = 0; t < forest->trees && forest->columns <= COLUMNS; ++t) {
        for (int i = 0; i < 3; ++i) {
            const int32_t leaf = tree_leaf(&forest->tree[t], value[i]);
            assert(leaf >= 0 && leaf < forest->tree[t].nodes);
        }
    }
}

static void answer_many(const weft_forest *forest)
{
    static float value[COLUMNS * WALK_ROWS], sum[WALK_ROWS];
    int32_t at[WALK_ROWS];
    walk_forest laid = {0};
    const float row[COLUMNS] = {NAN, 1.0F, -1.0F, 0.5F, NAN, 1e30F, -1e30F, 2.0F};
    for (int i = 0; i < COLUMNS * WALK_ROWS; ++i) {
        value[i] = row[i / WALK_ROWS];
    }
    if (forest->columns <= COLUMNS && walk_forest_create(forest, 0, forest->trees, &laid) == WEFT_OK) {
        for (int t = 0; t < forest->trees; ++t) {
            if (laid.tree[t].fits) {
                forest_walk_base(&laid.tree[t], value, true, at, sum);
                assert(at[0] == tree_leaf(&forest->tree[t], row));
            }
        }
    }
    walk_forest_destroy(&laid);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    weft_forest forest;
    forest_facts facts;
    if (forest_read("fuzz", (const char *)data, size, &forest, &facts) == WEFT_OK) {
        answer(&forest);
        answer_many(&forest);
    }
    forest_destroy(&forest);
    forest_facts_free(&facts);
    return 0;
}

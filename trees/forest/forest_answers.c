/* trees/forest/forest_answers.c: answers of many rows (trees/forest/forest.h): a block of rows goes down all trees. */
#include <assert.h>
#include <string.h>

#include "base/integer/integers.h"
#include "base/isa.h"
#include "trees/forest/forest_walk.h"

/* A pass over rows, by trees first .. end - 1. */
typedef struct forest_pass {
    const weft_forest *forest;
    const tree_columns *data;
    walk_forest trees;
    forest_walk *walk;
    int first, end;
    float *margin; /* [rows, outputs]; NULL: */
    int32_t *leaf; /* [rows, trees] */
} forest_pass;

/* [out] value: [columns][WALK_ROWS], zeros behind the rows. Returns whether one of them is NaN. */
static bool read_block(const tree_columns *data, int64_t begin, int64_t rows, float *value)
{
    int holes = 0;
    for (int c = 0; c < data->columns; ++c) {
        float *own = value + (int64_t)c * WALK_ROWS;
        memset(own + rows, 0, (size_t)(WALK_ROWS - rows) * sizeof *own);
        tree_column_read(&data->column[c], begin, rows, own);
        for (int i = 0; i < WALK_ROWS; ++i) {
            holes |= own[i] != own[i];
        }
    }
    return holes != 0;
}

/* The kernels' work in a tree that does not fit them. */
static void walk_apart(const weft_tree *tree, const float *value, int32_t *at, float *sum)
{
    for (int i = 0; i < WALK_ROWS; ++i) {
        const tree_node *node = tree->node;
        while (node->left >= 0) {
            const bool left = tree_goes_left(tree, node, value[(int64_t)node->feature * WALK_ROWS + i]);
            node = tree->node + node->left + (left ? 0 : 1);
        }
        at[i] = (int32_t)(node - tree->node);
        sum[i] += node->value;
    }
}

/* value: [columns][WALK_ROWS]; sum: [outputs][WALK_ROWS]. */
static void run_block(const forest_pass *pass, int64_t begin, int64_t rows, float *value, float *sum)
{
    const weft_forest *forest = pass->forest;
    const int outputs = forest->outputs;
    int32_t at[WALK_ROWS];
    const bool holes = read_block(pass->data, begin, rows, value);
    for (int64_t i = 0; i < (int64_t)outputs * WALK_ROWS; ++i) {
        sum[i] = pass->first == 0 ? forest->base[i / WALK_ROWS]
                 : pass->margin != NULL && i % WALK_ROWS < rows
                     ? pass->margin[(begin + i % WALK_ROWS) * outputs + i / WALK_ROWS]
                     : 0.0F;
    }
    for (int t = pass->first; t < pass->end; ++t) {
        const walk_tree *tree = &pass->trees.tree[t - pass->first];
        float *own = sum + (int64_t)(t % outputs) * WALK_ROWS;
        if (tree->fits) {
            pass->walk(tree, value, holes, at, own);
        } else {
            walk_apart(&forest->tree[t], value, at, own);
        }
        for (int64_t i = 0; i < rows && pass->margin == NULL; ++i) {
            pass->leaf[(begin + i) * forest->trees + t] = at[i];
        }
    }
    for (int64_t i = 0; i < rows * outputs && pass->margin != NULL; ++i) {
        pass->margin[begin * outputs + i] = sum[i % outputs * WALK_ROWS + i / outputs];
    }
}

static weft_status run_pass(forest_pass *pass, int threads)
{
    float *scratch = NULL;
    const tree_columns *data = pass->data;
    const int64_t blocks = (data->rows + WALK_ROWS - 1) / WALK_ROWS;
    const int64_t values = (int64_t)WALK_ROWS * data->columns,
                  own = values + (int64_t)WALK_ROWS * pass->forest->outputs;
    weft_status status = WEFT_OK;
    assert(data->columns == pass->forest->columns);
    pass->walk = hal_isa_best() == HAL_ISA_AVX512 ? forest_walk_avx512 : forest_walk_base;
    WEFT_TRY_GOTO(walk_forest_create(pass->forest, pass->first, pass->end, &pass->trees), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&scratch, threads * own, WEFT_MEM_WORKSPACE), status, done);
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int part = 0; part < threads; ++part) {
        float *value = scratch + part * own;
        for (int64_t block = blocks * part / threads; block < blocks * (part + 1) / threads; ++block) {
            const int64_t begin = block * WALK_ROWS;
            run_block(pass, begin, smaller(data->rows - begin, WALK_ROWS), value, value + values);
        }
    }
done:
    weft_free(scratch);
    walk_forest_destroy(&pass->trees);
    return status;
}

weft_status forest_margins(const weft_forest *forest, const tree_columns *data, int first, int end, int threads,
                           float *margin)
{
    forest_pass pass = {.forest = forest, .data = data, .first = first, .end = end, .margin = margin};
    assert(first >= 0 && first <= end && end <= forest->trees);
    return run_pass(&pass, threads);
}

weft_status forest_leaves(const weft_forest *forest, const tree_columns *data, int threads, int32_t *leaf)
{
    forest_pass pass = {.forest = forest, .data = data, .end = forest->trees, .leaf = leaf};
    return run_pass(&pass, threads);
}

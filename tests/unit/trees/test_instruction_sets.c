/* Kernels of trees for each instruction set of this machine: the same bits, and what their definitions say. */
#include <math.h>
#include <string.h>

#include "support/random.h"
#include "support/test.h"
#include "trees/forest/forest_walk.h"
#include "trees/grow/divide_rows.h"
#include "trees/grow/split_hits.h"
#include "trees/loss/logistic.h"

enum { ROWS = 1003, COLUMN = 4 * ROWS, BEHIND = 3, WALKED = 5 };

static void divided_rows(void **state)
{
    static divide_kernel *const kernel[] = {divide_rows_base, divide_rows_avx512};
    static uint8_t bin[COLUMN + BEHIND], goes_left[DIVIDE_BINS];
    static int32_t row[ROWS], left[ROWS], right[ROWS], expected[2][ROWS];
    uint64_t random = 3;
    (void)state;
    for (int b = 0; b < DIVIDE_BINS; ++b) {
        goes_left[b] = test_uniform(&random) < 0.4;
    }
    for (int i = 0; i < COLUMN; ++i) {
        bin[i] = (uint8_t)(256.0 * test_uniform(&random));
    }
    for (int count = 0; count <= ROWS; count = 3 * count + 1) {
        for (int k = 0; k < (hal_isa_best() == HAL_ISA_AVX512 ? 2 : 1); ++k) {
            int ends[2] = {0, 0};
            for (int i = 0; i < count; ++i) {
                row[i] = COLUMN - 4 * (count - i) + (int)(4.0 * test_uniform(&random));
                const int side = goes_left[bin[row[i]]] != 0 ? 0 : 1;
                expected[side][ends[side]++] = row[i];
            }
            memcpy(left, row, sizeof left);
            assert_int_equal(kernel[k](left, count, bin, goes_left, left, right), ends[0]);
            assert_memory_equal(left, expected[0], (size_t)ends[0] * sizeof *left);
            assert_memory_equal(right, expected[1], (size_t)ends[1] * sizeof *right);
        }
    }
}

static void logistic_bits(void **state)
{
    static logistic_kernel *const kernel[HAL_ISAS] = {logistic_base, logistic_avx2, logistic_avx512};
    static float margin[ROWS], y[ROWS], gradient[HAL_ISAS][ROWS], hessian[HAL_ISAS][ROWS];
    static uint8_t counts[ROWS];
    double loss[HAL_ISAS], expected = 0.0;
    uint64_t random = 5;
    (void)state;
    for (int i = 0; i < ROWS; ++i) {
        margin[i] = i == 7 ? 800.0F : (float)(40.0 * test_uniform(&random) - 20.0);
        y[i] = test_uniform(&random) < 0.5 ? 0.0F : 1.0F;
        counts[i] = test_uniform(&random) < 0.9;
        const double z = y[i] > 0.0F ? -(double)margin[i] : (double)margin[i];
        expected += counts[i] != 0 ? fmax(z, 0.0) + log1p(exp(-fabs(z))) : 0.0;
    }
    for (int k = 0; k <= (int)hal_isa_best(); ++k) {
        loss[k] = kernel[k](&(logistic_rows){margin, y, counts, ROWS, gradient[k], hessian[k]});
        assert_memory_equal(&loss[k], &loss[0], sizeof *loss);
        assert_memory_equal(gradient[k], gradient[0], sizeof *gradient);
        assert_memory_equal(hessian[k], hessian[0], sizeof *hessian);
    }
    assert_true(fabs(loss[0] - expected) <= 1e-9 * expected);
    for (int i = 0; i < ROWS; ++i) {
        const double p = 1.0 / (1.0 + exp(-(double)margin[i])), own = counts[i] != 0 ? 1.0 : 0.0;
        assert_true(fabs((double)gradient[0][i] - own * (p - (double)y[i])) <= 1e-6 * own);
        assert_true(fabs((double)hessian[0][i] - own * p * (1.0 - p)) <= 1e-6 * own);
    }
}

/* Every instruction set finds the cuts that reach the bar by division, but for those within rounding of it. */
static void found_cuts(void **state)
{
    static split_hits *const kernel[HAL_ISAS] = {split_hits_base, split_hits_avx2, split_hits_avx512};
    static left_sums left;
    double hit[SPLIT_CUTS];
    uint64_t random = 11;
    (void)state;
    for (int trial = 0; trial < 60; ++trial) {
        const int cuts = trial % 3 == 0 ? SPLIT_CUTS : 1 + trial;
        const split_bar bar = {.gradient = 400.0 * test_uniform(&random) - 200.0,
                               .hessian = 1000.0,
                               .gradient_unit = 0.5,
                               .hessian_unit = 0.25,
                               .alpha = trial % 2 == 0 ? 0.0 : 3.0,
                               .lambda = 1.0,
                               .min_hessian = 20.0,
                               .least = 60.0 * test_uniform(&random)};
        for (int i = 0; i < cuts; ++i) {
            left.gradient[i] = 400.0 * test_uniform(&random) - 200.0;
            left.hessian[i] = floor(1000.0 * test_uniform(&random));
        }
        for (int k = 0; k <= (int)hal_isa_best(); ++k) {
            double sum = 0.0;
            const double found = kernel[k](&bar, &left, cuts, hit);
            for (int i = 0; i < cuts; ++i) {
                const double h[2] = {0.25 * left.hessian[i], 0.25 * (bar.hessian - left.hessian[i])};
                const double g[2] = {fmax(fabs(0.5 * left.gradient[i]) - bar.alpha, 0.0),
                                     fmax(fabs(0.5 * (bar.gradient - left.gradient[i])) - bar.alpha, 0.0)};
                const double score = g[0] * g[0] / (h[0] + 1.0) + g[1] * g[1] / (h[1] + 1.0);
                const bool reaches = score >= bar.least && h[0] >= 20.0 && h[1] >= 20.0;
                assert_true((hit[i] != 0.0) == reaches || fabs(score - bar.least) < 1e-9 * bar.least);
                sum += hit[i];
            }
            assert_true(found == sum);
        }
    }
}

/* A tree of so many leaves: leaf after leaf is split, any of them, or in a chain the last. */
static weft_tree random_tree(uint64_t *random, int leaves, bool chain)
{
    weft_tree tree = {.nodes = 1};
    ASSERT_OK(WEFT_NEW_ZERO(&tree.node, 2 * leaves - 1, WEFT_MEM_TREES));
    tree.node[0] = (tree_node){.left = -1, .parent = -1, .value = 0.5F};
    for (int32_t at = 0; tree.nodes < 2 * leaves - 1;) {
        at = chain ? tree.nodes - 1 : (int32_t)((double)tree.nodes * test_uniform(random));
        if (tree.node[at].left < 0) {
            tree.node[at] = (tree_node){.left = tree.nodes,
                                        .feature = (int32_t)(WALKED * test_uniform(random)),
                                        .value = (float)(int)(8.0 * test_uniform(random)),
                                        .default_left = test_uniform(random) < 0.5};
            for (int side = 0; side < 2; ++side) {
                tree.node[tree.nodes++] = (tree_node){.left = -1, .parent = at, .value = (float)test_uniform(random)};
            }
        }
    }
    return tree;
}

static void walked_tree(const weft_tree *tree, const walk_tree *laid, const float *value, bool holes)
{
    static forest_walk *const kernel[] = {forest_walk_base, forest_walk_avx512};
    for (int k = 0; k < (hal_isa_best() == HAL_ISA_AVX512 ? 2 : 1); ++k) {
        float sum[WALK_ROWS], row[WALKED];
        int32_t at[WALK_ROWS];
        for (int i = 0; i < WALK_ROWS; ++i) {
            sum[i] = (float)i;
        }
        kernel[k](laid, value, holes, at, sum);
        for (int i = 0; i < WALK_ROWS; ++i) {
            for (int c = 0; c < WALKED; ++c) {
                row[c] = value[c * WALK_ROWS + i];
            }
            assert_int_equal(at[i], tree_leaf(tree, row));
            assert_true(sum[i] == (float)i + tree->node[at[i]].value);
        }
    }
}

static void walked_rows(void **state)
{
    static const int leaves[] = {1, 2, 3, 9, 33, 256, 70000};
    static float value[WALKED * WALK_ROWS];
    uint64_t random = 7;
    (void)state;
    for (int t = 0; t < 13; ++t) {
        weft_forest forest;
        walk_forest laid;
        weft_tree tree = random_tree(&random, leaves[t % 7], t >= 7);
        ASSERT_OK(forest_create(WALKED, 1, &forest));
        ASSERT_OK(forest_add(&forest, &tree));
        ASSERT_OK(walk_forest_create(&forest, 0, 1, &laid));
        for (int holes = 0; holes < 2; ++holes) {
            for (int i = 0; i < WALKED * WALK_ROWS; ++i) {
                value[i] = (float)(int)(9.0 * test_uniform(&random));
                value[i] = holes != 0 && test_uniform(&random) < 0.3 ? NAN : value[i];
            }
            if (laid.tree->fits) {
                walked_tree(forest.tree, laid.tree, value, holes != 0);
            }
        }
        assert_true(laid.tree->fits == (leaves[t % 7] < 70000));
        walk_forest_destroy(&laid);
        forest_destroy(&forest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(divided_rows), cmocka_unit_test(logistic_bits),
                                       cmocka_unit_test(found_cuts), cmocka_unit_test(walked_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

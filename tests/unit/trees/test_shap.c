/*
 * SHAP values of trees, compared with their definition: the value of every set of columns by a walk over the tree, and
 * Shapley's sum over all sets. Trees are random, of any shape, with columns that come several times on a path.
 */
#include <math.h>

#include "support/random.h"
#include "support/test.h"
#include "trees/shap/quadrature.h"
#include "trees/shap/tree_shap.h"

enum { COLUMNS = 6, SETS = 1 << COLUMNS, ROWS = 37, TREES = 6, NODES = 63, CHAIN = 41 };

static float value[COLUMNS][ROWS];
static int64_t id[ROWS];

/* [out] tree: columns 0 .. COLUMNS - 2 only, so that the last one is never asked. */
static weft_tree make_tree(uint64_t *state, int nodes, bool chain)
{
    weft_tree tree = {.nodes = 1};
    ASSERT_OK(WEFT_NEW_ZERO(&tree.node, nodes, WEFT_MEM_TREES));
    tree.node[0] = (tree_node){.left = -1, .parent = -1, .hessian = 100.0, .value = 1.0F};
    for (int at = 0; tree.nodes + 2 <= nodes; ++at) {
        at = chain ? tree.nodes - 1 : at % tree.nodes;
        if (tree.node[at].left >= 0 || (!chain && test_uniform(state) < 0.4)) {
            continue;
        }
        const double share = 0.05 + 0.9 * test_uniform(state);
        tree_node *node = &tree.node[at];
        node->left = tree.nodes;
        node->feature = (int32_t)(test_random(state) % (COLUMNS - 1));
        node->value = (float)test_uniform(state);
        node->default_left = test_uniform(state) < 0.5;
        for (int side = 0; side < 2; ++side) {
            tree.node[tree.nodes++] = (tree_node){.left = -1,
                                                  .parent = at,
                                                  .hessian = node->hessian * (side == 0 ? share : 1.0 - share),
                                                  .value = (float)(test_uniform(state) - 0.5)};
        }
    }
    return tree;
}

/* The mean answer when the columns of the set are those of a row. */
static double value_of(const weft_tree *tree, int32_t at, int set, int row)
{
    const tree_node *node = &tree->node[at];
    if (node->left < 0) {
        return (double)node->value;
    }
    const float x = value[node->feature][row];
    if ((set >> node->feature & 1) != 0) {
        const bool left = isnan(x) ? node->default_left : x < node->value;
        return value_of(tree, node->left + (left ? 0 : 1), set, row);
    }
    const double share = tree->node[node->left].hessian / node->hessian;
    return share * value_of(tree, node->left, set, row) + (1.0 - share) * value_of(tree, node->left + 1, set, row);
}

static double factorial(int n)
{
    return n < 2 ? 1.0 : n * factorial(n - 1);
}

static double shapley(const weft_tree *tree, int column, int row)
{
    double sum = 0.0;
    for (int set = 0; set < SETS; ++set) {
        if ((set >> column & 1) == 0) {
            const int size = __builtin_popcount((unsigned)set);
            const double weight = factorial(size) * factorial(COLUMNS - size - 1) / factorial(COLUMNS);
            sum += weight * (value_of(tree, 0, set | 1 << column, row) - value_of(tree, 0, set, row));
        }
    }
    return sum;
}

static void draw(uint64_t *state)
{
    for (int c = 0; c < COLUMNS; ++c) {
        for (int i = 0; i < ROWS; ++i) {
            value[c][i] = test_uniform(state) < 0.1 ? NAN : (float)test_uniform(state);
        }
    }
}

static void check(const weft_forest *forest, bool by_definition)
{
    tree_column column[COLUMNS];
    for (int c = 0; c < COLUMNS; ++c) {
        column[c] = (tree_column){TABLE_REAL, value[c]};
    }
    const tree_columns data = {ROWS, COLUMNS, column, id};
    const int first = 3, rows = ROWS - first, outputs = forest->outputs;
    double *phi = calloc((size_t)rows * (size_t)outputs * (COLUMNS + 1), sizeof *phi);
    ASSERT_OK(tree_shap(forest, &data, first, rows, 2, phi));
    for (int i = 0; i < rows; ++i) {
        for (int k = 0; k < outputs; ++k) {
            const double *own = phi + (i * outputs + k) * (COLUMNS + 1);
            double sum = own[COLUMNS], margin = (double)forest->base[k], mean = margin;
            for (int c = 0; c < COLUMNS; ++c) {
                double expected = 0.0;
                for (int t = k; by_definition && t < forest->trees; t += outputs) {
                    expected += shapley(&forest->tree[t], c, first + i);
                }
                if (by_definition) {
                    ASSERT_NEAR(own[c], expected, 1e-12);
                }
                sum += own[c];
            }
            assert_true(own[COLUMNS - 1] == 0.0); /* nobody asks for the last column */
            for (int t = k; t < forest->trees; t += outputs) {
                margin += value_of(&forest->tree[t], 0, SETS - 1, first + i);
                mean += value_of(&forest->tree[t], 0, 0, 0);
            }
            ASSERT_NEAR(sum, margin, 1e-9);
            ASSERT_NEAR(own[COLUMNS], mean, 1e-9);
        }
    }
    free(phi);
}

static void definition(void **state)
{
    (void)state;
    uint64_t random = 11;
    for (int outputs = 1; outputs <= 3; outputs += 2) {
        weft_forest forest;
        ASSERT_OK(forest_create(COLUMNS, outputs, &forest));
        draw(&random);
        for (int t = 0; t < TREES; ++t) {
            weft_tree tree = make_tree(&random, t == 0 ? 1 : t == 1 ? 3 : NODES, t == 5);
            ASSERT_OK(forest_add(&forest, &tree));
        }
        for (int k = 0; k < outputs; ++k) {
            forest.base[k] = 0.25F * (float)k - 0.5F;
        }
        check(&forest, true);
        forest_destroy(&forest);
    }
}

/* A side that no row of the training took weighs nothing, and no number becomes NaN. */
static void empty_side(void **state)
{
    (void)state;
    uint64_t random = 5;
    weft_forest forest;
    weft_tree tree = make_tree(&random, 7, false);
    ASSERT_OK(forest_create(COLUMNS, 1, &forest));
    draw(&random);
    tree.node[1].hessian = 0.0;
    tree.node[2].hessian = tree.node[0].hessian;
    for (int n = 3; n < tree.nodes; ++n) {
        tree.node[n].hessian = tree.node[tree.node[n].parent].hessian / 2.0;
    }
    ASSERT_OK(forest_add(&forest, &tree));
    tree_column column[COLUMNS];
    double phi[ROWS * (COLUMNS + 1)];
    for (int c = 0; c < COLUMNS; ++c) {
        column[c] = (tree_column){TABLE_REAL, value[c]};
    }
    ASSERT_OK(tree_shap(&forest, &(tree_columns){ROWS, COLUMNS, column, id}, 0, ROWS, 1, phi));
    for (int i = 0; i < ROWS * (COLUMNS + 1); ++i) {
        assert_true(isfinite(phi[i]));
    }
    forest_destroy(&forest);
}

static void deep(void **state)
{
    (void)state;
    uint64_t random = 8;
    weft_forest forest;
    ASSERT_OK(forest_create(COLUMNS, 1, &forest));
    draw(&random);
    weft_tree tree = make_tree(&random, CHAIN, true);
    ASSERT_OK(forest_add(&forest, &tree));
    check(&forest, true);
    tree = make_tree(&random, 2 * SHAP_DEPTH_MAX + 3, true);
    ASSERT_OK(forest_add(&forest, &tree));
    double phi[COLUMNS + 1];
    tree_column column[COLUMNS];
    for (int c = 0; c < COLUMNS; ++c) {
        column[c] = (tree_column){TABLE_REAL, value[c]};
    }
    ASSERT_STATUS(tree_shap(&forest, &(tree_columns){ROWS, COLUMNS, column, id}, 0, 1, 1, phi), WEFT_ERR_UNSUPPORTED);
    ASSERT_MESSAGE("deeper");
    forest_destroy(&forest);
}

/* The integral of t^n is 1 / (n + 1). */
static void integrals(void **state)
{
    (void)state;
    for (int count = 1; count <= 64; ++count) {
        double point[64], weight[64];
        quadrature_find(count, point, weight);
        for (int n = 0; n < 2 * count; ++n) {
            double sum = 0.0;
            for (int k = 0; k < count; ++k) {
                sum += weight[k] * pow(point[k], n);
            }
            ASSERT_NEAR(sum, 1.0 / (n + 1), 1e-13);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(definition), cmocka_unit_test(empty_side),
                                       cmocka_unit_test(deep), cmocka_unit_test(integrals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

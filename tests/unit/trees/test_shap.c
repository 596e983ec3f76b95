/*
 * SHAP values of trees, their interactions, and those against a background, compared with their definition: the value
 * of every set of columns by a walk over the tree, and Shapley's sum over all sets. Trees are random, of any shape,
 * with columns that come several times on a path.
 */
#include <math.h>

#include "support/random.h"
#include "support/test.h"
#include "trees/shap/background_shap.h"
#include "trees/shap/quadrature.h"
#include "trees/shap/tree_shap.h"

enum { COLUMNS = 6, SETS = 1 << COLUMNS, ROWS = 37, TREES = 6, NODES = 63, CHAIN = 41, BACKGROUND = 70 };

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

/* Shares by the definition, against a background: columns outside of the set have the mean over its rows. */
static float background[BACKGROUND][COLUMNS];

static double value_against(const weft_tree *tree, int set, int row)
{
    double sum = 0.0;
    for (int b = 0; b < BACKGROUND; ++b) {
        float mixed[COLUMNS];
        for (int c = 0; c < COLUMNS; ++c) {
            mixed[c] = (set >> c & 1) != 0 ? value[c][row] : background[b][c];
        }
        sum += (double)tree->node[tree_leaf(tree, mixed)].value;
    }
    return sum / BACKGROUND;
}

static void fill_game(const weft_tree *tree, int row, bool against, double game[SETS])
{
    for (int set = 0; set < SETS; ++set) {
        game[set] = against ? value_against(tree, set, row) : value_of(tree, 0, set, row);
    }
}

static double shapley(const double game[SETS], int column)
{
    double sum = 0.0;
    for (int set = 0; set < SETS; ++set) {
        if ((set >> column & 1) == 0) {
            const int size = __builtin_popcount((unsigned)set);
            const double weight = factorial(size) * factorial(COLUMNS - size - 1) / factorial(COLUMNS);
            sum += weight * (game[set | 1 << column] - game[set]);
        }
    }
    return sum;
}

/* Half of the Shapley interaction index of two columns. */
static double interaction(const double game[SETS], int i, int j)
{
    double sum = 0.0;
    const int both = 1 << i | 1 << j;
    for (int set = 0; set < SETS; ++set) {
        if ((set & both) == 0) {
            const int size = __builtin_popcount((unsigned)set);
            const double weight = factorial(size) * factorial(COLUMNS - size - 2) / (2.0 * factorial(COLUMNS - 1));
            sum += weight * (game[set | both] - game[set | 1 << i] - game[set | 1 << j] + game[set]);
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
        for (int b = 0; b < BACKGROUND; ++b) {
            background[b][c] = test_uniform(state) < 0.1 ? NAN : (float)test_uniform(state);
        }
    }
}

static void check(const weft_forest *forest, bool by_definition)
{
    tree_column column[COLUMNS];
    for (int c = 0; c < COLUMNS; ++c) {
        column[c] = (tree_column){TABLE_REAL, value[c]};
    }
    const tree_columns data = {.rows = ROWS, .columns = COLUMNS, .column = column, .id = id};
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
                    double game[SETS];
                    fill_game(&forest->tree[t], first + i, false, game);
                    expected += shapley(game, c);
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

/* Interactions of all rows beside the definition, beside SHAP values, and beside their own transpose. */
static void check_pairs(const weft_forest *forest, bool by_definition)
{
    enum { WIDTH = COLUMNS + 1 };
    tree_column column[COLUMNS];
    for (int c = 0; c < COLUMNS; ++c) {
        column[c] = (tree_column){TABLE_REAL, value[c]};
    }
    const tree_columns data = {.rows = ROWS, .columns = COLUMNS, .column = column, .id = id};
    const int outputs = forest->outputs;
    double *phi = calloc((size_t)ROWS * (size_t)outputs * WIDTH, sizeof *phi);
    double *pair = calloc((size_t)ROWS * (size_t)outputs * WIDTH * WIDTH, sizeof *pair);
    ASSERT_OK(tree_shap(forest, &data, 0, ROWS, 1, phi));
    ASSERT_OK(tree_shap_pairs(forest, &data, 0, ROWS, 2, pair));
    for (int at = 0; at < ROWS * outputs; ++at) {
        const double *own = pair + at * WIDTH * WIDTH;
        for (int i = 0; i < WIDTH; ++i) {
            double sum = 0.0;
            for (int j = 0; j < WIDTH; ++j) {
                double expected = 0.0;
                sum += own[i * WIDTH + j];
                assert_true(own[i * WIDTH + j] == own[j * WIDTH + i]);
                for (int t = at % outputs; by_definition && t < forest->trees && j < i && i < COLUMNS; t += outputs) {
                    double game[SETS];
                    fill_game(&forest->tree[t], at / outputs, false, game);
                    expected += interaction(game, i, j);
                }
                assert_true(!by_definition || j >= i || fabs(own[i * WIDTH + j] - expected) < 1e-12);
            }
            ASSERT_NEAR(sum, phi[at * WIDTH + i], 1e-12);
        }
    }
    free(phi);
    free(pair);
}

static void check_against(const weft_forest *forest)
{
    tree_column column[COLUMNS];
    for (int c = 0; c < COLUMNS; ++c) {
        column[c] = (tree_column){TABLE_REAL, value[c]};
    }
    const tree_columns data = {.rows = ROWS, .columns = COLUMNS, .column = column, .id = id};
    const int outputs = forest->outputs;
    double *phi = calloc((size_t)ROWS * (size_t)outputs * (COLUMNS + 1), sizeof *phi);
    ASSERT_OK(background_shap(forest, background[0], BACKGROUND, &data, 0, ROWS, 2, phi));
    for (int at = 0; at < ROWS * outputs; ++at) {
        const double *own = phi + at * (COLUMNS + 1);
        double expected[COLUMNS + 1] = {0.0}, sum = 0.0, margin = (double)forest->base[at % outputs];
        expected[COLUMNS] = margin;
        for (int t = at % outputs; t < forest->trees; t += outputs) {
            double game[SETS];
            fill_game(&forest->tree[t], at / outputs, true, game);
            margin += game[SETS - 1];
            expected[COLUMNS] += game[0];
            for (int c = 0; c < COLUMNS; ++c) {
                expected[c] += shapley(game, c);
            }
        }
        for (int c = 0; c <= COLUMNS; ++c) {
            ASSERT_NEAR(own[c], expected[c], 1e-12);
            sum += own[c];
        }
        ASSERT_NEAR(sum, margin, 1e-12);
        assert_true(own[COLUMNS - 1] == 0.0);
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
        check_pairs(&forest, true);
        check_against(&forest);
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
    ASSERT_OK(tree_shap(&forest, &(tree_columns){.rows = ROWS, .columns = COLUMNS, .column = column, .id = id}, 0, ROWS,
                        1, phi));
    for (int i = 0; i < ROWS; ++i) {
        double sum = 0.0;
        for (int c = 0; c <= COLUMNS; ++c) {
            sum += phi[i * (COLUMNS + 1) + c];
        }
        ASSERT_NEAR(sum, value_of(&forest.tree[0], 0, SETS - 1, i), 1e-12);
    }
    check_pairs(&forest, false);
    forest_destroy(&forest);
}

/* 20 different columns on a path, more than any table of sets holds: a chain in which each column stands once. The row
 * goes through to the end, so that a leaf that leaves the path below column j has that one unmet. */
static void wide(void **state)
{
    (void)state;
    enum { DEPTH = 20 };
    weft_forest forest;
    weft_tree tree = {.nodes = 2 * DEPTH + 1};
    tree_column column[DEPTH];
    float one = 1.0F;
    int64_t only = 0;
    double phi[DEPTH + 1], pair[(DEPTH + 1) * (DEPTH + 1)], sum = 0.0;
    ASSERT_OK(forest_create(DEPTH, 1, &forest));
    ASSERT_OK(WEFT_NEW_ZERO(&tree.node, tree.nodes, WEFT_MEM_TREES));
    for (int n = 0; n < tree.nodes; ++n) { /* nodes 2 c go on, nodes 2 c + 1 are leaves of 0 */
        const bool inner = n % 2 == 0 && n < 2 * DEPTH;
        tree.node[n] = (tree_node){.left = inner ? n + 1 : -1,
                                   .parent = n == 0 ? -1 : (n - 1) / 2 * 2,
                                   .feature = inner ? n / 2 : 0,
                                   .value = inner            ? 0.5F
                                            : n == 2 * DEPTH ? 1.0F
                                                             : 0.0F,
                                   .hessian = ldexp(1.0, DEPTH - (n + 1) / 2)};
    }
    ASSERT_OK(forest_add(&forest, &tree));
    for (int c = 0; c < DEPTH; ++c) {
        column[c] = (tree_column){TABLE_REAL, &one};
    }
    const tree_columns data = {.rows = 1, .columns = DEPTH, .column = column, .id = &only};
    ASSERT_OK(tree_shap(&forest, &data, 0, 1, 1, phi));
    ASSERT_OK(tree_shap_pairs(&forest, &data, 0, 1, 1, pair));
    for (int c = 0; c <= DEPTH; ++c) { /* all columns are alike: each has a share of 1 - 2^-20 */
        ASSERT_NEAR(phi[c], c < DEPTH ? (1.0 - ldexp(1.0, -DEPTH)) / DEPTH : ldexp(1.0, -DEPTH), 1e-14);
        for (int other = 0; other <= DEPTH; ++other) {
            sum += pair[c * (DEPTH + 1) + other];
        }
        ASSERT_NEAR(pair[1], pair[c < 2 ? 1 : c == DEPTH ? 2 : c], 1e-14);
    }
    ASSERT_NEAR(sum, 1.0, 1e-12);
    const float zeros[DEPTH] = {0.0F};
    ASSERT_OK(background_shap(&forest, zeros, 1, &data, 0, 1, 1, phi));
    for (int c = 0; c <= DEPTH; ++c) {
        ASSERT_NEAR(phi[c], c < DEPTH ? 1.0 / DEPTH : 0.0, 1e-14);
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
    ASSERT_STATUS(
        tree_shap(&forest, &(tree_columns){.rows = ROWS, .columns = COLUMNS, .column = column, .id = id}, 0, 1, 1, phi),
        WEFT_ERR_UNSUPPORTED);
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
                                       cmocka_unit_test(wide), cmocka_unit_test(deep), cmocka_unit_test(integrals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

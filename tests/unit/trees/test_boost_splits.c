/*
 * Boosting: a tree is compared with an exhaustive search in double over the rows themselves, trees that grow by leaves
 * with trees that grow by levels, and weights with rows that stand twice.
 */
#include "support/boost_ranks.h"

static double value_at(int column, int row)
{
    if (column < 3) {
        return (double)all.real[column][row];
    }
    return column == 3 ? (all.whole[row] == TABLE_NO_INTEGER ? (double)NAN : (double)all.whole[row])
                       : (double)all.large[row];
}

/* The best split of some rows by gain, over all columns, values as thresholds, and sides of missing values. */
typedef struct found {
    double gain, threshold;
    int column;
    bool default_left;
} found;

static double score_of(double g, double h)
{
    return g * g / (h + 1.0);
}

static double gain_of(const uint8_t *in, const double *g, int column, double threshold, bool missing_left)
{
    double sum[2][2] = {{0.0}};
    for (int i = 0; i < ROWS; ++i) {
        if (in[i]) {
            const double x = value_at(column, i);
            const bool left = isnan(x) ? missing_left : x < threshold;
            sum[left][0] += g[i];
            sum[left][1] += 1.0;
        }
    }
    if (sum[0][1] < 1.0 || sum[1][1] < 1.0) {
        return 0.0;
    }
    return score_of(sum[0][0], sum[0][1]) + score_of(sum[1][0], sum[1][1]) -
           score_of(sum[0][0] + sum[1][0], sum[0][1] + sum[1][1]);
}

static found search(const uint8_t *in, const double *g)
{
    found best = {0};
    for (int c = 0; c < COLUMNS; ++c) {
        for (int i = 0; i <= ROWS; ++i) {
            const double threshold = i < ROWS ? (all.counts[i] ? value_at(c, i) : (double)NAN) : (double)INFINITY;
            for (int side = 0; !isnan(threshold) && side < 2; ++side) {
                const double gain = gain_of(in, g, c, threshold, side == 1);
                if (gain > best.gain + 1e-9) {
                    best = (found){gain, threshold, c, side == 1};
                }
            }
        }
    }
    return best;
}

/* The node of the tree must be as good as the best split of its rows, and its leaves must be Newton steps. */
static void check_node(const weft_tree *tree, int32_t at, const uint8_t *in, const double *g)
{
    const tree_node *node = &tree->node[at];
    double sum[2] = {0.0, 0.0};
    for (int i = 0; i < ROWS; ++i) {
        sum[0] += in[i] ? g[i] : 0.0;
        sum[1] += in[i];
    }
    ASSERT_NEAR(node->hessian, sum[1], 1e-6);
    if (node->left < 0) {
        ASSERT_NEAR(node->value, -0.3 * sum[0] / (sum[1] + 1.0), 1e-6);
        return;
    }
    const found best = search(in, g);
    uint8_t side[2][ROWS] = {{0}};
    ASSERT_NEAR(node->gain, best.gain, 1e-4 * best.gain);
    ASSERT_NEAR(gain_of(in, g, node->feature, (double)node->value, node->default_left), best.gain, 1e-9);
    for (int i = 0; i < ROWS; ++i) {
        const double x = value_at(node->feature, i);
        const bool left = isnan(x) ? node->default_left : x < (double)node->value;
        side[left][i] = in[i];
    }
    check_node(tree, node->left, side[1], g);
    check_node(tree, node->left + 1, side[0], g);
}

/* Targets of -1 and 1 with a mean of 0 have gradients that 16 bits hold exactly, so nothing is rounded. */
static void check_exhaustive(int values)
{
    training t = {.loss = TREE_LOSS_SQUARED, .options = options(4, 0, false), .ranks = 2, .threads = 1, .rounds = 1};
    double g[ROWS];
    int sum = 0;
    draw(TREE_LOSS_SQUARED);
    for (int i = 0; i < ROWS; ++i) {
        sum += all.counts[i] ? (int)all.y[i] : 0;
    }
    for (int i = 0; i < ROWS && sum != 0; ++i) {
        if (all.counts[i] && (int)all.y[i] * sum > 0 && abs(sum) > 1) {
            all.y[i] = -all.y[i];
            sum += 2 * (int)all.y[i];
        } else if (all.counts[i] && abs(sum) == 1 && (int)all.y[i] == sum) {
            all.counts[i] = 0;
            sum = 0;
        }
    }
    assert_int_equal(sum, 0);
    for (int i = 0; i < ROWS; ++i) {
        g[i] = -(double)all.y[i];
    }
    t.options.growth.min_hessian = 0.5;
    t.options.values = values;
    train(&t);
    assert_true(t.forest.base[0] == 0.0F && t.forest.tree[0].nodes >= 15);
    check_node(&t.forest.tree[0], 0, all.counts, g);
    forest_destroy(&t.forest);
}

static void exhaustive(void **state)
{
    (void)state;
    check_exhaustive(TREE_BYTE_VALUES);
    value_levels = 10000.0;
    check_exhaustive(TREE_VALUES);
    value_levels = 200.0;
}

static double route_sum(const weft_forest *forest)
{
    double sum = 0.0;
    for (int i = 0; i < ROWS; ++i) {
        float value[COLUMNS];
        for (int c = 0; c < COLUMNS; ++c) {
            value[c] = (float)value_at(c, i);
        }
        sum += (double)forest->tree[0].node[tree_leaf(&forest->tree[0], value)].value * (i + 1);
    }
    return sum;
}

/* Without a bound of leaves, growing by leaves makes the splits that growing by levels makes, in another order. */
static void order_of_growth(void **state)
{
    (void)state;
    training levels = {
        .loss = TREE_LOSS_LOGISTIC, .options = options(4, 0, false), .ranks = 1, .threads = 1, .rounds = 1};
    training leaves = levels;
    leaves.options.growth.leaf_wise = true;
    draw(TREE_LOSS_LOGISTIC);
    train(&levels);
    train(&leaves);
    assert_int_equal(levels.forest.tree[0].nodes, leaves.forest.tree[0].nodes);
    assert_true(route_sum(&levels.forest) == route_sum(&leaves.forest));
    forest_destroy(&levels.forest);
    forest_destroy(&leaves.forest);
}

static int count_leaves(const weft_tree *tree)
{
    return (tree->nodes + 1) / 2;
}

/* Searches the leaves of a growing tree for the one of the largest gain: it must be the next to be divided. */
static void assert_best_first(const weft_tree *tree)
{
    for (int placed = 1; placed < tree->nodes; placed += 2) {
        int best = -1;
        for (int n = 0; n < placed; ++n) {
            const tree_node *node = &tree->node[n];
            if (node->left >= placed && (best < 0 || node->gain > tree->node[best].gain)) {
                best = n;
            }
        }
        assert_true(best >= 0);
        assert_int_equal(tree->node[best].left, placed);
        assert_int_equal(tree->node[placed].parent, best);
        assert_int_equal(tree->node[placed + 1].parent, best);
    }
}

/* A tree of few leaves is the beginning of the tree without a bound, whatever is divided together. */
static void largest_gain_first(void **state)
{
    (void)state;
    training whole = {
        .loss = TREE_LOSS_LOGISTIC, .options = options(7, 0, true), .ranks = 1, .threads = 1, .rounds = 1};
    draw(TREE_LOSS_LOGISTIC);
    whole.options.growth.min_hessian = 0.1;
    train(&whole);
    const weft_tree *all_of = &whole.forest.tree[0];
    assert_best_first(all_of);
    assert_true(count_leaves(all_of) > 24);
    for (int leaves = 2; leaves < count_leaves(all_of); leaves += 3) {
        training few = whole;
        few.options.growth.leaves = leaves;
        few.ranks = 1 + leaves % 3;
        few.threads = 1 + leaves % 2;
        few.rounds = 2; /* the second tree has a gain of the first to go by */
        few.forest = (weft_forest){0};
        train(&few);
        const weft_tree *tree = &few.forest.tree[0];
        assert_int_equal(count_leaves(tree), leaves);
        assert_best_first(&few.forest.tree[1]);
        for (int n = 0; n < tree->nodes; ++n) {
            const tree_node *x = &tree->node[n], *y = &all_of->node[n];
            assert_int_equal(x->parent, y->parent);
            assert_true(x->hessian == y->hessian);
            if (x->left >= 0) {
                assert_int_equal(x->left, y->left);
                assert_int_equal(x->feature, y->feature);
                assert_true(x->value == y->value && x->gain == y->gain);
            }
        }
        forest_destroy(&few.forest);
    }
    forest_destroy(&whole.forest);
}

static void bounds(void **state)
{
    (void)state;
    training t = {.loss = TREE_LOSS_LOGISTIC, .options = options(0, 9, true), .ranks = 1, .threads = 1, .rounds = 1};
    draw(TREE_LOSS_LOGISTIC);
    train(&t);
    assert_int_equal(count_leaves(&t.forest.tree[0]), 9);
    forest_destroy(&t.forest);
    t.options = options(6, 9, false);
    train(&t);
    assert_int_equal(count_leaves(&t.forest.tree[0]), 9);
    forest_destroy(&t.forest);
    t.options.growth.min_gain = 1e9;
    train(&t);
    assert_int_equal(t.forest.tree[0].nodes, 1);
    forest_destroy(&t.forest);
}

/* Every row twice, with half its weight, is the same data. */
static void halves(void **state)
{
    (void)state;
    training t = {.loss = TREE_LOSS_LOGISTIC,
                  .options = options(3, 0, false),
                  .ranks = 1,
                  .threads = 1,
                  .rounds = 3,
                  .weighted = true};
    weft_forest once = {0};
    draw(TREE_LOSS_LOGISTIC);
    for (int i = 0; i < ROWS; ++i) {
        all.counts[i] = i < ROWS / 2;
        all.weight[i] = 1.0F;
    }
    train(&t);
    once = t.forest;
    for (int i = ROWS / 2; i < ROWS; ++i) {
        const int from = i - ROWS / 2;
        for (int c = 0; c < 3; ++c) {
            all.real[c][i] = all.real[c][from];
        }
        all.whole[i] = all.whole[from];
        all.large[i] = all.large[from];
        all.y[i] = all.y[from];
        all.counts[i] = 1;
        all.weight[i] = all.weight[from] = 0.5F;
    }
    t.forest = (weft_forest){0};
    train(&t);
    for (int i = 0; i < once.trees; ++i) {
        assert_int_equal(once.tree[i].nodes, t.forest.tree[i].nodes);
        for (int n = 0; n < once.tree[i].nodes; ++n) {
            assert_int_equal(once.tree[i].node[n].feature, t.forest.tree[i].node[n].feature);
            ASSERT_NEAR(once.tree[i].node[n].value, t.forest.tree[i].node[n].value, 1e-6);
        }
    }
    forest_destroy(&once);
    forest_destroy(&t.forest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exhaustive), cmocka_unit_test(order_of_growth), cmocka_unit_test(largest_gain_first),
        cmocka_unit_test(bounds),     cmocka_unit_test(halves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

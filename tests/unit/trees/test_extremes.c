/*
 * Rows at the edge of what trees are grown on, compared with closed forms: more rows than a packed histogram holds with
 * all gradients at their largest, weights of 1e-30 and 1e30, hessians of 0, columns of one value or of none, one row;
 * and columns in another order.
 */
#include <math.h>
#include <string.h>

#include "support/random.h"
#include "support/test.h"
#include "trees/boost/boost.h"

enum { ROWS = 70000, COLUMNS = 3 };

static float value[COLUMNS][ROWS], y[ROWS], weight[ROWS];
static uint8_t counts[ROWS];
static int64_t id[ROWS];

/* One tree on rows 0 .. rows - 1. */
typedef struct growing {
    int64_t rows;
    bool weighted;
    double lambda, min_hessian;
    int order[COLUMNS];
    weft_tree tree; /* [out] for tree_destroy */
} growing;

static weft_status grow(weft_comm *comm, void *argument)
{
    growing *g = argument;
    tree_column column[COLUMNS];
    weft_hal *hal = NULL;
    tree_boost *boost = NULL;
    weft_forest copy = {0};
    for (int c = 0; c < COLUMNS; ++c) {
        column[c] = (tree_column){TABLE_REAL, value[g->order[c]]};
    }
    const tree_columns data = {.rows = g->rows, .columns = COLUMNS, .column = column, .id = id};
    const tree_targets targets = {.loss = TREE_LOSS_SQUARED,
                                  .rows = g->rows,
                                  .outputs = 1,
                                  .y = y,
                                  .weight = g->weighted ? weight : NULL,
                                  .counts = counts};
    const boost_options options = {.values = TREE_BYTE_VALUES,
                                   .base = 0.0F,
                                   .growth = {.depth = 3,
                                              .rate = 1.0,
                                              .lambda = g->lambda,
                                              .min_hessian = g->min_hessian,
                                              .row_share = 1.0,
                                              .column_share = 1.0}};
    weft_status status = weft_hal_open("cpu", 2, &hal);
    WEFT_TRY_GOTO(status, status, done);
    WEFT_TRY_GOTO(boost_create(comm, hal, &data, &targets, &options, &boost), status, done);
    WEFT_TRY_GOTO(boost_restart(boost), status, done);
    WEFT_TRY_GOTO(boost_round(boost, 1), status, done);
    WEFT_TRY_GOTO(forest_copy(boost_forest(boost), 1, &copy), status, done);
    g->tree = copy.tree[0];
    copy.tree[0] = (weft_tree){0};
done:
    forest_destroy(&copy);
    boost_destroy(boost);
    weft_hal_close(hal);
    return status;
}

static growing plain(int64_t rows)
{
    uint64_t random = 3;
    for (int i = 0; i < ROWS; ++i) {
        id[i] = i;
        counts[i] = 1;
        weight[i] = 1.0F;
        value[0][i] = (float)(i % 2);
        value[1][i] = 5.0F;
        value[2][i] = NAN;
        y[i] = test_uniform(&random) < 0.5 ? 1.0F : -1.0F;
    }
    return (growing){.rows = rows, .lambda = 1.0, .min_hessian = 1.0, .order = {0, 1, 2}};
}

static void grown(growing *g)
{
    ASSERT_OK(comm_thread_run(1, grow, g));
}

/* Sums of all rows, at the edge of each cell: the leaf is sum y / (rows + lambda). */
static void largest_gradients(void **state)
{
    (void)state;
    for (int sides = 1; sides <= 2; ++sides) {
        growing g = plain(ROWS);
        for (int i = 0; i < ROWS; ++i) {
            y[i] = sides == 1 || i % 2 == 0 ? 1.0F : -1.0F;
        }
        grown(&g);
        assert_int_equal(g.tree.nodes, 2 * sides - 1);
        ASSERT_NEAR(g.tree.node[0].hessian, ROWS, 1e-6 * ROWS);
        for (int n = g.tree.nodes - sides; n < g.tree.nodes; ++n) {
            const double rows = (double)ROWS / sides, expected = (n == 2 ? -1.0 : 1.0) * rows / (rows + 1.0);
            ASSERT_NEAR(g.tree.node[n].value, expected, 1e-6);
            ASSERT_NEAR(g.tree.node[n].hessian, rows, 1e-6 * rows);
        }
        tree_destroy(&g.tree);
    }
}

/* Without lambda all weights may be multiplied by one number; a split that gains less than 1e-6 is none. */
static void extreme_weights(void **state)
{
    (void)state;
    growing one = plain(600);
    one.lambda = one.min_hessian = 0.0;
    one.weighted = true;
    grown(&one);
    assert_int_equal(one.tree.nodes, 3);
    growing heavy = one, light = one;
    for (int i = 0; i < ROWS; ++i) {
        weight[i] = 1e30F;
    }
    grown(&heavy);
    assert_int_equal(heavy.tree.nodes, 3);
    for (int n = 0; n < 3; ++n) {
        ASSERT_NEAR(heavy.tree.node[n].weight, one.tree.node[n].weight, 1e-4);
    }
    for (int i = 0; i < ROWS; ++i) {
        weight[i] = 1e-30F;
    }
    grown(&light);
    assert_int_equal(light.tree.nodes, 1);
    ASSERT_NEAR(light.tree.node[0].value, one.tree.node[0].weight, 1e-4);
    growing mixed = one; /* rows of 1e-30 are nothing beside those of 1e30, of which all say 1 */
    for (int i = 0; i < ROWS; ++i) {
        weight[i] = i % 4 == 0 ? 1e30F : 1e-30F;
        y[i] = i % 4 == 0 ? 1.0F : -1.0F;
    }
    grown(&mixed);
    for (int n = 0; n < mixed.tree.nodes; ++n) {
        assert_true(isfinite(mixed.tree.node[n].value) && isfinite(mixed.tree.node[n].hessian));
    }
    ASSERT_NEAR(mixed.tree.node[0].weight, 1.0, 1e-4);
    tree_destroy(&mixed.tree);
    tree_destroy(&light.tree);
    tree_destroy(&heavy.tree);
    tree_destroy(&one.tree);
}

/* Weights of 0 are hessians of 0: a leaf of nothing adds nothing. */
static void no_hessian(void **state)
{
    (void)state;
    growing g = plain(600);
    g.weighted = true;
    g.min_hessian = 0.0;
    for (int i = 0; i < ROWS; ++i) {
        weight[i] = i % 2 == 0 ? 0.0F : 1.0F;
        y[i] = 1.0F;
    }
    grown(&g);
    for (int n = 0; n < g.tree.nodes; ++n) {
        assert_true(isfinite(g.tree.node[n].value));
    }
    ASSERT_NEAR(g.tree.node[0].weight, 300.0 / 301.0, 1e-4);
    tree_destroy(&g.tree);
}

/* Nothing can be told apart: one leaf of all rows. */
static void one_leaf(void **state)
{
    (void)state;
    for (int rows = 1; rows <= 600; rows += 599) {
        growing g = plain(rows);
        double sum = 0.0;
        for (int i = 0; i < rows; ++i) {
            value[0][i] = -2.0F;
            sum += (double)y[i];
        }
        grown(&g);
        assert_int_equal(g.tree.nodes, 1);
        ASSERT_NEAR(g.tree.node[0].value, sum / (rows + 1.0), 1e-4);
        tree_destroy(&g.tree);
    }
}

static void other_order(void **state)
{
    (void)state;
    uint64_t random = 9;
    growing one = plain(600), other = one;
    for (int i = 0; i < ROWS; ++i) {
        for (int c = 0; c < COLUMNS; ++c) {
            value[c][i] = (float)floor(40.0 * test_uniform(&random));
        }
        y[i] = value[0][i] * 0.3F - value[2][i] * (value[1][i] > 15.0F ? 0.2F : -0.1F) + (float)test_uniform(&random);
    }
    const int order[COLUMNS] = {2, 0, 1};
    memcpy(other.order, order, sizeof order);
    grown(&one);
    grown(&other);
    assert_int_equal(one.tree.nodes, other.tree.nodes);
    assert_true(one.tree.nodes == 15);
    for (int n = 0; n < one.tree.nodes; ++n) {
        const tree_node *x = &one.tree.node[n], *z = &other.tree.node[n];
        assert_true(x->left == z->left && x->value == z->value && x->gain == z->gain && x->hessian == z->hessian);
        assert_true(x->left < 0 || x->feature == order[z->feature]);
    }
    tree_destroy(&one.tree);
    tree_destroy(&other.tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(largest_gradients), cmocka_unit_test(extreme_weights),
                                       cmocka_unit_test(no_hessian), cmocka_unit_test(one_leaf),
                                       cmocka_unit_test(other_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

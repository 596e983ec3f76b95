/*
 * Boosting: models of many ranks, threads and dealings of the rows are that of one, bit by bit, and targets without an
 * answer are refused.
 */
#include "support/boost_ranks.h"
#include "trees/forest/forest_json.h"

static void assert_same_nodes(const weft_forest *a, const weft_forest *b)
{
    assert_int_equal(a->trees, b->trees);
    assert_memory_equal(a->base, b->base, (size_t)a->outputs * sizeof *a->base);
    for (int t = 0; t < a->trees; ++t) {
        assert_int_equal(a->tree[t].nodes, b->tree[t].nodes);
        for (int n = 0; n < a->tree[t].nodes; ++n) {
            const tree_node *x = &a->tree[t].node[n], *y = &b->tree[t].node[n];
            const bool same = x->left == y->left && x->parent == y->parent && x->feature == y->feature &&
                              x->value == y->value && x->default_left == y->default_left && x->gain == y->gain &&
                              x->hessian == y->hessian;
            if (!same) {
                fail_msg("tree %d, node %d differs: column %d at %.9g against column %d at %.9g", t, n, x->feature,
                         (double)x->value, y->feature, (double)y->value);
            }
        }
    }
}

/* ---- the same bits ----------------------------------------------------------------------------------------------- */

static void same_bits(tree_loss loss, const boost_options *how, bool weighted)
{
    static const int ranks[] = {1, 2, 3, 4, MOST_RANKS};
    training one = {.loss = loss, .options = *how, .ranks = 1, .threads = 1, .rounds = ROUNDS, .weighted = weighted};
    draw(loss);
    train(&one);
    assert_true(one.forest.tree[ROUNDS - 1].nodes > 3);
    for (int i = 0; i < (TEST_RACES ? 3 : 5); ++i) {
        training many = one;
        many.ranks = ranks[i];
        many.threads = 1 + i % 2;
        many.dealing = i % 3;
        many.resumed = i % 2 == 1;
        many.releases = i >= 2;
        many.forest = (weft_forest){0};
        train(&many);
        assert_same_nodes(&one.forest, &many.forest);
        forest_destroy(&many.forest);
    }
    forest_destroy(&one.forest);
}

/* [out] bytes: of the model's file. Returns them, for free(). */
static char *file_of(const weft_forest *forest, size_t *bytes)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, bytes);
    const forest_facts facts = {.loss = TREE_LOSS_LOGISTIC};
    assert_non_null(out);
    forest_write(forest, &facts, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* Every number of ranks and threads, and rows in runs and by turns: the file of the model, and contributions of all
 * columns to all rows. */
static void whole_cross(void **state)
{
    (void)state;
    static const int ranks[] = {1, 2, 3, 4, MOST_RANKS};
    static double shap[2][ROWS * (COLUMNS + 1)];
    char *first = NULL;
    size_t bytes = 0;
    draw(TREE_LOSS_LOGISTIC);
    for (int i = 0; i < (TEST_RACES ? 8 : 20); ++i) {
        training t = {.loss = TREE_LOSS_LOGISTIC, .options = options(0, 10, true), .rounds = 3, .weighted = true};
        size_t own_bytes = 0;
        t.ranks = ranks[i / 4];
        t.threads = 1 + i % 2;
        t.dealing = i / 2 % 2;
        t.shap = shap[i > 0];
        train(&t);
        char *own = file_of(&t.forest, &own_bytes);
        forest_destroy(&t.forest);
        if (i == 0) {
            first = own;
            bytes = own_bytes;
            continue;
        }
        assert_true(own_bytes == bytes && memcmp(own, first, bytes) == 0);
        assert_memory_equal(shap[1], shap[0], sizeof shap[0]);
        free(own);
    }
    free(first);
}

static void bits_by_levels(void **state)
{
    (void)state;
    const boost_options how = options(4, 0, false);
    same_bits(TREE_LOSS_LOGISTIC, &how, true);
}

static void bits_by_leaves(void **state)
{
    (void)state;
    boost_options how = options(0, 12, true);
    how.growth.row_share = 0.7;
    how.growth.column_share = 0.6;
    same_bits(TREE_LOSS_SQUARED, &how, false);
}

static void bits_of_classes(void **state)
{
    (void)state;
    boost_options how = options(3, 6, false);
    how.values = 16; /* quantiles, not all values */
    same_bits(TREE_LOSS_SOFTMAX, &how, true);
}

static void bits_of_counts(void **state)
{
    (void)state;
    const boost_options how = options(3, 0, false);
    same_bits(TREE_LOSS_POISSON, &how, false);
}

/* Bins of 16 bits: of quantiles, and of all values. */
static void bits_of_wide_bins(void **state)
{
    (void)state;
    boost_options how = options(0, 12, true);
    value_levels = 10000.0;
    how.values = 300;
    same_bits(TREE_LOSS_LOGISTIC, &how, true);
    how.values = TREE_VALUES;
    how.growth.row_share = 0.7;
    same_bits(TREE_LOSS_SQUARED, &how, false);
    value_levels = 200.0;
}

/* With room for few histograms those of other nodes are summed again, to the same trees. */
static void bits_of_few_histograms(void **state)
{
    (void)state;
    const boost_options shape[] = {options(7, 0, false), options(0, 40, true)};
    for (int i = 0; i < 2; ++i) {
        training one = {.loss = TREE_LOSS_SQUARED, .options = shape[i], .ranks = 1, .threads = 1, .rounds = ROUNDS};
        draw(one.loss);
        train(&one);
        for (int ranks = 1; ranks <= 3; ranks += 2) {
            training few = one;
            few.forest = (weft_forest){0};
            few.options.growth.histogram_bytes = 1;
            few.ranks = ranks;
            few.threads = 2;
            train(&few);
            assert_same_nodes(&one.forest, &few.forest);
            assert_true(ranks > 1 || few.summed > one.summed);
            forest_destroy(&few.forest);
        }
        training many = one; /* room for all: nothing is summed twice */
        many.forest = (weft_forest){0};
        many.options.growth.histogram_bytes = UINT64_C(1) << 40;
        train(&many);
        assert_int_equal(many.summed, one.summed);
        forest_destroy(&many.forest);
        forest_destroy(&one.forest);
    }
}

/* Numbers are given back only where the trees that a training goes on from compare with cuts. */
static void numbers_that_stay(void **state)
{
    (void)state;
    training one = {.loss = TREE_LOSS_LOGISTIC, .options = options(3, 0, false), .ranks = 1, .threads = 1, .rounds = 2};
    draw(one.loss);
    train(&one);
    training more = one;
    more.releases = true;
    more.forest = (weft_forest){0};
    more.options.begun = &one.forest;
    train(&more);
    assert_int_equal(more.released, COLUMNS);
    forest_destroy(&more.forest);
    one.forest.tree[0].node[0].value = nextafterf(one.forest.tree[0].node[0].value, INFINITY);
    train(&more);
    assert_int_equal(more.released, 0);
    forest_destroy(&more.forest);
    forest_destroy(&one.forest);
}

static void bits_of_quantiles(void **state)
{
    (void)state;
    const boost_options how = options(4, 0, false);
    same_bits(TREE_LOSS_ABSOLUTE, &how, true);
    same_bits(TREE_LOSS_QUANTILE, &how, false);
}

static void refusals(void **state)
{
    (void)state;
    training t = {.loss = TREE_LOSS_LOGISTIC, .options = options(3, 0, false), .ranks = 2, .threads = 1, .rounds = 1};
    draw(TREE_LOSS_LOGISTIC);
    for (int i = 0; i < ROWS; ++i) {
        all.y[i] = 1.0F;
    }
    ASSERT_STATUS(comm_thread_run(2, train_rank, &t), WEFT_ERR_DATA);
    ASSERT_MESSAGE("class 1");
    memset(all.counts, 0, sizeof all.counts);
    ASSERT_STATUS(comm_thread_run(2, train_rank, &t), WEFT_ERR_DATA);
    draw(TREE_LOSS_SQUARED);
    t.loss = TREE_LOSS_SQUARED;
    all.y[4] = INFINITY;
    ASSERT_STATUS(comm_thread_run(2, train_rank, &t), WEFT_ERR_DATA);
    ASSERT_MESSAGE("infinite");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_cross),
        cmocka_unit_test(bits_by_levels),
        cmocka_unit_test(bits_by_leaves),
        cmocka_unit_test(bits_of_classes),
        cmocka_unit_test(bits_of_counts),
        cmocka_unit_test(bits_of_wide_bins),
        cmocka_unit_test(bits_of_few_histograms),
        cmocka_unit_test(numbers_that_stay),
        cmocka_unit_test(bits_of_quantiles),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Boosting: a tree is compared with an exhaustive search in double over the rows themselves; gradients with finite
 * differences of the losses; quantiles of leaves with those of sorted rows; and models of many ranks, threads and
 * dealings of the rows with that of one, bit by bit.
 */
#include <math.h>

#include "support/random.h"
#include "support/test.h"
#include "trees/boost/boost.h"
#include "trees/forest/forest_json.h"
#include "trees/loss/leaf_quantiles.h"
#include "trees/shap/tree_shap.h"

enum { ROWS = 600, COLUMNS = 5, MOST_NODES = 128, MOST_RANKS = 8, ROUNDS = 6, OUTPUTS = 3 };

/* The rows of all ranks. */
typedef struct rows {
    float real[3][ROWS];
    int32_t whole[ROWS];
    int64_t large[ROWS];
    float y[ROWS], weight[ROWS];
    uint8_t counts[ROWS];
} rows;

static rows all;

static double value_levels = 200.0; /* values of the first and third columns */

static void draw(tree_loss loss)
{
    uint64_t state = 7;
    for (int i = 0; i < ROWS; ++i) {
        all.real[0][i] = (float)(floor(value_levels * test_uniform(&state)) / value_levels);
        all.real[1][i] = (float)floor(6.0 * test_uniform(&state)) - 2.0F;
        all.real[2][i] = test_uniform(&state) < 0.3 ? NAN : (float)floor(value_levels * test_uniform(&state));
        all.whole[i] = test_uniform(&state) < 0.1 ? TABLE_NO_INTEGER : (int32_t)(40.0 * test_uniform(&state));
        all.large[i] = ((int64_t)1 << 40) * (int64_t)(3.0 * test_uniform(&state));
        const double f = 3.0 * (double)all.real[0][i] * (double)all.real[1][i] + (isnan(all.real[2][i]) ? 1.5 : 0.0) +
                         (all.whole[i] > 20 ? -2.0 : 0.0) + 2.0 * test_uniform(&state);
        all.y[i] = loss == TREE_LOSS_SQUARED                                  ? (f > 1.0 ? 1.0F : -1.0F)
                   : loss == TREE_LOSS_SOFTMAX                                ? (float)(f > 3.0 ? 2 : f > 0.0)
                   : loss == TREE_LOSS_POISSON                                ? (float)floor(fabs(f))
                   : loss == TREE_LOSS_ABSOLUTE || loss == TREE_LOSS_QUANTILE ? (float)f
                                                                              : (float)(f > 1.0);
        all.weight[i] = (float)(1.0 + floor(3.0 * test_uniform(&state)));
        all.counts[i] = i % 7 != 3;
    }
}

/* One training on some ranks. */
typedef struct training {
    tree_loss loss;
    boost_options options;
    int ranks, threads, dealing, rounds; /* dealing 0: runs of rows, 1: by turns, 2: rank 0 has few */
    bool weighted, resumed;
    bool releases;      /* numbers are given back once they are binned */
    int released;       /* [out] columns that rank 0 gave back */
    int64_t summed;     /* [out] rows of rank 0 that were added to histograms, since the last resume */
    weft_forest forest; /* [out] rank 0's */
    double *shap;       /* [out] [ROWS, COLUMNS + 1] contributions to the answer of each row; NULL: not asked for */
} training;

static int owner(const training *t, int row)
{
    if (t->dealing == 0) {
        return row * t->ranks / ROWS;
    }
    return t->dealing == 1 ? (row * 5 + 3) % t->ranks : t->ranks == 1 || row < 5 ? 0 : 1 + row % (t->ranks - 1);
}

/* A rank's rows. */
typedef struct share {
    int64_t count, id[ROWS], large[ROWS];
    float real[3][ROWS], y[ROWS], weight[ROWS];
    int32_t whole[ROWS];
    uint8_t counts[ROWS];
    tree_column column[COLUMNS];
    int released;
    int64_t spoilt; /* rows of the column that is given back */
    tree_columns data;
    tree_targets targets;
} share;

static share *take_share(const training *t, int rank)
{
    share *s = calloc(1, sizeof *s);
    assert_non_null(s);
    for (int i = 0; i < ROWS; ++i) {
        if (owner(t, i) == rank) {
            const int64_t at = s->count++;
            s->id[at] = i;
            for (int c = 0; c < 3; ++c) {
                s->real[c][at] = all.real[c][i];
            }
            s->whole[at] = all.whole[i];
            s->large[at] = all.large[i];
            s->y[at] = all.y[i];
            s->weight[at] = all.weight[i];
            s->counts[at] = all.counts[i];
        }
    }
    for (int c = 0; c < 3; ++c) {
        s->column[c] = (tree_column){TABLE_REAL, s->real[c]};
    }
    s->column[3] = (tree_column){TABLE_INTEGER, s->whole};
    s->column[4] = (tree_column){TABLE_LONG, s->large};
    s->data = (tree_columns){.rows = s->count, .columns = COLUMNS, .column = s->column, .id = s->id};
    s->targets = (tree_targets){.loss = t->loss,
                                .rows = s->count,
                                .outputs = t->loss == TREE_LOSS_SOFTMAX ? OUTPUTS : 1,
                                .y = s->y,
                                .weight = t->weighted ? s->weight : NULL,
                                .counts = s->counts,
                                .quantile = 0.8};
    return s;
}

/* The numbers are spoilt, so that whoever still reads them is found out. */
static void release_rows(void *owner, int column, int64_t end)
{
    share *s = owner;
    void *const numbers[COLUMNS] = {s->real[0], s->real[1], s->real[2], s->whole, s->large};
    memset(numbers[column], 0, (size_t)end * table_kind_bytes(s->column[column].kind));
    s->spoilt = end;
}

static void release(void *owner, int column, const tree_binned *binned)
{
    share *s = owner;
    s->spoilt = s->spoilt == s->count ? 0 : -1; /* all rows of the column went before it */
    s->column[column] = (tree_column){TREE_BINNED, binned};
    s->released += s->spoilt == 0;
}

/* Margins that the boost kept must be those that the forest answers. */
static weft_status check_margins(const tree_boost *boost, const share *s)
{
    const weft_forest *forest = boost_forest(boost);
    const float *kept = boost_margins(boost);
    float *margin = calloc((size_t)(s->count * forest->outputs) + 1, sizeof *margin);
    weft_status status = forest_margins(forest, &s->data, 0, forest->trees, 2, margin);
    for (int64_t i = 0; status == WEFT_OK && i < s->count * forest->outputs; ++i) {
        if (margin[i] != kept[i]) {
            status = weft_fail(WEFT_ERR_INTERNAL, "margin %lld is %g, and the forest answers %g", (long long)i,
                               (double)kept[i], (double)margin[i]);
        }
    }
    free(margin);
    return status;
}

static weft_status go_on(weft_comm *comm, weft_hal *hal, share *s, const training *t, tree_boost **boost)
{
    weft_forest half = {0};
    weft_status status = forest_copy(boost_forest(*boost), boost_forest(*boost)->trees, &half);
    if (t->releases) {
        status = status == WEFT_OK ? boost_restart(*boost) : status;
    } else {
        boost_destroy(*boost);
        status = status == WEFT_OK ? boost_create(comm, hal, &s->data, &s->targets, &t->options, boost) : status;
    }
    status = status == WEFT_OK ? boost_resume(*boost, &half) : status;
    forest_destroy(&half);
    return status;
}

/* Each rank answers for its rows. */
static weft_status explain(const training *t, const tree_boost *boost, const share *s)
{
    double *phi = calloc((size_t)(s->count * (COLUMNS + 1)) + 1, sizeof *phi);
    const weft_status status = tree_shap(boost_forest(boost), &s->data, 0, s->count, t->threads, phi);
    for (int64_t i = 0; i < s->count; ++i) {
        memcpy(t->shap + s->id[i] * (COLUMNS + 1), phi + i * (COLUMNS + 1), (COLUMNS + 1) * sizeof *phi);
    }
    free(phi);
    return status;
}

static weft_status train_rank(weft_comm *comm, void *argument)
{
    training *t = argument;
    share *s = take_share(t, comm_rank(comm));
    weft_hal *hal = NULL;
    tree_boost *boost = NULL;
    weft_status status = weft_hal_open("cpu", t->threads, &hal);
    WEFT_TRY_GOTO(status, status, done);
    boost_options how = t->options;
    how.release = (tree_release){.owner = s};
    if (t->releases) {
        how.release.rows = release_rows;
        how.release.column = release;
    }
    WEFT_TRY_GOTO(boost_create(comm, hal, &s->data, &s->targets, &how, &boost), status, done);
    WEFT_TRY_GOTO(boost_restart(boost), status, done);
    for (int round = 0; round < t->rounds; ++round) {
        if (t->resumed && round == t->rounds / 2) {
            WEFT_TRY_GOTO(go_on(comm, hal, s, t, &boost), status, done);
        }
        WEFT_TRY_GOTO(boost_round(boost, 5), status, done);
    }
    WEFT_TRY_GOTO(check_margins(boost, s), status, done);
    WEFT_TRY_GOTO(t->shap != NULL ? explain(t, boost, s) : WEFT_OK, status, done);
    if (comm_rank(comm) == 0) {
        t->released = s->released;
        t->summed = grower_work(boost_grower(boost))->summed;
        status = forest_copy(boost_forest(boost), boost_forest(boost)->trees, &t->forest);
    }
done:
    boost_destroy(boost);
    weft_hal_close(hal);
    free(s);
    return comm_agree(comm, status);
}

static void train(training *t)
{
    ASSERT_OK(comm_thread_run(t->ranks, train_rank, t));
}

static boost_options options(int depth, int leaves, bool leaf_wise)
{
    return (boost_options){.values = TREE_BYTE_VALUES,
                           .base = NAN,
                           .growth = {.depth = depth,
                                      .leaves = leaves,
                                      .leaf_wise = leaf_wise,
                                      .rate = 0.3,
                                      .lambda = 1.0,
                                      .min_hessian = 1.0,
                                      .row_share = 1.0,
                                      .column_share = 1.0}};
}

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

/* ---- an exhaustive search ---------------------------------------------------------------------------------------- */

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
static void bits_of_quantiles(void **state)
{
    (void)state;
    const boost_options how = options(4, 0, false);
    same_bits(TREE_LOSS_ABSOLUTE, &how, true);
    same_bits(TREE_LOSS_QUANTILE, &how, false);
}

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

/* Without a bound of leaves, growing by leaves makes the splits that growing by levels makes, in another order. */
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

/* ---- losses ------------------------------------------------------------------------------------------------------ */

static double loss_of(tree_loss loss, const double *margin, double y)
{
    double sum = 0.0;
    switch (loss) {
    case TREE_LOSS_SQUARED:
        return 0.5 * (margin[0] - y) * (margin[0] - y);
    case TREE_LOSS_LOGISTIC:
        return log(1.0 + exp(margin[0])) - y * margin[0];
    case TREE_LOSS_POISSON:
        return exp(margin[0]) - y * margin[0];
    case TREE_LOSS_ABSOLUTE:
        return fabs(margin[0] - y);
    case TREE_LOSS_QUANTILE:
        return fmax(0.8 * (y - margin[0]), 0.2 * (margin[0] - y));
    default:
        for (int k = 0; k < OUTPUTS; ++k) {
            sum += exp(margin[k]);
        }
        return log(sum) - margin[(int)y];
    }
}

static void finite_differences(void **state)
{
    (void)state;
    static const tree_loss losses[] = {TREE_LOSS_SQUARED, TREE_LOSS_LOGISTIC, TREE_LOSS_SOFTMAX,
                                       TREE_LOSS_POISSON, TREE_LOSS_ABSOLUTE, TREE_LOSS_QUANTILE};
    const float margin[OUTPUTS] = {0.7F, -1.2F, 0.3F}, y = 1.0F, weight = 2.5F;
    const uint8_t counts = 1;
    for (int i = 0; i < 6; ++i) {
        const int outputs = losses[i] == TREE_LOSS_SOFTMAX ? OUTPUTS : 1;
        const tree_targets targets = {losses[i], 1, outputs, &y, &weight, &counts, 0.8, NULL};
        float gradient[OUTPUTS], hessian[OUTPUTS];
        tree_gradients(&targets, margin, 1, gradient, hessian);
        const double whole[OUTPUTS] = {(double)margin[0], (double)margin[1], (double)margin[2]};
        ASSERT_NEAR(tree_loss_at(&targets, 0, margin), loss_of(losses[i], whole, 1.0), 1e-6);
        for (int k = 0; k < outputs; ++k) {
            double at[3][OUTPUTS], value[3];
            for (int side = 0; side < 3; ++side) {
                for (int j = 0; j < OUTPUTS; ++j) {
                    at[side][j] = (double)margin[j] + (j == k ? 1e-4 * (side - 1) : 0.0);
                }
                value[side] = loss_of(losses[i], at[side], 1.0);
            }
            const double twice = losses[i] == TREE_LOSS_SOFTMAX ? 2.0 : 1.0;
            ASSERT_NEAR(gradient[k], 2.5 * (value[2] - value[0]) / 2e-4, 1e-5);
            if (losses[i] == TREE_LOSS_ABSOLUTE || losses[i] == TREE_LOSS_QUANTILE) {
                assert_true(hessian[k] == weight); /* the losses have none */
                continue;
            }
            ASSERT_NEAR(hessian[k], twice * 2.5 * (value[2] - 2.0 * value[1] + value[0]) / 1e-8, 1e-5);
        }
    }
}

/* The least value at which the weights up to it are `share` of the leaf's, by looking at every pair of rows. */
static float quantile_of(int leaf, double part)
{
    double total = 0.0;
    float best = INFINITY;
    for (int i = 0; i < ROWS; ++i) {
        total += all.counts[i] != 0 && all.whole[i] == leaf ? (double)all.weight[i] : 0.0;
    }
    for (int i = 0; i < ROWS; ++i) {
        double below = 0.0;
        for (int j = 0; j < ROWS; ++j) {
            below += all.counts[j] != 0 && all.whole[j] == leaf && all.y[j] <= all.y[i] ? (double)all.weight[j] : 0.0;
        }
        best = all.counts[i] != 0 && all.whole[i] == leaf && below >= part * total ? fminf(best, all.y[i]) : best;
    }
    return best;
}

enum { LEAVES = 9 };

static weft_status find_quantiles(weft_comm *comm, void *argument)
{
    const training t = {.ranks = comm_size(comm), .dealing = 1};
    share *s = take_share(&t, comm_rank(comm));
    const leaf_rows of = {s->count, s->whole, s->y, s->weight, s->counts};
    float *quantile = argument, least[LEAVES + 1];
    for (int l = 0; l <= LEAVES; ++l) {
        least[l] = 77.0F;
    }
    const weft_status status = leaf_quantiles(comm, &of, LEAVES + 1, (double)quantile[LEAVES], least);
    if (comm_rank(comm) == 0) {
        memcpy(quantile, least, sizeof least);
    }
    free(s);
    return status;
}

static void quantiles_of_leaves(void **state)
{
    (void)state;
    static const double parts[] = {0.001, 0.25, 0.5, 0.9, 0.999};
    draw(TREE_LOSS_ABSOLUTE);
    for (int i = 0; i < ROWS; ++i) {
        all.whole[i] = i % LEAVES;
        all.y[i] = all.y[i] < -1.0F ? -0.0F : all.y[i]; /* ties, and zeros of either sign */
    }
    for (int q = 0; q < 5; ++q) {
        float quantile[LEAVES + 1] = {[LEAVES] = (float)parts[q]};
        ASSERT_OK(comm_thread_run(3, find_quantiles, quantile));
        for (int l = 0; l < LEAVES; ++l) {
            assert_true(quantile[l] == quantile_of(l, (double)(float)parts[q]));
        }
        assert_true(quantile[LEAVES] == 77.0F); /* a leaf without rows */
    }
}

static void exponential(void **state)
{
    (void)state;
    for (double x = -600.0; x < 600.0; x += 0.37) {
        ASSERT_NEAR(tree_exp(x) / exp(x), 1.0, 1e-9);
    }
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

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
        cmocka_unit_test(exhaustive),
        cmocka_unit_test(order_of_growth),
        cmocka_unit_test(largest_gain_first),
        cmocka_unit_test(bounds),
        cmocka_unit_test(halves),
        cmocka_unit_test(finite_differences),
        cmocka_unit_test(exponential),
        cmocka_unit_test(quantiles_of_leaves),
        cmocka_unit_test(bits_of_quantiles),
        cmocka_unit_test(numbers_that_stay),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

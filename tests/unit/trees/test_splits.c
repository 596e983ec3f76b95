/*
 * What a split can express: sets of categories against all subsets, directions on a grid, groups of columns on every
 * path, samples and dropped rounds; models of several ranks and dealings against that of one, bit by bit; and foreign
 * forms of these models.
 */
#include <math.h>

#include "support/random.h"
#include "support/test.h"
#include "trees/boost/boost.h"
#include "trees/forest/forest_json.h"
#include "trees/grow/split.h"

enum { ROWS = 900, REALS = 2, WORDS = 3, COLUMNS = REALS + WORDS, ROUNDS = 5, GRID = 1000, SET_BINS = 8 };
static const int32_t codes_of[WORDS] = {3, 20, 400};

/* The rows of all ranks. */
static struct {
    float real[REALS][ROWS], y[ROWS];
    int32_t code[WORDS][ROWS];
    uint8_t counts[ROWS];
} all;

static void draw(void)
{
    uint64_t state = 11;
    for (int i = 0; i < ROWS; ++i) {
        double f = 2.0 * test_uniform(&state) - 1.0;
        for (int c = 0; c < REALS; ++c) {
            all.real[c][i] =
                test_uniform(&state) < 0.1 ? NAN : (float)floor(100.0 * test_uniform(&state)) / 50.0F - 1.0F;
            f += isnan(all.real[c][i]) ? 0.3 : (double)all.real[c][i] * (c == 0 ? 1.0 : -1.5);
        }
        for (int w = 0; w < WORDS; ++w) {
            const double u = test_uniform(&state);
            all.code[w][i] = test_uniform(&state) < 0.1 ? TABLE_NO_CODE : (int32_t)(u * u * codes_of[w]);
            f += all.code[w][i] % 3 == 1 ? 0.8 : -0.2;
        }
        all.y[i] = (float)(f > 0.0);
        all.counts[i] = i % 5 != 2;
    }
}

typedef struct training {
    boost_options options;
    int ranks, dealing;
    bool resumed;
    weft_forest forest; /* [out] rank 0's */
} training;

typedef struct share {
    float real[REALS][ROWS], y[ROWS];
    int32_t code[WORDS][ROWS];
    uint8_t counts[ROWS];
    int64_t count, id[ROWS];
    tree_codes codes[WORDS];
    tree_column column[COLUMNS];
    tree_columns data;
    tree_targets targets;
} share;

static share *take_share(const training *t, int rank)
{
    share *s = calloc(1, sizeof *s);
    assert_non_null(s);
    for (int i = 0; i < ROWS; ++i) {
        if ((t->dealing == 0 ? i * t->ranks / ROWS : (i * 7 + 1) % t->ranks) == rank) {
            const int64_t at = s->count++;
            s->id[at] = i;
            s->y[at] = all.y[i];
            s->counts[at] = all.counts[i];
            for (int c = 0; c < REALS; ++c) {
                s->real[c][at] = all.real[c][i];
            }
            for (int w = 0; w < WORDS; ++w) {
                s->code[w][at] = all.code[w][i];
            }
        }
    }
    for (int c = 0; c < REALS; ++c) {
        s->column[c] = (tree_column){TABLE_REAL, s->real[c]};
    }
    for (int w = 0; w < WORDS; ++w) {
        s->codes[w] = (tree_codes){s->code[w], NULL, codes_of[w]};
        s->column[REALS + w] = (tree_column){TABLE_CATEGORY, &s->codes[w]};
    }
    s->data = (tree_columns){.rows = s->count, .columns = COLUMNS, .column = s->column, .id = s->id};
    s->targets =
        (tree_targets){.loss = TREE_LOSS_LOGISTIC, .rows = s->count, .outputs = 1, .y = s->y, .counts = s->counts};
    return s;
}

/* Margins that the boost kept must be those that the forest answers. */
static weft_status check_margins(const tree_boost *boost, const share *s)
{
    const weft_forest *forest = boost_forest(boost);
    float margin[ROWS];
    WEFT_TRY(forest_margins(forest, &s->data, 0, forest->trees, 1, margin));
    for (int64_t i = 0; i < s->count; ++i) {
        WEFT_CHECK(margin[i] == boost_margins(boost)[i], WEFT_ERR_INTERNAL, "margin %lld is %g, the forest answers %g",
                   (long long)i, (double)boost_margins(boost)[i], (double)margin[i]);
    }
    return WEFT_OK;
}

static weft_status train_rank(weft_comm *comm, void *argument)
{
    training *t = argument;
    share *s = take_share(t, comm_rank(comm));
    weft_hal *hal = NULL;
    tree_boost *boost = NULL;
    weft_forest half = {0};
    weft_status status = weft_hal_open("cpu", 1, &hal);
    WEFT_TRY_GOTO(status, status, done);
    WEFT_TRY_GOTO(boost_create(comm, hal, &s->data, &s->targets, &t->options, &boost), status, done);
    WEFT_TRY_GOTO(boost_restart(boost), status, done);
    for (int round = 0; round < ROUNDS; ++round) {
        if (t->resumed && round == 3) {
            WEFT_TRY_GOTO(forest_copy(boost_forest(boost), round, &half), status, done);
            boost_destroy(boost);
            WEFT_TRY_GOTO(boost_create(comm, hal, &s->data, &s->targets, &t->options, &boost), status, done);
            WEFT_TRY_GOTO(boost_restart(boost), status, done);
            WEFT_TRY_GOTO(boost_resume(boost, &half), status, done);
        }
        WEFT_TRY_GOTO(boost_round(boost, 5), status, done);
    }
    status = check_margins(boost, s);
    if (status == WEFT_OK && comm_rank(comm) == 0) {
        status = forest_copy(boost_forest(boost), ROUNDS, &t->forest);
    }
done:
    forest_destroy(&half);
    boost_destroy(boost);
    weft_hal_close(hal);
    free(s);
    return comm_agree(comm, status);
}

static training plain(void)
{
    return (training){.ranks = 1,
                      .options = {.values = 64,
                                  .growth = {.depth = 4,
                                             .rate = 0.5,
                                             .lambda = 1.0,
                                             .min_hessian = 1.0,
                                             .one_hot = 4,
                                             .row_share = 1.0,
                                             .column_share = 1.0}}};
}

static void train(training *t)
{
    ASSERT_OK(comm_thread_run(t->ranks, train_rank, t));
}

/* The model as a file. */
static char *text_of(const weft_forest *forest, size_t *bytes)
{
    char *text = NULL;
    const forest_facts facts = {.loss = TREE_LOSS_LOGISTIC};
    FILE *out = open_memstream(&text, bytes);
    assert_non_null(out);
    forest_write(forest, &facts, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void same_bits(const training *how)
{
    training one = *how;
    size_t bytes, other_bytes;
    train(&one);
    char *text = text_of(&one.forest, &bytes);
    for (int i = 0; i < 3; ++i) {
        training many = *how;
        many.ranks = 1 + 2 * i;
        many.dealing = i % 2;
        many.resumed = i != 1;
        train(&many);
        char *other = text_of(&many.forest, &other_bytes);
        assert_int_equal(bytes, other_bytes);
        assert_memory_equal(text, other, bytes);
        free(other);
        forest_destroy(&many.forest);
    }
    free(text);
    forest_destroy(&one.forest);
}

static void bits(void **state)
{
    (void)state;
    static const int8_t direction[COLUMNS] = {1, -1, 0, 0, 0};
    training t = plain();
    draw();
    same_bits(&t);
    t.options.growth.direction = direction;
    t.options.growth.top = 0.3;
    t.options.growth.other = 0.2;
    same_bits(&t);
    t = plain();
    t.options.drop = 0.6;
    t.options.skip = 0.1;
    same_bits(&t);
}

/* Leaves reach the largest step and do not pass it, and the best single split is that of leaves that are cut there. */
static void steps(void **state)
{
    (void)state;
    const double step = 0.4, node[2] = {-3.0, 40.0};
    const int64_t cell[2 * 4] = {-30, 9, 20, 11, 7, 20, 0, 0};
    const split_rule rule = {.lambda = 1.0, .gradient_unit = 1.0, .hessian_unit = 1.0, .bounded = true};
    const split_node at = {.sums = {-3, 40}, .rows = 40, .lower = -step, .upper = step};
    training t = plain();
    tree_split best = {.gain = 0.0};
    double found = 0.0, sum[2] = {0.0, 0.0};
    int bin = -1, cut = 0;
    for (int b = 0; b < 2; ++b) {
        sum[0] += (double)cell[2 * b];
        sum[1] += (double)cell[2 * b + 1];
        const double side[3][2] = {{sum[0], sum[1]}, {node[0] - sum[0], node[1] - sum[1]}, {node[0], node[1]}};
        double gain = 0.0;
        for (int i = 0; i < 3; ++i) {
            const double w = fmin(fmax(-side[i][0] / (side[i][1] + 1.0), -step), step);
            const double lost = 2.0 * side[i][0] * w + (side[i][1] + 1.0) * w * w;
            cut += fabs(w) == step;
            gain += i < 2 ? -lost : lost;
        }
        bin = gain > found ? b : bin;
        found = gain > found ? gain : found;
    }
    split_scan(&rule, &at, &(split_cells){cell, 2, 4}, 0, &best);
    assert_true(cut > 0);
    assert_int_equal(best.bin, bin);
    assert_true(fabs(best.gain - found) <= 1e-12);

    draw();
    t.options.growth.max_step = step;
    same_bits(&t);
    double largest = 0.0;
    train(&t);
    for (int i = 0; i < t.forest.trees; ++i) {
        for (int n = 0; n < t.forest.tree[i].nodes; ++n) {
            const tree_node *leaf = &t.forest.tree[i].node[n];
            largest = leaf->left < 0 ? fmax(largest, fabs((double)leaf->value)) : largest;
        }
    }
    assert_true(fabs(largest - step * t.options.growth.rate) <= 1e-6);
    forest_destroy(&t.forest);
}

/* ---- sets against all subsets ------------------------------------------------------------------------------------ */

static double score_of(double g, double h, double lambda)
{
    return g * g / (h + lambda);
}

/* The best gain of all subsets of the bins, with missing values on either side. */
static double best_of_subsets(const int64_t *cell, int bins, double lambda)
{
    double best = 0.0, sum[2] = {0.0, 0.0};
    for (int b = 0; b <= bins; ++b) {
        sum[0] += (double)cell[2 * b];
        sum[1] += (double)cell[2 * b + 1];
    }
    for (unsigned subset = 1; subset < (2U << bins) - 1U; ++subset) {
        double left[2] = {0.0, 0.0};
        for (int b = 0; b <= bins; ++b) {
            left[0] += (subset >> b & 1U) != 0 ? (double)cell[2 * b] : 0.0;
            left[1] += (subset >> b & 1U) != 0 ? (double)cell[2 * b + 1] : 0.0;
        }
        if (left[1] > 0.0 && left[1] < sum[1]) {
            best =
                fmax(best, score_of(left[0], left[1], lambda) + score_of(sum[0] - left[0], sum[1] - left[1], lambda) -
                               score_of(sum[0], sum[1], lambda));
        }
    }
    return best;
}

/* Sums of the side that a split sends left must be what it says. */
static void check_left(const tree_split *split, const int64_t *cell, int bins)
{
    tree_sums left = {0, 0};
    for (int b = 0; b <= bins; ++b) {
        if (split_goes_left(split, bins, b)) {
            left.gradient += cell[2 * b];
            left.hessian += cell[2 * b + 1];
        }
    }
    assert_int_equal(left.gradient, split->left.gradient);
    assert_int_equal(left.hessian, split->left.hessian);
}

static void subsets(void **state)
{
    (void)state;
    uint64_t random = 3;
    for (int trial = 0; trial < 300; ++trial) {
        const int bins = 2 + trial % (SET_BINS - 1);
        const int categories[1] = {bins};
        const split_rule rule = {
            .lambda = trial % 3, .gradient_unit = 1.0, .hessian_unit = 1.0, .categories = categories};
        int64_t cell[2 * (SET_BINS + 1)] = {0};
        split_node node = {.lower = -INFINITY, .upper = INFINITY};
        tree_split best = {0};
        for (int b = 0; b <= bins; ++b) {
            const bool empty = test_uniform(&random) < (b == bins ? 0.5 : 0.15);
            cell[2 * b] = empty ? 0 : (int64_t)(2000.0 * test_uniform(&random)) - 1000;
            cell[2 * b + 1] = empty ? 0 : 1 + (int64_t)(300.0 * test_uniform(&random));
            node.sums.gradient += cell[2 * b];
            node.sums.hessian += cell[2 * b + 1];
        }
        split_scan(&rule, &node, &(split_cells){cell, 2, bins + 1}, 0, &best);
        ASSERT_NEAR(best.gain, best_of_subsets(cell, bins, rule.lambda), 1e-9 * (1.0 + best.gain));
        if (best.gain > 0.0) {
            check_left(&best, cell, bins);
        }
    }
}

/* The best of the sets of at most `most` bins at either end of the order of gradient over hessian. */
static double best_of_ends(const int64_t *cell, int bins, int most, double lambda)
{
    int order[8];
    double best = 0.0, total[2] = {0.0, 0.0};
    for (int b = 0; b < bins; ++b) {
        int at = b;
        for (; at > 0 && cell[2 * b] * cell[2 * order[at - 1] + 1] < cell[2 * order[at - 1]] * cell[2 * b + 1]; --at) {
            order[at] = order[at - 1];
        }
        order[at] = b;
        total[0] += (double)cell[2 * b];
        total[1] += (double)cell[2 * b + 1];
    }
    for (int end = 0; end < 2; ++end) {
        double g = 0.0, h = 0.0;
        for (int i = 0; i < most; ++i) {
            const int b = order[end == 0 ? i : bins - 1 - i];
            g += (double)cell[2 * b];
            h += (double)cell[2 * b + 1];
            best = fmax(best, score_of(g, h, lambda) + score_of(total[0] - g, total[1] - h, lambda) -
                                  score_of(total[0], total[1], lambda));
        }
    }
    return best;
}

/* With a bound of the set that is split off, no larger one is, and the best of the others is found. */
static void small_sets(void **state)
{
    (void)state;
    enum { BINS = 8, DRAWS = 50 };
    const int categories = BINS;
    uint64_t seed = 11;
    int bounded = 0;
    for (int i = 0; i < DRAWS; ++i) {
        int64_t cell[2 * (BINS + 1)] = {0};
        split_node at = {.rows = 100, .lower = -INFINITY, .upper = INFINITY};
        for (int b = 0; b < BINS; ++b) {
            cell[2 * b] = (int64_t)(test_random(&seed) % 41) - 20;
            cell[2 * b + 1] = 5 + (int64_t)(test_random(&seed) % 20);
            at.sums.gradient += cell[2 * b];
            at.sums.hessian += cell[2 * b + 1];
        }
        for (int most = 1; most <= 3; ++most) {
            const split_rule rule = {
                .lambda = 1.0, .gradient_unit = 1.0, .hessian_unit = 1.0, .categories = &categories, .set_most = most};
            tree_split best = {.gain = 0.0}, whole = {.gain = 0.0};
            split_rule unbounded = rule;
            unbounded.set_most = 0;
            split_scan(&rule, &at, &(split_cells){cell, 2, BINS + 1}, 0, &best);
            split_scan(&unbounded, &at, &(split_cells){cell, 2, BINS + 1}, 0, &whole);
            assert_true(best.by_category && __builtin_popcountll(best.right[0]) <= most);
            assert_true(fabs(best.gain - best_of_ends(cell, BINS, most, 1.0)) <= 1e-9 * (1.0 + best.gain));
            bounded += best.gain < whole.gain;
        }
    }
    assert_true(bounded > 0);
}

/* ---- demands ----------------------------------------------------------------------------------------------------- */

static void rises_and_falls(void **state)
{
    (void)state;
    static const int8_t direction[COLUMNS] = {1, -1, 0, 0, 0};
    training t = plain();
    uint64_t random = 5;
    int moves = 0;
    draw();
    t.options.growth.direction = direction;
    train(&t);
    for (int column = 0; column < REALS; ++column) {
        for (int trial = 0; trial < 20; ++trial) {
            float value[COLUMNS] = {(float)test_uniform(&random), (float)test_uniform(&random)}, last = 0.0F;
            for (int w = 0; w < WORDS; ++w) {
                value[REALS + w] = (float)floor(codes_of[w] * test_uniform(&random));
            }
            for (int i = 0; i < GRID; ++i) {
                float margin = 0.0F;
                value[column] = -1.0F + 2.0F * (float)i / GRID;
                for (int r = 0; r < t.forest.trees; ++r) {
                    margin += t.forest.tree[r].node[tree_leaf(&t.forest.tree[r], value)].value;
                }
                assert_true(i == 0 || (margin - last) * (float)direction[column] >= 0.0F);
                moves += i > 0 && margin != last;
                last = margin;
            }
        }
    }
    assert_true(moves > 100);
    forest_destroy(&t.forest);
}

static void groups(void **state)
{
    (void)state;
    static const uint8_t has[2 * COLUMNS] = {1, 0, 1, 0, 0, 0, 1, 0, 1, 0}; /* column 4 is in none */
    training t = plain();
    uint8_t met[COLUMNS] = {0};
    draw();
    t.options.growth.interactions = (interaction_groups){has, 2};
    train(&t);
    for (int r = 0; r < t.forest.trees; ++r) {
        const weft_tree *tree = &t.forest.tree[r];
        for (int32_t n = 1; n < tree->nodes; ++n) {
            int in_group[2] = {1, 1}, alone = 1;
            for (int32_t up = tree->node[n].parent; up >= 0; up = tree->node[up].parent) {
                const int32_t c = tree->node[up].feature;
                in_group[0] &= has[c];
                in_group[1] &= has[COLUMNS + c];
                alone &= c == tree->node[0].feature;
                met[c] = 1;
            }
            assert_true(in_group[0] || in_group[1] || alone);
        }
    }
    assert_true(met[0] && met[1]);
    forest_destroy(&t.forest);
}

/* ---- foreign forms ----------------------------------------------------------------------------------------------- */

static void round_trip(void **state)
{
    (void)state;
    training t = plain();
    size_t bytes, again_bytes;
    weft_forest read = {0};
    forest_facts facts = {0};
    int sets = 0;
    draw();
    train(&t);
    char *text = text_of(&t.forest, &bytes);
    ASSERT_OK(forest_read("model", text, bytes, &read, &facts));
    char *again = text_of(&read, &again_bytes);
    assert_int_equal(bytes, again_bytes);
    assert_memory_equal(text, again, bytes);
    for (int n = 0; n < read.tree[0].nodes; ++n) {
        sets += read.tree[0].node[n].set_words > 0;
    }
    assert_true(sets > 0);
    forest_destroy(&read);
    forest_facts_free(&facts);
    static const char *const keys[] = {
        "\"categories_sizes\":", "\"categories_nodes\":", "\"categories_segments\":", "\"split_type\":"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i) { /* a number of each becomes one that fits nothing */
        char *at = strstr(again, keys[i]);
        assert_non_null(at);
        at += strcspn(at, "0123456789");
        const char kept = *at;
        *at = kept == '7' ? '8' : '7';
        assert_int_equal(forest_read("model", again, bytes, &read, &facts), WEFT_ERR_DATA);
        forest_destroy(&read);
        forest_facts_free(&facts);
        *at = kept;
    }
    free(text);
    free(again);
    forest_destroy(&t.forest);
}

#define LIGHTGBM_HEAD                                                                                                  \
    "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=1\nobjective=regression\n"               \
    "feature_names=x w\n\n"
#define LIGHTGBM_TREE                                                                                                  \
    "Tree=0\nnum_leaves=3\nnum_cat=1\nsplit_feature=0 1\nsplit_gain=2 1\nthreshold=0.1 0\ndecision_type=10 1\n"        \
    "left_child=1 -1\nright_child=-3 -2\nleaf_value=1 2 4\nleaf_count=3 4 5\ninternal_value=0 0\n"                     \
    "internal_count=12 7\ncat_boundaries=0 2\ncat_threshold=2 1\nis_linear=0\nshrinkage=1\n\n"

static void lightgbm(void **state)
{
    (void)state;
    static const char text[] = LIGHTGBM_HEAD LIGHTGBM_TREE "end of trees\n";
    static const struct {
        float x, w, answer;
    } row[] = {{0.0F, 1.0F, 1.0F},       {0.0F, 32.0F, 1.0F}, {0.0F, 0.0F, 2.0F},
               {0.0F, 99.0F, 2.0F},      {0.0F, NAN, 2.0F},   {NAN, 1.0F, 1.0F},
               {0.2F, 1.0F, 4.0F},       {0.1F, 1.0F, 4.0F}, /* 0.1F is above 0.1 */
               {0.09999999F, 1.0F, 1.0F}};
    static const char *const damaged[] = {
        LIGHTGBM_HEAD LIGHTGBM_TREE,
        LIGHTGBM_HEAD "Tree=0\nnum_leaves=3\nnum_cat=0\nsplit_feature=0 1\n\nend of trees\n",
        LIGHTGBM_HEAD "Tree=0\nnum_leaves=2000000\nnum_cat=0\nleaf_value=1\n\nend of trees\n",
        "tree\nobjective=regression\nmax_feature_idx=67000000\nnum_tree_per_iteration=1\nfeature_names=a\n\nend of "
        "trees\n",
        LIGHTGBM_HEAD "Tree=0\nnum_leaves=3\nnum_cat=0\nsplit_feature=0 1\nsplit_gain=2 1\nthreshold=0.1 0\n"
                      "decision_type=10 10\nleft_child=1 0\nright_child=-3 -2\nleaf_value=1 2 4\nleaf_count=3 4 5\n"
                      "internal_value=0 0\ninternal_count=12 7\n\nend of trees\n"};
    weft_forest forest;
    forest_facts facts;
    ASSERT_OK(forest_read("model", text, sizeof text - 1, &forest, &facts));
    assert_string_equal(facts.column[1], "w");
    ASSERT_NEAR(forest.tree[0].node[0].hessian, 12.0, 0.0);
    for (size_t i = 0; i < sizeof row / sizeof *row; ++i) {
        const float value[2] = {row[i].x, row[i].w};
        const float answer = forest.tree[0].node[tree_leaf(&forest.tree[0], value)].value;
        if (answer != row[i].answer) {
            fail_msg("row %zu: %g in the place of %g", i, (double)answer, (double)row[i].answer);
        }
    }
    forest_destroy(&forest);
    forest_facts_free(&facts);
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; ++i) {
        assert_int_equal(forest_read("model", damaged[i], strlen(damaged[i]), &forest, &facts), WEFT_ERR_DATA);
        forest_destroy(&forest);
        forest_facts_free(&facts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits),       cmocka_unit_test(steps),           cmocka_unit_test(subsets),
        cmocka_unit_test(small_sets), cmocka_unit_test(rises_and_falls), cmocka_unit_test(groups),
        cmocka_unit_test(round_trip), cmocka_unit_test(lightgbm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Indexes of two classes: areas with errors by DeLong's definition over all pairs of rows, figures that scikit-learn
 * 1.9 and SciPy find for the same rows, a bootstrap that draws rows, and the same bits on 1, 2 and 5 ranks. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "support/random.h"
#include "support/test.h"
#include "train/indexes/index_groups.h"
#include "train/score/metrics.h"
#include "train/score/score_record.h"

enum { ROWS = 240 };

#define ASSERT_VALUE(index, at, from, to, tolerance)                                                                   \
    do {                                                                                                               \
        ASSERT_NEAR((index).value, at, tolerance);                                                                     \
        ASSERT_NEAR((index).low, from, tolerance);                                                                     \
        ASSERT_NEAR((index).high, to, tolerance);                                                                      \
    } while (0)

/* The rows of the figures below: 101 scores, of which most occur more than once. */
static float score_of(int i)
{
    return (float)(i * 37 % 101 - 50) / 16.0F;
}

static int label_of(int i)
{
    const double draw = (double)((i * 7919 + i * i * 31) % 1000) / 1000.0;
    return draw < 1.0 / (1.0 + exp(-(0.6 * (double)score_of(i) - 0.4)));
}

static void make_levels(const float *score, const int *label, int count, score_levels *levels)
{
    uint64_t record[ROWS], spare[ROWS];
    for (int i = 0; i < count; ++i) {
        record[i] = score_record(score[i], label[i]);
    }
    ASSERT_OK(score_levels_make(record, spare, count, levels));
}

static void make_known(float *score, int *label, score_levels *levels)
{
    for (int i = 0; i < ROWS; ++i) {
        score[i] = score_of(i);
        label[i] = label_of(i);
    }
    make_levels(score, label, ROWS, levels);
}

/* ---- areas ------------------------------------------------------------------------------------------------------- */

static double wins_of(float positive, float negative)
{
    return positive > negative ? 1.0 : positive == negative ? 0.5 : 0.0;
}

/* [out] place [count]: of a row, the share of rows of the other class that are ordered rightly. */
static double place_by_pairs(const float *score, const int *label, int count, double *place)
{
    double area = 0.0;
    int positives = 0;
    for (int i = 0; i < count; ++i) {
        int others = 0;
        place[i] = 0.0;
        for (int j = 0; j < count; ++j) {
            others += label[j] != label[i];
            place[i] +=
                label[j] == label[i] ? 0.0 : wins_of(score[label[i] == 1 ? i : j], score[label[i] == 1 ? j : i]);
        }
        place[i] /= others;
        area += label[i] == 1 ? place[i] : 0.0;
        positives += label[i];
    }
    return area / positives;
}

static double covariance(const double *a, const double *b, const int *label, int count, int class)
{
    double mean[2] = {0.0, 0.0}, sum = 0.0;
    int rows = 0;
    for (int i = 0; i < count; ++i) {
        mean[0] += label[i] == class ? a[i] : 0.0;
        mean[1] += label[i] == class ? b[i] : 0.0;
        rows += label[i] == class;
    }
    for (int i = 0; i < count; ++i) {
        sum += label[i] == class ? (a[i] - mean[0] / rows) * (b[i] - mean[1] / rows) : 0.0;
    }
    return sum / (rows - 1) / rows;
}

static double covariance_of_areas(const double *a, const double *b, const int *label, int count)
{
    return covariance(a, b, label, count, 0) + covariance(a, b, label, count, 1);
}

/* Rows of a draw: two scores with many ties, the second related to the first. */
static int draw_rows(uint64_t *random, float score[2][ROWS], int *label, paired_score *pair)
{
    const int count = 12 + (int)(test_random(random) % (ROWS - 12));
    for (int i = 0; i < count; ++i) {
        label[i] = i < 4 ? i % 2 : (int)(test_random(random) % 2); /* two of either at least */
        score[0][i] = (float)(test_random(random) % 15) - 7.0F + (float)label[i];
        score[1][i] = score[0][i] + (float)(test_random(random) % 7);
        pair[i] = (paired_score){i, {score[0][i], score[1][i]}, label[i]};
    }
    return count;
}

static void test_areas_are_delongs(void **state)
{
    (void)state;
    uint64_t random = 5;
    for (int round = 0; round < 40; ++round) {
        float score[2][ROWS];
        double place[2][ROWS], se;
        int label[ROWS];
        paired_score pair[ROWS];
        score_levels levels;
        roc_difference both;
        const int count = draw_rows(&random, score, label, pair);
        const double first = place_by_pairs(score[0], label, count, place[0]);
        const double second = place_by_pairs(score[1], label, count, place[1]);
        const double variance = covariance_of_areas(place[0], place[0], label, count);
        make_levels(score[0], label, count, &levels);
        const index_value area = roc_area(&levels, &se);
        ASSERT_NEAR(area.value, first, 1e-13);
        ASSERT_NEAR(se, sqrt(variance), 1e-13);
        ASSERT_NEAR(area.low, fmax(0.0, first - 1.959963984540054 * sqrt(variance)), 1e-12);
        ASSERT_OK(roc_difference_of(pair, count, &both));
        const double error = sqrt(variance + covariance_of_areas(place[1], place[1], label, count) -
                                  2.0 * covariance_of_areas(place[0], place[1], label, count));
        ASSERT_NEAR(both.difference.value, first - second, 1e-13);
        ASSERT_NEAR(both.area[0].low, area.low, 1e-12);
        ASSERT_NEAR(both.area[1].value, second, 1e-13);
        ASSERT_NEAR(both.se, error, 1e-12);
        ASSERT_NEAR(both.p, erfc(fabs(first - second) / error / sqrt(2.0)), 1e-9);
        score_levels_free(&levels);
    }
}

static void test_equal_models_do_not_differ(void **state)
{
    (void)state;
    paired_score pair[ROWS];
    roc_difference both;
    for (int i = 0; i < ROWS; ++i) {
        pair[i] = (paired_score){i, {score_of(i), 2.0F * score_of(i)}, label_of(i)};
    }
    ASSERT_OK(roc_difference_of(pair, ROWS, &both));
    assert_true(both.difference.value == 0.0 && both.se == 0.0 && both.p == 1.0);
    for (int i = 0; i < ROWS; ++i) {
        pair[i].positive = 1;
    }
    ASSERT_OK(roc_difference_of(pair, ROWS, &both));
    assert_true(isnan(both.difference.value) && isnan(both.p));
}

/* ---- known figures ----------------------------------------------------------------------------------------------- */

static void test_known_rows(void **state)
{
    (void)state;
    float score[ROWS];
    int label[ROWS];
    score_levels levels;
    index_calibration c;
    index_curve roc, precision;
    double se, youden;
    make_known(score, label, &levels);
    assert_int_equal(levels.count, 101);
    assert_int_equal(levels.positives, 115);
    ASSERT_NEAR(roc_area(&levels, &se).value, 0.7323826086956522, 1e-14);
    ASSERT_NEAR(precision_curve_of(&levels, &precision), 0.7183894205505882, 1e-14);
    calibration_of(&levels, &c);
    ASSERT_NEAR(c.brier, 0.2247709427594496, 1e-14);
    ASSERT_NEAR(c.log_loss, 0.6698038463131475, 1e-14);
    ASSERT_VALUE(c.intercept, -0.0958168397813, -0.0958168397813 - 1.959963984540 * 0.1412541,
                 -0.0958168397813 + 1.959963984540 * 0.1412541, 2e-7);
    ASSERT_VALUE(c.slope, 0.4930077547037, 0.4930077547037 - 1.959963984540 * 0.08360115,
                 0.4930077547037 + 1.959963984540 * 0.08360115, 2e-7);
    ASSERT_NEAR(youden_threshold(&levels, &youden), 0.43782349911420193, 1e-15);
    ASSERT_NEAR(youden, 0.38782608695652177, 1e-15);
    roc_curve_of(&levels, &roc);
    assert_true(roc.points <= 102 && roc.x[0] == 0.0 && roc.y[0] == 0.0);
    assert_true(roc.x[roc.points - 1] == 1.0 && roc.y[roc.points - 1] == 1.0);
    score_levels_free(&levels);
}

static void test_answers_at_a_threshold(void **state)
{
    (void)state;
    float score[ROWS];
    int label[ROWS];
    score_levels levels;
    make_known(score, label, &levels);
    const index_confusion c = confusion_at(&levels, 0.43782349911420193);
    const index_confusion expected = {86, 45, 29, 80};
    assert_memory_equal(&c, &expected, sizeof c);
    ASSERT_VALUE(wilson_share(86, 115), 86.0 / 115.0, 0.6613299604616811, 0.8183006378634419, 1e-13);
    ASSERT_VALUE(wilson_share(80, 125), 80.0 / 125.0, 0.5528385550024603, 0.7188131347592083, 1e-13);
    ASSERT_VALUE(wilson_share(0, 10), 0.0, 0.0, 0.27753279986288926, 1e-13);
    ASSERT_VALUE(wilson_share(10, 10), 1.0, 0.7224672001371109, 1.0, 1e-13);
    ASSERT_VALUE(f1_of(&c), 0.6991869918699187, 0.63034774, 0.76078431, 0.01); /* 20,000 draws of rows */
    score_levels_free(&levels);
}

/* Limits of F1 by draws of rows, where cells are few, empty and many. */
static void test_f1_is_drawn_as_rows_are(void **state)
{
    (void)state;
    static const index_confusion cases[] = {{5, 3, 2, 10}, {0, 4, 3, 50}, {1, 0, 0, 0}, {40, 0, 10, 0}};
    enum { DRAWS = 4000 };
    uint64_t random = 9;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        const index_confusion *c = &cases[k];
        const int64_t wrong = c->true_positives + c->false_positives;
        const int64_t edge[3] = {c->true_positives, wrong, wrong + c->false_negatives};
        const int64_t rows = edge[2] + c->true_negatives;
        const index_value f1 = f1_of(c);
        int below = 0, above = 0;
        for (int d = 0; d < DRAWS; ++d) {
            int64_t cell[4] = {0};
            for (int64_t i = 0; i < rows; ++i) {
                const int64_t row = (int64_t)(test_uniform(&random) * (double)rows);
                cell[row < edge[0] ? 0 : row < edge[1] ? 1 : row < edge[2] ? 2 : 3] += 1;
            }
            const int64_t sum = 2 * cell[0] + cell[1] + cell[2];
            const double here = sum > 0 ? 2.0 * (double)cell[0] / (double)sum : 0.0;
            below += here < f1.low - 1e-12;
            above += here > f1.high + 1e-12;
        }
        assert_true(below <= DRAWS * 0.033 && above <= DRAWS * 0.033);
    }
    const index_confusion many = {300000000, 100000000, 200000000, 400000000}; /* by the law, not by rows */
    const index_value narrow = f1_of(&many);
    assert_true(narrow.low < 2.0 / 3.0 && narrow.high > 2.0 / 3.0 && narrow.high - narrow.low < 1e-4);
}

/* ---- calibration ------------------------------------------------------------------------------------------------- */

static void test_parts_sum_to_brier(void **state)
{
    (void)state;
    float score[ROWS];
    int label[ROWS];
    score_levels levels;
    index_calibration c;
    int64_t rows = 0, positives = 0;
    make_known(score, label, &levels);
    calibration_of(&levels, &c);
    assert_int_equal(c.bins, CALIBRATION_BINS);
    for (int b = 0; b < c.bins; ++b) {
        rows += c.bin[b].rows;
        positives += c.bin[b].positives;
        assert_true(c.bin[b].rows >= 20 && c.bin[b].rows <= 28);
        assert_true(b == 0 || c.bin[b].mean > c.bin[b - 1].mean);
    }
    assert_true(rows == ROWS && positives == 115);
    ASSERT_NEAR(c.reliability - c.resolution + c.uncertainty + c.within, c.brier, 1e-15);
    ASSERT_NEAR(c.uncertainty, 115.0 * 125.0 / ROWS / ROWS, 1e-15);
    score_levels_free(&levels);
    for (int i = 0; i < ROWS; ++i) { /* two scores make two bins, within which nothing differs */
        score[i] = i % 3 == 0 ? 1.0F : -1.0F;
    }
    make_levels(score, label, ROWS, &levels);
    calibration_of(&levels, &c);
    assert_int_equal(c.bins, 2);
    ASSERT_NEAR(c.within, 0.0, 1e-15);
    score_levels_free(&levels);
}

/* Probabilities that are too extreme by 4, and too low by 2 logits: known rates of large cells. */
static void test_slope_says_how_extreme(void **state)
{
    (void)state;
    score_level level[5];
    score_levels all = {level, 5, 0, 0};
    index_calibration c;
    for (int k = 0; k < 5; ++k) {
        const double truth = 0.25 * (k - 2.0) * 3.0 + 2.0, rows = 1e9;
        const int64_t positives = (int64_t)(rows / (1.0 + exp(-truth)) + 0.5);
        level[k] = (score_level){(float)(k - 2) * 3.0F, positives, (int64_t)rows - positives};
        all.positives += positives;
        all.negatives += (int64_t)rows - positives;
    }
    calibration_of(&all, &c);
    ASSERT_NEAR(c.slope.value, 0.25, 1e-7);
    ASSERT_NEAR(c.intercept.value, 2.0, 1e-7);
    assert_true(c.intercept_alone.value > 2.0);
}

/* Losses of many rows of their own scores, some of them far out, and of some levels of several rows. */
static void test_sums_of_many(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    static score_level level[MANY];
    score_levels all = {level, MANY, 0, 0};
    index_calibration c;
    double loss = 0.0, brier = 0.0;
    for (int i = 0; i < MANY; ++i) {
        const float score = ((float)i - 0.5F * MANY) * 0.002F;
        const int64_t positives = i % 3 == 0, negatives = i % 3 != 0 ? i % 101 == 0 ? 7 : 1 : 0;
        const double s = (double)score, p = 1.0 / (1.0 + exp(-s));
        level[i] = (score_level){score, positives, negatives};
        all.positives += positives;
        all.negatives += negatives;
        loss += (double)positives * log1p(exp(-s)) + (double)negatives * log1p(exp(s));
        brier += (double)positives * (1.0 - p) * (1.0 - p) + (double)negatives * p * p;
    }
    const double rows = (double)(all.positives + all.negatives);
    calibration_of(&all, &c);
    ASSERT_NEAR(c.log_loss, loss / rows, 1e-13 * loss / rows);
    ASSERT_NEAR(c.brier, brier / rows, 1e-14);
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

static void test_limits(void **state)
{
    (void)state;
    score_levels levels;
    index_calibration c;
    double se, youden;
    const float rising[4] = {1, 2, 3, 4}, one[4] = {1, 1, 1, 1};
    const int parted[4] = {0, 0, 1, 1}, ones[4] = {1, 1, 1, 1};
    make_levels(rising, parted, 4, &levels);
    index_value area = roc_area(&levels, &se);
    calibration_of(&levels, &c);
    assert_true(area.value == 1.0 && se == 0.0 && isnan(c.slope.value) && !isnan(c.intercept_alone.value));
    ASSERT_NEAR(youden_threshold(&levels, &youden), score_probability(3.0F), 0.0);
    score_levels_free(&levels);
    make_levels(one, parted, 4, &levels);
    area = roc_area(&levels, &se);
    calibration_of(&levels, &c);
    assert_true(area.value == 0.5 && isnan(c.slope.value) && c.bins == 1 && isnan(youden_threshold(&levels, &youden)));
    score_levels_free(&levels);
    make_levels(rising, ones, 4, &levels);
    calibration_of(&levels, &c);
    assert_true(isnan(roc_area(&levels, &se).value) && isnan(c.slope.value) && isfinite(c.log_loss));
    score_levels_free(&levels);
    make_levels(rising, parted + 1, 2, &levels); /* one row of each class */
    assert_true(roc_area(&levels, &se).value == 1.0 && isnan(se));
    score_levels_free(&levels);
    make_levels(rising, parted, 0, &levels);
    calibration_of(&levels, &c);
    assert_true(isnan(c.brier) && c.bins == 0);
    score_levels_free(&levels);
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

/* Rows dealt to ranks in turn, backwards where `turned` is set; with several ranks the last one has none. fail: the
 * allocation that fails, 0: none. */
typedef struct index_case {
    bool turned, bad;
    int judged;
    uint64_t fail;
    index_threshold threshold;
    binary_indexes result; /* of rank 0, as the groups: below 60, to below 180.5, from there on, and missing */
    index_groups groups;
} index_case;

static uint8_t split_of(int i)
{
    return i % 5 == 4 ? TRAIN_SPLIT_NONE : (uint8_t)(i % 5 % 3);
}

static weft_status index_rank(weft_comm *comm, void *argument)
{
    index_case *c = argument;
    const int rank = comm_rank(comm), size = comm_size(comm), workers = size > 1 ? size - 1 : 1;
    float logits[2 * ROWS];
    int32_t label[ROWS];
    uint8_t split[ROWS];
    float value[ROWS];
    const double limit[] = {60.0, 180.5};
    const index_rule rule = {.limit = limit, .limits = 2};
    index_groups groups = {.count = 0};
    binary_indexes mine;
    int64_t rows = 0;
    for (int k = 0; k < ROWS; ++k) {
        const int i = c->turned ? ROWS - 1 - k : k;
        if (i % workers == rank) {
            logits[2 * rows] = 0.25F;
            logits[2 * rows + 1] = c->bad && i == 7 ? INFINITY : 0.25F + score_of(i);
            label[rows] = i % 11 == 0 ? -1 : label_of(i);
            value[rows] = i % 13 == 0 ? NAN : (float)i;
            split[rows++] = split_of(i);
        }
    }
    const train_targets targets = {.rows = rows,
                                   .outputs = 2,
                                   .loss = TRAIN_LOSS_XENT,
                                   .labelled = true,
                                   .label_host = label,
                                   .split_host = split};
    weft_alloc_fail_after(c->fail);
    weft_status status = binary_indexes_make(comm, &targets, logits, c->judged, &c->threshold, &mine);
    if (status == WEFT_OK) {
        status = index_groups_make(comm, &targets, logits, value, &rule, c->judged, &mine.threshold, &groups);
    }
    if (rank == 0) {
        c->result = mine;
        c->groups = groups;
    } else {
        index_groups_free(&groups);
    }
    return status;
}

static void check_equal(const binary_indexes *a, const binary_indexes *b)
{
    const index_value *values[2][6] = {
        {&a->area, &a->f1, &a->accuracy, &a->calibration.slope, &a->calibration.intercept, &a->sensitivity},
        {&b->area, &b->f1, &b->accuracy, &b->calibration.slope, &b->calibration.intercept, &b->sensitivity}};
    for (int i = 0; i < 6; ++i) {
        assert_memory_equal(values[0][i], values[1][i], sizeof(index_value));
    }
    assert_true(a->calibration.brier == b->calibration.brier && a->calibration.log_loss == b->calibration.log_loss);
    assert_true(a->threshold.value == b->threshold.value && a->average_precision == b->average_precision);
    assert_memory_equal(&a->confusion, &b->confusion, sizeof a->confusion);
    assert_int_equal(a->roc.points, b->roc.points);
}

static void check_groups(const index_groups *groups, int judged)
{
    static const char *const names[] = {"< 60", "60 to < 180.5", ">= 180.5", "missing"};
    int64_t rows[4] = {0}, positives[4] = {0};
    for (int i = 0; i < ROWS; ++i) {
        if (i % 11 != 0 && (judged == INDEX_ALL_ROWS || split_of(i) == judged)) {
            const int group = i % 13 == 0 ? 3 : i < 60 ? 0 : i <= 180 ? 1 : 2;
            rows[group] += 1;
            positives[group] += label_of(i);
        }
    }
    assert_int_equal(groups->count, 4);
    for (int g = 0; g < 4; ++g) {
        assert_string_equal(groups->group[g].name, names[g]);
        assert_int_equal(groups->group[g].indexes.rows, rows[g]);
        assert_int_equal(groups->group[g].indexes.positives, positives[g]);
    }
}

/* Values are float32 and limits are not: 0.7F is below 0.7. */
static weft_status limit_rank(weft_comm *comm, void *argument)
{
    const float logits[8] = {0, 1, 0, 2, 0, 3, 0, 4}, value[4] = {0.1F, 0.7F, 0.6F, 0.7F};
    const int32_t label[4] = {0, 1, 0, 1};
    const uint8_t split[4] = {0};
    const double limit[] = {0.6, 0.7};
    const index_rule rule = {.limit = limit, .limits = 2};
    const index_threshold threshold = {0.5, THRESHOLD_GIVEN, NAN};
    const train_targets targets = {
        .rows = 4, .outputs = 2, .loss = TRAIN_LOSS_XENT, .labelled = true, .label_host = label, .split_host = split};
    return index_groups_make(comm, &targets, logits, value, &rule, 0, &threshold, argument);
}

static void test_value_at_a_limit_is_not_below_it(void **state)
{
    (void)state;
    index_groups groups;
    ASSERT_OK(comm_thread_run(1, limit_rank, &groups));
    assert_int_equal(groups.count, 3);
    assert_string_equal(groups.group[1].name, "0.6 to < 0.7");
    assert_int_equal(groups.group[1].indexes.rows, 1);
    assert_string_equal(groups.group[2].name, ">= 0.7");
    assert_int_equal(groups.group[2].indexes.rows, 2);
    index_groups_free(&groups);
}

/* Names of words stay whole characters, and differ. */
static weft_status word_rank(weft_comm *comm, void *argument)
{
    char many[2][160], gap[] = "missing";
    for (int w = 0; w < 2; ++w) {
        for (int k = 0; k < 60; ++k) {
            memcpy(&many[w][2 * k], "\xc3\xa9", 2);
        }
        (void)snprintf(&many[w][120], 40, "%d", w);
    }
    char *const word[] = {gap, many[0], many[1]};
    const float logits[8] = {0, 1, 0, 2, 0, 3, 0, 4}, value[4] = {0.0F, 1.0F, 2.0F, NAN};
    const int32_t label[4] = {0, 1, 0, 1};
    const uint8_t split[4] = {0};
    const index_rule rule = {.word = word, .words = 3};
    const index_threshold threshold = {0.5, THRESHOLD_GIVEN, NAN};
    const train_targets targets = {
        .rows = 4, .outputs = 2, .loss = TRAIN_LOSS_XENT, .labelled = true, .label_host = label, .split_host = split};
    return index_groups_make(comm, &targets, logits, value, &rule, 0, &threshold, argument);
}

static void test_names_of_words_differ(void **state)
{
    (void)state;
    index_groups groups;
    ASSERT_OK(comm_thread_run(1, word_rank, &groups));
    assert_int_equal(groups.count, 4);
    assert_string_equal(groups.group[0].name, "missing (word 1)");
    assert_string_equal(groups.group[3].name, "missing");
    for (int g = 1; g <= 2; ++g) {
        const char *name = groups.group[g].name, *dots = strstr(name, g == 1 ? "... (word 2)" : "... (word 3)");
        assert_non_null(dots);
        assert_int_equal((dots - name) % 2, 0);
        assert_true(strlen(name) < INDEX_GROUP_BYTES && dots[-1] == '\xa9');
    }
    index_groups_free(&groups);
}

static void test_ranks_find_the_same(void **state)
{
    (void)state;
    static const int judged[] = {2, 1, 0, INDEX_ALL_ROWS};
    static const threshold_source source[] = {THRESHOLD_VALID, THRESHOLD_TRAIN, THRESHOLD_VALID, THRESHOLD_HALF};
    for (int k = 0; k < 4; ++k) {
        index_case one = {.judged = judged[k], .threshold = {NAN, THRESHOLD_HALF, NAN}};
        ASSERT_OK(comm_thread_run(1, index_rank, &one));
        int64_t rows = 0;
        for (int i = 0; i < ROWS; ++i) {
            rows += i % 11 != 0 && (judged[k] == INDEX_ALL_ROWS || split_of(i) == judged[k]);
        }
        assert_int_equal(one.result.rows, rows);
        assert_int_equal(one.result.threshold.source, source[k]);
        for (int ranks = 1; ranks <= 5; ranks += ranks == 1 ? 1 : 3) {
            index_case other = {.judged = judged[k], .threshold = {NAN, THRESHOLD_HALF, NAN}, .turned = true};
            ASSERT_OK(comm_thread_run(ranks, index_rank, &other));
            check_equal(&one.result, &other.result);
            check_groups(&other.groups, judged[k]);
            index_groups_free(&other.groups);
        }
        index_groups_free(&one.groups);
    }
}

static void test_what_is_asked_for(void **state)
{
    (void)state;
    index_case given = {.judged = 2, .threshold = {0.75, THRESHOLD_GIVEN, NAN}};
    ASSERT_OK(comm_thread_run(2, index_rank, &given));
    assert_true(given.result.threshold.value == 0.75 && given.result.notes == 0);
    index_groups_free(&given.groups);
    index_case bad = {.judged = 2, .threshold = {NAN, THRESHOLD_HALF, NAN}, .bad = true};
    ASSERT_OK(comm_thread_run(2, index_rank, &bad));
    assert_true(!bad.result.finite && bad.result.notes == 1 && bad.groups.count == 0);
    index_groups_free(&bad.groups);
}

static void test_allocations_that_fail(void **state)
{
    (void)state;
    weft_status status = WEFT_ERR_RESOURCE;
    for (uint64_t n = 1; status != WEFT_OK; ++n) {
        index_case c = {.judged = 2, .threshold = {NAN, THRESHOLD_HALF, NAN}, .fail = n};
        status = comm_thread_run(1, index_rank, &c);
        weft_alloc_fail_after(0);
        assert_true(status == WEFT_OK || status == WEFT_ERR_RESOURCE);
        assert_true(status != WEFT_OK || n > 8);
        index_groups_free(&c.groups);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_areas_are_delongs),
        cmocka_unit_test(test_equal_models_do_not_differ),
        cmocka_unit_test(test_known_rows),
        cmocka_unit_test(test_answers_at_a_threshold),
        cmocka_unit_test(test_f1_is_drawn_as_rows_are),
        cmocka_unit_test(test_parts_sum_to_brier),
        cmocka_unit_test(test_slope_says_how_extreme),
        cmocka_unit_test(test_sums_of_many),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_ranks_find_the_same),
        cmocka_unit_test(test_value_at_a_limit_is_not_below_it),
        cmocka_unit_test(test_names_of_words_differ),
        cmocka_unit_test(test_what_is_asked_for),
        cmocka_unit_test(test_allocations_that_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

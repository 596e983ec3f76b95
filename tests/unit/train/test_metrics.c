/* Accuracy, ROC-AUC, macro-F1, top-5 accuracy and R2 against brute force, on 1, 2 and 5 ranks. */
#include <math.h>

#include "support/labelled_graphs.h"
#include "train/score/area_over_ranks.h"
#include "train/score/metrics.h"
#include "train/score/score_record.h"

enum { ROWS = 200, MOST_OUTPUTS = 7 };

/* Probability that a random positive scores above a random negative, ties at half: the definition. */
static double auc_by_definition(const float *score, const int *label, int count)
{
    double wins = 0;
    double pairs = 0;
    for (int i = 0; i < count; ++i) {
        for (int j = 0; j < count; ++j) {
            if (label[i] == 1 && label[j] == 0) {
                pairs += 1;
                wins += score[i] > score[j] ? 1.0 : (score[i] == score[j] ? 0.5 : 0.0);
            }
        }
    }
    return pairs > 0 ? wins / pairs : NAN;
}

/* Records of random splits; rank r of several has rows r * r / P^2 of all, rank 0 none. */
typedef struct area_case {
    int count;
    float score[ROWS];
    int label[ROWS];
    int split[ROWS];
    double area[TRAIN_SPLITS]; /* of the last rank */
} area_case;

static weft_status area_rank(weft_comm *comm, void *argument)
{
    area_case *c = argument;
    const int rank = comm_rank(comm), size = comm_size(comm);
    const int begin = c->count * rank * rank / (size * size), end = c->count * (rank + 1) * (rank + 1) / (size * size);
    uint64_t record[ROWS];
    double area[TRAIN_SPLITS];
    for (int i = begin; i < end; ++i) {
        record[i - begin] = score_record(c->score[i], c->label[i]) | (uint64_t)c->split[i] << 1;
    }
    WEFT_TRY(area_over_ranks(comm, record, end - begin, area));
    if (rank == size - 1) {
        memcpy(c->area, area, sizeof area);
    }
    return WEFT_OK;
}

static double area_expected(const area_case *c, int split)
{
    float score[ROWS];
    int label[ROWS], count = 0;
    for (int i = 0; i < c->count; ++i) {
        if (c->split[i] == split) {
            score[count] = c->score[i];
            label[count++] = c->label[i];
        }
    }
    return auc_by_definition(score, label, count);
}

static void check_area(area_case *c)
{
    static const int ranks[] = {1, 2, 3, 7};
    double first[TRAIN_SPLITS];
    for (int r = 0; r < 4; ++r) {
        ASSERT_OK(comm_thread_run(ranks[r], area_rank, c));
        for (int s = 0; s < TRAIN_SPLITS; ++s) {
            const double expected = area_expected(c, s);
            assert_int_equal(isnan(expected), isnan(c->area[s]));
            if (!isnan(expected)) {
                ASSERT_NEAR(c->area[s], expected, 1e-12);
            }
        }
        if (r == 0) {
            memcpy(first, c->area, sizeof first);
        }
        assert_memory_equal(first, c->area, sizeof first); /* to the bit */
    }
}

/* Few distinct scores, both signs and zeros: many ties; or one score alone; or nearly all different. */
static void test_area_is_its_definition(void **state)
{
    (void)state;
    static const uint32_t values[] = {21, 1, 100000};
    draw_stream random = {.key = 3};
    for (int round = 0; round < 30; ++round) {
        area_case c = {.count = (int)(draw_next(&random) % (ROWS + 1))};
        for (int i = 0; i < c.count; ++i) {
            const uint32_t of = values[round % 3], middle = of / 2;
            c.score[i] = ((float)(draw_next(&random) % of) - (float)middle) * (round % 2 == 0 ? 1.0F : 1e-30F);
            c.label[i] = (int)(draw_next(&random) & 1);
            c.split[i] = (int)(draw_next(&random) % (TRAIN_SPLITS + 1));
        }
        check_area(&c);
    }
}

static void test_area_needs_both_classes(void **state)
{
    (void)state;
    area_case c = {.count = 2, .score = {1, 2}, .label = {1, 1}};
    check_area(&c);
    assert_true(isnan(c.area[0]));
}

/* Rows dealt to ranks in blocks; rank 1 of several has none. */
typedef struct score_case {
    train_metric metric;
    train_loss loss;
    int64_t outputs;
    float logits[ROWS * MOST_OUTPUTS];
    int32_t label[ROWS];
    float target[ROWS * MOST_OUTPUTS];
    uint8_t split[ROWS];
    uint8_t mask[TRAIN_SPLITS][ROWS];
    int64_t batch; /* rows */
    double score[TRAIN_SPLITS];
    bool finite;
} score_case;

/* Batches of `most` rows, the last one shorter. */
static weft_status add_in_batches(train_metrics *metrics, const weft_tensor *logits, const train_targets *all,
                                  int64_t most)
{
    WEFT_TRY(metrics_begin(metrics));
    for (int64_t begin = 0; begin < all->rows; begin += most) {
        int64_t rows = all->rows - begin < most ? all->rows - begin : most;
        weft_tensor view = tensor_view(logits, begin, rows, 0, logits->cols);
        train_targets some = {.rows = rows, .outputs = all->outputs, .loss = all->loss};
        some.label = some.label_host = all->label != NULL ? all->label + begin : NULL;
        some.target = some.target_host = all->target != NULL ? all->target + begin * all->outputs : NULL;
        some.split_host = all->split_host + begin;
        for (int s = 0; s < TRAIN_SPLITS; ++s) {
            some.mask[s] = all->mask[s] + begin;
        }
        WEFT_TRY(metrics_add(metrics, &view, &some));
    }
    return WEFT_OK;
}

static weft_status score_rank(weft_comm *comm, void *argument)
{
    score_case *c = argument;
    int rank = comm_rank(comm);
    int size = comm_size(comm);
    int workers = size > 1 ? size - 1 : 1;
    int worker = rank == 0 || size == 1 ? 0 : rank - 1;
    const hal_span own = rank != 1 ? hal_split_rows(ROWS, workers, worker) : (hal_span){0, 0};
    int64_t begin = own.begin;
    int64_t end = own.end;
    weft_hal *hal = NULL;
    train_metrics metrics = {0};
    weft_tensor logits = {0};
    train_targets targets = {.rows = end - begin, .outputs = c->outputs, .loss = c->loss};
    bool classes = c->loss == TRAIN_LOSS_XENT;
    targets.label = targets.label_host = classes ? c->label + begin : NULL;
    targets.target = targets.target_host = classes ? NULL : c->target + begin * c->outputs;
    targets.split_host = c->split + begin;
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        targets.mask[s] = c->mask[s] + begin;
    }
    double score[TRAIN_SPLITS];
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(weft_hal_open("ref", 1, &hal), status, done);
    WEFT_TRY_GOTO(tensor_create(hal, WEFT_DTYPE_F32, end - begin, c->outputs, WEFT_MEM_WORKSPACE, &logits), status,
                  done);
    WEFT_TRY_GOTO(tensor_upload(&logits, c->logits + begin * c->outputs), status, done);
    const metrics_desc desc = {
        .metric = c->metric, .loss = c->loss, .outputs = c->outputs, .rows = end - begin, .dtype = WEFT_DTYPE_F32};
    WEFT_TRY_GOTO(metrics_create(comm, hal, &desc, &metrics), status, done);
    for (int again = 0; again < 2; ++again) {
        WEFT_TRY_GOTO(add_in_batches(&metrics, &logits, &targets, c->batch), status, done);
        WEFT_TRY_GOTO(metrics_end(&metrics, score), status, done);
    }
    if (status == WEFT_OK && rank == size - 1) {
        memcpy(c->score, score, sizeof score);
        c->finite = metrics.finite;
    }
done:
    metrics_destroy(&metrics);
    tensor_destroy(&logits);
    weft_hal_close(hal);
    return status;
}

static void fill_case(score_case *c, int64_t outputs)
{
    draw_stream random = {.key = 17};
    c->outputs = outputs;
    for (int i = 0; i < ROWS * outputs; ++i) {
        c->logits[i] = (float)(draw_next(&random) % 64) / 8.0f;
        uint32_t draw = draw_next(&random) % 5;
        c->target[i] = draw == 4 ? NAN : (float)(draw & 1);
    }
    for (int i = 0; i < ROWS; ++i) {
        c->label[i] = (int32_t)(draw_next(&random) % (uint32_t)outputs);
        uint32_t draw = draw_next(&random) % 4;
        c->split[i] = draw == 3 ? TRAIN_SPLIT_NONE : (uint8_t)draw;
        for (uint32_t s = 0; s < TRAIN_SPLITS; ++s) {
            c->mask[s][i] = draw == s;
        }
    }
}

static void check_everywhere(score_case *c, const double *expected)
{
    static const int ranks[] = {1, 2, 5};
    static const int64_t batches[] = {ROWS, 7, 1};
    for (int r = 0; r < 3; ++r) {
        for (int b = 0; b < 3; ++b) {
            c->batch = batches[b];
            ASSERT_OK(comm_thread_run(ranks[r], score_rank, c));
            for (int s = 0; s < TRAIN_SPLITS; ++s) {
                ASSERT_NEAR(c->score[s], expected[s], 1e-12);
            }
            assert_true(c->finite);
        }
    }
}

static void test_accuracy(void **state)
{
    (void)state;
    score_case c = {.metric = TRAIN_METRIC_ACCURACY, .loss = TRAIN_LOSS_XENT};
    fill_case(&c, 3);
    double correct[TRAIN_SPLITS] = {0};
    double total[TRAIN_SPLITS] = {0};
    double expected[TRAIN_SPLITS];
    for (int i = 0; i < ROWS; ++i) {
        int best = 0;
        for (int k = 1; k < 3; ++k) {
            best = c.logits[3 * i + k] > c.logits[3 * i + best] ? k : best;
        }
        if (c.split[i] < TRAIN_SPLITS) {
            total[c.split[i]] += 1;
            correct[c.split[i]] += best == c.label[i];
        }
    }
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        expected[s] = correct[s] / total[s];
    }
    check_everywhere(&c, expected);
}

/* One logit of one row, in no split or in any, on any rank: every rank hears of it. */
static void test_logits_that_are_not_finite(void **state)
{
    (void)state;
    static const float values[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 6; ++i) {
        score_case c = {.metric = i % 2 == 0 ? TRAIN_METRIC_ACCURACY : TRAIN_METRIC_ROCAUC, .loss = TRAIN_LOSS_XENT};
        fill_case(&c, 2);
        c.batch = 7;
        c.logits[2 * 37 * i + 1] = values[i % 3];
        ASSERT_OK(comm_thread_run(1 + i % 5, score_rank, &c));
        assert_false(c.finite);
    }
}

static double auc_of(const score_case *c, int split, int task)
{
    float score[ROWS];
    int label[ROWS];
    int count = 0;
    for (int i = 0; i < ROWS; ++i) {
        bool classes = c->loss == TRAIN_LOSS_XENT;
        float target = classes ? (float)c->label[i] : c->target[i * c->outputs + task];
        if (c->split[i] != split || isnan(target)) {
            continue;
        }
        score[count] = classes ? c->logits[2 * i + 1] - c->logits[2 * i] : c->logits[i * c->outputs + task];
        label[count++] = target > 0.5f;
    }
    return auc_by_definition(score, label, count);
}

static void test_rocauc_of_classes_and_tasks(void **state)
{
    (void)state;
    score_case two = {.metric = TRAIN_METRIC_ROCAUC, .loss = TRAIN_LOSS_XENT};
    score_case tasks = {.metric = TRAIN_METRIC_ROCAUC, .loss = TRAIN_LOSS_BCE};
    double expected[TRAIN_SPLITS];
    fill_case(&two, 2);
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        expected[s] = auc_of(&two, s, 0);
    }
    check_everywhere(&two, expected);
    fill_case(&tasks, 3);
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        expected[s] = (auc_of(&tasks, s, 0) + auc_of(&tasks, s, 1) + auc_of(&tasks, s, 2)) / 3;
    }
    check_everywhere(&tasks, expected);
}

/* Each class against the others, by probability. */
static void test_rocauc_of_several_classes(void **state)
{
    (void)state;
    score_case c = {.metric = TRAIN_METRIC_ROCAUC, .loss = TRAIN_LOSS_XENT};
    double expected[TRAIN_SPLITS] = {0};
    fill_case(&c, 4);
    for (int at = 0; at < TRAIN_SPLITS * 4; ++at) {
        const int split = at / 4, k = at % 4;
        float score[ROWS];
        int label[ROWS], count = 0;
        for (int i = 0; i < ROWS; ++i) {
            double sum = 0.0;
            for (int j = 0; j < 4; ++j) {
                sum += exp((double)c.logits[4 * i + j] - (double)c.logits[4 * i + k]);
            }
            if (c.split[i] == split) {
                score[count] = (float)-log(sum);
                label[count++] = c.label[i] == k;
            }
        }
        expected[split] += auc_by_definition(score, label, count) / 4.0;
    }
    check_everywhere(&c, expected);
}

/* Rows of class `k` as label, as answer, or both. */
static double f1_of(const score_case *c, int split, int k, bool *occurs)
{
    double hits = 0.0, both = 0.0;
    for (int i = 0; i < ROWS; ++i) {
        int best = 0;
        for (int j = 1; j < c->outputs; ++j) {
            best = c->logits[c->outputs * i + j] > c->logits[c->outputs * i + best] ? j : best;
        }
        if (c->split[i] == split) {
            hits += best == k && c->label[i] == k;
            both += (best == k) + (c->label[i] == k);
        }
    }
    *occurs = both > 0.0;
    return *occurs ? 2.0 * hits / both : 0.0;
}

static void test_macro_f1(void **state)
{
    (void)state;
    score_case c = {.metric = TRAIN_METRIC_F1, .loss = TRAIN_LOSS_XENT};
    double expected[TRAIN_SPLITS] = {0};
    fill_case(&c, MOST_OUTPUTS);
    for (int i = 0; i < ROWS; ++i) { /* the last class is nobody's label, and no answer of one split */
        c.label[i] = c.label[i] == MOST_OUTPUTS - 1 ? 0 : c.label[i];
        c.logits[MOST_OUTPUTS * i + MOST_OUTPUTS - 1] -= c.split[i] == 1 ? 100.0F : 0.0F;
    }
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        double classes = 0.0;
        for (int k = 0; k < MOST_OUTPUTS; ++k) {
            bool occurs;
            expected[s] += f1_of(&c, s, k, &occurs);
            classes += occurs;
        }
        assert_int_equal(classes, s == 1 ? MOST_OUTPUTS - 1 : MOST_OUTPUTS);
        expected[s] /= classes;
    }
    check_everywhere(&c, expected);
}

static void test_top5(void **state)
{
    (void)state;
    score_case c = {.metric = TRAIN_METRIC_TOP5, .loss = TRAIN_LOSS_XENT};
    double right[TRAIN_SPLITS] = {0}, all[TRAIN_SPLITS] = {0}, expected[TRAIN_SPLITS];
    fill_case(&c, MOST_OUTPUTS);
    for (int i = 0; i < ROWS; ++i) {
        bool taken[MOST_OUTPUTS] = {false};
        for (int turn = 0; turn < 5; ++turn) { /* the largest that is left, the first of equal ones */
            int best = -1;
            for (int j = 0; j < MOST_OUTPUTS; ++j) {
                const float *row = c.logits + (size_t)MOST_OUTPUTS * (size_t)i;
                best = !taken[j] && (best < 0 || row[j] > row[best]) ? j : best;
            }
            taken[best] = true;
        }
        if (c.split[i] < TRAIN_SPLITS) {
            right[c.split[i]] += taken[c.label[i]];
            all[c.split[i]] += 1.0;
        }
    }
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        expected[s] = right[s] / all[s];
        assert_true(expected[s] < 1.0);
    }
    check_everywhere(&c, expected);
}

static void test_r2(void **state)
{
    (void)state;
    score_case c = {.metric = TRAIN_METRIC_R2, .loss = TRAIN_LOSS_VALUE};
    double expected[TRAIN_SPLITS];
    draw_stream random = {.key = 5};
    fill_case(&c, 1);
    for (int i = 0; i < ROWS; ++i) {
        c.target[i] = i % 11 == 0 ? NAN : 1000.0F + (float)(draw_next(&random) % 100) / 10.0F;
        c.logits[i] = 1000.0F + (float)(draw_next(&random) % 100) / 12.0F;
    }
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        double sum = 0.0, rows = 0.0, squares = 0.0, total = 0.0;
        for (int i = 0; i < ROWS; ++i) {
            const bool counts = c.split[i] == s && !isnan(c.target[i]);
            sum += counts ? (double)c.target[i] : 0.0;
            rows += counts;
        }
        for (int i = 0; i < ROWS; ++i) {
            const bool counts = c.split[i] == s && !isnan(c.target[i]);
            squares += counts ? pow((double)c.logits[i] - (double)c.target[i], 2.0) : 0.0;
            total += counts ? pow((double)c.target[i] - sum / rows, 2.0) : 0.0;
        }
        expected[s] = 1.0 - squares / total;
    }
    check_everywhere(&c, expected);
}

static void test_metric_must_fit_the_labels(void **state)
{
    (void)state;
    score_case three = {.metric = TRAIN_METRIC_TOP5, .loss = TRAIN_LOSS_XENT};
    score_case tasks = {.metric = TRAIN_METRIC_ACCURACY, .loss = TRAIN_LOSS_BCE};
    fill_case(&three, 3);
    ASSERT_STATUS(comm_thread_run(1, score_rank, &three), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("3 classes");
    fill_case(&tasks, 3);
    ASSERT_STATUS(comm_thread_run(1, score_rank, &tasks), WEFT_ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_area_is_its_definition),
        cmocka_unit_test(test_area_needs_both_classes),
        cmocka_unit_test(test_accuracy),
        cmocka_unit_test(test_logits_that_are_not_finite),
        cmocka_unit_test(test_rocauc_of_classes_and_tasks),
        cmocka_unit_test(test_rocauc_of_several_classes),
        cmocka_unit_test(test_macro_f1),
        cmocka_unit_test(test_top5),
        cmocka_unit_test(test_r2),
        cmocka_unit_test(test_metric_must_fit_the_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

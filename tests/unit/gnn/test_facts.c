/* gnn/facts.c on graphs of a few vertices whose counts are known by hand. */
#include <math.h>
#include <stdlib.h>

#include "gnn/facts.h"
#include "support/test.h"

enum { LARGE = 100000 };

/* Five vertices, three of the training split, one of those without a label. */
static void test_counts(void **state)
{
    (void)state;
    static const float feature[] = {0, 1, 0, 0, 0, 3, 0, 0, 0, 0};
    static const int32_t label[] = {0, 1, -1, 1, 0};
    static const uint8_t split[] = {0, 0, 0, 1, 2};
    weft_graph graph = {.vertices = 5, .features = 2, .classes = 2, .feature = feature, .label = label, .split = split};
    gnn_facts facts = gnn_facts_of(&graph);
    assert_int_equal(facts.training, 2);
    assert_int_equal(facts.answers, 2);
    assert_int_equal(facts.features, 2);
    assert_int_equal(facts.values, 10);
    assert_int_equal(facts.zeros, 8);
    assert_int_equal(facts.negative, 0);
    assert_true(gnn_labels_per_answer(&facts) == 1.0);
    assert_true(gnn_has_few_labels(&facts));
    assert_int_equal(gnn_scaling_for(&facts, false), GNN_SCALE_LENGTH);
    assert_true(fabs(gnn_density(&facts) - 0.2) < 1e-15);
}

/* Citeseer's figures, and those of Photo, where every third feature is not 0; a row of many edges waits for them. */
static void test_sparse_features(void **state)
{
    (void)state;
    gnn_facts facts = {.features = 3703, .values = 1000, .zeros = 991, .degree = 2.7};
    assert_true(gnn_has_sparse_features(&facts));
    facts.degree = 230.0;
    assert_false(gnn_has_sparse_features(&facts));
    facts = (gnn_facts){.features = 745, .values = 1000, .zeros = 652, .degree = 31.0};
    assert_false(gnn_has_sparse_features(&facts));
    facts = (gnn_facts){.features = 0};
    assert_false(gnn_has_sparse_features(&facts));
}

/* A task is a question of two answers; a row whose tasks are all unknown is unlabelled. */
static void test_tasks(void **state)
{
    (void)state;
    static const float feature[] = {1, -1, 0};
    const float target[] = {1, NAN, NAN, NAN, 0, 1};
    static const uint8_t split[] = {0, 0, 0};
    weft_graph graph = {.vertices = 3, .features = 1, .tasks = 2, .feature = feature, .target = target, .split = split};
    gnn_facts facts = gnn_facts_of(&graph);
    assert_int_equal(facts.training, 2);
    assert_int_equal(facts.answers, 4);
    assert_int_equal(facts.negative, 1);
    assert_int_equal(gnn_scaling_for(&facts, false), GNN_SCALE_STANDARD);
}

static void test_nothing_known(void **state)
{
    (void)state;
    weft_graph graph = {.vertices = 3};
    gnn_facts facts = gnn_facts_of(&graph);
    assert_int_equal(facts.training, 0);
    assert_int_equal(facts.values, 0);
    assert_true(gnn_labels_per_answer(&facts) == 0.0);
    assert_int_equal(gnn_scaling_for(&facts, true), GNN_SCALE_STANDARD);
}

/* The rules on both sides of their limits. */
static void test_limits(void **state)
{
    (void)state;
    gnn_facts facts = {.training = 299, .answers = 3, .features = 301, .values = 10, .zeros = 6};
    assert_true(gnn_has_few_labels(&facts));
    facts.training = 300;
    assert_false(gnn_has_few_labels(&facts));
    assert_true(gnn_has_wide_features(&facts));
    facts.features = 300;
    assert_false(gnn_has_wide_features(&facts));
    assert_int_equal(gnn_scaling_for(&facts, false), GNN_SCALE_LENGTH);
    assert_int_equal(gnn_scaling_for(&facts, true), GNN_SCALE_NONE);
    facts.zeros = 5; /* half is not most */
    assert_int_equal(gnn_scaling_for(&facts, true), GNN_SCALE_STANDARD);
    facts.zeros = 9;
    facts.negative = 1;
    assert_int_equal(gnn_scaling_for(&facts, true), GNN_SCALE_STANDARD);
}

/* Of a large matrix GNN_FACT_ROWS rows are read, the first and the last among them. */
static void test_sample(void **state)
{
    (void)state;
    float *feature = calloc(LARGE, sizeof *feature);
    weft_graph graph = {.vertices = LARGE, .features = 1, .feature = feature};
    feature[0] = -1;
    feature[LARGE - 1] = -1;
    gnn_facts facts = gnn_facts_of(&graph);
    assert_int_equal(facts.values, GNN_FACT_ROWS);
    assert_int_equal(facts.negative, 2);
    assert_int_equal(facts.zeros, GNN_FACT_ROWS - 2);
    free(feature);
}

/* Rows whose features cancel: 1 - 1, and 10 - 9.5 (a sum of 0.026 of the magnitudes); not 3 - 1, nor a row of zeros. */
static void test_sums_that_cancel(void **state)
{
    (void)state;
    static const float feature[] = {1, -1, 10, -9.5F, 3, -1, 0, 0, 2, 2};
    weft_graph graph = {.vertices = 5, .features = 2, .feature = feature};
    gnn_facts facts = gnn_facts_of(&graph);
    assert_int_equal(facts.rows, 5);
    assert_int_equal(facts.cancelled, 2);
    assert_true(gnn_sums_cancel(&facts));
    facts = (gnn_facts){.rows = 1000, .cancelled = 10};
    assert_false(gnn_sums_cancel(&facts)); /* one in a hundred */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),           cmocka_unit_test(test_sparse_features), cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_nothing_known),    cmocka_unit_test(test_limits),          cmocka_unit_test(test_sample),
        cmocka_unit_test(test_sums_that_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

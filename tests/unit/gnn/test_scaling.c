/* --normalize on three rows whose answers are known by hand; the graph has no mapping, the part is all of it. */
#include "gnn/dataset.h"
#include "support/test.h"

enum { ROWS = 3, COLS = 2 };

static const float feature[ROWS * COLS] = {3, 4, 0, 0, -3, 2};

/* moments: given ones, or empty ones that are measured. */
static void check_moments(gnn_feature_scaling scaling, input_moments *moments, const double expected[ROWS * COLS])
{
    int64_t gid[ROWS] = {0, 1, 2};
    weft_graph graph = {.vertices = ROWS, .features = COLS, .feature = feature};
    weft_part part = {.n_owned = ROWS, .gid = gid};
    weft_comm *comm = NULL;
    weft_hal *hal = NULL;
    weft_tensor x = {0};
    double got[ROWS * COLS];
    ASSERT_OK(comm_create_self(&comm));
    ASSERT_OK(weft_hal_open("ref", 1, &hal));
    ASSERT_OK(tensor_create(hal, WEFT_DTYPE_F64, ROWS, COLS, WEFT_MEM_FEATURE, &x));
    ASSERT_OK(gnn_load_features(comm, &graph, &part, scaling, moments, &x));
    ASSERT_OK(tensor_download(&x, got));
    for (int i = 0; i < ROWS * COLS; i++) {
        ASSERT_NEAR(got[i], expected[i], 1e-6);
    }
    tensor_destroy(&x);
    weft_hal_close(hal);
    comm_destroy(comm);
}

static void check(gnn_feature_scaling scaling, const double expected[ROWS * COLS])
{
    input_moments moments = {.columns = 0};
    check_moments(scaling, &moments, expected);
    input_moments_destroy(&moments);
}

static void test_scalings(void **state)
{
    (void)state;
    check(GNN_SCALE_NONE, (double[]){3, 4, 0, 0, -3, 2});
    check(GNN_SCALE_ROW, (double[]){3.0 / 7, 4.0 / 7, 0, 0, 3, -2});
    check(GNN_SCALE_LENGTH, (double[]){0.6, 0.8, 0, 0, -0.8320502943378437, 0.5547001962252291});
    /* Columns 3, 0, -3 and 4, 0, 2: means 0 and 2, variances 6 and 8/3. */
    check(GNN_SCALE_STANDARD,
          (double[]){1.224744871391589, 1.224744871391589, 0, -1.224744871391589, -1.224744871391589, 0});
}

/* Those of a model are used, whatever the rows at hand are; what is measured is the caller's. */
static void test_moments(void **state)
{
    (void)state;
    input_moments given = {.columns = 0}, measured = {.columns = 0};
    ASSERT_OK(input_moments_create(COLS, &given));
    given.mean[0] = 1;
    given.deviation[0] = 2;
    given.mean[1] = 5;
    given.deviation[1] = 0; /* constant where the model was trained: says nothing here either */
    check_moments(GNN_SCALE_STANDARD, &given, (double[]){1, 0, -0.5, 0, -2, 0});
    check_moments(GNN_SCALE_STANDARD, &measured,
                  (double[]){1.224744871391589, 1.224744871391589, 0, -1.224744871391589, -1.224744871391589, 0});
    assert_int_equal(measured.columns, COLS);
    ASSERT_NEAR(measured.mean[1], 2, 1e-12);
    ASSERT_NEAR(measured.deviation[0], 2.449489742783178, 1e-12);
    ASSERT_NEAR(measured.deviation[1], 1.632993161855452, 1e-12);
    input_moments_destroy(&given);
    input_moments_destroy(&measured);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scalings), cmocka_unit_test(test_moments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

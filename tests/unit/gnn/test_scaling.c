/* --normalize on three rows whose answers are known by hand; the graph has no mapping, the part is all of it. */
#include "gnn/dataset.h"
#include "support/test.h"

enum { ROWS = 3, COLS = 2 };

static const float feature[ROWS * COLS] = {3, 4, 0, 0, -3, 2};

static void check(gnn_feature_scaling scaling, const double expected[ROWS * COLS])
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
    ASSERT_OK(gnn_load_features(comm, &graph, &part, scaling, &x));
    ASSERT_OK(tensor_download(&x, got));
    for (int i = 0; i < ROWS * COLS; i++) {
        ASSERT_NEAR(got[i], expected[i], 1e-6);
    }
    tensor_destroy(&x);
    weft_hal_close(hal);
    comm_destroy(comm);
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scalings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

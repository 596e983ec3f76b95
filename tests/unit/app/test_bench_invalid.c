/* A kernel that computes wrongly: the benches say INVALID and print no rate. The wrong backend is the CPU's with one
 * element of each result changed. */
#include <math.h>

#include "app/bench/bench_dense.h"
#include "app/bench/bench_gemm.h"
#include "app/bench/bench_spmm.h"
#include "app/workload/app_catalog.h"
#include "base/alloc.h"
#include "support/test.h"

static hal_ops right;
static float added; /* to the last element of a result */

static weft_status wrong_gemm(weft_hal *hal, const hal_gemm_args *args)
{
    WEFT_TRY(right.gemm(hal, args));
    ((float *)args->c.data)[args->c.rows * args->c.ld - 1] += added;
    return WEFT_OK;
}

static weft_status wrong_spmm(weft_hal *hal, const hal_spmm_run_args *args)
{
    WEFT_TRY(right.spmm_run(hal, args));
    ((float *)args->out.data)[args->out.cols - 1] += added;
    return WEFT_OK;
}

static weft_status wrong_conv_forward(weft_hal *hal, const hal_conv_forward_args *args)
{
    WEFT_TRY(right.conv_forward(hal, args));
    ((float *)args->y.data)[args->y.rows * args->y.ld - 1] += added;
    return WEFT_OK;
}

static weft_status wrong_conv_backward_data(weft_hal *hal, const hal_conv_backward_data_args *args)
{
    WEFT_TRY(right.conv_backward_data(hal, args));
    ((float *)args->dx.data)[args->dx.rows * args->dx.ld - 1] += added;
    return WEFT_OK;
}

static weft_status wrong_conv_backward_weights(weft_hal *hal, const hal_conv_backward_weights_args *args)
{
    WEFT_TRY(right.conv_backward_weights(hal, args));
    ((float *)args->dweight.data)[args->dweight.rows * args->dweight.ld - 1] += added;
    return WEFT_OK;
}

static weft_hal *open_wrong(void)
{
    weft_hal *hal = NULL;
    ASSERT_OK(weft_hal_open("cpu", 1, &hal));
    right = hal->op;
    hal->op.gemm = wrong_gemm;
    hal->op.spmm_run = wrong_spmm;
    hal->op.conv_forward = wrong_conv_forward;
    hal->op.conv_backward_data = wrong_conv_backward_data;
    hal->op.conv_backward_weights = wrong_conv_backward_weights;
    return hal;
}

static void test_gemm(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{1, 1, 1}, {5, 3, 7}, {40, 33, 33}, {300, 9, 64}};
    weft_hal *hal = open_wrong();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int product = 0; product < GEMM_PRODUCTS; product++) {
            gemm_result result = {
                .product = (gemm_product)product, .rows = shapes[i][0], .inputs = shapes[i][1], .d = shapes[i][2]};
            added = 0.0F;
            ASSERT_OK(bench_gemm_case(hal, 1, &result));
            assert_true(result.valid && result.worst <= 1.0 && result.seconds.median > 0.0);
            assert_true(result.flops == 2.0 * (double)(shapes[i][0] * shapes[i][1] * shapes[i][2]));
            added = 0.05F;
            ASSERT_OK(bench_gemm_case(hal, 1, &result));
            assert_true(!result.valid && result.worst > 1.0);
            added = NAN;
            ASSERT_OK(bench_gemm_case(hal, 1, &result));
            assert_true(!result.valid && isinf(result.worst));
        }
    }
    weft_hal_close(hal);
}

/* Of the passes of a layer, which are valid. */
static void check_layer(const hal_conv_shape *shape, bool linear, bool valid)
{
    weft_hal *hal = open_wrong();
    const dense_question question = {.shape = *shape, .linear = linear, .images = 3, .few = 1, .repeats = 1};
    dense_result result[DENSE_PASSES];
    ASSERT_OK(bench_dense_case(hal, &question, result));
    for (int pass = 0; pass < DENSE_PASSES; ++pass) {
        if (pass == DENSE_BACKWARD_DATA && !shape->backward_data) {
            assert_int_equal(result[pass].seconds.count, 0);
            continue;
        }
        assert_true(result[pass].valid == valid && (result[pass].worst <= 1.0) == valid);
        assert_true(result[pass].peak * result[pass].seconds.median >= 0.999 * result[pass].flops);
    }
    weft_hal_close(hal);
}

static void test_dense(void **state)
{
    (void)state;
    hal_conv_shape shape = {.height = 7,
                            .width = 6,
                            .in = 4,
                            .out = 6,
                            .groups = 2,
                            .kernel = {3, 2},
                            .stride = {2, 1},
                            .dilation = {1, 2},
                            .pad = {{1, 1}, {0, 0}},
                            .bias = true,
                            .training = true,
                            .backward_data = true};
    const hal_conv_shape flat = {.height = 1,
                                 .width = 1,
                                 .in = 20,
                                 .out = 7,
                                 .groups = 1,
                                 .kernel = {1, 1},
                                 .stride = {1, 1},
                                 .dilation = {1, 1},
                                 .bias = true,
                                 .backward_data = true};
    for (int wrong = 0; wrong < 3; ++wrong) {
        added = wrong == 0 ? 0.0F : wrong == 1 ? 0.05F : NAN;
        shape.backward_data = wrong != 1;
        check_layer(&shape, false, wrong == 0);
        check_layer(&flat, true, wrong == 0);
    }
}

static const table_cell *cell_of(const table_grid *grid, int row, const char *name)
{
    for (int c = 0; c < grid->columns; c++) {
        if (strcmp(grid->column[c].name, name) == 0) {
            return &grid->cell[row * grid->columns + c];
        }
    }
    fail_msg("no column %s", name);
    return grid->cell;
}

static void test_spmm(void **state)
{
    (void)state;
    /* 0 <- 1, 2; 1 <- 0; 2 <- nothing */
    const int64_t offset[] = {0, 2, 3, 3};
    const int32_t column[] = {1, 2, 0};
    const int64_t widths[] = {4};
    const bench_matrix matrix = {.csr = {.rows = 3, .cols = 3, .offset = offset, .column = column}};
    const option_command *command = NULL;
    weft_options *options = NULL;
    bench_table table = {.graph = "three",
                         .vertices = 3,
                         .edges = 3,
                         .threads = 1,
                         .limits = {.read = 1e10, .triad = 1e10, .gemm = 1e11}};
    weft_hal *hal = open_wrong();
    const bench_team team = {.hal = hal, .place = {.threads = 1}};
    ASSERT_OK(option_command_find(app_catalog(), "bench", &command));
    ASSERT_OK(option_create(command, &options));
    ASSERT_OK(option_assign(options, "format", "json")); /* nothing is printed before the end */
    ASSERT_OK(bench_table_begin(&table, options));
    added = 0.0F;
    ASSERT_OK(bench_form(&team, &matrix, HAL_SPMM_ROWS, widths, 1, 1, &table));
    assert_int_equal(table.invalid, 0);
    assert_true(cell_of(&table.grid, 0, "valid")->flag && cell_of(&table.grid, 0, "gelem_per_s")->real > 0.0);
    assert_true(cell_of(&table.grid, 0, "percent_of_limit")->real > 0.0);
    assert_true(cell_of(&table.grid, 0, "percent_of_rows")->real > 0.0);
    added = 1e-3F;
    ASSERT_OK(bench_form(&team, &matrix, HAL_SPMM_ROWS, widths, 1, 1, &table));
    assert_int_equal(table.invalid, 1);
    assert_non_null(strstr(table.first_invalid, "width 4 in form rows is wrong"));
    assert_false(cell_of(&table.grid, 1, "valid")->flag);
    assert_true(isnan(cell_of(&table.grid, 1, "gelem_per_s")->real));
    assert_true(isnan(cell_of(&table.grid, 1, "percent_of_triad")->real));
    assert_true(isnan(cell_of(&table.grid, 1, "percent_of_limit")->real));
    assert_true(isnan(cell_of(&table.grid, 1, "percent_of_rows")->real));
    bench_table_free(&table);
    option_destroy(options);
    weft_hal_close(hal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gemm), cmocka_unit_test(test_dense),
                                       cmocka_unit_test(test_spmm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A kernel that computes wrongly: the benches say INVALID and print no rate. The wrong backend is the CPU's with one
 * element of each result changed. */
#include <math.h>

#include "app/bench/bench_gemm.h"
#include "app/dense/bench/bench_dense.h"
#include "app/gnn/bench/bench_spmm.h"
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

/* A run whose machine has limits that nothing surpasses. */
static bench_team team_of(weft_hal *hal)
{
    return (bench_team){.hal = hal, .place = {.threads = 1}, .limits = {.read = 1e15, .triad = 1e15, .gemm = 1e17}};
}

static void test_gemm(void **state)
{
    (void)state;
    static const char *const products[] = {"ab", "atb", "abt"};
    static const int64_t shapes[][3] = {{1, 1, 1}, {5, 3, 7}, {40, 33, 33}, {300, 9, 64}};
    weft_hal *hal = open_wrong();
    bench_team team = team_of(hal);
    bench_run run = {.team = &team, .repeats = 1};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int product = 0; product < 3; product++) {
            gemm_row row = {
                .product = products[product], .rows = shapes[i][0], .inputs = shapes[i][1], .d = shapes[i][2]};
            const int64_t m = row.rows, k = row.inputs, d = row.d;
            added = 0.0F;
            ASSERT_OK(bench_gemm_case(&run, &row));
            assert_true(row.valid && row.error <= 1.0 && row.seconds_median > 0.0 && run.invalid == 0);
            const double bytes = row.percent_of_triad / 100.0 * row.seconds_median * team.limits.triad;
            assert_true(fabs(bytes - 4.0 * (double)(m * k + k * d + m * d)) < 1e-3);
            added = 0.05F;
            ASSERT_OK(bench_gemm_case(&run, &row));
            assert_true(!row.valid && row.error > 1.0 && isnan(row.seconds_median) && isnan(row.gflop_per_s));
            added = NAN;
            ASSERT_OK(bench_gemm_case(&run, &row));
            assert_true(!row.valid && isinf(row.error) && run.invalid == 2);
            assert_non_null(strstr(run.first_invalid, "is wrong: an error of"));
            run.invalid = 0;
        }
    }
    weft_hal_close(hal);
}

/* Of the passes of a layer, which are valid. */
static void check_layer(const hal_conv_shape *shape, bool linear, bool valid)
{
    weft_hal *hal = open_wrong();
    bench_team team = team_of(hal);
    bench_run run = {.team = &team, .repeats = 1};
    const dense_question question = {.shape = *shape, .linear = linear, .images = 3, .few = 1};
    dense_result result[DENSE_PASSES];
    ASSERT_OK(bench_dense_case(&run, "layer", &question, result));
    for (int pass = 0; pass < DENSE_PASSES; ++pass) {
        if (pass == DENSE_BACKWARD_DATA && !shape->backward_data) {
            assert_int_equal(result[pass].run.time.seconds.count, 0);
            continue;
        }
        const bench_result *of = &result[pass].run;
        assert_true(of->valid == valid && (of->error <= 1.0) == valid && isnan(of->time.seconds.median) == !valid);
        assert_true(!valid || result[pass].peak * of->time.seconds.median >= 0.999 * result[pass].flops);
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

static void test_spmm(void **state)
{
    (void)state;
    /* 0 <- 1, 2; 1 <- 0; 2 <- nothing */
    int64_t offset[] = {0, 2, 3, 3};
    int32_t column[] = {1, 2, 0};
    const bench_matrix matrix = {.csr = {.rows = 3, .cols = 3, .offset = offset, .column = column}};
    const option_command *command = NULL;
    weft_options *options = NULL;
    weft_hal *hal = open_wrong();
    bench_team team = team_of(hal);
    static spmm_bench bench;
    ASSERT_OK(option_command_find(app_catalog(), "bench", &command));
    ASSERT_OK(option_create(command, &options));
    ASSERT_OK(option_assign(options, "format", "json")); /* nothing is printed before the end */
    bench = (spmm_bench){.run = {.name = "spmm", .options = options, .repeats = 1, .team = &team},
                         .common = {.graph = "three", .vertices = 3, .edges = 3}};
    ASSERT_OK(bench_begin(&bench.run, &(bench_table){BENCH_ROWS(spmm_row)}));
    added = 0.0F;
    ASSERT_OK(bench_form(&bench, &matrix, HAL_SPMM_ROWS, 4));
    added = 1e-3F;
    ASSERT_OK(bench_form(&bench, &matrix, HAL_SPMM_ROWS, 4));
    spmm_row row[2];
    assert_int_equal(bench.run.rows.rows, 2);
    memcpy(row, bench.run.rows.cell, sizeof row);
    assert_true(row[0].valid && row[0].gelem_per_s > 0.0 && row[0].percent_of_limit > 0.0 &&
                row[0].percent_of_rows > 0.0);
    assert_true(row[0].edges == 3 && row[0].threads == 1 && row[0].d == 4 && strcmp(row[0].form, "rows") == 0);
    assert_int_equal(bench.run.invalid, 1);
    assert_non_null(strstr(bench.run.first_invalid, "width 4 in form rows is wrong"));
    assert_true(!row[1].valid && isnan(row[1].gelem_per_s) && isnan(row[1].percent_of_triad));
    assert_true(isnan(row[1].percent_of_limit) && isnan(row[1].percent_of_rows));
    assert_int_equal(bench_end(&bench.run), WEFT_ERR_INTERNAL);
    bench_free(&bench.run);
    option_destroy(options);
    weft_hal_close(hal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gemm), cmocka_unit_test(test_dense),
                                       cmocka_unit_test(test_spmm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

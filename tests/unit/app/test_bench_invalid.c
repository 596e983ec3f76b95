/* A kernel that computes wrongly: the benches say INVALID and print no rate. The wrong backend is the CPU's with one
 * element of each result changed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Runs all cases of a bench on the wrong backend. values: name, value, ..., NULL of its options. Free with end_run. */
static bench_run *begin_run(const bench_kind *kind, const char *const *values, weft_options **options)
{
    static app_context context;
    const option_command *command = NULL;
    bench_run *run = NULL;
    context = (app_context){.hal = open_wrong(), .placement = {.threads = 1}, .memory_share = 1.0};
    ASSERT_OK(comm_create_self(&context.comm));
    ASSERT_OK(option_command_find(app_catalog(), "bench", &command));
    ASSERT_OK(option_create(command, options));
    for (; *values != NULL; values += 2) {
        ASSERT_OK(option_assign(*options, values[0], values[1]));
    }
    ASSERT_OK(option_assign(*options, "format", "json")); /* nothing is printed before the end */
    ASSERT_OK(weft_calloc(1, kind->bytes, WEFT_MEM_GENERAL, (void **)&run));
    run->kind = kind;
    run->name = "test";
    run->options = context.options = *options;
    run->repeats = 1;
    run->limits = (machine_limits){.read = 1e15, .triad = 1e15, .gemm = 1e17}; /* which nothing surpasses */
    ASSERT_OK(bench_begin(run));
    run->context = &context;
    run->comm = context.comm;
    ASSERT_OK(bench_cases(run));
    return run;
}

static void end_run(const bench_kind *kind, bench_run *run, weft_options *options)
{
    weft_hal_close(run->context->hal);
    comm_destroy(run->comm);
    if (kind->leave != NULL) {
        kind->leave(run);
    }
    if (kind->end != NULL) {
        kind->end(run);
    }
    bench_free(run);
    weft_free(run);
    option_destroy(options);
}

static const table_cell *cell(const bench_run *run, int row, const char *name)
{
    int column = 0;
    while (strcmp(run->rows.column[column].name, name) != 0) {
        assert_true(++column < run->rows.columns);
    }
    return &run->rows.cell[row * run->rows.columns + column];
}

static double real(const bench_run *run, int row, const char *name)
{
    return cell(run, row, name)->real;
}

/* Asserts that a row is valid, or shows no time and no rate and an error that is too large. */
static void expect_row(const bench_run *run, int row, const char *rate, bool valid)
{
    assert_true(cell(run, row, "valid")->flag == valid);
    assert_true(isnan(real(run, row, "seconds_median")) == !valid && isnan(real(run, row, rate)) == !valid);
    assert_true(valid ? real(run, row, "seconds_median") > 0.0 && real(run, row, "error") <= 1.0
                      : real(run, row, "error") > 1.0);
    assert_true(!isnan(added) || isinf(real(run, row, "error")));
}

static void test_gemm(void **state)
{
    (void)state;
    static const char *const shapes[][3] = {{"1", "1", "1"}, {"5", "3", "7"}, {"40", "33", "33"}, {"300", "9", "64"}};
    static const float errors[] = {0.0F, 0.05F, NAN};
    for (size_t i = 0; i < 3 * sizeof shapes / sizeof *shapes; i++) {
        const char *const *shape = shapes[i / 3];
        const double m = strtod(shape[0], NULL), k = strtod(shape[1], NULL), d = strtod(shape[2], NULL);
        weft_options *options = NULL;
        added = errors[i % 3];
        bench_run *run = begin_run(
            &bench_gemm, (const char *[]){"rows", shape[0], "inputs", shape[1], "dims", shape[2], NULL}, &options);
        assert_int_equal(run->rows.rows, 3);
        assert_int_equal(run->invalid, i % 3 == 0 ? 0 : 3);
        assert_true(run->invalid == 0 || strstr(run->first_invalid, "product ab of ") == run->first_invalid);
        for (int row = 0; row < 3; row++) {
            expect_row(run, row, "gflop_per_s", i % 3 == 0);
            const double bytes = real(run, row, "percent_of_triad") * 1e13 * real(run, row, "seconds_median");
            assert_true(i % 3 != 0 || fabs(bytes - 4.0 * (m * k + k * d + m * d)) < 1e-3);
        }
        end_run(&bench_gemm, run, options);
    }
}

/* A network whose layers have groups, strides, dilation, padding and bias; the first has no pass back to its input. */
static void test_dense(void **state)
{
    (void)state;
    static const char text[] = "input 7 6 4\nconv 6 3x2 groups=2 stride=2x1 pad=1x0 dilation=1x2 bias=on\n"
                               "conv 6 3 groups=2 pad=1 bias=on\nrelu\nlinear 7\nlinear classes\n";
    char path[] = "/tmp/weft-bench-XXXXXX.net";
    const int file = mkstemps(path, 4);
    assert_int_equal(write(file, text, sizeof text - 1), sizeof text - 1);
    close(file);
    for (int wrong = 0; wrong < 3; ++wrong) {
        weft_options *options = NULL;
        added = wrong == 0 ? 0.0F : wrong == 1 ? 0.05F : NAN;
        bench_run *run = begin_run(&bench_dense, (const char *[]){"model", path, "batch-size", "3", NULL}, &options);
        const int rows = run->rows.rows;
        assert_int_equal(rows, 2 + 3 * 3 + 1);
        assert_int_equal(run->invalid, wrong == 0 ? 0 : rows);
        for (int row = 0; row < rows - 1; ++row) {
            expect_row(run, row, "gflop_per_s", wrong == 0);
            assert_true(wrong > 0 || real(run, row, "percent_of_peak") <= 100.1);
        }
        assert_string_equal(cell(run, rows - 1, "pass")->text, "step");
        assert_true(cell(run, rows - 1, "valid")->flag == (wrong == 0) && isnan(real(run, rows - 1, "error")));
        end_run(&bench_dense, run, options);
    }
    unlink(path);
}

static void test_spmm(void **state)
{
    (void)state;
    static const char *const rates[] = {"gelem_per_s", "percent_of_triad", "percent_of_limit", "percent_of_rows"};
    for (int wrong = 0; wrong < 2; ++wrong) {
        weft_options *options = NULL;
        added = wrong ? 0.1F : 0.0F;
        bench_run *run = begin_run(&bench_spmm,
                                   (const char *[]){"data", "synth:community,n=300,e=1000", "dims", "4", "forms",
                                                    "rows", "reorder", "cluster", NULL},
                                   &options);
        assert_int_equal(run->rows.rows, 3); /* given, cluster, cluster+move */
        for (size_t rate = 0; rate < sizeof rates / sizeof *rates; rate++) {
            expect_row(run, 0, rates[rate], !wrong);
            expect_row(run, 2, rates[rate], !wrong);
        }
        assert_true(cell(run, 0, "d")->integer == 4 && strcmp(cell(run, 0, "form")->text, "rows") == 0);
        assert_int_equal(run->invalid, wrong ? 3 : 0);
        assert_true(!wrong || strstr(run->first_invalid, "width 4 in form rows is wrong") != NULL);
        assert_int_equal(bench_end(run), wrong ? WEFT_ERR_INTERNAL : WEFT_OK);
        end_run(&bench_spmm, run, options);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gemm), cmocka_unit_test(test_dense),
                                       cmocka_unit_test(test_spmm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

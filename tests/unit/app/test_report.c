/*
 * weft report's parts: quantities and ticks against values written out by hand, escaping against what markup would
 * need, medians against sorting, choices of ranks, and every allocation of a whole report failing once.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/report/drawing.h"
#include "app/report/sections.h"
#include "base/alloc.h"
#include "base/file.h"
#include "support/test.h"

/* ---- quantities ---- */

static void test_quantities(void **state)
{
    (void)state;
    assert_string_equal(quantity_seconds(0.0030812).text, "3.08 ms");
    assert_string_equal(quantity_seconds(0.9996).text, "1.00 s");
    assert_string_equal(quantity_seconds(0.0009996).text, "1.00 ms");
    assert_string_equal(quantity_seconds(5.9e-6).text, "5.90 µs");
    assert_string_equal(quantity_seconds(0).text, "0.00 s");
    assert_string_equal(quantity_seconds(99.96).text, "100 s");
    assert_string_equal(quantity_seconds(119.4).text, "119 s");
    assert_string_equal(quantity_seconds(191).text, "3 min 11 s");
    assert_string_equal(quantity_seconds(2 * 3600 + 1800).text, "2 h 30 min");
    assert_string_equal(quantity_seconds(10 * 86400).text, "10 days 0 h");
    assert_string_equal(quantity_seconds(NAN).text, "–");
    assert_string_equal(quantity_bytes(0).text, "0 B");
    assert_string_equal(quantity_bytes(999).text, "999 B");
    assert_string_equal(quantity_bytes(999.6).text, "1.00 kB");
    assert_string_equal(quantity_bytes(65458176).text, "65.5 MB");
    assert_string_equal(quantity_bytes(9.9996e11).text, "1.00 TB");
    assert_string_equal(quantity_count(114615892).text, "114,615,892");
    assert_string_equal(quantity_count(999).text, "999");
    assert_string_equal(quantity_count(-1000).text, "-1,000");
    assert_string_equal(quantity_percent(0.84533).text, "84.53 %");
    assert_string_equal(quantity_percent(INFINITY).text, "–");
    assert_string_equal(quantity_real(1.4335).text, "1.433"); /* the double lies below */
    assert_string_equal(quantity_real(1).text, "1.000");
    assert_string_equal(quantity_real(1234.4).text, "1234");
    const double extreme[] = {1e308, -1e308, 1e-320, 1e15, -1e15, 999999999999999};
    for (size_t i = 0; i < sizeof extreme / sizeof *extreme; ++i) { /* fits its buffer: the sanitizers watch */
        assert_true(quantity_seconds(extreme[i]).text[0] != '\0');
        assert_true(quantity_bytes(extreme[i]).text[0] != '\0');
        assert_true(quantity_count(extreme[i]).text[0] != '\0');
        assert_true(quantity_percent(extreme[i]).text[0] != '\0');
        assert_true(quantity_real(extreme[i]).text[0] != '\0');
    }
}

/* ---- scales ---- */

static int ticks_of(const scale *s, double *values, int capacity)
{
    int count = 0;
    double value;
    for (int i = 0; i < capacity && scale_tick(s, i, &value); ++i) {
        values[count++] = value;
    }
    return count;
}

static void check_scale(double low, double high)
{
    double values[100] = {0};
    scale s = scale_linear(low, high, 5, 300, 20);
    int count = ticks_of(&s, values, 100);
    assert_true(s.low <= low + 1e-6 * s.step && s.high >= high - 1e-6 * s.step);
    assert_in_range(count, 2, 9);
    double mantissa = s.step / pow(10, floor(log10(s.step) + 1e-9));
    assert_true(fabs(mantissa - 1) < 1e-6 || fabs(mantissa - 2) < 1e-6 || fabs(mantissa - 2.5) < 1e-6 ||
                fabs(mantissa - 5) < 1e-6);
    for (int i = 0; i < count; ++i) { /* multiples of the step, in order, within the axis */
        double multiple = values[i] / s.step;
        assert_true(fabs(multiple - round(multiple)) < 1e-6 * fmax(1, fabs(multiple)));
        assert_true(i == 0 || values[i] > values[i - 1]);
        assert_true(scale_at(&s, values[i]) <= 300.001 && scale_at(&s, values[i]) >= 19.999);
    }
}

static void test_linear_scales(void **state)
{
    (void)state;
    const double ranges[][2] = {{0, 5},           {0.0008, 0.0064}, {-3, 7},        {0.12, 0.9873},
                                {1e-300, 2e-300}, {-1e99, 1e99},    {1e6, 1e6 + 1}, {2, 2},
                                {0, 0},           {-5, -5},         {1e12, 3e12},   {0.98, 0.981}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; ++i) {
        check_scale(ranges[i][0], ranges[i][1]);
    }
    double values[100] = {0};
    scale s = scale_linear(0, 4.4, 5, 0, 100);
    assert_int_equal(ticks_of(&s, values, 100), 6);
    assert_string_equal(scale_tick_text(&s, values[5], UNIT_COUNT).text, "5");
    scale percent = scale_linear(0.12, 0.92, 5, 0, 100);
    assert_string_equal(scale_tick_text(&percent, 0.4, UNIT_PERCENT).text, "40 %");
    scale quarter = scale_linear(0, 1.1, 5, 0, 100);
    assert_string_equal(scale_tick_text(&quarter, 0.25, UNIT_COUNT).text, "0.25");
    scale seconds = scale_linear(0, 0.0147, 5, 0, 100);
    assert_string_equal(scale_tick_text(&seconds, 0.005, UNIT_SECONDS).text, "5 ms");
    assert_string_equal(scale_tick_text(&seconds, 0, UNIT_SECONDS).text, "0 ms");
}

static void test_logarithmic_scales(void **state)
{
    (void)state;
    double values[100] = {0};
    scale s = scale_logarithmic(0.02, 7, 300, 20);
    const double expected[] = {0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5};
    int count = ticks_of(&s, values, 100);
    double decades = log10(s.high / s.low);
    assert_true(decades > 2.5); /* so powers of ten alone */
    assert_int_equal(count, 2);
    assert_true(fabs(values[0] - 0.1) < 1e-12 && fabs(values[1] - 1) < 1e-12);
    s = scale_logarithmic(0.02, 5, 300, 20);
    count = ticks_of(&s, values, 100);
    assert_int_equal(count, 8);
    for (int i = 0; i < count; ++i) {
        assert_true(fabs(values[i] - expected[i]) < 1e-9 * expected[i]);
    }
    s = scale_logarithmic(1e-320, 1e99, 300, 20);
    count = ticks_of(&s, values, 100);
    assert_in_range(count, 3, 12);
    assert_true(fabs(scale_at(&s, 1e99) - 20) < 1);
}

/* ---- text ---- */

static void check_text(bool html, const char *text, const char *expected)
{
    char *written = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&written, &bytes);
    report_text out = {.file = file, .html = html};
    text_write(&out, text);
    fclose(file);
    assert_string_equal(written, expected);
    free(written);
}

static void test_escaping(void **state)
{
    (void)state;
    check_text(true, "a<b>&\"'c", "a&lt;b&gt;&amp;&quot;&#39;c");
    check_text(false, "a<b>&|*_`", "a&lt;b>&amp;\\|\\*\\_\\`");
    check_text(true, "x\n\ty", "x  y");
    check_text(true, "µ – 漢 𝄞", "µ – 漢 𝄞");
    check_text(true, "\x01\x7f\xc2\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    check_text(true, "\xe2\x80\xae", "\xef\xbf\xbd");                         /* right-to-left override */
    check_text(true, "\xff\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* no UTF-8, overlong */
    check_text(true, "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* a surrogate */
    check_text(true, "\xef\xbf\xbf", "\xef\xbf\xbd");                         /* U+FFFF */
    check_text(true, "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* above U+10FFFF */
    check_text(true, "\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd");                                 /* cut off */
}

/* ---- ranks and curves ---- */

static void test_rank_choice(void **state)
{
    (void)state;
    int chosen[64];
    for (int ranks = 1; ranks < 300; ++ranks) {
        for (int heavy = 0; heavy < ranks; heavy += 7) {
            double weight[300] = {0};
            weight[heavy] = 1;
            int count = record_rank_choice(ranks, &(record_column){weight, ranks}, 16, chosen);
            assert_int_equal(count, ranks < 16 ? ranks : 16);
            bool found = false;
            for (int i = 0; i < count; ++i) {
                assert_in_range(chosen[i], 0, ranks - 1);
                assert_true(i == 0 || chosen[i] > chosen[i - 1]);
                found = found || chosen[i] == heavy;
            }
            assert_true(found);
        }
    }
    assert_int_equal(record_rank_choice(0, &(record_column){NULL, 0}, 16, chosen), 0);
}

static void test_medians(void **state)
{
    (void)state;
    enum { RUNS = 4, EPOCHS = 6 };
    record_epoch epochs[RUNS][EPOCHS];
    record_series series[RUNS];
    const double values[RUNS] = {5, 1, 3, 9};
    for (int r = 0; r < RUNS; ++r) {
        int64_t count = r == 3 ? 2 : r == 2 ? 4 : EPOCHS; /* 2 runs reach the end: half of them */
        for (int e = 0; e < EPOCHS; ++e) {
            epochs[r][e] = (record_epoch){.epoch = e + 1, .present = 1, .value = {[RECORD_LOSS] = values[r] + e}};
        }
        series[r] = (record_series){.run = r + 1, .epoch = epochs[r], .count = count, .best = -1};
    }
    epochs[0][1].value[RECORD_LOSS] = NAN; /* left out of the median */
    run_record run = {.series = series, .series_count = RUNS};
    const record_curve *curve = record_curve_of(&run, RECORD_LOSS);
    const double expected[EPOCHS] = {4, 4, 5, 6, 7, 8}; /* {1 3 5 9}, {2 4 10}, {3 5 7}, {4 6 8}, {5 9}, {6 10} */
    assert_int_equal(curve->count, EPOCHS);
    for (int e = 0; e < EPOCHS; ++e) {
        assert_true(curve->x[e] == e + 1);
        assert_true(curve->y[e] == expected[e]);
    }
    assert_ptr_equal(record_curve_of(&run, RECORD_LOSS), curve); /* made once */
    run.series = NULL;                                           /* this test's own */
    run.series_count = 0;
    record_close(&run);
}

/* ---- drawings ---- */

/* What one drawing wrote; free it. */
static char *drawn(const drawing *d, bool (*draw)(report_text *, run_record *, const drawing *))
{
    char *written = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&written, &bytes);
    report_text out = {.file = file, .html = true};
    run_record run = {.failed = WEFT_OK};
    const bool any = draw(&out, &run, d);
    record_close(&run);
    fclose(file);
    assert_int_equal(any, written[0] != '\0'); /* nothing to draw: nothing written */
    return written;
}

typedef struct circle {
    double x, y, radius;
} circle;

static int circles_of(const char *svg, circle *circles, int most)
{
    int count = 0;
    for (const char *at = strstr(svg, "<circle"); at != NULL && count < most; at = strstr(at + 1, "<circle")) {
        circle *c = &circles[count++];
        assert_int_equal(sscanf(strstr(at, " cx=\""), " cx=\"%lf\" cy=\"%lf\" r=\"%lf\"", &c->x, &c->y, &c->radius), 3);
    }
    return count;
}

static int height_of(const char *svg)
{
    int width = 0, height = 0;
    assert_int_equal(sscanf(strstr(svg, "viewBox=\""), "viewBox=\"0 0 %d %d\"", &width, &height), 2);
    assert_int_equal(width, DRAWING_WIDTH);
    return height;
}

enum { BEES = 250, ROWS = 3 };

/* Rows of numbers: spread out, bunched, and all the same. */
static void test_beeswarm(void **state)
{
    (void)state;
    static double values[ROWS][BEES];
    static circle circles[ROWS * BEES];
    drawing d = {.title = "t", .x_name = "x", .count = ROWS};
    for (int i = 0; i < BEES; ++i) {
        values[0][i] = i * 37 % BEES;
        values[1][i] = 100 + (i * 37 % BEES) / 100.0;
        values[2][i] = 7;
    }
    for (int k = 0; k < ROWS; ++k) {
        d.series[k] = (drawing_series){.name = "row", .x = {values[k], BEES}};
    }
    char *svg = drawn(&d, beeswarm_draw);
    const int count = circles_of(svg, circles, ROWS * BEES), height = height_of(svg);
    assert_int_equal(count, ROWS * BEES);
    assert_in_range(height, 100, 1000);
    for (int i = 0; i < count; ++i) {
        const circle *a = &circles[i];
        assert_true(a->x - a->radius > 100 && a->x + a->radius < DRAWING_WIDTH);
        assert_true(a->y - a->radius >= DRAWING_TOP && a->y + a->radius <= height - DRAWING_BOTTOM);
        for (int j = 0; j < i; ++j) { /* coordinates are written to a hundredth */
            assert_true(hypot(a->x - circles[j].x, a->y - circles[j].y) >= 2 * a->radius - 0.03);
        }
    }
    free(svg);
}

static void test_beeswarm_levels(void **state)
{
    (void)state;
    const double x[] = {0, 1, 2, 10, 10.5, 21};
    const int expected[] = {0, 1, 2, 0, 1, 0};
    int level[6];
    assert_int_equal(beeswarm_levels(x, 6, 5, level), 3);
    assert_memory_equal(level, expected, sizeof level);
    assert_int_equal(beeswarm_levels(x, 0, 5, level), 0);
}

static void test_scatter(void **state)
{
    (void)state;
    double x[] = {0, 10, 5, NAN, 2}, y[] = {-1, 1, 0, 0, 1e200};
    circle circles[8];
    drawing d = {.title = "t", .x_name = "x", .count = 1};
    d.series[0] = (drawing_series){.name = "s", .x = {x, 5}, .y = {y, 5}};
    char *svg = drawn(&d, scatter_draw);
    assert_int_equal(circles_of(svg, circles, 8), 3); /* what is no number, or too large, is left out */
    assert_true(circles[0].x == DRAWING_LEFT && circles[0].y == DRAWING_HEIGHT - DRAWING_BOTTOM);
    assert_true(circles[1].x == DRAWING_WIDTH - DRAWING_RIGHT && circles[1].y == DRAWING_TOP);
    assert_true(fabs(circles[2].x - (circles[0].x + circles[1].x) / 2) < 0.01);
    free(svg);
    d.series[0].x.count = 0;
    free(drawn(&d, scatter_draw));
}

/* Each axis has the smallest value at its foot and the largest at its head; a line goes from axis to axis. */
static void test_parallel(void **state)
{
    (void)state;
    double a[] = {0, 100, 50}, b[] = {0.001, 0.002, NAN}, c[] = {5, -5, 0};
    double x[3], y[3];
    drawing d = {.title = "t", .x_name = "x", .count = 3};
    double *values[] = {a, b, c};
    for (int k = 0; k < 3; ++k) {
        d.series[k] = (drawing_series){.name = "axis", .values = {values[k], 3}};
    }
    char *svg = drawn(&d, parallel_draw);
    const char *path = strstr(svg, "<path");
    const double foot = DRAWING_HEIGHT - DRAWING_BOTTOM, head = DRAWING_TOP;
    assert_int_equal(
        sscanf(strstr(path, " d="), " d=\"M%lf %lfL%lf %lfL%lf %lf\"", &x[0], &y[0], &x[1], &y[1], &x[2], &y[2]), 6);
    assert_true(y[0] == foot && y[1] == foot && y[2] == head);
    assert_true(x[0] > 0 && x[2] < DRAWING_WIDTH && fabs(x[1] - x[0] - (x[2] - x[1])) < 0.01);
    path = strstr(strstr(path + 1, "<path") + 1, "<path"); /* the third line has a gap */
    assert_int_equal(sscanf(strstr(path, " d="), " d=\"M%lf %lfM%lf %lf\"", &x[0], &y[0], &x[2], &y[2]), 4);
    assert_true(fabs(y[0] - (foot + head) / 2) < 0.01 && fabs(y[2] - y[0]) < 0.01);
    free(svg);
    d.series[1].values.count = d.series[0].values.count = d.series[2].values.count = 0;
    free(drawn(&d, parallel_draw));
}

static void test_units(void **state)
{
    (void)state;
    assert_string_equal(quantity_of(12.5, quantity_unit_named("%")).text, "12.50 %");
    assert_string_equal(quantity_of(1.3281, quantity_unit_named("x")).text, "1.328");
    assert_string_equal(quantity_of(1500, quantity_unit_named("bytes")).text, "1.50 kB");
    assert_string_equal(quantity_of(0.002, quantity_unit_named("s")).text, "2.00 ms");
    assert_string_equal(quantity_of(1500, quantity_unit_named("GFLOP")).text, "1,500");
    assert_string_equal(quantity_of(0.5, UNIT_RATE).text, "0.5000");
    assert_string_equal(quantity_of(NAN, UNIT_RATE).text, "–");
}

/* ---- every allocation fails once ---- */

static void put_file(const char *folder, const char *name, const char *text)
{
    char path[FILE_PATH_MAX];
    assert_int_equal(file_path(path, "%s/%s", folder, name), WEFT_OK);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static weft_status whole_report(const char *folder, FILE *file)
{
    run_record runs[2];
    report_text out = {.file = file, .html = true};
    weft_status status = record_open(folder, &runs[0]);
    weft_status second = record_open(folder, &runs[1]);
    status = status == WEFT_OK ? second : status;
    status = status == WEFT_OK ? report_write(&out, runs, 2) : status;
    record_close(&runs[0]);
    record_close(&runs[1]);
    return status;
}

static void test_allocation_failures(void **state)
{
    (void)state;
    char folder[] = "/tmp/weft-report-XXXXXX";
    assert_non_null(mkdtemp(folder));
    put_file(folder, "run.json",
             "{\"ranks\": 2, \"threads_per_rank\": 1, \"data\": {\"kind\": \"table\", \"facts\": [{\"key\": \"a\", "
             "\"value\": 3}]}, \"options\": {\"lr\": {\"value\": \"1\", \"source\": \"default\"}}, \"exit\": 0}");
    put_file(
        folder, "summary.json",
        "{\"outcome\": {\"classes\": {\"support\": [1, 2], \"train\": [3, 4], \"f1\": [0, 1]}, \"confusion\": [[1, 0], "
        "[1, 1]]},"
        "\"runs\": 2, \"epochs\": 4, \"per_rank\": {\"wall_s\": [2, 3], \"host\": [\"a\", \"b\"], "
        "\"sent_bytes\": {\"halo\": [1, 2]}, \"activity_s\": {\"linear\": [1, 2], \"halo exchange\": [1, 1]}, "
        "\"columns\": [{\"key\": \"own\"}], \"own\": [1, 2]},"
        "\"facts\": [{\"group\": \"G\", \"rows\": [{\"label\": \"a\", \"value\": true}]}],"
        "\"drawings\": [{\"kind\": \"beeswarm\", \"series\": [{\"x\": [1, 2, 2]}]}, {\"kind\": \"parallel\", "
        "\"series\": "
        "[{\"values\": [1, 2]}, {\"values\": [3, 4]}]}, {\"kind\": \"line\", \"series\": [{\"x\": [1, 2], \"y\": [1, "
        "2]}]}, "
        "{\"kind\": \"heat\", \"names\": [\"a\"], \"series\": [{\"values\": [1]}]}, {\"kind\": \"bars\", \"names\": "
        "[\"a\"], "
        "\"series\": [{\"values\": [1]}]}, {\"kind\": \"scatter\", \"series\": [{\"x\": [1], \"y\": [1]}]}]}");
    put_file(folder, "metrics.jsonl",
             "{\"run\": 1, \"epoch\": 1, \"loss\": 2, \"valid\": 0.5, \"epoch_s\": 1}\n"
             "{\"run\": 1, \"epoch\": 2, \"loss\": 1, \"valid\": 0.6, \"epoch_s\": 1}\n"
             "{\"run\": 2, \"epoch\": 1, \"loss\": 2, \"valid\": 0.5, \"epoch_s\": 1}\n");
    FILE *file = fopen("/dev/null", "w");
    assert_non_null(file);
    uint64_t before = weft_mem_usage_total().current_bytes;
    int failures = 0;
    weft_status status = WEFT_ERR_RESOURCE;
    while (status != WEFT_OK && failures < 10000) {
        weft_alloc_fail_after((uint64_t)failures + 1);
        status = whole_report(folder, file);
        weft_alloc_fail_after(0);
        assert_true(status == WEFT_OK || status == WEFT_ERR_RESOURCE);
        assert_int_equal(weft_mem_usage_total().current_bytes, before);
        failures += status != WEFT_OK;
    }
    assert_int_equal(status, WEFT_OK);
    assert_in_range(failures, 100, 1000);
    fclose(file);
    assert_int_equal(folder_remove(folder), WEFT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantities),
        cmocka_unit_test(test_linear_scales),
        cmocka_unit_test(test_logarithmic_scales),
        cmocka_unit_test(test_escaping),
        cmocka_unit_test(test_rank_choice),
        cmocka_unit_test(test_medians),
        cmocka_unit_test(test_allocation_failures),
        cmocka_unit_test(test_beeswarm),
        cmocka_unit_test(test_beeswarm_levels),
        cmocka_unit_test(test_scatter),
        cmocka_unit_test(test_parallel),
        cmocka_unit_test(test_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

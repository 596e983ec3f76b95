/* What stands behind `weft bench`: lists of sizes and names, quartiles, printed grids, and the check of sums. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/bench/bench.h"
#include "app/bench/bench_comm.h"
#include "app/gnn/bench/bench_spmm.h"
#include "io/json.h"
#include "support/test.h"

static void test_names(void **state)
{
    (void)state;
    bench_axis names;
    assert_int_equal(bench_axis_names("--names", "ring,auto,ring", "auto|ring|tree", &names), WEFT_OK);
    assert_int_equal(names.count, 2);
    assert_int_equal(names.value[0], 1);
    assert_int_equal(names.value[1], 0);
    assert_false(names.all);
    assert_int_equal(bench_axis_names("--names", "all", "auto|ring|tree", &names), WEFT_OK);
    assert_true(names.all);
    assert_int_equal(names.count, 2);
    assert_string_equal(names.name[1], "tree");
    assert_int_equal(bench_axis_names("--names", "rings", "auto|ring|tree", &names), WEFT_ERR_USAGE);
    assert_non_null(strstr(weft_error_message(), "--names: 'rings' is none of auto, ring, tree, all"));
    assert_int_equal(bench_axis_names("--names", "", "auto|ring", &names), WEFT_ERR_USAGE);
}

static void test_quartiles(void **state)
{
    (void)state;
    double x[] = {5, 1, 4, 2, 3};
    sample_quartiles q = sample_quartiles_of(x, 5);
    assert_true(q.count == 5 && q.least == 1 && q.q1 == 2 && q.median == 3 && q.q3 == 4);
    double y[] = {10, 0};
    q = sample_quartiles_of(y, 2);
    assert_true(q.q1 == 2.5 && q.median == 5 && q.q3 == 7.5);
    assert_true(isnan(sample_quartiles_of(NULL, 0).median));
}

/* The sum of three ranks in float32, in rank order. */
static void sum_of(float *sum, float *part, int64_t count)
{
    bench_fill(0, sum, count);
    for (int r = 1; r < 3; r++) {
        bench_fill(r, part, count);
        for (int64_t i = 0; i < count; i++) {
            sum[i] += part[i];
        }
    }
}

static void test_check(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    static float sum[COUNT];
    static float part[COUNT];
    sum_of(sum, part, COUNT);
    double least = 1.0;
    double most = -1.0;
    bench_fill(1, part, COUNT);
    for (int i = 0; i < COUNT; i++) {
        least = fmin(least, (double)part[i]);
        most = fmax(most, (double)part[i]);
    }
    assert_true(least >= -1.0 && least < -0.99 && most < 1.0 && most > 0.99);
    assert_true(bench_sum_error(sum, 0, COUNT, 3, COMM_WIRE_SAME) <= 1.0);

    /* A rank too few, a wrong element, two exchanged ones, and what is no number. */
    assert_true(bench_sum_error(part, 0, COUNT, 3, COMM_WIRE_SAME) > 1e3);
    const float kept = sum[4999];
    sum[4999] += 1e-5F;
    assert_true(bench_sum_error(sum, 0, COUNT, 3, COMM_WIRE_SAME) > 1.0);
    assert_true(bench_sum_error(sum, 0, COUNT, 3, COMM_WIRE_FP16) <= 1.0);
    sum[4999] = sum[17];
    sum[17] = kept;
    assert_true(bench_sum_error(sum, 0, COUNT, 3, COMM_WIRE_SAME) > 1.0);
    assert_true(bench_sum_error(sum, 18, COUNT - 19, 3, COMM_WIRE_SAME) <= 1.0); /* between the two */
    sum[17] = NAN;
    assert_true(isinf(bench_sum_error(sum, 0, COUNT, 3, COMM_WIRE_BF16)));
}

static void print_to(char **text, const table_grid *head, const table_grid *grid, const table_grid *second,
                     table_format format)
{
    size_t bytes = 0;
    FILE *out = open_memstream(text, &bytes);
    assert_non_null(out);
    table_grid_print(out, head, grid, second, format);
    assert_int_equal(fclose(out), 0);
}

static void test_grid(void **state)
{
    (void)state;
    static const table_column columns[] = {
        {"name", CELL_TEXT, true}, {"n", CELL_INT, false}, {"t", CELL_REAL, true}, {"ok", CELL_BOOL, true}};
    table_grid head = {.column = columns, .columns = 1};
    table_grid grid = {.name = "rows", .column = columns, .columns = 4};
    table_grid second = {.name = "left", .column = columns, .columns = 2};
    assert_int_equal(table_grid_add(&head, (table_cell[]){cell_text("run")}), WEFT_OK);
    for (int i = 0; i < 20; i++) {
        const double t = i == 1 ? (double)NAN : 0.5 * i;
        assert_int_equal(
            table_grid_add(&grid, (table_cell[]){cell_text("a"), cell_int(i), cell_real(t), cell_flag(i == 0)}),
            WEFT_OK);
    }
    char *text = NULL;
    print_to(&text, &head, &grid, &second, TABLE_CSV);
    assert_ptr_equal(strstr(text, "name,n,t,ok\na,0,0,true\na,1,,false\na,2,1,false\n"), text);
    free(text);
    print_to(&text, &head, &grid, &second, TABLE_MD);
    assert_non_null(strstr(text, "name: run\n\n| name | t | ok |\n|---|--:|--:|\n| a | 0 | yes |\n| a | - | NO |\n"));
    assert_null(strstr(text, "left"));
    free(text);
    print_to(&text, &head, &grid, &second, TABLE_JSON);
    json_document *document = NULL;
    assert_int_equal(json_parse("grid", text, strlen(text), &document), WEFT_OK);
    const json_value *rows = json_find(json_root(document), "rows");
    assert_int_equal(json_find(rows->child, "n")->integer, 0);
    assert_int_equal(json_find(rows->child->next, "t")->kind, JSON_NULL);
    assert_null(json_find(json_root(document), "left")->child);
    json_free(document);
    free(text);
    table_grid_free(&head);
    table_grid_free(&grid);
}

/* Rows appear while the grid is filled; the text is what a grid printed at the end has. */
static void test_stream(void **state)
{
    (void)state;
    static const table_column columns[] = {
        {"name", CELL_TEXT, true}, {"t", CELL_REAL, false}, {"valid", CELL_VALID, true}};
    static const char *const expected[] = {
        "name: a \\| b\n\n| name | valid |\n|---|--:|\n| a \\| b | VALID |\n| c, \"d\" | INVALID |\n",
        "name,t,valid\na | b,0.5,true\n\"c, \"\"d\"\"\",,false\n"};
    for (int format = TABLE_MD; format <= TABLE_CSV; format++) {
        char *text = NULL;
        size_t bytes = 0;
        size_t half = 0;
        FILE *out = open_memstream(&text, &bytes);
        assert_non_null(out);
        table_grid head = {.column = columns, .columns = 1};
        table_grid grid = {.name = "rows", .column = columns, .columns = 3};
        const table_grid none = {.name = "left"};
        assert_int_equal(table_grid_add(&head, (table_cell[]){cell_text("a | b")}), WEFT_OK);
        table_grid_stream(&grid, out, &head, (table_format)format);
        assert_int_equal(table_grid_add(&grid, (table_cell[]){cell_text("a | b"), cell_real(0.5), cell_flag(true)}),
                         WEFT_OK);
        half = bytes;
        assert_true(half > 0);
        assert_int_equal(
            table_grid_add(&grid, (table_cell[]){cell_text("c, \"d\""), cell_real((double)NAN), cell_flag(false)}),
            WEFT_OK);
        assert_true(bytes > half);
        table_grid_print(out, &head, &grid, &none, (table_format)format);
        assert_int_equal(fclose(out), 0);
        assert_string_equal(text, expected[format]);
        free(text);
        table_grid_free(&head);
        table_grid_free(&grid);
    }
}

static void test_data(void **state)
{
    (void)state;
    static char data[SPMM_DATA_MAX][SPMM_DATA_BYTES];
    int count = 0;
    assert_int_equal(bench_data_parse("a.weft,synth:reddit,scale=0.1,seed=3,b=c,x,synth:arxiv", data, &count), WEFT_OK);
    assert_int_equal(count, 4);
    assert_string_equal(data[0], "a.weft");
    assert_string_equal(data[1], "synth:reddit,scale=0.1,seed=3,b=c");
    assert_string_equal(data[2], "x");
    assert_string_equal(data[3], "synth:arxiv");
    assert_int_equal(bench_data_parse("folder=1,x", data, &count), WEFT_OK); /* a store's name may hold a '=' */
    assert_int_equal(count, 2);
    assert_int_equal(bench_data_parse("", data, &count), WEFT_ERR_USAGE);
    assert_int_equal(bench_data_parse("a,,b", data, &count), WEFT_ERR_USAGE);
    assert_int_equal(bench_data_parse("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", data, &count), WEFT_ERR_USAGE);
    char longest[SPMM_DATA_BYTES + 1];
    memset(longest, 'a', sizeof longest);
    longest[SPMM_DATA_BYTES] = '\0';
    assert_int_equal(bench_data_parse(longest, data, &count), WEFT_ERR_USAGE);
    memcpy(longest, "synth:x,b=", 10);
    assert_int_equal(bench_data_parse(longest, data, &count), WEFT_ERR_USAGE);
}

typedef struct timed {
    int runs, fails;
    double seconds; /* of the last run, by its own clock */
} timed;

static weft_status count_runs(void *self)
{
    timed *t = self;
    t->seconds = ++t->runs;
    return t->runs == t->fails ? weft_fail(WEFT_ERR_IO, "this one") : WEFT_OK;
}

static void test_time(void **state)
{
    (void)state;
    timed t = {.runs = 0}, other = {.runs = 0};
    bench_side side = {count_runs, &t, NULL};
    const bench_side theirs = {count_runs, &other, &other.seconds};
    bench_pair pair;
    weft_comm *self = NULL;
    ASSERT_OK(comm_create_self(&self));
    ASSERT_OK(bench_time(self, &side, NULL, 4, &pair));
    assert_true(pair.seconds.count == 4 && t.runs > 6); /* samples of many short runs */
    assert_true(pair.seconds.median > 0.0 && pair.seconds.median < 1e-3 && isnan(pair.ratio));
    t = (timed){.fails = 3};
    assert_int_equal(bench_time(self, &side, NULL, 4, &pair), WEFT_ERR_IO);

    /* Operations with a clock of their own: the runs 3 to 6 count, after two to warm up. */
    t = (timed){.runs = 10};
    side.seconds = &t.seconds;
    ASSERT_OK(bench_time(self, &side, &theirs, 4, &pair));
    assert_true(pair.seconds.least == 12.0 && pair.seconds.median == 13.5 && t.runs == 15);
    assert_true(pair.other.least == 2.0 && pair.other.median == 3.5 && pair.other.count == 4);
    assert_true(fabs(pair.ratio - 0.5 * (3.0 / 13.0 + 4.0 / 14.0)) < 1e-12);
    comm_destroy(self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names), cmocka_unit_test(test_quartiles), cmocka_unit_test(test_check),
        cmocka_unit_test(test_grid),  cmocka_unit_test(test_stream),    cmocka_unit_test(test_data),
        cmocka_unit_test(test_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * backend/test_attention.c: attention over the edges of a graph too large for a cache, so that rows of other ends are
 * taken window by window and rows chunk by chunk, on every instruction set, against ref; and of heads wider than what
 * is summed at once. Odd shapes are test_backends' matter.
 * timeout: 300
 * trees: release asan
 */
#include "backend/backend_env.h"
#include "base/philox.h"

static int compare_columns(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Rows of 0 to 110 edges; those of every third row are in no order. */
static void fill_graph(int64_t rows, int64_t *offset, int32_t *column)
{
    for (int64_t r = 0; r < rows; ++r) {
        const int64_t edges = r * 35 % 111;
        offset[r + 1] = offset[r] + edges;
        for (int64_t i = offset[r]; column != NULL && i < offset[r + 1]; ++i) {
            column[i] = (int32_t)((i * 2654435761LL >> 5) % rows);
        }
        if (column != NULL && r % 3 != 0) {
            qsort(column + offset[r], (size_t)edges, sizeof *column, compare_columns);
        }
    }
}

static const char *const resources[] = {"cpu", "cpu:avx2", "cpu:base"};
enum { RESOURCES = sizeof resources / sizeof *resources };

/* Instruction sets beside ref, and the edges on all of them. Under a sanitizer beside each other: it looks at how they
 * walk, while ref, which takes most of the time, computes the same for any graph. */
typedef struct setting {
    env e;
    int_operand offset, column, id;
    int heads;
    float drop;
} setting;

/* The first `count` of the resources, those of them that this processor has. */
static void setting_open(setting *s, int count, int64_t rows, int64_t cols, int heads, float drop)
{
    s->e = (env){.backends = 1, .dtype = WEFT_DTYPE_F32, .m = rows, .n = cols, .pad = 3, .name = "windows"};
    ASSERT_OK(TEST_SANITIZED ? weft_hal_open(resources[0], 2, &s->e.hal[0]) : weft_hal_open("ref", 1, &s->e.hal[0]));
    for (int r = TEST_SANITIZED; r < count; ++r) {
        s->e.backends += open_if_there(resources[r], 2, &s->e.hal[s->e.backends]);
    }
    s->heads = heads;
    s->drop = drop;
    s->offset = int_operand_make(&s->e, rows + 1, WEFT_DTYPE_I64);
    fill_graph(rows, s->offset.host, NULL);
    s->column = int_operand_make(&s->e, ((int64_t *)s->offset.host)[rows], WEFT_DTYPE_I32);
    fill_graph(rows, s->offset.host, s->column.host);
    s->id = int_operand_make(&s->e, rows, WEFT_DTYPE_I64);
    for (int64_t r = 0; r < rows; ++r) {
        ((int64_t *)s->id.host)[r] = ((int64_t)3 << 32) + 5 * r;
    }
    int_operand_upload(&s->e, &s->offset);
    int_operand_upload(&s->e, &s->column);
    int_operand_upload(&s->e, &s->id);
}

static void setting_close(setting *s)
{
    env_free(&s->e);
    for (int b = 0; b < s->e.backends; ++b) {
        weft_hal_close(s->e.hal[b]);
    }
}

static hal_attention attention_of(const setting *s, int b)
{
    return (hal_attention){.heads = s->heads,
                           .slope = 0.2,
                           .self = s->e.m - s->e.m / 3,
                           .dropout = {.probability = s->drop,
                                       .seed = 98765432109ULL,
                                       .purpose = WEFT_RNG_EDGES + 1,
                                       .epoch = 4,
                                       .row_id = ints_on(&s->id, b)}};
}

#define EDGES .offset = ints_on(&s.offset, b), .column = ints_on(&s.column, b), .how = attention_of(&s, b)

/* Attention whose ends are scored alone. */
static void run_alone(int count, float drop)
{
    enum { ROWS = 26000, HEADS = 2, COLS = 32 };
    setting s;
    setting_open(&s, count, ROWS, COLS, HEADS, drop);
    env *e = &s.e;
    operand x = operand_make(e, ROWS, COLS, UNIT);
    operand dy = operand_make(e, ROWS, COLS, UNIT);
    operand dx = operand_make(e, ROWS, COLS, NOTHING);
    operand out = operand_make(e, ROWS, COLS, NOTHING);
    operand source = operand_make(e, ROWS, HEADS, UNIT);
    operand target = operand_make(e, ROWS, HEADS, UNIT);
    operand highest = operand_make(e, ROWS, HEADS, NOTHING);
    operand total = operand_make(e, ROWS, HEADS, NOTHING);
    operand positive = operand_make(e, ROWS, HEADS, POSITIVE);
    operand above = operand_make(e, ROWS, HEADS, POSITIVE); /* and more: no source is above */
    operand mean = operand_make(e, ROWS, HEADS, UNIT);
    operand dtarget = operand_make(e, ROWS, HEADS, NOTHING);
    operand dsource = operand_make(e, ROWS, HEADS, NOTHING);
    RUN(e, axpby, .alpha = 1.0, .x = ON(positive), .beta = 1.0, .y = ON(above));
    for (int b = 0; b < e->backends; ++b) {
#define SCORED .source = mat_on(&source, b), EDGES
        RUN_ON(e, b, attention_highest, SCORED, .highest = mat_on(&highest, b));
        RUN_ON(e, b, attention_forward, SCORED, .target = mat_on(&target, b), .highest = mat_on(&highest, b),
               .x = mat_on(&x, b), .out = mat_on(&out, b), .total = mat_on(&total, b));
        RUN_ON(e, b, attention_backward_targets, SCORED, .target = mat_on(&target, b), .highest = mat_on(&highest, b),
               .total = mat_on(&positive, b), .mean = mat_on(&mean, b), .x = mat_on(&x, b), .dy = mat_on(&dy, b),
               .dtarget = mat_on(&dtarget, b));
        RUN_ON(e, b, attention_backward_sources, SCORED, .target = mat_on(&target, b), .highest = mat_on(&above, b),
               .total = mat_on(&positive, b), .mean = mat_on(&mean, b), .x = mat_on(&x, b), .dy = mat_on(&dy, b),
               .dx = mat_on(&dx, b), .dsource = mat_on(&dsource, b));
    }
    operand_compare(e, &highest, 0.0);
    operand_compare(e, &out, 256.0);
    operand_compare(e, &total, 256.0);
    operand_compare(e, &dtarget, 64.0 * COLS / HEADS);
    operand_compare(e, &dx, 256.0);
    operand_compare(e, &dsource, 64.0 * COLS / HEADS);
    setting_close(&s);
}

/* Attention whose ends meet in every column. */
static void run_meeting(int64_t rows, int64_t cols, int heads, float drop)
{
    setting s;
    setting_open(&s, RESOURCES, rows, cols, heads, drop);
    env *e = &s.e;
    const int64_t width = cols / heads;
    const double d = (double)width;
    operand x = operand_make(e, rows, cols, UNIT);
    operand target = operand_make(e, rows, cols, UNIT);
    operand unit = operand_make(e, 1, cols, UNIT);
    operand vector = operand_make(e, 1, cols, NOTHING); /* no score of two ends is above 1 */
    operand dy = operand_make(e, rows, cols, UNIT);
    operand highest = operand_make(e, rows, heads, NOTHING);
    operand above = operand_make(e, rows, heads, POSITIVE); /* and more: no score is above */
    operand positive = operand_make(e, rows, heads, POSITIVE);
    operand mean = operand_make(e, rows, heads, UNIT);
    operand out = operand_make(e, rows, cols, NOTHING);
    operand total = operand_make(e, rows, heads, NOTHING);
    operand dtarget = operand_make(e, rows, cols, NOTHING);
    operand dvector = operand_make(e, rows, cols, NOTHING);
    operand dx = operand_make(e, rows, cols, NOTHING);
    RUN(e, axpby, .alpha = 1.0, .x = ON(positive), .beta = 1.0, .y = ON(above));
    RUN(e, axpby, .alpha = 0.5 / d, .x = ON(unit), .y = ON(vector));
    for (int b = 0; b < e->backends; ++b) {
#define MEETING .x = mat_on(&x, b), .target = mat_on(&target, b), .vector = mat_on(&vector, b), EDGES
        RUN_ON(e, b, dynamic_highest, MEETING, .highest = mat_on(&highest, b));
        RUN_ON(e, b, dynamic_forward, MEETING, .highest = mat_on(&highest, b), .out = mat_on(&out, b),
               .total = mat_on(&total, b));
        RUN_ON(e, b, dynamic_backward_targets, MEETING, .highest = mat_on(&highest, b), .total = mat_on(&positive, b),
               .mean = mat_on(&mean, b), .dy = mat_on(&dy, b), .dtarget = mat_on(&dtarget, b),
               .dvector = mat_on(&dvector, b));
        RUN_ON(e, b, dynamic_backward_sources, MEETING, .highest = mat_on(&above, b), .total = mat_on(&positive, b),
               .mean = mat_on(&mean, b), .dy = mat_on(&dy, b), .dx = mat_on(&dx, b));
    }
    operand_compare(e, &highest, 8.0 * d);
    operand_compare(e, &out, 64.0 * d);
    operand_compare(e, &total, 64.0 * d);
    operand_compare(e, &dtarget, 64.0 * d);
    operand_compare(e, &dvector, 64.0 * d);
    operand_compare(e, &dx, 64.0 * d);
    setting_close(&s);
}

/* Without dropout the best instruction set alone: for others only what is drawn differs from 0.4. */
static void test_windows(void **state)
{
    (void)state;
    run_alone(1, 0.0F);
    run_alone(RESOURCES, 0.4F);
    run_meeting(13000, 32, 4, 0.4F);
}

/* Heads wider than what is summed at once. */
static void test_wide_heads(void **state)
{
    (void)state;
    run_meeting(2, 1100, 1, 0.0F);
    run_meeting(3, 140, 2, 0.4F);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_windows), cmocka_unit_test(test_wide_heads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

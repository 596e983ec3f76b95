/*
 * backend/test_attention.c: attention over the edges of a graph too large for a cache, so that rows of other ends are taken window
 * by window and rows chunk by chunk, on every instruction set, against ref. Odd shapes are test_backends' matter.
 * timeout: 300
 */
#include "backend/backend_env.h"
#include "base/philox.h"

enum { ROWS = 26000, HEADS = 2, COLS = 32 };

static int compare_columns(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Rows of 0 to 110 edges; those of every third row are in no order. */
static void fill_graph(int64_t *offset, int32_t *column)
{
    for (int64_t r = 0; r < ROWS; ++r) {
        const int64_t edges = r * 35 % 111;
        offset[r + 1] = offset[r] + edges;
        for (int64_t i = offset[r]; column != NULL && i < offset[r + 1]; ++i) {
            column[i] = (int32_t)((i * 2654435761LL >> 5) % ROWS);
        }
        if (column != NULL && r % 3 != 0) {
            qsort(column + offset[r], (size_t)edges, sizeof *column, compare_columns);
        }
    }
}

static void run_on(const char *resource, double drop)
{
    weft_hal *hal[2];
    ASSERT_OK(weft_hal_open("ref", 1, &hal[0]));
    weft_status status = weft_hal_open(resource, 2, &hal[1]);
    if (status == WEFT_ERR_UNSUPPORTED) {
        print_message("skipped: %s\n", weft_error_message());
        weft_hal_close(hal[0]);
        return;
    }
    ASSERT_OK(status);
    env e = {.hal = {hal[0], hal[1]}, .dtype = WEFT_DTYPE_F32, .m = ROWS, .n = COLS, .pad = 3, .name = "windows"};
    int_operand offset = int_operand_make(&e, ROWS + 1, WEFT_DTYPE_I64);
    fill_graph(offset.host, NULL);
    int_operand column = int_operand_make(&e, ((int64_t *)offset.host)[ROWS], WEFT_DTYPE_I32);
    fill_graph(offset.host, column.host);
    int_operand id = int_operand_make(&e, ROWS, WEFT_DTYPE_I64);
    for (int64_t r = 0; r < ROWS; ++r) {
        ((int64_t *)id.host)[r] = ((int64_t)3 << 32) + 5 * r;
    }
    int_operand_upload(&e, &offset);
    int_operand_upload(&e, &column);
    int_operand_upload(&e, &id);
    operand x = operand_make(&e, ROWS, COLS, UNIT);
    operand dy = operand_make(&e, ROWS, COLS, UNIT);
    operand dx = operand_make(&e, ROWS, COLS, NOTHING);
    operand out = operand_make(&e, ROWS, COLS, NOTHING);
    operand source = operand_make(&e, ROWS, HEADS, UNIT);
    operand target = operand_make(&e, ROWS, HEADS, UNIT);
    operand highest = operand_make(&e, ROWS, HEADS, NOTHING);
    operand total = operand_make(&e, ROWS, HEADS, NOTHING);
    operand positive = operand_make(&e, ROWS, HEADS, POSITIVE);
    operand above = operand_make(&e, ROWS, HEADS, POSITIVE); /* and more: no source is above */
    operand mean = operand_make(&e, ROWS, HEADS, UNIT);
    operand dtarget = operand_make(&e, ROWS, HEADS, NOTHING);
    operand dsource = operand_make(&e, ROWS, HEADS, NOTHING);
    RUN(&e, axpby, .alpha = 1.0, .x = ON(positive), .beta = 1.0, .y = ON(above));
    for (int b = 0; b < 2; ++b) {
        const hal_attention how = {.heads = HEADS,
                                   .slope = 0.2,
                                   .self = ROWS - ROWS / 3,
                                   .dropout = {.probability = (float)drop,
                                               .seed = 98765432109ULL,
                                               .purpose = WEFT_RNG_EDGES + 1,
                                               .epoch = 4,
                                               .row_id = ints_on(&id, b)}};
#define EDGES .offset = ints_on(&offset, b), .column = ints_on(&column, b), .source = mat_on(&source, b), .how = how
        RUN_ON(&e, b, attention_highest, EDGES, .highest = mat_on(&highest, b));
        RUN_ON(&e, b, attention_forward, EDGES, .target = mat_on(&target, b), .highest = mat_on(&highest, b),
               .x = mat_on(&x, b), .out = mat_on(&out, b), .total = mat_on(&total, b));
        RUN_ON(&e, b, attention_backward_targets, EDGES, .target = mat_on(&target, b), .highest = mat_on(&highest, b),
               .total = mat_on(&positive, b), .mean = mat_on(&mean, b), .x = mat_on(&x, b), .dy = mat_on(&dy, b),
               .dtarget = mat_on(&dtarget, b));
        RUN_ON(&e, b, attention_backward_sources, EDGES, .target = mat_on(&target, b), .highest = mat_on(&above, b),
               .total = mat_on(&positive, b), .mean = mat_on(&mean, b), .x = mat_on(&x, b), .dy = mat_on(&dy, b),
               .dx = mat_on(&dx, b), .dsource = mat_on(&dsource, b));
    }
    operand_compare(&e, &highest, 0.0);
    operand_compare(&e, &out, 256.0);
    operand_compare(&e, &total, 256.0);
    operand_compare(&e, &dtarget, 64.0 * COLS / HEADS);
    operand_compare(&e, &dx, 256.0);
    operand_compare(&e, &dsource, 64.0 * COLS / HEADS);
    env_free(&e);
    weft_hal_close(hal[0]);
    weft_hal_close(hal[1]);
}

/* The state is the resource. */
static void test_windows(void **state)
{
    run_on(*state, 0.0);
    run_on(*state, 0.4);
}

#define ON_CPU(text)                                                                                                   \
    {                                                                                                                  \
        .name = (text), .test_func = test_windows, .initial_state = (text)                                             \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {ON_CPU("cpu"), ON_CPU("cpu:avx2"), ON_CPU("cpu:base")};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

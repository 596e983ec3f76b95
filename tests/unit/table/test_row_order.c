/* Splits by the order of a column against rows that are sorted, on 1, 2 and 5 ranks. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/integer/mix.h"
#include "support/table_jobs.h"
#include "table/row_order.h"

enum { ROWS = 500 };

typedef struct order_case {
    uint64_t key[ROWS];
    int rows;
    double valid, test;
    row_order order; /* of the last rank */
} order_case;

static weft_status order_rank(rank_job *job, const table_exchange *exchange)
{
    order_case *c = job->argument;
    const int begin = exchange->rank * c->rows / exchange->ranks;
    const int end = (exchange->rank + 1) * c->rows / exchange->ranks;
    row_order order;
    WEFT_TRY(row_order_find(exchange, c->key + begin, end - begin, c->valid, c->test, &order));
    if (exchange->rank == exchange->ranks - 1) {
        c->order = order;
    }
    return WEFT_OK;
}

static int falling(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

/* The largest keys that hold so many rows, with all that are equal to the last of them. */
static uint64_t border_of(const uint64_t *sorted, int rows, int64_t place)
{
    return place == 0 || rows == 0 ? UINT64_MAX : sorted[(place < rows ? place : rows) - 1];
}

static void check_case(order_case *c)
{
    static const int ranks[] = {1, 2, 5};
    uint64_t sorted[ROWS];
    int missing = 0;
    memcpy(sorted, c->key, sizeof sorted);
    qsort(sorted, (size_t)c->rows, sizeof *sorted, falling);
    for (int i = 0; i < c->rows; ++i) {
        missing += c->key[i] == 0;
    }
    const int placed = c->rows - missing;
    const int64_t tests = (int64_t)floor(c->test * placed + 0.5), valids = (int64_t)floor(c->valid * placed + 0.5);
    for (int r = 0; r < 3; ++r) {
        rank_job jobs[RANKS_MOST] = {0};
        for (int p = 0; p < ranks[r]; ++p) {
            jobs[p] = (rank_job){.run = order_rank, .argument = c};
        }
        start_ranks(ranks[r], jobs);
        ASSERT_OK(jobs[ranks[r] - 1].status);
        assert_true(c->order.from[2] == border_of(sorted, placed, tests));
        assert_true(c->order.from[1] == border_of(sorted, placed, tests + valids));
        assert_int_equal(c->order.missing, missing);
    }
    ASSERT_OK(row_order_find(NULL, c->key, c->rows, c->valid, c->test, &c->order));
    assert_true(c->order.from[2] == border_of(sorted, placed, tests));
}

static void splits_are_those_of_sorted_rows(void **state)
{
    (void)state;
    static const uint64_t values[] = {3, 40, UINT64_C(1) << 40};
    static const double shares[][2] = {{0.1, 0.2}, {0, 0.3}, {0.25, 0}, {0, 0}, {0.9, 0.9}};
    uint64_t random = 5;
    for (int round = 0; round < 45; ++round) {
        order_case c = {
            .rows = round % 7 == 6 ? 0 : ROWS - round, .valid = shares[round % 5][0], .test = shares[round % 5][1]};
        for (int i = 0; i < c.rows; ++i) {
            random = mix64(random + 1);
            c.key[i] = random % values[round % 3] << (round % 2 == 0 ? 0 : 22);
        }
        check_case(&c);
    }
}

/* Keys rise with values of every kind, and a missing one is 0. */
static void keys_rise_with_values(void **state)
{
    (void)state;
    static const float real[] = {NAN, -INFINITY, -FLT_MAX, -1, -FLT_MIN, 0, FLT_MIN, 1, 2, FLT_MAX, INFINITY};
    static const int32_t integer[] = {TABLE_NO_INTEGER, INT32_MIN + 1, -7, 0, 3, 2016, INT32_MAX};
    static const int64_t wide[] = {TABLE_NO_LONG, INT64_MIN + 1, -1, 0, INT32_MAX, INT64_MAX};
    static const int32_t code[] = {TABLE_NO_CODE, 0, 1, 2, INT32_MAX};
    const struct {
        table_column column;
        int count;
    } kinds[] = {{{TABLE_REAL, real, 0}, 11},
                 {{TABLE_INTEGER, integer, 0}, 7},
                 {{TABLE_LONG, wide, 0}, 6},
                 {{TABLE_CATEGORY, code, 0}, 5}};
    for (int k = 0; k < 4; ++k) {
        assert_true(row_order_key(&kinds[k].column, 0) == 0);
        for (int i = 1; i < kinds[k].count; ++i) {
            assert_true(row_order_key(&kinds[k].column, i) > row_order_key(&kinds[k].column, i - 1));
            assert_true(row_order_key(&kinds[k].column, i) < UINT64_MAX);
        }
    }
    const float zeros[] = {0.0F, -0.0F};
    const table_column column = {TABLE_REAL, zeros, 0};
    assert_true(row_order_key(&column, 0) == row_order_key(&column, 1));
}

static void splits_begin_at_borders(void **state)
{
    (void)state;
    const row_order order = {.from = {0, 10, 20}};
    assert_int_equal(row_order_split(&order, 0), 0);
    assert_int_equal(row_order_split(&order, 9), 0);
    assert_int_equal(row_order_split(&order, 10), 1);
    assert_int_equal(row_order_split(&order, 20), 2);
    assert_int_equal(row_order_split(&order, UINT64_MAX), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_are_those_of_sorted_rows),
        cmocka_unit_test(keys_rise_with_values),
        cmocka_unit_test(splits_begin_at_borders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

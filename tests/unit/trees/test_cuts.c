/* Cuts and bins of columns, compared with sorted values of all ranks. */
#include <math.h>

#include "support/random.h"
#include "support/test.h"
#include "trees/data/bins.h"

enum { ROWS = 5000, COLUMNS = 20, FEW = 9, VALUES = 50, MOST = TREE_BYTE_VALUES, WIDE = 1000 };

static float value[COLUMNS][ROWS];
static uint8_t counts[ROWS];

/* Column c: few values in every third; missing ones in every fourth; one of huge and tiny numbers of both signs; one
 * without any value; one with few different values among very many equal ones. */
static void draw(void)
{
    uint64_t state = 3;
    for (int i = 0; i < ROWS; ++i) {
        counts[i] = test_uniform(&state) < 0.8;
        for (int c = 0; c < COLUMNS; ++c) {
            double x = test_uniform(&state) - 0.5;
            x = c % 3 == 0 ? floor(FEW * x) : x;
            x = c == 4 ? ldexp(x, (int)(200.0 * test_uniform(&state)) - 100) : x;
            x = c == 7 && test_uniform(&state) < 0.9 ? 0.25 : x;
            x = c == 10 ? -0.0 * (i % 2) : x;
            value[c][i] = c == 5 || (c % 4 == 1 && test_uniform(&state) < 0.2) ? NAN : (float)x;
        }
    }
}

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* [out] cut: what the header says about column c. Returns how many. */
static int expected(int c, int values, float *cut)
{
    static float sorted[ROWS];
    int n = 0, different = 0, cuts = 0;
    for (int i = 0; i < ROWS; ++i) {
        if (counts[i] && !isnan(value[c][i])) {
            sorted[n++] = value[c][i] + 0.0F;
        }
    }
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    for (int i = 0; i < n; ++i) {
        different += i == 0 || sorted[i] > sorted[i - 1];
    }
    if (different <= values) {
        for (int i = 1; i < n; ++i) {
            if (sorted[i] > sorted[i - 1]) {
                cut[cuts++] = sorted[i];
            }
        }
        return cuts;
    }
    for (int k = 1; k < values; ++k) {
        const float x = sorted[(int64_t)n * k / values];
        if (x > (cuts == 0 ? sorted[0] : cut[cuts - 1])) {
            cut[cuts++] = x;
        }
    }
    return cuts;
}

typedef struct search {
    int values;
    tree_cuts cuts; /* [out] rank 0's */
} search;

static weft_status search_rank(weft_comm *comm, void *argument)
{
    search *s = argument;
    static int64_t id[ROWS];
    const int ranks = comm_size(comm), rank = comm_rank(comm);
    const int first = rank == 0 ? 0 : ROWS / 3 + (ROWS - ROWS / 3) * (rank - 1) / (ranks > 1 ? ranks - 1 : 1);
    const int end = ranks == 1 ? ROWS : rank == 0 ? ROWS / 3 : ROWS / 3 + (ROWS - ROWS / 3) * rank / (ranks - 1);
    tree_column column[COLUMNS];
    for (int c = 0; c < COLUMNS; ++c) {
        column[c] = (tree_column){TABLE_REAL, value[c] + first};
    }
    const tree_columns data = {.rows = end - first, .columns = COLUMNS, .column = column, .id = id};
    tree_cuts cuts;
    const weft_status status = tree_cuts_find(comm, &data, counts + first, s->values, 2, &cuts);
    if (rank == 0) {
        s->cuts = cuts;
    } else {
        tree_cuts_destroy(&cuts);
    }
    return status;
}

static void check_cuts(int ranks, int values)
{
    search s = {.values = values};
    float cut[ROWS];
    ASSERT_OK(comm_thread_run(ranks, search_rank, &s));
    for (int c = 0; c < COLUMNS; ++c) {
        const int count = expected(c, values, cut);
        assert_int_equal(s.cuts.first[c + 1] - s.cuts.first[c], count);
        for (int i = 0; i < count; ++i) {
            assert_true(s.cuts.value[s.cuts.first[c] + i] == cut[i]);
        }
    }
    tree_cuts_destroy(&s.cuts);
}

static void cuts_of_ranks(void **state)
{
    (void)state;
    draw();
    for (int ranks = 1; ranks <= 4; ++ranks) {
        check_cuts(ranks, VALUES);
        check_cuts(ranks, MOST);
        check_cuts(ranks, 2);
    }
    check_cuts(3, WIDE); /* of columns of some 4,000 values */
    check_cuts(2, TREE_VALUES);
}

static void bins(void **state)
{
    (void)state;
    for (int cuts = 0; cuts < MOST + 45; ++cuts) {
        float cut[MOST + 45], x[ROWS];
        uint8_t bin[ROWS];
        uint16_t wide[ROWS];
        for (int i = 0; i < cuts; ++i) {
            cut[i] = (float)i * 0.01F - 1.0F;
        }
        for (int i = 0; i < ROWS; ++i) {
            x[i] = i == 0 ? NAN : i == 1 ? INFINITY : i == 2 ? -INFINITY : (float)(i % 300) * 0.01F - 1.2F;
            x[i] = i > 2 && i % 5 == 0 && cuts > 0 ? cut[i % cuts] : x[i];
        }
        tree_find_wide_bins(cut, cuts, x, ROWS, wide);
        if (cuts < MOST) {
            tree_find_bins(cut, cuts, x, ROWS, bin);
        }
        for (int i = 0; i < ROWS; ++i) {
            int below = 0;
            while (below < cuts && cut[below] <= x[i]) {
                ++below;
            }
            assert_int_equal(wide[i], isnan(x[i]) ? cuts + 1 : below);
            assert_true(cuts >= MOST || bin[i] == wide[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cuts_of_ranks), cmocka_unit_test(bins)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

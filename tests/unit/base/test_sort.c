/* Ids in order: sorted like qsort does, each once, and found. */
#include <stdlib.h>

#include "base/sort.h"
#include "support/random.h"
#include "support/test.h"

static int ascending(const void *a, const void *b)
{
    return (*(const int32_t *)a > *(const int32_t *)b) - (*(const int32_t *)a < *(const int32_t *)b);
}

/* y[count] ascending: x, the same ids, without repeats; and where each stands. */
static void check_distinct(int32_t *x, const int32_t *y, int64_t count, int64_t limit)
{
    const int64_t kept = sort_distinct(x, count, limit);
    int64_t at = 0;
    for (int64_t j = 0; j < count; ++j) {
        at += j > 0 && y[j] != y[j - 1];
        assert_int_equal(x[at], y[j]);
        assert_int_equal(sorted_first(x, 0, kept, y[j]), at);
        assert_int_equal(sorted_first(x, at + 1, kept, y[j]), at + 1);
    }
    assert_int_equal(kept, count > 0 ? at + 1 : 0);
    assert_int_equal(sorted_first(x, 0, kept, limit), kept);
}

static void test_sort(void **state)
{
    (void)state;
    static const int64_t limits[] = {1, 2, 200, 256, 257, 70000, 20000000, INT32_MAX};
    enum { MOST = 3000 };
    static int32_t x[MOST], y[MOST];
    uint64_t random = 77;
    for (int i = 0; i < 8; ++i) {
        for (int64_t count = 0; count < MOST; count = count * 3 / 2 + 7) {
            for (int64_t j = 0; j < count; ++j) {
                x[j] = y[j] = (int32_t)(test_random(&random) % limits[i]);
            }
            sort_ids(x, count, limits[i]);
            qsort(y, (size_t)count, sizeof y[0], ascending);
            assert_memory_equal(x, y, (size_t)count * sizeof x[0]);
            sort_ids(x, count, limits[i]);
            assert_memory_equal(x, y, (size_t)count * sizeof x[0]);
            check_distinct(x, y, count, limits[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

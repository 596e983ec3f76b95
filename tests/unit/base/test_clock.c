/* Spans of time in words. */
#include <math.h>

#include "base/clock.h"
#include "support/test.h"

static void test_words(void **state)
{
    (void)state;
    static const struct {
        double seconds;
        const char *words;
    } cases[] = {
        {0, "0 s"},
        {0.4, "0 s"},
        {0.6, "1 s"},
        {119.4, "119 s"},
        {119.6, "2 min 00 s"},
        {191, "3 min 11 s"},
        {7199.4, "119 min 59 s"},
        {7199.6, "2 h 00 min"},
        {9059, "2 h 30 min"},
        {2 * 86400 - 1, "47 h 59 min"},
        {2 * 86400, "2 days 0 h"},
        {10.5 * 86400, "10 days 12 h"},
        {1e300, "1000000 days 0 h"},
        {INFINITY, "1000000 days 0 h"},
        {-5, "0 s"},
        {NAN, "0 s"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_string_equal(clock_say(cases[i].seconds).text, cases[i].words);
    }
}

static void test_time_goes_on(void **state)
{
    (void)state;
    double wall = clock_seconds(), cpu = clock_cpu_seconds();
    volatile double sum = 0;
    while (clock_cpu_seconds() - cpu < 1e-3) {
        sum = sum + 1;
    }
    assert_true(clock_seconds() > wall);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_time_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

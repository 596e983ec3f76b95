/* The kernel's line of a process, whatever the program calls itself. */
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process_stat.h"
#include "support/test.h"

static void test_own_process(void **state)
{
    static const char *const names[] = {"plain", "a) R 1 (b", "two\nlines)", "\n"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        process_stat stat;
        assert_int_equal(prctl(PR_SET_NAME, names[i]), 0);
        assert_true(process_stat_read("", getpid(), &stat));
        assert_string_equal(stat.name, names[i]);
        assert_int_equal(stat.number, getpid());
        assert_int_equal(stat.parent, getppid());
        assert_int_equal(stat.state, 'R');
        assert_true(stat.began > 0);
        assert_true(stat.cpu >= 0 && stat.cpu < sysconf(_SC_NPROCESSORS_CONF));
        /* Ticks are cut off, not rounded: two of them. */
        assert_true(stat.user + stat.system <= clock_cpu_seconds() * (double)sysconf(_SC_CLK_TCK) + 2);
    }
}

static void test_no_process(void **state)
{
    process_stat stat;
    (void)state;
    assert_false(process_stat_read("", INT64_C(1) << 40, &stat));
    assert_false(process_stat_read("/no/such/folder", 1, &stat));
    assert_false(process_stat_read_at("", "version", &stat));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_process),
        cmocka_unit_test(test_no_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The node that is told is the one where others had most; ranks of a host are added up. */
#include "app/train/train_load.h"
#include "support/test.h"

static train_load_row row(const char *host, int threads, double used)
{
    train_load_row r = {.threads = threads, .used = used};
    snprintf(r.host, sizeof r.host, "%s", host);
    return r;
}

static void test_worst_node(void **state)
{
    (void)state;
    train_load_row rows[] = {row("n1", 2, 19.0), row("n1", 2, 19.0), row("n2", 2, 10.0), row("n2", 2, 14.0)};
    rows[0].seen = (host_load){.seconds = 10.0, .busy = 3.9, .cpus = 4};
    rows[2].seen = (host_load){.seconds = 10.0, .busy = 3.7, .stolen = 0.2, .cpus = 4};
    rows[2].seen.other[0] = (host_process){.cpus = 1.16, .pid = 77, .name = "cc1"};
    rows[2].seen.other[1] = (host_process){.cpus = 0.1, .pid = 78, .name = "ld"};
    train_load load = {.cpus = 0};
    train_load_choose(rows, 4, &load);
    ASSERT_NEAR(load.own, 2.4, 1e-12);
    ASSERT_NEAR(load.others, 1.3, 1e-12);
    ASSERT_NEAR(load.stolen, 0.2, 1e-12);
    assert_int_equal(load.threads, 4);
    assert_int_equal(load.cpus, 4);
    assert_string_equal(load.competitors, "cc1 (pid 77) 1.2, ld (pid 78) 0.1");
}

static void test_nobody_looked(void **state)
{
    (void)state;
    train_load_row rows[] = {row("n1", 2, 19.0)};
    train_load load = {.cpus = 0};
    train_load_choose(rows, 1, &load);
    assert_int_equal(load.cpus, 0);
    assert_string_equal(load.competitors, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_worst_node), cmocka_unit_test(test_nobody_looked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

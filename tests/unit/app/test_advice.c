/* Advice: every rule speaks past its threshold with its figure and option, and is silent before it. */
#include "app/train/advice.h"
#include "support/test.h"

/* A long, balanced job on two nodes that leaves nothing to say. */
static advice_facts good(void)
{
    return (advice_facts){.ranks = 4,
                          .nodes = 2,
                          .threads = 8,
                          .pinned = true,
                          .wall = 100.0,
                          .cpu = 760.0,
                          .prepare = 5.0,
                          .partition = 1.0,
                          .compute_avg = 80.0,
                          .compute_max = 82.0,
                          .halo = 5.0,
                          .train = 90.0,
                          .exposed = 8.0,
                          .evaluate = 4.0,
                          .eval_every = 1,
                          .partitioner = "metis",
                          .balance = 1.03,
                          .own = 15.2,
                          .others = 0.4,
                          .node_threads = 16,
                          .node_cpus = 16,
                          .competitors = "",
                          .node_peak_bytes = 10e9,
                          .node_memory_bytes = 64e9};
}

static void expect_none(advice_facts facts)
{
    char line[ADVICE_LINES][ADVICE_BYTES];
    if (advice_collect(&facts, line) != 0) {
        fail_msg("unexpected advice: %s", line[0]);
    }
}

static void expect_line(advice_facts facts, const char *figure, const char *option)
{
    char line[ADVICE_LINES][ADVICE_BYTES];
    assert_int_equal(advice_collect(&facts, line), 1);
    if (strstr(line[0], figure) == NULL || strstr(line[0], option) == NULL) {
        fail_msg("neither \"%s\" nor \"%s\" in: %s", figure, option, line[0]);
    }
}

static void test_silence(void **state)
{
    (void)state;
    expect_none(good());
    advice_facts brief = good();
    brief.wall = 1.0;
    brief.cpu = 1.0;
    brief.train = 0.5;
    brief.exposed = brief.halo = 0.4;
    brief.compute_max = 300.0;
    expect_none(brief); /* too short for shares to mean something */
}

static void test_imbalance(void **state)
{
    (void)state;
    advice_facts f = good();
    f.compute_max = 80.0 * 1.14;
    expect_none(f);
    f.compute_max = 80.0 * 1.35;
    f.balance = 1.31;
    expect_line(f, "35 % longer", "--balance");
    expect_line(f, "1.31 times", "--partition libra");
    f.partitioner = "libra";
    expect_line(f, "35 %", "--partition auto");
    f.partitioner = NULL; /* a kind whose rows are divided in one way */
    expect_line(f, "35 % longer", "look for other jobs");
    char line[ADVICE_LINES][ADVICE_BYTES];
    assert_int_equal(advice_collect(&f, line), 1);
    assert_null(strstr(line[0], "--partition"));
    f.ranks = 1;
    expect_none(f);
}

static void test_communication(void **state)
{
    (void)state;
    advice_facts f = good();
    f.exposed = 5.0 + 0.14 * 90.0;
    expect_none(f);
    f.exposed = 5.0 + 0.27 * 90.0;
    expect_line(f, "27 % of the training waits", "--overlap split");
    expect_line(f, "27 %", "--wire bf16");
    expect_line(f, "27 %", "--sync auto --allow-lossy");
    f.nodes = 1;
    char line[ADVICE_LINES][ADVICE_BYTES];
    assert_int_equal(advice_collect(&f, line), 1);
    assert_null(strstr(line[0], "--wire")); /* ignored on one node */
    f.overlap_split = true;
    f.lossy = true;
    assert_int_equal(advice_collect(&f, line), 1);
    assert_null(strstr(line[0], "--overlap"));
    assert_null(strstr(line[0], "--sync"));

    f = good();
    f.halo = f.exposed = 0.4 * 90.0;
    expect_line(f, "40 % of the training waits for halo", "--threads");
    f.partitioner = "random";
    expect_line(f, "40 %", "--partition auto");
}

static void test_binding(void **state)
{
    (void)state;
    advice_facts f = good();
    f.cpu = 0.51 * 800.0;
    expect_none(f);
    f.cpu = 0.13 * 800.0;
    expect_line(f, "13 % of the CPU time of 8 threads", "--pin on");
    f.oversubscribed = true;
    expect_line(f, "4 ranks of 8 threads", "or set --threads 1"); /* and not the binding as well */
    f.threads = 1;                                                /* there is nothing left to set */
    char line[ADVICE_LINES][ADVICE_BYTES];
    assert_int_equal(advice_collect(&f, line), 1);
    assert_non_null(
        strstr(line[0], "4 ranks of 1 thread share too few cores: start fewer ranks (mpirun -np); weft doctor"));
}

static void test_competition(void **state)
{
    (void)state;
    char line[ADVICE_LINES][ADVICE_BYTES];
    advice_facts f = good();
    f.others = 0.14 * 16;
    f.own = 0.8 * 16;
    expect_none(f); /* too little to matter */
    f.others = 0.4 * 16;
    f.own = 0.95 * 16;
    expect_none(f); /* the job has what it needs */
    f.own = 0.58 * 16;
    f.competitors = "cc1 (pid 7) 6.0, make (pid 3) 0.4";
    expect_line(f, "58 % CPU use of 16 threads",
                "other processes had 6.4 of 16 CPUs (cc1 (pid 7) 6.0, make (pid 3) 0.4)");
    f.cpu = 0.4 * 800.0;
    expect_line(f, "58 % CPU use", "other processes"); /* and no guess about the binding beside the reason */
    f.competitors = "";
    expect_line(f, "58 % CPU use", "they cannot be seen from here");
    f.others = 0.0;
    f.stolen = 4.0;
    expect_line(f, "58 % CPU use", "the virtual machine's host gave 4.0 CPUs to others");
    f.node_cpus = 0; /* not known */
    f.cpu = 760.0;
    expect_none(f);
    f = good();
    f.cpu = 0.2 * 800.0;
    f.own = 0.2 * 16;
    f.others = 0.2 * 16;
    assert_int_equal(advice_collect(&f, line), 2); /* others explain a part alone */
    f.node_cpus = 64;                              /* loose threads beside idle CPUs */
    f.others = 0.3 * 64;
    assert_int_equal(advice_collect(&f, line), 1);
    assert_non_null(strstr(line[0], "--pin on"));
}

static void test_conversion(void **state)
{
    (void)state;
    advice_facts f = good();
    f.prepare = 60.0;
    f.partition = 50.0;
    expect_line(f, "60 % of the job (60.0 s)", "weft partition");
    f.partition = 2.0;
    expect_none(f); /* from a store already */
    f.generated = true;
    expect_line(f, "60.0 s", "weft convert");
    f.prepare = 30.0;
    expect_none(f);
}

static void test_rest(void **state)
{
    (void)state;
    advice_facts f = good();
    f.evaluate = 40.0;
    expect_line(f, "44 %", "--eval-every");
    f.eval_every = 10;
    expect_none(f);
    f = good();
    f.node_peak_bytes = 60.0 * 0x1p30;
    f.node_memory_bytes = 64.0 * 0x1p30;
    expect_line(f, "60.0 of 64.0 GiB (94 %)", "fewer ranks a node");
    f.node_memory_bytes = 0.0; /* unknown */
    expect_none(f);
}

static void test_order(void **state)
{
    (void)state;
    char line[ADVICE_LINES][ADVICE_BYTES];
    advice_facts f = good();
    f.compute_max = 200.0;
    f.exposed = 50.0;
    f.halo = 30.0;
    f.prepare = 50.0;
    f.generated = true;
    f.evaluate = 40.0;
    f.node_peak_bytes = 63e9;
    f.oversubscribed = true;
    assert_int_equal(advice_collect(&f, line), 7);
    assert_non_null(strstr(line[0], "share too few cores"));
    assert_non_null(strstr(line[6], "GiB"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_silence), cmocka_unit_test(test_imbalance),   cmocka_unit_test(test_communication),
        cmocka_unit_test(test_binding), cmocka_unit_test(test_conversion),  cmocka_unit_test(test_rest),
        cmocka_unit_test(test_order),   cmocka_unit_test(test_competition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

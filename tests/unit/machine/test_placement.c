/*
 * Plans on machines we lack: synthetic descriptions and exported XML. The oracle is a set of properties that every plan
 * must have, checked over all ranks of a node, and plans written out by hand for the named cases.
 */
#include <unistd.h>

#include "base/alloc.h"
#include "machine/control_group.h"
#include "machine/placement.h"
#include "machine/placement_memory.h"
#include "support/test.h"

enum { MAX_RANKS = 64 };

#define TWO_PACKAGES "package:2 [numa] core:16 pu:2"
#define SNC          "package:2 group:2 [numa] core:12 pu:2"
#define KNL          "package:1 [numa(memory=96GB)] [numa(memory=16GB)] core:64 pu:4"

static cpu_set cpus(int first, int count, int stride)
{
    cpu_set set;
    memset(&set, 0, sizeof set);
    for (int i = 0; i < count; i++) {
        cpu_set_add(&set, first + i * stride);
    }
    return set;
}

/* Index of the core that has this hardware thread. */
static int core_of(const machine *m, int cpu)
{
    for (int i = 0; i < m->cores; i++) {
        for (int k = 0; k < 8; k++) {
            if (m->core[i].cpus[k] == cpu) {
                return i;
            }
        }
    }
    return -1;
}

/* Plans of all ranks of a node; every rank has its own call, as in a job. */
static void plan_all(const machine *m, int ranks, const cpu_set *masks, int threads, pin_mode pin, placement *plans)
{
    for (int r = 0; r < ranks; r++) {
        placement_request request = {
            .node_ranks = ranks, .node_rank = r, .masks = masks, .threads = threads, .pin = pin};
        ASSERT_OK(placement_plan(m, &request, &plans[r]));
    }
}

static void free_all(placement *plans, int ranks)
{
    for (int r = 0; r < ranks; r++) {
        placement_free(&plans[r]);
    }
}

/* Pinned plans: allowed CPUs only, no CPU twice, no core twice (no SMT sibling), equal threads. Returns cores used. */
static int check_disjoint(const machine *m, const placement *plans, int ranks)
{
    int used = 0;
    bool core_used[4096] = {false};
    for (int r = 0; r < ranks; r++) {
        assert_true(plans[r].pinned);
        assert_int_equal(plans[r].threads, plans[0].threads);
        assert_int_equal(plans[r].healed, plans[0].healed);
        for (int i = 0; i < plans[r].threads; i++) {
            assert_true(cpu_set_has(&m->allowed, plans[r].cpu[i]));
            assert_true(cpu_set_has(&plans[r].mask, plans[r].cpu[i]));
            int core = core_of(m, plans[r].cpu[i]);
            assert_true(core >= 0 && !core_used[core]);
            core_used[core] = true;
            used++;
        }
    }
    return used;
}

static int numa_nodes_of(const machine *m, const placement *plan)
{
    cpu_set nodes;
    memset(&nodes, 0, sizeof nodes);
    for (int i = 0; i < plan->threads; i++) {
        cpu_set_add(&nodes, m->core[core_of(m, plan->cpu[i])].numa);
    }
    return cpu_set_count(&nodes);
}

/* The launcher binds nothing (every rank may use all), or binds everybody to core 0: the same plan must come out. */
static void check_machine(const char *description, const char *allowed, int cores, const int *aligned)
{
    static const int rank_counts[] = {1, 2, 3, 8};
    machine m;
    ASSERT_OK(machine_from_synthetic(description, allowed, &m));
    for (size_t k = 0; k < sizeof rank_counts / sizeof rank_counts[0]; k++) {
        int ranks = rank_counts[k];
        cpu_set free_masks[MAX_RANKS];
        cpu_set bound_masks[MAX_RANKS];
        for (int r = 0; r < ranks; r++) {
            free_masks[r] = m.allowed;
            bound_masks[r] = cpus(m.core[0].cpus[0], 1, 1);
        }
        placement from_free[MAX_RANKS];
        placement from_bound[MAX_RANKS];
        plan_all(&m, ranks, free_masks, 0, PIN_AUTO, from_free);
        plan_all(&m, ranks, bound_masks, 0, PIN_AUTO, from_bound);
        assert_int_equal(check_disjoint(&m, from_free, ranks), cores / ranks * ranks);
        assert_int_equal(check_disjoint(&m, from_bound, ranks), cores / ranks * ranks);
        assert_int_equal(from_free[0].healed, ranks > 1);
        assert_true(from_bound[0].healed);
        int within_one = 0;
        for (int r = 0; r < ranks; r++) {
            assert_true(cpu_set_equal(&from_free[r].mask, &from_bound[r].mask));
            within_one += numa_nodes_of(&m, &from_free[r]) == 1;
        }
        assert_int_equal(within_one, aligned[k]);
        free_all(from_free, ranks);
        free_all(from_bound, ranks);
    }
    machine_free(&m);
}

static void test_placement_two_packages(void **state)
{
    (void)state;
    check_machine(TWO_PACKAGES, NULL, 32, (const int[]){0, 2, 2, 8});
}

static void test_placement_sub_numa_clusters(void **state)
{
    (void)state;
    /* 3 ranks x 16 cores on nodes of 12: none fits. */
    check_machine(SNC, NULL, 48, (const int[]){0, 0, 0, 8});
    machine m;
    ASSERT_OK(machine_from_synthetic(SNC, NULL, &m));
    assert_int_equal(m.packages, 2);
    assert_int_equal(m.numa_nodes, 4);
    /* 2 ranks: one package (two NUMA nodes) each. */
    cpu_set masks[2] = {m.allowed, m.allowed};
    placement plans[2];
    plan_all(&m, 2, masks, 0, PIN_AUTO, plans);
    for (int r = 0; r < 2; r++) {
        for (int i = 0; i < plans[r].threads; i++) {
            assert_int_equal(m.core[core_of(&m, plans[r].cpu[i])].package, r);
        }
    }
    free_all(plans, 2);
    machine_free(&m);
}

static void test_placement_knl(void **state)
{
    (void)state;
    machine m;
    ASSERT_OK(machine_from_synthetic(KNL, NULL, &m));
    assert_int_equal(m.cores, 64);
    assert_int_equal(m.smt, 4);
    assert_int_equal(m.numa_nodes, 1);
    assert_int_equal(m.memory_only_numa, 1);
    machine_free(&m);
    check_machine(KNL, NULL, 64, (const int[]){1, 2, 3, 8});
}

static void test_placement_single_core(void **state)
{
    (void)state;
    machine m;
    ASSERT_OK(machine_from_synthetic("package:1 core:1 pu:1", NULL, &m));
    cpu_set masks[2] = {m.allowed, m.allowed};
    placement plans[2];
    plan_all(&m, 1, masks, 0, PIN_AUTO, plans);
    assert_int_equal(check_disjoint(&m, plans, 1), 1);
    assert_false(plans[0].healed);
    free_all(plans, 1);
    plan_all(&m, 2, masks, 0, PIN_AUTO, plans);
    for (int r = 0; r < 2; r++) {
        assert_true(plans[r].oversubscribed);
        assert_false(plans[r].pinned);
        assert_int_equal(plans[r].threads, 1);
        assert_true(cpu_set_equal(&plans[r].mask, &m.allowed));
    }
    free_all(plans, 2);
    machine_free(&m);
}

static void test_placement_cut_cpuset(void **state)
{
    (void)state;
    /* Cores 3..12 with both threads, and only the second thread of core 20 (CPU 41). */
    check_machine(TWO_PACKAGES, "6-25,41", 11, (const int[]){0, 2, 3, 8});
    machine m;
    ASSERT_OK(machine_from_synthetic(TWO_PACKAGES, "6-25,41", &m));
    assert_int_equal(m.core[20].cpus[0], 41);
    assert_true(m.core[20].allowed);
    assert_false(m.core[0].allowed);
    machine_free(&m);
}

static void test_placement_spreads_over_numa(void **state)
{
    (void)state;
    machine m;
    ASSERT_OK(machine_from_synthetic(TWO_PACKAGES, NULL, &m));
    cpu_set masks[3] = {m.allowed, m.allowed, m.allowed};
    placement plans[3];
    plan_all(&m, 2, masks, 4, PIN_AUTO, plans); /* two memory controllers, not eight neighbouring cores */
    assert_int_equal(m.core[core_of(&m, plans[0].cpu[0])].numa, 0);
    assert_int_equal(m.core[core_of(&m, plans[1].cpu[0])].numa, 1);
    free_all(plans, 2);
    plan_all(&m, 3, masks, 8, PIN_AUTO, plans); /* 10 cores a rank would make one rank span */
    assert_int_equal(check_disjoint(&m, plans, 3), 24);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(numa_nodes_of(&m, &plans[r]), 1);
    }
    free_all(plans, 3);
    machine_free(&m);
}

static void test_placement_disjoint_masks_are_kept(void **state)
{
    (void)state;
    machine m;
    ASSERT_OK(machine_from_synthetic(TWO_PACKAGES, NULL, &m));
    /* --map-by slot:PE=6 --bind-to core: 6 whole cores each, from core 4. CPUs 2i and 2i+1 are core i. */
    cpu_set masks[2] = {cpus(8, 12, 1), cpus(20, 12, 1)};
    placement plans[2];
    plan_all(&m, 2, masks, 0, PIN_AUTO, plans);
    assert_int_equal(check_disjoint(&m, plans, 2), 12);
    assert_false(plans[0].healed);
    assert_int_equal(plans[0].cpu[0], 8);
    assert_int_equal(plans[1].cpu[5], 30);
    free_all(plans, 2);
    /* --pin on replaces them; they were neither narrow for 6 threads nor overlapping. */
    plan_all(&m, 2, masks, 6, PIN_ON, plans);
    assert_int_equal(plans[0].cpu[0], 0);
    assert_false(plans[0].healed);
    free_all(plans, 2);
    machine_free(&m);
}

static void test_placement_masks_of_unequal_width(void **state)
{
    (void)state;
    machine m;
    ASSERT_OK(machine_from_synthetic(TWO_PACKAGES, NULL, &m));
    /* One wide mask and one of a single core: somebody starves, so all are replaced. */
    cpu_set masks[2] = {cpus(0, 20, 1), cpus(20, 2, 1)};
    placement plans[2];
    plan_all(&m, 2, masks, 0, PIN_AUTO, plans);
    assert_int_equal(check_disjoint(&m, plans, 2), 32);
    assert_true(plans[0].healed);
    free_all(plans, 2);
    /* Siblings of one core given to two ranks overlap: they share the core. */
    cpu_set siblings[2] = {cpus(0, 4, 2), cpus(1, 4, 2)};
    plan_all(&m, 2, siblings, 0, PIN_AUTO, plans);
    assert_true(plans[1].healed);
    assert_int_equal(check_disjoint(&m, plans, 2), 32);
    free_all(plans, 2);
    machine_free(&m);
}

static void test_placement_inherit_and_off(void **state)
{
    (void)state;
    machine m;
    ASSERT_OK(machine_from_synthetic(TWO_PACKAGES, NULL, &m));
    cpu_set one[2] = {cpus(0, 2, 1), cpus(2, 2, 1)};
    placement plans[2];
    plan_all(&m, 2, one, 0, PIN_INHERIT, plans);
    assert_int_equal(check_disjoint(&m, plans, 2), 2);
    assert_int_equal(plans[1].cpu[0], 2);
    free_all(plans, 2);
    cpu_set same[2] = {m.allowed, m.allowed};
    plan_all(&m, 2, same, 0, PIN_INHERIT, plans);
    assert_int_equal(plans[0].threads, 16);
    assert_false(plans[0].pinned);
    free_all(plans, 2);
    plan_all(&m, 2, same, 40, PIN_OFF, plans); /* on purpose: 80 threads on 64 CPUs */
    assert_int_equal(plans[0].threads, 40);
    assert_true(plans[0].oversubscribed);
    assert_false(plans[0].pinned);
    assert_true(cpu_set_equal(&plans[0].mask, &m.allowed));
    free_all(plans, 2);
    machine_free(&m);
}

static void test_placement_explicit_threads(void **state)
{
    (void)state;
    machine m;
    ASSERT_OK(machine_from_synthetic(TWO_PACKAGES, NULL, &m));
    cpu_set masks[MAX_RANKS];
    for (int r = 0; r < MAX_RANKS; r++) {
        masks[r] = m.allowed;
    }
    placement plan;
    placement_request many = {.node_ranks = 2, .node_rank = 0, .masks = masks, .threads = 33, .pin = PIN_AUTO};
    ASSERT_STATUS(placement_plan(&m, &many, &plan), WEFT_ERR_LAUNCH);
    ASSERT_MESSAGE("--threads 16");
    assert_null(plan.cpu);
    /* 32 threads a rank do fit when siblings work too: the user's explicit number wins. */
    placement_request siblings = {.node_ranks = 2, .node_rank = 1, .masks = masks, .threads = 32, .pin = PIN_AUTO};
    ASSERT_OK(placement_plan(&m, &siblings, &plan));
    assert_true(plan.pinned);
    assert_int_equal(cpu_set_count(&plan.mask), 32);
    assert_int_equal(plan.cpu[0], 32);
    assert_int_equal(plan.cpu[16], 33);
    placement_free(&plan);
    /* A kept mask of 4 cores (8 CPUs) does not grow behind the launcher's back. */
    cpu_set narrow[2] = {cpus(0, 8, 1), cpus(8, 8, 1)};
    placement_request wide = {.node_ranks = 2, .node_rank = 0, .masks = narrow, .threads = 9, .pin = PIN_AUTO};
    ASSERT_STATUS(placement_plan(&m, &wide, &plan), WEFT_ERR_LAUNCH);
    ASSERT_MESSAGE("--pin on");
    /* Nobody bound a process that may use all of the node; one with fewer threads does not have all cores. */
    placement_request alone = {.node_ranks = 1, .masks = masks, .threads = 4000, .pin = PIN_AUTO};
    ASSERT_STATUS(placement_plan(&m, &alone, &plan), WEFT_ERR_LAUNCH);
    ASSERT_MESSAGE("this process may use 32 cores (64 CPUs): use --threads 32");
    alone.threads = 3;
    ASSERT_OK(placement_plan(&m, &alone, &plan));
    assert_string_equal(plan.reason, "3 of the node's 32 cores");
    placement_free(&plan);
    alone.threads = 32;
    ASSERT_OK(placement_plan(&m, &alone, &plan));
    assert_string_equal(plan.reason, "all 32 cores of the node");
    placement_free(&plan);
    /* One thread a rank on too many ranks is a crowded node, not a wrong number. */
    placement_request crowd = {.node_ranks = 33, .node_rank = 32, .masks = masks, .threads = 1, .pin = PIN_AUTO};
    ASSERT_OK(placement_plan(&m, &crowd, &plan));
    assert_true(plan.oversubscribed);
    placement_free(&plan);
    placement_request crowd2 = {.node_ranks = 33, .node_rank = 32, .masks = masks, .threads = 2, .pin = PIN_AUTO};
    ASSERT_STATUS(placement_plan(&m, &crowd2, &plan), WEFT_ERR_LAUNCH);
    machine_free(&m);
}

static void test_placement_cpu_quota(void **state)
{
    (void)state;
    machine m;
    ASSERT_OK(machine_from_synthetic(TWO_PACKAGES, NULL, &m));
    m.quota_cpus = 6;
    cpu_set masks[2] = {m.allowed, m.allowed};
    placement plans[2];
    plan_all(&m, 2, masks, 0, PIN_AUTO, plans);
    assert_int_equal(plans[0].threads, 3);
    free_all(plans, 2);
    machine_free(&m);
}

/* ---- the communication thread ------------------------------------------------------------------------------------ */
typedef struct comm_wish {
    const char *machine;
    int ranks, nodes, threads; /* of this node, of the job, asked for */
    pin_mode pin;
    comm_thread_mode mode;
    /* expected */
    int computing;
    bool thread, aside; /* aside: a CPU of its own */
} comm_wish;

#define ONE_PACKAGE(cores) "package:1 [numa] core:" #cores " pu:2"

static const comm_wish comm_wishes[] = {
    /* One rank has nobody to talk to. */
    {TWO_PACKAGES, 1, 1, 0, PIN_AUTO, COMM_THREAD_AUTO, 32, false, false},
    {TWO_PACKAGES, 1, 1, 0, PIN_AUTO, COMM_THREAD_ON, 32, false, false},
    /* 16, 4, 3 and 2 cores a rank. */
    {TWO_PACKAGES, 2, 1, 0, PIN_AUTO, COMM_THREAD_AUTO, 15, true, true},
    {TWO_PACKAGES, 8, 1, 0, PIN_AUTO, COMM_THREAD_AUTO, 3, true, true},
    {ONE_PACKAGE(6), 2, 1, 0, PIN_AUTO, COMM_THREAD_AUTO, 3, false, false},
    {ONE_PACKAGE(6), 2, 1, 0, PIN_AUTO, COMM_THREAD_ON, 2, true, true},
    {ONE_PACKAGE(6), 2, 2, 0, PIN_AUTO, COMM_THREAD_AUTO, 2, true, true},
    {ONE_PACKAGE(4), 2, 1, 0, PIN_AUTO, COMM_THREAD_AUTO, 2, false, false},
    {ONE_PACKAGE(4), 2, 1, 0, PIN_AUTO, COMM_THREAD_ON, 2, true, false},
    {ONE_PACKAGE(4), 2, 4, 0, PIN_AUTO, COMM_THREAD_AUTO, 2, true, false},
    /* One rank a node of several. */
    {ONE_PACKAGE(8), 1, 4, 0, PIN_AUTO, COMM_THREAD_AUTO, 7, true, true},
    {ONE_PACKAGE(8), 1, 4, 0, PIN_AUTO, COMM_THREAD_OFF, 8, false, false},
    /* More ranks than cores. */
    {ONE_PACKAGE(2), 3, 1, 0, PIN_AUTO, COMM_THREAD_AUTO, 1, false, false},
    {ONE_PACKAGE(2), 3, 1, 0, PIN_AUTO, COMM_THREAD_ON, 1, true, false},
    /* An explicit number of threads is kept; the core comes from what it leaves. */
    {TWO_PACKAGES, 2, 1, 12, PIN_AUTO, COMM_THREAD_AUTO, 12, true, true},
    {TWO_PACKAGES, 2, 1, 16, PIN_AUTO, COMM_THREAD_AUTO, 16, false, false},
    {TWO_PACKAGES, 2, 1, 16, PIN_AUTO, COMM_THREAD_ON, 16, true, false},
    {TWO_PACKAGES, 2, 1, 32, PIN_AUTO, COMM_THREAD_ON, 32, true, false},
    /* Nothing is pinned, but there is room. */
    {TWO_PACKAGES, 2, 1, 0, PIN_OFF, COMM_THREAD_AUTO, 15, true, false},
    {TWO_PACKAGES, 2, 1, 0, PIN_ON, COMM_THREAD_ON, 15, true, true},
};

static void check_comm_wish(const comm_wish *wish)
{
    machine m;
    cpu_set masks[MAX_RANKS];
    cpu_set used;
    int threads = 0;
    memset(&used, 0, sizeof used);
    ASSERT_OK(machine_from_synthetic(wish->machine, NULL, &m));
    for (int r = 0; r < wish->ranks; r++) {
        masks[r] = m.allowed;
    }
    for (int r = 0; r < wish->ranks; r++) {
        placement plan;
        placement_request request = {.node_ranks = wish->ranks,
                                     .node_rank = r,
                                     .masks = masks,
                                     .threads = wish->threads,
                                     .pin = wish->pin,
                                     .comm_thread = wish->mode,
                                     .job_ranks = wish->ranks * wish->nodes,
                                     .nodes = wish->nodes};
        ASSERT_OK(placement_plan(&m, &request, &plan));
        assert_int_equal(plan.threads, wish->computing);
        assert_int_equal(plan.comm_thread, wish->thread);
        assert_int_equal(plan.comm_cpu >= 0, wish->aside);
        assert_int_equal(strstr(plan.reason, "communication") != NULL, wish->thread);
        if (wish->aside) { /* a whole core that nobody else uses, next to the rank's */
            int core = core_of(&m, plan.comm_cpu);
            assert_false(cpu_set_has(&plan.mask, plan.comm_cpu));
            for (int k = 0; k < 2; k++) {
                assert_false(cpu_set_has(&used, m.core[core].cpus[k]));
            }
            assert_int_equal(m.core[core].numa, m.core[core_of(&m, plan.cpu[0])].numa);
            cpu_set_add(&used, plan.comm_cpu);
            threads++;
        }
        for (int i = 0; plan.pinned && i < plan.threads; i++) {
            assert_false(cpu_set_has(&used, plan.cpu[i]));
            cpu_set_add(&used, plan.cpu[i]);
            threads++;
        }
        placement_free(&plan);
    }
    assert_int_equal(cpu_set_count(&used), threads);
    machine_free(&m);
}

static void test_placement_of_the_communication_thread(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof comm_wishes / sizeof comm_wishes[0]; i++) {
        check_comm_wish(&comm_wishes[i]);
    }
}

/* Masks of the launcher are kept: the core comes out of the rank's own. */
static void test_placement_of_the_communication_thread_in_kept_masks(void **state)
{
    (void)state;
    machine m;
    ASSERT_OK(machine_from_synthetic(TWO_PACKAGES, NULL, &m));
    cpu_set masks[2] = {cpus(8, 12, 1), cpus(20, 12, 1)}; /* 6 whole cores each */
    for (int r = 0; r < 2; r++) {
        placement plan;
        placement_request request = {
            .node_ranks = 2, .node_rank = r, .masks = masks, .pin = PIN_AUTO, .job_ranks = 2, .nodes = 1};
        ASSERT_OK(placement_plan(&m, &request, &plan));
        assert_int_equal(plan.threads, 5);
        assert_true(plan.comm_thread);
        assert_int_equal(plan.comm_cpu, 8 + 12 * r + 10);
        assert_false(cpu_set_has(&plan.mask, plan.comm_cpu));
        assert_int_equal(cpu_set_count(&plan.mask), 5);
        placement_free(&plan);
    }
    machine_free(&m);
}

static void test_placement_text(void **state)
{
    (void)state;
    machine m;
    ASSERT_OK(machine_from_synthetic(SNC, NULL, &m));
    cpu_set masks[4];
    placement plans[4];
    cpu_set together;
    memset(&together, 0, sizeof together);
    for (int r = 0; r < 4; r++) {
        masks[r] = m.allowed;
    }
    plan_all(&m, 4, masks, 0, PIN_AUTO, plans);
    for (int i = 0; i < m.cores; i++) {
        cpu_set_add(&together, m.core[i].cpus[0]);
    }
    char line[512];
    placement_describe(&m, "n03", 4, &plans[0], &together, line, sizeof line);
    assert_non_null(strstr(line, "node n03: 4 ranks x 12 threads, CPUs 0,2,4,"));
    assert_non_null(strstr(line, "NUMA 0-3, SMT unused, pinned by weft"));
    free_all(plans, 4);
    machine_free(&m);
    char text[16];
    cpu_set set = cpus(0, 4, 1);
    cpu_set_add(&set, 8);
    assert_string_equal(cpu_set_text(&set, text, sizeof text), "0-3,8");
    cpu_set odd = cpus(1, 100, 2);
    assert_string_equal(cpu_set_text(&odd, text, sizeof text), "1,3,5,7,9,11...");
    memset(&set, 0, sizeof set);
    assert_string_equal(cpu_set_text(&set, text, sizeof text), "none");
    cpu_set_add(&set, PLACEMENT_MAX_CPUS);
    assert_int_equal(cpu_set_count(&set), 0);
}

static void test_machine_from_xml(void **state)
{
    (void)state;
    machine m;
    ASSERT_OK(machine_from_xml(WEFT_SOURCE_DIR "/tests/data/topology_2x4x2_mcdram.xml", &m));
    assert_int_equal(m.packages, 2);
    assert_int_equal(m.cores, 8);
    assert_int_equal(m.smt, 2);
    assert_int_equal(m.numa_nodes, 2);
    assert_int_equal(m.memory_only_numa, 2);
    assert_int_equal(m.core[4].numa, 1);
    assert_int_equal(cpu_set_count(&m.allowed), 12); /* the control group of the description: CPUs 2-13 */
    assert_false(m.core[0].allowed);
    assert_int_equal(m.l2_bytes, 1048576);
    assert_string_equal(m.model, "Described 2x4x2");
    machine_free(&m);
    ASSERT_OK(machine_from_xml(WEFT_SOURCE_DIR "/tests/data/topology_recorded_vm.xml", &m)); /* a small cloud machine */
    assert_int_equal(m.cores, 2);
    assert_int_equal(m.numa_nodes, 1);
    assert_int_equal(m.smt, 1);
    assert_int_equal(m.memory_only_numa, 0);
    assert_int_equal(m.l2_bytes, 2097152);
    assert_string_equal(m.model, "Intel(R) Xeon(R) Processor");
    machine_free(&m);
    ASSERT_STATUS(machine_from_xml("/nonexistent.xml", &m), WEFT_ERR_DATA);
    ASSERT_STATUS(machine_from_synthetic("package:two", NULL, &m), WEFT_ERR_DATA);
    ASSERT_STATUS(machine_from_synthetic("core:2 pu:1", "x", &m), WEFT_ERR_USAGE);
    ASSERT_STATUS(machine_from_synthetic("core:2 pu:1", "7", &m), WEFT_ERR_LAUNCH);
    assert_null(m.core);
}

static void test_machine_detect_agrees_with_the_system(void **state)
{
    (void)state;
    machine m;
    cpu_set before;
    cpu_set after;
    ASSERT_OK(placement_current_mask(&before));
    ASSERT_OK(machine_detect(&m));
    ASSERT_OK(placement_current_mask(&after));
    assert_true(cpu_set_equal(&before, &after)); /* asking the kernel leaves no trace */
    for (int cpu = 0; cpu < PLACEMENT_MAX_CPUS; cpu++) {
        assert_true(!cpu_set_has(&before, cpu) || cpu_set_has(&m.allowed, cpu));
    }
    assert_true(m.cores >= 1 && cpu_set_count(&m.allowed) <= sysconf(_SC_NPROCESSORS_CONF));
    assert_true(m.memory_bytes > UINT64_C(64) << 20);
    machine_free(&m);
}

static void test_placement_survives_failed_allocations(void **state)
{
    (void)state;
    machine m;
    ASSERT_OK(machine_from_synthetic(TWO_PACKAGES, NULL, &m));
    cpu_set starved[2] = {cpus(0, 2, 1), cpus(0, 2, 1)};
    cpu_set wide[2] = {cpus(0, 8, 1), cpus(8, 8, 1)};
    const placement_request requests[] = {{.node_ranks = 2, .node_rank = 1, .masks = starved, .pin = PIN_AUTO},
                                          {.node_ranks = 2, .node_rank = 1, .masks = wide, .pin = PIN_AUTO}};
    machine again;
    int failures = 0;
    for (size_t k = 0; k < sizeof requests / sizeof requests[0]; k++) {
        placement plan;
        for (uint64_t n = 1;; n++) {
            weft_alloc_fail_after(n);
            weft_status status = placement_plan(&m, &requests[k], &plan);
            if (status == WEFT_OK) {
                break;
            }
            failures++;
            assert_int_equal(status, WEFT_ERR_RESOURCE);
            assert_null(plan.cpu);
        }
        weft_alloc_fail_after(0);
        placement_free(&plan);
    }
    assert_true(failures >= 4);
    weft_alloc_fail_after(1);
    ASSERT_STATUS(machine_from_synthetic(TWO_PACKAGES, NULL, &again), WEFT_ERR_RESOURCE);
    weft_alloc_fail_after(0);
    assert_null(again.core);
    machine_free(&m);
}

/* ---- control groups and memory from imitated files ---- */

static char root[256];

static void put(const char *path, const char *text)
{
    char command[1024];
    snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s/%s')\"", root, path);
    assert_int_equal(system(command), 0);
    char full[512];
    snprintf(full, sizeof full, "%s/%s", root, path);
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int make_root(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/weft-placement-XXXXXX");
    return mkdtemp(root) == NULL;
}

static int remove_root(void **state)
{
    (void)state;
    char command[512];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    return system(command);
}

static void test_control_group_v2(void **state)
{
    (void)state;
    assert_true(control_group_memory(root) == UINT64_MAX);
    assert_int_equal(control_group_cpus(root), 0);
    put("proc/self/cgroup", "0::/slurm/job_7/step_0\n");
    put("sys/fs/cgroup/slurm/job_7/step_0/memory.max", "max\n");
    put("sys/fs/cgroup/slurm/job_7/step_0/memory.current", "1000\n");
    put("sys/fs/cgroup/slurm/job_7/memory.max", "8000000\n"); /* the limit stands at the job, not at the step */
    put("sys/fs/cgroup/slurm/job_7/memory.current", "3000000\n");
    put("sys/fs/cgroup/slurm/job_7/memory.stat", "anon 1\nfile 900000\ninactive_file 500000\n");
    put("sys/fs/cgroup/slurm/cpu.max", "250000 100000\n");
    put("sys/fs/cgroup/slurm/job_7/cpu.max", "max 100000\n");
    assert_int_equal(control_group_memory(root), 5500000);
    assert_int_equal(control_group_cpus(root), 2);
}

static void test_control_group_v1(void **state)
{
    (void)state;
    put("proc/self/cgroup", "4:memory:/job\n3:cpuset:/\n2:cpu,cpuacct:/job\n0::/\n");
    put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "4096000\n");
    put("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "96000\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n");
    put("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000\n");
    put("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    assert_int_equal(control_group_memory(root), 4000000);
    assert_int_equal(control_group_cpus(root), 1);
}

static void test_memory_files(void **state)
{
    (void)state;
    put("proc/meminfo", "MemTotal:       100 kB\nMemFree:  10 kB\nMemAvailable:   60 kB\n");
    put("sys/devices/system/node/node1/meminfo",
        "Node 1 MemTotal:  99 kB\nNode 1 MemFree:  7 kB\nNode 1 Active(file): 2 kB\nNode 1 Inactive(file): 1 kB\n");
    assert_int_equal(memory_of_machine(root), 60 * 1024);
    assert_int_equal(memory_of_node(root, 1), 10 * 1024);
    assert_int_equal(memory_of_node(root, 2), 0);
    uint64_t now = placement_memory_available();
    assert_true(now > 0 && now <= memory_of_machine("/") + (UINT64_C(1) << 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_placement_two_packages),
        cmocka_unit_test(test_placement_sub_numa_clusters),
        cmocka_unit_test(test_placement_knl),
        cmocka_unit_test(test_placement_single_core),
        cmocka_unit_test(test_placement_cut_cpuset),
        cmocka_unit_test(test_placement_spreads_over_numa),
        cmocka_unit_test(test_placement_disjoint_masks_are_kept),
        cmocka_unit_test(test_placement_masks_of_unequal_width),
        cmocka_unit_test(test_placement_inherit_and_off),
        cmocka_unit_test(test_placement_explicit_threads),
        cmocka_unit_test(test_placement_cpu_quota),
        cmocka_unit_test(test_placement_of_the_communication_thread),
        cmocka_unit_test(test_placement_of_the_communication_thread_in_kept_masks),
        cmocka_unit_test(test_placement_text),
        cmocka_unit_test(test_placement_survives_failed_allocations),
        cmocka_unit_test(test_machine_from_xml),
        cmocka_unit_test(test_machine_detect_agrees_with_the_system),
        cmocka_unit_test_setup_teardown(test_control_group_v2, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_control_group_v1, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_memory_files, make_root, remove_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

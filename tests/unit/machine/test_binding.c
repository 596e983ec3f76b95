/*
 * Who bound a rank and what its job has: launches as they were recorded (environment, mask of the process, mask of
 * mpirun), judged and planned together. The expected CPUs are written out by hand.
 */
#include <stdlib.h>
#include <unistd.h>

#include "machine/binding.h"
#include "support/test.h"

#define PC   "package:1 [numa] core:4 pu:1"
#define NODE "package:2 [numa] core:8 pu:2" /* CPUs 2 i and 2 i + 1 are core i */

enum { RANKS = 2, VARIABLES = 8 };

#define MPIRUN       "OMPI_COMM_WORLD_SIZE=1"
#define BOUND        "OMPI_MCA_orte_bound_at_launch=1"
#define SRUN         "SLURM_JOB_ID=7", "SLURM_STEP_NUM_TASKS=1", "PMIX_RANK=0"
#define GRANTS(cpus) "SLURM_JOB_ID=7", "SLURM_CPUS_ON_NODE=" #cpus

typedef struct launch {
    const char *title, *machine;
    const char *allowed; /* of the control group; NULL: all */
    const char *environment[VARIABLES];
    const char *mask[RANKS]; /* of each rank; the second may be NULL */
    const char *parent;      /* mask of mpirun; NULL: not seen */
    bool by_openmp;
    pin_mode pin;
    /* expected */
    bound_by by;
    const char *cpus[RANKS]; /* the plan's mask */
    int threads;
    bool pinned;
    const char *reason;
} launch;

static const launch launches[] = {
    /* No launcher: the mask is the user's will. */
    {"alone",
     PC,
     NULL,
     {NULL},
     {"0-3"},
     NULL,
     false,
     PIN_AUTO,
     BOUND_BY_PROCESS,
     {"0-3"},
     4,
     true,
     "all 4 cores of the node"},
    {"taskset",
     PC,
     NULL,
     {NULL},
     {"2"},
     NULL,
     false,
     PIN_AUTO,
     BOUND_BY_PROCESS,
     {"2"},
     1,
     true,
     "leaves 1 of the node's 4"},
    {"taskset, --pin on",
     PC,
     NULL,
     {NULL},
     {"1,3"},
     NULL,
     false,
     PIN_ON,
     BOUND_BY_PROCESS,
     {"1,3"},
     2,
     true,
     "job's 2 cores"},
    {"taskset of siblings",
     NODE,
     NULL,
     {NULL},
     {"0-3"},
     NULL,
     false,
     PIN_AUTO,
     BOUND_BY_PROCESS,
     {"0,2"},
     2,
     true,
     "is kept"},
    {"taskset of second siblings",
     NODE,
     NULL,
     {NULL},
     {"1,3"},
     NULL,
     false,
     PIN_AUTO,
     BOUND_BY_PROCESS,
     {"1,3"},
     2,
     true,
     "is kept"},
    {"a control group of two CPUs",
     PC,
     "1-2",
     {NULL},
     {"1-2"},
     NULL,
     false,
     PIN_AUTO,
     BOUND_BY_PROCESS,
     {"1-2"},
     2,
     true,
     "all 2 cores"},
    /* mpirun's own binding of small jobs is replaced, within what mpirun has. */
    {"one rank",
     PC,
     NULL,
     {MPIRUN, BOUND},
     {"0"},
     "0-3",
     false,
     PIN_AUTO,
     BOUND_BY_MPIRUN,
     {"0-3"},
     4,
     true,
     "replaced by 4 cores"},
    {"two ranks",
     PC,
     NULL,
     {MPIRUN, BOUND},
     {"0", "1"},
     "0-3",
     false,
     PIN_AUTO,
     BOUND_BY_MPIRUN,
     {"0-1", "2-3"},
     2,
     true,
     "replaced by 2 cores"},
    {"not bound",
     PC,
     NULL,
     {MPIRUN},
     {"0-3", "0-3"},
     "0-3",
     false,
     PIN_AUTO,
     BOUND_BY_MPIRUN,
     {"0-1", "2-3"},
     2,
     true,
     "overlap"},
    {"--bind-to core",
     PC,
     NULL,
     {MPIRUN, BOUND, "OMPI_MCA_hwloc_base_binding_policy=core"},
     {"0"},
     "0-3",
     false,
     PIN_AUTO,
     BOUND_BY_MPIRUN,
     {"0-3"},
     4,
     true,
     "replaced"},
    {"mpirun unseen",
     PC,
     NULL,
     {MPIRUN, BOUND},
     {"0"},
     NULL,
     false,
     PIN_AUTO,
     BOUND_BY_MPIRUN,
     {"0-3"},
     4,
     true,
     "replaced"},
    {"taskset mpirun",
     PC,
     NULL,
     {MPIRUN, BOUND},
     {"1"},
     "1-2",
     false,
     PIN_AUTO,
     BOUND_BY_MPIRUN,
     {"1-2"},
     2,
     true,
     "replaced by 2 cores"},
    {"taskset mpirun, bound elsewhere",
     PC,
     NULL,
     {MPIRUN, BOUND},
     {"0"},
     "3",
     false,
     PIN_AUTO,
     BOUND_BY_MPIRUN,
     {"3"},
     1,
     true,
     "does not have"},
    {"OMP_PROC_BIND",
     PC,
     NULL,
     {MPIRUN},
     {"0", "0"},
     "0-3",
     true,
     PIN_AUTO,
     BOUND_BY_MPIRUN,
     {"0-1", "2-3"},
     2,
     true,
     "replaced"},
    {"inherit",
     PC,
     NULL,
     {MPIRUN, BOUND},
     {"0", "1"},
     "0-3",
     false,
     PIN_INHERIT,
     BOUND_BY_MPIRUN,
     {"0", "1"},
     1,
     true,
     "kept"},
    /* mpirun was told which CPUs. */
    {"--cpu-set",
     PC,
     NULL,
     {MPIRUN, BOUND, "OMPI_MCA_hwloc_base_cpu_set=1"},
     {"1"},
     "0-3",
     false,
     PIN_AUTO,
     BOUND_BY_MPIRUN,
     {"1"},
     1,
     true,
     "job's 1 cores"},
    {"--cpu-set of two",
     PC,
     NULL,
     {MPIRUN, BOUND, "OMPI_MCA_hwloc_base_cpu_set=2,3"},
     {"2"},
     "0-3",
     false,
     PIN_AUTO,
     BOUND_BY_MPIRUN,
     {"2-3"},
     2,
     true,
     "replaced by 2 cores"},
    {"--cpu-set counts cores",
     NODE,
     NULL,
     {MPIRUN, BOUND, "OMPI_MCA_hwloc_base_cpu_set=4-5"},
     {"8-9"},
     "0-31",
     false,
     PIN_AUTO,
     BOUND_BY_MPIRUN,
     {"8,10"},
     2,
     true,
     "replaced by 2 cores"},
    {"--cpu-set of other numbers",
     PC,
     NULL,
     {MPIRUN, BOUND, "OMPI_MCA_hwloc_base_cpu_set=0"},
     {"2"},
     "0-3",
     false,
     PIN_AUTO,
     BOUND_ON_PURPOSE,
     {"2"},
     1,
     true,
     "told"},
    {"--cpu-set that is none",
     PC,
     NULL,
     {MPIRUN, BOUND, "OMPI_MCA_hwloc_base_cpu_set=1-9"},
     {"1"},
     "0-3",
     false,
     PIN_AUTO,
     BOUND_ON_PURPOSE,
     {"1"},
     1,
     true,
     "told"},
    {"--cpu-list",
     PC,
     NULL,
     {MPIRUN, BOUND, "OMPI_MCA_hwloc_base_cpu_list=3,1"},
     {"3", "1"},
     "0-3",
     false,
     PIN_AUTO,
     BOUND_ON_PURPOSE,
     {"3", "1"},
     1,
     true,
     "told"},
    {"--cpu-list, --pin on",
     PC,
     NULL,
     {MPIRUN, BOUND, "OMPI_MCA_hwloc_base_cpu_list=3,1"},
     {"3", "1"},
     "0-3",
     false,
     PIN_ON,
     BOUND_ON_PURPOSE,
     {"0-1", "2-3"},
     2,
     true,
     "a share"},
    {"rankfile",
     PC,
     NULL,
     {MPIRUN, "OMPI_MCA_orte_rankfile=rf"},
     {"3"},
     "0-3",
     false,
     PIN_AUTO,
     BOUND_ON_PURPOSE,
     {"3"},
     1,
     true,
     "told"},
    {"PE=1",
     PC,
     NULL,
     {MPIRUN, BOUND, "OMPI_MCA_rmaps_base_mapping_policy=slot:PE=1"},
     {"0", "1"},
     "0-3",
     false,
     PIN_AUTO,
     BOUND_ON_PURPOSE,
     {"0", "1"},
     1,
     true,
     "told"},
    {"mpirun taskset",
     PC,
     NULL,
     {MPIRUN, BOUND, "OMPI_COMMAND=/usr/bin/taskset", "OMPI_ARGV=-c 2 weft"},
     {"2"},
     "0-3",
     false,
     PIN_AUTO,
     BOUND_ON_PURPOSE,
     {"2"},
     1,
     true,
     "told"},
    {"mpirun numactl -N",
     PC,
     NULL,
     {MPIRUN, BOUND, "OMPI_COMMAND=numactl", "OMPI_ARGV=-N 0 weft"},
     {"0-1", "0-1"},
     "0-3",
     false,
     PIN_AUTO,
     BOUND_ON_PURPOSE,
     {"0", "1"},
     1,
     true,
     "job's 2 cores"},
    {"mpirun numactl of memory",
     PC,
     NULL,
     {MPIRUN, BOUND, "OMPI_COMMAND=numactl", "OMPI_ARGV=--interleave=all weft"},
     {"0"},
     "0-3",
     false,
     PIN_AUTO,
     BOUND_BY_MPIRUN,
     {"0-3"},
     4,
     true,
     "replaced"},
    {"a wrapper that binds",
     PC,
     NULL,
     {MPIRUN, "OMPI_MCA_hwloc_base_binding_policy=none"},
     {"3", "1"},
     "0-3",
     false,
     PIN_AUTO,
     BOUND_ON_PURPOSE,
     {"3", "1"},
     1,
     true,
     "told"},
    /* Resource managers and other launchers: their masks are the law. */
    {"srun -c 1",
     PC,
     NULL,
     {SRUN, "SLURM_CPUS_ON_NODE=1"},
     {"2"},
     NULL,
     false,
     PIN_AUTO,
     BOUND_BY_LAUNCHER,
     {"2"},
     1,
     true,
     "masks are kept"},
    {"srun -n 2 -c 1",
     PC,
     NULL,
     {SRUN, "SLURM_CPUS_ON_NODE=2"},
     {"2", "3"},
     NULL,
     false,
     PIN_AUTO,
     BOUND_BY_LAUNCHER,
     {"2", "3"},
     1,
     true,
     "masks are kept"},
    {"srun -n 2 in a control group",
     PC,
     "2-3",
     {SRUN, "SLURM_CPUS_ON_NODE=2"},
     {"2-3", "2-3"},
     NULL,
     false,
     PIN_AUTO,
     BOUND_BY_LAUNCHER,
     {"2", "3"},
     1,
     true,
     "a share"},
    {"srun, --pin on",
     PC,
     NULL,
     {SRUN, "SLURM_CPUS_ON_NODE=1"},
     {"2"},
     NULL,
     false,
     PIN_ON,
     BOUND_BY_LAUNCHER,
     {"2"},
     1,
     true,
     "a share"},
    {"srun binds nobody",
     PC,
     NULL,
     {SRUN, "SLURM_CPUS_ON_NODE=1"},
     {"0-3"},
     NULL,
     false,
     PIN_AUTO,
     BOUND_BY_LAUNCHER,
     {"0-3"},
     1,
     false,
     "Slurm grants 1 of 4 CPUs"},
    {"srun binds nobody to all",
     PC,
     NULL,
     {SRUN, "SLURM_CPUS_ON_NODE=4"},
     {"0-3"},
     NULL,
     false,
     PIN_AUTO,
     BOUND_BY_LAUNCHER,
     {"0-3"},
     4,
     true,
     "masks are kept"},
    {"sbatch",
     PC,
     NULL,
     {GRANTS(1), "SLURM_PROCID=0"},
     {"3"},
     NULL,
     false,
     PIN_AUTO,
     BOUND_BY_PROCESS,
     {"3"},
     1,
     true,
     "is kept"},
    {"sbatch, mpirun",
     PC,
     NULL,
     {MPIRUN, BOUND, GRANTS(2)},
     {"0"},
     "2-3",
     false,
     PIN_AUTO,
     BOUND_BY_MPIRUN,
     {"2-3"},
     2,
     true,
     "does not have"},
    {"sbatch, mpirun, nobody bound",
     PC,
     NULL,
     {MPIRUN, BOUND, GRANTS(2)},
     {"0"},
     "0-3",
     false,
     PIN_AUTO,
     BOUND_BY_MPIRUN,
     {"0-3"},
     2,
     false,
     "Slurm grants 2 of 4 CPUs"},
    {"sbatch, mpirun unseen",
     PC,
     NULL,
     {MPIRUN, BOUND, GRANTS(1)},
     {"0"},
     NULL,
     false,
     PIN_AUTO,
     BOUND_ON_PURPOSE,
     {"0"},
     1,
     true,
     "told"},
    {"PBS",
     PC,
     NULL,
     {"PBS_JOBID=1.host", "NCPUS=2"},
     {"0-3"},
     NULL,
     false,
     PIN_AUTO,
     BOUND_BY_PROCESS,
     {"0-3"},
     2,
     false,
     "PBS grants 2 of 4"},
    {"Torque",
     PC,
     NULL,
     {"PBS_JOBID=1.host", "PBS_NUM_PPN=3"},
     {"0-3"},
     NULL,
     false,
     PIN_AUTO,
     BOUND_BY_PROCESS,
     {"0-3"},
     3,
     false,
     "PBS grants 3 of 4"},
    {"LSF",
     PC,
     NULL,
     {"LSB_JOBID=1", "LSB_DJOB_NUMPROC=2"},
     {"0-3"},
     NULL,
     false,
     PIN_AUTO,
     BOUND_BY_PROCESS,
     {"0-3"},
     2,
     false,
     "LSF grants 2"},
    {"Grid Engine",
     PC,
     NULL,
     {"JOB_ID=1", "SGE_TASK_ID=undefined", "NSLOTS=1"},
     {"0-3"},
     NULL,
     false,
     PIN_AUTO,
     BOUND_BY_PROCESS,
     {"0-3"},
     1,
     false,
     "Grid Engine grants 1"},
    {"Hydra binds",
     PC,
     NULL,
     {"PMI_RANK=0", "PMI_SIZE=2"},
     {"1", "2"},
     NULL,
     false,
     PIN_AUTO,
     BOUND_BY_LAUNCHER,
     {"1", "2"},
     1,
     true,
     "masks are kept"},
    {"Hydra does not",
     PC,
     NULL,
     {"PMI_RANK=0", "PMI_SIZE=2"},
     {"0-3", "0-3"},
     NULL,
     false,
     PIN_AUTO,
     BOUND_BY_LAUNCHER,
     {"0-1", "2-3"},
     2,
     true,
     "a share of the node's 4"},
    {"Hydra overlaps",
     PC,
     NULL,
     {"PMI_RANK=0", "PMI_SIZE=2"},
     {"0-2", "1-3"},
     NULL,
     false,
     PIN_AUTO,
     BOUND_BY_LAUNCHER,
     {"0-2", "1-3"},
     2,
     false,
     "overlap"},
};

static cpu_set set_of(const char *text)
{
    cpu_set set;
    char *end = NULL;
    memset(&set, 0, sizeof set);
    while (text != NULL && *text != '\0') {
        const long first = strtol(text, &end, 10);
        const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long cpu = first; cpu <= last; cpu++) {
            cpu_set_add(&set, (int)cpu);
        }
        text = *end == ',' ? end + 1 : end;
    }
    return set;
}

static void check_launch(const launch *l)
{
    const int ranks = l->mask[1] != NULL ? 2 : 1;
    binding of[RANKS];
    cpu_set masks[RANKS];
    char *environment[VARIABLES + 1] = {NULL};
    bound_by by;
    machine m;
    for (int i = 0; i < VARIABLES && l->environment[i] != NULL; i++) {
        environment[i] = strdup(l->environment[i]);
    }
    ASSERT_OK(machine_from_synthetic(l->machine, l->allowed, &m));
    for (int r = 0; r < ranks; r++) {
        const binding_facts facts = {.environment = environment,
                                     .mask = masks[r] = set_of(l->mask[r]),
                                     .by_openmp = l->by_openmp,
                                     .parent_known = l->parent != NULL,
                                     .parent = set_of(l->parent)};
        binding_judge(&m, &facts, &of[r]);
    }
    binding_of_node(of, ranks, l->pin, &m, &by);
    assert_int_equal(by, l->by);
    for (int r = 0; r < ranks; r++) {
        placement plan;
        const placement_request request = {
            .node_ranks = ranks, .node_rank = r, .masks = masks, .pin = l->pin, .by = by, .job_ranks = 1, .nodes = 1};
        char text[64];
        ASSERT_OK(placement_plan(&m, &request, &plan));
        assert_string_equal(cpu_set_text(&plan.mask, text, sizeof text), l->cpus[r]);
        assert_int_equal(plan.threads, l->threads);
        assert_int_equal(plan.pinned, l->pinned);
        if (strstr(plan.reason, l->reason) == NULL) {
            fail_msg("'%s' lacks '%s'", plan.reason, l->reason);
        }
        assert_true(!plan.healed || by == BOUND_BY_MPIRUN);
        placement_free(&plan);
    }
    machine_free(&m);
    for (int i = 0; i < VARIABLES; i++) {
        free(environment[i]);
    }
}

static void test_binding_of_recorded_launches(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof launches / sizeof launches[0]; i++) {
        print_message("%s\n", launches[i].title);
        check_launch(&launches[i]);
    }
}

/* One rank whose mask stays is enough: the masks of the others are somebody's will, too. */
static void test_binding_of_mixed_ranks(void **state)
{
    (void)state;
    machine m;
    bound_by by;
    ASSERT_OK(machine_from_synthetic(PC, NULL, &m));
    const binding of[2] = {{.by = BOUND_BY_MPIRUN, .mask = set_of("0"), .job = set_of("0-3")},
                           {.by = BOUND_ON_PURPOSE, .mask = set_of("3"), .job = set_of("0-3")}};
    binding_of_node(of, 2, PIN_AUTO, &m, &by);
    assert_int_equal(by, BOUND_ON_PURPOSE);
    const cpu_set left = set_of("0,3");
    assert_true(cpu_set_equal(&m.allowed, &left));
    assert_int_equal(m.node_cores, 4);
    machine_free(&m);
}

static void test_machine_narrow(void **state)
{
    (void)state;
    machine m;
    ASSERT_OK(machine_from_synthetic(NODE, NULL, &m));
    const cpu_set none = set_of("99"), some = set_of("1,4-5");
    machine_narrow(&m, &none);
    assert_int_equal(cpu_set_count(&m.allowed), 32);
    machine_narrow(&m, &some);
    assert_int_equal(m.core[0].cpus[0], 1); /* the sibling that is left comes first */
    assert_int_equal(m.core[0].cpus[1], 0);
    assert_true(m.core[0].allowed && !m.core[1].allowed && m.core[2].allowed);
    assert_int_equal(m.core[2].cpus[2], -1);
    assert_int_equal(m.node_cpus, 32);
    machine_free(&m);
}

/* Too many threads: the cure is in the words of whoever chose the mask. */
static void test_binding_refusals(void **state)
{
    (void)state;
    static const struct {
        bound_by by;
        const char *cure;
    } cases[] = {{BOUND_BY_PROCESS, "this process may use 1 cores (1 CPUs): use --threads 1"},
                 {BOUND_BY_LAUNCHER, "srun -c 2"},
                 {BOUND_ON_PURPOSE, "--pin on"}};
    const cpu_set mask = set_of("1");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        machine m;
        placement plan;
        ASSERT_OK(machine_from_synthetic(PC, NULL, &m));
        machine_narrow(&m, &mask);
        const placement_request request = {.node_ranks = 1, .masks = &mask, .threads = 2, .by = cases[i].by};
        ASSERT_STATUS(placement_plan(&m, &request, &plan), WEFT_ERR_LAUNCH);
        ASSERT_MESSAGE(cases[i].cure);
        machine_free(&m);
    }
}

static void test_binding_of_this_process(void **state)
{
    (void)state;
    machine m;
    binding b;
    cpu_set mask;
    bool by_openmp = true;
    unsetenv("OMPI_COMM_WORLD_SIZE");
    ASSERT_OK(machine_detect(&m));
    ASSERT_OK(placement_start_mask(&mask, &by_openmp));
    ASSERT_OK(binding_read(&m, &b));
    assert_true(cpu_set_equal(&b.mask, &mask) && cpu_set_equal(&b.job, &mask));
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1); /* what started this test has what mpirun would have */
    unsetenv("OMPI_COMM_WORLD_RANK");
    ASSERT_OK(binding_read(&m, &b));
    assert_true(cpu_set_intersects(&b.job, &m.allowed));
    unsetenv("OMPI_COMM_WORLD_SIZE");
    machine_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_binding_of_recorded_launches),
        cmocka_unit_test(test_binding_of_mixed_ranks),
        cmocka_unit_test(test_machine_narrow),
        cmocka_unit_test(test_binding_refusals),
        cmocka_unit_test(test_binding_of_this_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

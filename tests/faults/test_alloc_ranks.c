/*
 * Every n-th allocation of a whole job fails once, on whichever rank makes it: three epochs on 2 and 3 ranks, in every
 * mode of synchronisation, with and without communication threads. All ranks end, with WEFT_ERR_RESOURCE, and every
 * byte is freed: nobody waits for the one that failed. Ranks are threads of this process, so that the loop takes
 * seconds; tests/faults/test_alloc_mpi.sh does some of it under mpirun. WEFT_LONG=1 leaves none out.
 * trees: release asan
 */
#include <math.h>
#include <signal.h>

#include "support/labelled_graphs.h"
#include "support/train_rank.h"

enum {
    CLASSES = 3,
    EPOCHS = 3,
    PATIENCE_S = 100,
    STALL_S = 10,
    SHARE = 25 /* failing runs of a case unless WEFT_LONG */
};

typedef struct job {
    const char *name;
    int ranks;
    bool threaded; /* every rank has a communication thread */
    const char *method;
    sync_mode mode;
    sync_overlap overlap;
    bool exact;               /* the loss of a run that survives is that of an undisturbed one, up to rounding */
    double loss;              /* of the last epoch */
    weft_partition partition; /* made before anything fails: METIS forks, which does not suit a process of many ranks */
} job;

static labelled_graph graph;
static char current[128]; /* what runs now, for the alarm */

static void on_alarm(int number)
{
    static const char hangs[] = "hangs: ";
    (void)number;
    (void)!write(STDERR_FILENO, hangs, sizeof hangs - 1);
    (void)!write(STDERR_FILENO, current, strlen(current));
    _exit(1);
}

static weft_status keep_loss(void *self, const train_epoch *epoch)
{
    *(double *)self = epoch->loss;
    return WEFT_OK;
}

static weft_status train_three_epochs(weft_comm *comm, weft_hal *hal, job *j, gnn_model *model,
                                      const train_targets *targets)
{
    train_result result = {0};
    train_options options = {.epochs = EPOCHS,
                             .runs = 1,
                             .seed = 3,
                             .eval_every = 2,
                             .metric = TRAIN_METRIC_ACCURACY,
                             .sync = sync_options_default(),
                             .optimizer = {.kind = OPTIMIZER_ADAM, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
                             .schedule = {.kind = SCHEDULE_COSINE, .base = 0.02, .epochs = EPOCHS}};
    options.sync.mode = j->mode;
    options.sync.topk.exchange = SPARSE_ALL_GATHER; /* topk selects, where a dense exchange would be as fast, too */
    options.sync.overlap = j->overlap;
    options.sync.bucket_bytes = 1024;
    double loss = 0;
    const train_observer observer = {.self = &loss, .on_epoch = keep_loss, .on_run = train_rank_ignore_run};
    const train_source source = source_whole(targets);
    weft_status status = train_loop(comm, hal, &model->interface, &source, &options, &observer, &result);
    weft_free(result.run);
    if (comm_rank(comm) == 0) {
        j->loss = loss;
    }
    return status;
}

static weft_status run_rank(weft_comm *comm, void *argument)
{
    job *j = argument;
    train_rank rank = {.hal = NULL};
    const gnn_config config = {.kind = GNN_SAGE,
                               .layers = 2,
                               .inputs = 9,
                               .hidden = 16,
                               .outputs = CLASSES,
                               .norm = NORM_BATCH,
                               .dropout = 0.2f};
    comm_set_stall_timeout(comm, STALL_S);
    weft_status status = j->threaded ? comm_thread_start(comm, -1) : WEFT_OK;
    if (status == WEFT_OK) {
        status = train_rank_open(comm, "cpu", &graph.graph, &j->partition, &config, HAL_SPMM_AUTO, &rank);
    }
    if (status == WEFT_OK) {
        status = train_three_epochs(comm, rank.hal, j, rank.model, &rank.labels.targets);
    }
    train_rank_close(&rank);
    return status;
}

static bool fail_allocation(job *j, double undisturbed, uint64_t n)
{
    uint64_t live = weft_mem_usage_total().current_bytes;
    snprintf(current, sizeof current, "allocation %llu of '%s' on %d ranks", (unsigned long long)n, j->name, j->ranks);
    weft_error_clear();
    alarm(PATIENCE_S);
    weft_alloc_fail_after(n);
    weft_status status = comm_thread_run(j->ranks, run_rank, j);
    weft_alloc_fail_after(0);
    alarm(0);
    if (status != WEFT_OK && (status != WEFT_ERR_RESOURCE || weft_error_message()[0] == '\0')) {
        fail_msg("%s: %s: '%s'", current, weft_status_name(status), weft_error_message());
    }
    if (status == WEFT_OK && j->exact && fabs(j->loss - undisturbed) > 1e-4 * fabs(undisturbed)) {
        fail_msg("%s: survived with a loss of %.9g instead of %.9g", current, j->loss, undisturbed);
    }
    if (weft_mem_usage_total().current_bytes != live) {
        fail_msg("%s: %lld bytes are not freed (%s)", current, (long long)(weft_mem_usage_total().current_bytes - live),
                 weft_status_name(status));
    }
    return status == WEFT_OK;
}

/*
 * Numbers differ a little from run to run, as ranks take turns: what is counted past the end survives. So does a job
 * without a window of shared memory, of which there are many: it sends messages instead.
 */
static void fail_each_allocation(job *j)
{
    uint64_t survived = 0, runs = 0;
    partition_report report;
    const partition_options cut = {.method = j->method, .parts = j->ranks, .seed = 1, .balance = 1.1, .threads = 1};
    ASSERT_OK(partition_compute(&graph.graph, &cut, &j->partition, &report));
    ASSERT_OK(comm_thread_run(j->ranks, run_rank, j));
    double loss = j->loss;
    assert_true(loss > 0);
    uint64_t before = weft_mem_usage_total().allocations;
    ASSERT_OK(comm_thread_run(j->ranks, run_rank, j));
    uint64_t count = weft_mem_usage_total().allocations - before;
    uint64_t stride = getenv("WEFT_LONG") != NULL ? 1 : (count + SHARE - 1) / SHARE;
    for (uint64_t n = 1; n <= count; n += stride) {
        survived += fail_allocation(j, loss, n);
        runs++;
    }
    fprintf(stderr, "%s on %d ranks: %llu allocations, %llu failed, %llu survived\n", j->name, j->ranks,
            (unsigned long long)count, (unsigned long long)runs, (unsigned long long)survived);
    assert_true(survived <= runs * 3 / 4);
    partition_destroy(&j->partition);
}

static void test_every_allocation_may_fail(void **state)
{
    static job jobs[] = {
        {"allreduce", 2, false, "metis", SYNC_ALLREDUCE, OVERLAP_SPLIT, true, 0, {0}},
        {"allreduce, communication threads", 3, true, "libra", SYNC_ALLREDUCE, OVERLAP_BACKWARD, true, 0, {0}},
        {"topk", 2, false, "random", SYNC_TOPK, OVERLAP_SPLIT, true, 0, {0}},
        {"divide-shuffle", 3, false, "random", SYNC_DIVIDE_SHUFFLE, OVERLAP_OFF, true, 0, {0}},
        {"shadow", 2, true, "random", SYNC_SHADOW, OVERLAP_OFF, false, 0, {0}},
        {"asp", 3, false, "edgecut", SYNC_ASP, OVERLAP_OFF, false, 0, {0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        fail_each_allocation(&jobs[i]);
    }
}

static int make_graph(void **state)
{
    const labelled_graph_spec spec = {
        .vertices = 60, .degree = 4, .features = 9, .classes = CLASSES, .isolated = 5, .seed = 1};
    (void)state;
    signal(SIGALRM, on_alarm);
    labelled_graph_make(&spec, &graph);
    return 0;
}

static int free_graph(void **state)
{
    (void)state;
    labelled_graph_free(&graph);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, make_graph, free_graph);
}

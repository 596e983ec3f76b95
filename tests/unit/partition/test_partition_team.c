/*
 * Partitions that 1 to 5 ranks make together, ranks being threads of this process: one rank makes what
 * partition_compute makes; of several the pieces are a valid partition whose figures are those that partition_measure
 * tells, balanced, the same in every run, and about as good; damaged graphs and requests that cannot be met fail on all
 * ranks alike. room: gnn
 * trees: asan
 */
#include "base/log.h"
#include "gnn/team_talk.h"
#include "partition/partition_team.h"
#include "support/graphs.h"
#include "support/test.h"

enum { RANKS_MOST = 5, AGAIN = 3, PATIENCE_S = 60 };

typedef struct team_job {
    const weft_graph *graph;
    partition_options options;
    weft_partition whole; /* space for everybody's result */
    partition_report report;
    weft_status status[RANKS_MOST];
} team_job;

static void copy_parts(uint16_t *to, const uint16_t *from, int64_t count)
{
    if (count > 0) { /* an empty array may be none */
        memcpy(to, from, (size_t)count * sizeof *to);
    }
}

static weft_status team_rank(weft_comm *comm, void *argument)
{
    team_job *job = argument;
    const int rank = comm_rank(comm);
    const weft_graph *graph = job->graph;
    const row_team_talk talk = gnn_team_talk(comm);
    row_team team;
    partition_share share = {0};
    partition_report report = {0};
    comm_set_stall_timeout(comm, PATIENCE_S);
    WEFT_TRY(row_team_create(graph, rank, comm_size(comm), &talk, &team));
    job->status[rank] = partition_compute_team(&team, &job->options, &share, &report);
    if (job->status[rank] == WEFT_OK) {
        const int64_t first = graph->offset[team.begin], end = graph->offset[team.end];
        copy_parts(job->whole.edge_part + first, share.edge_part, end - first);
        if (rank == comm_size(comm) - 1) { /* all ranks have all roots */
            copy_parts(job->whole.root, share.root, graph->vertices);
            job->report = report;
        }
    }
    weft_error_clear();
    partition_share_free(&share);
    row_team_free(&team);
    return WEFT_OK;
}

static void job_begin(const weft_graph *graph, int parts, team_job *job)
{
    *job =
        (team_job){.graph = graph,
                   .options = {.method = "stream", .parts = parts, .balance = 1.1, .threads = 1},
                   .whole = {.parts = parts, .method = "stream", .vertices = graph->vertices, .edges = graph->edges}};
    job->whole.edge_part = calloc((size_t)graph->edges + 1, sizeof(uint16_t));
    job->whole.root = calloc((size_t)graph->vertices + 1, sizeof(uint16_t));
}

static void job_end(team_job *job)
{
    free(job->whole.edge_part);
    free(job->whole.root);
}

/* The figures that ranks add up are those of the whole. */
static void check_report(const weft_graph *graph, const team_job *job)
{
    partition_report expected;
    ASSERT_OK(partition_measure(graph, &job->whole, NULL, &expected));
    const partition_report *got = &job->report;
    ASSERT_NEAR(got->replication_factor, expected.replication_factor, 1e-12);
    ASSERT_NEAR(got->edge_balance, expected.edge_balance, 1e-12);
    ASSERT_NEAR(got->vertex_balance, expected.vertex_balance, 1e-12);
    ASSERT_NEAR(got->root_balance, expected.root_balance, 1e-12);
    assert_int_equal(got->rows_per_layer, expected.rows_per_layer);
    assert_int_equal(got->split_vertices, expected.split_vertices);
    assert_int_equal(got->cut_edges, expected.cut_edges);
    assert_int_equal(got->empty_parts, expected.empty_parts);
}

static void check_alone(const weft_graph *graph, const team_job *job)
{
    weft_partition alone;
    partition_report report;
    ASSERT_OK(partition_compute(graph, &job->options, &alone, &report));
    assert_memory_equal(alone.edge_part, job->whole.edge_part, (size_t)graph->edges * sizeof(uint16_t));
    assert_memory_equal(alone.root, job->whole.root, (size_t)graph->vertices * sizeof(uint16_t));
    partition_destroy(&alone);
}

/* All edges of a pair are in one part, whatever their direction. */
static void check_pairs(const weft_graph *graph, const weft_partition *whole)
{
    for (int64_t v = 0; v < graph->vertices; ++v) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            const int64_t u = graph_source(graph, e);
            bool met = false;
            for (int64_t back = graph->offset[u]; back < graph->offset[u + 1]; ++back) {
                if (graph_source(graph, back) == v) {
                    met = true;
                    assert_int_equal(whole->edge_part[e], whole->edge_part[back]);
                }
            }
            assert_true(met || !graph->symmetric);
            assert_true(e == graph->offset[v] || graph_source(graph, e - 1) != u ||
                        whole->edge_part[e] == whole->edge_part[e - 1]);
        }
    }
}

static void run_team(const weft_graph *graph, int parts, int ranks)
{
    team_job job;
    job_begin(graph, parts, &job);
    ASSERT_OK(comm_thread_run(ranks, team_rank, &job));
    for (int r = 0; r < ranks; ++r) {
        ASSERT_OK(job.status[r]);
    }
    ASSERT_OK(partition_is_valid(graph, &job.whole));
    check_pairs(graph, &job.whole);
    check_report(graph, &job);
    if (ranks == 1) {
        check_alone(graph, &job);
    }
    if (ranks == AGAIN) { /* the same bits twice */
        team_job again;
        job_begin(graph, parts, &again);
        ASSERT_OK(comm_thread_run(ranks, team_rank, &again));
        assert_memory_equal(job.whole.edge_part, again.whole.edge_part, (size_t)graph->edges * sizeof(uint16_t));
        assert_memory_equal(job.whole.root, again.whole.root, (size_t)graph->vertices * sizeof(uint16_t));
        job_end(&again);
    }
    job_end(&job);
}

static void test_every_graph(void **state)
{
    (void)state;
    static const int parts_tried[] = {2, 16, 65};
    for (int c = 0; c < TEST_GRAPHS; ++c) {
        const char *name = NULL;
        test_graph g = test_graph_case(c, &name);
        for (int k = 0; k < 3; ++k) {
            for (int ranks = 1; ranks <= RANKS_MOST; ranks += k == 1 ? 1 : RANKS_MOST - 1) {
                run_team(&g.graph, parts_tried[k], ranks);
            }
        }
        test_graph_free(&g);
    }
}

static void check_good_and_even(bool symmetric)
{
    test_graph g = test_graph_random(4000, 40000, symmetric, 11);
    partition_options options = {.method = "stream", .parts = 8, .balance = 1.1, .threads = 1};
    weft_partition alone;
    partition_report expected;
    ASSERT_OK(partition_compute(&g.graph, &options, &alone, &expected));
    for (int ranks = 2; ranks <= RANKS_MOST; ++ranks) {
        team_job job;
        job_begin(&g.graph, 8, &job);
        ASSERT_OK(comm_thread_run(ranks, team_rank, &job));
        print_message(
            "%s, %d ranks: replication factor %.3f, alone %.3f; balance of edges %.3f, vertices %.3f, roots %.3f\n",
            symmetric ? "symmetric" : "directed", ranks, job.report.replication_factor, expected.replication_factor,
            job.report.edge_balance, job.report.vertex_balance, job.report.root_balance);
        assert_true(job.report.replication_factor < 1.1 * expected.replication_factor);
        assert_true(job.report.edge_balance < 1.1 && job.report.vertex_balance < 1.15 && job.report.root_balance < 1.1);
        job_end(&job);
    }
    partition_destroy(&alone);
    test_graph_free(&g);
}

static void test_as_good_and_as_even(void **state)
{
    (void)state;
    check_good_and_even(true);
    check_good_and_even(false);
}

/* Of graphs that are cut by a design, whose pairs need no word between ranks. */
static void test_dense(void **state)
{
    (void)state;
    for (int symmetric = 0; symmetric < 2; ++symmetric) {
        test_graph g = test_graph_random(300, 20000, symmetric != 0, 31);
        for (int ranks = 1; ranks <= RANKS_MOST; ++ranks) {
            team_job job;
            job_begin(&g.graph, 7, &job);
            ASSERT_OK(comm_thread_run(ranks, team_rank, &job));
            assert_true(job.report.replication_factor <= 3.05);
            job_end(&job);
            run_team(&g.graph, 7, ranks);
        }
        test_graph_free(&g);
    }
}

static void expect_failure(team_job *job, int ranks, weft_status expected)
{
    ASSERT_OK(comm_thread_run(ranks, team_rank, job));
    for (int r = 0; r < ranks; ++r) {
        assert_int_equal(job->status[r], expected);
    }
    job_end(job);
}

static void test_failures_are_shared(void **state)
{
    (void)state;
    test_graph directed = test_graph_random(200, 1000, false, 2), g = test_graph_random(200, 1000, true, 2);
    team_job job;
    job_begin(&g.graph, 1, &job);
    expect_failure(&job, 3, WEFT_ERR_USAGE);
    job_begin(&g.graph, 4, &job);
    job.options.method = "metis";
    expect_failure(&job, 3, WEFT_ERR_USAGE);
    job_begin(&g.graph, 4, &job);
    job.options.memory_limit = 100;
    expect_failure(&job, 3, WEFT_ERR_RESOURCE);
    job_begin(&directed.graph, 4, &job); /* whose store says otherwise */
    directed.graph.symmetric = true;
    expect_failure(&job, 3, WEFT_ERR_DATA);
    weft_graph bent = g.graph; /* a source out of range, that one rank sees */
    int32_t *sources = malloc((size_t)g.graph.edges * sizeof *sources);
    for (int64_t e = 0; e < g.graph.edges; ++e) {
        sources[e] = (int32_t)graph_source(&g.graph, e);
    }
    sources[g.graph.edges - 1] = 200;
    bent.source32 = sources;
    bent.source64 = NULL;
    job_begin(&bent, 4, &job);
    expect_failure(&job, 3, WEFT_ERR_DATA);
    int64_t *offsets =
        malloc(((size_t)g.graph.vertices + 1) * sizeof *offsets); /* that climb past the edges, and come back */
    memcpy(offsets, g.graph.offset, ((size_t)g.graph.vertices + 1) * sizeof *offsets);
    for (int64_t v = 40; v < 160; ++v) {
        offsets[v] += INT64_C(1) << 40;
    }
    bent = g.graph;
    bent.offset = offsets;
    job_begin(&bent, 4, &job);
    expect_failure(&job, 3, WEFT_ERR_DATA);
    free(offsets);
    free(sources);
    test_graph_free(&directed);
    test_graph_free(&g);
}

int main(void)
{
    log_set_level(LOG_WARN);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_graph), cmocka_unit_test(test_as_good_and_as_even),
                                       cmocka_unit_test(test_dense), cmocka_unit_test(test_failures_are_shared)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Parts of different sizes: every method that makes them, on every graph of the zoo, alone and by a team; each part has
 * its share of edges and vertices, figures count shares, and equal shares are none, to the bit.
 * room: gnn
 * trees: release asan
 */
#include "base/log.h"
#include "comm/comm.h"
#include "gnn/team_talk.h"
#include "partition/methods/method.h"
#include "partition/partition_team.h"
#include "support/graphs.h"
#include "support/test.h"

enum { MOST_PARTS = 8, LISTS = 5 };

static const double weights[LISTS][MOST_PARTS + 1] = {
    {3, 1, 1, 1}, {7.9, 1}, {1, 20, 1, 20, 1}, {1, 2, 3, 4, 5, 6, 7}, {1, 1, 1, 1, 1, 1, 1, 9}};

/* Returns the parts. */
static int shares_from(const double *weight, double share[MOST_PARTS])
{
    int parts = 0;
    double sum = 0.0;
    for (; weight[parts] > 0; ++parts) {
        sum += weight[parts];
    }
    for (int p = 0; p < parts; ++p) {
        share[p] = weight[p] / sum;
    }
    return parts;
}

static partition_options options_for(const char *method, int parts, const double *share)
{
    return (partition_options){
        .method = method, .parts = parts, .seed = 7, .balance = 1.1, .threads = 2, .share = share};
}

/* The largest part beside its share, counted edge by edge. */
static void check_figures(const weft_graph *g, const weft_partition *p, const double *share,
                          const partition_report *report)
{
    double edges[MOST_PARTS] = {0}, roots[MOST_PARTS] = {0}, most_edges = 0, most_roots = 0;
    for (int64_t e = 0; e < g->edges; ++e) {
        edges[p->edge_part[e]] += 1;
    }
    for (int64_t v = 0; v < g->vertices; ++v) {
        roots[p->root[v]] += 1;
    }
    for (int q = 0; q < p->parts; ++q) {
        most_edges = fmax(most_edges, edges[q] / (share[q] * (double)g->edges));
        most_roots = fmax(most_roots, roots[q] / (share[q] * (double)g->vertices));
    }
    ASSERT_NEAR(report->edge_balance, g->edges > 0 ? most_edges : 1, 1e-12);
    ASSERT_NEAR(report->root_balance, g->vertices > 0 ? most_roots : 1, 1e-12);
}

/* Each method that knows shares, with each list of weights; with a sanitizer one list in turn for each graph and
 * method. */
static void check_methods(int number, const weft_graph *g,
                          void (*check)(const weft_graph *g, const char *method, const double *share, int parts))
{
    for (int i = 0; partition_method_at(i) != NULL; ++i) {
        for (int k = 0; partition_method_at(i)->shares && k < LISTS; ++k) {
            double share[MOST_PARTS];
            const int parts = shares_from(weights[k], share);
            if (!TEST_SANITIZED || k == (number + i) % LISTS) {
                check(g, partition_method_at(i)->name, share, parts);
            }
        }
    }
}

static void check_partition(const weft_graph *g, const char *method, const double *share, int parts)
{
    const partition_options options = options_for(method, parts, share);
    weft_partition p;
    partition_report report;
    ASSERT_OK(partition_compute(g, &options, &p, &report));
    ASSERT_OK(partition_is_valid(g, &p));
    check_figures(g, &p, share, &report);
    partition_destroy(&p);
}

static void test_every_graph(void **state)
{
    (void)state;
    for (int c = 0; c < TEST_GRAPHS; ++c) {
        const char *name = NULL;
        test_graph g = test_graph_case(c, &name);
        check_methods(c, &g.graph, check_partition);
        test_graph_free(&g);
    }
}

/* Where a graph leaves a choice. random meets its shares in expectation, libra where degrees are no matter. */
static void check_sizes(const weft_graph *g, const char *method, const double *share, int parts)
{
    const partition_options options = options_for(method, parts, share);
    const bool drawn = strcmp(method, "random") == 0;
    weft_partition p;
    partition_report report;
    ASSERT_OK(partition_compute(g, &options, &p, &report));
    if (report.edge_balance > (drawn ? 1.15 : 1.1) || report.root_balance > 1.06 || report.empty_parts > 0) {
        fail_msg("%s, %d parts: edges %.3f, roots %.3f of a share, %d parts empty", method, parts, report.edge_balance,
                 report.root_balance, (int)report.empty_parts);
    }
    partition_destroy(&p);
}

static void test_sizes_follow_shares(void **state)
{
    (void)state;
    test_graph graph[3] = {test_graph_communities(4000, 40000, 20, 80, 8), test_graph_random(3000, 45000, true, 5),
                           test_graph_random(3000, 45000, false, 6)};
    for (int c = 0; c < 3; ++c) {
        check_methods(c, &graph[c].graph, check_sizes);
        test_graph_free(&graph[c]);
    }
}

static void test_equal_shares_are_none(void **state)
{
    (void)state;
    test_graph g = test_graph_communities(3000, 25000, 12, 70, 3);
    for (int i = 0; partition_method_at(i) != NULL; ++i) {
        for (int parts = 2; partition_method_at(i)->shares && parts <= MOST_PARTS; parts += TEST_SANITIZED ? 6 : 3) {
            double share[MOST_PARTS];
            weft_partition made[2];
            partition_report report[2];
            for (int p = 0; p < parts; ++p) {
                share[p] = 1.0 / parts;
            }
            for (int with = 0; with < 2; ++with) {
                const partition_options options =
                    options_for(partition_method_at(i)->name, parts, with != 0 ? share : NULL);
                ASSERT_OK(partition_compute(&g.graph, &options, &made[with], &report[with]));
            }
            assert_memory_equal(made[1].edge_part, made[0].edge_part, (size_t)g.graph.edges * sizeof(uint16_t));
            assert_memory_equal(made[1].root, made[0].root, (size_t)g.graph.vertices * sizeof(uint16_t));
            assert_true(report[1].edge_balance == report[0].edge_balance);
            partition_destroy(&made[0]);
            partition_destroy(&made[1]);
        }
    }
    test_graph_free(&g);
}

/* Isolated vertices fill up what is missing of each part's share. */
static void test_isolated_vertices(void **state)
{
    (void)state;
    test_edges edges = {0};
    for (int64_t v = 0; v < 40; ++v) {
        test_edge(&edges, v, (v + 1) % 40);
    }
    test_graph g = test_graph_build(4000, &edges, true, false);
    for (int k = 0; k < LISTS; ++k) {
        double share[MOST_PARTS];
        const int parts = shares_from(weights[k], share);
        const partition_options options = options_for("libra", parts, share);
        weft_partition p;
        partition_report report;
        ASSERT_OK(partition_compute(&g.graph, &options, &p, &report));
        assert_true(report.root_balance < 1.02);
        partition_destroy(&p);
    }
    test_graph_free(&g);
}

static void test_refusals(void **state)
{
    (void)state;
    test_graph g = test_graph_random(200, 900, true, 5);
    weft_partition p;
    double share[3] = {0.5, 0.25, 0.25};
    partition_options options = options_for("2d", 3, share);
    ASSERT_STATUS(partition_compute(&g.graph, &options, &p, NULL), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("2d does not make parts of different sizes");
    ASSERT_MESSAGE("auto, metis, expand, stream, libra, random, edgecut");
    ASSERT_STATUS(partition_check_shares("parts.txt"), WEFT_ERR_USAGE);
    ASSERT_OK(partition_check_shares("metis"));
    options.method = "libra";
    share[0] = 0.6;
    ASSERT_STATUS(partition_compute(&g.graph, &options, &p, NULL), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("add up to 1.1");
    share[0] = 0.75;
    share[1] = 0.0;
    ASSERT_STATUS(partition_compute(&g.graph, &options, &p, NULL), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("part 1 has a share of 0");
    test_graph_free(&g);
}

/* ---- ranks that make it together ------------------------------------------------------------------------------- */

typedef struct team_case {
    const weft_graph *graph;
    const double *share;
    int parts;
    partition_report report;
} team_case;

static weft_status team_rank(weft_comm *comm, void *argument)
{
    team_case *c = argument;
    const row_team_talk talk = gnn_team_talk(comm);
    const partition_options options = options_for("stream", c->parts, c->share);
    row_team team = {0};
    partition_share made = {0};
    partition_report report;
    weft_status status = row_team_create(c->graph, comm_rank(comm), comm_size(comm), &talk, &team);
    status = status == WEFT_OK ? partition_compute_team(&team, &options, &made, &report) : status;
    if (status == WEFT_OK && comm_rank(comm) == 0) {
        c->report = report;
    }
    partition_share_free(&made);
    row_team_free(&team);
    return status;
}

static void test_team(void **state)
{
    (void)state;
    for (int directed = 0; directed < 2; ++directed) {
        test_graph g = test_graph_random(4000, 40000, directed == 0, 11);
        for (int k = 0; k < LISTS; ++k) {
            double share[MOST_PARTS];
            team_case c = {.graph = &g.graph, .share = share, .parts = shares_from(weights[k], share)};
            ASSERT_OK(comm_thread_run(3, team_rank, &c));
            assert_true(c.report.edge_balance < 1.1 && c.report.root_balance < 1.1);
        }
        test_graph_free(&g);
    }
}

int main(void)
{
    log_set_level(LOG_WARN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_graph),
        cmocka_unit_test(test_sizes_follow_shares),
        cmocka_unit_test(test_equal_shares_are_none),
        cmocka_unit_test(test_isolated_vertices),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_team),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

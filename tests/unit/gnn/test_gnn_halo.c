/*
 * Aggregations whose rows cross ranks by bins, or not at all, against sums over the edges of the whole graph in double
 * precision: an edge of part p adds the row that p has of its source in the epoch in which the root heard of p last.
 * Which epoch that is follows from the schedule alone: bin b is refreshed when epoch % R is b, all bins when a run
 * begins.
 *
 * processors: one
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gnn/halo/halo_bins.h"
#include "gnn/layers/aggregate.h"
#include "partition/partition.h"
#include "support/graphs.h"
#include "support/test.h"

enum { VERTICES = 200, EDGES = 900, WIDTH = 5, PASSES = 14, EVALUATED = 4, RESTARTED = 10, TUNED = 6, TUNED_BACK = 8 };
enum { NOT_TUNED = -1 };

/* Epochs of the passes: from 1 on, EVALUATED is an evaluation, and with pass RESTARTED another run begins. */
static int epoch_of(int pass)
{
    return pass < RESTARTED ? pass + 1 : pass - RESTARTED + 1;
}

typedef struct setting {
    const test_graph *graph;
    weft_partition partition;
    const char *backend;
    gnn_aggregator_options options;
    int tuned;                           /* from pass TUNED on the delay, or NOT_TUNED; it is the first again later */
    int foreseen;                        /* sums of a pass that are announced: forward, then transposed */
    float (*result)[2][VERTICES][WIDTH]; /* [PASSES] forward, transposed; written by roots */
    int64_t staleness[PASSES];
} setting;

/* Other rows in every pass, and in both directions. */
static double x_of(int pass, int transposed, int64_t v, int64_t c)
{
    return (double)((v * 31 + c * 17 + pass * 43 + transposed * 11) % 101) / 50.0 - 1.0;
}

/* ---- the job ----------------------------------------------------------------------------------------------------- */

static weft_status run_direction(gnn_aggregator *a, const weft_part *part, const setting *s, int pass, int transposed,
                                 weft_tensor *x, weft_tensor *out)
{
    float *host = calloc((size_t)(part->n_local * WIDTH) + 1, sizeof *host);
    for (int64_t i = 0; i < part->n_local * WIDTH; ++i) { /* replicas' rows: what a caller may have left there */
        host[i] = i < part->n_owned * WIDTH ? (float)x_of(pass, transposed, part->gid[i / WIDTH], i % WIDTH) : 7.5f;
    }
    weft_status status = tensor_upload(x, host);
    status = status == WEFT_OK ? gnn_aggregate(a, transposed != 0, x, 0.0, out) : status;
    status = status == WEFT_OK ? tensor_download(out, host) : status;
    for (int64_t i = 0; status == WEFT_OK && i < part->n_owned; ++i) {
        memcpy(s->result[pass][transposed][part->gid[i]], host + i * WIDTH, sizeof s->result[0][0][0]);
    }
    free(host);
    return status;
}

static weft_status run_passes(weft_comm *comm, weft_hal *hal, const weft_part *part, setting *s)
{
    weft_status status = WEFT_OK;
    gnn_aggregator a = {.hal = NULL};
    weft_tensor x = {0}, out = {0};
    WEFT_TRY_GOTO(gnn_aggregator_create(comm, hal, WEFT_DTYPE_F32, part, &s->options, &a), status, done);
    for (int transposed = 0; transposed < s->foreseen; ++transposed) {
        WEFT_TRY_GOTO(gnn_aggregator_foresee(&a, transposed != 0, WIDTH), status, done);
    }
    WEFT_TRY_GOTO(tensor_create(hal, WEFT_DTYPE_F32, part->n_local, WIDTH, WEFT_MEM_FEATURE, &x), status, done);
    WEFT_TRY_GOTO(tensor_create(hal, WEFT_DTYPE_F32, part->n_local, WIDTH, WEFT_MEM_FEATURE, &out), status, done);
    for (int pass = 0; pass < PASSES; ++pass) {
        const bool training = pass != EVALUATED;
        /* An evaluation stands in the epoch of the training pass before it. */
        const gnn_halo_pass begun = {.training = training,
                                     .epoch = epoch_of(pass) - (pass >= EVALUATED && pass < RESTARTED)};
        if (s->tuned != NOT_TUNED && (pass == TUNED || pass == TUNED_BACK)) {
            const int delay = pass == TUNED ? s->tuned : s->options.halo.delay;
            WEFT_TRY_GOTO(gnn_aggregator_tune_delay(&a, delay), status, done);
        }
        WEFT_TRY_GOTO(gnn_aggregator_start_pass(&a, &begun), status, done);
        WEFT_TRY_GOTO(run_direction(&a, part, s, pass, 0, &x, &out), status, done);
        WEFT_TRY_GOTO(run_direction(&a, part, s, pass, 1, &x, &out), status, done);
        if (comm_rank(comm) == 0) {
            s->staleness[pass] = gnn_aggregator_staleness(&a);
        }
    }
    status = gnn_aggregator_start_pass(&a, &(gnn_halo_pass){.training = false}); /* nothing is under way at the end */
done:
    gnn_aggregator_destroy(&a);
    tensor_destroy(&x);
    tensor_destroy(&out);
    return status;
}

static weft_status run_rank(weft_comm *comm, void *argument)
{
    setting *s = argument;
    weft_hal *hal = NULL;
    weft_part part = {0};
    comm_set_stall_timeout(comm, 100.0);
    weft_status status = weft_hal_open(test_device(s->backend), 1, &hal);
    status = status == WEFT_OK
                 ? part_extract(&s->graph->graph, &s->partition, comm_rank(comm), NULL, PART_SHARED_FIRST, &part)
                 : status;
    status = comm_agree(comm, status);
    status = status == WEFT_OK ? run_passes(comm, hal, &part, s) : status;
    part_destroy(&part);
    weft_hal_close(hal);
    return status;
}

/* ---- the oracle -------------------------------------------------------------------------------------------------- */

static bool is_tuned(const setting *s, int pass)
{
    return s->tuned != NOT_TUNED && pass >= TUNED && pass < TUNED_BACK;
}

/* The last pass, up to this one, in which every row travelled as when a run begins. */
static int first_of(const setting *s, int pass)
{
    const int tuned = s->tuned == NOT_TUNED ? 0 : pass >= TUNED_BACK ? TUNED_BACK : pass >= TUNED ? TUNED : 0;
    return pass >= RESTARTED ? RESTARTED : tuned;
}

/* The pass in which the row of v travelled last, for somebody who computes in `pass`. */
static int refreshed(const setting *s, int pass, int transposed, int64_t v)
{
    const gnn_halo_options *halo = &s->options.halo;
    const int bins = halo->delay > 1 ? halo->delay : 1;
    const int delay = is_tuned(s, pass) ? s->tuned : halo->delay;
    const bool exact = delay == 0 || (delay == 1 && !halo->hidden);
    if (pass == EVALUATED || exact || (transposed && halo->fresh_gradients)) {
        return pass;
    }
    const int first = first_of(s, pass);
    for (int p = pass - (halo->hidden ? 1 : 0); p > first; --p) {
        const int epoch = epoch_of(p) - (p > EVALUATED && p < RESTARTED);
        if (p != EVALUATED && epoch % delay == halo_bin_of(v, bins) % delay) {
            return p;
        }
    }
    return first;
}

static int edge_part(const setting *s, int64_t e)
{
    return s->partition.edge_part != NULL ? s->partition.edge_part[e] : 0;
}

static int root_of(const setting *s, int64_t v)
{
    return s->partition.root != NULL ? s->partition.root[v] : 0;
}

/* Does edge e from u to v exist in this pass? Without exchange only where one rank has all three. */
static bool counts(const setting *s, bool local, int64_t e, int64_t u, int64_t v)
{
    return !local || (edge_part(s, e) == root_of(s, u) && edge_part(s, e) == root_of(s, v));
}

static void expect(const setting *s, int pass, int transposed, double (*sum)[WIDTH])
{
    const weft_graph *g = &s->graph->graph;
    const bool local = s->options.halo.none && pass != EVALUATED;
    const bool symmetric = s->options.normalisation == GNN_NORM_SYMMETRIC;
    const bool gathers = g->symmetric && s->partition.edge_cut; /* rows are whole in both directions */
    double degree[VERTICES] = {0}, self[VERTICES];              /* GCN adds a loop where the graph has none */
    for (int64_t v = 0; v < g->vertices; ++v) {
        self[v] = 1.0;
        for (int64_t e = g->offset[v]; e < g->offset[v + 1]; ++e) {
            degree[v] += counts(s, local, e, g->source32[e], v);
            self[v] = g->source32[e] == v ? 0.0 : self[v];
        }
    }
    for (int64_t v = 0; v < g->vertices; ++v) {
        for (int64_t c = 0; c < WIDTH; ++c) {
            sum[v][c] = symmetric ? self[v] * x_of(pass, transposed, v, c) / (degree[v] + self[v]) : 0.0;
        }
    }
    for (int64_t v = 0; v < g->vertices; ++v) {
        for (int64_t e = g->offset[v]; e < g->offset[v + 1]; ++e) {
            const int64_t u = g->source32[e], to = transposed ? u : v, from = transposed ? v : u;
            const int part = gathers ? root_of(s, to) : edge_part(s, e);
            const int heard = part == root_of(s, to) ? pass : refreshed(s, pass, transposed, to);
            const int known = part == root_of(s, from) ? heard : refreshed(s, heard, transposed, from);
            const double weight =
                symmetric ? 1.0 / sqrt((degree[v] + self[v]) * (degree[u] + self[u])) : 1.0 / degree[v];
            for (int64_t c = 0; counts(s, local, e, u, v) && c < WIDTH; ++c) {
                sum[to][c] += weight * x_of(known, transposed, from, c);
            }
        }
    }
}

/* The results stay with the caller. */
static void run_setting(setting *s, int ranks, const char *method)
{
    const partition_options cut = {.method = method, .parts = ranks, .seed = 1, .balance = 1.1, .threads = 1};
    partition_report report;
    s->result = calloc(PASSES, sizeof *s->result);
    s->options.forms.max_width = WIDTH;
    s->foreseen = 2;
    ASSERT_OK(partition_compute(&s->graph->graph, &cut, &s->partition, &report));
    ASSERT_OK(comm_thread_run(ranks, run_rank, s));
}

static void compare_setting(const setting *s, int ranks, const char *method)
{
    double sum[VERTICES][WIDTH];
    for (int i = 0; i < PASSES * 2 * VERTICES; ++i) {
        const int pass = i / (2 * VERTICES), transposed = i / VERTICES % 2, v = i % VERTICES;
        if (v == 0) {
            expect(s, pass, transposed, sum);
        }
        for (int c = 0; c < WIDTH; ++c) {
            if (!(fabs((double)s->result[pass][transposed][v][c] - sum[v][c]) <= 2e-5)) {
                fail_msg("%d ranks, %s, %s, delay %d%s, overlap %d, pass %d%s: vertex %d column %d is %.7g, not %.7g",
                         ranks, method, s->backend, s->options.halo.delay, s->options.halo.hidden ? " hidden" : "",
                         (int)s->options.overlap, pass, transposed ? ", transposed" : "", v, c,
                         (double)s->result[pass][transposed][v][c], sum[v][c]);
            }
        }
    }
}

static void free_setting(setting *s)
{
    partition_destroy(&s->partition);
    free(s->result);
}

static void check_setting(setting *s, int ranks, const char *method)
{
    run_setting(s, ranks, method);
    compare_setting(s, ranks, method);
    free_setting(s);
}

static void check_delays(bool undirected, bool hidden)
{
    static const char *const methods[] = {"random", "edgecut", "libra"};
    static const char *const backends[] = {"cpu", "shadow", "ref"};
    test_graph graph = test_graph_random(VERTICES, EDGES, undirected, 5);
    for (int k = 0; k < 12; ++k) {
        setting s = {.graph = &graph, .backend = backends[k % 3], .tuned = NOT_TUNED};
        s.options.normalisation = k % 2 == 0 ? GNN_NORM_MEAN : GNN_NORM_SYMMETRIC;
        s.options.overlap = k % 4 < 2 ? HALO_OVERLAP_ON : HALO_OVERLAP_OFF;
        s.options.halo.delay = 1 + k % 5;
        s.options.halo.hidden = hidden;
        s.options.halo.fresh_gradients = k / 4 % 2 == 1;
        check_setting(&s, 1 + k % 4, methods[k / 2 % 3]);
        /* The oldest row of a pass is as old as the schedule lets it get. */
        assert_int_equal(s.staleness[RESTARTED - 1], k % 4 > 0 ? s.options.halo.delay - !hidden : 0);
        assert_int_equal(s.staleness[EVALUATED], 0);
        assert_int_equal(s.staleness[RESTARTED], 0);
    }
    test_graph_free(&graph);
}

static void test_delay_undirected(void **state)
{
    (void)state;
    check_delays(true, false);
}

static void test_delay_directed(void **state)
{
    (void)state;
    check_delays(false, false);
}

/* Rows under way from one epoch to the next, over evaluations and where another run begins. */
static void test_hidden(void **state)
{
    (void)state;
    check_delays(true, true);
    check_delays(false, true);
}

/* A sum that nobody announced has no rows from earlier epochs: it is refused, not made room for. */
static void test_unforeseen(void **state)
{
    (void)state;
    test_graph graph = test_graph_random(VERTICES, EDGES, true, 5);
    const partition_options cut = {.method = "random", .parts = 2, .seed = 1, .balance = 1.1, .threads = 1};
    partition_report report;
    setting s = {.graph = &graph,
                 .backend = "cpu",
                 .tuned = NOT_TUNED,
                 .options.forms.max_width = WIDTH,
                 .options.halo.delay = 2};
    s.result = calloc(PASSES, sizeof *s.result);
    ASSERT_OK(partition_compute(&graph.graph, &cut, &s.partition, &report));
    for (s.foreseen = 0; s.foreseen < 2; ++s.foreseen) {
        ASSERT_STATUS(comm_thread_run(2, run_rank, &s), WEFT_ERR_INTERNAL);
        assert_non_null(strstr(weft_error_message(), "foreseen"));
    }
    partition_destroy(&s.partition);
    free(s.result);
    test_graph_free(&graph);
}

/* ---- a delay that changes while the job runs --------------------------------------------------------------------- */

/* Every legal pair of delays follows the schedule; where the delay becomes 0, or 1, sums have the bits of a job that is
 * exact. */
static void test_tuned(void **state)
{
    (void)state;
    static const struct {
        int delay, tuned;
        bool hidden;
    } cases[] = {{4, 0, false}, {4, 2, false}, {5, 3, false}, {4, 1, false}, {3, 3, false},
                 {0, 1, false}, {4, 0, true},  {4, 4, true},  {1, 0, true},  {1, 1, true}};
    test_graph graph = test_graph_random(VERTICES, EDGES, true, 5);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        const char *method = k % 2 == 0 ? "random" : "libra";
        setting s = {.graph = &graph, .backend = k % 3 == 0 ? "shadow" : "cpu", .tuned = cases[k].tuned};
        s.options.halo.delay = cases[k].delay;
        s.options.halo.hidden = cases[k].hidden;
        s.options.overlap = k % 2 == 0 ? HALO_OVERLAP_ON : HALO_OVERLAP_OFF;
        run_setting(&s, 4, method);
        compare_setting(&s, 4, method);
        if (cases[k].tuned == 0 || (cases[k].tuned == 1 && !cases[k].hidden)) {
            setting exact = {.graph = &graph, .backend = s.backend, .tuned = NOT_TUNED};
            exact.options.overlap = s.options.overlap;
            run_setting(&exact, 4, method);
            assert_memory_equal(s.result[TUNED], exact.result[TUNED], (TUNED_BACK - TUNED) * sizeof *s.result);
            assert_int_equal(s.staleness[TUNED_BACK - 1], 0);
            free_setting(&exact);
        }
        free_setting(&s);
    }
    test_graph_free(&graph);
}

/* A delay that a halo cannot have is refused on all ranks by name, value and limit, and changes nothing. */
static void test_tuned_wrongly(void **state)
{
    (void)state;
    static const struct {
        int delay, tuned;
        bool hidden, none;
        const char *text;
    } cases[] = {{4, 5, false, false, "--delay 5: expected a whole number from 0 to 4"},
                 {4, -2, false, false, "--delay -2: expected a whole number from 0 to 4"},
                 {4, 2, true, false, "--delay 2: expected 0, or 4 with --halo-overlap epoch"},
                 {0, 2, false, false, "--delay 2: expected a whole number from 0 to 1"},
                 {4, 3, false, true, "--delay 3: expected a whole number from 0 to 1"}};
    test_graph graph = test_graph_random(VERTICES, EDGES, true, 5);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        const partition_options cut = {.method = "random", .parts = 2, .seed = 1, .balance = 1.1, .threads = 1};
        partition_report report;
        setting s = {.graph = &graph, .backend = "cpu", .tuned = cases[k].tuned, .foreseen = 2};
        s.options.forms.max_width = WIDTH;
        s.options.halo.delay = cases[k].delay;
        s.options.halo.hidden = cases[k].hidden;
        s.options.halo.none = cases[k].none;
        s.result = calloc(PASSES, sizeof *s.result);
        ASSERT_OK(partition_compute(&graph.graph, &cut, &s.partition, &report));
        ASSERT_STATUS(comm_thread_run(2, run_rank, &s), WEFT_ERR_USAGE);
        ASSERT_MESSAGE(cases[k].text);
        free_setting(&s);
    }
    test_graph_free(&graph);
}

static void test_no_halo(void **state)
{
    (void)state;
    for (int k = 0; k < 4; ++k) {
        test_graph graph = test_graph_random(VERTICES, EDGES, k % 2 == 0, 7);
        setting s = {.graph = &graph, .backend = k < 2 ? "cpu" : "shadow", .tuned = NOT_TUNED};
        s.options.normalisation = k < 2 ? GNN_NORM_MEAN : GNN_NORM_SYMMETRIC;
        s.options.overlap = k % 2 == 0 ? HALO_OVERLAP_ON : HALO_OVERLAP_OFF;
        s.options.halo.none = true;
        check_setting(&s, 3, "random");
        test_graph_free(&graph);
    }
}

/* ---- drawn rows -------------------------------------------------------------------------------------------------- */

enum { DRAWS = 300 };

/* Over the epochs of a job, by roots: sums and sums of squares of each element, and of y . S x and x . S^T y. */
typedef struct drawn {
    setting s;
    double (*sum)[2][VERTICES][WIDTH], (*squares)[2][VERTICES][WIDTH];
    double product[DRAWS][2];
    int64_t bytes, whole; /* of rank 0 in training, and in one pass that evaluates */
} drawn;

static weft_status run_draws(weft_comm *comm, weft_hal *hal, const weft_part *part, drawn *d)
{
    weft_status status = WEFT_OK;
    gnn_aggregator a = {.hal = NULL};
    weft_tensor x = {0}, out = {0};
    WEFT_TRY_GOTO(gnn_aggregator_create(comm, hal, WEFT_DTYPE_F32, part, &d->s.options, &a), status, done);
    WEFT_TRY_GOTO(tensor_create(hal, WEFT_DTYPE_F32, part->n_local, WIDTH, WEFT_MEM_FEATURE, &x), status, done);
    WEFT_TRY_GOTO(tensor_create(hal, WEFT_DTYPE_F32, part->n_local, WIDTH, WEFT_MEM_FEATURE, &out), status, done);
    for (int e = 0; e <= DRAWS; ++e) { /* the last one evaluates */
        const gnn_halo_pass pass = {.training = e < DRAWS, .epoch = 1 + e, .seed = 5};
        const int64_t before = (int64_t)comm_lane_stats(comm, COMM_LANE_HALO).bytes_sent;
        double product[2] = {0.0, 0.0};
        WEFT_TRY_GOTO(gnn_aggregator_start_pass(&a, &pass), status, done);
        for (int t = 0; t < 2; ++t) {
            WEFT_TRY_GOTO(run_direction(&a, part, &d->s, 0, t, &x, &out), status, done);
            for (int64_t i = 0; i < part->n_owned * WIDTH; ++i) {
                const int64_t v = part->gid[i / WIDTH], c = i % WIDTH;
                const double value = (double)d->s.result[0][t][v][c];
                product[t] += value * x_of(0, !t, v, c);
                (*d->sum)[t][v][c] += e < DRAWS ? value : 0.0;
                (*d->squares)[t][v][c] += e < DRAWS ? value * value : 0.0;
            }
        }
        WEFT_TRY_GOTO(comm_allreduce(comm, product, 2, WEFT_DTYPE_F64, COMM_SUM), status, done);
        const int64_t sent = (int64_t)comm_lane_stats(comm, COMM_LANE_HALO).bytes_sent - before;
        if (comm_rank(comm) == 0) {
            memcpy(d->product[e % DRAWS], product, e < DRAWS ? sizeof product : 0);
            d->bytes += e < DRAWS ? sent : 0;
            d->whole = sent;
        }
    }
done:
    gnn_aggregator_destroy(&a);
    tensor_destroy(&x);
    tensor_destroy(&out);
    return status;
}

static weft_status run_drawing_rank(weft_comm *comm, void *argument)
{
    drawn *d = argument;
    weft_hal *hal = NULL;
    weft_part part = {0};
    comm_set_stall_timeout(comm, 100.0);
    weft_status status = weft_hal_open(test_device(d->s.backend), 1, &hal);
    status = status == WEFT_OK
                 ? part_extract(&d->s.graph->graph, &d->s.partition, comm_rank(comm), NULL, PART_SHARED_FIRST, &part)
                 : status;
    status = comm_agree(comm, status);
    status = status == WEFT_OK ? run_draws(comm, hal, &part, d) : status;
    part_destroy(&part);
    weft_hal_close(hal);
    return status;
}

/* The mean over draws is the sum over all edges, within 5 of its standard deviations; what evaluates is that sum. */
static void check_mean(const drawn *d, const char *what)
{
    double sum[VERTICES][WIDTH];
    double spread = 0.0;
    for (int t = 0; t < 2; ++t) {
        expect(&d->s, 0, t, sum);
        for (int i = 0; i < VERTICES * WIDTH; ++i) {
            const int v = i / WIDTH, c = i % WIDTH;
            const double mean = (*d->sum)[t][v][c] / DRAWS;
            const double variance = fmax((*d->squares)[t][v][c] / DRAWS - mean * mean, 0.0);
            if (!(fabs(mean - sum[v][c]) <= 5.0 * sqrt(variance / DRAWS) + 2e-5) ||
                !(fabs((double)d->s.result[0][t][v][c] - sum[v][c]) <= 2e-5)) {
                fail_msg("%s%s: vertex %d column %d has mean %.5g, deviation %.3g, and %.7g in an evaluation, not %.7g",
                         what, t ? ", transposed" : "", v, c, mean, sqrt(variance), (double)d->s.result[0][t][v][c],
                         sum[v][c]);
            }
            spread += variance;
        }
    }
    assert_true(spread > 1.0);
}

static void test_drawn_rows(void **state)
{
    (void)state;
    static const char *const methods[] = {"random", "edgecut", "libra", "random"};
    for (int k = 0; k < 4; ++k) {
        static drawn d;
        test_graph graph = test_graph_random(VERTICES, EDGES, k < 2, 9);
        const partition_options cut = {.method = methods[k], .parts = 3, .seed = 1, .balance = 1.2, .threads = 1};
        partition_report report;
        memset(&d, 0, sizeof d);
        d.s.backend = k == 3 ? "shadow" : "cpu";
        d.s.graph = &graph;
        d.s.tuned = NOT_TUNED;
        d.s.options = (gnn_aggregator_options){.forms.max_width = WIDTH,
                                               .normalisation = k % 2 == 0 ? GNN_NORM_MEAN : GNN_NORM_SYMMETRIC,
                                               .overlap = k < 2 ? HALO_OVERLAP_ON : HALO_OVERLAP_OFF,
                                               .halo.sample = 0.5};
        d.s.result = calloc(1, sizeof *d.s.result);
        d.sum = calloc(1, sizeof *d.sum);
        d.squares = calloc(1, sizeof *d.squares);
        ASSERT_OK(partition_compute(&graph.graph, &cut, &d.s.partition, &report));
        ASSERT_OK(comm_thread_run(3, run_drawing_rank, &d));
        check_mean(&d, methods[k]);
        assert_in_range(d.bytes * 100 / (DRAWS * d.whole), 48, 52);
        for (int e = 0; e < DRAWS && k != 1; ++e) { /* y . S x = x . S^T y in every epoch, where sums return to roots */
            assert_true(fabs(d.product[e][0] - d.product[e][1]) <= 1e-4 * (1.0 + fabs(d.product[e][0])));
            assert_true(e == 0 || d.product[e][0] != d.product[e - 1][0]);
        }
        partition_destroy(&d.s.partition);
        test_graph_free(&graph);
        free(d.s.result);
        free(d.sum);
        free(d.squares);
    }
}

/* Ids that follow the graph's structure, runs and strides, leave no bin much fuller than another. */
static void test_bins_are_even(void **state)
{
    (void)state;
    enum { BINS = 5, IDS = 20000 };
    for (int64_t stride = 1; stride <= 5 * 7; stride *= 5) {
        int count[BINS] = {0};
        for (int64_t i = 0; i < IDS; ++i) {
            count[halo_bin_of((int64_t)1 << 40 | i * stride, BINS)] += 1;
        }
        for (int b = 0; b < BINS; ++b) { /* mean 4000, standard deviation 57 */
            assert_in_range(count[b], IDS / BINS - 285, IDS / BINS + 285);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delay_undirected), cmocka_unit_test(test_delay_directed),
        cmocka_unit_test(test_hidden),           cmocka_unit_test(test_no_halo),
        cmocka_unit_test(test_drawn_rows),       cmocka_unit_test(test_bins_are_even),
        cmocka_unit_test(test_unforeseen),       cmocka_unit_test(test_tuned),
        cmocka_unit_test(test_tuned_wrongly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

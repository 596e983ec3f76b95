/*
 * Neighbourhood sums over a divided graph against sums over the whole one in double precision, with the halo hidden and
 * not, along all edges and along those into some rows, and whether it hides: ranks that could not go on if rows and
 * partial sums did not travel behind the products.
 * processors: one
 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/half.h"
#include "gnn/layers/aggregate.h"
#include "hal/share.h"
#include "partition/partition.h"
#include "support/edge_weights.h"
#include "support/graphs.h"
#include "support/test.h"

enum { VERTICES = 300, EDGES = 1500, MOST_WIDTH = 40, PATIENCE_S = 20 };

typedef struct setting {
    const test_graph *graph;
    weft_partition partition;
    const char *backend;
    gnn_aggregator_options options;
    int64_t width, padding;
    double beta;
    bool transposed;
    bool threaded; /* every rank has a communication thread */
    bool narrow;   /* x and out are of bfloat16 */
    float *result; /* [n, width] by global id, written by roots */
} setting;

/* Does the sum run along edges into this vertex? */
static bool is_read(const setting *s, int64_t v)
{
    return s->options.read_width == 0 || v % 3 != 0;
}

static weft_status create_aggregator(weft_comm *comm, weft_hal *hal, const weft_part *part, const setting *s,
                                     gnn_aggregator *a)
{
    gnn_aggregator_options options = s->options;
    uint8_t *read = calloc((size_t)part->n_owned + 1, sizeof *read);
    for (int64_t i = 0; i < part->n_owned; ++i) {
        read[i] = is_read(s, part->gid[i]);
    }
    options.read = read;
    weft_status status = gnn_aggregator_create(comm, hal, WEFT_DTYPE_F32, part, &options, a);
    free(read);
    if (status == WEFT_OK && options.read_width > 0) {
        gnn_aggregator_set_scope(a, GNN_SCOPE_READ);
    }
    return status;
}

static double of_type(const setting *s, double value)
{
    return s->narrow ? (double)bf16_to_float(bf16_from_float((float)value)) : value;
}

static double x_of(const setting *s, int64_t v, int64_t c)
{
    return of_type(s, (double)((v * 31 + c * 17) % 101) / 50.0 - 1.0);
}

/* What out holds before: written by the caller between begin and end. */
static double y_of(const setting *s, int64_t v, int64_t c)
{
    return of_type(s, (double)((v * 13 + c * 7) % 89) / 40.0 - 1.0);
}

static weft_status make_matrix(weft_hal *hal, const weft_part *part, const setting *s, bool is_x, weft_tensor *t)
{
    const int64_t ld = s->width + s->padding;
    const weft_dtype dtype = s->narrow ? WEFT_DTYPE_BF16 : WEFT_DTYPE_F32;
    WEFT_TRY(tensor_create(hal, dtype, part->n_local, ld, WEFT_MEM_FEATURE, t));
    float *host = calloc((size_t)(part->n_local * ld) + 1, sizeof *host);
    for (int64_t i = 0; i < part->n_owned * s->width; ++i) {
        const int64_t v = part->gid[i / s->width], c = i % s->width;
        host[i / s->width * ld + c] = (float)(is_x ? x_of(s, v, c) : y_of(s, v, c));
    }
    if (s->narrow) { /* in place: what is written lies before what is read next */
        for (int64_t i = 0; i < part->n_local * ld; ++i) {
            const uint16_t half = bf16_from_float(host[i]);
            memcpy((char *)host + (size_t)i * sizeof half, &half, sizeof half);
        }
    }
    weft_status status = tensor_upload(t, host);
    free(host);
    return status;
}

static weft_status keep_result(const weft_part *part, const setting *s, const weft_tensor *out)
{
    float *host = calloc((size_t)(out->rows * out->cols) + 1, sizeof *host);
    weft_status status = tensor_download(out, host);
    for (int64_t i = out->rows * out->cols - 1; s->narrow && i >= 0; --i) {
        uint16_t half = 0;
        memcpy(&half, (const char *)host + (size_t)i * sizeof half, sizeof half);
        host[i] = bf16_to_float(half);
    }
    for (int64_t i = 0; status == WEFT_OK && i < part->n_owned; ++i) {
        memcpy(s->result + part->gid[i] * s->width, host + i * out->cols, (size_t)s->width * sizeof *host);
    }
    free(host);
    return status;
}

static weft_status aggregate_once(weft_comm *comm, weft_hal *hal, const weft_part *part, const setting *s)
{
    weft_status status = WEFT_OK;
    gnn_aggregator a = {.hal = NULL};
    weft_tensor x = {0}, first = {0}, out = {0};
    WEFT_TRY_GOTO(create_aggregator(comm, hal, part, s, &a), status, done);
    WEFT_TRY_GOTO(make_matrix(hal, part, s, true, &x), status, done);
    WEFT_TRY_GOTO(make_matrix(hal, part, s, false, &first), status, done);
    WEFT_TRY_GOTO(make_matrix(hal, part, s, true, &out), status, done);
    weft_tensor x_view = tensor_view(&x, 0, x.rows, 0, s->width);
    weft_tensor out_view = tensor_view(&out, 0, out.rows, 0, s->width);
    weft_tensor owned = tensor_view(&out, 0, part->n_owned, 0, out.cols);
    weft_tensor first_owned = tensor_view(&first, 0, part->n_owned, 0, first.cols);
    for (int repeat = 0; repeat < 2; ++repeat) { /* the second finds the replicas' rows as the first left them */
        WEFT_TRY_GOTO(gnn_aggregate_begin(&a, s->transposed, &x_view, s->beta, &out_view), status, done);
        WEFT_TRY_GOTO(tensor_axpby(1.0, &first_owned, 0.0, &owned), status, done);
        gnn_aggregate_poll(&a);
        WEFT_TRY_GOTO(gnn_aggregate_end(&a), status, done);
    }
    status = keep_result(part, s, &out);
done:
    gnn_aggregator_destroy(&a);
    tensor_destroy(&x);
    tensor_destroy(&first);
    tensor_destroy(&out);
    return status;
}

static weft_status run_rank(weft_comm *comm, void *argument)
{
    const setting *s = argument;
    weft_hal *hal = NULL;
    weft_part part = {0};
    comm_set_stall_timeout(comm, PATIENCE_S);
    weft_status status = weft_hal_open(test_device(s->backend), 1, &hal);
    status = status == WEFT_OK
                 ? part_extract(&s->graph->graph, &s->partition, comm_rank(comm), NULL, PART_SHARED_FIRST, &part)
                 : status;
    status = status == WEFT_OK && s->threaded ? comm_thread_start(comm, -1) : status;
    status = comm_agree(comm, status);
    status = status == WEFT_OK ? aggregate_once(comm, hal, &part, s) : status;
    part_destroy(&part);
    weft_hal_close(hal);
    return status;
}

/* ---- the oracle -------------------------------------------------------------------------------------------------- */

static double weight_of(const weft_graph *g, int64_t e)
{
    return g->weight != NULL ? (double)g->weight[e] : 1.0;
}

static void degrees_of(const weft_graph *g, double *degree)
{
    for (int64_t v = 0; v < g->vertices; ++v) {
        degree[v] = 0.0;
        for (int64_t e = g->offset[v]; e < g->offset[v + 1]; ++e) {
            degree[v] += weight_of(g, e);
        }
    }
}

static bool has_loop(const weft_graph *g, int64_t v)
{
    bool found = false;
    for (int64_t e = g->offset[v]; e < g->offset[v + 1]; ++e) {
        found = found || g->source32[e] == v;
    }
    return found;
}

/* What v itself weighs among its neighbours: nothing more where GCN's graph has the loop. */
static double self_of(const setting *s, int64_t v)
{
    return s->options.normalisation == GNN_NORM_SYMMETRIC && has_loop(&s->graph->graph, v) ? 0.0 : 1.0;
}

/* sum [n, width]: y * beta + diag * x + post * A (pre * x), as gnn/layers/aggregate.h defines them; magnitude [n,
 * width]: of what is added. */
static void expect(const setting *s, double *sum, double *magnitude)
{
    const weft_graph *g = &s->graph->graph;
    double degree[VERTICES + 1];
    degrees_of(g, degree);
    for (int64_t i = 0; i < g->vertices * s->width; ++i) {
        const int64_t v = i / s->width, c = i % s->width;
        const double self =
            s->options.normalisation == GNN_NORM_MEAN || s->options.normalisation == GNN_NORM_SYMMETRIC_OTHERS ? 0.0
            : s->options.normalisation == GNN_NORM_SUM_SELF                                                    ? 1.0
                                                            : self_of(s, v) / (degree[v] + self_of(s, v));
        sum[i] = s->beta * y_of(s, v, c) + self * x_of(s, v, c);
        magnitude[i] = s->beta * fabs(y_of(s, v, c)) + self * fabs(x_of(s, v, c));
    }
    for (int64_t v = 0; v < g->vertices; ++v) {
        for (int64_t e = g->offset[v]; e < g->offset[v + 1] && is_read(s, v); ++e) {
            const int64_t u = g->source32[e];
            const double scale = s->options.normalisation == GNN_NORM_SUM_SELF ? 1.0
                                 : s->options.normalisation == GNN_NORM_MEAN   ? (degree[v] > 0 ? 1.0 / degree[v] : 0.0)
                                 : s->options.normalisation == GNN_NORM_SYMMETRIC_OTHERS
                                     ? (degree[u] * degree[v] > 0 ? 1.0 / sqrt(degree[u] * degree[v]) : 0.0)
                                 : s->options.normalisation == GNN_NORM_MEAN_SELF
                                     ? 1.0 / (degree[v] + 1.0)
                                     : 1.0 / sqrt((degree[v] + self_of(s, v)) * (degree[u] + self_of(s, u)));
            const double weight = scale * weight_of(g, e);
            const int64_t to = s->transposed ? u : v, from = s->transposed ? v : u;
            for (int64_t c = 0; c < s->width; ++c) {
                sum[to * s->width + c] += weight * x_of(s, from, c);
                magnitude[to * s->width + c] += weight * fabs(x_of(s, from, c));
            }
        }
    }
}

static void check_setting(setting *s, int ranks, const char *method)
{
    const weft_graph *g = &s->graph->graph;
    const partition_options cut = {.method = method, .parts = ranks, .seed = 1, .balance = 1.1, .threads = 1};
    partition_report report;
    double *sum = calloc((size_t)(g->vertices * s->width), sizeof *sum);
    double *magnitude = calloc((size_t)(g->vertices * s->width), sizeof *magnitude);
    float *again = calloc((size_t)(g->vertices * s->width), sizeof *again);
    s->result = calloc((size_t)(g->vertices * s->width), sizeof *s->result);
    ASSERT_OK(partition_compute(g, &cut, &s->partition, &report));
    ASSERT_OK(comm_thread_run(ranks, run_rank, s));
    expect(s, sum, magnitude);
    const double units = s->narrow ? (ranks + 3) * 0x1p-9 : 0.0; /* as gnn/layers/aggregate.h says */
    for (int64_t i = 0; i < g->vertices * s->width; ++i) {
        if (!(fabs((double)s->result[i] - sum[i]) <= 2e-5 + units * magnitude[i])) {
            fail_msg(
                "%s%s, %d ranks, %s, %s, form %d, norm %d, overlap %d, width %lld, beta %g%s%s: vertex %lld column "
                "%lld is "
                "%.7g, not %.7g",
                s->narrow ? "bf16" : "f32", g->weight != NULL ? ", weighted" : "", ranks, method, s->backend,
                (int)s->options.forms.form, (int)s->options.normalisation, (int)s->options.overlap, (long long)s->width,
                s->beta, s->transposed ? ", transposed" : "", s->options.read_width > 0 ? ", cut" : "",
                (long long)(i / s->width), (long long)(i % s->width), (double)s->result[i], sum[i]);
        }
    }
    if (s->options.overlap == HALO_OVERLAP_ON && ranks > 1 &&
        ranks < 8) { /* when messages arrive makes no difference */
        float *first = s->result;
        s->result = again;
        s->threaded = true;
        ASSERT_OK(comm_thread_run(ranks, run_rank, s));
        assert_memory_equal(s->result, first, (size_t)(g->vertices * s->width) * sizeof *first);
        s->result = first;
    }
    partition_destroy(&s->partition);
    free(s->result);
    free(again);
    free(magnitude);
    free(sum);
}

/* Everything is met with everything else often enough over the turns. */
static void check_graph(const test_graph *graph, int turns, bool narrow)
{
    static const int ranks[] = {1, 2, 3, 4, 8};
    static const char *const methods[] = {"random", "libra", "edgecut", "2d"};
    static const char *const backends[] = {"cpu", "ref", "shadow"};
    static const int64_t widths[] = {1, 16, MOST_WIDTH};
    const bool weighted = graph->graph.weight != NULL; /* held by one form */
    for (int k = 0; k < turns; ++k) {
        setting s = {.graph = graph,
                     .backend = backends[k / 2 % 3],
                     .width = widths[k / 3 % 3],
                     .padding = k / 5 % 2 * 3,
                     .beta = k / 4 % 2,
                     .narrow = narrow,
                     .transposed = k / 2 % 2 == 1};
        s.options = (gnn_aggregator_options){.normalisation = (gnn_normalisation)((k + k / 4) % 5),
                                             .forms.form = weighted ? HAL_SPMM_AUTO : (hal_spmm_form)(k / 7 % 4),
                                             .forms.max_width = MOST_WIDTH,
                                             .overlap = k % 4 == 3 ? HALO_OVERLAP_OFF : HALO_OVERLAP_ON,
                                             .read_width = (k / 3 + k / 8) % 2 == 1 ? s.width : 0};
        check_setting(&s, ranks[k % 5], methods[k / 5 % 4]);
    }
}

/* As it is, and with weights. */
static void check_both(test_graph *graph)
{
    check_graph(graph, 40, false);
    check_graph(graph, 20, true);
    float *weight = test_weights(&graph->graph);
    graph->graph.weight = weight;
    check_graph(graph, 40, false);
    check_graph(graph, 20, true);
    free(weight);
}

static void test_symmetric(void **state)
{
    (void)state;
    test_graph graph = test_graph_random(VERTICES, EDGES, true, 5);
    check_both(&graph);
    test_graph_free(&graph);
}

static void test_directed(void **state)
{
    (void)state;
    test_graph graph = test_graph_random(VERTICES, EDGES, false, 6);
    check_both(&graph);
    test_graph_free(&graph);
}

/* Whether this build has the form (WEFT_SHARED_SUMS), which then finds something in the graph. */
static bool shares_sums(const test_graph *graph)
{
    const hal_csr csr = {.rows = VERTICES, .cols = VERTICES, .offset = graph->offset, .column = graph->source};
    hal_shared_rows rows;
    const weft_status status = hal_share_find(&csr, true, 1, NULL, &rows);
    assert_true(status == WEFT_ERR_UNSUPPORTED || rows.sums > 10);
    hal_shared_rows_free(&rows);
    weft_error_clear();
    return status == WEFT_OK;
}

/* A union of cliques, whose rows have sums in common: those of rows that are here and of rows that arrive. */
static void test_shared_sums(void **state)
{
    (void)state;
    enum { GROUPS = 9, MEMBERS = 60 };
    static const int ranks[] = {1, 2, 3, 4, 8};
    static const char *const methods[] = {"stream", "edgecut", "random"};
    static const char *const backends[] = {"cpu", "shadow", "ref"};
    test_edges edges = {0};
    for (int g = 0; g < GROUPS; ++g) {
        for (int i = 0; i < MEMBERS; ++i) {
            for (int j = i + 1; j < MEMBERS; ++j) {
                test_edge(&edges, (g * 29 + i) % VERTICES, (g * 29 + j) % VERTICES);
            }
        }
    }
    test_graph graph = test_graph_build(VERTICES, &edges, true, false);
    for (int k = 0; k < 20 && (k > 0 || shares_sums(&graph)); ++k) {
        setting s = {.graph = &graph,
                     .backend = backends[k % 3],
                     .width = k % 2 == 0 ? 16 : MOST_WIDTH,
                     .beta = k / 4 % 2,
                     .transposed = k / 2 % 2 == 1,
                     .options = {.normalisation = (gnn_normalisation)(k % 5),
                                 .forms = {.form = HAL_SPMM_SHARED, .max_width = MOST_WIDTH},
                                 .overlap = k / 5 % 2 == 0 ? HALO_OVERLAP_ON : HALO_OVERLAP_OFF,
                                 .read_width = k / 3 % 2 == 1 ? MOST_WIDTH : 0}};
        check_setting(&s, ranks[(k + k / 5) % 5], methods[k % 3]);
    }
    test_graph_free(&graph);
}

/* ---- does it hide? ---------------------------------------------------------------------------------------------- */

/* Rank 1 does not even begin before rank 0 has computed something (forward leg), and rank 0 does not compute its
 * boundary edges before rank 1 has its aggregate (reverse leg). Steps of rows: rank 0 does not do its unshared rows
 * before rank 1 has rank 0's shared ones (before), and rank 1 gives no sums before rank 0 has done its unshared rows
 * (behind). Without overlap each waits for the other. */
typedef enum hiding { HIDES_FORWARD, HIDES_REVERSE, HIDES_STEP_BEFORE, HIDES_STEP_BEHIND } hiding;

typedef struct hiding_job {
    setting s;
    hiding what;
    atomic_bool released; /* what the other rank waits for has happened */
    atomic_bool waited;   /* and somebody had to wait for it */
} hiding_job;

static _Thread_local struct {
    hiding_job *job;
    weft_comm *comm;
    weft_status (*run)(weft_hal *hal, const hal_spmm_run_args *args);
    const void *out;
    int64_t done[2]; /* rows that the step was run for: shared ones, others */
    int sums;        /* that it began */
} here;

static weft_status wait_for_release(void)
{
    const double start = clock_seconds();
    atomic_store(&here.job->waited, true);
    while (!atomic_load(&here.job->released)) {
        comm_poll(here.comm);
        WEFT_CHECK(clock_seconds() - start < PATIENCE_S, WEFT_ERR_STALL, "rank %d waits for a leg that is not hidden",
                   comm_rank(here.comm));
    }
    return WEFT_OK;
}

static weft_status hooked_run(weft_hal *hal, const hal_spmm_run_args *args)
{
    const bool boundary = args->out.source == here.out && args->diag.source == NULL && args->beta == 1.0;
    if (here.job->what == HIDES_REVERSE && comm_rank(here.comm) == 0 && boundary) {
        WEFT_TRY(wait_for_release());
    }
    if (here.job->what == HIDES_STEP_BEHIND && comm_rank(here.comm) == 1) {
        WEFT_TRY(wait_for_release());
    }
    WEFT_TRY(here.run(hal, args));
    if (here.job->what == HIDES_FORWARD && comm_rank(here.comm) == 0) {
        atomic_store(&here.job->released, true);
    }
    return WEFT_OK;
}

static weft_status step_run(const gnn_row_step *step, const gnn_row_span *span)
{
    const weft_part *part = step->self;
    const bool shared = span->row < part->n_shared;
    here.done[shared ? 0 : 1] += span->rows;
    here.sums += span->first;
    if (comm_rank(here.comm) != 0 || shared) {
        return WEFT_OK;
    }
    if (here.job->what == HIDES_STEP_BEHIND) {
        atomic_store(&here.job->released, true);
    }
    return here.job->what == HIDES_STEP_BEFORE ? wait_for_release() : WEFT_OK;
}

static weft_status step_done(const gnn_row_step *step)
{
    const weft_part *part = step->self;
    WEFT_CHECK(here.done[0] == part->n_shared && here.done[1] == part->n_owned - part->n_shared && here.sums == 1,
               WEFT_ERR_INTERNAL, "a step was run for %lld shared and %lld other rows, and began %d sums",
               (long long)here.done[0], (long long)here.done[1], here.sums);
    memset(here.done, 0, sizeof here.done);
    here.sums = 0;
    return WEFT_OK;
}

static weft_status aggregate_with_step(gnn_aggregator *a, const weft_part *part, weft_tensor *x, weft_tensor *out)
{
    const hiding what = here.job->what;
    const gnn_row_step step = {.run = step_run, .done = step_done, .self = (void *)part};
    WEFT_TRY(what == HIDES_STEP_BEFORE ? gnn_aggregate_rows(a, part->n_owned, &step) : WEFT_OK);
    WEFT_TRY(gnn_aggregate_begin(a, false, x, 0.0, out));
    WEFT_TRY(gnn_aggregate_leave(a));
    if (what == HIDES_STEP_BEFORE && comm_rank(here.comm) == 1) {
        atomic_store(&here.job->released, true);
    }
    WEFT_TRY(what == HIDES_STEP_BEHIND ? gnn_aggregate_rows(a, part->n_owned, &step) : WEFT_OK);
    return gnn_aggregate_settle(a);
}

static weft_status aggregate_hooked(weft_comm *comm, weft_hal *hal, const weft_part *part, hiding_job *job)
{
    weft_status status = WEFT_OK;
    gnn_aggregator a = {.hal = NULL};
    weft_tensor x = {0}, out = {0};
    WEFT_TRY_GOTO(gnn_aggregator_create(comm, hal, WEFT_DTYPE_F32, part, &job->s.options, &a), status, done);
    WEFT_TRY_GOTO(make_matrix(hal, part, &job->s, true, &x), status, done);
    WEFT_TRY_GOTO(make_matrix(hal, part, &job->s, false, &out), status, done);
    here.job = job;
    here.comm = comm;
    here.out = out.data;
    here.run = hal->op.spmm_run;
    hal->op.spmm_run = hooked_run;
    if (job->what == HIDES_FORWARD && comm_rank(comm) == 1) {
        WEFT_TRY_GOTO(wait_for_release(), status, done);
    }
    WEFT_TRY_GOTO(aggregate_with_step(&a, part, &x, &out), status, done);
    if (job->what == HIDES_REVERSE && comm_rank(comm) == 1) {
        atomic_store(&job->released, true);
    }
    status = keep_result(part, &job->s, &out);
done:
    gnn_aggregator_destroy(&a);
    tensor_destroy(&x);
    tensor_destroy(&out);
    return status;
}

static weft_status run_hooked(weft_comm *comm, void *argument)
{
    hiding_job *job = argument;
    weft_hal *hal = NULL;
    weft_part part = {0};
    comm_set_stall_timeout(comm, 2.0 * PATIENCE_S);
    weft_status status = weft_hal_open("cpu", 1, &hal);
    status = status == WEFT_OK ? part_extract(&job->s.graph->graph, &job->s.partition, comm_rank(comm), NULL,
                                              PART_SHARED_FIRST, &part)
                               : status;
    status = comm_agree(comm, status);
    status = status == WEFT_OK ? aggregate_hooked(comm, hal, &part, job) : status;
    part_destroy(&part);
    weft_hal_close(hal);
    return status;
}

static void check_hiding(hiding what)
{
    test_graph graph = test_graph_random(VERTICES, EDGES, true, 7);
    const partition_options cut = {.method = "random", .parts = 2, .seed = 1, .balance = 1.1, .threads = 1};
    partition_report report;
    float result[VERTICES * 4];
    hiding_job job = {.s = {.graph = &graph, .width = 4, .result = result}, .what = what};
    job.s.options =
        (gnn_aggregator_options){.forms = {.form = HAL_SPMM_ROWS, .max_width = 4}, .overlap = HALO_OVERLAP_ON};
    ASSERT_OK(partition_compute(&graph.graph, &cut, &job.s.partition, &report));
    ASSERT_OK(comm_thread_run(2, run_hooked, &job));
    assert_true(atomic_load(&job.waited)); /* there are boundary edges, and they are computed by themselves */
    partition_destroy(&job.s.partition);
    test_graph_free(&graph);
}

static void test_hides_forward(void **state)
{
    (void)state;
    check_hiding(HIDES_FORWARD);
}

static void test_hides_reverse(void **state)
{
    (void)state;
    check_hiding(HIDES_REVERSE);
}

static void test_hides_steps(void **state)
{
    (void)state;
    check_hiding(HIDES_STEP_BEFORE);
    check_hiding(HIDES_STEP_BEHIND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_symmetric),     cmocka_unit_test(test_directed),
                                       cmocka_unit_test(test_shared_sums),   cmocka_unit_test(test_hides_forward),
                                       cmocka_unit_test(test_hides_reverse), cmocka_unit_test(test_hides_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

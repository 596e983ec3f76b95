/*
 * Neighbourhood sums in fixed point over a divided graph: the same bits for any number of ranks, partition and
 * schedule, on every backend, and within the bound that gnn/layers/fixed_sums.h gives of sums in double precision.
 * processors: one
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gnn/layers/fixed_sums.h"
#include "partition/partition.h"
#include "support/edge_weights.h"
#include "support/graphs.h"
#include "support/test.h"

enum { VERTICES = 300, EDGES = 1500, MOST_WIDTH = 70, PATIENCE_S = 100 };

typedef struct setting {
    const test_graph *graph;
    weft_partition partition;
    const char *backend;
    gnn_aggregator_options options;
    int64_t width;
    double beta;
    bool transposed, whole; /* whole: x of whole numbers */
    float *result;          /* [n, width] by global id, written by roots */
} setting;

static float x_of(const setting *s, int64_t v, int64_t c)
{
    const int64_t number = (v * 31 + c * 17) % 101 - 50;
    return s->whole ? (float)number : (float)number / 37.0F * (c % 5 == 4 ? 1e-6F : 1.0F);
}

static float y_of(int64_t v, int64_t c)
{
    return (float)((v * 13 + c * 7) % 89) / 40.0F - 1.0F;
}

static weft_status make_matrix(weft_hal *hal, const weft_part *part, const setting *s, bool is_x, weft_tensor *t)
{
    const int64_t ld = s->width + 2;
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F32, part->n_local, ld, WEFT_MEM_FEATURE, t));
    float *host = calloc((size_t)(part->n_local * ld) + 1, sizeof *host);
    for (int64_t i = 0; i < part->n_owned * s->width; ++i) {
        const int64_t v = part->gid[i / s->width], c = i % s->width;
        host[i / s->width * ld + c] = is_x ? x_of(s, v, c) : y_of(v, c);
    }
    weft_status status = tensor_upload(t, host);
    free(host);
    return status;
}

static weft_status keep_result(const weft_part *part, const setting *s, const weft_tensor *out)
{
    float *host = calloc((size_t)(out->rows * out->cols) + 1, sizeof *host);
    weft_status status = tensor_download(out, host);
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
    gnn_aggregator_options options = s->options;
    uint8_t *read = calloc((size_t)part->n_owned + 1, sizeof *read);
    for (int64_t i = 0; i < part->n_owned; ++i) {
        read[i] = part->gid[i] % 3 != 0;
    }
    options.read = read;
    WEFT_TRY_GOTO(gnn_aggregator_create(comm, hal, WEFT_DTYPE_F32, part, &options, &a), status, done);
    if (options.read_width > 0) {
        gnn_aggregator_set_scope(&a, GNN_SCOPE_READ);
    }
    WEFT_TRY_GOTO(make_matrix(hal, part, s, true, &x), status, done);
    WEFT_TRY_GOTO(make_matrix(hal, part, s, false, &first), status, done);
    WEFT_TRY_GOTO(make_matrix(hal, part, s, true, &out), status, done);
    weft_tensor x_view = tensor_view(&x, 0, x.rows, 0, s->width);
    weft_tensor out_view = tensor_view(&out, 0, out.rows, 0, s->width);
    weft_tensor owned = tensor_view(&out, 0, part->n_owned, 0, out.cols);
    weft_tensor first_owned = tensor_view(&first, 0, part->n_owned, 0, first.cols);
    for (int repeat = 0; repeat < 2; ++repeat) {
        WEFT_TRY_GOTO(gnn_aggregate_begin(&a, s->transposed, &x_view, s->beta, &out_view), status, done);
        WEFT_TRY_GOTO(tensor_axpby(1.0, &first_owned, 0.0, &owned), status, done);
        gnn_aggregate_poll(&a);
        WEFT_TRY_GOTO(gnn_aggregate_end(&a), status, done);
    }
    status = keep_result(part, s, &out);
done:
    gnn_aggregator_destroy(&a);
    TENSOR_DESTROY_ALL(&x, &first, &out);
    free(read);
    return status;
}

static weft_status run_rank(weft_comm *comm, void *argument)
{
    const setting *s = argument;
    weft_hal *hal = NULL;
    weft_part part = {0};
    comm_set_stall_timeout(comm, PATIENCE_S);
    weft_status status = weft_hal_open(s->backend, 1 + comm_rank(comm) % 2, &hal);
    status = status == WEFT_OK
                 ? part_extract(&s->graph->graph, &s->partition, comm_rank(comm), NULL, PART_SHARED_FIRST, &part)
                 : status;
    status = comm_agree(comm, status);
    status = status == WEFT_OK ? aggregate_once(comm, hal, &part, s) : status;
    part_destroy(&part);
    weft_hal_close(hal);
    return status;
}

static void run_setting(setting *s, int ranks, const char *method)
{
    const weft_graph *g = &s->graph->graph;
    const partition_options cut = {.method = method, .parts = ranks, .seed = 1, .balance = 1.1, .threads = 1};
    partition_report report;
    s->result = calloc((size_t)(g->vertices * s->width), sizeof *s->result);
    ASSERT_OK(partition_compute(g, &cut, &s->partition, &report));
    ASSERT_OK(comm_thread_run(ranks, run_rank, s));
    partition_destroy(&s->partition);
}

/* ---- the oracle: means and plain sums ---------------------------------------------------------------------------- */

static double self_of(const setting *s)
{
    return s->options.normalisation == GNN_NORM_SUM_SELF ? 1.0 : 0.0;
}

/* sum and, of a row's edges, the weights added up: [n, width] and [n] */
static void expect(const setting *s, double *sum, double *weights)
{
    const weft_graph *g = &s->graph->graph;
    memset(weights, 0, (size_t)g->vertices * sizeof *weights);
    for (int64_t i = 0; i < g->vertices * s->width; ++i) {
        const int64_t v = i / s->width, c = i % s->width;
        sum[i] = s->beta * (double)y_of(v, c) + self_of(s) * (double)x_of(s, v, c);
    }
    for (int64_t v = 0; v < g->vertices; ++v) {
        const double degree = (double)(g->offset[v + 1] - g->offset[v]);
        for (int64_t e = g->offset[v]; e < g->offset[v + 1]; ++e) {
            if (s->options.read_width > 0 && v % 3 == 0) {
                continue;
            }
            const int64_t u = g->source32[e];
            const int64_t to = s->transposed ? u : v, from = s->transposed ? v : u;
            const double weight = s->options.normalisation == GNN_NORM_MEAN ? 1.0 / degree : 1.0;
            weights[to] += s->transposed ? 1.0 : weight;
            for (int64_t c = 0; c < s->width; ++c) {
                sum[to * s->width + c] += weight * (double)x_of(s, from, c);
            }
        }
    }
}

/* Half a quantum, 2^-15 of the largest in the column, for each row that is summed, and the rounding of float32. */
static void check_bound(const setting *s)
{
    const weft_graph *g = &s->graph->graph;
    double *sum = calloc((size_t)(g->vertices * s->width), sizeof *sum),
           *weights = calloc(VERTICES + 1, sizeof *weights);
    expect(s, sum, weights);
    for (int64_t i = 0; i < g->vertices * s->width; ++i) {
        const int64_t v = i / s->width, c = i % s->width;
        const double largest = s->whole ? 50.0 : 50.0 / 37.0 * (c % 5 == 4 ? 1e-6 : 1.0);
        const double bound = weights[v] * largest * 0x1p-15 + 2e-6 * (1.0 + fabs(sum[i]));
        const double error = fabs((double)s->result[i] - sum[i]);
        const bool exact = s->whole && s->options.normalisation == GNN_NORM_SUM_SELF && s->beta == 0.0;
        if (!(error <= (exact ? 0.0 : bound))) {
            fail_msg("vertex %lld column %lld is %.9g, not %.9g (bound %.3g)", (long long)v, (long long)c,
                     (double)s->result[i], sum[i], bound);
        }
    }
    free(sum);
    free(weights);
}

static void check_graph(const test_graph *graph)
{
    static const int ranks[] = {2, 3, 4, 8};
    static const char *const methods[] = {"random", "libra", "edgecut", "2d"};
    static const char *const backends[] = {"cpu", "shadow", "ref", "cpu:base"};
    static const int64_t widths[] = {1, 16, 33, MOST_WIDTH};
    for (int k = 0; k < 20; ++k) {
        setting s = {.graph = graph, .backend = "cpu", .width = widths[k % 4], .beta = k / 2 % 2};
        s.transposed = k / 3 % 2 == 1;
        s.whole = k % 7 == 3;
        s.options = (gnn_aggregator_options){.normalisation = (gnn_normalisation)(k % 5),
                                             .forms.form = HAL_SPMM_I16,
                                             .forms.max_width = MOST_WIDTH,
                                             .read_width = k / 4 % 2 == 1 ? MOST_WIDTH : 0};
        run_setting(&s, 1, "random");
        float *alone = s.result;
        if (s.options.normalisation == GNN_NORM_MEAN || s.options.normalisation == GNN_NORM_SUM_SELF) {
            check_bound(&s);
        }
        for (int i = 0; i < 4; ++i) {
            s.backend = backends[(i + k) % 4];
            s.options.overlap = (i + k / 4) % 2 == 0 ? HALO_OVERLAP_ON : HALO_OVERLAP_OFF;
            run_setting(&s, ranks[i], methods[(i + k) % 4]);
            if (memcmp(s.result, alone, (size_t)(graph->graph.vertices * s.width) * sizeof *alone) != 0) {
                fail_msg("%d ranks, %s, %s, norm %d, overlap %d, width %lld, beta %g%s%s: not the bits of one rank",
                         ranks[i], methods[(i + k) % 4], s.backend, (int)s.options.normalisation,
                         (int)s.options.overlap, (long long)s.width, s.beta, s.transposed ? ", transposed" : "",
                         s.options.read_width > 0 ? ", cut" : "");
            }
            free(s.result);
        }
        free(alone);
    }
}

static void test_symmetric(void **state)
{
    (void)state;
    test_graph graph = test_graph_random(VERTICES, EDGES, true, 5);
    check_graph(&graph);
    test_graph_free(&graph);
}

static void test_directed(void **state)
{
    (void)state;
    test_graph graph = test_graph_random(VERTICES, EDGES, false, 6);
    check_graph(&graph);
    test_graph_free(&graph);
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

static weft_status run_refused(weft_comm *comm, void *argument)
{
    const weft_status status = run_rank(comm, argument);
    WEFT_CHECK(status == WEFT_ERR_UNSUPPORTED, WEFT_ERR_INTERNAL, "not refused: %s", weft_status_name(status));
    weft_error_clear();
    return WEFT_OK;
}

static void check_refused(setting *s)
{
    const weft_graph *g = &s->graph->graph;
    const partition_options cut = {.method = "random", .parts = 2, .seed = 1, .balance = 1.1, .threads = 1};
    partition_report report;
    s->backend = "cpu";
    s->width = 1;
    s->options.forms.form = HAL_SPMM_I16;
    s->options.forms.max_width = MOST_WIDTH;
    ASSERT_OK(partition_compute(g, &cut, &s->partition, &report));
    ASSERT_OK(comm_thread_run(2, run_refused, s));
    partition_destroy(&s->partition);
}

static void test_refused(void **state)
{
    (void)state;
    test_graph graph = test_graph_random(VERTICES, EDGES, true, 5);
    check_refused(&(setting){.graph = &graph, .options.halo.delay = 2});
    check_refused(&(setting){.graph = &graph, .options.halo.none = true});
    check_refused(&(setting){.graph = &graph, .options.halo.sample = 0.5});
    check_refused(&(setting){.graph = &graph, .options.halo.codec = HAL_ROWS_INT8});
    float *weight = test_weights(&graph.graph);
    graph.graph.weight = weight;
    check_refused(&(setting){.graph = &graph});
    free(weight);
    test_graph_free(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_symmetric), cmocka_unit_test(test_directed),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

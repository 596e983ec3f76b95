/*
 * Largest rows over edges, along partial maxima that rows have in common: maxima, ties and gradients of whole numbers
 * are those of a plain loop over all edges to the last digit, on 1 to 4 ranks, for any partition and backend; and each
 * edge is on one path. In bfloat16 gradients are within what they are rounded by, once a level.
 * needs: shared sums
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "gnn/layers/part_edges.h"
#include "partition/partition.h"
#include "support/graphs.h"
#include "support/test.h"

enum { POSTS = 260, USERS = 60, WIDTH = 70, PATIENCE_S = 100 };

typedef struct setting {
    const test_graph *graph;
    weft_partition partition;
    const char *backend;
    bool narrow;             /* rows and gradients in bfloat16 */
    int least_levels;        /* of partial maxima on each rank */
    int levels;              /* of one rank: found */
    bool sizes;              /* of the oracle's gradients: sums of what they add up, without signs */
    float *most, *ties, *dx; /* [n, WIDTH] by global id, written by roots */
} setting;

/* Posts that a common user has commented on are joined; directed: two of three of them with all, one by no edge of its
 * own. */
static test_graph forum(bool symmetric)
{
    test_edges edges = {0};
    uint64_t state = 11;
    for (int user = 0; user < USERS; ++user) {
        int64_t post[48];
        const int own = user % 6 == 0 ? 48 : 3 + user % 13;
        const int64_t home = test_random(&state) % POSTS;
        for (int i = 0; i < own; ++i) {
            post[i] = (home + test_random(&state) % (i % 9 == 8 ? POSTS : 80)) % POSTS;
        }
        for (int i = 0; i < own; ++i) {
            for (int j = 0; j < own; ++j) {
                if (post[i] != post[j] && (symmetric || i % 3 != 0)) {
                    test_edge(&edges, post[i], post[j]);
                }
            }
        }
    }
    return test_graph_build(POSTS, &edges, symmetric, false);
}

/* Few values, so that most maxima are shared by several neighbours. */
static float x_of(int64_t v, int64_t c)
{
    return (float)((v * 31 + c * 17 + v * v % 7 * c) % 5 - 2);
}

/* Shares of a gradient; of a vertex without ties nothing. */
static float share_of(int64_t v, int64_t c)
{
    return (float)((v * 13 + c * 7) % 255 - 127);
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */
static weft_status upload_rows(const weft_part *part, float (*of)(int64_t v, int64_t c), weft_tensor *t)
{
    float *host = calloc((size_t)(t->rows * WIDTH) + 1, sizeof *host);
    for (int64_t i = 0; i < part->n_owned * WIDTH; ++i) {
        host[i] = of(part->gid[i / WIDTH], i % WIDTH);
    }
    for (int64_t i = 0; t->dtype == WEFT_DTYPE_BF16 && i < t->rows * WIDTH; ++i) {
        const uint16_t half = bf16_from_float(host[i]); /* written before what is read next */
        memcpy((char *)host + (size_t)i * sizeof half, &half, sizeof half);
    }
    weft_tensor rows = tensor_reshape(t, t->rows, WIDTH);
    weft_status status = tensor_upload(&rows, host);
    free(host);
    return status;
}

static weft_status keep_rows(const weft_part *part, const weft_tensor *t, float *result)
{
    float *host = calloc((size_t)(t->rows * WIDTH) + 1, sizeof *host);
    weft_status status = tensor_download(t, host);
    for (int64_t i = t->rows * WIDTH - 1; t->dtype == WEFT_DTYPE_BF16 && i >= 0; --i) {
        uint16_t half = 0;
        memcpy(&half, (const char *)host + (size_t)i * sizeof half, sizeof half);
        host[i] = bf16_to_float(half);
    }
    for (int64_t i = 0; status == WEFT_OK && i < part->n_owned; ++i) {
        memcpy(result + part->gid[i] * WIDTH, host + i * WIDTH, WIDTH * sizeof *host);
    }
    free(host);
    return status;
}

/* [n_local and partial maxima, WIDTH]: x, the largest rows, ties and gradients. */
typedef struct matrices {
    weft_tensor x, most, ties, dm, dx;
} matrices;

/* A rank whose edges have nothing in common runs along them, beside others that share. */
static tensor_edges plain(const gnn_part_edges *edges, bool backward)
{
    return (tensor_edges){.rows = edges->n_local,
                          .entries = edges->entries,
                          .offset = backward ? edges->out_offset : edges->in_offset,
                          .column = backward ? edges->out_column : edges->in_column,
                          .elsewhere = backward ? NULL : edges->elsewhere};
}

static weft_status run(const weft_part *part, const gnn_part_edges *edges, const setting *s, matrices *t)
{
    const gnn_shared_edges *shared = &edges->shared;
    const bool shares = shared->sums > 0;
    const tensor_edges in = plain(edges, false), out = plain(edges, true);
    const int64_t n = part->n_local;
    weft_tensor x = tensor_view(&t->x, 0, n, 0, WIDTH), most = tensor_view(&t->most, 0, n, 0, WIDTH);
    weft_tensor ties = tensor_view(&t->ties, 0, n, 0, WIDTH), dm = tensor_view(&t->dm, 0, n, 0, WIDTH);
    const weft_tensor partial = tensor_view(&t->x, n, shared->sums, 0, WIDTH);
    weft_tensor copy = tensor_view(&t->most, n, shared->sums, 0, WIDTH);
    WEFT_TRY(upload_rows(part, x_of, &t->x));
    WEFT_TRY(upload_rows(part, share_of, &t->dm));
    WEFT_TRY(gnn_exchange_sources(edges, HALO_FORWARD, &x));
    WEFT_TRY(shares ? gnn_shared_largest(shared, &t->x, &most) : tensor_max_forward(&in, &x, &most));
    WEFT_TRY(gnn_exchange_destinations(edges, HALO_REVERSE_MAX, &most));
    WEFT_TRY(keep_rows(part, &most, s->most));
    WEFT_TRY(gnn_exchange_destinations(edges, HALO_FORWARD, &most));
    WEFT_TRY(shares ? gnn_shared_ties(shared, &t->x, &most, &t->ties) : tensor_max_ties(&in, &x, &most, NULL, &ties));
    WEFT_TRY(gnn_exchange_destinations(edges, HALO_REVERSE, &ties));
    WEFT_TRY(keep_rows(part, &ties, s->ties));
    WEFT_TRY(tensor_axpby(1.0, &partial, 0.0, &copy));
    WEFT_TRY(gnn_exchange_destinations(edges, HALO_FORWARD, &dm));
    WEFT_TRY(shares ? gnn_shared_backward(shared, &t->x, &t->most, &t->dm, &t->dx)
                    : tensor_max_backward(&out, &x, &most, &dm, &t->dx));
    WEFT_TRY(gnn_exchange_sources(edges, HALO_REVERSE, &t->dx));
    return keep_rows(part, &t->dx, s->dx);
}

static weft_status make(weft_hal *hal, weft_dtype dtype, int64_t rows, weft_tensor *t)
{
    WEFT_TRY(tensor_create(hal, dtype, rows, WIDTH, WEFT_MEM_ACTIVATION, t));
    return tensor_zero(t);
}

static weft_status run_part(weft_comm *comm, weft_hal *hal, const weft_part *part, setting *s)
{
    const weft_dtype dtype = s->narrow ? WEFT_DTYPE_BF16 : WEFT_DTYPE_F32;
    const gnn_edge_use use = {.loops_count = true, .may_share = true, .must_share = true};
    gnn_part_edges edges;
    matrices t = {.x = {0}};
    weft_status status = gnn_part_edges_create(comm, hal, part, WIDTH, &use, &edges);
    const int64_t rows = part->n_local + (status == WEFT_OK ? edges.shared.sums : 0);
    if (status == WEFT_OK && edges.shared.levels < s->least_levels) {
        status = weft_fail(WEFT_ERR_INTERNAL, "%d levels of partial maxima", edges.shared.levels);
    }
    if (comm_size(comm) == 1) {
        s->levels = edges.shared.levels;
    }
    weft_tensor *const all[] = {&t.x, &t.most, &t.dm};
    for (int i = 0; i < 3; ++i) {
        status = status == WEFT_OK ? make(hal, dtype, rows, all[i]) : status;
    }
    status = status == WEFT_OK ? make(hal, WEFT_DTYPE_F32, rows, &t.ties) : status;
    status = status == WEFT_OK ? make(hal, dtype, part->n_local, &t.dx) : status;
    status = comm_agree(comm, status);
    status = status == WEFT_OK ? run(part, &edges, s, &t) : status;
    gnn_part_edges_destroy(&edges);
    TENSOR_DESTROY_ALL(&t.x, &t.most, &t.ties, &t.dm, &t.dx);
    return status;
}

static weft_status run_rank(weft_comm *comm, void *argument)
{
    setting *s = argument;
    weft_hal *hal = NULL;
    weft_part part = {0};
    comm_set_stall_timeout(comm, PATIENCE_S);
    weft_status status = weft_hal_open(s->backend, 1 + comm_rank(comm) % 2, &hal);
    status =
        status == WEFT_OK ? part_extract(&s->graph->graph, &s->partition, comm_rank(comm), NULL, 0, &part) : status;
    status = comm_agree(comm, status);
    status = status == WEFT_OK ? run_part(comm, hal, &part, s) : status;
    part_destroy(&part);
    weft_hal_close(hal);
    return status;
}

/* ---- the oracle: a loop over all edges --------------------------------------------------------------------------- */
static void expect(const weft_graph *g, setting *wanted)
{
    for (int64_t v = 0; v < g->vertices; ++v) {
        for (int64_t c = 0; c < WIDTH; ++c) {
            const int64_t first = g->offset[v], end = g->offset[v + 1];
            float most = first < end ? x_of(g->source32[first], c) : 0.0F;
            float ties = 0.0F;
            for (int64_t e = first; e < end; ++e) {
                most = x_of(g->source32[e], c) > most ? x_of(g->source32[e], c) : most;
            }
            for (int64_t e = first; e < end; ++e) {
                const bool wins = x_of(g->source32[e], c) == most;
                ties += wins ? 1.0F : 0.0F;
                const float share = wanted->sizes ? fabsf(share_of(v, c)) : share_of(v, c);
                wanted->dx[g->source32[e] * WIDTH + c] += wins ? share : 0.0F;
            }
            wanted->most[v * WIDTH + c] = most;
            wanted->ties[v * WIDTH + c] = ties;
        }
    }
}

static void make_results(setting *s, int64_t cells)
{
    s->most = calloc((size_t)cells, sizeof *s->most);
    s->ties = calloc((size_t)cells, sizeof *s->ties);
    s->dx = calloc((size_t)cells, sizeof *s->dx);
    assert_true(s->most != NULL && s->ties != NULL && s->dx != NULL);
}

static void free_results(setting *s)
{
    free(s->most);
    free(s->ties);
    free(s->dx);
}

static void check_same(const char *what, const setting *s, int ranks, const char *method, const float *got,
                       const float *wanted)
{
    for (int64_t i = 0; i < POSTS * WIDTH; ++i) {
        if (got[i] != wanted[i]) {
            fail_msg("%s of vertex %lld, column %lld: %g, not %g (%d ranks, %s, %s)", what, (long long)(i / WIDTH),
                     (long long)(i % WIDTH), (double)got[i], (double)wanted[i], ranks, method, s->backend);
        }
    }
}

/* Whole numbers below 256 are bfloat16 exactly, and float32 adds them exactly; a sum of them is rounded where it is
 * written, of each level and of the source, by at most 2^-8 of what it adds up. Over all that is less than twice as
 * much as if it were rounded once. */
static void check_narrow(const setting *s, const setting *wanted, const setting *size)
{
    const double most = pow(1.0 + 0x1p-8, s->levels + 1) - 1.0;
    double squares = 0.0, once = 0.0;
    for (int64_t i = 0; i < POSTS * WIDTH; ++i) {
        const double error = fabs((double)s->dx[i] - (double)wanted->dx[i]);
        if (error > most * (double)size->dx[i]) {
            fail_msg("gradient of vertex %lld, column %lld: %g, not %g within %g (%s)", (long long)(i / WIDTH),
                     (long long)(i % WIDTH), (double)s->dx[i], (double)wanted->dx[i], most * (double)size->dx[i],
                     s->backend);
        }
        squares += error * error;
        once += pow((double)(bf16_to_float(bf16_from_float(wanted->dx[i])) - wanted->dx[i]), 2.0);
    }
    assert_true(once > 0.0 && squares < 4.0 * once);
}

static void test_narrow(void **state)
{
    static const char *const backends[] = {"cpu", "ref", "cpu:base"};
    const partition_options whole = {.method = "random", .parts = 1, .seed = 1, .balance = 1.1, .threads = 1};
    (void)state;
    test_graph graph = forum(true);
    setting wanted = {.graph = &graph}, size = {.graph = &graph, .sizes = true};
    make_results(&wanted, POSTS * WIDTH);
    make_results(&size, POSTS * WIDTH);
    expect(&graph.graph, &wanted);
    expect(&graph.graph, &size);
    for (int k = 0; k < 3; ++k) {
        partition_report report;
        setting s = {.graph = &graph, .backend = backends[k], .narrow = true, .least_levels = 2};
        make_results(&s, POSTS * WIDTH);
        ASSERT_OK(partition_compute(&graph.graph, &whole, &s.partition, &report));
        ASSERT_OK(comm_thread_run(1, run_rank, &s));
        check_same("maximum", &s, 1, "bf16", s.most, wanted.most);
        check_same("ties", &s, 1, "bf16", s.ties, wanted.ties);
        check_narrow(&s, &wanted, &size);
        partition_destroy(&s.partition);
        free_results(&s);
    }
    free_results(&wanted);
    free_results(&size);
    test_graph_free(&graph);
}

static void check_forum(bool symmetric)
{
    static const char *const methods[] = {"random", "libra", "edgecut", "2d"};
    static const char *const backends[] = {"cpu", "shadow", "ref", "cpu:base"};
    test_graph graph = forum(symmetric);
    setting wanted = {.graph = &graph};
    make_results(&wanted, POSTS * WIDTH);
    expect(&graph.graph, &wanted);
    for (int k = 0; k < 8; ++k) {
        const int ranks = 1 + k % 4;
        const char *method = methods[(k + k / 4) % 4];
        const partition_options cut = {.method = method, .parts = ranks, .seed = 1, .balance = 1.1, .threads = 1};
        partition_report report;
        setting s = {.graph = &graph, .backend = backends[(k / 2) % 4]};
        s.least_levels = ranks == 1 ? 2 : strcmp(method, "edgecut") == 0 ? 1 : 0;
        make_results(&s, POSTS * WIDTH);
        ASSERT_OK(partition_compute(&graph.graph, &cut, &s.partition, &report));
        ASSERT_OK(comm_thread_run(ranks, run_rank, &s));
        check_same("maximum", &s, ranks, method, s.most, wanted.most);
        check_same("ties", &s, ranks, method, s.ties, wanted.ties);
        check_same("gradient", &s, ranks, method, s.dx, wanted.dx);
        partition_destroy(&s.partition);
        free_results(&s);
    }
    free_results(&wanted);
    test_graph_free(&graph);
}

static void test_symmetric(void **state)
{
    (void)state;
    check_forum(true);
}

static void test_directed(void **state)
{
    (void)state;
    check_forum(false);
}

/* ---- every edge is on one path ----------------------------------------------------------------------------------- */
/* Adds `times` to the columns that row `from` comes to. */
static void add_columns(const hal_shared_rows *m, int64_t from, int times, int *count)
{
    for (int64_t e = m->plus_start[from]; e < m->plus_start[from + 1]; ++e) {
        if (m->plus[e] < m->sources) {
            count[m->plus[e]] += times;
        } else {
            add_columns(m, m->plus[e] - m->sources, times, count);
        }
    }
    for (int64_t e = m->minus_start[from]; e < m->minus_start[from + 1]; ++e) {
        if (m->minus[e] < m->sources) {
            count[m->minus[e]] -= times;
        } else {
            add_columns(m, m->minus[e] - m->sources, -times, count);
        }
    }
}

static void test_paths(void **state)
{
    (void)state;
    test_graph graph = forum(false);
    const weft_graph *g = &graph.graph;
    const hal_csr csr = {.rows = POSTS, .cols = POSTS, .offset = g->offset, .column = g->source32};
    for (int signs = 0; signs < 2; ++signs) {
        hal_shared_rows m;
        double share = 0.0;
        ASSERT_OK(hal_share_find(&csr, signs != 0, 2, NULL, &m));
        ASSERT_OK(hal_share_sample(&csr, signs != 0, 2, &share));
        const int64_t rows = m.sums + m.targets;
        assert_true(m.sums > 10 && m.levels >= 2 && share > 0.3);
        assert_true(3 * (m.plus_start[rows] + m.minus_start[rows]) < 2 * g->edges);
        assert_true((m.minus_start[rows] > 0) == (signs != 0));
        for (int64_t v = 0; v < POSTS; ++v) {
            int count[POSTS] = {0};
            add_columns(&m, m.sums + v, 1, count);
            for (int64_t e = g->offset[v]; e < g->offset[v + 1]; ++e) {
                --count[g->source32[e]];
            }
            for (int c = 0; c < POSTS; ++c) {
                assert_int_equal(count[c], 0);
            }
        }
        hal_shared_rows_free(&m);
    }
    test_graph_free(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_symmetric), cmocka_unit_test(test_directed),
                                       cmocka_unit_test(test_narrow), cmocka_unit_test(test_paths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

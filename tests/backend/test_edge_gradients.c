/* Operations along edges, attention, maxima and sums, against finite differences. */
#include "support/gradients.h"

/* ---- attention --------------------------------------------------------------------------------------------------- */

enum { HEADS = 2, D = 3, EDGES = 11 };

/* Six vertices: an isolated one, one without in-edges, and those before the last with an edge to themselves. */
static const int64_t in_offset[M + 1] = {0, 3, 3, 5, 9, 9, 11};
static const int32_t in_column[EDGES] = {1, 2, 5, 0, 3, 0, 1, 2, 5, 1, 3};
static const int64_t vertex_id[M] = {40, 3, 1000000007, 12, 13, 14};

typedef struct attention_context {
    double x[M * HEADS * D], source[M * HEADS], target[M * HEADS], w[M * HEADS * D], y[M * HEADS * D];
    double highest[M * HEADS], total[M * HEADS];
    hal_attention how;
} attention_context;

#define IN_EDGES                                                                                                       \
    .offset = hal_column_from(in_offset, WEFT_DTYPE_I64, M + 1),                                                       \
    .column = hal_column_from(in_column, WEFT_DTYPE_I32, EDGES)

static double attention_value(void *context)
{
    attention_context *c = context;
    OP(attention_highest, IN_EDGES, .source = mat(c->source, M, HEADS), .highest = mat(c->highest, M, HEADS),
       .how = c->how);
    OP(attention_forward, IN_EDGES, .source = mat(c->source, M, HEADS), .target = mat(c->target, M, HEADS),
       .highest = mat(c->highest, M, HEADS), .x = mat(c->x, M, HEADS * D), .out = mat(c->y, M, HEADS * D),
       .total = mat(c->total, M, HEADS), .how = c->how);
    for (int i = 0; i < M * HEADS; ++i) { /* the last vertex but one has no edge at all */
        c->total[i] = c->total[i] > 0.0 ? c->total[i] : 1.0;
    }
    OP(head_scale, .scale = mat(c->total, M, HEADS), .divide = true, .x = mat(c->y, M, HEADS * D),
       .y = mat(c->y, M, HEADS * D));
    return dot(c->w, c->y, M * HEADS * D);
}

/* Weights in plain words, without the highest score taken off. */
static void check_weights(attention_context *c)
{
    (void)attention_value(c);
    for (int v = 0; v < M; ++v) {
        for (int h = 0; h < HEADS; ++h) {
            double total = 0.0, sum[D] = {0.0};
            for (int64_t e = in_offset[v]; e <= in_offset[v + 1]; ++e) {
                if (e == in_offset[v + 1] && v >= c->how.self) {
                    continue;
                }
                const int u = e < in_offset[v + 1] ? in_column[e] : v;
                const double raw = c->source[u * HEADS + h] + c->target[v * HEADS + h];
                const double power = exp(raw > 0.0 ? raw : c->how.slope * raw);
                total += power;
                for (int j = 0; j < D; ++j) {
                    sum[j] += power * c->x[(u * HEADS + h) * D + j];
                }
            }
            for (int j = 0; j < D; ++j) {
                const double wanted = total > 0.0 ? sum[j] / total : 0.0;
                assert_true(fabs(c->y[(v * HEADS + h) * D + j] - wanted) < 1e-14);
            }
        }
    }
}

static void transpose_edges(int64_t out_offset[M + 1], int32_t out_column[EDGES])
{
    int count = 0;
    out_offset[0] = 0;
    for (int u = 0; u < M; ++u) {
        for (int v = 0; v < M; ++v) {
            for (int64_t e = in_offset[v]; e < in_offset[v + 1]; ++e) {
                if (in_column[e] == u) {
                    out_column[count++] = v;
                }
            }
        }
        out_offset[u + 1] = count;
    }
    assert_int_equal(count, EDGES);
}

static void test_attention(void **state)
{
    (void)state;
    int64_t out_offset[M + 1];
    int32_t out_column[EDGES];
    transpose_edges(out_offset, out_column);
    for (int drops = 0; drops < 2; ++drops) {
        attention_context c = {.how = {.heads = HEADS,
                                       .slope = 0.2,
                                       .self = 4,
                                       .dropout = {.probability = drops ? 0.4F : 0.0F,
                                                   .seed = 5,
                                                   .purpose = 128,
                                                   .epoch = 2,
                                                   .row_id = hal_column_from(vertex_id, WEFT_DTYPE_I64, M)}}};
        double mean[M * HEADS], dx[M * HEADS * D], dsource[M * HEADS], dtarget[M * HEADS];
        fill_random(c.x, M * HEADS * D);
        fill_random(c.w, M * HEADS * D);
        fill_random(c.source, M * HEADS);
        fill_random(c.target, M * HEADS);
        if (!drops) {
            check_weights(&c);
        }
        (void)attention_value(&c);
        OP(head_dot, .x = mat(c.w, M, HEADS * D), .y = mat(c.y, M, HEADS * D), .out = mat(mean, M, HEADS));
        OP(attention_backward_targets, IN_EDGES, .source = mat(c.source, M, HEADS), .target = mat(c.target, M, HEADS),
           .highest = mat(c.highest, M, HEADS), .total = mat(c.total, M, HEADS), .mean = mat(mean, M, HEADS),
           .x = mat(c.x, M, HEADS * D), .dy = mat(c.w, M, HEADS * D), .dtarget = mat(dtarget, M, HEADS), .how = c.how);
        OP(attention_backward_sources, .offset = hal_column_from(out_offset, WEFT_DTYPE_I64, M + 1),
           .column = hal_column_from(out_column, WEFT_DTYPE_I32, EDGES), .source = mat(c.source, M, HEADS),
           .target = mat(c.target, M, HEADS), .highest = mat(c.highest, M, HEADS), .total = mat(c.total, M, HEADS),
           .mean = mat(mean, M, HEADS), .x = mat(c.x, M, HEADS * D), .dy = mat(c.w, M, HEADS * D),
           .dx = mat(dx, M, HEADS * D), .dsource = mat(dsource, M, HEADS), .how = c.how);
        check_gradient("attention x", attention_value, &c, c.x, dx, M * HEADS * D);
        check_gradient("attention source", attention_value, &c, c.source, dsource, M * HEADS);
        check_gradient("attention target", attention_value, &c, c.target, dtarget, M * HEADS);
    }
}

/* ---- maxima over edges ------------------------------------------------------------------------------------------- */

typedef struct max_context {
    double x[M * N], y[M * N], w[M * N], ties[M * N], share[M * N];
} max_context;

static double max_value(void *context)
{
    max_context *c = context;
    OP(max_forward, IN_EDGES, .x = mat(c->x, M, N), .out = mat(c->y, M, N));
    return dot(c->w, c->y, M * N);
}

static void max_gradient(max_context *c, double *dx)
{
    int64_t out_offset[M + 1];
    int32_t out_column[EDGES];
    transpose_edges(out_offset, out_column);
    memcpy(c->share, c->w, sizeof c->share);
    OP(max_ties, IN_EDGES, .x = mat(c->x, M, N), .y = mat(c->y, M, N), .ties = mat(c->ties, M, N));
    OP(max_share, .ties = mat(c->ties, M, N), .dy = mat(c->share, M, N));
    OP(max_backward, .offset = hal_column_from(out_offset, WEFT_DTYPE_I64, M + 1),
       .column = hal_column_from(out_column, WEFT_DTYPE_I32, EDGES), .x = mat(c->x, M, N), .y = mat(c->y, M, N),
       .dy = mat(c->share, M, N), .dx = mat(dx, M, N));
}

static void test_max(void **state)
{
    (void)state;
    max_context c;
    double dx[M * N];
    fill_random(c.x, M * N);
    fill_random(c.w, M * N);
    (void)max_value(&c);
    for (int v = 0; v < M; ++v) { /* in plain words */
        for (int j = 0; j < N; ++j) {
            double most = in_offset[v] == in_offset[v + 1] ? 0.0 : -INFINITY;
            for (int64_t e = in_offset[v]; e < in_offset[v + 1]; ++e) {
                most = fmax(most, c.x[in_column[e] * N + j]);
            }
            assert_true(c.y[v * N + j] == most);
        }
    }
    max_gradient(&c, dx);
    check_gradient("max", max_value, &c, c.x, dx, M * N);
    for (int i = 0; i < M * N; ++i) { /* all tie: an equal share for each, as torch.scatter_reduce has it */
        c.x[i] = -2.0;
    }
    (void)max_value(&c);
    max_gradient(&c, dx);
    for (int u = 0; u < M; ++u) {
        for (int j = 0; j < N; ++j) {
            double share = 0.0;
            for (int v = 0; v < M; ++v) {
                for (int64_t e = in_offset[v]; e < in_offset[v + 1]; ++e) {
                    share += in_column[e] == u ? c.w[v * N + j] / (double)(in_offset[v + 1] - in_offset[v]) : 0.0;
                }
            }
            ASSERT_NEAR(dx[u * N + j], share, 1e-14);
        }
    }
}

/* ---- aggregation ------------------------------------------------------------------------------------------------- */

typedef struct spmm_context {
    hal_spmm *matrix;
    double x[M * N], out[M * N], w[M * N], pre[M], post[M], diag[M];
} spmm_context;

static double spmm_value(void *context)
{
    spmm_context *c = context;
    OP(spmm_run, .matrix = c->matrix, .x = mat(c->x, M, N), .pre = mat(c->pre, M, 1), .post = mat(c->post, M, 1),
       .diag = mat(c->diag, M, 1), .out = mat(c->out, M, N));
    return dot(c->w, c->out, M * N);
}

/* The gradient of post A pre is pre A^T post. The graph: edge r <- c when (r * 7 + c * 5) % 3 == 0, one of them
 * twice. */
static void check_spmm(bool weighted)
{
    spmm_context c;
    hal_csr csr[2];
    int64_t offset[2][M + 1];
    int32_t column[2][M * M + 2];
    float value[2][M * M + 2];
    for (int t = 0; t < 2; ++t) {
        int64_t count = 0;
        for (int r = 0; r < M; ++r) {
            offset[t][r] = count;
            for (int s = 0; s < M; ++s) {
                int to = t == 0 ? r : s;
                int from = t == 0 ? s : r;
                if ((to * 7 + from * 5) % 3 == 0) {
                    value[t][count] = value[t][count + 1] = (float)(to * 5 + from * 3) / 8.0F - 1.0F;
                    column[t][count++] = s;
                    column[t][count] = s;
                    count += to == 1 && from == 1 ? 1 : 0;
                }
            }
        }
        offset[t][M] = count;
        csr[t] = (hal_csr){
            .rows = M, .cols = M, .offset = offset[t], .column = column[t], .value = weighted ? value[t] : NULL};
    }
    hal_spmm *transposed = NULL;
    ASSERT_OK(hal->sparse.spmm_create(hal, &csr[0], HAL_SPMM_AUTO, N, &c.matrix));
    ASSERT_OK(hal->sparse.spmm_create(hal, &csr[1], HAL_SPMM_AUTO, N, &transposed));
    fill_random(c.x, M * N);
    fill_random(c.w, M * N);
    fill_random(c.pre, M);
    fill_random(c.post, M);
    fill_random(c.diag, M);
    double dx[M * N];
    hal_spmm_run_args backward = {.matrix = transposed,
                                  .x = mat(c.w, M, N),
                                  .pre = mat(c.post, M, 1),
                                  .post = mat(c.pre, M, 1),
                                  .diag = mat(c.diag, M, 1),
                                  .out = mat(dx, M, N)};
    ASSERT_OK(hal_spmm_run(hal, &backward));
    check_gradient(weighted ? "weighted spmm" : "spmm", spmm_value, &c, c.x, dx, M * N);
    hal->sparse.spmm_destroy(hal, c.matrix);
    hal->sparse.spmm_destroy(hal, transposed);
}

static void test_spmm(void **state)
{
    (void)state;
    check_spmm(false);
    check_spmm(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_max),
        cmocka_unit_test(test_spmm),
    };
    return cmocka_run_group_tests(tests, open_ref, close_ref);
}

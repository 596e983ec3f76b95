/* Every differentiable operation on rows against finite differences; losses and convolutions that are written down. */
#include "support/gradients.h"

/* ---- activation ------------------------------------------------------------------------------------------------- */

typedef struct act_context {
    double x[M * N], y[M * N], w[M * N];
    bool relu;
    hal_dropout dropout;
} act_context;

static double act_value(void *context)
{
    act_context *c = context;
    OP(act_forward, .x = mat(c->x, M, N), .relu = c->relu, .dropout = c->dropout, .y = mat(c->y, M, N));
    return dot(c->w, c->y, M * N);
}

static void test_act(void **state)
{
    (void)state;
    hal_dropout half = {.probability = 0.5F, .seed = 3, .purpose = 1024, .epoch = 1, .row_base = 7};
    for (int variant = 0; variant < 4; ++variant) {
        act_context c = {.relu = variant % 2 == 0, .dropout = variant < 2 ? (hal_dropout){.probability = 0.0F} : half};
        double dx[M * N];
        fill_random(c.x, M * N);
        fill_random(c.w, M * N);
        (void)act_value(&c);
        OP(act_backward, .dy = mat(c.w, M, N), .y = mat(c.y, M, N), .relu = c.relu, .dropout = c.dropout,
           .dx = mat(dx, M, N));
        check_gradient("act", act_value, &c, c.x, dx, M * N);
        double largest = 0.0;
        for (int i = 0; i < M * N; ++i) {
            largest = fmax(largest, fabs(dx[i]));
        }
        assert_true(largest > 0.0);
    }
}

typedef struct elu_context {
    double x[M * N], y[M * N], w[M * N];
} elu_context;

static double elu_value(void *context)
{
    elu_context *c = context;
    OP(elu_forward, .x = mat(c->x, M, N), .y = mat(c->y, M, N));
    return dot(c->w, c->y, M * N);
}

static void test_elu(void **state)
{
    (void)state;
    elu_context c;
    double dx[M * N];
    fill_random(c.x, M * N);
    fill_random(c.w, M * N);
    (void)elu_value(&c);
    OP(elu_backward, .dy = mat(c.w, M, N), .y = mat(c.y, M, N), .keep = 1.0, .dx = mat(dx, M, N));
    check_gradient("elu", elu_value, &c, c.x, dx, M * N);
    (void)elu_value(&c);
    for (int i = 0; i < M * N; ++i) { /* what dropout scaled gives the same slopes */
        c.y[i] /= 0.6;
    }
    OP(elu_backward, .dy = mat(c.w, M, N), .y = mat(c.y, M, N), .keep = 0.6, .dx = mat(dx, M, N));
    check_gradient("elu", elu_value, &c, c.x, dx, M * N);
}

/* ---- norms ------------------------------------------------------------------------------------------------------- */

typedef struct norm_context {
    double x[M * N], y[M * N], w[M * N], gamma[N], beta[N];
    double mean[N], rstd[N], saved[2 * M];
} norm_context;

static void norm_fill(norm_context *c)
{
    fill_random(c->x, M * N);
    fill_random(c->w, M * N);
    fill_random(c->gamma, N);
    fill_random(c->beta, N);
}

/* Both phases, with the statistics turned into mean and rstd as a caller does. */
static double bn_value(void *context)
{
    norm_context *c = context;
    double stats[2 * N];
    OP(bn_stats, .x = mat(c->x, M, N), .stats = mat(stats, 2, N));
    for (int j = 0; j < N; ++j) {
        c->mean[j] = stats[j] / M;
        c->rstd[j] = 1.0 / sqrt(stats[N + j] / M - c->mean[j] * c->mean[j] + 1e-5);
    }
    double mean[N];
    double var[N];
    double rstd[N];
    OP(bn_finish, .stats = mat(stats, 2, N), .count = M, .epsilon = 1e-5, .mean = mat(mean, 1, N),
       .var = mat(var, 1, N), .rstd = mat(rstd, 1, N));
    for (int j = 0; j < N; ++j) {
        ASSERT_NEAR(mean[j], c->mean[j], 1e-15);
        ASSERT_NEAR(rstd[j], c->rstd[j], 1e-12 * c->rstd[j]);
        ASSERT_NEAR(1.0 / sqrt(var[j] + 1e-5), c->rstd[j], 1e-12 * c->rstd[j]);
    }
    OP(bn_rstd, .var = mat(var, 1, N), .epsilon = 1e-5, .rstd = mat(mean, 1, N));
    assert_memory_equal(mean, rstd, sizeof rstd);
    OP(bn_apply, .x = mat(c->x, M, N), .mean = mat(c->mean, 1, N), .rstd = mat(c->rstd, 1, N),
       .gamma = mat(c->gamma, 1, N), .beta = mat(c->beta, 1, N), .y = mat(c->y, M, N));
    return dot(c->w, c->y, M * N);
}

static void test_batch_norm(void **state)
{
    (void)state;
    norm_context c;
    double stats[2 * N];
    double dx[M * N];
    norm_fill(&c);
    (void)bn_value(&c);
    OP(bn_backward_stats, .dy = mat(c.w, M, N), .x = mat(c.x, M, N), .mean = mat(c.mean, 1, N),
       .rstd = mat(c.rstd, 1, N), .stats = mat(stats, 2, N));
    OP(bn_backward_apply, .dy = mat(c.w, M, N), .x = mat(c.x, M, N), .mean = mat(c.mean, 1, N),
       .rstd = mat(c.rstd, 1, N), .gamma = mat(c.gamma, 1, N), .stats = mat(stats, 2, N), .count = M,
       .dx = mat(dx, M, N));
    check_gradient("batch norm x", bn_value, &c, c.x, dx, M * N);
    double dgamma[N];
    double dbeta[N];
    OP(bn_gradients, .stats = mat(stats, 2, N), .dgamma = mat(dgamma, 1, N), .dbeta = mat(dbeta, 1, N));
    check_gradient("batch norm beta", bn_value, &c, c.beta, dbeta, N);
    check_gradient("batch norm gamma", bn_value, &c, c.gamma, dgamma, N);
}

/* ReLU of the norm and a residual: the mask is that of y. */
typedef struct fused_context {
    norm_context norm;
    double residual[M * N];
} fused_context;

static double bn_fused_value(void *context)
{
    fused_context *c = context;
    (void)bn_value(&c->norm);
    OP(bn_apply, .x = mat(c->norm.x, M, N), .mean = mat(c->norm.mean, 1, N), .rstd = mat(c->norm.rstd, 1, N),
       .gamma = mat(c->norm.gamma, 1, N), .beta = mat(c->norm.beta, 1, N), .residual = mat(c->residual, M, N),
       .relu = true, .y = mat(c->norm.y, M, N));
    return dot(c->norm.w, c->norm.y, M * N);
}

static void test_batch_norm_fused(void **state)
{
    (void)state;
    fused_context c;
    norm_context *n = &c.norm;
    double stats[2 * N];
    double dx[M * N];
    double dresidual[M * N];
    norm_fill(n);
    fill_random(c.residual, M * N);
    (void)bn_fused_value(&c);
    OP(bn_backward_stats, .dy = mat(n->w, M, N), .x = mat(n->x, M, N), .mean = mat(n->mean, 1, N),
       .rstd = mat(n->rstd, 1, N), .y = mat(n->y, M, N), .counted = mat(dresidual, M, N), .relu = true,
       .stats = mat(stats, 2, N));
    OP(bn_backward_apply, .dy = mat(dresidual, M, N), .x = mat(n->x, M, N), .mean = mat(n->mean, 1, N),
       .rstd = mat(n->rstd, 1, N), .gamma = mat(n->gamma, 1, N), .stats = mat(stats, 2, N), .count = M,
       .dx = mat(dx, M, N));
    check_gradient("fused batch norm x", bn_fused_value, &c, n->x, dx, M * N);
    check_gradient("fused batch norm residual", bn_fused_value, &c, c.residual, dresidual, M * N);
    check_gradient("fused batch norm beta", bn_fused_value, &c, n->beta, stats, N);
    check_gradient("fused batch norm gamma", bn_fused_value, &c, n->gamma, stats + N, N);
}

static double ln_value(void *context)
{
    norm_context *c = context;
    OP(ln_forward, .x = mat(c->x, M, N), .gamma = mat(c->gamma, 1, N), .beta = mat(c->beta, 1, N), .epsilon = 1e-5,
       .saved = mat(c->saved, M, 2), .y = mat(c->y, M, N));
    return dot(c->w, c->y, M * N);
}

static void test_layer_norm(void **state)
{
    (void)state;
    norm_context c;
    double dx[M * N];
    double dgamma[N] = {0};
    double dbeta[N] = {0};
    norm_fill(&c);
    (void)ln_value(&c);
    OP(ln_backward, .dy = mat(c.w, M, N), .x = mat(c.x, M, N), .gamma = mat(c.gamma, 1, N), .saved = mat(c.saved, M, 2),
       .dgamma = mat(dgamma, 1, N), .dbeta = mat(dbeta, 1, N), .dx = mat(dx, M, N));
    check_gradient("layer norm x", ln_value, &c, c.x, dx, M * N);
    check_gradient("layer norm beta", ln_value, &c, c.beta, dbeta, N);
    check_gradient("layer norm gamma", ln_value, &c, c.gamma, dgamma, N);
}

/* Images of 3 rows: 2 groups of 2 columns each. */
enum { GN_PIXELS = 3, GN_GROUPS = 2, GN_COLS = 4 };

static double gn_value(void *context)
{
    norm_context *c = context;
    OP(gn_forward, .x = mat(c->x, M, GN_COLS), .gamma = mat(c->gamma, 1, GN_COLS), .beta = mat(c->beta, 1, GN_COLS),
       .saved = mat(c->saved, M / GN_PIXELS, 2 * GN_GROUPS), .y = mat(c->y, M, GN_COLS), .pixels = GN_PIXELS,
       .groups = GN_GROUPS, .epsilon = 1e-5);
    return dot(c->w, c->y, M * GN_COLS);
}

/* Each group of each image has mean 0 and variance 1 before gamma and beta. */
static void check_group_moments(norm_context *c)
{
    for (int j = 0; j < GN_COLS; ++j) {
        c->gamma[j] = 1.0;
        c->beta[j] = 0.0;
    }
    (void)gn_value(c);
    for (int at = 0; at < M / GN_PIXELS * GN_GROUPS; ++at) {
        double sum = 0.0, squares = 0.0;
        for (int i = 0; i < GN_PIXELS * GN_COLS / GN_GROUPS; ++i) {
            const int row = at / GN_GROUPS * GN_PIXELS + i % GN_PIXELS;
            const double y = c->y[row * GN_COLS + at % GN_GROUPS * (GN_COLS / GN_GROUPS) + i / GN_PIXELS];
            sum += y;
            squares += y * y;
        }
        assert_true(fabs(sum) < 1e-12);
        assert_true(fabs(squares * GN_GROUPS / (GN_PIXELS * GN_COLS) - 1.0) < 1e-3);
    }
}

static void test_group_norm(void **state)
{
    (void)state;
    norm_context c;
    double dx[M * N];
    double dgamma[N] = {0};
    double dbeta[N] = {0};
    norm_fill(&c);
    (void)gn_value(&c);
    OP(gn_backward, .dy = mat(c.w, M, GN_COLS), .x = mat(c.x, M, GN_COLS), .gamma = mat(c.gamma, 1, GN_COLS),
       .saved = mat(c.saved, M / GN_PIXELS, 2 * GN_GROUPS), .dgamma = mat(dgamma, 1, GN_COLS),
       .dbeta = mat(dbeta, 1, GN_COLS), .dx = mat(dx, M, GN_COLS), .pixels = GN_PIXELS, .groups = GN_GROUPS);
    check_gradient("group norm x", gn_value, &c, c.x, dx, M * GN_COLS);
    check_gradient("group norm beta", gn_value, &c, c.beta, dbeta, GN_COLS);
    check_gradient("group norm gamma", gn_value, &c, c.gamma, dgamma, GN_COLS);
    check_group_moments(&c);
}

/* ---- losses ------------------------------------------------------------------------------------------------------ */

typedef struct loss_context {
    double smoothing;
    bool weighted;
    double x[M * N], dx[M * N];
    float weight[M];
    int32_t label[M];
    uint8_t mask[M];
    float target[M * N];
} loss_context;

static const double SCALE = 0.25;

static void loss_fill(loss_context *c)
{
    fill_random(c->x, M * N);
    for (int i = 0; i < M; ++i) {
        c->label[i] = i % N;
        c->mask[i] = i != 2 && i != 4;
        c->weight[i] = 0.25F * (float)(1 + i % 5);
    }
    for (int i = 0; i < M * N; ++i) {
        c->target[i] = i % 4 == 3 ? NAN : (float)(i % 2);
    }
}

static double softmax_value(void *context)
{
    loss_context *c = context;
    double loss = 0.0;
    OP(softmax_xent, .x = mat(c->x, M, N), .label = hal_column_from(c->label, WEFT_DTYPE_I32, M),
       .mask = hal_column_from(c->mask, WEFT_DTYPE_U8, M),
       .weight = hal_column_from(c->weighted ? c->weight : NULL, WEFT_DTYPE_F32, M), .scale = SCALE,
       .smoothing = c->smoothing, .loss = mat(&loss, 1, 1), .dx = mat(c->dx, M, N));
    return SCALE * loss;
}

static double bce_value(void *context)
{
    loss_context *c = context;
    double loss = 0.0;
    OP(bce_logits, .x = mat(c->x, M, N), .target = hal_mat_from(c->target, WEFT_DTYPE_F32, M, N, N),
       .mask = hal_column_from(c->mask, WEFT_DTYPE_U8, M), .scale = SCALE, .loss = mat(&loss, 1, 1),
       .dx = mat(c->dx, M, N));
    return SCALE * loss;
}

static void test_losses(void **state)
{
    (void)state;
    loss_context c;
    double dx[M * N];
    loss_fill(&c);
    for (int i = 0; i < 4; ++i) {
        c.smoothing = i % 2 * 0.1;
        c.weighted = i >= 2;
        (void)softmax_value(&c);
        memcpy(dx, c.dx, sizeof dx);
        check_gradient("softmax cross-entropy", softmax_value, &c, c.x, dx, M * N);
    }
    (void)bce_value(&c);
    memcpy(dx, c.dx, sizeof dx);
    check_gradient("binary cross-entropy", bce_value, &c, c.x, dx, M * N);
}

/* Values that can be written down: uniform logits, a certain answer, and a logit of zero. */
static void test_loss_values(void **state)
{
    (void)state;
    int32_t label[2] = {1, 0};
    double x[2][4] = {{3.0, 3.0, 3.0, 3.0}, {1000.0, 0.0, 0.0, 0.0}};
    double loss = 0.0;
    OP(softmax_xent, .x = mat(x[0], 2, 4), .label = hal_column_from(label, WEFT_DTYPE_I32, 2), .scale = 1.0,
       .loss = mat(&loss, 1, 1));
    ASSERT_NEAR(loss, log(4.0), 1e-15);
    loss = 0.0; /* the second row alone: 0.1 / 4 of the distance to each of three others */
    OP(softmax_xent, .x = mat(x[1], 1, 4), .label = hal_column_from(&label[1], WEFT_DTYPE_I32, 1), .scale = 1.0,
       .smoothing = 0.1, .loss = mat(&loss, 1, 1));
    ASSERT_NEAR(loss, 3.0 * 0.1 / 4.0 * 1000.0, 1e-12);
    double logits[3] = {0.0, 500.0, -500.0};
    float target[3] = {1.0F, 1.0F, 1.0F};
    int64_t count = 0;
    loss = 0.0;
    OP(bce_logits, .x = mat(logits, 1, 3), .target = hal_mat_from(target, WEFT_DTYPE_F32, 1, 3, 3), .scale = 1.0,
       .loss = mat(&loss, 1, 1), .count = hal_mat_of(&count, WEFT_DTYPE_I64, 1, 1, 1));
    ASSERT_NEAR(loss, log(2.0) + 500.0, 1e-12);
    assert_int_equal(count, 3);
}

/* ---- images ------------------------------------------------------------------------------------------------------ */

enum { CONV_X = 2 * 5 * 4 * 4, CONV_Y = 2 * 3 * 3 * 6, CONV_W = 6 * 2 * 3 * 2 };

/* Two groups, a stride, a dilation and padding on one side, in one. */
static const hal_conv_shape conv_shape = {.height = 5,
                                          .width = 4,
                                          .in = 4,
                                          .out = 6,
                                          .groups = 2,
                                          .kernel = {3, 2},
                                          .stride = {2, 1},
                                          .dilation = {1, 2},
                                          .pad = {{1, 1}, {0, 1}},
                                          .dtype = WEFT_DTYPE_F64,
                                          .bias = true,
                                          .training = true,
                                          .backward_data = true};

typedef struct conv_context {
    hal_conv *conv;
    double x[CONV_X], y[CONV_Y], weight[CONV_W], bias[6], w[CONV_Y];
} conv_context;

static double conv_value(void *context)
{
    conv_context *c = context;
    OP(conv_forward, .x = mat(c->x, 40, 4), .weight = mat(c->weight, 6, 12), .bias = mat(c->bias, 1, 6),
       .y = mat(c->y, 18, 6), .conv = c->conv);
    return dot(c->w, c->y, CONV_Y);
}

static void test_conv(void **state)
{
    (void)state;
    conv_context c;
    double dx[CONV_X];
    double dweight[CONV_W];
    double dbias[6];
    const int64_t images = 2;
    ASSERT_OK(hal->image.conv_create(hal, &conv_shape, &images, 1, &c.conv));
    fill_random(c.x, CONV_X);
    fill_random(c.weight, CONV_W);
    fill_random(c.bias, 6);
    fill_random(c.w, CONV_Y);
    (void)conv_value(&c);
    OP(conv_backward_data, .dy = mat(c.w, 18, 6), .weight = mat(c.weight, 6, 12), .dx = mat(dx, 40, 4), .conv = c.conv);
    OP(conv_backward_weights, .x = mat(c.x, 40, 4), .dy = mat(c.w, 18, 6), .dweight = mat(dweight, 6, 12),
       .dbias = mat(dbias, 1, 6), .conv = c.conv);
    check_gradient("convolution x", conv_value, &c, c.x, dx, CONV_X);
    check_gradient("convolution weight", conv_value, &c, c.weight, dweight, CONV_W);
    check_gradient("convolution bias", conv_value, &c, c.bias, dbias, 6);
    hal->image.conv_destroy(hal, c.conv);
}

/* A convolution written down: 1 2 3 over two pixels of padding, kernel 10 1. */
static void test_conv_values(void **state)
{
    (void)state;
    const hal_conv_shape shape = {.height = 1,
                                  .width = 3,
                                  .in = 1,
                                  .out = 1,
                                  .groups = 1,
                                  .kernel = {1, 2},
                                  .stride = {1, 1},
                                  .dilation = {1, 1},
                                  .pad = {{0, 0}, {1, 1}},
                                  .dtype = WEFT_DTYPE_F64};
    const int64_t images = 1;
    double x[3] = {1.0, 2.0, 3.0};
    double weight[2] = {10.0, 1.0};
    double y[4];
    hal_conv *conv = NULL;
    ASSERT_OK(hal->image.conv_create(hal, &shape, &images, 1, &conv));
    OP(conv_forward, .x = mat(x, 3, 1), .weight = mat(weight, 1, 2), .y = mat(y, 4, 1), .conv = conv);
    assert_true(y[0] == 1.0 && y[1] == 12.0 && y[2] == 23.0 && y[3] == 30.0);
    hal->image.conv_destroy(hal, conv);
}

typedef struct pool_context {
    hal_pool_shape shape;
    double x[CONV_X], y[CONV_X], w[CONV_X];
    uint8_t index[CONV_X];
    int64_t rows;
} pool_context;

static double pool_value(void *context)
{
    pool_context *c = context;
    OP(pool_forward, .x = mat(c->x, 40, 4), .y = mat(c->y, c->rows, 4),
       .index = hal_mat_of(c->index, WEFT_DTYPE_U8, c->rows, 4, 4), .shape = c->shape);
    return dot(c->w, c->y, (int)c->rows * 4);
}

static void test_pool(void **state)
{
    (void)state;
    pool_context c = {.shape = {.height = 5, .width = 4, .kernel = {3, 2}, .stride = {2, 1}, .pad = {{1, 1}, {1, 0}}}};
    double dx[CONV_X];
    int64_t extent[2];
    hal_pool_extent(&c.shape, extent);
    c.rows = 2 * extent[0] * extent[1];
    assert_true(extent[0] == 3 && extent[1] == 4);
    fill_random(c.x, CONV_X);
    fill_random(c.w, CONV_X);
    for (int average = 0; average < 2; ++average) {
        c.shape.average = average == 1;
        (void)pool_value(&c);
        OP(pool_backward, .dy = mat(c.w, c.rows, 4), .index = hal_mat_of(c.index, WEFT_DTYPE_U8, c.rows, 4, 4),
           .dx = mat(dx, 40, 4), .shape = c.shape);
        check_gradient(average == 1 ? "average pooling" : "maximum pooling", pool_value, &c, c.x, dx, CONV_X);
    }
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

typedef struct gemm_context {
    double a[M * K], b[K * N], bias[N], c[M * N], w[M * N];
} gemm_context;

static double gemm_value(void *context)
{
    gemm_context *c = context;
    OP(gemm, .alpha = 1.0, .a = mat(c->a, M, K), .b = mat(c->b, K, N), .bias = mat(c->bias, 1, N),
       .c = mat(c->c, M, N));
    return dot(c->w, c->c, M * N);
}

static void test_gemm(void **state)
{
    (void)state;
    gemm_context c;
    double da[M * K];
    double db[K * N];
    double dbias[N];
    fill_random(c.a, M * K);
    fill_random(c.b, K * N);
    fill_random(c.bias, N);
    fill_random(c.w, M * N);
    OP(gemm, .alpha = 1.0, .trans_b = true, .a = mat(c.w, M, N), .b = mat(c.b, K, N), .c = mat(da, M, K));
    OP(gemm, .alpha = 1.0, .trans_a = true, .a = mat(c.a, M, K), .b = mat(c.w, M, N), .c = mat(db, K, N));
    OP(col_sum, .x = mat(c.w, M, N), .out = mat(dbias, 1, N));
    check_gradient("gemm a", gemm_value, &c, c.a, da, M * K);
    check_gradient("gemm b", gemm_value, &c, c.b, db, K * N);
    check_gradient("gemm bias", gemm_value, &c, c.bias, dbias, N);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_act),        cmocka_unit_test(test_elu),
        cmocka_unit_test(test_batch_norm), cmocka_unit_test(test_batch_norm_fused),
        cmocka_unit_test(test_layer_norm), cmocka_unit_test(test_group_norm),
        cmocka_unit_test(test_losses),     cmocka_unit_test(test_loss_values),
        cmocka_unit_test(test_conv),       cmocka_unit_test(test_conv_values),
        cmocka_unit_test(test_pool),       cmocka_unit_test(test_gemm),
    };
    return cmocka_run_group_tests(tests, open_ref, close_ref);
}

/*
 * backend/test_backends.c: every operation on every backend and instruction set, in both types, on odd shapes, against
 * ref. A new operation is tested by adding a row to `cases`.
 *
 * `test_backends --perf [BACKEND [THREADS [OP]]]` prints rates after the tests have passed.
 *
 * Each case runs twice: the second time no operation may allocate. Padding between cols and ld must stay as it was.
 * timeout: 300
 */
#include <math.h>

#include "backend/backend_env.h"
#include "backend/backend_perf.h"

/* ---- dense ---------------------------------------------------------------------------------------------------- */

static void case_axpby(env *e)
{
    operand x = operand_make(e, e->m, e->n, UNIT);
    operand y = operand_make(e, e->m, e->n, UNIT);
    operand z = operand_make(e, e->m, e->n, NOTHING);
    RUN(e, dense.axpby, e->dtype, e->m, e->n, 0.75, ON(x), x.ld, -0.5, ON(y), y.ld);
    RUN(e, dense.axpby, e->dtype, e->m, e->n, -2.5, ON(x), x.ld, 0.0, ON(z), z.ld);
    RUN(e, dense.axpby, e->dtype, e->m, e->n, 1.0, ON(x), x.ld, 1.0, ON(x), x.ld);
    operand_compare(e, &y, 4.0);
    operand_compare(e, &z, 4.0);
    operand_compare(e, &x, 4.0);
}

static void case_scale_rows(env *e)
{
    operand x = operand_make(e, e->m, e->n, UNIT);
    operand y = operand_make(e, e->m, e->n, NOTHING);
    operand scale = operand_vector(e, e->m, POSITIVE);
    RUN(e, dense.scale_rows, e->dtype, e->m, e->n, ON(scale), ON(x), x.ld, ON(y), y.ld);
    RUN(e, dense.scale_rows, e->dtype, e->m, e->n, ON(scale), ON(x), x.ld, ON(x), x.ld);
    operand_compare(e, &y, 2.0);
    operand_compare(e, &x, 2.0);
}

static void case_col_sum(env *e)
{
    operand a = operand_make(e, e->m, e->n, UNIT);
    operand sum = operand_vector(e, e->n, NOTHING);
    operand added = operand_vector(e, e->n, UNIT);
    RUN(e, dense.col_sum, e->dtype, e->m, e->n, ON(a), a.ld, 0.0, ON(sum));
    RUN(e, dense.col_sum, e->dtype, e->m, e->n, ON(a), a.ld, 0.5, ON(added));
    operand_compare(e, &sum, 4.0);
    operand_compare(e, &added, 4.0);
}

static void case_gather_scatter(env *e)
{
    int64_t pool = e->m + 7;
    operand x = operand_make(e, pool, e->n, UNIT);
    operand packed = operand_make(e, e->m, e->n, NOTHING);
    operand replaced = operand_make(e, pool, e->n, UNIT);
    operand added = operand_make(e, pool, e->n, UNIT);
    int_operand index = int_operand_make(e, e->m, sizeof(int32_t));
    for (int64_t i = 0; i < e->m; ++i) { /* distinct: 3 i modulo a number coprime to 3 */
        int64_t modulus = pool % 3 == 0 ? pool - 1 : pool;
        ((int32_t *)index.host)[i] = (int32_t)(3 * i % modulus);
    }
    int_operand_upload(e, &index);
    RUN(e, dense.gather_rows, e->dtype, e->m, e->n, ON(index), ON(x), x.ld, ON(packed), packed.ld);
    RUN(e, dense.scatter_rows, e->dtype, e->m, e->n, ON(index), false, ON(packed), packed.ld, ON(replaced),
        replaced.ld);
    RUN(e, dense.scatter_rows, e->dtype, e->m, e->n, ON(index), true, ON(packed), packed.ld, ON(added), added.ld);
    operand_compare(e, &packed, 0.0);
    operand_compare(e, &replaced, 0.0);
    operand_compare(e, &added, 1.0);
}

/* ---- activation ------------------------------------------------------------------------------------------------ */

static void act_variant(env *e, bool relu, const hal_dropout *dropout, bool with_ids)
{
    operand x = operand_make(e, e->m, e->n, UNIT);
    operand y = operand_make(e, e->m, e->n, NOTHING);
    operand dy = operand_make(e, e->m, e->n, UNIT);
    operand dx = operand_make(e, e->m, e->n, NOTHING);
    int_operand ids = int_operand_make(e, e->m, sizeof(int64_t));
    for (int64_t i = 0; i < e->m; ++i) {
        ((int64_t *)ids.host)[i] = ((int64_t)1 << 40) / (i + 1) + 977 * i;
    }
    int_operand_upload(e, &ids);
    for (int b = 0; b < 2; ++b) {
        hal_dropout mask = dropout != NULL ? *dropout : (hal_dropout){0};
        mask.row_id = with_ids ? ids.dev[b] : NULL;
        const hal_dropout *given = dropout != NULL ? &mask : NULL;
        RUN_ON(e, b, nn.act_forward, e->dtype, e->m, e->n, x.dev[b], x.ld, relu, given, y.dev[b], y.ld);
        RUN_ON(e, b, nn.act_backward, e->dtype, e->m, e->n, dy.dev[b], dy.ld, y.dev[b], y.ld, relu, given, dx.dev[b],
               dx.ld);
        RUN_ON(e, b, nn.act_backward, e->dtype, e->m, e->n, dy.dev[b], dy.ld, y.dev[b], y.ld, relu, given, dy.dev[b],
               dy.ld);
        RUN_ON(e, b, nn.act_forward, e->dtype, e->m, e->n, x.dev[b], x.ld, relu, given, x.dev[b], x.ld);
    }
    /* Masks are equal to the bit, and so is one multiplication. */
    operand_compare(e, &y, 0.0);
    operand_compare(e, &dx, 0.0);
    operand_compare(e, &dy, 0.0);
    operand_compare(e, &x, 0.0);
}

static void case_act(env *e)
{
    hal_dropout half = {.probability = 0.5F, .seed = 0x123456789abcdefULL, .purpose = 1025, .epoch = 3, .row_base = 11};
    hal_dropout tenth = {.probability = 0.1F, .seed = 7, .purpose = 1024, .epoch = 900, .row_base = (int64_t)5 << 33};
    hal_dropout none = {.probability = 0.0F, .seed = 7, .purpose = 1024};
    act_variant(e, true, NULL, false);
    act_variant(e, false, &none, false);
    act_variant(e, true, &half, false);
    act_variant(e, false, &tenth, false);
    act_variant(e, true, &tenth, true);
    act_variant(e, false, &half, true);
}

/* ---- norms ----------------------------------------------------------------------------------------------------- */

static void case_batch_norm(env *e)
{
    operand x = operand_make(e, e->m, e->n, UNIT);
    operand dy = operand_make(e, e->m, e->n, UNIT);
    operand y = operand_make(e, e->m, e->n, NOTHING);
    operand dx = operand_make(e, e->m, e->n, NOTHING);
    operand mean = operand_vector(e, e->n, UNIT);
    operand rstd = operand_vector(e, e->n, POSITIVE);
    operand gamma = operand_vector(e, e->n, POSITIVE);
    operand beta = operand_vector(e, e->n, UNIT);
    operand stats = operand_f64(e, 2 * e->n, NOTHING);
    operand backward = operand_f64(e, 2 * e->n, NOTHING);
    double count = (double)(e->m + 3);
    RUN(e, nn.bn_stats, e->dtype, e->m, e->n, ON(x), x.ld, ON(stats));
    RUN(e, nn.bn_apply, e->dtype, e->m, e->n, ON(x), x.ld, ON(mean), ON(rstd), ON(gamma), ON(beta), ON(y), y.ld);
    RUN(e, nn.bn_backward_stats, e->dtype, e->m, e->n, ON(dy), dy.ld, ON(x), x.ld, ON(mean), ON(rstd), ON(backward));
    RUN(e, nn.bn_backward_apply, e->dtype, e->m, e->n, ON(dy), dy.ld, ON(x), x.ld, ON(mean), ON(rstd), ON(gamma),
        ON(backward), count, ON(dx), dx.ld);
    RUN(e, nn.bn_backward_apply, e->dtype, e->m, e->n, ON(dy), dy.ld, ON(x), x.ld, ON(mean), ON(rstd), ON(gamma),
        ON(backward), count, ON(dy), dy.ld);
    RUN(e, nn.bn_apply, e->dtype, e->m, e->n, ON(x), x.ld, ON(mean), ON(rstd), ON(gamma), ON(beta), ON(x), x.ld);
    operand_compare_as(e, &stats, 1e-12 * (double)(e->m + 1));
    operand_compare_as(e, &backward, (e->dtype == WEFT_DTYPE_F32 ? 1e-6 : 1e-12) * (double)(e->m + 1));
    operand_compare(e, &y, 8.0);
    operand_compare(e, &x, 8.0);
    operand_compare(e, &dx, 16.0);
    operand_compare(e, &dy, 16.0);
}

static void case_layer_norm(env *e)
{
    operand x = operand_make(e, e->m, e->n, UNIT);
    operand dy = operand_make(e, e->m, e->n, UNIT);
    operand y = operand_make(e, e->m, e->n, NOTHING);
    operand dx = operand_make(e, e->m, e->n, NOTHING);
    operand gamma = operand_vector(e, e->n, POSITIVE);
    operand beta = operand_vector(e, e->n, UNIT);
    operand saved = operand_vector(e, 2 * e->m, NOTHING);
    operand dgamma = operand_vector(e, e->n, UNIT);
    operand dbeta = operand_vector(e, e->n, UNIT);
    double epsilon = 0.05; /* large: a row of one column has no variance, and ref and cpu must still agree */
    RUN(e, nn.ln_forward, e->dtype, e->m, e->n, ON(x), x.ld, ON(gamma), ON(beta), epsilon, ON(saved), ON(y), y.ld);
    RUN(e, nn.ln_backward, e->dtype, e->m, e->n, ON(dy), dy.ld, ON(x), x.ld, ON(gamma), ON(saved), ON(dgamma),
        ON(dbeta), ON(dx), dx.ld);
    operand_compare(e, &dgamma, 64.0);
    operand_compare(e, &dbeta, 16.0);
    RUN(e, nn.ln_backward, e->dtype, e->m, e->n, ON(dy), dy.ld, ON(x), x.ld, ON(gamma), ON(saved), ON(dgamma),
        ON(dbeta), ON(dy), dy.ld);
    RUN(e, nn.ln_forward, e->dtype, e->m, e->n, ON(x), x.ld, ON(gamma), ON(beta), epsilon, ON(saved), ON(x), x.ld);
    if (e->n > 0) {
        operand_compare(e, &saved, 16.0);
    }
    operand_compare(e, &y, 32.0);
    operand_compare(e, &x, 32.0);
    operand_compare(e, &dx, 64.0);
    operand_compare(e, &dy, 64.0);
}

/* ---- losses ---------------------------------------------------------------------------------------------------- */

static void fill_splits(env *e, int_operand *split, int_operand *label)
{
    for (int64_t i = 0; i < e->m; ++i) {
        static const uint8_t choice[] = {0, 1, 0, 2, HAL_SPLIT_NONE};
        ((uint8_t *)split->host)[i] = choice[i % 5];
        bool labelled = choice[i % 5] != HAL_SPLIT_NONE && e->n > 0;
        ((int32_t *)label->host)[i] = labelled ? (int32_t)(i * 7 % e->n) : -1;
    }
    int_operand_upload(e, split);
    int_operand_upload(e, label);
}

static void case_softmax_xent(env *e)
{
    operand x = operand_make(e, e->m, e->n, WIDE);
    operand dx = operand_make(e, e->m, e->n, NOTHING);
    int_operand split = int_operand_make(e, e->m, sizeof(uint8_t));
    int_operand label = int_operand_make(e, e->m, sizeof(int32_t));
    fill_splits(e, &split, &label);
    double loss[2] = {1.5, 1.5};
    double only[2] = {0.0, 0.0};
    for (int b = 0; b < 2; ++b) {
        RUN_ON(e, b, nn.softmax_xent, e->dtype, e->m, e->n, x.dev[b], x.ld, label.dev[b], split.dev[b], 0, 0.125,
               &loss[b], dx.dev[b], dx.ld);
        RUN_ON(e, b, nn.softmax_xent, e->dtype, e->m, e->n, x.dev[b], x.ld, label.dev[b], split.dev[b], 1, 0.125,
               &only[b], NULL, 0);
        RUN_ON(e, b, nn.softmax_xent, e->dtype, e->m, e->n, x.dev[b], x.ld, label.dev[b], split.dev[b], 0, 0.125,
               &loss[b], x.dev[b], x.ld);
    }
    compare_scalars(e, "loss", loss[1], loss[0], 8.0);
    compare_scalars(e, "loss alone", only[1], only[0], 8.0);
    operand_compare(e, &dx, 8.0);
    operand_compare(e, &x, 8.0);
}

static void case_bce_logits(env *e)
{
    operand x = operand_make(e, e->m, e->n, WIDE);
    operand dx = operand_make(e, e->m, e->n, NOTHING);
    int_operand target = int_operand_make(e, e->m * e->n, sizeof(float));
    int_operand split = int_operand_make(e, e->m, sizeof(uint8_t));
    int_operand label = int_operand_make(e, e->m, sizeof(int32_t));
    fill_splits(e, &split, &label);
    for (int64_t i = 0; i < e->m * e->n; ++i) {
        ((float *)target.host)[i] = i % 3 == 2 ? NAN : (float)(i % 3);
    }
    int_operand_upload(e, &target);
    double loss[2] = {0.0, 0.0};
    int64_t count[2] = {4, 4};
    for (int b = 0; b < 2; ++b) {
        RUN_ON(e, b, nn.bce_logits, e->dtype, e->m, e->n, x.dev[b], x.ld, target.dev[b], e->n, split.dev[b], 0, 0.25,
               &loss[b], &count[b], dx.dev[b], dx.ld);
        RUN_ON(e, b, nn.bce_logits, e->dtype, e->m, e->n, x.dev[b], x.ld, target.dev[b], e->n, split.dev[b], 2, 0.25,
               &loss[b], &count[b], NULL, 0);
        RUN_ON(e, b, nn.bce_logits, e->dtype, e->m, e->n, x.dev[b], x.ld, target.dev[b], e->n, split.dev[b], 0, 0.25,
               &loss[b], &count[b], x.dev[b], x.ld);
    }
    assert_int_equal(count[0], count[1]);
    compare_scalars(e, "loss", loss[1], loss[0], 8.0);
    operand_compare(e, &dx, 8.0);
    operand_compare(e, &x, 8.0);
}

static void case_accuracy(env *e)
{
    operand x = operand_make(e, e->m, e->n, COARSE); /* few distinct values: ties are common */
    int_operand split = int_operand_make(e, e->m, sizeof(uint8_t));
    int_operand label = int_operand_make(e, e->m, sizeof(int32_t));
    fill_splits(e, &split, &label);
    int64_t correct[2][HAL_SPLITS] = {{0}};
    int64_t total[2][HAL_SPLITS] = {{0}};
    for (int b = 0; b < 2; ++b) {
        correct[b][1] = 100;
        RUN_ON(e, b, nn.accuracy, e->dtype, e->m, e->n, x.dev[b], x.ld, label.dev[b], split.dev[b], correct[b],
               total[b]);
    }
    assert_memory_equal(correct[0], correct[1], sizeof correct[0]);
    assert_memory_equal(total[0], total[1], sizeof total[0]);
}

/* ---- optimisers ------------------------------------------------------------------------------------------------ */

static void case_adam(env *e)
{
    int64_t n = e->m * e->n;
    operand w = operand_vector(e, n, UNIT);
    operand g = operand_vector(e, n, UNIT);
    operand m = operand_vector(e, n, UNIT);
    operand v = operand_vector(e, n, POSITIVE);
    for (int64_t step = 1; step <= 3; ++step) {
        hal_adam adam = {.lr = 0.02, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 5e-4, .step = step};
        RUN(e, optim.adam, e->dtype, n, &adam, ON(w), ON(g), ON(m), ON(v));
    }
    operand_compare(e, &w, 32.0);
    operand_compare(e, &m, 8.0);
    operand_compare(e, &v, 8.0);
}

static void case_sgd(env *e)
{
    int64_t n = e->m * e->n;
    operand g = operand_vector(e, n, UNIT);
    for (int variant = 0; variant < 3; ++variant) {
        operand w = operand_vector(e, n, UNIT);
        operand momentum = operand_vector(e, n, NOTHING);
        for (int64_t step = 1; step <= 3; ++step) {
            hal_sgd sgd = {.lr = 0.1,
                           .momentum = variant > 0 ? 0.9 : 0.0,
                           .dampening = variant == 1 ? 0.25 : 0.0,
                           .weight_decay = 0.01,
                           .nesterov = variant == 2,
                           .step = step};
            RUN(e, optim.sgd, e->dtype, n, &sgd, ON(w), ON(g), ON(momentum));
        }
        operand_compare(e, &w, 16.0);
        if (variant > 0) {
            operand_compare(e, &momentum, 16.0);
        }
    }
}

/* ---- sparse ---------------------------------------------------------------------------------------------------- */

static void case_spmm(env *e)
{
    int64_t rows = e->m;
    int64_t cols = e->m + 4;
    int64_t *offset = calloc((size_t)rows + 1, sizeof *offset);
    assert_non_null(offset);
    for (int64_t r = 0; r < rows; ++r) { /* row r has 0 to 12 entries */
        offset[r + 1] = offset[r] + r * 5 % 13;
    }
    int32_t *column = calloc((size_t)offset[rows] + 1, sizeof *column);
    assert_non_null(column);
    for (int64_t i = 0; i < offset[rows]; ++i) {
        column[i] = (int32_t)((i * 2654435761LL >> 3) % cols);
    }
    operand x = operand_make(e, cols, e->n, UNIT);
    operand out = operand_make(e, rows, e->n, NOTHING);
    operand added = operand_make(e, rows, e->n, UNIT);
    operand pre = operand_vector(e, cols, POSITIVE);
    operand post = operand_vector(e, rows, POSITIVE);
    operand diag = operand_vector(e, rows, UNIT);
    hal_csr csr = {.rows = rows, .cols = cols, .offset = offset, .column = column};
    for (int b = 0; b < 2; ++b) {
        hal_spmm *spmm = NULL;
        ASSERT_OK(e->hal[b]->sparse.spmm_create(e->hal[b], &csr, HAL_SPMM_AUTO, e->n, &spmm));
        hal_spmm_args args = {
            .dtype = e->dtype, .d = e->n, .x = x.dev[b], .ldx = x.ld, .out = out.dev[b], .ldo = out.ld};
        RUN_ON(e, b, sparse.spmm_run, spmm, &args);
        args.pre = pre.dev[b];
        args.post = post.dev[b];
        args.diag = diag.dev[b];
        args.beta = 0.5;
        args.out = added.dev[b];
        args.ldo = added.ld;
        RUN_ON(e, b, sparse.spmm_run, spmm, &args);
        assert_true(e->hal[b]->sparse.spmm_info(e->hal[b], spmm).bytes > 0);
        e->hal[b]->sparse.spmm_destroy(e->hal[b], spmm);
    }
    operand_compare(e, &out, 32.0);
    operand_compare(e, &added, 32.0);
    free(offset);
    free(column);
}

/* ---- products -------------------------------------------------------------------------------------------------- */

static void gemm_variant(env *e, int64_t k, bool trans_a, bool trans_b, double alpha, double beta, bool with_bias)
{
    operand a = operand_make(e, trans_a ? k : e->m, trans_a ? e->m : k, UNIT);
    operand b = operand_make(e, trans_b ? e->n : k, trans_b ? k : e->n, UNIT);
    operand c = operand_make(e, e->m, e->n, beta == 0.0 ? NOTHING : UNIT);
    operand bias = operand_vector(e, e->n, UNIT);
    for (int i = 0; i < 2; ++i) {
        hal_gemm gemm = {.dtype = e->dtype,
                         .trans_a = trans_a,
                         .trans_b = trans_b,
                         .m = e->m,
                         .n = e->n,
                         .k = k,
                         .alpha = alpha,
                         .beta = beta,
                         .a = a.dev[i],
                         .lda = a.ld,
                         .b = b.dev[i],
                         .ldb = b.ld,
                         .c = c.dev[i],
                         .ldc = c.ld,
                         .bias = with_bias ? bias.dev[i] : NULL};
        RUN_ON(e, i, dense.gemm, &gemm);
    }
    operand_compare(e, &c, 8.0 + 0.5 * (double)k);
}

/* m and n are the shape's; k runs over short, odd and long. */
static void case_gemm(env *e)
{
    static const int64_t inner[] = {0, 1, 3, 17, 65, 300};
    bool big = e->m * e->n > 5000;
    for (int i = 0; i < 6; ++i) {
        int64_t k = inner[i];
        if ((big && k == 3) || (k == 300 && e->m * e->n > 600)) {
            continue;
        }
        gemm_variant(e, k, false, false, 1.0, 0.0, true);
        gemm_variant(e, k, true, false, 1.0, 1.0, false);
        gemm_variant(e, k, false, true, 1.0, 0.0, false);
        if (!big) {
            gemm_variant(e, k, true, true, -0.5, 0.25, true);
            gemm_variant(e, k, true, false, 1.0, 0.0, false);
        }
    }
}

/* Long reductions, as in weight gradients: few rows and columns of C, many terms. */
static void case_gemm_gradient(env *e)
{
    if (e->m == 0 || e->n == 0 || e->n > 130) {
        return;
    }
    int64_t k = e->m;
    e->m = 37;
    gemm_variant(e, k, true, false, 1.0, 1.0, false);
    e->m = 5;
    gemm_variant(e, k, true, false, 1.0, 0.0, false);
    e->m = k;
}

/* Products that a library takes from the kernels above: large ones, with and without bias and accumulation. */
static void case_gemm_large(env *e)
{
    if (e->m != 5 || e->n != 602) {
        return;
    }
    gemm_variant(e, 300, false, false, 1.0, 0.0, true);
    gemm_variant(e, 300, false, true, 1.0, 1.0, false);
    gemm_variant(e, 300, false, true, 1.0, 0.5, true);
    gemm_variant(e, 300, false, false, -2.0, 0.5, true); /* scaled: stays with the kernels */
    e->m = 440;
    gemm_variant(e, 9, true, false, 1.0, 0.0, false);
    gemm_variant(e, 9, true, true, 1.0, 1.0, true);
    e->m = 5;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static const struct test_case {
    const char *name;
    void (*run)(env *e);
} cases[] = {
    {"axpby", case_axpby},
    {"scale_rows", case_scale_rows},
    {"col_sum", case_col_sum},
    {"gather_scatter", case_gather_scatter},
    {"act", case_act},
    {"batch_norm", case_batch_norm},
    {"layer_norm", case_layer_norm},
    {"softmax_xent", case_softmax_xent},
    {"bce_logits", case_bce_logits},
    {"accuracy", case_accuracy},
    {"adam", case_adam},
    {"sgd", case_sgd},
    {"spmm", case_spmm},
    {"gemm", case_gemm},
    {"gemm_gradient", case_gemm_gradient},
    {"gemm_large", case_gemm_large},
};

static const struct shape {
    int64_t m, n;
} shapes[] = {{0, 0},  {0, 17},  {1, 0},   {1, 1},    {1, 33},   {5, 3},   {5, 17},   {5, 65},   {5, 602}, {40, 1},
              {40, 8}, {17, 16}, {23, 64}, {1000, 1}, {700, 33}, {90, 48}, {300, 65}, {30, 602}, {3, 4100}};

static void run_cases(const char *resource, weft_dtype dtype)
{
    weft_hal *hal[2];
    ASSERT_OK(weft_hal_open("ref", 1, &hal[0]));
    weft_status status = weft_hal_open(resource, 3, &hal[1]);
    if (status == WEFT_ERR_UNSUPPORTED) {
        print_message("skipped: %s\n", weft_error_message());
        weft_hal_close(hal[0]);
        return;
    }
    ASSERT_OK(status);
    bool runs_on_another =
        strncmp(resource, "cpu", 3) != 0 || dtype == WEFT_DTYPE_F64; /* its kernels are tested there */
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; ++s) {
            bool large = shapes[s].m * shapes[s].n > 5000;
            if (large && runs_on_another) {
                continue;
            }
            for (int64_t pad = large && s % 2 == 0 ? 3 : 0; pad <= (large && s % 2 == 1 ? 0 : 3); pad += 3) {
                for (int again = 0; again < (pad == 0 ? 2 : 1); ++again) {
                    env e = {.hal = {hal[0], hal[1]},
                             .dtype = dtype,
                             .m = shapes[s].m,
                             .n = shapes[s].n,
                             .pad = pad,
                             .name = cases[c].name,
                             .second = again == 1};
                    cases[c].run(&e);
                    env_free(&e);
                }
            }
        }
    }
    weft_hal_close(hal[0]);
    weft_hal_close(hal[1]);
}

/* Sums over threads come out the same to the bit, however the threads are timed. */
static void test_sums_repeat(void **state)
{
    (void)state;
    enum { ROWS = 4000, COLS = 33, WIDE_COLS = 40, TIMES = 6 };
    weft_hal *hal = NULL;
    ASSERT_OK(weft_hal_open("cpu", 3, &hal));
    env e = {.hal = {hal, hal}, .dtype = WEFT_DTYPE_F32, .m = ROWS, .n = COLS, .name = "repeat"};
    operand a = operand_make(&e, ROWS, WIDE_COLS, UNIT);
    operand x = operand_make(&e, ROWS, COLS, UNIT);
    static float product[TIMES][WIDE_COLS * COLS];
    static float sum[TIMES][COLS];
    static double stats[TIMES][2 * COLS];
    for (int i = 0; i < TIMES; ++i) {
        hal_gemm gemm = {.trans_a = true,
                         .m = WIDE_COLS,
                         .n = COLS,
                         .k = ROWS,
                         .alpha = 1.0,
                         .a = a.dev[0],
                         .lda = a.ld,
                         .b = x.dev[0],
                         .ldb = x.ld,
                         .c = product[i],
                         .ldc = COLS};
        ASSERT_OK(hal->dense.gemm(hal, &gemm));
        ASSERT_OK(hal->dense.col_sum(hal, WEFT_DTYPE_F32, ROWS, COLS, x.dev[0], x.ld, 0.0, sum[i]));
        ASSERT_OK(hal->nn.bn_stats(hal, WEFT_DTYPE_F32, ROWS, COLS, x.dev[0], x.ld, stats[i]));
        assert_memory_equal(product[i], product[0], sizeof product[0]);
        assert_memory_equal(sum[i], sum[0], sizeof sum[0]);
        assert_memory_equal(stats[i], stats[0], sizeof stats[0]);
    }
    env_free(&e);
    weft_hal_close(hal);
}

/* The state is "resource type". */
static void test_backend(void **state)
{
    char resource[32];
    const char *text = *state;
    const char *space = strchr(text, ' ');
    snprintf(resource, sizeof resource, "%.*s", (int)(space - text), text);
    run_cases(resource, strcmp(space + 1, "f64") == 0 ? WEFT_DTYPE_F64 : WEFT_DTYPE_F32);
}

#define BACKEND(text)                                                                                                  \
    {                                                                                                                  \
        .name = (text), .test_func = test_backend, .initial_state = (text)                                             \
    }

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums_repeat),
                                       BACKEND("cpu f32"),
                                       BACKEND("cpu f64"),
                                       BACKEND("cpu:avx2 f32"),
                                       BACKEND("cpu:base f32"),
                                       BACKEND("shadow f32"),
                                       BACKEND("shadow:ref f64")};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (argc < 2 || strcmp(argv[1], "--perf") != 0 || failed != 0) {
        return failed;
    }
    return backend_perf(argc > 2 ? argv[2] : "cpu", argc > 3 ? atoi(argv[3]) : 1, argc > 4 ? argv[4] : "");
}

/*
 * backend/test_backends.c: every operation on every backend and instruction set, in both types, on odd shapes, against
 * ref. A new operation is tested by adding a row to `cases`.
 *
 * `test_backends --perf [BACKEND [THREADS [OP]]]` prints rates after the tests have passed; `test_backends --only
 * "cuda*"` runs those whose name matches.
 *
 * Each case runs twice: the second time no operation may allocate. Padding between cols and ld must stay as it was.
 * timeout: 600
 */
#include <math.h>

#include "backend/attention_cases.h"
#include "backend/backend_env.h"
#include "backend/backend_perf.h"
#include "backend/curve_cases.h"
#include "backend/factor_cases.h"
#include "backend/feature_cases.h"
#include "backend/gemm_cases.h"
#include "backend/image_cases.h"
#include "backend/pack_cases.h"
#include "backend/token_cases.h"
#include "base/philox.h"

/* ---- dense ---------------------------------------------------------------------------------------------------- */

static void case_axpby(env *e)
{
    operand x = operand_make(e, e->m, e->n, UNIT);
    operand y = operand_make(e, e->m, e->n, UNIT);
    operand z = operand_make(e, e->m, e->n, NOTHING);
    RUN(e, axpby, .alpha = 0.75, .x = ON(x), .beta = -0.5, .y = ON(y));
    RUN(e, axpby, .alpha = -2.5, .x = ON(x), .beta = 0.0, .y = ON(z));
    RUN(e, axpby, .alpha = 1.0, .x = ON(x), .beta = 1.0, .y = ON(x));
    operand_compare(e, &y, 4.0);
    operand_compare(e, &z, 4.0);
    operand_compare(e, &x, 4.0);
}

static void case_scale_rows(env *e)
{
    operand x = operand_make(e, e->m, e->n, UNIT);
    operand y = operand_make(e, e->m, e->n, NOTHING);
    operand scale = operand_vector(e, e->m, POSITIVE);
    RUN(e, scale_rows, .scale = ON(scale), .x = ON(x), .y = ON(y));
    RUN(e, scale_rows, .scale = ON(scale), .x = ON(x), .y = ON(x));
    operand_compare(e, &y, 2.0);
    operand_compare(e, &x, 2.0);
}

static void case_col_sum(env *e)
{
    operand a = operand_make(e, e->m, e->n, UNIT);
    operand sum = operand_vector(e, e->n, NOTHING);
    operand added = operand_vector(e, e->n, UNIT);
    RUN(e, col_sum, .x = ON(a), .beta = 0.0, .out = ROW(sum));
    RUN(e, col_sum, .x = ON(a), .beta = 0.5, .out = ROW(added));
    operand_compare(e, &sum, 4.0 + order_of_sums(e));
    operand_compare(e, &added, 4.0 + order_of_sums(e));
}

static void case_gather_scatter(env *e)
{
    int64_t pool = e->m + 7;
    operand x = operand_make(e, pool, e->n, UNIT);
    operand packed = operand_make(e, e->m, e->n, NOTHING);
    operand replaced = operand_make(e, pool, e->n, UNIT);
    operand added = operand_make(e, pool, e->n, UNIT);
    operand largest = operand_make(e, pool, e->n, UNIT);
    int_operand index = int_operand_make(e, e->m, WEFT_DTYPE_I32);
    for (int64_t i = 0; i < e->m; ++i) { /* distinct: 3 i modulo a number coprime to 3 */
        int64_t modulus = pool % 3 == 0 ? pool - 1 : pool;
        ((int32_t *)index.host)[i] = (int32_t)(3 * i % modulus);
    }
    int_operand_upload(e, &index);
    RUN(e, gather_rows, .index = INT(index), .x = ON(x), .y = ON(packed));
    RUN(e, scatter_rows, .index = INT(index), .mode = HAL_SCATTER_REPLACE, .x = ON(packed), .y = ON(replaced));
    RUN(e, scatter_rows, .index = INT(index), .mode = HAL_SCATTER_ADD, .x = ON(packed), .y = ON(added));
    RUN(e, scatter_rows, .index = INT(index), .mode = HAL_SCATTER_MAX, .x = ON(packed), .y = ON(largest));
    operand_compare(e, &packed, 0.0);
    operand_compare(e, &replaced, 0.0);
    operand_compare(e, &added, 1.0);
    operand_compare(e, &largest, 0.0);
}

/* ---- activation ------------------------------------------------------------------------------------------------ */

static void act_variant(env *e, bool relu, const hal_dropout *dropout, bool with_ids)
{
    operand x = operand_make(e, e->m, e->n, UNIT);
    operand y = operand_make(e, e->m, e->n, NOTHING);
    operand dy = operand_make(e, e->m, e->n, UNIT);
    operand dx = operand_make(e, e->m, e->n, NOTHING);
    int_operand ids = int_operand_make(e, e->m, WEFT_DTYPE_I64);
    for (int64_t i = 0; i < e->m; ++i) {
        ((int64_t *)ids.host)[i] = ((int64_t)1 << 40) / (i + 1) + 977 * i;
    }
    int_operand_upload(e, &ids);
    for (int b = 0; b < e->backends; ++b) {
        hal_dropout mask = dropout != NULL ? *dropout : (hal_dropout){0};
        mask.row_id = with_ids ? ints_on(&ids, b) : (hal_mat){.data = NULL};
        hal_mat on_x = mat_on(&x, b);
        hal_mat on_y = mat_on(&y, b);
        hal_mat on_dy = mat_on(&dy, b);
        RUN_ON(e, b, act_forward, .x = on_x, .relu = relu, .dropout = mask, .y = on_y);
        RUN_ON(e, b, act_backward, .dy = on_dy, .y = on_y, .relu = relu, .dropout = mask, .dx = mat_on(&dx, b));
        RUN_ON(e, b, act_backward, .dy = on_dy, .y = on_y, .relu = relu, .dropout = mask, .dx = on_dy);
        RUN_ON(e, b, act_forward, .x = on_x, .relu = relu, .dropout = mask, .y = on_x);
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

/* [2, n] and [m, 2] in a vector. */
#define STATS(x) hal_mat_of((x).dev[run_backend], WEFT_DTYPE_F64, 2, e->n, e->n)
#define SAVED(x) hal_mat_of((x).dev[run_backend], (x).dtype, e->m / pixels, 2 * groups, 2 * groups)
#define PAIRS(x) hal_mat_of((x).dev[run_backend], (x).dtype, e->m, 2, 2)

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
    RUN(e, bn_stats, .x = ON(x), .stats = STATS(stats));
    operand finished[4] = {operand_vector(e, e->n, NOTHING), operand_vector(e, e->n, NOTHING),
                           operand_vector(e, e->n, NOTHING), operand_vector(e, e->n, NOTHING)};
    if (e->m > 0) { /* else a mean of nothing */
        RUN(e, bn_finish, .stats = STATS(stats), .count = (double)e->m, .epsilon = 1e-5, .mean = ROW(finished[0]),
            .var = ROW(finished[1]), .rstd = ROW(finished[2]));
        RUN(e, bn_rstd, .var = ROW(rstd), .epsilon = 1e-5, .rstd = ROW(finished[3]));
        for (int i = 0; i < 4 && e->m > 1; ++i) { /* one row's variance is what cancellation leaves */
            operand_compare(e, &finished[i], (i == 2 ? 64.0 : 8.0) + order_of_sums(e));
        }
        RUN(e, bn_gradients, .stats = STATS(stats), .dgamma = ROW(finished[0]), .dbeta = ROW(finished[1]));
        operand_compare(e, &finished[0], 8.0 + order_of_sums(e));
        operand_compare(e, &finished[1], 8.0 + order_of_sums(e));
    }
    RUN(e, bn_apply, .x = ON(x), .mean = ROW(mean), .rstd = ROW(rstd), .gamma = ROW(gamma), .beta = ROW(beta),
        .y = ON(y));
    RUN(e, bn_backward_stats, .dy = ON(dy), .x = ON(x), .mean = ROW(mean), .rstd = ROW(rstd), .stats = STATS(backward));
    RUN(e, bn_backward_apply, .dy = ON(dy), .x = ON(x), .mean = ROW(mean), .rstd = ROW(rstd), .gamma = ROW(gamma),
        .stats = STATS(backward), .count = count, .dx = ON(dx));
    RUN(e, bn_backward_apply, .dy = ON(dy), .x = ON(x), .mean = ROW(mean), .rstd = ROW(rstd), .gamma = ROW(gamma),
        .stats = STATS(backward), .count = count, .dx = ON(dy));
    RUN(e, bn_apply, .x = ON(x), .mean = ROW(mean), .rstd = ROW(rstd), .gamma = ROW(gamma), .beta = ROW(beta),
        .y = ON(x));
    operand_compare_as(e, &stats, 1e-12 * (double)(e->m + 1));
    operand_compare_as(e, &backward, (e->dtype == WEFT_DTYPE_F64 ? 1e-12 : 1e-6) * (double)(e->m + 1));
    operand_compare(e, &y, 8.0 + order_of_sums(e));
    operand_compare(e, &x, 8.0 + order_of_sums(e));
    operand_compare(e, &dx, 16.0 + order_of_sums(e));
    operand_compare(e, &dy, 16.0 + order_of_sums(e));
}

/* With ReLU and a residual, each alone and both; y is not read without ReLU. */
static void case_batch_norm_fused(env *e)
{
    operand mean = operand_vector(e, e->n, UNIT);
    operand rstd = operand_vector(e, e->n, POSITIVE);
    operand gamma = operand_vector(e, e->n, POSITIVE);
    operand beta = operand_vector(e, e->n, UNIT);
    for (int form = 0; form < 4; ++form) {
        const bool relu = form % 2 == 1;
        const bool adds = form / 2 == 1;
        operand x = operand_make(e, e->m, e->n, UNIT);
        operand residual = operand_make(e, e->m, e->n, adds ? UNIT : NOTHING);
        operand y = operand_make(e, e->m, e->n, NOTHING);
        RUN(e, bn_apply, .x = ON(x), .mean = ROW(mean), .rstd = ROW(rstd), .gamma = ROW(gamma), .beta = ROW(beta),
            .residual = adds ? ON(residual) : (hal_mat){.data = NULL}, .relu = relu, .y = ON(y));
        RUN(e, bn_apply, .x = ON(x), .mean = ROW(mean), .rstd = ROW(rstd), .gamma = ROW(gamma), .beta = ROW(beta),
            .residual = adds ? ON(residual) : (hal_mat){.data = NULL}, .relu = relu, .y = ON(x));
        operand_compare(e, &y, 8.0 + order_of_sums(e));
        operand_compare(e, &x, 8.0 + order_of_sums(e));
    }
}

/* Every way in which a gradient may count: ReLU told by x, or by y; of one part or two; counted in place, or not. */
static void case_batch_norm_backward(env *e)
{
    operand mean = operand_vector(e, e->n, UNIT);
    operand rstd = operand_vector(e, e->n, POSITIVE);
    operand gamma = operand_vector(e, e->n, POSITIVE);
    operand beta = operand_vector(e, e->n, UNIT);
    const hal_mat none = {.data = NULL};
    for (int form = 0; form < 12; ++form) {
        const bool relu = form % 3 > 0;
        const bool by_y = form % 3 == 2;
        const bool shares = form / 3 % 2 == 1;
        const bool in_place = form / 6 == 1;
        operand x = operand_make(e, e->m, e->n, UNIT);
        operand y = operand_make(e, e->m, e->n, by_y ? COARSE : NOTHING);
        operand dy = operand_make(e, e->m, e->n, UNIT);
        operand share = operand_make(e, e->m, e->n, shares ? UNIT : NOTHING);
        operand counted = operand_make(e, e->m, e->n, NOTHING);
        operand dx = operand_make(e, e->m, e->n, NOTHING);
        operand stats = operand_f64(e, 2 * e->n, NOTHING);
        const bool counts = shares || by_y || in_place;
        RUN(e, bn_backward_stats, .dy = ON(dy), .share = shares ? ON(share) : none, .x = ON(x), .mean = ROW(mean),
            .rstd = ROW(rstd), .gamma = ROW(gamma), .beta = ROW(beta), .y = by_y || !relu ? ON(y) : none,
            .counted = !counts    ? none
                       : in_place ? ON(dy)
                                  : ON(counted),
            .stats = STATS(stats), .relu = relu);
        operand_compare_as(e, &stats, (e->dtype == WEFT_DTYPE_F64 ? 1e-12 : 1e-6) * (double)(e->m + 1));
        RUN(e, bn_backward_apply, .dy = counts && !in_place ? ON(counted) : ON(dy), .x = ON(x), .mean = ROW(mean),
            .rstd = ROW(rstd), .gamma = ROW(gamma), .beta = ROW(beta), .stats = STATS(stats),
            .count = (double)(e->m + 3), .dx = ON(dx), .relu = relu && !counts);
        operand_compare(e, &dx, 16.0 + order_of_sums(e));
        if (counts) {
            operand_compare(e, in_place ? &dy : &counted, 0.0);
        }
    }
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
    RUN(e, ln_forward, .x = ON(x), .gamma = ROW(gamma), .beta = ROW(beta), .epsilon = epsilon, .saved = PAIRS(saved),
        .y = ON(y));
    RUN(e, ln_backward, .dy = ON(dy), .x = ON(x), .gamma = ROW(gamma), .saved = PAIRS(saved), .dgamma = ROW(dgamma),
        .dbeta = ROW(dbeta), .dx = ON(dx));
    operand_compare(e, &dgamma, 64.0 + order_of_sums(e));
    operand_compare(e, &dbeta, 16.0 + order_of_sums(e));
    RUN(e, ln_backward, .dy = ON(dy), .x = ON(x), .gamma = ROW(gamma), .saved = PAIRS(saved), .dgamma = ROW(dgamma),
        .dbeta = ROW(dbeta), .dx = ON(dy));
    RUN(e, ln_forward, .x = ON(x), .gamma = ROW(gamma), .beta = ROW(beta), .epsilon = epsilon, .saved = PAIRS(saved),
        .y = ON(x));
    if (e->n > 0) {
        operand_compare(e, &saved, 16.0);
    }
    operand_compare(e, &y, 32.0);
    operand_compare(e, &x, 32.0);
    operand_compare(e, &dx, 64.0);
    operand_compare(e, &dy, 64.0);
}

/* Every image is two rows, every group two columns where columns are even. */
static void case_group_norm(env *e)
{
    const int64_t pixels = e->m % 2 == 0 ? 2 : 1, groups = e->n % 2 == 0 && e->n > 0 ? e->n / 2 : 1;
    operand x = operand_make(e, e->m, e->n, UNIT);
    operand dy = operand_make(e, e->m, e->n, UNIT);
    operand y = operand_make(e, e->m, e->n, NOTHING);
    operand dx = operand_make(e, e->m, e->n, NOTHING);
    operand gamma = operand_vector(e, e->n, POSITIVE);
    operand beta = operand_vector(e, e->n, UNIT);
    operand saved = operand_vector(e, e->m / pixels * 2 * groups, NOTHING);
    operand dgamma = operand_vector(e, e->n, UNIT);
    operand dbeta = operand_vector(e, e->n, UNIT);
    const double epsilon = 0.05;
    RUN(e, gn_forward, .x = ON(x), .gamma = ROW(gamma), .beta = ROW(beta), .epsilon = epsilon, .pixels = pixels,
        .groups = groups, .saved = SAVED(saved), .y = ON(y));
    RUN(e, gn_backward, .dy = ON(dy), .x = ON(x), .gamma = ROW(gamma), .saved = SAVED(saved), .dgamma = ROW(dgamma),
        .dbeta = ROW(dbeta), .pixels = pixels, .groups = groups, .dx = ON(dx));
    operand_compare(e, &dgamma, 64.0 + order_of_sums(e));
    operand_compare(e, &dbeta, 16.0 + order_of_sums(e));
    RUN(e, gn_backward, .dy = ON(dy), .x = ON(x), .gamma = ROW(gamma), .saved = SAVED(saved), .dgamma = ROW(dgamma),
        .dbeta = ROW(dbeta), .pixels = pixels, .groups = groups, .dx = ON(dy));
    operand_compare(e, &y, 32.0);
    operand_compare(e, &dx, 64.0);
    operand_compare(e, &dy, 64.0);
}

/* ---- losses ---------------------------------------------------------------------------------------------------- */

/* Rows that a mask leaves out have no label; any byte but 0 counts. */
static void fill_mask(env *e, int_operand *mask, int_operand *label)
{
    for (int64_t i = 0; i < e->m; ++i) {
        static const uint8_t choice[] = {1, 0, 255, 2, 0};
        ((uint8_t *)mask->host)[i] = choice[i % 5];
        bool labelled = choice[i % 5] != 0 && e->n > 0;
        ((int32_t *)label->host)[i] = labelled ? (int32_t)(i * 7 % e->n) : -1;
    }
    int_operand_upload(e, mask);
    int_operand_upload(e, label);
}

static void case_softmax_xent(env *e)
{
    operand x = operand_make(e, e->m, e->n, WIDE);
    operand dx = operand_make(e, e->m, e->n, NOTHING);
    int_operand mask = int_operand_make(e, e->m, WEFT_DTYPE_U8);
    int_operand label = int_operand_make(e, e->m, WEFT_DTYPE_I32);
    fill_mask(e, &mask, &label);
    operand loss = operand_f64(e, 1, POSITIVE);
    operand only = operand_f64(e, 1, POSITIVE);
    RUN(e, softmax_xent, .x = ON(x), .label = INT(label), .mask = INT(mask), .scale = 0.125, .loss = ON(loss),
        .dx = ON(dx));
    RUN(e, softmax_xent, .x = ON(x), .label = INT(label), .mask = INT(mask), .scale = 0.125, .loss = ON(only));
    RUN(e, softmax_xent, .x = ON(x), .label = INT(label), .mask = INT(mask), .scale = 0.125, .loss = ON(loss),
        .dx = ON(x));
    operand smooth = operand_make(e, e->m, e->n, NOTHING);
    RUN(e, softmax_xent, .x = ON(dx), .label = INT(label), .mask = INT(mask), .scale = 0.125, .smoothing = 0.1,
        .loss = ON(only), .dx = ON(smooth));
    operand_compare(e, &smooth, 8.0);
    int_operand weight = int_operand_make(e, e->m, WEFT_DTYPE_F32);
    for (int64_t i = 0; i < e->m; ++i) {
        ((float *)weight.host)[i] = 0.5F * (float)(i % 4);
    }
    int_operand_upload(e, &weight);
    RUN(e, softmax_xent, .x = ON(dx), .label = INT(label), .mask = INT(mask), .weight = INT(weight), .scale = 0.125,
        .smoothing = 0.1, .loss = ON(only), .dx = ON(smooth));
    operand_compare(e, &smooth, 8.0);
    if (e->n > 0) { /* without a mask every row counts, and needs a label */
        for (int64_t i = 0; i < e->m; ++i) {
            ((int32_t *)label.host)[i] = (int32_t)(i % e->n);
        }
        int_operand_upload(e, &label);
        RUN(e, softmax_xent, .x = ON(dx), .label = INT(label), .scale = 0.125, .loss = ON(only), .dx = ON(dx));
    }
    operand_compare_as(e, &loss, (8.0 + order_of_sums(e) * (double)e->n) * epsilon_of(e->dtype));
    operand_compare_as(e, &only, (8.0 + order_of_sums(e) * (double)e->n) * epsilon_of(e->dtype));
    operand_compare(e, &dx, 8.0);
    operand_compare(e, &x, 8.0);
}

static void case_bce_logits(env *e)
{
    operand x = operand_make(e, e->m, e->n, WIDE);
    operand dx = operand_make(e, e->m, e->n, NOTHING);
    int_operand target = int_operand_make(e, e->m * e->n, WEFT_DTYPE_F32);
    int_operand mask = int_operand_make(e, e->m, WEFT_DTYPE_U8);
    int_operand label = int_operand_make(e, e->m, WEFT_DTYPE_I32);
    fill_mask(e, &mask, &label);
    for (int64_t i = 0; i < e->m * e->n; ++i) {
        ((float *)target.host)[i] = i % 3 == 2 ? NAN : (float)(i % 3);
    }
    int_operand_upload(e, &target);
    operand loss = operand_f64(e, 1, POSITIVE);
    int_operand count = int_operand_make(e, 1, WEFT_DTYPE_I64);
    *(int64_t *)count.host = 4;
    int_operand_upload(e, &count);
#define TARGET(x) hal_mat_from((x).dev[run_backend], WEFT_DTYPE_F32, e->m, e->n, e->n)
    RUN(e, bce_logits, .x = ON(x), .target = TARGET(target), .mask = INT(mask), .scale = 0.25, .loss = ON(loss),
        .count = INT(count), .dx = ON(dx));
    RUN(e, bce_logits, .x = ON(x), .target = TARGET(target), .mask = INT(mask), .scale = 0.25, .loss = ON(loss),
        .count = INT(count));
    RUN(e, bce_logits, .x = ON(x), .target = TARGET(target), .scale = 0.25, .loss = ON(loss), .dx = ON(x));
#undef TARGET
    int_operand_compare(e, &count);
    operand_compare_as(e, &loss, (8.0 + order_of_sums(e) * (double)e->n) * epsilon_of(e->dtype));
    operand_compare(e, &dx, 8.0);
    operand_compare(e, &x, 8.0);
}

static void case_accuracy(env *e)
{
    operand x = operand_make(e, e->m, e->n, COARSE); /* few distinct values: ties are common */
    int_operand mask = int_operand_make(e, e->m, WEFT_DTYPE_U8);
    int_operand label = int_operand_make(e, e->m, WEFT_DTYPE_I32);
    fill_mask(e, &mask, &label);
    int_operand counts = int_operand_make(e, 2, WEFT_DTYPE_I64);
    ((int64_t *)counts.host)[1] = 100;
    int_operand_upload(e, &counts);
    RUN(e, accuracy, .x = ON(x), .label = INT(label), .mask = INT(mask),
        .counts = hal_mat_of(counts.dev[run_backend], WEFT_DTYPE_I64, 1, 2, 2));
    RUN(e, accuracy, .x = ON(x), .label = INT(label),
        .counts = hal_mat_of(counts.dev[run_backend], WEFT_DTYPE_I64, 1, 2, 2));
    operand broken = operand_make(e, e->m, e->n, SOME_NANS); /* of a model that diverged */
    RUN(e, accuracy, .x = ON(broken), .label = INT(label),
        .counts = hal_mat_of(counts.dev[run_backend], WEFT_DTYPE_I64, 1, 2, 2));
    int_operand_compare(e, &counts);
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
        RUN(e, adam, .w = ROW(w), .g = ROW(g), .m = ROW(m), .v = ROW(v), .lr = 0.02, .beta1 = 0.9, .beta2 = 0.999,
            .epsilon = 1e-8, .weight_decay = 5e-4, .step = step);
    }
    operand_compare(e, &w, 32.0);
    operand_compare(e, &m, 8.0);
    operand_compare(e, &v, 8.0);
}

static void case_adadelta(env *e)
{
    int64_t n = e->m * e->n;
    operand w = operand_vector(e, n, UNIT);
    operand g = operand_vector(e, n, UNIT);
    operand squares = operand_vector(e, n, POSITIVE);
    operand moves = operand_vector(e, n, POSITIVE);
    for (int step = 1; step <= 3; ++step) {
        RUN(e, adadelta, .w = ROW(w), .g = ROW(g), .squares = ROW(squares), .moves = ROW(moves), .lr = 0.1,
            .decay = 0.9, .epsilon = 1e-6, .weight_decay = 5e-4);
    }
    operand_compare(e, &w, 32.0);
    operand_compare(e, &squares, 8.0);
    operand_compare(e, &moves, 32.0);
}

static void case_sgd(env *e)
{
    int64_t n = e->m * e->n;
    operand g = operand_vector(e, n, UNIT);
    for (int variant = 0; variant < 3; ++variant) {
        operand w = operand_vector(e, n, UNIT);
        operand velocity = operand_vector(e, n, NOTHING);
        for (int64_t step = 1; step <= 3; ++step) {
            RUN(e, sgd, .w = ROW(w), .g = ROW(g), .velocity = ROW(velocity), .lr = 0.1,
                .momentum = variant > 0 ? 0.9 : 0.0, .dampening = variant == 1 ? 0.25 : 0.0, .weight_decay = 0.01,
                .nesterov = variant == 2, .step = step);
        }
        operand_compare(e, &w, 16.0);
        if (variant > 0) {
            operand_compare(e, &velocity, 16.0);
        }
    }
}

static void case_lars(env *e)
{
    int64_t n = e->m * e->n;
    operand g = operand_vector(e, n, UNIT);
    for (int variant = 0; variant < 3; ++variant) { /* 0: without momentum; 2: without norms */
        operand w = operand_vector(e, n, UNIT);
        operand velocity = operand_vector(e, n, NOTHING);
        operand norms = operand_f64(e, 2, NOTHING);
        for (int64_t step = 1; step <= 3; ++step) {
            RUN(e, sum_squares, .x = ROW(w), .out = hal_row_of(norms.dev[run_backend], WEFT_DTYPE_F64, 1));
            RUN(e, sum_squares, .x = ROW(g),
                .out = hal_row_of((double *)norms.dev[run_backend] + 1, WEFT_DTYPE_F64, 1));
            RUN(e, lars, .w = ROW(w), .g = ROW(g), .velocity = ROW(velocity), .lr = 2.0,
                .momentum = variant > 0 ? 0.9 : 0.0, .weight_decay = 0.01, .trust = 0.02, .epsilon = 1e-8, .step = step,
                .norms = variant < 2 ? hal_row_of(norms.dev[run_backend], WEFT_DTYPE_F64, 2) : (hal_mat){.data = NULL});
        }
        operand_compare(e, &w, 16.0);
        operand_compare_as(e, &norms, 1e-5);
        if (variant > 0) {
            operand_compare(e, &velocity, 16.0);
        }
    }
}

/* ---- sparse ---------------------------------------------------------------------------------------------------- */

/* Rows of 0 to 12 entries, and for a device those of its other classes: one that a warp adds, one that is cut. */
static int64_t spmm_entries(const env *e, int64_t row)
{
    return row == 19 && sums_in_trees(e) ? 1300 : row == 21 && sums_in_trees(e) ? 100 : row * 5 % 13;
}

static void spmm_variant(env *e, bool weighted)
{
    int64_t rows = e->m;
    int64_t cols = e->m + 4;
    int64_t *offset = calloc((size_t)rows + 1, sizeof *offset);
    assert_non_null(offset);
    for (int64_t r = 0; r < rows; ++r) {
        offset[r + 1] = offset[r] + spmm_entries(e, r);
    }
    int32_t *column = calloc((size_t)offset[rows] + 1, sizeof *column);
    float *value = calloc((size_t)offset[rows] + 1, sizeof *value);
    assert_true(column != NULL && value != NULL);
    for (int64_t i = 0; i < offset[rows]; ++i) {
        column[i] = (int32_t)((i * 2654435761LL >> 3) % cols);
        value[i] = (float)fill_value(e, UNIT);
    }
    operand x = operand_make(e, cols, e->n, UNIT);
    operand out = operand_make(e, rows, e->n, NOTHING);
    operand added = operand_make(e, rows, e->n, UNIT);
    operand pre = operand_vector(e, cols, POSITIVE);
    operand post = operand_vector(e, rows, POSITIVE);
    operand diag = operand_vector(e, rows, UNIT);
    hal_csr csr = {.rows = rows, .cols = cols, .offset = offset, .column = column, .value = weighted ? value : NULL};
    for (int b = 0; b < e->backends; ++b) {
        hal_spmm *spmm = NULL;
        ASSERT_OK(e->hal[b]->sparse.spmm_create(e->hal[b], &csr, HAL_SPMM_AUTO, e->n, &spmm));
        RUN_ON(e, b, spmm_run, .matrix = spmm, .x = mat_on(&x, b), .out = mat_on(&out, b));
        RUN_ON(e, b, spmm_run, .matrix = spmm, .x = mat_on(&x, b), .pre = mat_on(&pre, b), .post = mat_on(&post, b),
               .diag = mat_on(&diag, b), .beta = 0.5, .out = mat_on(&added, b));
        const uint64_t bytes = e->hal[b]->sparse.spmm_info(e->hal[b], spmm).bytes;
        assert_true(bytes > (weighted ? (sizeof *column + sizeof *value) * (uint64_t)offset[rows] : 0));
        e->hal[b]->sparse.spmm_destroy(e->hal[b], spmm);
    }
    const double sum = sums_in_trees(e) ? 512.0 : 32.0; /* of 1300 terms that cancel out */
    operand_compare(e, &out, sum);
    operand_compare(e, &added, sum);
    free(offset);
    free(column);
    free(value);
}

static void case_spmm(env *e)
{
    spmm_variant(e, false);
    spmm_variant(e, true);
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static const struct test_case {
    const char *name;
    void (*run)(env *e);
    enum { WHOLE, DATA, VALUE } rows; /* of float32 and float64, of bfloat16 too, and of float16 */
    hal_op op;                        /* that it is about: a device may lack it */
} cases[] = {
    {"axpby", case_axpby, VALUE, HAL_OP_axpby},
    {"scale_rows", case_scale_rows, WHOLE, HAL_OP_scale_rows},
    {"col_sum", case_col_sum, VALUE, HAL_OP_col_sum},
    {"gather_scatter", case_gather_scatter, VALUE, HAL_OP_scatter_rows},
    {"reduce", case_reduce, WHOLE, HAL_OP_reduce},
    {"cast", case_cast, WHOLE, HAL_OP_cast},
    {"select_largest", case_select_largest, WHOLE, HAL_OP_select_largest},
    {"sum_magnitudes", case_sum_magnitudes, WHOLE, HAL_OP_sum_magnitudes},
    {"zero_unless_finite", case_zero_unless_finite, WHOLE, HAL_OP_zero_unless_finite},
    {"coded_rows", case_coded_rows, WHOLE, HAL_OP_encode_rows},
    {"act", case_act, VALUE, HAL_OP_act_forward},
    {"batch_norm", case_batch_norm, VALUE, HAL_OP_bn_apply},
    {"batch_norm_fused", case_batch_norm_fused, VALUE, HAL_OP_bn_apply},
    {"batch_norm_backward", case_batch_norm_backward, VALUE, HAL_OP_bn_backward_apply},
    {"layer_norm", case_layer_norm, VALUE, HAL_OP_ln_backward},
    {"group_norm", case_group_norm, VALUE, HAL_OP_gn_backward},
    {"softmax_xent", case_softmax_xent, WHOLE, HAL_OP_softmax_xent},
    {"bce_logits", case_bce_logits, WHOLE, HAL_OP_bce_logits},
    {"accuracy", case_accuracy, WHOLE, HAL_OP_accuracy},
    {"adam", case_adam, WHOLE, HAL_OP_adam},
    {"adadelta", case_adadelta, WHOLE, HAL_OP_adadelta},
    {"sgd", case_sgd, WHOLE, HAL_OP_sgd},
    {"conv", case_conv, VALUE, HAL_OP_conv_forward},
    {"pool", case_pool, VALUE, HAL_OP_pool_forward},
    {"lars", case_lars, WHOLE, HAL_OP_lars},
    {"spmm", case_spmm, DATA, HAL_OP_spmm_run},
    {"features", case_features, DATA, HAL_OP_feature_product},
    {"attention", case_attention, WHOLE, HAL_OP_attention_forward},
    {"max", case_max, DATA, HAL_OP_max_forward},
    {"heads", case_heads, WHOLE, HAL_OP_head_dot},
    {"curve", case_curve, VALUE, HAL_OP_curve_forward},
    {"gate", case_gate, VALUE, HAL_OP_gate_backward},
    {"attend", case_attend, VALUE, HAL_OP_attend_backward},
    {"embed", case_embed, VALUE, HAL_OP_lookup_backward},
    {"token_mean", case_token_mean, VALUE, HAL_OP_token_mean_backward},
    {"elu", case_elu, WHOLE, HAL_OP_elu_forward},
    {"gemm", case_gemm, DATA, HAL_OP_gemm},
    {"gemm_gradient", case_gemm_gradient, DATA, HAL_OP_gemm},
    {"gemm_large", case_gemm_large, DATA, HAL_OP_gemm},
    {"gram", case_gram, DATA, HAL_OP_gram},
    {"patch_gram", case_patch_gram, DATA, HAL_OP_patch_gram},
    {"unpack_triangle", case_unpack_triangle, WHOLE, HAL_OP_unpack_triangle},
    {"cholesky", case_cholesky, WHOLE, HAL_OP_potrf},
    {"indefinite", case_indefinite, WHOLE, HAL_OP_potrf},
    {"eigen", case_eigen, WHOLE, HAL_OP_syevd},
    {"eigen_refused", case_eigen_refused, WHOLE, HAL_OP_syevd},
    {"qr", case_qr, WHOLE, HAL_OP_geqrf},
    {"qr_tall", case_qr_tall, WHOLE, HAL_OP_geqrf},
    {"histogram", case_histogram, WHOLE, HAL_OP_histogram},
};

static const struct shape {
    int64_t m, n;
} shapes[] = {{0, 0},  {0, 17},  {1, 0},   {1, 1},    {1, 33},   {5, 3},   {5, 17},   {5, 65},    {5, 602},  {40, 1},
              {40, 8}, {17, 16}, {23, 64}, {1000, 1}, {700, 33}, {90, 48}, {300, 65}, {300, 132}, {30, 602}, {3, 4100}};

/* Backends that are tested beside each other, in one type. */
typedef struct backend_group {
    const char *name;
    weft_dtype dtype;
    const char *resource[ENV_BACKENDS]; /* the best instruction set first */
} backend_group;

/* The one that --only names, or NULL: all. */
static const char *only_resource;

/* ref and those of the group that this machine has, of which it tells the others. */
static int open_backends(const backend_group *group, weft_hal *hal[ENV_BACKENDS])
{
    int backends = 1;
    ASSERT_OK(weft_hal_open("ref", 1, &hal[0]));
    for (int r = 0; r < ENV_BACKENDS - 1 && group->resource[r] != NULL; ++r) {
        if (only_resource != NULL && strcmp(only_resource, group->resource[r]) != 0) {
            continue;
        }
        backends += open_if_there(group->resource[r], 3, &hal[backends]);
    }
    return backends;
}

/* Large shapes are for instruction sets, of which the best alone has them under a sanitizer; what runs on another
 * backend, or in float64, has kernels that are tested there. */
static bool takes_large(const env *all, int b)
{
    const bool cpu = strcmp(all->hal[b]->name, "cpu") == 0;
    return cpu && all->dtype != WEFT_DTYPE_F64 && (!TEST_SANITIZED || b == 1);
}

/* Those of `all` that have the case's operation, and take shapes so large. */
static env env_of(const env *all, const struct test_case *c, bool large)
{
    env e = *all;
    e.name = c->name;
    e.backends = 1;
    for (int b = 1; b < all->backends; ++b) {
        if (weft_hal_supports(all->hal[b], c->op) && (!large || takes_large(all, b))) {
            e.hal[e.backends++] = all->hal[b];
        }
    }
    return e;
}

/* Whether operations run a second time, when none may allocate: with a sanitizer those of the imitated device, which no
 * other program runs, in one type. */
static bool runs_again(const env *all)
{
    return (!TEST_SANITIZED && !TEST_SECOND_COMPILER) || (TEST_IMITATED && all->dtype == WEFT_DTYPE_F32);
}

/* Memory that a sanitizer watches on a processor is passed by small and by odd shapes as by these. */
static bool passes_nothing_new(size_t s)
{
    return TEST_SANITIZED && !TEST_IMITATED && (shapes[s].n == 48 || shapes[s].n == 132 || shapes[s].m == 30);
}

static void run_shape(const env *all, const struct test_case *c, size_t s)
{
    const bool large = shapes[s].m * shapes[s].n > 5000;
    for (int64_t pad = large && s % 2 == 0 ? 3 : 0; pad <= (large && s % 2 == 1 ? 0 : 3); pad += 3) {
        for (int again = 0; again < (pad == 0 && runs_again(all) ? 2 : 1); ++again) {
            env e = env_of(all, c, large);
            e.m = shapes[s].m;
            e.n = shapes[s].n;
            e.pad = pad;
            e.second = again == 1;
            if (e.backends > 1) {
                c->run(&e);
                env_free(&e);
            }
        }
    }
}

static void run_cases(const backend_group *group)
{
    env all = {.dtype = group->dtype};
    const unsigned rows = group->dtype == WEFT_DTYPE_F16 ? VALUE : group->dtype == WEFT_DTYPE_BF16 ? DATA : WHOLE;
    all.backends = open_backends(group, all.hal);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; ++s) {
            if (cases[c].rows >= rows && !passes_nothing_new(s)) {
                run_shape(&all, &cases[c], s);
            }
        }
    }
    for (int b = 0; b < all.backends; ++b) {
        weft_hal_close(all.hal[b]);
    }
}

/* Sums over threads come out the same to the bit, however the threads are timed. */
static void test_sums_repeat(void **state)
{
    (void)state;
    enum { ROWS = 4000, COLS = 33, WIDE_COLS = 40, TIMES = 6 };
    weft_hal *hal = NULL;
    ASSERT_OK(weft_hal_open("cpu", 3, &hal));
    env e = {.hal = {hal}, .backends = 1, .dtype = WEFT_DTYPE_F32, .m = ROWS, .n = COLS, .name = "repeat"};
    operand a = operand_make(&e, ROWS, WIDE_COLS, UNIT);
    operand x = operand_make(&e, ROWS, COLS, UNIT);
    static float product[TIMES][WIDE_COLS * COLS];
    static float sum[TIMES][COLS];
    static double stats[TIMES][2 * COLS];
    for (int i = 0; i < TIMES; ++i) {
        RUN_ON(&e, 0, gemm, .trans_a = true, .alpha = 1.0, .a = mat_on(&a, 0), .b = mat_on(&x, 0),
               .c = hal_mat_of(product[i], WEFT_DTYPE_F32, WIDE_COLS, COLS, COLS));
        RUN_ON(&e, 0, col_sum, .x = mat_on(&x, 0), .out = hal_row_of(sum[i], WEFT_DTYPE_F32, COLS));
        RUN_ON(&e, 0, bn_stats, .x = mat_on(&x, 0), .stats = hal_mat_of(stats[i], WEFT_DTYPE_F64, 2, COLS, COLS));
        assert_memory_equal(product[i], product[0], sizeof product[0]);
        assert_memory_equal(sum[i], sum[0], sizeof sum[0]);
        assert_memory_equal(stats[i], stats[0], sizeof stats[0]);
    }
    env_free(&e);
    weft_hal_close(hal);
}

/* With a sanitizer each instruction set and each type in one of its pairs, and the backend shadow in those that are
 * quick; with the second compiler its instruction sets alone. */
#define BY_FIRST(name)     (TEST_SANITIZED || TEST_SECOND_COMPILER ? NULL : (name))
#define BY_OPTIMISED(name) (TEST_SANITIZED ? NULL : (name))
static backend_group groups[] = {
    {"f32", WEFT_DTYPE_F32, {"cpu", "cpu:base", BY_OPTIMISED("cpu:avx2"), BY_FIRST("shadow")}},
    {"bf16", WEFT_DTYPE_BF16, {"cpu", "cpu:avx2", BY_OPTIMISED("cpu:base"), BY_FIRST("shadow")}},
    {"f16", WEFT_DTYPE_F16, {TEST_SECOND_COMPILER ? "cpu" : "shadow", BY_FIRST("cpu")}},
    {"f64", WEFT_DTYPE_F64, {TEST_SECOND_COMPILER ? "cpu" : "shadow:ref", BY_FIRST("cpu")}},
#if WEFT_HAVE_CUDA
    {"cuda f32", WEFT_DTYPE_F32, {"cuda"}},
    {"cuda f64", WEFT_DTYPE_F64, {"cuda"}},
    {"cuda bf16", WEFT_DTYPE_BF16, {"cuda"}},
    {"cuda f16", WEFT_DTYPE_F16, {"cuda"}},
#endif
};
enum { GROUPS = sizeof groups / sizeof *groups };

/* The state is the group. */
static void test_backends(void **state)
{
    run_cases(*state);
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[GROUPS + 1] = {cmocka_unit_test(test_sums_repeat)};
    for (size_t g = 0; g < GROUPS; ++g) {
        tests[g + 1] =
            (struct CMUnitTest){.name = groups[g].name, .test_func = test_backends, .initial_state = &groups[g]};
    }
    if (argc > 2 && strcmp(argv[1], "--only") == 0) {
        cmocka_set_test_filter(argv[2]);
        only_resource = argc > 3 ? argv[3] : NULL;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (argc < 2 || strcmp(argv[1], "--perf") != 0 || failed != 0) {
        return failed;
    }
    return backend_perf(argc > 2 ? argv[2] : "cpu", argc > 3 ? atoi(argv[3]) : 1, argc > 4 ? argv[4] : "");
}

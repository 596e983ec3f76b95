/*
 * backend/pack_cases.h: what makes messages small, on a backend against ref: reductions, casts, coded rows, sums of
 * magnitudes, and the largest of a vector, ties and crowds among them.
 */
#pragma once

#include <math.h>
#include <string.h>

#include "backend/backend_env.h"

/* In the type of the case, with gaps, in place and with a NaN on either side; then whole numbers, to the bit. */
static void case_reduce(env *e)
{
    static const weft_dtype types[] = {WEFT_DTYPE_I32, WEFT_DTYPE_I64, WEFT_DTYPE_U8};
    for (int r = HAL_SUM; r <= HAL_MIN; ++r) {
        const hal_reduction reduction = (hal_reduction)r;
        operand left = operand_make(e, e->m, e->n, COARSE);
        operand right = operand_make(e, e->m, e->n, COARSE);
        operand nan = operand_make(e, e->m, e->n, NOTHING);
        operand to = operand_make(e, e->m, e->n, NOTHING);
        RUN(e, reduce, .reduction = reduction, .left = ON(left), .right = ON(right), .to = ON(to));
        RUN(e, reduce, .reduction = reduction, .left = ON(left), .right = ON(right), .to = ON(left));
        RUN(e, reduce, .reduction = reduction, .left = ON(left), .right = ON(right), .to = ON(right));
        operand_compare(e, &to, 0.0);
        operand_compare(e, &left, 0.0);
        operand_compare(e, &right, 0.0);
        RUN(e, reduce, .reduction = reduction, .left = ON(nan), .right = ON(right), .to = ON(to));
        operand_compare(e, &to, 0.0);
        RUN(e, reduce, .reduction = reduction, .left = ON(left), .right = ON(nan), .to = ON(left));
        operand_compare(e, &left, 0.0);
        for (int t = 0; t < (reduction == HAL_SUM ? 2 : 3); ++t) {
            int_operand a = int_operand_make(e, e->m * e->n, types[t]);
            int_operand b = int_operand_make(e, e->m * e->n, types[t]);
            for (int64_t i = 0; i < a.bytes; ++i) { /* every bit is used: sums wrap */
                ((uint8_t *)a.host)[i] = (uint8_t)(env_random(e) * 256.0);
                ((uint8_t *)b.host)[i] = (uint8_t)(env_random(e) * 256.0);
            }
            int_operand_upload(e, &a);
            int_operand_upload(e, &b);
            RUN(e, reduce, .reduction = reduction, .left = INT(a), .right = INT(b), .to = INT(a));
            int_operand_compare(e, &a);
        }
    }
}

/* A 16-bit matrix without gaps in a list of bytes. */
#define HALVES(x) hal_mat_of((x).dev[run_backend], (x).dtype, e->m, e->n, e->n)

/* Float32 to each 16-bit type and back, from one of them to the other, and added; all of it to the bit. */
static void case_cast(env *e)
{
    static const weft_dtype types[] = {WEFT_DTYPE_BF16, WEFT_DTYPE_F16};
    const weft_dtype dtype = e->dtype;
    e->dtype = WEFT_DTYPE_F32; /* casts are between float32 and shorter ones */
    for (int t = 0; t < 2; ++t) {
        operand x = operand_make(e, e->m, e->n, WIDE);
        operand back = operand_make(e, e->m, e->n, NOTHING);
        operand sum = operand_make(e, e->m, e->n, UNIT);
        int_operand half = int_operand_make(e, e->m * e->n, types[t]);
        int_operand other = int_operand_make(e, e->m * e->n, types[1 - t]);
        int_operand_upload(e, &half);
        int_operand_upload(e, &other);
        RUN(e, cast, .x = ON(x), .y = HALVES(half));
        RUN(e, cast, .x = HALVES(half), .y = ON(back));
        RUN(e, cast, .x = HALVES(half), .y = ON(sum), .add = true);
        RUN(e, cast, .x = HALVES(half), .y = HALVES(other));
        int_operand_compare(e, &half);
        int_operand_compare(e, &other);
        operand_compare(e, &back, 0.0);
        operand_compare(e, &sum, 0.0);
    }
    e->dtype = dtype;
}

/* Rows for messages, to the bit. */
static void case_coded_rows(env *e)
{
    const weft_dtype dtype = e->dtype;
    e->dtype = WEFT_DTYPE_F32;
    for (hal_row_codec codec = HAL_ROWS_BF16; codec <= HAL_ROWS_INT2; ++codec) {
        const int64_t bytes = hal_row_bytes(codec, e->n);
        const hal_row_rounding rounding = {.seed = 7, .purpose = WEFT_RNG_HALO_ROUND + 3, .epoch = 5, .sender = 4000};
        operand x = operand_make(e, e->m, e->n, WIDE);
        operand back = operand_make(e, e->m, e->n, NOTHING);
        int_operand id = int_operand_make(e, e->m, WEFT_DTYPE_I64);
        int_operand coded = int_operand_make(e, e->m * bytes, WEFT_DTYPE_U8);
        for (int64_t i = 0; i < e->m; ++i) {
            ((int64_t *)id.host)[i] = ((int64_t)1 << 40) + 977 * i;
        }
        int_operand_upload(e, &id);
        int_operand_upload(e, &coded);
        RUN(e, encode_rows, .x = ON(x), .id = INT(id), .codec = codec, .rounding = rounding,
            .y = hal_mat_of(coded.dev[run_backend], WEFT_DTYPE_U8, e->m, bytes, bytes));
        RUN(e, decode_rows, .x = hal_mat_of(coded.dev[run_backend], WEFT_DTYPE_U8, e->m, bytes, bytes), .codec = codec,
            .y = ON(back));
        int_operand_compare(e, &coded);
        operand_compare(e, &back, 0.0);
    }
    e->dtype = dtype;
}

#define VECTOR(x, length) hal_row_of((x).dev[run_backend], (x).dtype, length)

static void case_sum_magnitudes(env *e)
{
    const int64_t n = e->m * e->n;
    int_operand x = int_operand_make(e, n, WEFT_DTYPE_F32);
    for (int64_t i = 0; i < n; ++i) {
        ((float *)x.host)[i] = (float)fill_value(e, COARSE);
    }
    int_operand_upload(e, &x);
    operand sums = operand_f64(e, 2, NOTHING);
    RUN(e, sum_magnitudes, .x = VECTOR(x, n), .out = hal_row_of(sums.dev[run_backend], WEFT_DTYPE_F64, 2));
    operand_compare_as(e, &sums, 1e-13 * (double)(n + 1));
}

/* Nothing, one element or several that are not finite, the first anywhere. */
static void case_zero_unless_finite(env *e)
{
    static const uint32_t not_finite[] = {0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc00001u};
    const int64_t n = e->m * e->n;
    for (int how = 0; how < 6; ++how) {
        int_operand x = int_operand_make(e, n, WEFT_DTYPE_F32);
        int_operand place = int_operand_make(e, 1, WEFT_DTYPE_I64);
        for (int64_t i = 0; i < n; ++i) {
            ((float *)x.host)[i] = (float)fill_value(e, COARSE);
        }
        for (int i = 0; i < how - 1 && n > 0; ++i) {
            const int64_t at = how == 2 ? n - 1 : (int64_t)(env_random(e) * (double)n);
            memcpy((float *)x.host + at, &not_finite[i], sizeof(float));
        }
        int_operand_upload(e, &x);
        int_operand_upload(e, &place);
        RUN(e, zero_unless_finite, .x = VECTOR(x, n), .place = VECTOR(place, 1));
        int_operand_compare(e, &x);
        int_operand_compare(e, &place);
    }
}

typedef enum crowd {
    DISTINCT, /* of many sizes */
    FEW_TIES, /* a dozen distinct magnitudes */
    ALL_EQUAL,
    ALL_ZERO,   /* with either sign */
    RARE,       /* all but one in a hundred are zeros */
    NOT_FINITE, /* infinities and several NaNs among the others */
    FAVOURED,   /* large where a sample of every 64th run of 32 looks, as top_k.cu draws it */
    CROWDS
} crowd;

static float crowd_value(env *e, crowd how, int64_t i)
{
    static const uint32_t not_finite[] = {0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc00001u, 0x7fffffffu, 0x7f800001u};
    const double u = env_random(e);
    const float sign = u < 0.5 ? -1.0f : 1.0f;
    const int scale = (int)(env_random(e) * 40.0) - 20;
    const bool favoured = (uint32_t)(i / 2048) * 0x9E3779B9u >> 26 == (uint32_t)(i / 32 % 64);
    uint32_t bits = 0;
    float value = sign * ldexpf((float)(0.5 + env_random(e)), how == FAVOURED && favoured ? 30 + scale : scale);
    switch (how) {
    case FEW_TIES:
        return (float)fill_value(e, COARSE);
    case ALL_EQUAL:
        return sign * 0.25f;
    case ALL_ZERO:
        return sign * 0.0f;
    case RARE:
        return i % 100 == 41 ? value : sign * 0.0f;
    case NOT_FINITE:
        bits = i % 7 == 3 ? not_finite[(int)(env_random(e) * 6.0)] : (uint32_t)(env_random(e) * 1000.0); /* denormals */
        memcpy(&value, &bits, sizeof value);
        return value;
    default:
        return value;
    }
}

/* The k largest of n elements that begin `shift` elements behind a border, to the bit. */
static void select_largest(env *e, int64_t n, int64_t k, int64_t shift, crowd how)
{
    int_operand x = int_operand_make(e, n + shift, WEFT_DTYPE_F32);
    int_operand index = int_operand_make(e, k, WEFT_DTYPE_I32);
    int_operand value = int_operand_make(e, k, WEFT_DTYPE_F32);
    for (int64_t i = 0; i < n + shift; ++i) {
        ((float *)x.host)[i] = i < shift ? INFINITY : crowd_value(e, how, i - shift);
    }
    int_operand_upload(e, &x);
    int_operand_upload(e, &index);
    int_operand_upload(e, &value);
    RUN(e, select_largest, .x = hal_row_of((float *)x.dev[run_backend] + shift, WEFT_DTYPE_F32, n),
        .index = VECTOR(index, k), .value = VECTOR(value, k));
    int_operand_compare(e, &index);
    int_operand_compare(e, &value);
    env_free(e);
}

/* Of a few elements, of borders of blocks and tiles, and of vectors so long that a sample makes a guess first, which
 * are float32 whatever the type of the group, and need no second one. */
static void case_select_largest(env *e)
{
    const int64_t n = e->m * e->n;
    const int64_t wanted[] = {0, 1, n / 3, n - 1, n};
    static const int64_t border[] = {1023, 1024, 1025, 4095, 4096, 4097, 32768, 32771};
    if (e->pad > 0 || (TEST_SANITIZED && e->dtype != WEFT_DTYPE_F32)) {
        return; /* vectors have none */
    }
    for (int how = 0; how < CROWDS && n > 0; ++how) {
        for (int w = 0; w < 5; ++w) {
            select_largest(e, n, wanted[w], w % 4, (crowd)how);
        }
    }
    for (size_t b = 0; b < sizeof border / sizeof *border && e->m == 5 && e->n == 3; ++b) {
        select_largest(e, border[b], border[b] / 10, (int64_t)b % 3, DISTINCT);
        select_largest(e, border[b], border[b] / 2, 0, FEW_TIES);
    }
    for (int how = 0; how < CROWDS && e->m == 40 && e->n == 8 && e->dtype == WEFT_DTYPE_F32; ++how) {
        if (!TEST_SANITIZED || how % 2 == 0) {
            select_largest(e, 150001, 1, 0, (crowd)how);
        }
        if (!TEST_SANITIZED || how % 2 == 1) {
            select_largest(e, 163839, 1300, 1 + how % 3, (crowd)how);
        }
    }
}
#undef VECTOR

/*
 * app/dense/bench/dense_check.c: the check without which `weft bench dense` prints no rate.
 *
 * An element of a result is computed again as the definition says, in double precision. A convolution joins x[n, p, i],
 * weight[o, i, k] and y[n, q, o] wherever element k of the kernel meets pixel p from place q; each pass sums products
 * of two of them over all that the third leaves open. Beside the roundings of a sum in float32
 * (app/bench/bench_check.h), a result that is stored in 16 bits may be off by one rounding of that type more. Products
 * of sums that were rounded to that type themselves are off by FACTORS roundings of one term, sqrt(k) times.
 */
#include <assert.h>

#include "app/dense/bench/bench_dense.h"
#include "base/half.h"

enum { FACTORS = 6 };

typedef struct span {
    int64_t first, count;
} span;

/* What a sum runs over: images, places of y, elements of the kernel, channels of y and of x. */
typedef struct terms {
    span n, q, k, o, i;
    int64_t p; /* the only pixel of x; -1: any */
} terms;

/* The pixel that element k of the kernel meets from place q; -1: padding. */
static int64_t pixel_of(const hal_conv_shape *s, int64_t columns, int64_t q, int64_t k)
{
    const int64_t row = q / columns * s->stride[0] - s->pad[0][0] + k / s->kernel[1] * s->dilation[0];
    const int64_t col = q % columns * s->stride[1] - s->pad[1][0] + k % s->kernel[1] * s->dilation[1];
    return row >= 0 && row < s->height && col >= 0 && col < s->width ? row * s->width + col : -1;
}

/* The terms of element `at` of y, dx or dweight. */
static terms terms_of(const dense_case *c, int64_t places, int64_t at)
{
    const hal_conv_shape *s = &c->shape;
    const int64_t in = s->in / s->groups, out = s->out / s->groups; /* channels of a group */
    const int64_t taps = s->kernel[0] * s->kernel[1], pixels = s->height * s->width;
    terms t = {.n = {0, c->batch}, .q = {0, places}, .k = {0, taps}, .p = -1};
    switch (c->pass) {
    case DENSE_FORWARD:
        t.n = (span){at / s->out / places, 1};
        t.q = (span){at / s->out % places, 1};
        t.o = (span){at % s->out, 1};
        t.i = (span){t.o.first / out * in, in};
        break;
    case DENSE_BACKWARD_DATA:
        t.n = (span){at / s->in / pixels, 1};
        t.p = at / s->in % pixels;
        t.i = (span){at % s->in, 1};
        t.o = (span){t.i.first / in * out, out};
        break;
    default:
        t.k = (span){at % taps, 1};
        t.o = (span){at / (in * taps), 1};
        t.i = (span){t.o.first / out * in + at / taps % in, 1};
        break;
    }
    return t;
}

/* Adds the terms where element k of the kernel meets pixel p from place q, in image n. */
static void add_meeting(const dense_case *c, const terms *t, const int64_t row_of_x, int64_t row_of_y, int64_t k,
                        bench_sum *sum)
{
    const hal_conv_shape *s = &c->shape;
    const int64_t taps = s->kernel[0] * s->kernel[1], in = s->in / s->groups;
    for (int64_t o = t->o.first; o < t->o.first + t->o.count; ++o) {
        for (int64_t i = t->i.first; i < t->i.first + t->i.count; ++i) {
            const double x = (double)c->host[X][row_of_x * s->in + i], dy = (double)c->host[DY][row_of_y * s->out + o];
            const double weight = (double)c->host[WEIGHT][(o * in + i % in) * taps + k];
            bench_sum_add(sum, c->pass == DENSE_BACKWARD_DATA ? dy : x,
                          c->pass == DENSE_BACKWARD_WEIGHTS ? dy : weight);
        }
    }
}

static bench_sum sum_of(const dense_case *c, int64_t at)
{
    const hal_conv_shape *s = &c->shape;
    int64_t extent[2];
    bench_sum sum = {.terms = 0};
    hal_conv_extent(s, extent);
    const int64_t places = extent[0] * extent[1];
    const terms t = terms_of(c, places, at);
    for (int64_t n = t.n.first; n < t.n.first + t.n.count; ++n) {
        for (int64_t q = t.q.first; q < t.q.first + t.q.count; ++q) {
            for (int64_t k = t.k.first; k < t.k.first + t.k.count; ++k) {
                const int64_t p = pixel_of(s, extent[1], q, k);
                if (p >= 0 && (t.p < 0 || p == t.p)) {
                    add_meeting(c, &t, n * s->height * s->width + p, n * places + q, k, &sum);
                }
            }
        }
    }
    return sum;
}

static double element(const void *values, weft_dtype dtype, int64_t at)
{
    return dtype == WEFT_DTYPE_BF16  ? (double)bf16_to_float(((const uint16_t *)values)[at])
           : dtype == WEFT_DTYPE_F16 ? (double)fp16_to_float(((const uint16_t *)values)[at])
                                     : (double)((const float *)values)[at];
}

/* Half of the distance between neighbours, relative: what storing costs beside a sum in float32. */
static double unit_of(weft_dtype dtype)
{
    return dtype == WEFT_DTYPE_BF16 ? 0x1p-8 : dtype == WEFT_DTYPE_F16 ? 0x1p-11 : 0x1p-24;
}

bench_sum bench_dense_element(const void *self, int64_t at)
{
    const dense_case *c = self;
    const hal_conv_shape *s = &c->shape;
    const bool weights = c->pass == DENSE_BACKWARD_WEIGHTS;
    const weft_dtype dtype = weights ? WEFT_DTYPE_F32 : s->dtype;
    const double bias = c->pass == DENSE_FORWARD && s->bias ? (double)c->host[BIAS][at % s->out] : 0.0;
    bench_sum sum = sum_of(c, at);
    assert(s->in % s->groups == 0 && s->out % s->groups == 0);
    if (c->pass == DENSE_FORWARD) {
        if (s->bias) {
            bench_sum_add(&sum, bias, 1.0);
        }
        sum.exact = s->relu ? fmax(sum.exact, 0.0) : sum.exact;
    }
    const double step = unit_of(s->dtype);
    if (hal_is_half(dtype) || (weights && c->info.rounds_gradient)) {
        const double twice = c->info.rounds_sums && s->bias ? fabs(sum.exact) + fabs(bias) : 0.0;
        sum.more += step * (fabs(sum.exact) + (c->pass == DENSE_FORWARD ? twice : 0.0));
    }
    if (c->info.winograd) {
        sum.more += FACTORS * step * sum.magnitude / sqrt((double)sum.terms + 4.0);
    }
    sum.found = element(c->given, dtype, at);
    return sum;
}

/*
 * app/dense/bench/dense_check.c: the check without which `weft bench dense` prints no rate.
 *
 * An element of a result is computed again as the definition says, in double precision. A convolution joins x[n, p, i],
 * weight[o, i, k] and y[n, q, o] wherever element k of the kernel meets pixel p from place q; each pass sums products
 * of two of them over all that the third leaves open. Beside the roundings of a sum in float32, a result that is stored
 * in 16 bits may be off by one rounding of that type more. Products of sums that were rounded to that type themselves
 * are off by FACTORS roundings of one term, sqrt(k) times.
 */
#include <assert.h>

#include "app/dense/bench/bench_dense.h"

enum { FACTORS = 6 };

/* The pixel that element k of the kernel meets from place q; -1: padding. */
static int64_t pixel_of(const hal_conv_shape *s, int64_t columns, int64_t q, int64_t k)
{
    const int64_t row = q / columns * s->stride[0] - s->pad[0][0] + k / s->kernel[1] * s->dilation[0];
    const int64_t col = q % columns * s->stride[1] - s->pad[1][0] + k % s->kernel[1] * s->dilation[1];
    return row >= 0 && row < s->height && col >= 0 && col < s->width ? row * s->width + col : -1;
}

/* Adds the product of two of x[n, p, i], weight[o, i, k] and y[n, q, o] or its gradient, unless k meets padding. */
static void add_product(const dense_case *c, bench_sum *sum, int64_t n, int64_t q, int64_t k, int64_t o, int64_t i)
{
    const hal_conv_shape *s = &c->shape;
    const int64_t in = s->in / s->groups, taps = s->kernel[0] * s->kernel[1];
    const int64_t p = pixel_of(s, c->extent[1], q, k);
    if (p >= 0) {
        const float x = c->a[X].host[(n * s->height * s->width + p) * s->in + i];
        const float dy = c->a[DY].host[(n * c->extent[0] * c->extent[1] + q) * s->out + o];
        const float weight = c->a[WEIGHT].host[(o * in + i % in) * taps + k];
        bench_sum_add(sum, (double)(c->pass == DENSE_BACKWARD_DATA ? dy : x),
                      (double)(c->pass == DENSE_BACKWARD_WEIGHTS ? dy : weight));
    }
}

/* Element `at` of y, dx or dweight. */
static bench_sum sum_of(const dense_case *c, int64_t at)
{
    const hal_conv_shape *s = &c->shape;
    const int64_t in = s->in / s->groups, out = s->out / s->groups; /* channels of a group */
    const int64_t taps = s->kernel[0] * s->kernel[1], places = c->extent[0] * c->extent[1];
    const int64_t pixels = s->height * s->width, inputs = taps * in;
    bench_sum sum = {.terms = 0};
    if (c->pass == DENSE_FORWARD) {
        const int64_t o = at % s->out, q = at / s->out % places, n = at / s->out / places;
        for (int64_t j = 0; j < inputs; ++j) {
            add_product(c, &sum, n, q, j / in, o, o / out * in + j % in);
        }
    } else if (c->pass == DENSE_BACKWARD_DATA) {
        const int64_t i = at % s->in, p = at / s->in % pixels, n = at / s->in / pixels;
        for (int64_t j = 0; j < places * taps; ++j) {
            const bool meets = pixel_of(s, c->extent[1], j / taps, j % taps) == p;
            for (int64_t o = i / in * out; o < (i / in + 1) * out && meets; ++o) {
                add_product(c, &sum, n, j / taps, j % taps, o, i);
            }
        }
    } else {
        const int64_t o = at / inputs, i = o / out * in + at / taps % in;
        for (int64_t j = 0; j < c->batch * places; ++j) {
            add_product(c, &sum, j / places, j % places, at % taps, o, i);
        }
    }
    return sum;
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
    const bool forward = c->pass == DENSE_FORWARD;
    const double bias = forward && s->bias ? (double)c->a[BIAS].host[at % s->out] : 0.0, step = unit_of(s->dtype);
    bench_sum sum = sum_of(c, at);
    assert(s->in % s->groups == 0 && s->out % s->groups == 0);
    if (forward && s->bias) {
        bench_sum_add(&sum, bias, 1.0);
    }
    sum.exact = forward && s->relu ? fmax(sum.exact, 0.0) : sum.exact;
    if (hal_is_half(c->to->on.dtype) || (c->pass == DENSE_BACKWARD_WEIGHTS && c->info.rounds_gradient)) {
        const double twice = forward && c->info.rounds_sums && s->bias ? fabs(sum.exact) + fabs(bias) : 0.0;
        sum.more += step * (fabs(sum.exact) + twice);
    }
    if (c->info.winograd) {
        sum.more += FACTORS * step * sum.magnitude / sqrt((double)sum.terms + 4.0);
    }
    sum.found = (double)c->to->host[at];
    return sum;
}

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

/* What a sum runs over; a count of 1 fixes an index. */
enum { N, Q, K, O, I, INDICES }; /* images, places of y, elements of the kernel, channels of y and of x */
typedef struct terms {
    int64_t first[INDICES], count[INDICES];
    int64_t p; /* the only pixel of x; -1: any */
} terms;

static void fix(terms *t, int index, int64_t first, int64_t count)
{
    t->first[index] = first;
    t->count[index] = count;
}

/* The terms of element `at` of y, dx or dweight. */
static terms terms_of(const dense_case *c, int64_t places, int64_t at)
{
    const hal_conv_shape *s = &c->shape;
    const int64_t in = s->in / s->groups, out = s->out / s->groups; /* channels of a group */
    const int64_t taps = s->kernel[0] * s->kernel[1], pixels = s->height * s->width;
    const bool data = c->pass == DENSE_BACKWARD_DATA;
    terms t = {.count = {c->batch, places, taps, 1, 1}, .p = data ? at / s->in % pixels : -1};
    if (c->pass == DENSE_BACKWARD_WEIGHTS) {
        fix(&t, K, at % taps, 1);
        fix(&t, O, at / (in * taps), 1);
        fix(&t, I, t.first[O] / out * in + at / taps % in, 1);
    } else if (data) {
        fix(&t, N, at / s->in / pixels, 1);
        fix(&t, I, at % s->in, 1);
        fix(&t, O, t.first[I] / in * out, out);
    } else {
        fix(&t, N, at / s->out / places, 1);
        fix(&t, Q, at / s->out % places, 1);
        fix(&t, O, at % s->out, 1);
        fix(&t, I, t.first[O] / out * in, in);
    }
    return t;
}

/* The pixel that element k of the kernel meets from place q; -1: padding. */
static int64_t pixel_of(const hal_conv_shape *s, int64_t columns, int64_t q, int64_t k)
{
    const int64_t row = q / columns * s->stride[0] - s->pad[0][0] + k / s->kernel[1] * s->dilation[0];
    const int64_t col = q % columns * s->stride[1] - s->pad[1][0] + k % s->kernel[1] * s->dilation[1];
    return row >= 0 && row < s->height && col >= 0 && col < s->width ? row * s->width + col : -1;
}

static bench_sum sum_of(const dense_case *c, int64_t at)
{
    const hal_conv_shape *s = &c->shape;
    const int64_t in = s->in / s->groups, taps = s->kernel[0] * s->kernel[1];
    int64_t extent[2];
    bench_sum sum = {.terms = 0};
    hal_conv_extent(s, extent);
    const terms t = terms_of(c, extent[0] * extent[1], at);
    for (int64_t meeting = 0; meeting < t.count[N] * t.count[Q] * t.count[K]; ++meeting) {
        const int64_t n = t.first[N] + meeting / t.count[K] / t.count[Q];
        const int64_t q = t.first[Q] + meeting / t.count[K] % t.count[Q];
        const int64_t k = t.first[K] + meeting % t.count[K], p = pixel_of(s, extent[1], q, k);
        if (p < 0 || (t.p >= 0 && p != t.p)) {
            continue;
        }
        const float *x = c->a[X].host + (n * s->height * s->width + p) * s->in;
        const float *dy = c->a[DY].host + (n * extent[0] * extent[1] + q) * s->out;
        for (int64_t j = 0; j < t.count[O] * t.count[I]; ++j) {
            const int64_t o = t.first[O] + j / t.count[I], i = t.first[I] + j % t.count[I];
            const double weight = (double)c->a[WEIGHT].host[(o * in + i % in) * taps + k];
            bench_sum_add(&sum, (double)(c->pass == DENSE_BACKWARD_DATA ? dy[o] : x[i]),
                          c->pass == DENSE_BACKWARD_WEIGHTS ? (double)dy[o] : weight);
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

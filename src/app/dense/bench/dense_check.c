/*
 * app/dense/bench/dense_check.c: the check without which `weft bench dense` prints no rate.
 *
 * Elements evenly over a result, first and last among them, are computed again as the definition says, in double
 * precision. Beside the roundings of a sum in float32 (app/bench/bench_check.h), a result that is stored as bfloat16
 * may be off by one rounding of that type more. Products of sums that were rounded to that type themselves are off by
 * FACTORS roundings of one term, sqrt(k) times.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "app/bench/bench_check.h"
#include "app/dense/bench/bench_dense.h"
#include "base/half.h"

enum { SAMPLES = 48, FACTORS = 6 };

typedef struct layer {
    const hal_conv_shape *s;
    const dense_operands *o;
    int64_t extent[2]; /* of y */
    int64_t group_in, group_out, terms;
    int64_t images;
} layer;

/* The row or column of x that element k of the kernel meets at place `at` of y; -1: in the padding. */
static int64_t met(const hal_conv_shape *s, int d, int64_t at, int64_t k)
{
    const int64_t i = at * s->stride[d] - s->pad[d][0] + k * s->dilation[d];
    return i >= 0 && i < (d == 0 ? s->height : s->width) ? i : -1;
}

static double x_at(const layer *l, int64_t n, int64_t row, int64_t col, int64_t channel)
{
    return (double)l->o->x[((n * l->s->height + row) * l->s->width + col) * l->s->in + channel];
}

static double dy_at(const layer *l, int64_t n, int64_t row, int64_t col, int64_t channel)
{
    return (double)l->o->dy[((n * l->extent[0] + row) * l->extent[1] + col) * l->s->out + channel];
}

static double weight_at(const layer *l, int64_t out, int64_t in, int64_t ky, int64_t kx)
{
    return (double)l->o->weight[out * l->terms + (in * l->s->kernel[0] + ky) * l->s->kernel[1] + kx];
}

static bench_sum forward_at(const layer *l, int64_t at)
{
    const hal_conv_shape *s = l->s;
    bench_sum sum = {.exact = 0.0};
    const int64_t out = at % s->out;
    const int64_t pixel = at / s->out;
    const int64_t first = out / l->group_out * l->group_in;
    const int64_t place[2] = {pixel / l->extent[1] % l->extent[0], pixel % l->extent[1]};
    for (int64_t ky = 0; ky < s->kernel[0]; ++ky) {
        for (int64_t kx = 0; kx < s->kernel[1]; ++kx) {
            const int64_t row = met(s, 0, place[0], ky);
            const int64_t col = met(s, 1, place[1], kx);
            for (int64_t c = 0; c < l->group_in && row >= 0 && col >= 0; ++c) {
                bench_sum_add(&sum, x_at(l, pixel / (l->extent[0] * l->extent[1]), row, col, first + c),
                              weight_at(l, out, c, ky, kx));
            }
        }
    }
    if (l->o->bias != NULL) {
        bench_sum_add(&sum, (double)l->o->bias[out], 1.0);
    }
    sum.exact = s->relu ? fmax(sum.exact, 0.0) : sum.exact;
    return sum;
}

/* The place of y at which element k of the kernel meets row or column `at` of x; -1: none. */
static int64_t meets(const layer *l, int d, int64_t at, int64_t k)
{
    const int64_t i = at + l->s->pad[d][0] - k * l->s->dilation[d];
    return i >= 0 && i % l->s->stride[d] == 0 && i / l->s->stride[d] < l->extent[d] ? i / l->s->stride[d] : -1;
}

static bench_sum data_at(const layer *l, int64_t at)
{
    const hal_conv_shape *s = l->s;
    bench_sum sum = {.exact = 0.0};
    const int64_t in = at % s->in;
    const int64_t pixel = at / s->in;
    const int64_t first = in / l->group_in * l->group_out;
    const int64_t place[2] = {pixel / s->width % s->height, pixel % s->width};
    for (int64_t ky = 0; ky < s->kernel[0]; ++ky) {
        for (int64_t kx = 0; kx < s->kernel[1]; ++kx) {
            const int64_t row = meets(l, 0, place[0], ky);
            const int64_t col = meets(l, 1, place[1], kx);
            for (int64_t o = first; o < first + l->group_out && row >= 0 && col >= 0; ++o) {
                bench_sum_add(&sum, dy_at(l, pixel / (s->height * s->width), row, col, o),
                              weight_at(l, o, in % l->group_in, ky, kx));
            }
        }
    }
    return sum;
}

static bench_sum weight_gradient_at(const layer *l, int64_t at)
{
    const hal_conv_shape *s = l->s;
    bench_sum sum = {.exact = 0.0};
    const int64_t out = at / l->terms;
    const int64_t kx = at % s->kernel[1];
    const int64_t ky = at / s->kernel[1] % s->kernel[0];
    const int64_t in = at % l->terms / (s->kernel[0] * s->kernel[1]) + out / l->group_out * l->group_in;
    for (int64_t i = 0; i < l->images * l->extent[0] * l->extent[1]; ++i) {
        const int64_t n = i / (l->extent[0] * l->extent[1]);
        const int64_t place[2] = {i / l->extent[1] % l->extent[0], i % l->extent[1]};
        const int64_t row = met(s, 0, place[0], ky);
        const int64_t col = met(s, 1, place[1], kx);
        if (row >= 0 && col >= 0) {
            bench_sum_add(&sum, x_at(l, n, row, col, in), dy_at(l, n, place[0], place[1], out));
        }
    }
    return sum;
}

static double element(const void *values, weft_dtype dtype, int64_t at)
{
    if (dtype == WEFT_DTYPE_BF16) {
        return (double)bf16_to_float(((const uint16_t *)values)[at]);
    }
    if (dtype == WEFT_DTYPE_F16) {
        return (double)fp16_to_float(((const uint16_t *)values)[at]);
    }
    return (double)((const float *)values)[at];
}

/* Half of the distance between neighbours, relative: what storing costs beside a sum in float32. */
static double unit_of(weft_dtype dtype)
{
    return dtype == WEFT_DTYPE_BF16 ? 0x1p-8 : dtype == WEFT_DTYPE_F16 ? 0x1p-11 : 0x1p-24;
}

double bench_dense_error(const dense_question *question, dense_pass pass, const dense_operands *operands,
                         const void *given)
{
    static bench_sum (*const rule[DENSE_PASSES])(const layer *, int64_t) = {forward_at, data_at, weight_gradient_at};
    const hal_conv_shape *s = &question->shape;
    layer l = {.s = s,
               .o = operands,
               .group_in = s->in / s->groups,
               .group_out = s->out / s->groups,
               .terms = hal_conv_terms(s),
               .images = question->images};
    hal_conv_extent(s, l.extent);
    const int64_t count[DENSE_PASSES] = {l.images * l.extent[0] * l.extent[1] * s->out,
                                         l.images * s->height * s->width * s->in, s->out * l.terms};
    assert(l.images > 0 && count[pass] > 0 && s->in % s->groups == 0 && s->out % s->groups == 0);
    const weft_dtype dtype = pass == DENSE_BACKWARD_WEIGHTS ? WEFT_DTYPE_F32 : s->dtype;
    double worst = 0.0;
    for (int64_t i = 0; i < SAMPLES; ++i) {
        const int64_t at = i * (count[pass] - 1) / (SAMPLES - 1);
        const bench_sum wanted = rule[pass](&l, at);
        const bool rounded = hal_is_half(dtype) || (pass == DENSE_BACKWARD_WEIGHTS && question->rounds_gradient);
        const bool twice = pass == DENSE_FORWARD && question->rounds_sums && operands->bias != NULL;
        const double sum = twice ? fabs(wanted.exact) + fabs((double)operands->bias[at % s->out]) : 0.0;
        const double narrow = rounded ? unit_of(s->dtype) * (fabs(wanted.exact) + sum) : 0.0;
        const double terms = sqrt((double)wanted.terms + 4.0);
        const double factors = s->winograd ? FACTORS * unit_of(s->dtype) * wanted.magnitude / terms : 0.0;
        worst = bench_sum_worst(worst, &wanted, element(given, dtype, at), narrow + factors);
    }
    return worst;
}

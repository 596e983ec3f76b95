/* hal/ref/ref_image_body.h: included by ref_image.c as ref_cells_body.h is by ref_cells.c. No include guard. */

static cell TYPED(conv_normalised)(const hal_conv_norm *norm, real x, int64_t c)
{
    const real mean = ((const real *)norm->mean.source)[c];
    const real rstd = ((const real *)norm->rstd.source)[c];
    const real gamma = ((const real *)norm->gamma.source)[c];
    const real beta = ((const real *)norm->beta.source)[c];
    const real value = gamma * ((x - mean) * rstd) + beta;
    return STORE(norm->relu && value < (real)0 ? (real)0 : value);
}

/* Channel c of a pixel of the input, as it comes to the kernel. */
static double TYPED(conv_input)(const hal_conv_shape *s, const hal_conv_norm *norm, const cell *pixel, int64_t c)
{
    const real x = LOAD(pixel[c]);
    return (double)(s->norm ? LOAD(TYPED(conv_normalised)(norm, x, c)) : x);
}

/* The sum of one output element; x: its image. */
static double TYPED(conv_at)(const hal_conv_forward_args *args, const cell *x, int64_t oy, int64_t ox, int64_t o)
{
    const hal_conv_shape *s = &args->conv->shape;
    const real *weight = args->weight.source;
    int64_t in = s->in / s->groups;
    int64_t first = o / (s->out / s->groups) * in;
    double sum = 0.0;
    for (int64_t ky = 0; ky < s->kernel[0]; ++ky) {
        int64_t iy = input_at(oy, s->stride[0], s->pad[0][0], ky * s->dilation[0], s->height);
        for (int64_t kx = 0; kx < s->kernel[1]; ++kx) {
            int64_t ix = input_at(ox, s->stride[1], s->pad[1][0], kx * s->dilation[1], s->width);
            for (int64_t c = 0; c < in && iy >= 0 && ix >= 0; ++c) {
                sum += TYPED(conv_input)(s, &args->norm, x + (iy * s->width + ix) * s->in, first + c) *
                       (double)ROUND(weight[((o * in + c) * s->kernel[0] + ky) * s->kernel[1] + kx]);
            }
        }
    }
    return sum;
}

weft_status TYPED(ref_conv_forward)(const hal_conv_forward_args *args)
{
    const hal_conv_shape *s = &args->conv->shape;
    const cell *x = args->x.source;
    const real *bias = args->bias.source;
    cell *y = args->y.data;
    int64_t extent[2];
    int size = 0;
    WEFT_TRY(hal_conv_size(args->conv, "conv_forward", &args->x, &args->y, &size));
    WEFT_TRY(hal_conv_bias(args->conv, "conv_forward", &args->bias));
    WEFT_TRY(hal_conv_norm_check(args->conv, "conv_forward", &args->norm));
    assert(args->weight.rows == s->out && args->weight.cols == hal_conv_terms(s));
    hal_conv_extent(s, extent);
    for (int64_t row = 0; row < args->y.rows; ++row) {
        int64_t image = row / (extent[0] * extent[1]);
        int64_t oy = row / extent[1] % extent[0];
        int64_t ox = row % extent[1];
        for (int64_t o = 0; o < s->out; ++o) {
            double value = TYPED(conv_at)(args, x + image * s->height * s->width * s->in, oy, ox, o);
            value += s->bias ? (double)bias[o] : 0.0;
            value += s->add ? (double)LOAD(y[row * s->out + o]) : 0.0;
            y[row * s->out + o] = STORE((real)(s->relu && value < 0.0 ? 0.0 : value));
        }
    }
    return WEFT_OK;
}

/* The gradient of one input element; dy: of its image. */
static double TYPED(conv_data_at)(const hal_conv_shape *s, const int64_t extent[2], const cell *dy, const real *weight,
                                  int64_t iy, int64_t ix, int64_t c)
{
    int64_t in = s->in / s->groups;
    int64_t out = s->out / s->groups;
    int64_t first = c / in * out;
    double sum = 0.0;
    for (int64_t ky = 0; ky < s->kernel[0]; ++ky) {
        int64_t oy = output_at(iy, s->stride[0], s->pad[0][0], ky * s->dilation[0], extent[0]);
        for (int64_t kx = 0; kx < s->kernel[1]; ++kx) {
            int64_t ox = output_at(ix, s->stride[1], s->pad[1][0], kx * s->dilation[1], extent[1]);
            for (int64_t o = first; o < first + out && oy >= 0 && ox >= 0; ++o) {
                sum += (double)LOAD(dy[(oy * extent[1] + ox) * s->out + o]) *
                       (double)ROUND(weight[((o * in + c % in) * s->kernel[0] + ky) * s->kernel[1] + kx]);
            }
        }
    }
    return sum;
}

weft_status TYPED(ref_conv_backward_data)(const hal_conv_backward_data_args *args)
{
    const hal_conv_shape *s = &args->conv->shape;
    const real *weight = args->weight.source;
    const cell *dy = args->dy.source;
    cell *dx = args->dx.data;
    int64_t extent[2];
    int size = 0;
    WEFT_TRY(hal_conv_size(args->conv, "conv_backward_data", &args->dx, &args->dy, &size));
    assert(args->weight.rows == s->out && args->weight.cols == hal_conv_terms(s));
    hal_conv_extent(s, extent);
    for (int64_t row = 0; row < args->dx.rows; ++row) {
        int64_t image = row / (s->height * s->width);
        int64_t iy = row / s->width % s->height;
        int64_t ix = row % s->width;
        for (int64_t c = 0; c < s->in; ++c) {
            dx[row * s->in + c] = STORE(
                (real)TYPED(conv_data_at)(s, extent, dy + image * extent[0] * extent[1] * s->out, weight, iy, ix, c));
        }
    }
    return WEFT_OK;
}

/* The gradient of weight [o, c, ky, kx] over all pixels. */
static double TYPED(conv_weight_at)(const hal_conv_backward_weights_args *args, const int64_t extent[2], int64_t o,
                                    int64_t c, int64_t ky, int64_t kx)
{
    const hal_conv_shape *s = &args->conv->shape;
    const cell *x = args->x.source;
    const cell *dy = args->dy.source;
    int64_t channel = o / (s->out / s->groups) * (s->in / s->groups) + c;
    const int64_t lines = args->dy.rows / extent[1]; /* of all images */
    double sum = 0.0;
    for (int64_t line = 0; line < lines; ++line) {
        int64_t iy = input_at(line % extent[0], s->stride[0], s->pad[0][0], ky * s->dilation[0], s->height);
        int64_t first = (line / extent[0] * s->height + iy) * s->width;
        for (int64_t ox = 0; ox < extent[1] && iy >= 0; ++ox) {
            int64_t ix = input_at(ox, s->stride[1], s->pad[1][0], kx * s->dilation[1], s->width);
            if (ix >= 0) {
                sum += (double)LOAD(dy[(line * extent[1] + ox) * s->out + o]) *
                       TYPED(conv_input)(s, &args->norm, x + (first + ix) * s->in, channel);
            }
        }
    }
    return sum;
}

weft_status TYPED(ref_conv_backward_weights)(const hal_conv_backward_weights_args *args)
{
    const hal_conv_shape *s = &args->conv->shape;
    const cell *dy = args->dy.source;
    real *dweight = args->dweight.data;
    real *dbias = args->dbias.data;
    int64_t extent[2];
    int size = 0;
    WEFT_TRY(hal_conv_size(args->conv, "conv_backward_weights", &args->x, &args->dy, &size));
    WEFT_TRY(hal_conv_bias(args->conv, "conv_backward_weights", &args->dbias));
    WEFT_TRY(hal_conv_norm_check(args->conv, "conv_backward_weights", &args->norm));
    assert(args->dweight.rows == s->out && args->dweight.cols == hal_conv_terms(s));
    assert(args->beta == 0.0 || args->beta == 1.0);
    hal_conv_extent(s, extent);
    for (int64_t o = 0; o < s->out; ++o) {
        for (int64_t e = 0; e < args->dweight.cols; ++e) {
            int64_t area = s->kernel[0] * s->kernel[1];
            real *to = &AT(dweight, o, e);
            double sum = TYPED(conv_weight_at)(args, extent, o, e / area, e % area / s->kernel[1], e % s->kernel[1]);
            *to = (real)((args->beta == 0.0 ? 0.0 : (double)*to) + sum);
        }
        double sum = 0.0;
        for (int64_t row = 0; s->bias && row < args->dy.rows; ++row) {
            sum += (double)LOAD(dy[row * s->out + o]);
        }
        if (s->bias) {
            dbias[o] = (real)((args->beta == 0.0 ? 0.0 : (double)dbias[o]) + sum);
        }
    }
    return WEFT_OK;
}

weft_status TYPED(ref_pool_forward)(const hal_pool_forward_args *args)
{
    const hal_pool_shape *s = &args->shape;
    const cell *x = args->x.source;
    cell *y = args->y.data;
    uint8_t *index = args->index.data;
    int64_t extent[2];
    WEFT_TRY(hal_pool_check(s));
    hal_pool_extent(s, extent);
    for (int64_t row = 0; row < args->y.rows; ++row) {
        int64_t image = row / (extent[0] * extent[1]);
        for (int64_t c = 0; c < args->y.cols; ++c) {
            double best = -INFINITY;
            double sum = 0.0;
            int64_t place = -1;
            for (int64_t k = 0; k < s->kernel[0] * s->kernel[1]; ++k) {
                int64_t iy =
                    input_at(row / extent[1] % extent[0], s->stride[0], s->pad[0][0], k / s->kernel[1], s->height);
                int64_t ix = input_at(row % extent[1], s->stride[1], s->pad[1][0], k % s->kernel[1], s->width);
                if (iy < 0 || ix < 0) {
                    continue;
                }
                double value = (double)LOAD(AT(x, ((image * s->height + iy) * s->width + ix), c));
                if (place < 0 || value > best || (isnan(value) && !isnan(best))) {
                    best = value;
                    place = k;
                }
                sum += value;
            }
            AT(y, row, c) = STORE((real)(s->average ? sum / (double)(s->kernel[0] * s->kernel[1]) : best));
            if (index != NULL && !s->average) {
                AT(index, row, c) = (uint8_t)place;
            }
        }
    }
    return WEFT_OK;
}

weft_status TYPED(ref_pool_backward)(const hal_pool_backward_args *args)
{
    const hal_pool_shape *s = &args->shape;
    const cell *dy = args->dy.source;
    const uint8_t *index = args->index.source;
    cell *dx = args->dx.data;
    int64_t extent[2];
    WEFT_TRY(hal_pool_check(s));
    assert(s->average || index != NULL || hal_elements(&args->dy) == 0.0);
    hal_pool_extent(s, extent);
    for (int64_t row = 0; row < args->dx.rows; ++row) {
        int64_t image = row / (s->height * s->width);
        for (int64_t c = 0; c < args->dx.cols; ++c) {
            double sum = 0.0;
            for (int64_t k = 0; k < s->kernel[0] * s->kernel[1]; ++k) {
                int64_t oy =
                    output_at(row / s->width % s->height, s->stride[0], s->pad[0][0], k / s->kernel[1], extent[0]);
                int64_t ox = output_at(row % s->width, s->stride[1], s->pad[1][0], k % s->kernel[1], extent[1]);
                int64_t from = (image * extent[0] + oy) * extent[1] + ox;
                if (oy >= 0 && ox >= 0 && (s->average || AT(index, from, c) == k)) {
                    sum += (double)LOAD(AT(dy, from, c));
                }
            }
            AT(dx, row, c) = STORE((real)(s->average ? sum / (double)(s->kernel[0] * s->kernel[1]) : sum));
        }
    }
    return WEFT_OK;
}

/* hal/ref/ref_attention_body.h: included by ref_attention.c once for each element type, named `real`. No include
 * guard. */

weft_status TYPED(ref_head_dot)(const hal_head_dot_args *args)
{
    const int64_t heads = args->out.cols;
    const int64_t d = heads > 0 ? args->x.cols / heads : 0;
    const real *x = args->x.source;
    const real *y = args->y.source;
    real *out = args->out.data;
    for (int64_t i = 0; i < args->out.rows; ++i) {
        const real *other = y + (args->y.rows == 1 ? 0 : i * args->y.ld);
        for (int64_t h = 0; h < heads; ++h) {
            double sum = 0.0;
            for (int64_t j = h * d; j < (h + 1) * d; ++j) {
                sum += (double)AT(x, i, j) * (double)other[j];
            }
            AT(out, i, h) = (real)sum;
        }
    }
    return WEFT_OK;
}

weft_status TYPED(ref_head_scale)(const hal_head_scale_args *args)
{
    const int64_t heads = args->scale.cols;
    const int64_t d = heads > 0 ? args->y.cols / heads : 0;
    const real *scale = args->scale.source;
    const real *x = args->x.source;
    real *y = args->y.data;
    for (int64_t i = 0; i < args->y.rows; ++i) {
        const real *from = x + (args->x.rows == 1 ? 0 : i * args->x.ld);
        real *to = y + i * args->y.ld;
        for (int64_t j = 0; j < heads * d; ++j) {
            const double factor = (double)AT(scale, i, j / d);
            const double value = args->divide ? (double)from[j] / factor : (double)from[j] * factor;
            to[j] = (real)(args->beta == 0.0 ? value : args->beta * (double)to[j] + value);
        }
    }
    return WEFT_OK;
}

/* The operands of an edge's score, of matrices with rows of heads. */
typedef struct TYPED(scores) {
    const real *source, *target, *highest;
    int64_t ld_source, ld_target, ld_highest;
    double slope;
} TYPED(scores);

#define SCORES(args)                                                                                                   \
    {                                                                                                                  \
        .source = (args)->source.source, .target = (args)->target.source, .highest = (args)->highest.source,           \
        .ld_source = (args)->source.ld, .ld_target = (args)->target.ld, .ld_highest = (args)->highest.ld,              \
        .slope = (args)->how.slope                                                                                     \
    }

static double TYPED(raw_of)(const TYPED(scores) * s, int64_t u, int64_t v, int h)
{
    return (double)s->source[u * s->ld_source + h] + (double)s->target[v * s->ld_target + h];
}

static double TYPED(power_of)(const TYPED(scores) * s, int64_t u, int64_t v, int h)
{
    const double top = (double)s->highest[v * s->ld_highest + h] + (double)s->target[v * s->ld_target + h];
    return exp(leaky(TYPED(raw_of)(s, u, v, h), s->slope) - leaky(top, s->slope));
}

weft_status TYPED(ref_attention_highest)(const hal_attention_highest_args *args)
{
    const real *source = args->source.source;
    real *highest = args->highest.data;
    for (int64_t r = 0; r < args->highest.rows; ++r) {
        const row_edges edges = edges_of(&args->offset, &args->column, r, &args->how);
        for (int h = 0; h < args->how.heads; ++h) {
            real most = LOWEST;
            for (int64_t e = 0; e < edges.count; ++e) {
                const real value = AT(source, other_end(&edges, e), h);
                most = value > most ? value : most;
            }
            AT(highest, r, h) = most;
        }
    }
    return WEFT_OK;
}

weft_status TYPED(ref_attention_forward)(const hal_attention_forward_args *args)
{
    const TYPED(scores) s = SCORES(args);
    const int64_t d = args->x.cols / args->how.heads;
    const real *x = args->x.source;
    real *out = args->out.data;
    real *total = args->total.data;
    for (int64_t r = 0; r < args->out.rows; ++r) {
        const row_edges edges = edges_of(&args->offset, &args->column, r, &args->how);
        for (int h = 0; h < args->how.heads; ++h) {
            double powers = 0.0;
            for (int64_t e = 0; e < edges.count; ++e) {
                powers += TYPED(power_of)(&s, other_end(&edges, e), r, h);
            }
            AT(total, r, h) = (real)powers;
            for (int64_t j = 0; j < d; j += STRIP) {
                const int64_t cols = d - j < STRIP ? d - j : STRIP;
                double sum[STRIP] = {0.0};
                for (int64_t e = 0; e < edges.count; ++e) {
                    const int64_t c = other_end(&edges, e);
                    const double factor = TYPED(power_of)(&s, c, r, h) * kept(&args->how, c, r, h);
                    for (int64_t k = 0; k < cols; ++k) {
                        sum[k] += factor * (double)AT(x, c, h * d + j + k);
                    }
                }
                for (int64_t k = 0; k < cols; ++k) {
                    AT(out, r, h * d + j + k) = (real)sum[k];
                }
            }
        }
    }
    return WEFT_OK;
}

/* An edge going backward. */
typedef struct TYPED(edge_gradient) {
    double draw, factor; /* factor = weight * kept */
} TYPED(edge_gradient);

/* `edges` are rows of `x` and `dy`, `total` and `mean` of targets. */
static TYPED(edge_gradient)
    TYPED(edge_backward)(const TYPED(scores) * s, const hal_attention *how, int64_t u, int64_t v, int h, const real *x,
                         const real *dy, int64_t d, real total, real mean)
{
    const double weight = TYPED(power_of)(s, u, v, h) / (double)total;
    const double keeps = kept(how, u, v, h);
    double dot = 0.0;
    for (int64_t j = 0; j < d; ++j) {
        dot += (double)dy[j] * (double)x[j];
    }
    const double slope = TYPED(raw_of)(s, u, v, h) > 0.0 ? 1.0 : s->slope;
    return (TYPED(edge_gradient)){.draw = weight * (keeps * dot - (double)mean) * slope, .factor = weight * keeps};
}

weft_status TYPED(ref_attention_backward_targets)(const hal_attention_backward_targets_args *args)
{
    const TYPED(scores) s = SCORES(args);
    const int64_t d = args->x.cols / args->how.heads;
    const real *x = args->x.source, *dy = args->dy.source, *total = args->total.source, *mean = args->mean.source;
    real *dtarget = args->dtarget.data;
    for (int64_t r = 0; r < args->dtarget.rows; ++r) {
        const row_edges edges = edges_of(&args->offset, &args->column, r, &args->how);
        for (int h = 0; h < args->how.heads; ++h) {
            double sum = 0.0;
            for (int64_t e = 0; e < edges.count; ++e) {
                const int64_t c = other_end(&edges, e);
                sum += TYPED(edge_backward)(&s, &args->how, c, r, h, x + c * args->x.ld + h * d,
                                            dy + r * args->dy.ld + h * d, d, AT(total, r, h), AT(mean, r, h))
                           .draw;
            }
            AT(dtarget, r, h) = (real)sum;
        }
    }
    return WEFT_OK;
}

weft_status TYPED(ref_attention_backward_sources)(const hal_attention_backward_sources_args *args)
{
    const TYPED(scores) s = SCORES(args);
    const int64_t d = args->x.cols / args->how.heads;
    const real *x = args->x.source, *dy = args->dy.source, *total = args->total.source, *mean = args->mean.source;
    real *dx = args->dx.data;
    real *dsource = args->dsource.data;
    for (int64_t r = 0; r < args->dx.rows; ++r) {
        const row_edges edges = edges_of(&args->offset, &args->column, r, &args->how);
        for (int h = 0; h < args->how.heads; ++h) {
            double gradient = 0.0;
            for (int64_t j = 0; j < d; j += STRIP) {
                const int64_t cols = d - j < STRIP ? d - j : STRIP;
                double sum[STRIP] = {0.0};
                gradient = 0.0;
                for (int64_t e = 0; e < edges.count; ++e) {
                    const int64_t c = other_end(&edges, e);
                    const real *from = dy + c * args->dy.ld + h * d;
                    const TYPED(edge_gradient) edge = TYPED(edge_backward)(
                        &s, &args->how, r, c, h, x + r * args->x.ld + h * d, from, d, AT(total, c, h), AT(mean, c, h));
                    gradient += edge.draw;
                    for (int64_t k = 0; k < cols; ++k) {
                        sum[k] += edge.factor * (double)from[j + k];
                    }
                }
                for (int64_t k = 0; k < cols; ++k) {
                    AT(dx, r, h * d + j + k) = (real)sum[k];
                }
            }
            AT(dsource, r, h) = (real)gradient;
        }
    }
    return WEFT_OK;
}
#undef SCORES

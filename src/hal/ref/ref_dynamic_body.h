/* hal/ref/ref_dynamic_body.h: included by ref_attention.c once for each element type, behind ref_attention_body.h. No
 * include guard. */

/* What an edge's score is made of. Of a row of x and of target, a head's columns begin at h * d. */
typedef struct TYPED(dynamic) {
    const real *x, *target, *vector;
    int64_t ld_x, ld_target, d;
    double slope;
} TYPED(dynamic);

#define DYNAMIC(args)                                                                                                  \
    {                                                                                                                  \
        .x = (args)->x.source, .target = (args)->target.source, .vector = (args)->vector.source, .ld_x = (args)->x.ld, \
        .ld_target = (args)->target.ld, .d = (args)->x.cols / (args)->how.heads, .slope = (args)->how.slope            \
    }

/* What LeakyReLU is taken of, in column j. */
static double TYPED(met)(const TYPED(dynamic) * s, int64_t u, int64_t v, int64_t j)
{
    return (double)s->x[u * s->ld_x + j] + (double)s->target[v * s->ld_target + j];
}

static double TYPED(dynamic_raw)(const TYPED(dynamic) * s, int64_t u, int64_t v, int h)
{
    double raw = 0.0;
    for (int64_t j = h * s->d; j < (h + 1) * s->d; ++j) {
        raw += (double)s->vector[j] * leaky(TYPED(met)(s, u, v, j), s->slope);
    }
    return raw;
}

weft_status TYPED(ref_dynamic_highest)(const hal_dynamic_highest_args *args)
{
    const TYPED(dynamic) s = DYNAMIC(args);
    real *highest = args->highest.data;
    for (int64_t r = 0; r < args->highest.rows; ++r) {
        const row_edges edges = edges_of(&args->offset, &args->column, r, &args->how);
        for (int h = 0; h < args->how.heads; ++h) {
            real most = LOWEST;
            for (int64_t e = 0; e < edges.count; ++e) {
                const real raw = (real)TYPED(dynamic_raw)(&s, other_end(&edges, e), r, h);
                most = raw > most ? raw : most;
            }
            AT(highest, r, h) = most;
        }
    }
    return WEFT_OK;
}

weft_status TYPED(ref_dynamic_forward)(const hal_dynamic_forward_args *args)
{
    const TYPED(dynamic) s = DYNAMIC(args);
    const real *highest = args->highest.source;
    real *out = args->out.data;
    real *total = args->total.data;
    for (int64_t r = 0; r < args->out.rows; ++r) {
        const row_edges edges = edges_of(&args->offset, &args->column, r, &args->how);
        for (int h = 0; h < args->how.heads; ++h) {
            for (int64_t j = h * s.d; j < (h + 1) * s.d; j += STRIP) {
                const int64_t cols = (h + 1) * s.d - j < STRIP ? (h + 1) * s.d - j : STRIP;
                double powers = 0.0, sum[STRIP] = {0.0};
                for (int64_t e = 0; e < edges.count; ++e) {
                    const int64_t c = other_end(&edges, e);
                    const double power = exp(TYPED(dynamic_raw)(&s, c, r, h) - (double)AT(highest, r, h));
                    const double factor = power * kept(&args->how, c, r, h);
                    powers += power;
                    for (int64_t k = 0; k < cols; ++k) {
                        sum[k] += factor * (double)s.x[c * s.ld_x + j + k];
                    }
                }
                AT(total, r, h) = (real)powers;
                for (int64_t k = 0; k < cols; ++k) {
                    AT(out, r, j + k) = (real)sum[k];
                }
            }
        }
    }
    return WEFT_OK;
}

/* x and dy are the columns of one head. */
static TYPED(edge_gradient)
    TYPED(dynamic_backward)(const TYPED(dynamic) * s, const hal_attention *how, int64_t u, int64_t v, int h,
                            const real *dy, real highest, real total, real mean)
{
    const double weight = exp(TYPED(dynamic_raw)(s, u, v, h) - (double)highest) / (double)total;
    const double keeps = kept(how, u, v, h);
    double dot = 0.0;
    for (int64_t j = 0; j < s->d; ++j) {
        dot += (double)dy[j] * (double)s->x[u * s->ld_x + h * s->d + j];
    }
    return (TYPED(edge_gradient)){.draw = weight * (keeps * dot - (double)mean), .factor = weight * keeps};
}

weft_status TYPED(ref_dynamic_backward_targets)(const hal_dynamic_backward_targets_args *args)
{
    const TYPED(dynamic) s = DYNAMIC(args);
    const real *dy = args->dy.source, *highest = args->highest.source;
    const real *total = args->total.source, *mean = args->mean.source;
    real *dtarget = args->dtarget.data, *dvector = args->dvector.data;
    for (int64_t r = 0; r < args->dtarget.rows; ++r) {
        const row_edges edges = edges_of(&args->offset, &args->column, r, &args->how);
        for (int64_t j = 0; j < args->x.cols; ++j) {
            const int h = (int)(j / s.d);
            double of_target = 0.0, of_vector = 0.0;
            for (int64_t e = 0; e < edges.count; ++e) {
                const int64_t c = other_end(&edges, e);
                const double draw = TYPED(dynamic_backward)(&s, &args->how, c, r, h, dy + r * args->dy.ld + h * s.d,
                                                            AT(highest, r, h), AT(total, r, h), AT(mean, r, h))
                                        .draw;
                const double met = TYPED(met)(&s, c, r, j);
                of_target += draw * (double)s.vector[j] * (met > 0.0 ? 1.0 : s.slope);
                of_vector += draw * leaky(met, s.slope);
            }
            AT(dtarget, r, j) = (real)of_target;
            AT(dvector, r, j) = (real)of_vector;
        }
    }
    return WEFT_OK;
}

weft_status TYPED(ref_dynamic_backward_sources)(const hal_dynamic_backward_sources_args *args)
{
    const TYPED(dynamic) s = DYNAMIC(args);
    const real *dy = args->dy.source, *highest = args->highest.source;
    const real *total = args->total.source, *mean = args->mean.source;
    real *dx = args->dx.data;
    for (int64_t r = 0; r < args->dx.rows; ++r) {
        const row_edges edges = edges_of(&args->offset, &args->column, r, &args->how);
        for (int64_t j = 0; j < args->x.cols; ++j) {
            const int h = (int)(j / s.d);
            double sum = 0.0;
            for (int64_t e = 0; e < edges.count; ++e) {
                const int64_t c = other_end(&edges, e);
                const TYPED(edge_gradient) edge =
                    TYPED(dynamic_backward)(&s, &args->how, r, c, h, dy + c * args->dy.ld + h * s.d, AT(highest, c, h),
                                            AT(total, c, h), AT(mean, c, h));
                const double slope = TYPED(met)(&s, r, c, j) > 0.0 ? 1.0 : s.slope;
                sum += edge.draw * (double)s.vector[j] * slope + edge.factor * (double)AT(dy, c, j);
            }
            AT(dx, r, j) = (real)sum;
        }
    }
    return WEFT_OK;
}
#undef DYNAMIC

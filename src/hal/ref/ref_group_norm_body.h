/* hal/ref/ref_group_norm_body.h: group norm as it is defined; ref_typed.h includes it for each type. No include
 * guard. */

weft_status TYPED(ref_gn_forward)(const hal_gn_forward_args *args)
{
    const int64_t n = args->y.cols, width = n / args->groups, count = args->pixels * width;
    const cell *x = args->x.source;
    const real *gamma = args->gamma.source;
    const real *beta = args->beta.source;
    real *saved = args->saved.data;
    cell *y = args->y.data;
    for (int64_t first = 0; first < args->y.rows; first += args->pixels) {
        for (int64_t g = 0; g < args->groups; ++g, saved += 2) {
            double sum = 0.0, squares = 0.0;
            for (int64_t i = first; i < first + args->pixels; ++i) {
                for (int64_t j = g * width; j < (g + 1) * width; ++j) {
                    sum += (double)LOAD(AT(x, i, j));
                }
            }
            const double mean = sum / (double)count;
            for (int64_t i = first; i < first + args->pixels; ++i) {
                for (int64_t j = g * width; j < (g + 1) * width; ++j) {
                    const double centred = (double)LOAD(AT(x, i, j)) - mean;
                    squares += centred * centred;
                }
            }
            const double rstd = 1.0 / sqrt(squares / (double)count + args->epsilon);
            saved[0] = (real)mean;
            saved[1] = (real)rstd;
            for (int64_t i = first; i < first + args->pixels; ++i) {
                for (int64_t j = g * width; j < (g + 1) * width; ++j) {
                    const double xhat = ((double)LOAD(AT(x, i, j)) - mean) * rstd;
                    AT(y, i, j) = STORE((real)((double)gamma[j] * xhat + (double)beta[j]));
                }
            }
        }
    }
    return WEFT_OK;
}

/* dgamma and dbeta; before dx overwrites dy. */
static void TYPED(sum_columns)(const hal_gn_backward_args *args)
{
    const int64_t width = args->dx.cols / args->groups;
    const cell *dy = args->dy.source;
    const cell *x = args->x.source;
    const real *saved = args->saved.source;
    for (int64_t j = 0; j < args->dx.cols; ++j) {
        double products = 0.0, sum = 0.0;
        for (int64_t i = 0; i < args->dx.rows; ++i) {
            const real *of = saved + 2 * (i / args->pixels * args->groups + j / width);
            products += (double)LOAD(AT(dy, i, j)) * ((double)LOAD(AT(x, i, j)) - (double)of[0]) * (double)of[1];
            sum += (double)LOAD(AT(dy, i, j));
        }
        ((real *)args->dgamma.data)[j] += (real)products;
        ((real *)args->dbeta.data)[j] += (real)sum;
    }
}

weft_status TYPED(ref_gn_backward)(const hal_gn_backward_args *args)
{
    const int64_t width = args->dx.cols / args->groups, count = args->pixels * width;
    const cell *dy = args->dy.source;
    const cell *x = args->x.source;
    const real *gamma = args->gamma.source;
    const real *saved = args->saved.source;
    cell *dx = args->dx.data;
    TYPED(sum_columns)(args);
    for (int64_t first = 0; first < args->dx.rows; first += args->pixels) {
        for (int64_t g = 0; g < args->groups; ++g, saved += 2) {
            const double mean = (double)saved[0], rstd = (double)saved[1];
            double sum = 0.0, products = 0.0;
            for (int64_t i = first; i < first + args->pixels; ++i) {
                for (int64_t j = g * width; j < (g + 1) * width; ++j) {
                    const double scaled = (double)gamma[j] * (double)LOAD(AT(dy, i, j));
                    sum += scaled;
                    products += scaled * ((double)LOAD(AT(x, i, j)) - mean) * rstd;
                }
            }
            for (int64_t i = first; i < first + args->pixels; ++i) {
                for (int64_t j = g * width; j < (g + 1) * width; ++j) {
                    const double xhat = ((double)LOAD(AT(x, i, j)) - mean) * rstd;
                    const double scaled = (double)gamma[j] * (double)LOAD(AT(dy, i, j));
                    AT(dx, i, j) =
                        STORE((real)(rstd * (scaled - sum / (double)count - xhat * products / (double)count)));
                }
            }
        }
    }
    return WEFT_OK;
}

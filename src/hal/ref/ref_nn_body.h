/* hal/ref/ref_nn_body.h: included by ref_nn.c once for each element type, named `real`. No include guard. */

/* A NaN passes through ReLU, so that a diverging run is seen. */
static void TYPED(act_forward)(int64_t m, int64_t n, const real *x, int64_t ldx, bool relu, const hal_dropout *dropout,
                               real *y, int64_t ldy)
{
    bool drops = dropout_is_on(dropout);
    real scale = drops ? (real)(1.0 / (1.0 - (double)dropout->probability)) : (real)1;
    for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
            real value = x[i * ldx + j];
            value = relu && value < (real)0 ? (real)0 : value;
            y[i * ldy + j] = !drops || dropout_keeps(dropout, i, j) ? value * scale : (real)0;
        }
    }
}

static void TYPED(act_backward)(int64_t m, int64_t n, const real *dy, int64_t lddy, const real *y, int64_t ldy,
                                bool relu, const hal_dropout *dropout, real *dx, int64_t lddx)
{
    bool drops = dropout_is_on(dropout);
    real scale = drops ? (real)(1.0 / (1.0 - (double)dropout->probability)) : (real)1;
    for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
            bool passes = relu ? y[i * ldy + j] > (real)0 : !drops || dropout_keeps(dropout, i, j);
            dx[i * lddx + j] = passes ? dy[i * lddy + j] * scale : (real)0;
        }
    }
}

static void TYPED(bn_stats)(int64_t m, int64_t n, const real *x, int64_t ldx, double *stats)
{
    for (int64_t j = 0; j < n; ++j) {
        double sum = 0.0;
        double squares = 0.0;
        for (int64_t i = 0; i < m; ++i) {
            double value = (double)x[i * ldx + j];
            sum += value;
            squares += value * value;
        }
        stats[j] = sum;
        stats[n + j] = squares;
    }
}

static void TYPED(bn_apply)(int64_t m, int64_t n, const real *x, int64_t ldx, const real *mean, const real *rstd,
                            const real *gamma, const real *beta, real *y, int64_t ldy)
{
    for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
            y[i * ldy + j] = gamma[j] * ((x[i * ldx + j] - mean[j]) * rstd[j]) + beta[j];
        }
    }
}

static void TYPED(bn_backward_stats)(int64_t m, int64_t n, const real *dy, int64_t lddy, const real *x, int64_t ldx,
                                     const real *mean, const real *rstd, double *stats)
{
    for (int64_t j = 0; j < n; ++j) {
        double sum = 0.0;
        double products = 0.0;
        for (int64_t i = 0; i < m; ++i) {
            double gradient = (double)dy[i * lddy + j];
            double xhat = ((double)x[i * ldx + j] - (double)mean[j]) * (double)rstd[j];
            sum += gradient;
            products += gradient * xhat;
        }
        stats[j] = sum;
        stats[n + j] = products;
    }
}

static void TYPED(bn_backward_apply)(int64_t m, int64_t n, const real *dy, int64_t lddy, const real *x, int64_t ldx,
                                     const real *mean, const real *rstd, const real *gamma, const double *stats,
                                     double count, real *dx, int64_t lddx)
{
    for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
            double xhat = ((double)x[i * ldx + j] - (double)mean[j]) * (double)rstd[j];
            double centred = (double)dy[i * lddy + j] - stats[j] / count - xhat * stats[n + j] / count;
            dx[i * lddx + j] = (real)((double)gamma[j] * (double)rstd[j] * centred);
        }
    }
}

/* saved[2 i] is the mean of row i, saved[2 i + 1] its 1 / sqrt(variance + epsilon). */
static void TYPED(ln_forward)(int64_t m, int64_t n, const real *x, int64_t ldx, const real *gamma, const real *beta,
                              double epsilon, real *saved, real *y, int64_t ldy)
{
    for (int64_t i = 0; i < m && n > 0; ++i) {
        double sum = 0.0;
        for (int64_t j = 0; j < n; ++j) {
            sum += (double)x[i * ldx + j];
        }
        double mean = sum / (double)n;
        double squares = 0.0;
        for (int64_t j = 0; j < n; ++j) {
            double centred = (double)x[i * ldx + j] - mean;
            squares += centred * centred;
        }
        double rstd = 1.0 / sqrt(squares / (double)n + epsilon);
        saved[2 * i] = (real)mean;
        saved[2 * i + 1] = (real)rstd;
        for (int64_t j = 0; j < n; ++j) {
            y[i * ldy + j] = (real)((double)gamma[j] * (((double)x[i * ldx + j] - mean) * rstd) + (double)beta[j]);
        }
    }
}

static void TYPED(ln_backward)(int64_t m, int64_t n, const real *dy, int64_t lddy, const real *x, int64_t ldx,
                               const real *gamma, const real *saved, real *dgamma, real *dbeta, real *dx, int64_t lddx)
{
    /* Columns first: dx may overwrite dy. */
    for (int64_t j = 0; j < n; ++j) {
        double gamma_sum = (double)dgamma[j];
        double beta_sum = (double)dbeta[j];
        for (int64_t i = 0; i < m; ++i) {
            double xhat = ((double)x[i * ldx + j] - (double)saved[2 * i]) * (double)saved[2 * i + 1];
            gamma_sum += (double)dy[i * lddy + j] * xhat;
            beta_sum += (double)dy[i * lddy + j];
        }
        dgamma[j] = (real)gamma_sum;
        dbeta[j] = (real)beta_sum;
    }
    for (int64_t i = 0; i < m && n > 0; ++i) {
        double mean = (double)saved[2 * i];
        double rstd = (double)saved[2 * i + 1];
        double sum = 0.0;
        double products = 0.0;
        for (int64_t j = 0; j < n; ++j) {
            double scaled = (double)gamma[j] * (double)dy[i * lddy + j];
            sum += scaled;
            products += scaled * ((double)x[i * ldx + j] - mean) * rstd;
        }
        for (int64_t j = 0; j < n; ++j) {
            double xhat = ((double)x[i * ldx + j] - mean) * rstd;
            double scaled = (double)gamma[j] * (double)dy[i * lddy + j];
            dx[i * lddx + j] = (real)(rstd * (scaled - sum / (double)n - xhat * products / (double)n));
        }
    }
}

static void TYPED(softmax_xent)(int64_t m, int64_t n, const real *x, int64_t ldx, const int32_t *label,
                                const uint8_t *split, int which, double scale, double *loss_sum, real *dx, int64_t lddx)
{
    for (int64_t i = 0; i < m && n > 0; ++i) {
        const real *row = x + i * ldx;
        bool counts = split[i] == which;
        double highest = (double)row[0];
        double sum = 0.0;
        for (int64_t j = 1; j < n; ++j) {
            highest = (double)row[j] > highest ? (double)row[j] : highest;
        }
        for (int64_t j = 0; j < n; ++j) {
            sum += exp((double)row[j] - highest);
        }
        if (counts) {
            *loss_sum += log(sum) + highest - (double)row[label[i]];
        }
        for (int64_t j = 0; dx != NULL && j < n; ++j) {
            double probability = exp((double)row[j] - highest) / sum;
            dx[i * lddx + j] = counts ? (real)(scale * (probability - (label[i] == j ? 1.0 : 0.0))) : (real)0;
        }
    }
}

static void TYPED(bce_logits)(int64_t m, int64_t n, const real *x, int64_t ldx, const float *target, int64_t ldt,
                              const uint8_t *split, int which, double scale, double *loss_sum, int64_t *loss_count,
                              real *dx, int64_t lddx)
{
    for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
            double logit = (double)x[i * ldx + j];
            double wanted = (double)target[i * ldt + j];
            bool counts = split[i] == which && !isnan(wanted);
            if (counts) {
                *loss_sum += (logit > 0.0 ? logit : 0.0) - logit * wanted + log1p(exp(-fabs(logit)));
                *loss_count += 1;
            }
            if (dx != NULL) {
                dx[i * lddx + j] = counts ? (real)(scale * (1.0 / (1.0 + exp(-logit)) - wanted)) : (real)0;
            }
        }
    }
}

static void TYPED(accuracy)(int64_t m, int64_t n, const real *x, int64_t ldx, const int32_t *label,
                            const uint8_t *split, int64_t *correct, int64_t *total)
{
    for (int64_t i = 0; i < m && n > 0; ++i) {
        if (split[i] >= HAL_SPLITS) {
            continue;
        }
        int64_t best = 0;
        for (int64_t j = 1; j < n; ++j) {
            best = x[i * ldx + j] > x[i * ldx + best] ? j : best;
        }
        correct[split[i]] += best == label[i] ? 1 : 0;
        total[split[i]] += 1;
    }
}

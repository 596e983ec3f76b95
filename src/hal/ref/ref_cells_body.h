/*
 * hal/ref/ref_cells_body.h: included by ref_cells.c once for each type of rows, `cell`, whose parameters and sums are
 * of `real`. LOAD makes a real of a cell, STORE rounds one to a cell. No include guard.
 */

weft_status TYPED(ref_col_sum)(const hal_col_sum_args *args)
{
    const cell *x = args->x.source;
    real *out = args->out.data;
    for (int64_t j = 0; j < args->x.cols; ++j) {
        double sum = args->beta == 0.0 ? 0.0 : args->beta * (double)out[j];
        for (int64_t i = 0; i < args->x.rows; ++i) {
            sum += (double)LOAD(AT(x, i, j));
        }
        out[j] = (real)sum;
    }
    return WEFT_OK;
}

weft_status TYPED(ref_axpby)(const hal_axpby_args *args)
{
    const cell *x = args->x.source;
    cell *y = args->y.data;
    EACH_ELEMENT(y) {
        cell *to = &AT(y, i, j);
        double old = args->beta == 0.0 ? 0.0 : args->beta * (double)LOAD(*to);
        *to = STORE((real)(args->alpha * (double)LOAD(AT(x, i, j)) + old));
    }
    return WEFT_OK;
}

weft_status TYPED(ref_gather_rows)(const hal_gather_rows_args *args)
{
    const int32_t *index = args->index.source;
    const cell *x = args->x.source;
    cell *y = args->y.data;
    for (int64_t i = 0; i < args->y.rows; ++i) {
        assert(index[i] >= 0 && index[i] < args->x.rows);
        for (int64_t j = 0; j < args->y.cols; ++j) {
            AT(y, i, j) = AT(x, index[i], j);
        }
    }
    return WEFT_OK;
}

weft_status TYPED(ref_scatter_rows)(const hal_scatter_rows_args *args)
{
    const int32_t *index = args->index.source;
    const cell *x = args->x.source;
    cell *y = args->y.data;
    for (int64_t i = 0; i < args->x.rows; ++i) {
        assert(index[i] >= 0 && index[i] < args->y.rows);
        cell *to = y + index[i] * args->y.ld;
        for (int64_t j = 0; j < args->x.cols; ++j) {
            const cell from = AT(x, i, j);
            switch (args->mode) {
            case HAL_SCATTER_REPLACE:
                to[j] = from;
                break;
            case HAL_SCATTER_ADD:
                to[j] = STORE(LOAD(to[j]) + LOAD(from));
                break;
            case HAL_SCATTER_MAX:
                to[j] = LOAD(from) > LOAD(to[j]) || isnan(LOAD(from)) ? from : to[j];
                break;
            }
        }
    }
    return WEFT_OK;
}

/* A NaN passes through ReLU, so that a diverging run is seen. */
weft_status TYPED(ref_act_forward)(const hal_act_forward_args *args)
{
    const cell *x = args->x.source;
    cell *y = args->y.data;
    const hal_dropout *dropout = &args->dropout;
    bool drops = dropout_is_on(dropout);
    real scale = drops ? (real)(1.0 / (1.0 - (double)dropout->probability)) : (real)1;
    EACH_ELEMENT(y) {
        real value = LOAD(AT(x, i, j));
        value = args->relu && value < (real)0 ? (real)0 : value;
        AT(y, i, j) = STORE(!drops || dropout_keeps(dropout, i, j) ? value * scale : (real)0);
    }
    return WEFT_OK;
}

weft_status TYPED(ref_act_backward)(const hal_act_backward_args *args)
{
    const cell *dy = args->dy.source;
    const cell *y = args->y.source;
    cell *dx = args->dx.data;
    const hal_dropout *dropout = &args->dropout;
    bool drops = dropout_is_on(dropout);
    real scale = drops ? (real)(1.0 / (1.0 - (double)dropout->probability)) : (real)1;
    EACH_ELEMENT(dx) {
        bool passes = args->relu ? LOAD(AT(y, i, j)) > (real)0 : !drops || dropout_keeps(dropout, i, j);
        AT(dx, i, j) = STORE(passes ? LOAD(AT(dy, i, j)) * scale : (real)0);
    }
    return WEFT_OK;
}

weft_status TYPED(ref_bn_stats)(const hal_bn_stats_args *args)
{
    int64_t n = args->x.cols;
    const cell *x = args->x.source;
    double *stats = args->stats.data;
    for (int64_t j = 0; j < n; ++j) {
        double sum = 0.0;
        double squares = 0.0;
        for (int64_t i = 0; i < args->x.rows; ++i) {
            double value = (double)LOAD(AT(x, i, j));
            sum += value;
            squares += value * value;
        }
        stats[j] = sum;
        stats[n + j] = squares;
    }
    return WEFT_OK;
}

weft_status TYPED(ref_bn_apply)(const hal_bn_apply_args *args)
{
    const cell *x = args->x.source;
    const real *mean = args->mean.source;
    const real *rstd = args->rstd.source;
    const real *gamma = args->gamma.source;
    const real *beta = args->beta.source;
    const cell *residual = args->residual.source;
    cell *y = args->y.data;
    EACH_ELEMENT(y) {
        real value = gamma[j] * ((LOAD(AT(x, i, j)) - mean[j]) * rstd[j]) + beta[j];
        value = residual != NULL ? value + LOAD(AT(residual, i, j)) : value;
        AT(y, i, j) = STORE(args->relu && value < (real)0 ? (real)0 : value);
    }
    return WEFT_OK;
}

/* Whether ReLU lets through what batch norm makes of an element. */
static bool TYPED(bn_passes)(real xhat, real gamma, real beta)
{
    return LOAD(STORE(gamma * xhat + beta)) > (real)0;
}

weft_status TYPED(ref_bn_backward_stats)(const hal_bn_backward_stats_args *args)
{
    int64_t n = args->x.cols;
    const cell *dy = args->dy.source;
    const cell *share = args->share.source;
    const cell *x = args->x.source;
    const real *mean = args->mean.source;
    const real *rstd = args->rstd.source;
    const real *gamma = args->gamma.source;
    const real *beta = args->beta.source;
    const cell *y = args->y.source;
    cell *counted = args->counted.data;
    double *stats = args->stats.data;
    for (int64_t j = 0; j < n; ++j) {
        double sum = 0.0;
        double products = 0.0;
        for (int64_t i = 0; i < args->x.rows; ++i) {
            const real centred = LOAD(AT(x, i, j)) - mean[j];
            bool passes = !args->relu;
            if (args->relu && y != NULL) {
                passes = LOAD(AT(y, i, j)) > (real)0;
            } else if (args->relu) {
                passes = TYPED(bn_passes)(centred * rstd[j], gamma[j], beta[j]);
            }
            real gradient = LOAD(AT(dy, i, j));
            gradient = share != NULL ? LOAD(STORE(gradient + LOAD(AT(share, i, j)))) : gradient;
            gradient = passes ? gradient : (real)0;
            if (counted != NULL) {
                AT(counted, i, j) = STORE(gradient);
            }
            double xhat = ((double)LOAD(AT(x, i, j)) - (double)mean[j]) * (double)rstd[j];
            sum += (double)gradient;
            products += (double)gradient * xhat;
        }
        stats[j] = sum;
        stats[n + j] = products;
    }
    return WEFT_OK;
}

weft_status TYPED(ref_bn_backward_apply)(const hal_bn_backward_apply_args *args)
{
    int64_t n = args->dx.cols;
    const cell *dy = args->dy.source;
    const cell *x = args->x.source;
    const real *mean = args->mean.source;
    const real *rstd = args->rstd.source;
    const real *gamma = args->gamma.source;
    const real *beta = args->beta.source;
    const double *stats = args->stats.source;
    cell *dx = args->dx.data;
    EACH_ELEMENT(dx) {
        const real centred = LOAD(AT(x, i, j)) - mean[j];
        bool passes = !args->relu || TYPED(bn_passes)(centred * rstd[j], gamma[j], beta[j]);
        real gradient = passes ? LOAD(AT(dy, i, j)) : (real)0;
        double xhat = ((double)LOAD(AT(x, i, j)) - (double)mean[j]) * (double)rstd[j];
        double balanced = (double)gradient - stats[j] / args->count - xhat * stats[n + j] / args->count;
        AT(dx, i, j) = STORE((real)((double)gamma[j] * (double)rstd[j] * balanced));
    }
    return WEFT_OK;
}

/* saved[2 i] is the mean of row i, saved[2 i + 1] its 1 / sqrt(variance + epsilon). */

weft_status TYPED(ref_ln_forward)(const hal_ln_forward_args *args)
{
    int64_t n = args->y.cols;
    const cell *x = args->x.source;
    const real *gamma = args->gamma.source;
    const real *beta = args->beta.source;
    real *saved = args->saved.data;
    cell *y = args->y.data;
    for (int64_t i = 0; i < args->y.rows && n > 0; ++i) {
        double sum = 0.0;
        for (int64_t j = 0; j < n; ++j) {
            sum += (double)LOAD(AT(x, i, j));
        }
        double mean = sum / (double)n;
        double squares = 0.0;
        for (int64_t j = 0; j < n; ++j) {
            double centred = (double)LOAD(AT(x, i, j)) - mean;
            squares += centred * centred;
        }
        double rstd = 1.0 / sqrt(squares / (double)n + args->epsilon);
        saved[2 * i] = (real)mean;
        saved[2 * i + 1] = (real)rstd;
        for (int64_t j = 0; j < n; ++j) {
            const double xhat = ((double)LOAD(AT(x, i, j)) - mean) * rstd;
            AT(y, i, j) = STORE((real)((double)gamma[j] * xhat + (double)beta[j]));
        }
    }
    return WEFT_OK;
}

weft_status TYPED(ref_ln_backward)(const hal_ln_backward_args *args)
{
    int64_t n = args->dx.cols;
    const cell *dy = args->dy.source;
    const cell *x = args->x.source;
    const real *gamma = args->gamma.source;
    const real *saved = args->saved.source;
    real *dgamma = args->dgamma.data;
    real *dbeta = args->dbeta.data;
    cell *dx = args->dx.data;
    /* Columns first: dx may overwrite dy. */
    for (int64_t j = 0; j < n; ++j) {
        double gamma_sum = (double)dgamma[j];
        double beta_sum = (double)dbeta[j];
        for (int64_t i = 0; i < args->dx.rows; ++i) {
            double xhat = ((double)LOAD(AT(x, i, j)) - (double)saved[2 * i]) * (double)saved[2 * i + 1];
            gamma_sum += (double)LOAD(AT(dy, i, j)) * xhat;
            beta_sum += (double)LOAD(AT(dy, i, j));
        }
        dgamma[j] = (real)gamma_sum;
        dbeta[j] = (real)beta_sum;
    }
    for (int64_t i = 0; i < args->dx.rows && n > 0; ++i) {
        double mean = (double)saved[2 * i];
        double rstd = (double)saved[2 * i + 1];
        double sum = 0.0;
        double products = 0.0;
        for (int64_t j = 0; j < n; ++j) {
            double scaled = (double)gamma[j] * (double)LOAD(AT(dy, i, j));
            sum += scaled;
            products += scaled * ((double)LOAD(AT(x, i, j)) - mean) * rstd;
        }
        for (int64_t j = 0; j < n; ++j) {
            double xhat = ((double)LOAD(AT(x, i, j)) - mean) * rstd;
            double scaled = (double)gamma[j] * (double)LOAD(AT(dy, i, j));
            AT(dx, i, j) = STORE((real)(rstd * (scaled - sum / (double)n - xhat * products / (double)n)));
        }
    }
    return WEFT_OK;
}

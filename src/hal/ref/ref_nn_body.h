/* hal/ref/ref_nn_body.h: included by ref_nn.c once for each element type, named `real`. No include guard. */

weft_status TYPED(ref_bn_finish)(const hal_bn_finish_args *args)
{
    int64_t n = args->mean.cols;
    const double *stats = args->stats.source;
    real *mean = args->mean.data;
    real *var = args->var.data;
    real *rstd = args->rstd.data;
    assert(n == 0 || (args->stats.rows == 2 && args->stats.ld == n));
    for (int64_t j = 0; j < n; ++j) {
        double centre = stats[j] / args->count;
        double spread = fmax(stats[n + j] / args->count - centre * centre, 0.0);
        mean[j] = (real)centre;
        var[j] = (real)spread;
        rstd[j] = (real)(1.0 / sqrt(spread + args->epsilon));
    }
    return WEFT_OK;
}

weft_status TYPED(ref_bn_rstd)(const hal_bn_rstd_args *args)
{
    const real *var = args->var.source;
    real *rstd = args->rstd.data;
    assert(args->rstd.cols == args->var.cols);
    for (int64_t j = 0; j < args->var.cols; ++j) {
        rstd[j] = (real)(1.0 / sqrt((double)var[j] + args->epsilon));
    }
    return WEFT_OK;
}

weft_status TYPED(ref_bn_gradients)(const hal_bn_gradients_args *args)
{
    int64_t n = args->dbeta.cols;
    const double *stats = args->stats.source;
    real *dgamma = args->dgamma.data;
    real *dbeta = args->dbeta.data;
    assert(n == 0 || (args->stats.rows == 2 && args->stats.ld == n));
    for (int64_t j = 0; j < n; ++j) {
        dbeta[j] = (real)stats[j];
        dgamma[j] = (real)stats[n + j];
    }
    return WEFT_OK;
}

/* saved[2 i] is the mean of row i, saved[2 i + 1] its 1 / sqrt(variance + epsilon). */
weft_status TYPED(ref_softmax_xent)(const hal_softmax_xent_args *args)
{
    int64_t m = args->x.rows;
    int64_t n = args->x.cols;
    const real *x = args->x.source;
    const int32_t *label = args->label.source;
    const uint8_t *mask = args->mask.source;
    double *loss = args->loss.data;
    real *dx = args->dx.data;
    int64_t ldx = args->x.ld;
    int64_t lddx = args->dx.ld;
    double scale = args->scale;
    double others = n > 0 ? args->smoothing / (double)n : 0.0; /* what smoothing gives every class */
    for (int64_t i = 0; i < m && n > 0; ++i) {
        const real *row = x + i * ldx;
        bool counts = mask == NULL || mask[i] != 0;
        double highest = (double)row[0];
        double sum = 0.0;
        double total = 0.0;
        for (int64_t j = 1; j < n; ++j) {
            highest = (double)row[j] > highest ? (double)row[j] : highest;
        }
        for (int64_t j = 0; j < n; ++j) {
            sum += exp((double)row[j] - highest);
            total += (double)row[j];
        }
        if (counts) {
            *loss += log(sum) + highest - (1.0 - args->smoothing) * (double)row[label[i]];
            *loss -= args->smoothing > 0.0 ? others * total : 0.0;
        }
        for (int64_t j = 0; dx != NULL && j < n; ++j) {
            double probability = exp((double)row[j] - highest) / sum;
            dx[i * lddx + j] =
                counts ? (real)(scale * (probability - (label[i] == j ? 1.0 - args->smoothing : 0.0) - others))
                       : (real)0;
        }
    }
    return WEFT_OK;
}

weft_status TYPED(ref_bce_logits)(const hal_bce_logits_args *args)
{
    int64_t m = args->x.rows;
    int64_t n = args->x.cols;
    const real *x = args->x.source;
    const float *target = args->target.source;
    const uint8_t *mask = args->mask.source;
    double *loss = args->loss.data;
    int64_t *count = args->count.data;
    real *dx = args->dx.data;
    int64_t ldx = args->x.ld;
    int64_t ldt = args->target.ld;
    int64_t lddx = args->dx.ld;
    double scale = args->scale;
    int64_t entries = 0;
    for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
            double logit = (double)x[i * ldx + j];
            double wanted = (double)target[i * ldt + j];
            bool counts = (mask == NULL || mask[i] != 0) && !isnan(wanted);
            if (counts) {
                *loss += (logit > 0.0 ? logit : 0.0) - logit * wanted + log1p(exp(-fabs(logit)));
                entries += 1;
            }
            if (dx != NULL) {
                dx[i * lddx + j] = counts ? (real)(scale * (1.0 / (1.0 + exp(-logit)) - wanted)) : (real)0;
            }
        }
    }
    if (count != NULL) {
        *count += entries;
    }
    return WEFT_OK;
}

weft_status TYPED(ref_accuracy)(const hal_accuracy_args *args)
{
    int64_t m = args->x.rows;
    int64_t n = args->x.cols;
    const real *x = args->x.source;
    const int32_t *label = args->label.source;
    const uint8_t *mask = args->mask.source;
    int64_t *counts = args->counts.data;
    int64_t ldx = args->x.ld;
    for (int64_t i = 0; i < m && n > 0; ++i) {
        if (mask != NULL && mask[i] == 0) {
            continue;
        }
        int64_t best = 0;
        for (int64_t j = 1; j < n; ++j) {
            best = x[i * ldx + j] > x[i * ldx + best] ? j : best;
        }
        counts[0] += best == label[i] ? 1 : 0;
        counts[1] += 1;
    }
    return WEFT_OK;
}

weft_status TYPED(ref_elu_forward)(const hal_elu_forward_args *args)
{
    const real *x = args->x.source;
    real *y = args->y.data;
    for (int64_t i = 0; i < args->y.rows; ++i) {
        for (int64_t j = 0; j < args->y.cols; ++j) {
            const double value = (double)x[i * args->x.ld + j];
            y[i * args->y.ld + j] = (real)(value > 0.0 ? value : expm1(value));
        }
    }
    return WEFT_OK;
}

weft_status TYPED(ref_elu_backward)(const hal_elu_backward_args *args)
{
    const real *dy = args->dy.source;
    const real *y = args->y.source;
    real *dx = args->dx.data;
    for (int64_t i = 0; i < args->dx.rows; ++i) {
        for (int64_t j = 0; j < args->dx.cols; ++j) {
            const double value = (double)y[i * args->y.ld + j];
            const double slope = value > 0.0 ? 1.0 : 1.0 + args->keep * value;
            dx[i * args->dx.ld + j] = (real)((double)dy[i * args->dy.ld + j] * slope);
        }
    }
    return WEFT_OK;
}

/* hal/ref/ref_nn_body.h: included by ref_nn.c once for each element type, named `real`. No include guard. */

weft_status TYPED(ref_scale_rows)(const hal_scale_rows_args *args)
{
    const real *scale = args->scale.source;
    const real *x = args->x.source;
    real *y = args->y.data;
    EACH_ELEMENT(y) {
        AT(y, i, j) = scale[i] * AT(x, i, j);
    }
    return WEFT_OK;
}

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
    int64_t n = args->x.cols;
    const real *x = args->x.source;
    const int32_t *label = args->label.source;
    const uint8_t *mask = args->mask.source;
    const float *weight = args->weight.source;
    double *loss = args->loss.data;
    real *dx = args->dx.data;
    double others = n > 0 ? args->smoothing / (double)n : 0.0; /* what smoothing gives every class */
    for (int64_t i = 0; i < args->x.rows && n > 0; ++i) {
        const real *row = x + i * args->x.ld;
        bool counts = mask == NULL || mask[i] != 0;
        const double times = weight != NULL ? (double)weight[i] : 1.0;
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
            const double of_label = log(sum) + highest - (1.0 - args->smoothing) * (double)row[label[i]];
            *loss += times * (of_label - (args->smoothing > 0.0 ? others * total : 0.0));
        }
        for (int64_t j = 0; dx != NULL && j < n; ++j) {
            double probability = exp((double)row[j] - highest) / sum;
            AT(dx, i, j) = counts ? (real)(times * args->scale *
                                           (probability - (label[i] == j ? 1.0 - args->smoothing : 0.0) - others))
                                  : (real)0;
        }
    }
    return WEFT_OK;
}

weft_status TYPED(ref_bce_logits)(const hal_bce_logits_args *args)
{
    const real *x = args->x.source;
    const float *target = args->target.source;
    const uint8_t *mask = args->mask.source;
    double *loss = args->loss.data;
    int64_t *count = args->count.data;
    real *dx = args->dx.data;
    int64_t entries = 0;
    EACH_ELEMENT(x) {
        double logit = (double)AT(x, i, j);
        double wanted = (double)AT(target, i, j);
        bool counts = (mask == NULL || mask[i] != 0) && !isnan(wanted);
        if (counts) {
            *loss += (logit > 0.0 ? logit : 0.0) - logit * wanted + log1p(exp(-fabs(logit)));
            entries += 1;
        }
        if (dx != NULL) {
            AT(dx, i, j) = counts ? (real)(args->scale * (1.0 / (1.0 + exp(-logit)) - wanted)) : (real)0;
        }
    }
    if (count != NULL) {
        *count += entries;
    }
    return WEFT_OK;
}

weft_status TYPED(ref_accuracy)(const hal_accuracy_args *args)
{
    int64_t n = args->x.cols;
    const real *x = args->x.source;
    const int32_t *label = args->label.source;
    const uint8_t *mask = args->mask.source;
    int64_t *counts = args->counts.data;
    for (int64_t i = 0; i < args->x.rows && n > 0; ++i) {
        if (mask != NULL && mask[i] == 0) {
            continue;
        }
        int64_t best = 0;
        for (int64_t j = 1; j < n; ++j) {
            best = AT(x, i, j) > AT(x, i, best) ? j : best;
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
    EACH_ELEMENT(y) {
        const double value = (double)AT(x, i, j);
        AT(y, i, j) = (real)(value > 0.0 ? value : expm1(value));
    }
    return WEFT_OK;
}

weft_status TYPED(ref_elu_backward)(const hal_elu_backward_args *args)
{
    const real *dy = args->dy.source;
    const real *y = args->y.source;
    real *dx = args->dx.data;
    EACH_ELEMENT(dx) {
        const double value = (double)AT(y, i, j);
        const double slope = value > 0.0 ? 1.0 : 1.0 + args->keep * value;
        AT(dx, i, j) = (real)((double)AT(dy, i, j) * slope);
    }
    return WEFT_OK;
}

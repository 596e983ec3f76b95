/* hal/ref/ref_optim_body.h: included by ref_optim.c once for each element type, named `real`. No include guard. */

weft_status TYPED(ref_adam)(const hal_adam_args *adam)
{
    int64_t n = adam->w.cols;
    real *w = adam->w.data;
    const real *g = adam->g.source;
    real *m = adam->m.data;
    real *v = adam->v.data;
    WEFT_CHECK(adam->step >= 1, WEFT_ERR_INTERNAL, "adam: step %ld; the first step is 1", (long)adam->step);
    assert(adam->w.rows <= 1);
    double correction1 = 1.0 - pow(adam->beta1, (double)adam->step);
    double correction2 = 1.0 - pow(adam->beta2, (double)adam->step);
    for (int64_t i = 0; i < n; ++i) {
        double gradient = (double)g[i] + adam->weight_decay * (double)w[i];
        double first = adam->beta1 * (double)m[i] + (1.0 - adam->beta1) * gradient;
        double second = adam->beta2 * (double)v[i] + (1.0 - adam->beta2) * gradient * gradient;
        double denominator = sqrt(second / correction2) + adam->epsilon;
        m[i] = (real)first;
        v[i] = (real)second;
        w[i] = (real)((double)w[i] - adam->lr * (first / correction1) / denominator);
    }
    return WEFT_OK;
}

weft_status TYPED(ref_adadelta)(const hal_adadelta_args *adadelta)
{
    real *w = adadelta->w.data;
    const real *g = adadelta->g.source;
    real *squares = adadelta->squares.data;
    real *moves = adadelta->moves.data;
    const double decay = adadelta->decay;
    assert(adadelta->w.rows <= 1);
    for (int64_t i = 0; i < adadelta->w.cols; ++i) {
        const double gradient = (double)g[i] + adadelta->weight_decay * (double)w[i];
        const double square = decay * (double)squares[i] + (1.0 - decay) * gradient * gradient;
        const double step = sqrt(((double)moves[i] + adadelta->epsilon) / (square + adadelta->epsilon)) * gradient;
        squares[i] = (real)square;
        moves[i] = (real)(decay * (double)moves[i] + (1.0 - decay) * step * step);
        w[i] = (real)((double)w[i] - adadelta->lr * step);
    }
    return WEFT_OK;
}

/* Without momentum the velocity is neither read nor written, and may be left out. */
weft_status TYPED(ref_sgd)(const hal_sgd_args *sgd)
{
    int64_t n = sgd->w.cols;
    real *w = sgd->w.data;
    const real *g = sgd->g.source;
    real *velocity = sgd->velocity.data;
    WEFT_CHECK(sgd->step >= 1, WEFT_ERR_INTERNAL, "sgd: step %ld; the first step is 1", (long)sgd->step);
    assert(sgd->w.rows <= 1);
    for (int64_t i = 0; i < n; ++i) {
        double step = (double)g[i] + sgd->weight_decay * (double)w[i];
        if (sgd->momentum != 0.0) {
            double buffer = sgd->step == 1 ? step : sgd->momentum * (double)velocity[i] + (1.0 - sgd->dampening) * step;
            velocity[i] = (real)buffer;
            step = sgd->nesterov ? step + sgd->momentum * buffer : buffer;
        }
        w[i] = (real)((double)w[i] - sgd->lr * step);
    }
    return WEFT_OK;
}

weft_status TYPED(ref_sum_squares)(const hal_sum_squares_args *args)
{
    const real *x = args->x.source;
    double sum = 0.0;
    assert(args->x.rows <= 1);
    for (int64_t i = 0; i < args->x.cols; ++i) {
        sum += (double)x[i] * (double)x[i];
    }
    *(double *)args->out.data = sum;
    return WEFT_OK;
}

weft_status TYPED(ref_lars)(const hal_lars_args *lars)
{
    int64_t n = lars->w.cols;
    real *w = lars->w.data;
    const real *g = lars->g.source;
    real *velocity = lars->velocity.data;
    double rate = lars->lr * hal_lars_ratio(lars);
    WEFT_CHECK(lars->step >= 1, WEFT_ERR_INTERNAL, "lars: step %ld; the first step is 1", (long)lars->step);
    assert(lars->w.rows <= 1);
    for (int64_t i = 0; i < n; ++i) {
        double step = rate * ((double)g[i] + lars->weight_decay * (double)w[i]);
        if (lars->momentum != 0.0) {
            step += lars->step == 1 ? 0.0 : lars->momentum * (double)velocity[i];
            velocity[i] = (real)step;
        }
        w[i] = (real)((double)w[i] - step);
    }
    return WEFT_OK;
}

/* hal/ref/ref_optim_body.h: included by ref_optim.c once for each element type, named `real`. No include guard. */

static void TYPED(adam)(int64_t n, const hal_adam *adam, real *w, const real *g, real *m, real *v)
{
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
}

/* The momentum buffer is neither read nor written when momentum is 0; momentum may then be NULL. */
static void TYPED(sgd)(int64_t n, const hal_sgd *sgd, real *w, const real *g, real *momentum)
{
    for (int64_t i = 0; i < n; ++i) {
        double step = (double)g[i] + sgd->weight_decay * (double)w[i];
        if (sgd->momentum != 0.0) {
            double buffer = sgd->step == 1 ? step : sgd->momentum * (double)momentum[i] + (1.0 - sgd->dampening) * step;
            momentum[i] = (real)buffer;
            step = sgd->nesterov ? step + sgd->momentum * buffer : buffer;
        }
        w[i] = (real)((double)w[i] - sgd->lr * step);
    }
}

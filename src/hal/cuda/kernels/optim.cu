/*
 * hal/cuda/kernels/optim.cu: the group optim of hal/ops.def; papers are named in hal/ref/ref_optim.c. One pass an
 * update, in the type of the parameters: 28 bytes a parameter for Adam, 20 for SGD with momentum.
 */
#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_fold.h"
#include "hal/cuda/kernels/cuda_kernels.h"

/* cuda_run_<name> of an update; steps count from 1. */
#define STEP_OP(name)                                                                                                  \
    int cuda_run_##name(cuda_queue *queue, const hal_##name##_args *a)                                                 \
    {                                                                                                                  \
        if (a->step < 1) {                                                                                             \
            return CUDA_ERROR_VALUE;                                                                                   \
        }                                                                                                              \
        return cuda_empty(a->w) ? CUDA_DONE : CUDA_BY_REAL(a->w.dtype, name, queue, a);                                \
    }

template <typename real> struct adam_step {
    real *w;
    const real *g;
    real *m, *v;
    int64_t n;
    real rate, beta1, beta2, rest1, rest2, correction2, epsilon, decay; /* rate: over the first moment's correction */
};

template <typename real> __global__ void adam_kernel(adam_step<real> s)
{
    for (int64_t i = cuda_first(); i < s.n; i += cuda_stride()) {
        const real w = s.w[i];
        const real g = s.g[i] + s.decay * w;
        const real m = s.beta1 * s.m[i] + s.rest1 * g;
        const real v = s.beta2 * s.v[i] + s.rest2 * g * g;
        s.m[i] = m;
        s.v[i] = v;
        s.w[i] = w - s.rate * m / (sqrt(v * s.correction2) + s.epsilon);
    }
}

template <typename real> static int adam(cuda_queue *queue, const hal_adam_args *a)
{
    const double correction1 = 1.0 - pow(a->beta1, (double)a->step);
    const double correction2 = 1.0 - pow(a->beta2, (double)a->step);
    const adam_step<real> step = {cuda_data<real>(a->w),
                                  cuda_data<real>(a->g),
                                  cuda_data<real>(a->m),
                                  cuda_data<real>(a->v),
                                  a->w.cols,
                                  (real)(a->lr / correction1),
                                  (real)a->beta1,
                                  (real)a->beta2,
                                  (real)(1.0 - a->beta1),
                                  (real)(1.0 - a->beta2),
                                  (real)(1.0 / correction2),
                                  (real)a->epsilon,
                                  (real)a->weight_decay};
    return cuda_launch(queue, cuda_lines(queue, step.n), adam_kernel<real>, step);
}

STEP_OP(adam)

template <typename real> struct adadelta_step {
    real *w;
    const real *g;
    real *squares, *moves;
    int64_t n;
    real rate, kept, taken, epsilon, decay; /* kept and taken: shares of a running mean and of what joins it */
};

template <typename real> __global__ void adadelta_kernel(adadelta_step<real> s)
{
    for (int64_t i = cuda_first(); i < s.n; i += cuda_stride()) {
        const real w = s.w[i];
        const real g = s.g[i] + s.decay * w;
        const real square = s.kept * s.squares[i] + s.taken * g * g;
        const real step = sqrt((s.moves[i] + s.epsilon) / (square + s.epsilon)) * g;
        s.squares[i] = square;
        s.moves[i] = s.kept * s.moves[i] + s.taken * step * step;
        s.w[i] = w - s.rate * step;
    }
}

template <typename real> static int adadelta(cuda_queue *queue, const hal_adadelta_args *a)
{
    const adadelta_step<real> step = {cuda_data<real>(a->w),
                                      cuda_data<real>(a->g),
                                      cuda_data<real>(a->squares),
                                      cuda_data<real>(a->moves),
                                      a->w.cols,
                                      (real)a->lr,
                                      (real)a->decay,
                                      (real)(1.0 - a->decay),
                                      (real)a->epsilon,
                                      (real)a->weight_decay};
    return cuda_launch(queue, cuda_lines(queue, step.n), adadelta_kernel<real>, step);
}

int cuda_run_adadelta(cuda_queue *queue, const hal_adadelta_args *a)
{
    return cuda_empty(a->w) ? CUDA_DONE : CUDA_BY_REAL(a->w.dtype, adadelta, queue, a);
}

template <typename real> struct sgd_step {
    real *w;
    const real *g;
    real *velocity; /* NULL without momentum */
    int64_t n;
    real rate, momentum, taken, decay; /* taken: of a gradient, after dampening */
    bool nesterov, first;
};

template <typename real> __global__ void sgd_kernel(sgd_step<real> s)
{
    for (int64_t i = cuda_first(); i < s.n; i += cuda_stride()) {
        const real w = s.w[i];
        real step = s.g[i] + s.decay * w;
        if (s.velocity != nullptr) {
            const real velocity = s.first ? step : s.momentum * s.velocity[i] + s.taken * step;
            s.velocity[i] = velocity;
            step = s.nesterov ? step + s.momentum * velocity : velocity;
        }
        s.w[i] = w - s.rate * step;
    }
}

template <typename real> static int sgd(cuda_queue *queue, const hal_sgd_args *a)
{
    const sgd_step<real> step = {cuda_data<real>(a->w),
                                 cuda_data<real>(a->g),
                                 a->momentum != 0.0 ? cuda_data<real>(a->velocity) : nullptr,
                                 a->w.cols,
                                 (real)a->lr,
                                 (real)a->momentum,
                                 (real)(1.0 - a->dampening),
                                 (real)a->weight_decay,
                                 a->nesterov,
                                 a->step == 1};
    return cuda_launch(queue, cuda_lines(queue, step.n), sgd_kernel<real>, step);
}

STEP_OP(sgd)

template <typename real> struct squares {
    typedef double value;
    const real *x;
    double *out;

    __device__ double zero() const
    {
        return 0.0;
    }
    __device__ void take(double &sum, int64_t i) const
    {
        sum += (double)x[i] * (double)x[i];
    }
    __device__ void join(double &sum, double other) const
    {
        sum += other;
    }
    __device__ void finish(double sum) const
    {
        *out = sum;
    }
};

template <typename real> static int sum_squares(cuda_queue *queue, const hal_sum_squares_args *a)
{
    return cuda_fold(queue, squares<real>{cuda_data<real>(a->x), cuda_data<double>(a->out)}, a->x.rows * a->x.cols);
}

int cuda_run_sum_squares(cuda_queue *queue, const hal_sum_squares_args *a)
{
    return CUDA_BY_REAL(a->x.dtype, sum_squares, queue, a);
}

template <typename real> struct lars_step {
    real *w;
    const real *g;
    real *velocity;      /* NULL without momentum */
    const double *norms; /* NULL: the ratio is 1 */
    int64_t n;
    double rate, trust, epsilon, weight_decay;
    real momentum;
    bool first;
};

/* hal_lars_ratio, where the norms are. */
template <typename real> static __device__ double lars_ratio(const lars_step<real> &s)
{
    const double w = s.norms != nullptr ? sqrt(s.norms[0]) : 0.0;
    const double g = s.norms != nullptr ? sqrt(s.norms[1]) : 0.0;
    return w > 0.0 && g > 0.0 ? s.trust * w / (g + s.weight_decay * w + s.epsilon) : 1.0;
}

template <typename real> __global__ void lars_kernel(lars_step<real> s)
{
    const real rate = (real)(s.rate * lars_ratio(s));
    const real decay = (real)s.weight_decay;
    for (int64_t i = cuda_first(); i < s.n; i += cuda_stride()) {
        const real w = s.w[i];
        real step = rate * (s.g[i] + decay * w);
        if (s.velocity != nullptr) {
            step += s.first ? (real)0 : s.momentum * s.velocity[i];
            s.velocity[i] = step;
        }
        s.w[i] = w - step;
    }
}

template <typename real> static int lars(cuda_queue *queue, const hal_lars_args *a)
{
    const lars_step<real> step = {cuda_data<real>(a->w),
                                  cuda_data<real>(a->g),
                                  a->momentum != 0.0 ? cuda_data<real>(a->velocity) : nullptr,
                                  cuda_data<double>(a->norms),
                                  a->w.cols,
                                  a->lr,
                                  a->trust,
                                  a->epsilon,
                                  a->weight_decay,
                                  (real)a->momentum,
                                  a->step == 1};
    return cuda_launch(queue, cuda_lines(queue, step.n), lars_kernel<real>, step);
}

STEP_OP(lars)

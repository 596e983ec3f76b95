/*
 * hal/cuda/kernels/nn.cu: the group nn of hal/ops.def but for losses (loss.cu) and what normalises rows (norm.cu): activations,
 * dropout with the bits of base/philox.h, and batch norm in two phases. A thread an element, in strides.
 */
#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_columns.h"
#include "hal/cuda/kernels/cuda_dropout.h"
#include "hal/cuda/kernels/cuda_kernels.h"

/* ---- activations ---------------------------------------------------------------------------------------------------- */

/* A NaN passes through ReLU, so that a diverging run is seen. */
template <typename cell>
__global__ void act_forward_kernel(cuda_mat<cell> x, cuda_mat<cell> y, bool relu, cuda_mask kept)
{
    for (int64_t at = cuda_first(); at < y.rows * y.cols; at += cuda_stride()) {
        const int64_t i = at / y.cols;
        const int64_t j = at % y.cols;
        cuda_real<cell> value = cuda_load(*x.at(i, j));
        value = relu && value < 0 ? 0 : value;
        cuda_store(y.at(i, j), cuda_keeps(kept, i, j) ? value * (cuda_real<cell>)kept.scale : 0);
    }
}

template <typename cell> static int act_forward(cuda_queue *queue, const hal_act_forward_args *a)
{
    return cuda_launch(queue, cuda_lines(queue, a->y.rows * a->y.cols), act_forward_kernel<cell>,
                       cuda_mat_of<cell>(a->x), cuda_mat_of<cell>(a->y), a->relu, cuda_mask_of(a->dropout));
}

int cuda_run_act_forward(cuda_queue *queue, const hal_act_forward_args *a)
{
    return cuda_empty(a->y) ? CUDA_DONE : CUDA_BY_DATA(a->y.dtype, act_forward, queue, a);
}

template <typename cell>
__global__ void act_backward_kernel(cuda_mat<cell> dy, cuda_mat<cell> y, cuda_mat<cell> dx, bool relu,
                                    cuda_mask kept)
{
    for (int64_t at = cuda_first(); at < dx.rows * dx.cols; at += cuda_stride()) {
        const int64_t i = at / dx.cols;
        const int64_t j = at % dx.cols;
        const bool passes = relu ? cuda_load(*y.at(i, j)) > 0 : cuda_keeps(kept, i, j);
        cuda_store(dx.at(i, j), passes ? cuda_load(*dy.at(i, j)) * (cuda_real<cell>)kept.scale : 0);
    }
}

template <typename cell> static int act_backward(cuda_queue *queue, const hal_act_backward_args *a)
{
    return cuda_launch(queue, cuda_lines(queue, a->dx.rows * a->dx.cols), act_backward_kernel<cell>,
                       cuda_mat_of<cell>(a->dy), cuda_mat_of<cell>(a->y), cuda_mat_of<cell>(a->dx), a->relu,
                       cuda_mask_of(a->dropout));
}

int cuda_run_act_backward(cuda_queue *queue, const hal_act_backward_args *a)
{
    return cuda_empty(a->dx) ? CUDA_DONE : CUDA_BY_DATA(a->dx.dtype, act_backward, queue, a);
}

template <typename real> __global__ void elu_forward_kernel(cuda_mat<real> x, cuda_mat<real> y)
{
    for (int64_t at = cuda_first(); at < y.rows * y.cols; at += cuda_stride()) {
        const real value = *x.at(at / y.cols, at % y.cols);
        *y.at(at / y.cols, at % y.cols) = value > 0 ? value : expm1(value);
    }
}

template <typename real> static int elu_forward(cuda_queue *queue, const hal_elu_forward_args *a)
{
    return cuda_launch(queue, cuda_lines(queue, a->y.rows * a->y.cols), elu_forward_kernel<real>,
                       cuda_mat_of<real>(a->x), cuda_mat_of<real>(a->y));
}

int cuda_run_elu_forward(cuda_queue *queue, const hal_elu_forward_args *a)
{
    return cuda_empty(a->y) ? CUDA_DONE : CUDA_BY_REAL(a->y.dtype, elu_forward, queue, a);
}

template <typename real>
__global__ void elu_backward_kernel(cuda_mat<real> dy, cuda_mat<real> y, cuda_mat<real> dx, real keep)
{
    for (int64_t at = cuda_first(); at < dx.rows * dx.cols; at += cuda_stride()) {
        const int64_t i = at / dx.cols;
        const int64_t j = at % dx.cols;
        const real value = *y.at(i, j);
        *dx.at(i, j) = *dy.at(i, j) * (value > 0 ? (real)1 : (real)1 + keep * value);
    }
}

template <typename real> static int elu_backward(cuda_queue *queue, const hal_elu_backward_args *a)
{
    return cuda_launch(queue, cuda_lines(queue, a->dx.rows * a->dx.cols), elu_backward_kernel<real>,
                       cuda_mat_of<real>(a->dy), cuda_mat_of<real>(a->y), cuda_mat_of<real>(a->dx), (real)a->keep);
}

int cuda_run_elu_backward(cuda_queue *queue, const hal_elu_backward_args *a)
{
    return cuda_empty(a->dx) ? CUDA_DONE : CUDA_BY_REAL(a->dx.dtype, elu_backward, queue, a);
}

/* ---- batch norm: S. Ioffe, C. Szegedy, ICML 2015, arXiv 1502.03167 ----------------------------------------------------- */

template <typename cell> struct moments {
    enum { SUMS = 2 };
    cuda_mat<cell> x;
    double *stats;

    __device__ void take(int64_t i, int64_t j, double *sum) const
    {
        const double value = (double)cuda_load(*x.at(i, j));
        sum[0] += value;
        sum[1] += value * value;
    }
    __device__ void finish(int64_t j, const double *sum) const
    {
        stats[j] = sum[0];
        stats[x.cols + j] = sum[1];
    }
};

template <typename cell> static int bn_stats(cuda_queue *queue, const hal_bn_stats_args *a)
{
    return cuda_columns(queue, moments<cell>{cuda_mat_of<cell>(a->x), cuda_data<double>(a->stats)}, a->x.rows,
                        a->x.cols);
}

int cuda_run_bn_stats(cuda_queue *queue, const hal_bn_stats_args *a)
{
    return CUDA_BY_DATA(a->x.dtype, bn_stats, queue, a);
}

template <typename real>
__global__ void bn_finish_kernel(const double *stats, real *mean, real *var, real *rstd, int64_t n, double count,
                                 double epsilon)
{
    for (int64_t j = cuda_first(); j < n; j += cuda_stride()) {
        const double centre = stats[j] / count;
        const double raw = stats[n + j] / count - centre * centre;
        const double spread = raw < 0.0 ? 0.0 : raw;
        mean[j] = (real)centre;
        var[j] = (real)spread;
        rstd[j] = (real)(1.0 / sqrt(spread + epsilon));
    }
}

template <typename real> static int bn_finish(cuda_queue *queue, const hal_bn_finish_args *a)
{
    return cuda_launch(queue, cuda_lines(queue, a->mean.cols), bn_finish_kernel<real>,
                       cuda_data<const double>(a->stats), cuda_data<real>(a->mean), cuda_data<real>(a->var),
                       cuda_data<real>(a->rstd), a->mean.cols, a->count, a->epsilon);
}

int cuda_run_bn_finish(cuda_queue *queue, const hal_bn_finish_args *a)
{
    return cuda_empty(a->mean) ? CUDA_DONE : CUDA_BY_REAL(a->mean.dtype, bn_finish, queue, a);
}

template <typename real> __global__ void bn_rstd_kernel(const real *var, real *rstd, int64_t n, double epsilon)
{
    for (int64_t j = cuda_first(); j < n; j += cuda_stride()) {
        rstd[j] = (real)(1.0 / sqrt((double)var[j] + epsilon));
    }
}

template <typename real> static int bn_rstd(cuda_queue *queue, const hal_bn_rstd_args *a)
{
    return cuda_launch(queue, cuda_lines(queue, a->var.cols), bn_rstd_kernel<real>, cuda_data<const real>(a->var),
                       cuda_data<real>(a->rstd), a->var.cols, a->epsilon);
}

int cuda_run_bn_rstd(cuda_queue *queue, const hal_bn_rstd_args *a)
{
    return cuda_empty(a->var) ? CUDA_DONE : CUDA_BY_REAL(a->var.dtype, bn_rstd, queue, a);
}

template <typename real>
__global__ void bn_gradients_kernel(const double *stats, real *dgamma, real *dbeta, int64_t n)
{
    for (int64_t j = cuda_first(); j < n; j += cuda_stride()) {
        dbeta[j] = (real)stats[j];
        dgamma[j] = (real)stats[n + j];
    }
}

template <typename real> static int bn_gradients(cuda_queue *queue, const hal_bn_gradients_args *a)
{
    return cuda_launch(queue, cuda_lines(queue, a->dbeta.cols), bn_gradients_kernel<real>,
                       cuda_data<const double>(a->stats), cuda_data<real>(a->dgamma), cuda_data<real>(a->dbeta),
                       a->dbeta.cols);
}

int cuda_run_bn_gradients(cuda_queue *queue, const hal_bn_gradients_args *a)
{
    return cuda_empty(a->dbeta) ? CUDA_DONE : CUDA_BY_REAL(a->dbeta.dtype, bn_gradients, queue, a);
}

/* gamma * xhat + beta, rounded after each step: forward and backward agree about the sign, whatever is fused elsewhere. */
static __device__ inline float normalised(float centred, float rstd, float gamma, float beta)
{
    return __fadd_rn(__fmul_rn(gamma, __fmul_rn(centred, rstd)), beta);
}

static __device__ inline double normalised(double centred, double rstd, double gamma, double beta)
{
    return __dadd_rn(__dmul_rn(gamma, __dmul_rn(centred, rstd)), beta);
}

template <typename real> struct norm_columns {
    const real *mean, *rstd, *gamma, *beta;
};

template <typename cell>
__global__ void bn_apply_kernel(cuda_mat<cell> x, norm_columns<cuda_real<cell>> by, cuda_mat<cell> residual,
                                cuda_mat<cell> y, bool relu)
{
    for (int64_t at = cuda_first(); at < y.rows * y.cols; at += cuda_stride()) {
        const int64_t i = at / y.cols;
        const int64_t j = at % y.cols;
        cuda_real<cell> value = normalised(cuda_load(*x.at(i, j)) - by.mean[j], by.rstd[j], by.gamma[j], by.beta[j]);
        value = residual.data != nullptr ? value + cuda_load(*residual.at(i, j)) : value;
        cuda_store(y.at(i, j), relu && value < 0 ? 0 : value);
    }
}

template <typename cell, typename args> static norm_columns<cuda_real<cell>> columns_of(const args *a)
{
    typedef const cuda_real<cell> real;
    return {cuda_data<real>(a->mean), cuda_data<real>(a->rstd), cuda_data<real>(a->gamma), cuda_data<real>(a->beta)};
}

template <typename cell> static int bn_apply(cuda_queue *queue, const hal_bn_apply_args *a)
{
    return cuda_launch(queue, cuda_lines(queue, a->y.rows * a->y.cols), bn_apply_kernel<cell>, cuda_mat_of<cell>(a->x),
                       columns_of<cell>(a), cuda_mat_of<cell>(a->residual), cuda_mat_of<cell>(a->y), a->relu);
}

int cuda_run_bn_apply(cuda_queue *queue, const hal_bn_apply_args *a)
{
    return cuda_empty(a->y) ? CUDA_DONE : CUDA_BY_DATA(a->y.dtype, bn_apply, queue, a);
}

template <typename cell> struct norm_sums {
    enum { SUMS = 2 };
    typedef cuda_real<cell> real;
    cuda_mat<cell> dy, share, x, y, counted;
    norm_columns<real> by;
    double *stats;
    bool relu;

    __device__ void take(int64_t i, int64_t j, double *sum) const
    {
        const real value = cuda_load(*x.at(i, j));
        bool passes = true;
        if (relu && y.data != nullptr) {
            passes = cuda_load(*y.at(i, j)) > 0;
        } else if (relu) {
            passes = cuda_rounded<cell>(normalised(value - by.mean[j], by.rstd[j], by.gamma[j], by.beta[j])) > 0;
        }
        real gradient = cuda_load(*dy.at(i, j));
        if (share.data != nullptr) {
            gradient = cuda_rounded<cell>(gradient + cuda_load(*share.at(i, j)));
        }
        gradient = passes ? gradient : 0;
        if (counted.data != nullptr) {
            cuda_store(counted.at(i, j), gradient);
        }
        sum[0] += (double)gradient;
        sum[1] += (double)gradient * (((double)value - (double)by.mean[j]) * (double)by.rstd[j]);
    }
    __device__ void finish(int64_t j, const double *sum) const
    {
        stats[j] = sum[0];
        stats[x.cols + j] = sum[1];
    }
};

template <typename cell> static int bn_backward_stats(cuda_queue *queue, const hal_bn_backward_stats_args *a)
{
    const norm_sums<cell> sums = {cuda_mat_of<cell>(a->dy),      cuda_mat_of<cell>(a->share), cuda_mat_of<cell>(a->x),
                                  cuda_mat_of<cell>(a->y),       cuda_mat_of<cell>(a->counted), columns_of<cell>(a),
                                  cuda_data<double>(a->stats),   a->relu};
    return cuda_columns(queue, sums, a->x.rows, a->x.cols);
}

int cuda_run_bn_backward_stats(cuda_queue *queue, const hal_bn_backward_stats_args *a)
{
    return CUDA_BY_DATA(a->x.dtype, bn_backward_stats, queue, a);
}

template <typename cell>
__global__ void bn_backward_apply_kernel(cuda_mat<cell> dy, cuda_mat<cell> x, norm_columns<cuda_real<cell>> by,
                                         const double *stats, cuda_mat<cell> dx, double count, bool relu)
{
    typedef cuda_real<cell> real;
    for (int64_t at = cuda_first(); at < dx.rows * dx.cols; at += cuda_stride()) {
        const int64_t i = at / dx.cols;
        const int64_t j = at % dx.cols;
        const real value = cuda_load(*x.at(i, j));
        const bool passes =
            !relu || cuda_rounded<cell>(normalised(value - by.mean[j], by.rstd[j], by.gamma[j], by.beta[j])) > 0;
        const double gradient = passes ? (double)cuda_load(*dy.at(i, j)) : 0.0;
        const double xhat = ((double)value - (double)by.mean[j]) * (double)by.rstd[j];
        const double balanced = gradient - stats[j] / count - xhat * stats[dx.cols + j] / count;
        cuda_store(dx.at(i, j), (real)((double)by.gamma[j] * (double)by.rstd[j] * balanced));
    }
}

template <typename cell> static int bn_backward_apply(cuda_queue *queue, const hal_bn_backward_apply_args *a)
{
    return cuda_launch(queue, cuda_lines(queue, a->dx.rows * a->dx.cols), bn_backward_apply_kernel<cell>,
                       cuda_mat_of<cell>(a->dy), cuda_mat_of<cell>(a->x), columns_of<cell>(a),
                       cuda_data<const double>(a->stats), cuda_mat_of<cell>(a->dx), a->count, a->relu);
}

int cuda_run_bn_backward_apply(cuda_queue *queue, const hal_bn_backward_apply_args *a)
{
    return cuda_empty(a->dx) ? CUDA_DONE : CUDA_BY_DATA(a->dx.dtype, bn_backward_apply, queue, a);
}

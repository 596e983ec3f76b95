/*
 * hal/cuda/kernels/nn.cu: the group nn of hal/ops.def but for losses (loss.cu) and what normalises rows (norm.cu):
 * activations, dropout with the bits of base/philox.h, and batch norm in two phases.
 */
#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_columns.h"
#include "hal/cuda/kernels/cuda_dropout.h"
#include "hal/cuda/kernels/cuda_kernels.h"
#include "hal/cuda/kernels/cuda_walk.h"

/* ---- activations ------------------------------------------------------------------------------------------------- */

enum { MASKED = 8 /* cells at once: those of one block of random words */ };

/* A NaN passes through ReLU, so that a diverging run is seen. */
template <typename cell> struct activation {
    typedef cuda_real<cell> real;
    cuda_mat<cell> x, y;
    bool relu;
    cuda_mask mask;

    template <int N> __device__ void cells(int64_t i, int64_t j, int n) const
    {
        cuda_pack<cell, N> to = cuda_get<N>(x.at(i, j), n);
        const unsigned kept = cuda_keeps_cells<N>(mask, i, j);
        for (int k = 0; k < N; ++k) {
            real value = cuda_load(to.at[k]);
            value = relu && value < 0 ? 0 : value;
            cuda_store(&to.at[k], (kept >> k & 1u) != 0 ? value * (real)mask.scale : 0);
        }
        cuda_put(y.at(i, j), to, n);
    }
};

template <typename cell> static int act_forward(cuda_queue *queue, const hal_act_forward_args *a)
{
    const activation<cell> f = {cuda_mat_of<cell>(a->x), cuda_mat_of<cell>(a->y), a->relu, cuda_mask_of(a->dropout)};
    return cuda_walk<MASKED>(queue, f, f.mask.on ? CUDA_BY_PLACE : CUDA_ANYWHERE, f.y, f.x);
}

CUDA_OP(act_forward, CUDA_BY_VALUE, y, act_forward, y)

/* The mask is drawn again without ReLU; with it the sign of y tells. */
template <typename cell> struct activation_gradient {
    typedef cuda_real<cell> real;
    cuda_mat<cell> dy, y, dx;
    bool relu;
    cuda_mask mask;

    template <int N> __device__ void cells(int64_t i, int64_t j, int n) const
    {
        cuda_pack<cell, N> to = cuda_get<N>(dy.at(i, j), n);
        unsigned passes = 0;
        if (relu) {
            const cuda_pack<cell, N> made = cuda_get<N>(y.at(i, j), n);
            for (int k = 0; k < N; ++k) {
                passes |= (cuda_load(made.at[k]) > 0 ? 1u : 0u) << k;
            }
        } else {
            passes = cuda_keeps_cells<N>(mask, i, j);
        }
        for (int k = 0; k < N; ++k) {
            cuda_store(&to.at[k], (passes >> k & 1u) != 0 ? cuda_load(to.at[k]) * (real)mask.scale : 0);
        }
        cuda_put(dx.at(i, j), to, n);
    }
};

template <typename cell> static int act_backward(cuda_queue *queue, const hal_act_backward_args *a)
{
    const activation_gradient<cell> f = {cuda_mat_of<cell>(a->dy), cuda_mat_of<cell>(a->y), cuda_mat_of<cell>(a->dx),
                                         a->relu, cuda_mask_of(a->dropout)};
    return cuda_walk<MASKED>(queue, f, f.mask.on && !f.relu ? CUDA_BY_PLACE : CUDA_ANYWHERE, f.dx, f.dy,
                             f.relu ? f.y : f.dx);
}

CUDA_OP(act_backward, CUDA_BY_VALUE, dx, act_backward, dx)

template <typename real> struct elu {
    cuda_mat<real> x, y;

    template <int N> __device__ void cells(int64_t i, int64_t j, int n) const
    {
        cuda_pack<real, N> to = cuda_get<N>(x.at(i, j), n);
        for (int k = 0; k < N; ++k) {
            to.at[k] = to.at[k] > 0 ? to.at[k] : expm1(to.at[k]);
        }
        cuda_put(y.at(i, j), to, n);
    }
};

template <typename real> static int elu_forward(cuda_queue *queue, const hal_elu_forward_args *a)
{
    const elu<real> f = {cuda_mat_of<real>(a->x), cuda_mat_of<real>(a->y)};
    return cuda_walk<cuda_cells_at_once<real>()>(queue, f, CUDA_ANYWHERE, f.y, f.x);
}

CUDA_OP(elu_forward, CUDA_BY_REAL, y, elu_forward, y)

template <typename real> struct elu_gradient {
    cuda_mat<real> dy, y, dx;
    real keep;

    template <int N> __device__ void cells(int64_t i, int64_t j, int n) const
    {
        const cuda_pack<real, N> made = cuda_get<N>(y.at(i, j), n);
        cuda_pack<real, N> to = cuda_get<N>(dy.at(i, j), n);
        for (int k = 0; k < N; ++k) {
            to.at[k] *= made.at[k] > 0 ? (real)1 : (real)1 + keep * made.at[k];
        }
        cuda_put(dx.at(i, j), to, n);
    }
};

template <typename real> static int elu_backward(cuda_queue *queue, const hal_elu_backward_args *a)
{
    const elu_gradient<real> f = {cuda_mat_of<real>(a->dy), cuda_mat_of<real>(a->y), cuda_mat_of<real>(a->dx),
                                  (real)a->keep};
    return cuda_walk<cuda_cells_at_once<real>()>(queue, f, CUDA_ANYWHERE, f.dx, f.dy, f.y);
}

CUDA_OP(elu_backward, CUDA_BY_REAL, dx, elu_backward, dx)

/* ---- batch norm: S. Ioffe, C. Szegedy, ICML 2015, arXiv 1502.03167 ----------------------------------------------- */

template <typename cell> struct moments : cuda_one_matrix<cell> {
    enum { SUMS = 2 };
    double *stats;

    template <int N>
    __device__ void take(int64_t, int64_t, const cuda_no_column &, const cuda_held<cell, N> &in, double (&sum)[SUMS * N]) const
    {
        const cuda_pack<cell, N> from = in.cells();
        for (int k = 0; k < N; ++k) {
            const double value = (double)cuda_load(from.at[k]);
            sum[k] += value;
            sum[N + k] += value * value;
        }
    }
    __device__ void finish(int64_t j, const double *sum) const
    {
        stats[j] = sum[0];
        stats[this->x.cols + j] = sum[1];
    }
};

template <typename cell> static int bn_stats(cuda_queue *queue, const hal_bn_stats_args *a)
{
    const moments<cell> f = {{cuda_mat_of<cell>(a->x)}, cuda_data<double>(a->stats)};
    return cuda_columns<CUDA_DOWN<cell>>(queue, f, f.x);
}

int cuda_run_bn_stats(cuda_queue *queue, const hal_bn_stats_args *a)
{
    return CUDA_BY_VALUE(a->x.dtype, bn_stats, queue, a);
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

CUDA_OP(bn_finish, CUDA_BY_REAL, mean, bn_finish, mean)

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

CUDA_OP(bn_rstd, CUDA_BY_REAL, var, bn_rstd, var)

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

CUDA_OP(bn_gradients, CUDA_BY_REAL, dbeta, bn_gradients, dbeta)

/* gamma * xhat + beta, rounded after each step: forward and backward agree about the sign, whatever is fused
 * elsewhere. */
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

/* Of N columns. */
template <typename real, int N> struct norm_cells {
    cuda_pack<real, N> mean, rstd, gamma, beta;
};

/* Of columns j .. j + N - 1; gamma and beta where they are needed: they may be left out. */
template <int N, typename real>
static __device__ inline norm_cells<real, N> norm_of(const norm_columns<real> &by, int64_t j, bool with_gamma,
                                                     bool with_beta)
{
    norm_cells<real, N> made = {};
    for (int k = 0; k < N; ++k) {
        made.mean.at[k] = by.mean[j + k];
        made.rstd.at[k] = by.rstd[j + k];
        made.gamma.at[k] = with_gamma ? by.gamma[j + k] : 0;
        made.beta.at[k] = with_beta ? by.beta[j + k] : 0;
    }
    return made;
}

template <typename cell> struct normalisation {
    typedef cuda_real<cell> real;
    template <int N> using column = norm_cells<real, N>;
    template <int N> struct cells {
        cuda_held<cell, N> x, residual;
    };
    cuda_mat<cell> x, residual, y; /* residual is x where there is none */
    norm_columns<real> by;
    bool adds, relu;

    template <int N> __device__ column<N> of(int64_t j) const
    {
        return norm_of<N>(by, j, true, true);
    }
    template <int N> __device__ cells<N> read(int64_t i, int64_t j) const
    {
        return {cuda_hold<N>(x.at(i, j)), cuda_hold<N>(residual.at(i, j))};
    }
    template <int N>
    __device__ void take(int64_t i, int64_t j, const column<N> &norm, const cells<N> &in) const
    {
        const cuda_pack<cell, N> added = in.residual.cells();
        cuda_pack<cell, N> to = in.x.cells();
        for (int k = 0; k < N; ++k) {
            const real centred = cuda_load(to.at[k]) - norm.mean.at[k];
            real value = normalised(centred, norm.rstd.at[k], norm.gamma.at[k], norm.beta.at[k]);
            value = adds ? value + cuda_load(added.at[k]) : value;
            cuda_store(&to.at[k], relu && value < 0 ? 0 : value);
        }
        cuda_put(y.at(i, j), to, N);
    }
};

template <typename cell, typename args> static norm_columns<cuda_real<cell>> columns_of(const args *a)
{
    typedef const cuda_real<cell> real;
    return {cuda_data<real>(a->mean), cuda_data<real>(a->rstd), cuda_data<real>(a->gamma), cuda_data<real>(a->beta)};
}

template <typename cell> static int bn_apply(cuda_queue *queue, const hal_bn_apply_args *a)
{
    const bool adds = a->residual.data != nullptr;
    const normalisation<cell> f = {cuda_mat_of<cell>(a->x),
                                   cuda_mat_of<cell>(adds ? a->residual : a->x),
                                   cuda_mat_of<cell>(a->y),
                                   columns_of<cell>(a),
                                   adds,
                                   a->relu};
    return cuda_down<CUDA_DOWN<cell>>(queue, f, f.y, f.x, f.residual);
}

CUDA_OP(bn_apply, CUDA_BY_VALUE, y, bn_apply, y)

template <typename cell> struct norm_sums {
    enum { SUMS = 2 };
    typedef cuda_real<cell> real;
    template <int N> using column = norm_cells<real, N>;
    template <int N> struct cells {
        cuda_held<cell, N> dy, share, x, y;
    };
    cuda_mat<cell> dy, share, x, y, counted; /* share and y are x where they are not asked for */
    norm_columns<real> by;
    double *stats;
    bool shares, relu, by_y; /* by_y: ReLU passed what y has */

    template <int N> __device__ column<N> of(int64_t j) const
    {
        const bool needed = relu && !by_y;
        return norm_of<N>(by, j, needed, needed);
    }
    template <int N> __device__ cells<N> read(int64_t i, int64_t j) const
    {
        return {cuda_hold<N>(dy.at(i, j)), cuda_hold<N>(share.at(i, j)), cuda_hold<N>(x.at(i, j)),
                cuda_hold<N>(y.at(i, j))};
    }
    template <int N>
    __device__ void take(int64_t i, int64_t j, const column<N> &norm, const cells<N> &in, double (&sum)[SUMS * N]) const
    {
        const cuda_pack<cell, N> values = in.x.cells();
        const cuda_pack<cell, N> made = in.y.cells();
        const cuda_pack<cell, N> added = in.share.cells();
        cuda_pack<cell, N> counts = in.dy.cells();
        for (int k = 0; k < N; ++k) {
            const real value = cuda_load(values.at[k]);
            bool passes = true;
            if (relu && by_y) {
                passes = cuda_load(made.at[k]) > 0;
            } else if (relu) {
                passes = cuda_rounded<cell>(normalised(value - norm.mean.at[k], norm.rstd.at[k], norm.gamma.at[k],
                                                       norm.beta.at[k])) > 0;
            }
            real gradient = cuda_load(counts.at[k]);
            if (shares) {
                gradient = cuda_rounded<cell>(gradient + cuda_load(added.at[k]));
            }
            gradient = passes ? gradient : 0;
            cuda_store(&counts.at[k], gradient);
            sum[k] += (double)gradient;
            sum[N + k] += (double)gradient * ((double)value - (double)norm.mean.at[k]); /* by rstd when all are added */
        }
        if (counted.data != nullptr) {
            cuda_put(counted.at(i, j), counts, N);
        }
    }
    __device__ void finish(int64_t j, const double *sum) const
    {
        stats[j] = sum[0];
        stats[x.cols + j] = sum[1] * (double)by.rstd[j];
    }
};

template <typename cell> static int bn_backward_stats(cuda_queue *queue, const hal_bn_backward_stats_args *a)
{
    const bool shares = a->share.data != nullptr;
    const bool by_y = a->relu && a->y.data != nullptr; /* else it is not read */
    const norm_sums<cell> f = {cuda_mat_of<cell>(a->dy),
                               cuda_mat_of<cell>(shares ? a->share : a->x),
                               cuda_mat_of<cell>(a->x),
                               cuda_mat_of<cell>(by_y ? a->y : a->x),
                               cuda_mat_of<cell>(a->counted),
                               columns_of<cell>(a),
                               cuda_data<double>(a->stats),
                               shares,
                               a->relu,
                               by_y};
    return cuda_columns<CUDA_DOWN<cell>>(queue, f, f.x, f.dy, f.share, f.y, f.counted);
}

int cuda_run_bn_backward_stats(cuda_queue *queue, const hal_bn_backward_stats_args *a)
{
    return CUDA_BY_VALUE(a->x.dtype, bn_backward_stats, queue, a);
}

template <typename cell> struct normalisation_gradient {
    typedef cuda_real<cell> real;
    template <int N> struct column {
        norm_cells<real, N> norm;
        cuda_pack<real, N> sum, product; /* a row's share of them */
    };
    template <int N> struct cells {
        cuda_held<cell, N> dy, x;
    };
    cuda_mat<cell> dy, x, dx;
    norm_columns<real> by;
    const double *stats;
    double share; /* of a row in the sums */
    bool relu;

    template <int N> __device__ column<N> of(int64_t j) const
    {
        column<N> made = {norm_of<N>(by, j, true, relu), {}, {}};
        for (int k = 0; k < N; ++k) {
            made.sum.at[k] = (real)(stats[j + k] * share);
            made.product.at[k] = (real)(stats[dx.cols + j + k] * share);
        }
        return made;
    }
    template <int N> __device__ cells<N> read(int64_t i, int64_t j) const
    {
        return {cuda_hold<N>(dy.at(i, j)), cuda_hold<N>(x.at(i, j))};
    }
    template <int N> __device__ void take(int64_t i, int64_t j, const column<N> &of, const cells<N> &in) const
    {
        const cuda_pack<cell, N> values = in.x.cells();
        cuda_pack<cell, N> to = in.dy.cells();
        for (int k = 0; k < N; ++k) {
            const real rstd = of.norm.rstd.at[k];
            const real gamma = of.norm.gamma.at[k];
            const real centred = cuda_load(values.at[k]) - of.norm.mean.at[k];
            const bool passes = !relu || cuda_rounded<cell>(normalised(centred, rstd, gamma, of.norm.beta.at[k])) > 0;
            const real gradient = passes ? cuda_load(to.at[k]) : 0;
            const real balanced = gradient - of.sum.at[k] - centred * rstd * of.product.at[k];
            cuda_store(&to.at[k], gamma * rstd * balanced);
        }
        cuda_put(dx.at(i, j), to, N);
    }
};

template <typename cell> static int bn_backward_apply(cuda_queue *queue, const hal_bn_backward_apply_args *a)
{
    const normalisation_gradient<cell> f = {
        cuda_mat_of<cell>(a->dy), cuda_mat_of<cell>(a->x),           cuda_mat_of<cell>(a->dx),
        columns_of<cell>(a),      cuda_data<const double>(a->stats), 1.0 / a->count,
        a->relu};
    return cuda_down<CUDA_DOWN<cell>>(queue, f, f.dx, f.dy, f.x);
}

CUDA_OP(bn_backward_apply, CUDA_BY_VALUE, dx, bn_backward_apply, dx)

/* hal/cuda/kernels/norm.cu: layer norm, a warp a row; sums in double. */
#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_columns.h"
#include "hal/cuda/kernels/cuda_kernels.h"

/* The sum over the lanes of a warp, in all of them: by halves, in one order. */
static __device__ inline double warp_sum(double x)
{
    for (int half = CUDA_WARP / 2; half > 0; half /= 2) {
        x += __shfl_xor_sync(0xffffffffu, x, half);
    }
    return x;
}

template <typename cell>
__global__ void ln_forward_kernel(cuda_mat<cell> x, const cuda_real<cell> *gamma, const cuda_real<cell> *beta,
                                  cuda_real<cell> *saved, cuda_mat<cell> y, double epsilon)
{
    typedef cuda_real<cell> real;
    const int64_t i = cuda_row();
    const int64_t n = y.cols;
    double sum = 0.0;
    double squares = 0.0;
    if (i >= y.rows) {
        return;
    }
    for (int64_t j = cuda_lane(); j < n; j += CUDA_WARP) {
        sum += (double)cuda_load(*x.at(i, j));
    }
    const double mean = warp_sum(sum) / (double)n;
    for (int64_t j = cuda_lane(); j < n; j += CUDA_WARP) {
        const double centred = (double)cuda_load(*x.at(i, j)) - mean;
        squares += centred * centred;
    }
    const double rstd = 1.0 / sqrt(warp_sum(squares) / (double)n + epsilon);
    if (cuda_lane() == 0) {
        saved[2 * i] = (real)mean;
        saved[2 * i + 1] = (real)rstd;
    }
    for (int64_t j = cuda_lane(); j < n; j += CUDA_WARP) {
        const double xhat = ((double)cuda_load(*x.at(i, j)) - mean) * rstd;
        cuda_store(y.at(i, j), (real)((double)gamma[j] * xhat + (double)beta[j]));
    }
}

template <typename cell> static int ln_forward(cuda_queue *queue, const hal_ln_forward_args *a)
{
    typedef cuda_real<cell> real;
    return cuda_launch_teams(queue, cuda_rows(a->y.rows), ln_forward_kernel<cell>, cuda_mat_of<cell>(a->x),
                             cuda_data<const real>(a->gamma), cuda_data<const real>(a->beta), cuda_data<real>(a->saved),
                             cuda_mat_of<cell>(a->y), a->epsilon);
}

int cuda_run_ln_forward(cuda_queue *queue, const hal_ln_forward_args *a)
{
    return cuda_empty(a->y) ? CUDA_DONE : CUDA_BY_DATA(a->y.dtype, ln_forward, queue, a);
}

template <typename cell> struct row_norm_sums {
    enum { SUMS = 2 };
    typedef cuda_real<cell> real;
    cuda_mat<cell> dy, x;
    const real *saved;
    real *dgamma, *dbeta;

    __device__ void take(int64_t i, int64_t j, double *sum) const
    {
        const double gradient = (double)cuda_load(*dy.at(i, j));
        sum[0] += gradient * (((double)cuda_load(*x.at(i, j)) - (double)saved[2 * i]) * (double)saved[2 * i + 1]);
        sum[1] += gradient;
    }
    __device__ void finish(int64_t j, const double *sum) const
    {
        dgamma[j] = (real)((double)dgamma[j] + sum[0]);
        dbeta[j] = (real)((double)dbeta[j] + sum[1]);
    }
};

template <typename cell>
__global__ void ln_backward_kernel(cuda_mat<cell> dy, cuda_mat<cell> x, const cuda_real<cell> *gamma,
                                   const cuda_real<cell> *saved, cuda_mat<cell> dx)
{
    typedef cuda_real<cell> real;
    const int64_t i = cuda_row();
    const int64_t n = dx.cols;
    double sum = 0.0;
    double products = 0.0;
    if (i >= dx.rows) {
        return;
    }
    const double mean = (double)saved[2 * i];
    const double rstd = (double)saved[2 * i + 1];
    for (int64_t j = cuda_lane(); j < n; j += CUDA_WARP) {
        const double scaled = (double)gamma[j] * (double)cuda_load(*dy.at(i, j));
        sum += scaled;
        products += scaled * ((double)cuda_load(*x.at(i, j)) - mean) * rstd;
    }
    sum = warp_sum(sum);
    products = warp_sum(products);
    for (int64_t j = cuda_lane(); j < n; j += CUDA_WARP) {
        const double xhat = ((double)cuda_load(*x.at(i, j)) - mean) * rstd;
        const double scaled = (double)gamma[j] * (double)cuda_load(*dy.at(i, j));
        cuda_store(dx.at(i, j), (real)(rstd * (scaled - sum / (double)n - xhat * products / (double)n)));
    }
}

/* Columns first: dx may overwrite dy. */
template <typename cell> static int ln_backward(cuda_queue *queue, const hal_ln_backward_args *a)
{
    typedef cuda_real<cell> real;
    const row_norm_sums<cell> sums = {cuda_mat_of<cell>(a->dy), cuda_mat_of<cell>(a->x),
                                      cuda_data<const real>(a->saved), cuda_data<real>(a->dgamma),
                                      cuda_data<real>(a->dbeta)};
    CUDA_TRY(cuda_columns(queue, sums, a->dx.rows, a->dx.cols));
    return cuda_launch_teams(queue, cuda_rows(a->dx.rows), ln_backward_kernel<cell>, cuda_mat_of<cell>(a->dy),
                             cuda_mat_of<cell>(a->x), cuda_data<const real>(a->gamma), cuda_data<const real>(a->saved),
                             cuda_mat_of<cell>(a->dx));
}

int cuda_run_ln_backward(cuda_queue *queue, const hal_ln_backward_args *a)
{
    return cuda_empty(a->dx) ? CUDA_DONE : CUDA_BY_DATA(a->dx.dtype, ln_backward, queue, a);
}

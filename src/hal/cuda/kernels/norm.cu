/* hal/cuda/kernels/norm.cu: layer norm, a team of lanes a row; sums in double. */
#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_columns.h"
#include "hal/cuda/kernels/cuda_kernels.h"
#include "hal/cuda/kernels/cuda_row.h"

/* For rows of n columns: a lane has about four elements. */
static cuda_row_team norm_team(int64_t n)
{
    return cuda_row_team_of(cuda_pieces(n, 4));
}

template <typename cell>
__global__ void __launch_bounds__(CUDA_BLOCK)
    ln_forward_kernel(cuda_row_team team, cuda_mat<cell> x, const cuda_real<cell> *gamma, const cuda_real<cell> *beta,
                      cuda_real<cell> *saved, cuda_mat<cell> y, double share, double epsilon)
{
    typedef cuda_real<cell> real;
    const int64_t i = team.row();
    const int64_t n = i < y.rows ? y.cols : 0;
    double sum = 0.0;
    double squares = 0.0;
    for (int64_t j = team.lane(); j < n; j += team.lanes) {
        sum += (double)cuda_load(*x.at(i, j));
    }
    const double mean = team.joined(cuda_sum(), sum) * share;
    for (int64_t j = team.lane(); j < n; j += team.lanes) {
        const double centred = (double)cuda_load(*x.at(i, j)) - mean;
        squares += centred * centred;
    }
    const double rstd = 1.0 / sqrt(team.joined(cuda_sum(), squares) * share + epsilon);
    if (n > 0 && team.lane() == 0) {
        saved[2 * i] = (real)mean;
        saved[2 * i + 1] = (real)rstd;
    }
    for (int64_t j = team.lane(); j < n; j += team.lanes) {
        const double xhat = ((double)cuda_load(*x.at(i, j)) - mean) * rstd;
        cuda_store(y.at(i, j), (real)((double)gamma[j] * xhat + (double)beta[j]));
    }
}

template <typename cell> static int ln_forward(cuda_queue *queue, const hal_ln_forward_args *a)
{
    typedef cuda_real<cell> real;
    const cuda_row_team team = norm_team(a->y.cols);
    return cuda_launch_teams(queue, cuda_team_grid(team, a->y.rows), ln_forward_kernel<cell>, team, cuda_mat_of<cell>(a->x),
                             cuda_data<const real>(a->gamma), cuda_data<const real>(a->beta), cuda_data<real>(a->saved),
                             cuda_mat_of<cell>(a->y), 1.0 / (double)a->y.cols, a->epsilon);
}

CUDA_OP(ln_forward, CUDA_BY_VALUE, y, ln_forward, y)

template <typename cell> struct row_norm_sums {
    enum { SUMS = 2 };
    typedef cuda_real<cell> real;
    template <int N> using column = cuda_no_column;
    template <int N> struct cells {
        cuda_held<cell, N> dy, x;
        real mean, rstd;
    };
    cuda_mat<cell> dy, x;
    const real *saved;
    real *dgamma, *dbeta;

    template <int N> __device__ cuda_no_column of(int64_t) const
    {
        return {};
    }
    template <int N> __device__ cells<N> read(int64_t i, int64_t j) const
    {
        return {cuda_hold<N>(dy.at(i, j)), cuda_hold<N>(x.at(i, j)), saved[2 * i], saved[2 * i + 1]};
    }
    template <int N>
    __device__ void take(int64_t, int64_t, const cuda_no_column &, const cells<N> &in, double (&sum)[SUMS * N]) const
    {
        const cuda_pack<cell, N> gradients = in.dy.cells();
        const cuda_pack<cell, N> values = in.x.cells();
        for (int k = 0; k < N; ++k) {
            const double gradient = (double)cuda_load(gradients.at[k]);
            sum[k] += gradient * (((double)cuda_load(values.at[k]) - (double)in.mean) * (double)in.rstd);
            sum[N + k] += gradient;
        }
    }
    __device__ void finish(int64_t j, const double *sum) const
    {
        dgamma[j] = (real)((double)dgamma[j] + sum[0]);
        dbeta[j] = (real)((double)dbeta[j] + sum[1]);
    }
};

template <typename cell>
__global__ void __launch_bounds__(CUDA_BLOCK)
    ln_backward_kernel(cuda_row_team team, cuda_mat<cell> dy, cuda_mat<cell> x, const cuda_real<cell> *gamma,
                       const cuda_real<cell> *saved, cuda_mat<cell> dx, double share)
{
    typedef cuda_real<cell> real;
    const int64_t i = team.row();
    const int64_t n = i < dx.rows ? dx.cols : 0;
    const double mean = n > 0 ? (double)saved[2 * i] : 0.0;
    const double rstd = n > 0 ? (double)saved[2 * i + 1] : 0.0;
    double sum = 0.0;
    double products = 0.0;
    for (int64_t j = team.lane(); j < n; j += team.lanes) {
        const double scaled = (double)gamma[j] * (double)cuda_load(*dy.at(i, j));
        sum += scaled;
        products += scaled * ((double)cuda_load(*x.at(i, j)) - mean) * rstd;
    }
    sum = team.joined(cuda_sum(), sum) * share;
    products = team.joined(cuda_sum(), products) * share;
    for (int64_t j = team.lane(); j < n; j += team.lanes) {
        const double xhat = ((double)cuda_load(*x.at(i, j)) - mean) * rstd;
        const double scaled = (double)gamma[j] * (double)cuda_load(*dy.at(i, j));
        cuda_store(dx.at(i, j), (real)(rstd * (scaled - sum - xhat * products)));
    }
}

/* Columns first: dx may overwrite dy. */
template <typename cell> static int ln_backward(cuda_queue *queue, const hal_ln_backward_args *a)
{
    typedef cuda_real<cell> real;
    const row_norm_sums<cell> sums = {cuda_mat_of<cell>(a->dy), cuda_mat_of<cell>(a->x),
                                      cuda_data<const real>(a->saved), cuda_data<real>(a->dgamma),
                                      cuda_data<real>(a->dbeta)};
    CUDA_TRY(cuda_columns<CUDA_DOWN<cell>>(queue, sums, sums.x, sums.dy));
    const cuda_row_team team = norm_team(a->dx.cols);
    return cuda_launch_teams(queue, cuda_team_grid(team, a->dx.rows), ln_backward_kernel<cell>, team, cuda_mat_of<cell>(a->dy),
                             cuda_mat_of<cell>(a->x), cuda_data<const real>(a->gamma), cuda_data<const real>(a->saved),
                             cuda_mat_of<cell>(a->dx), 1.0 / (double)a->dx.cols);
}

CUDA_OP(ln_backward, CUDA_BY_VALUE, dx, ln_backward, dx)

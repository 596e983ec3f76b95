/* hal/cuda/kernels/group_norm.cu: group norm of images, a team of lanes a group of an image; sums in double. */
#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_columns.h"
#include "hal/cuda/kernels/cuda_kernels.h"
#include "hal/cuda/kernels/cuda_row.h"

/* How rows of images are divided: group `at` is columns of one image's rows, `count` cells. */
struct image_groups {
    int64_t pixels, groups, width, all;

    __device__ int64_t count() const
    {
        return pixels * width;
    }
    __device__ int64_t row(int64_t at, int64_t k) const
    {
        return at / groups * pixels + k / width;
    }
    __device__ int64_t col(int64_t at, int64_t k) const
    {
        return at % groups * width + k % width;
    }
    /* The group that a cell belongs to. */
    __device__ int64_t of(int64_t i, int64_t j) const
    {
        return i / pixels * groups + j / width;
    }
};

static image_groups groups_of(const hal_mat &x, int64_t pixels, int64_t groups)
{
    return {pixels, groups, x.cols / groups, x.rows / pixels * groups};
}

template <typename cell>
__global__ void __launch_bounds__(CUDA_BLOCK)
    gn_forward_kernel(cuda_row_team team, image_groups groups, cuda_mat<cell> x, const cuda_real<cell> *gamma,
                      const cuda_real<cell> *beta, cuda_real<cell> *saved, cuda_mat<cell> y, double epsilon)
{
    typedef cuda_real<cell> real;
    const int64_t at = team.row();
    const int64_t n = at < groups.all ? groups.count() : 0;
    const double share = 1.0 / (double)groups.count();
    double sum = 0.0;
    double squares = 0.0;
    for (int64_t k = team.lane(); k < n; k += team.lanes) {
        sum += (double)cuda_load(*x.at(groups.row(at, k), groups.col(at, k)));
    }
    const double mean = team.joined(cuda_sum(), sum) * share;
    for (int64_t k = team.lane(); k < n; k += team.lanes) {
        const double centred = (double)cuda_load(*x.at(groups.row(at, k), groups.col(at, k))) - mean;
        squares += centred * centred;
    }
    const double rstd = 1.0 / sqrt(team.joined(cuda_sum(), squares) * share + epsilon);
    if (n > 0 && team.lane() == 0) {
        saved[2 * at] = (real)mean;
        saved[2 * at + 1] = (real)rstd;
    }
    for (int64_t k = team.lane(); k < n; k += team.lanes) {
        const int64_t i = groups.row(at, k), j = groups.col(at, k);
        const double xhat = ((double)cuda_load(*x.at(i, j)) - mean) * rstd;
        cuda_store(y.at(i, j), (real)((double)gamma[j] * xhat + (double)beta[j]));
    }
}

template <typename cell> static int gn_forward(cuda_queue *queue, const hal_gn_forward_args *a)
{
    typedef cuda_real<cell> real;
    const image_groups groups = groups_of(a->y, a->pixels, a->groups);
    const cuda_row_team team = cuda_row_team_of(a->pixels * groups.width);
    return cuda_launch_teams(queue, cuda_team_grid(team, groups.all), gn_forward_kernel<cell>, team, groups,
                             cuda_mat_of<cell>(a->x), cuda_data<const real>(a->gamma), cuda_data<const real>(a->beta),
                             cuda_data<real>(a->saved), cuda_mat_of<cell>(a->y), a->epsilon);
}

CUDA_OP(gn_forward, CUDA_BY_VALUE, y, gn_forward, y)

template <typename cell> struct group_norm_sums {
    enum { SUMS = 2 };
    typedef cuda_real<cell> real;
    template <int N> using column = cuda_no_column;
    template <int N> struct cells {
        cuda_held<cell, N> dy, x;
    };
    image_groups groups;
    cuda_mat<cell> dy, x;
    const real *saved;
    real *dgamma, *dbeta;

    template <int N> __device__ cuda_no_column of(int64_t) const
    {
        return {};
    }
    template <int N> __device__ cells<N> read(int64_t i, int64_t j) const
    {
        return {cuda_hold<N>(dy.at(i, j)), cuda_hold<N>(x.at(i, j))};
    }
    template <int N>
    __device__ void take(int64_t i, int64_t j, const cuda_no_column &, const cells<N> &in, double (&sum)[SUMS * N]) const
    {
        const cuda_pack<cell, N> gradients = in.dy.cells();
        const cuda_pack<cell, N> values = in.x.cells();
        for (int k = 0; k < N; ++k) {
            const real *of = saved + 2 * groups.of(i, j + k);
            const double gradient = (double)cuda_load(gradients.at[k]);
            sum[k] += gradient * (((double)cuda_load(values.at[k]) - (double)of[0]) * (double)of[1]);
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
    gn_backward_kernel(cuda_row_team team, image_groups groups, cuda_mat<cell> dy, cuda_mat<cell> x,
                       const cuda_real<cell> *gamma, const cuda_real<cell> *saved, cuda_mat<cell> dx)
{
    typedef cuda_real<cell> real;
    const int64_t at = team.row();
    const int64_t n = at < groups.all ? groups.count() : 0;
    const double share = 1.0 / (double)groups.count();
    const double mean = n > 0 ? (double)saved[2 * at] : 0.0;
    const double rstd = n > 0 ? (double)saved[2 * at + 1] : 0.0;
    double sum = 0.0;
    double products = 0.0;
    for (int64_t k = team.lane(); k < n; k += team.lanes) {
        const int64_t i = groups.row(at, k), j = groups.col(at, k);
        const double scaled = (double)gamma[j] * (double)cuda_load(*dy.at(i, j));
        sum += scaled;
        products += scaled * ((double)cuda_load(*x.at(i, j)) - mean) * rstd;
    }
    sum = team.joined(cuda_sum(), sum) * share;
    products = team.joined(cuda_sum(), products) * share;
    for (int64_t k = team.lane(); k < n; k += team.lanes) {
        const int64_t i = groups.row(at, k), j = groups.col(at, k);
        const double xhat = ((double)cuda_load(*x.at(i, j)) - mean) * rstd;
        const double scaled = (double)gamma[j] * (double)cuda_load(*dy.at(i, j));
        cuda_store(dx.at(i, j), (real)(rstd * (scaled - sum - xhat * products)));
    }
}

/* Columns first: dx may overwrite dy. */
template <typename cell> static int gn_backward(cuda_queue *queue, const hal_gn_backward_args *a)
{
    typedef cuda_real<cell> real;
    const image_groups groups = groups_of(a->dx, a->pixels, a->groups);
    const group_norm_sums<cell> sums = {groups,
                                        cuda_mat_of<cell>(a->dy),
                                        cuda_mat_of<cell>(a->x),
                                        cuda_data<const real>(a->saved),
                                        cuda_data<real>(a->dgamma),
                                        cuda_data<real>(a->dbeta)};
    CUDA_TRY(cuda_columns<CUDA_DOWN<cell>>(queue, sums, sums.x, sums.dy));
    const cuda_row_team team = cuda_row_team_of(a->pixels * groups.width);
    return cuda_launch_teams(queue, cuda_team_grid(team, groups.all), gn_backward_kernel<cell>, team, groups,
                             cuda_mat_of<cell>(a->dy), cuda_mat_of<cell>(a->x), cuda_data<const real>(a->gamma),
                             cuda_data<const real>(a->saved), cuda_mat_of<cell>(a->dx));
}

CUDA_OP(gn_backward, CUDA_BY_VALUE, dx, gn_backward, dx)

/*
 * hal/cuda/kernels/norm.cu: layer norm and group norm, a team of lanes for the cells that are normalised together; sums
 * in double. Which cells these are says a struct:
 *
 *      all             how many times cells are normalised together
 *      count()         cells each time
 *      row, col(at, k) where cell k of time `at` stands
 *      of(i, j)        the time that a cell belongs to
 */
#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_columns.h"
#include "hal/cuda/kernels/cuda_kernels.h"
#include "hal/cuda/kernels/cuda_row.h"

/* A row is normalised by itself. */
struct norm_rows {
    int64_t all, cols;

    __host__ __device__ int64_t count() const
    {
        return cols;
    }
    __device__ int64_t row(int64_t at, int64_t) const
    {
        return at;
    }
    __device__ int64_t col(int64_t, int64_t k) const
    {
        return k;
    }
    __device__ int64_t of(int64_t i, int64_t) const
    {
        return i;
    }
};

static norm_rows norm_rows_of(const hal_mat &x)
{
    return {x.rows, x.cols};
}

/* `width` columns of the `pixels` rows of an image are normalised together. */
struct norm_groups {
    int64_t all, pixels, groups, width;

    __host__ __device__ int64_t count() const
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
    __device__ int64_t of(int64_t i, int64_t j) const
    {
        return i / pixels * groups + j / width;
    }
};

static norm_groups norm_groups_of(const hal_mat &x, int64_t pixels, int64_t groups)
{
    return {x.rows / pixels * groups, pixels, groups, x.cols / groups};
}

/* For n cells: a lane has about four. */
static cuda_row_team norm_team(int64_t n)
{
    return cuda_row_team_of(cuda_pieces(n, 4));
}

/* ---- forward ---------------------------------------------------------------------------------------------------- */

template <typename cell, typename cells_of>
__global__ void __launch_bounds__(CUDA_BLOCK)
    norm_forward_kernel(cuda_row_team team, cells_of together, cuda_mat<cell> x, const cuda_real<cell> *gamma,
                        const cuda_real<cell> *beta, cuda_real<cell> *saved, cuda_mat<cell> y, double epsilon)
{
    typedef cuda_real<cell> real;
    const int64_t at = team.row();
    const int64_t n = at < together.all ? together.count() : 0;
    const double share = 1.0 / (double)together.count();
    double sum = 0.0;
    double squares = 0.0;
    for (int64_t k = team.lane(); k < n; k += team.lanes) {
        sum += (double)cuda_load(*x.at(together.row(at, k), together.col(at, k)));
    }
    const double mean = team.joined(cuda_sum(), sum) * share;
    for (int64_t k = team.lane(); k < n; k += team.lanes) {
        const double centred = (double)cuda_load(*x.at(together.row(at, k), together.col(at, k))) - mean;
        squares += centred * centred;
    }
    const double rstd = 1.0 / sqrt(team.joined(cuda_sum(), squares) * share + epsilon);
    if (n > 0 && team.lane() == 0) {
        saved[2 * at] = (real)mean;
        saved[2 * at + 1] = (real)rstd;
    }
    for (int64_t k = team.lane(); k < n; k += team.lanes) {
        const int64_t i = together.row(at, k), j = together.col(at, k);
        const double xhat = ((double)cuda_load(*x.at(i, j)) - mean) * rstd;
        cuda_store(y.at(i, j), (real)((double)gamma[j] * xhat + (double)beta[j]));
    }
}

template <typename cell, typename cells_of, typename args_type>
static int norm_forward(cuda_queue *queue, const args_type *a, const cells_of &together)
{
    typedef cuda_real<cell> real;
    const cuda_row_team team = norm_team(together.count());
    return cuda_launch_teams(queue, cuda_team_grid(team, together.all), norm_forward_kernel<cell, cells_of>, team, together,
                             cuda_mat_of<cell>(a->x), cuda_data<const real>(a->gamma), cuda_data<const real>(a->beta),
                             cuda_data<real>(a->saved), cuda_mat_of<cell>(a->y), a->epsilon);
}

/* ---- backward --------------------------------------------------------------------------------------------------- */

template <typename cell, typename cells_of> struct norm_sums {
    enum { SUMS = 2 };
    typedef cuda_real<cell> real;
    template <int N> using column = cuda_no_column;
    template <int N> struct cells {
        cuda_held<cell, N> dy, x;
    };
    cells_of together;
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
            const real *kept = saved + 2 * together.of(i, j + k);
            const double gradient = (double)cuda_load(gradients.at[k]);
            sum[k] += gradient * (((double)cuda_load(values.at[k]) - (double)kept[0]) * (double)kept[1]);
            sum[N + k] += gradient;
        }
    }
    __device__ void finish(int64_t j, const double *sum) const
    {
        dgamma[j] = (real)((double)dgamma[j] + sum[0]);
        dbeta[j] = (real)((double)dbeta[j] + sum[1]);
    }
};

template <typename cell, typename cells_of>
__global__ void __launch_bounds__(CUDA_BLOCK)
    norm_backward_kernel(cuda_row_team team, cells_of together, cuda_mat<cell> dy, cuda_mat<cell> x,
                         const cuda_real<cell> *gamma, const cuda_real<cell> *saved, cuda_mat<cell> dx)
{
    typedef cuda_real<cell> real;
    const int64_t at = team.row();
    const int64_t n = at < together.all ? together.count() : 0;
    const double share = 1.0 / (double)together.count();
    const double mean = n > 0 ? (double)saved[2 * at] : 0.0;
    const double rstd = n > 0 ? (double)saved[2 * at + 1] : 0.0;
    double sum = 0.0;
    double products = 0.0;
    for (int64_t k = team.lane(); k < n; k += team.lanes) {
        const int64_t i = together.row(at, k), j = together.col(at, k);
        const double scaled = (double)gamma[j] * (double)cuda_load(*dy.at(i, j));
        sum += scaled;
        products += scaled * ((double)cuda_load(*x.at(i, j)) - mean) * rstd;
    }
    sum = team.joined(cuda_sum(), sum) * share;
    products = team.joined(cuda_sum(), products) * share;
    for (int64_t k = team.lane(); k < n; k += team.lanes) {
        const int64_t i = together.row(at, k), j = together.col(at, k);
        const double xhat = ((double)cuda_load(*x.at(i, j)) - mean) * rstd;
        const double scaled = (double)gamma[j] * (double)cuda_load(*dy.at(i, j));
        cuda_store(dx.at(i, j), (real)(rstd * (scaled - sum - xhat * products)));
    }
}

/* Columns first: dx may overwrite dy. */
template <typename cell, typename cells_of, typename args_type>
static int norm_backward(cuda_queue *queue, const args_type *a, const cells_of &together)
{
    typedef cuda_real<cell> real;
    const norm_sums<cell, cells_of> sums = {together,
                                            cuda_mat_of<cell>(a->dy),
                                            cuda_mat_of<cell>(a->x),
                                            cuda_data<const real>(a->saved),
                                            cuda_data<real>(a->dgamma),
                                            cuda_data<real>(a->dbeta)};
    CUDA_TRY(cuda_columns<CUDA_DOWN<cell>>(queue, sums, sums.x, sums.dy));
    const cuda_row_team team = norm_team(together.count());
    return cuda_launch_teams(queue, cuda_team_grid(team, together.all), norm_backward_kernel<cell, cells_of>, team,
                             together, cuda_mat_of<cell>(a->dy), cuda_mat_of<cell>(a->x), cuda_data<const real>(a->gamma),
                             cuda_data<const real>(a->saved), cuda_mat_of<cell>(a->dx));
}

/* ---- operations ------------------------------------------------------------------------------------------------- */

template <typename cell> static int ln_forward(cuda_queue *queue, const hal_ln_forward_args *a)
{
    return norm_forward<cell>(queue, a, norm_rows_of(a->y));
}

CUDA_OP(ln_forward, CUDA_BY_VALUE, y, ln_forward, y)

template <typename cell> static int ln_backward(cuda_queue *queue, const hal_ln_backward_args *a)
{
    return norm_backward<cell>(queue, a, norm_rows_of(a->dx));
}

CUDA_OP(ln_backward, CUDA_BY_VALUE, dx, ln_backward, dx)

template <typename cell> static int gn_forward(cuda_queue *queue, const hal_gn_forward_args *a)
{
    return norm_forward<cell>(queue, a, norm_groups_of(a->y, a->pixels, a->groups));
}

CUDA_OP(gn_forward, CUDA_BY_VALUE, y, gn_forward, y)

template <typename cell> static int gn_backward(cuda_queue *queue, const hal_gn_backward_args *a)
{
    return norm_backward<cell>(queue, a, norm_groups_of(a->dx, a->pixels, a->groups));
}

CUDA_OP(gn_backward, CUDA_BY_VALUE, dx, gn_backward, dx)

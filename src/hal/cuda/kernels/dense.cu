/* hal/cuda/kernels/dense.cu: the group dense of hal/ops.def but for products (gemm.cu). */
#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_columns.h"
#include "hal/cuda/kernels/cuda_kernels.h"
#include "hal/cuda/kernels/cuda_walk.h"

/* ---- column sums ------------------------------------------------------------------------------------------------- */

template <typename cell> struct column_sum : cuda_one_matrix<cell> {
    enum { SUMS = 1 };
    cuda_real<cell> *out;
    double beta;

    template <int N>
    __device__ void take(int64_t, int64_t, const cuda_no_column &, const cuda_held<cell, N> &in, double (&sum)[SUMS * N]) const
    {
        const cuda_pack<cell, N> from = in.cells();
        for (int k = 0; k < N; ++k) {
            sum[k] += (double)cuda_load(from.at[k]);
        }
    }
    __device__ void finish(int64_t j, const double *sum) const
    {
        out[j] = (cuda_real<cell>)((beta == 0.0 ? 0.0 : beta * (double)out[j]) + sum[0]);
    }
};

template <typename cell> static int col_sum(cuda_queue *queue, const hal_col_sum_args *a)
{
    const column_sum<cell> sum = {{cuda_mat_of<cell>(a->x)}, cuda_data<cuda_real<cell>>(a->out), a->beta};
    return cuda_columns<CUDA_DOWN<cell>>(queue, sum, sum.x);
}

/* Moments and gradients of a norm are two sums a column. */
size_t cuda_scratch_columns(int64_t rows, int64_t cols)
{
    return cuda_column_bytes(rows, cols, 2);
}

int cuda_run_col_sum(cuda_queue *queue, const hal_col_sum_args *a)
{
    return CUDA_BY_VALUE(a->x.dtype, col_sum, queue, a);
}

/* ---- sums and scaling -------------------------------------------------------------------------------------------- */

template <typename cell> struct scaled_sum {
    typedef cuda_real<cell> real;
    cuda_mat<cell> x, y;
    real alpha, beta;

    template <int N> __device__ void cells(int64_t i, int64_t j, int n) const
    {
        const cuda_pack<cell, N> from = cuda_get<N>(x.at(i, j), n);
        cuda_pack<cell, N> to = {};
        if (beta != (real)0) {
            to = cuda_get<N>(y.at(i, j), n);
        }
        for (int k = 0; k < N; ++k) {
            const real old = beta == (real)0 ? (real)0 : beta * cuda_load(to.at[k]);
            cuda_store(&to.at[k], alpha * cuda_load(from.at[k]) + old);
        }
        cuda_put(y.at(i, j), to, n);
    }
};

template <typename cell> static int axpby(cuda_queue *queue, const hal_axpby_args *a)
{
    typedef cuda_real<cell> real;
    const scaled_sum<cell> f = {cuda_mat_of<cell>(a->x), cuda_mat_of<cell>(a->y), (real)a->alpha, (real)a->beta};
    return cuda_walk<cuda_cells_at_once<cell>()>(queue, f, CUDA_ANYWHERE, f.y, f.x);
}

CUDA_OP(axpby, CUDA_BY_VALUE, y, axpby, y)

template <typename real> struct scaled_rows {
    cuda_mat<real> x, y;
    const real *scale;

    template <int N> __device__ void cells(int64_t i, int64_t j, int n) const
    {
        const real factor = scale[i];
        cuda_pack<real, N> to = cuda_get<N>(x.at(i, j), n);
        for (int k = 0; k < N; ++k) {
            to.at[k] *= factor;
        }
        cuda_put(y.at(i, j), to, n);
    }
};

template <typename real> static int scale_rows(cuda_queue *queue, const hal_scale_rows_args *a)
{
    const scaled_rows<real> f = {cuda_mat_of<real>(a->x), cuda_mat_of<real>(a->y), cuda_data<real>(a->scale)};
    return cuda_walk<cuda_cells_at_once<real>()>(queue, f, CUDA_BY_PLACE, f.y, f.x);
}

CUDA_OP(scale_rows, CUDA_BY_REAL, y, scale_rows, y)

/* ---- packed rows ------------------------------------------------------------------------------------------------- */

template <typename cell> struct gathered {
    cuda_mat<cell> x, y;
    const int32_t *index;

    template <int N> __device__ void cells(int64_t i, int64_t j, int n) const
    {
        cuda_put(y.at(i, j), cuda_get<N>(x.at(index[i], j), n), n);
    }
};

template <typename cell> static int gather_rows(cuda_queue *queue, const hal_gather_rows_args *a)
{
    const gathered<cell> f = {cuda_mat_of<cell>(a->x), cuda_mat_of<cell>(a->y), cuda_data<int32_t>(a->index)};
    return cuda_walk<cuda_cells_at_once<cell>()>(queue, f, CUDA_BY_PLACE, f.y, f.x);
}

CUDA_OP(gather_rows, CUDA_BY_VALUE, y, gather_rows, y)

/* Indices are distinct: no element is written twice. */
template <typename cell> struct scattered {
    cuda_mat<cell> x, y;
    const int32_t *index;
    int mode;

    template <int N> __device__ void cells(int64_t i, int64_t j, int n) const
    {
        cell *at = y.at(index[i], j);
        const cuda_pack<cell, N> from = cuda_get<N>(x.at(i, j), n);
        cuda_pack<cell, N> to = from;
        if (mode != HAL_SCATTER_REPLACE) {
            to = cuda_get<N>(at, n);
            for (int k = 0; k < N; ++k) {
                const cuda_real<cell> fresh = cuda_load(from.at[k]);
                if (mode == HAL_SCATTER_ADD) {
                    cuda_store(&to.at[k], cuda_load(to.at[k]) + fresh);
                } else if (fresh > cuda_load(to.at[k]) || fresh != fresh) {
                    to.at[k] = from.at[k];
                }
            }
        }
        cuda_put(at, to, n);
    }
};

template <typename cell> static int scatter_rows(cuda_queue *queue, const hal_scatter_rows_args *a)
{
    const scattered<cell> f = {cuda_mat_of<cell>(a->x), cuda_mat_of<cell>(a->y), cuda_data<int32_t>(a->index),
                               (int)a->mode};
    return cuda_walk<cuda_cells_at_once<cell>()>(queue, f, CUDA_BY_PLACE, f.x, f.y);
}

CUDA_OP(scatter_rows, CUDA_BY_VALUE, x, scatter_rows, x)

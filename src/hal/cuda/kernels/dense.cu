/* hal/cuda/kernels/dense.cu: the group dense of hal/ops.def but for products (gemm.cu): a thread an element, in strides. */
#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_columns.h"
#include "hal/cuda/kernels/cuda_kernels.h"

/* ---- column sums ---------------------------------------------------------------------------------------------------- */

template <typename cell> struct column_sum {
    enum { SUMS = 1 };
    cuda_mat<cell> x;
    cuda_real<cell> *out;
    double beta;

    __device__ void take(int64_t i, int64_t j, double *sum) const
    {
        sum[0] += (double)cuda_load(*x.at(i, j));
    }
    __device__ void finish(int64_t j, const double *sum) const
    {
        out[j] = (cuda_real<cell>)((beta == 0.0 ? 0.0 : beta * (double)out[j]) + sum[0]);
    }
};

template <typename cell> static int col_sum(cuda_queue *queue, const hal_col_sum_args *a)
{
    const column_sum<cell> sum = {cuda_mat_of<cell>(a->x), cuda_data<cuda_real<cell>>(a->out), a->beta};
    return cuda_columns(queue, sum, a->x.rows, a->x.cols);
}

int cuda_run_col_sum(cuda_queue *queue, const hal_col_sum_args *a)
{
    return CUDA_BY_DATA(a->x.dtype, col_sum, queue, a);
}

/* ---- sums and scaling ----------------------------------------------------------------------------------------------- */

template <typename cell>
__global__ void axpby_kernel(cuda_mat<cell> x, cuda_mat<cell> y, cuda_real<cell> alpha, cuda_real<cell> beta)
{
    for (int64_t at = cuda_first(); at < y.rows * y.cols; at += cuda_stride()) {
        const int64_t i = at / y.cols;
        const int64_t j = at % y.cols;
        const cuda_real<cell> old = beta == 0 ? 0 : beta * cuda_load(*y.at(i, j));
        cuda_store(y.at(i, j), alpha * cuda_load(*x.at(i, j)) + old);
    }
}

template <typename cell> static int axpby(cuda_queue *queue, const hal_axpby_args *a)
{
    typedef cuda_real<cell> real;
    return cuda_launch(queue, cuda_lines(queue, a->y.rows * a->y.cols), axpby_kernel<cell>, cuda_mat_of<cell>(a->x),
                       cuda_mat_of<cell>(a->y), (real)a->alpha, (real)a->beta);
}

int cuda_run_axpby(cuda_queue *queue, const hal_axpby_args *a)
{
    return cuda_empty(a->y) ? CUDA_DONE : CUDA_BY_DATA(a->y.dtype, axpby, queue, a);
}

template <typename real> __global__ void scale_rows_kernel(cuda_mat<real> x, const real *scale, cuda_mat<real> y)
{
    for (int64_t at = cuda_first(); at < y.rows * y.cols; at += cuda_stride()) {
        const int64_t i = at / y.cols;
        *y.at(i, at % y.cols) = scale[i] * *x.at(i, at % y.cols);
    }
}

template <typename real> static int scale_rows(cuda_queue *queue, const hal_scale_rows_args *a)
{
    return cuda_launch(queue, cuda_lines(queue, a->y.rows * a->y.cols), scale_rows_kernel<real>,
                       cuda_mat_of<real>(a->x), cuda_data<real>(a->scale), cuda_mat_of<real>(a->y));
}

int cuda_run_scale_rows(cuda_queue *queue, const hal_scale_rows_args *a)
{
    return cuda_empty(a->y) ? CUDA_DONE : CUDA_BY_REAL(a->y.dtype, scale_rows, queue, a);
}

/* ---- packed rows ---------------------------------------------------------------------------------------------------- */

template <typename cell> __global__ void gather_kernel(cuda_mat<cell> x, const int32_t *index, cuda_mat<cell> y)
{
    for (int64_t at = cuda_first(); at < y.rows * y.cols; at += cuda_stride()) {
        const int64_t i = at / y.cols;
        *y.at(i, at % y.cols) = *x.at(index[i], at % y.cols);
    }
}

template <typename cell> static int gather_rows(cuda_queue *queue, const hal_gather_rows_args *a)
{
    return cuda_launch(queue, cuda_lines(queue, a->y.rows * a->y.cols), gather_kernel<cell>, cuda_mat_of<cell>(a->x),
                       cuda_data<int32_t>(a->index), cuda_mat_of<cell>(a->y));
}

int cuda_run_gather_rows(cuda_queue *queue, const hal_gather_rows_args *a)
{
    return cuda_empty(a->y) ? CUDA_DONE : CUDA_BY_DATA(a->y.dtype, gather_rows, queue, a);
}

/* Indices are distinct: no element is written twice. */
template <typename cell>
__global__ void scatter_kernel(cuda_mat<cell> x, const int32_t *index, cuda_mat<cell> y, int mode)
{
    for (int64_t at = cuda_first(); at < x.rows * x.cols; at += cuda_stride()) {
        const int64_t i = at / x.cols;
        cell *to = y.at(index[i], at % x.cols);
        const cell from = *x.at(i, at % x.cols);
        const cuda_real<cell> fresh = cuda_load(from);
        if (mode == HAL_SCATTER_ADD) {
            cuda_store(to, cuda_load(*to) + fresh);
        } else if (mode == HAL_SCATTER_REPLACE || fresh > cuda_load(*to) || fresh != fresh) {
            *to = from;
        }
    }
}

template <typename cell> static int scatter_rows(cuda_queue *queue, const hal_scatter_rows_args *a)
{
    return cuda_launch(queue, cuda_lines(queue, a->x.rows * a->x.cols), scatter_kernel<cell>, cuda_mat_of<cell>(a->x),
                       cuda_data<int32_t>(a->index), cuda_mat_of<cell>(a->y), (int)a->mode);
}

int cuda_run_scatter_rows(cuda_queue *queue, const hal_scatter_rows_args *a)
{
    return cuda_empty(a->x) ? CUDA_DONE : CUDA_BY_DATA(a->x.dtype, scatter_rows, queue, a);
}

/*
 * hal/cuda/factor/q_r.cu: Q and R: classical Gram-Schmidt, each column twice, a block a matrix (L. Giraud, J. Langou,
 * M. Rozloznik, J. van den Eshof: Rounding error analysis of the classical Gram-Schmidt orthogonalization process.
 * Numerische Mathematik 101, 2005, doi:10.1007/s00211-005-0615-4). cuSOLVER's columns are in memory of their own.
 */
#include <initializer_list>

#include <assert.h>

#include "hal/cuda/factor/cuda_factor.h"
#include "hal/cuda/kernels/cuda_kernels.h"

/* A matrix whose columns are made orthonormal, by its block. */
template <typename real> struct columns {
    int64_t m, n, lda, ldr;
    real *a, *r;
    double *share; /* [n] */

    __device__ double length_of(int64_t j) const
    {
        double own = 0.0;
        for (int64_t i = threadIdx.x; i < m; i += CUDA_BLOCK) {
            own += (double)a[i * lda + j] * (double)a[i * lda + j];
        }
        return sqrt(factor_join(factor_sum(), own));
    }

    /* Column j loses what it has in common with the columns in front of it, whose shares grow in column j of r. */
    __device__ void take_out(int64_t j) const
    {
        for (int64_t k = threadIdx.x; k < j; k += CUDA_BLOCK) {
            double sum = 0.0;
            for (int64_t i = 0; i < m; ++i) {
                sum += (double)a[i * lda + k] * (double)a[i * lda + j];
            }
            share[k] = sum;
            r[k * ldr + j] = (real)((double)r[k * ldr + j] + sum);
        }
        __syncthreads();
        for (int64_t i = threadIdx.x; i < m; i += CUDA_BLOCK) {
            double sum = 0.0;
            for (int64_t k = 0; k < j; ++k) {
                sum += share[k] * (double)a[i * lda + k];
            }
            a[i * lda + j] = (real)((double)a[i * lda + j] - sum);
        }
        __syncthreads();
    }

    /* Returns true if the column has something of its own. */
    __device__ bool make(int64_t j) const
    {
        const double before = length_of(j);
        for (int64_t k = threadIdx.x; k < n; k += CUDA_BLOCK) {
            r[k * ldr + j] = (real)0;
        }
        take_out(j);
        take_out(j);
        const double length = length_of(j);
        const bool stands =
            length > (double)(m + n) * factor_limits<real>::EPSILON * before && length - length == 0.0;
        for (int64_t i = threadIdx.x; i < m; i += CUDA_BLOCK) {
            a[i * lda + j] = stands ? (real)((double)a[i * lda + j] / length) : (real)0;
        }
        if (threadIdx.x == 0) {
            r[j * ldr + j] = (real)length;
        }
        __syncthreads();
        return stands;
    }
};

template <typename real>
__global__ void __launch_bounds__(CUDA_BLOCK)
    geqrf_kernel(cuda_mat<real> all, cuda_mat<real> r, int64_t m, int32_t *info, double *scratch)
{
    const int64_t n = all.cols;
    const int64_t i = blockIdx.x;
    const columns<real> matrix = {m, n, all.ld, r.ld, all.at(i * m, 0), r.at(i * n, 0), scratch + i * n};
    int32_t bad = 0;
    for (int64_t j = 0; j < n; ++j) {
        const bool stands = matrix.make(j);
        bad = bad == 0 && !stands ? (int32_t)(j + 1) : bad;
    }
    if (threadIdx.x == 0) {
        info[i] = bad;
    }
}

/* to[n,m] = a[m,n] by columns, or back with the sign of each column. */
template <typename real> __global__ void transpose_kernel(cuda_mat<real> a, real *by_columns, const real *sign)
{
    for (int64_t at = cuda_first(); at < a.rows * a.cols; at += cuda_stride()) {
        const int64_t i = at / a.cols;
        const int64_t j = at % a.cols;
        if (sign != nullptr) {
            *a.at(i, j) = sign[j] * by_columns[j * a.rows + i];
        } else {
            by_columns[j * a.rows + i] = *a.at(i, j);
        }
    }
}

/* One block: R with a diagonal that is not negative, from a matrix of m rows by columns; its signs; info. */
template <typename real>
__global__ void __launch_bounds__(CUDA_BLOCK)
    take_r_kernel(cuda_mat<real> r, const real *by_columns, int64_t m, real *sign, int32_t *info)
{
    const int64_t n = r.cols;
    int64_t bad = n;
    for (int64_t j = threadIdx.x; j < n; j += CUDA_BLOCK) {
        const real *column = by_columns + j * m;
        const double pivot = fabs((double)column[j]);
        const double before = sqrt(factor_dot(j + 1, column, column));
        const bool stands =
            pivot > (double)(m + n) * factor_limits<real>::EPSILON * before && before - before == 0.0;
        bad = !stands && j < bad ? j : bad;
        sign[j] = column[j] < (real)0 ? (real)-1 : (real)1;
    }
    const double first = factor_join(factor_least(), (double)bad);
    for (int64_t at = threadIdx.x; at < n * n; at += CUDA_BLOCK) {
        const int64_t i = at / n;
        const int64_t j = at % n;
        *r.at(i, j) = i <= j ? sign[i] * by_columns[j * m + i] : (real)0;
    }
    if (threadIdx.x == 0) {
        *info = first < (double)n ? (int32_t)first + 1 : 0;
    }
}

/* Matrix `i`. own: info of the library, the transposed matrix, tau, signs. */
template <typename real>
static int geqrf_by_library(cuda_queue *queue, factor_plan *plan, const hal_geqrf_args *a, char *own, int64_t i)
{
    const int64_t m = plan->m;
    const int64_t n = plan->n;
    const cuda_grid cells = cuda_lines(queue, m * n);
    const cuda_mat<real> from = {cuda_data<real>(a->a) + i * m * a->a.ld, m, n, a->a.ld};
    const cuda_mat<real> r = {cuda_data<real>(a->r) + i * n * a->r.ld, n, n, a->r.ld};
    char *matrix = own + factor_lines((size_t)plan->count * sizeof(int32_t));
    char *tau = matrix + factor_lines((size_t)(m * n) * sizeof(real));
    real *by_columns = reinterpret_cast<real *>(matrix);
    real *sign = reinterpret_cast<real *>(tau + factor_lines((size_t)n * sizeof(real)));
    plan->job.info = reinterpret_cast<int32_t *>(own);
    plan->job.a = matrix;
    plan->job.x = tau;
    plan->job.lda = m;
    CUDA_TRY(cuda_launch(queue, cells, transpose_kernel<real>, from, by_columns, static_cast<const real *>(nullptr)));
    for (const cuda_solver_call call : {CUDA_SOLVER_GEQRF, CUDA_SOLVER_ORGQR}) {
        size_t bytes = 0;
        plan->job.call = call;
        CUDA_TRY(cuda_solver_workspace(queue->solver, &plan->job, &bytes));
        assert(bytes <= plan->work);
        CUDA_TRY(cuda_solver_run(queue->solver, &plan->job));
        if (call == CUDA_SOLVER_GEQRF) {
            CUDA_TRY(cuda_launch_teams(queue, {1, CUDA_BLOCK}, take_r_kernel<real>, r,
                                       static_cast<const real *>(by_columns), m, sign,
                                       cuda_data<int32_t>(a->info) + i));
        }
    }
    return cuda_launch(queue, cells, transpose_kernel<real>, from, by_columns, static_cast<const real *>(sign));
}

template <typename real> static int geqrf(cuda_queue *queue, const hal_geqrf_args *a)
{
    const int64_t m = a->a.rows / factor_count(a->r);
    factor_plan plan;
    void *own = nullptr;
    assert(m >= a->a.cols && m * factor_count(a->r) == a->a.rows);
    CUDA_TRY(factor_begin(queue, CUDA_SOLVER_GEQRF, a->a, m, &plan, &own));
    for (int64_t i = 0; plan.library && i < plan.count; ++i) {
        CUDA_TRY(geqrf_by_library<real>(queue, &plan, a, static_cast<char *>(own), i));
    }
    return plan.library ? CUDA_DONE
                        : cuda_launch_teams(queue, {plan.count, CUDA_BLOCK}, geqrf_kernel<real>,
                                            cuda_mat_of<real>(a->a), cuda_mat_of<real>(a->r), m,
                                            cuda_data<int32_t>(a->info), static_cast<double *>(own));
}

CUDA_OP(geqrf, CUDA_BY_REAL, a, geqrf, a)

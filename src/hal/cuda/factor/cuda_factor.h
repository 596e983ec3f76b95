/*
 * hal/cuda/factor/cuda_factor.h: what the factorisations share: who makes a matrix, in which scratch memory, and joins
 * of a block.
 *
 * Matrices of many columns are cuSOLVER's where the machine has it (device/cuda_solver.h), one after the other. All
 * others are made by kernels, by the same formulas as hal/ref, a block or a thread for each matrix, column or row, so
 * that many small ones fill the device by their number. What a thread adds is a function of the shape alone: every run
 * has the same bits.
 */
#pragma once

#include <math.h>

#include "hal/cuda/kernels/cuda_cells.h"

template <typename real> struct factor_limits {
    static constexpr double EPSILON = 0x1p-23;
};
template <> struct factor_limits<double> {
    static constexpr double EPSILON = 0x1p-52;
};

template <typename real> static __device__ double factor_dot(int64_t n, const real *x, const real *y)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; ++i) {
        sum += (double)x[i] * (double)y[i];
    }
    return sum;
}

struct factor_sum {
    __device__ double operator()(double a, double b) const
    {
        return a + b;
    }
};

struct factor_least {
    __device__ double operator()(double a, double b) const
    {
        return a < b ? a : b;
    }
};

/* Joins a number of each thread of the block, in the order of the threads; all threads get the result. */
template <typename Join> static __device__ double factor_join(Join join, double own)
{
    __shared__ double part[CUDA_BLOCK];
    part[threadIdx.x] = own;
    __syncthreads();
    double all = part[0];
    for (int i = 1; i < CUDA_BLOCK; ++i) {
        all = join(all, part[i]);
    }
    __syncthreads();
    return all;
}

/* Row + 1 of the first row of the lower triangle with a number that is not finite, or 0. The whole block calls it. */
template <typename real> static __device__ int32_t factor_bad_row(int64_t n, const real *a, int64_t ld)
{
    int64_t bad = n;
    for (int64_t i = threadIdx.x; i < n && bad == n; i += CUDA_BLOCK) {
        for (int64_t j = 0; j <= i; ++j) {
            bad = a[i * ld + j] - a[i * ld + j] == (real)0 ? bad : i;
        }
    }
    const double first = factor_join(factor_least(), (double)bad);
    return first < (double)n ? (int32_t)first + 1 : 0;
}

static __device__ inline bool factor_pivot(double x)
{
    return x > 0.0 && x - x == 0.0;
}

/* Who makes it, and its scratch memory: workspace of the library, then `own` bytes of the kernels. */
struct factor_plan {
    bool library;
    int64_t m, n, count; /* rows and columns of a matrix, and the number of matrices */
    size_t cell;
    cuda_solver_job job;
    size_t work, own;
};

static inline size_t factor_lines(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* Doubles of a matrix's rotations: cosines and sines of a round, eigenvalues, places. */
static __device__ __host__ inline int64_t factor_rotations(int64_t n)
{
    return 3 * n + 1;
}

/* Number of square matrices below each other. */
static inline int64_t factor_count(const hal_mat &all)
{
    return all.cols > 0 ? all.rows / all.cols : 0;
}

/* [out] plan, with its workspace; own: the kernels' bytes behind it. rows: of a matrix. */
extern "C" int factor_begin(cuda_queue *queue, cuda_solver_call call, const hal_mat &a, int64_t rows, factor_plan *plan,
                            void **own);

/* One call of the library, on matrix `i` of a. */
template <typename real> static int factor_solve(cuda_queue *queue, factor_plan *plan, const hal_mat &a, int64_t i)
{
    plan->job.a = static_cast<real *>(a.data) + i * plan->m * a.ld;
    return cuda_solver_run(queue->solver, &plan->job);
}

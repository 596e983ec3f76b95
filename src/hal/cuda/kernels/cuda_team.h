/*
 * hal/cuda/kernels/cuda_team.h: who of a warp or a block adds which edges of a row.
 *
 * A team of `lanes` threads, a power of two, covers the columns (or heads) of a row, a thread one or a few of them. The
 * teams of a warp, and the warps of a block where a row is long, take edges in turn, and what they have is joined in a
 * fixed order.
 */
#pragma once

#include "hal/cuda/kernels/cuda_launch.h"

/* Rows of more edges get a block instead of a warp. */
static const int64_t CUDA_LONG_ROW = 512;

/* Loads of several edges in flight. */
#ifdef __CUDACC__
#define CUDA_UNROLL _Pragma("unroll 4")
#else
#define CUDA_UNROLL
#endif

static const unsigned CUDA_WHOLE_WARP = 0xffffffffu;

/* The smallest power of two that is not below n, at most a warp. */
static inline int cuda_team_lanes(int64_t n)
{
    int lanes = 1;
    while (lanes < CUDA_WARP && lanes < n) {
        lanes *= 2;
    }
    return lanes;
}

struct cuda_sum {
    template <typename real> __device__ real operator()(real a, real b) const
    {
        return a + b;
    }
};

/* The larger; a NaN loses, as in `b > a ? b : a`. */
struct cuda_larger {
    template <typename real> __device__ real operator()(real a, real b) const
    {
        return b > a ? b : a;
    }
};

/* Over the teams of a warp; every lane gets what its place in a team has in all of them. */
template <typename Join, typename real, int N>
static __device__ inline void cuda_join_teams(Join join, real (&own)[N], int lanes)
{
    for (int by = lanes; by < CUDA_WARP; by *= 2) {
        for (int k = 0; k < N; ++k) {
            own[k] = join(own[k], __shfl_xor_sync(CUDA_WHOLE_WARP, own[k], by));
        }
    }
}

/* Over the warps of a block; the lanes of the first one get it. Every thread of the block comes here. */
template <typename Join, typename real, int N> static __device__ inline void cuda_join_warps(Join join, real (&own)[N])
{
    __shared__ real all[CUDA_ROWS][CUDA_WARP];
    const unsigned warp = threadIdx.x / CUDA_WARP;
    const unsigned lane = threadIdx.x % CUDA_WARP;
    for (int k = 0; k < N; ++k) {
        all[warp][lane] = own[k];
        __syncthreads();
        for (unsigned other = 1; warp == 0 && other < CUDA_ROWS; ++other) {
            own[k] = join(own[k], all[other][lane]);
        }
        __syncthreads();
    }
}

/* Blocks that look for long rows, each with its row at a time. */
static inline int64_t cuda_long_blocks(const cuda_queue *queue, int64_t rows)
{
    const int64_t most = (int64_t)queue->processors * 8;
    return rows < most ? rows : most;
}

/*
 * hal/cuda/kernels/cuda_row.h: a row by a team of threads side by side, a power of two of them and at most a warp: rows
 * of few columns share a warp. What lanes have is joined by halves, so its order is a function of the number of
 * columns.
 *
 *      const cuda_row_team team = cuda_row_team_of(cuda_pieces(cols, CUDA_HELD));
 *      return cuda_launch_teams(queue, cuda_team_grid(team, rows), kernel, team, ...);
 *
 * Every thread joins, those beyond the last row too.
 */
#pragma once

#include "hal/cuda/kernels/cuda_team.h"

struct cuda_row_team {
    int lanes, bits; /* lanes = 1 << bits */

    __device__ int64_t row() const
    {
        return ((int64_t)blockIdx.x << (8 - bits)) + (threadIdx.x >> bits);
    }
    __device__ int lane() const
    {
        return (int)threadIdx.x & (lanes - 1);
    }
    /* Of parts that lanes take in turn, this lane's: known before a loop over them, which can then load several at
     * once. */
    __device__ int64_t parts(int64_t all) const
    {
        return (all - lane() + lanes - 1) >> bits;
    }
    /* In all lanes. */
    template <typename Join, typename T> __device__ T joined(Join join, T own) const
    {
        for (int by = lanes / 2; by > 0; by /= 2) {
            own = join(own, __shfl_xor_sync(CUDA_WHOLE_WARP, own, by));
        }
        return own;
    }
};
static_assert(CUDA_BLOCK == 1 << 8, "rows of a block");

/* For rows of so many parts. */
static inline cuda_row_team cuda_row_team_of(int64_t parts)
{
    cuda_row_team team = {cuda_team_lanes(parts), 0};
    while (1 << team.bits < team.lanes) {
        team.bits += 1;
    }
    return team;
}

static inline cuda_grid cuda_team_grid(const cuda_row_team &team, int64_t rows)
{
    return {cuda_pieces(rows, CUDA_BLOCK >> team.bits), CUDA_BLOCK};
}

/* Elements that a lane holds of a row of at most CUDA_HELD * CUDA_WARP. */
enum { CUDA_HELD = 8 };

/* A lane's elements of a row: `held` in registers where rows are short, else loaded whenever they are asked for. */
template <typename cell, int HELD> struct cuda_lane_row {
    const cell *x;
    int n, lane, lanes;
    cell held[HELD > 0 ? HELD : 1];

    __device__ cuda_lane_row(const cuda_row_team &team, const cell *row, int64_t cols)
        : x(row), n((int)cols), lane(team.lane()), lanes(team.lanes)
    {
        for (int k = 0; k < HELD; ++k) {
            const int j = lane + k * lanes;
            held[k] = j < n ? x[j] : cell();
        }
    }
    /* f(j, element): what it makes of the element stays where rows are held. */
    template <typename F> __device__ void each(F f)
    {
        for (int k = 0; k < HELD; ++k) {
            const int j = lane + k * lanes;
            if (j < n) {
                f(j, held[k]);
            }
        }
        for (int j = lane; HELD == 0 && j < n; j += lanes) {
            cell element = x[j];
            f(j, element);
        }
    }
};

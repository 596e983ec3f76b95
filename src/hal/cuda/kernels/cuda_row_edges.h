/*
 * hal/cuda/kernels/cuda_row_edges.h: what the edges of rows give, by column, joined in a fixed order; edges come as
 * operands, so nothing is known of their rows on the host. A warp has a row, or a block where it is long; a thread has
 * a column, and teams of threads take edges in turn. What an edge gives, and what becomes of all of them, says a
 * struct:
 *
 *      typedef value;  typedef join;           of what edges give
 *      static __device__ value none()          of no edges
 *      __device__ value of(e, c, row, j)       of edge e, to c, in column j
 *      __device__ void finish(row, j, joined, some)    some: the row has edges
 */
#pragma once

#include "hal/cuda/kernels/cuda_team.h"
#include "hal/op_args.h"

struct edge_lists {
    const int64_t *offset;
    const int32_t *column;
    int64_t rows, entries, d;
    int lanes; /* of a team */
};

template <typename Op, bool LONG>
__global__ void __launch_bounds__(CUDA_BLOCK) cuda_row_edges_kernel(Op op, edge_lists e)
{
    const unsigned threads = LONG ? CUDA_BLOCK : CUDA_WARP; /* of a row */
    const unsigned lanes = (unsigned)e.lanes;
    const unsigned team = threadIdx.x % threads / lanes;
    const int64_t j = (int64_t)blockIdx.y * lanes + threadIdx.x % lanes;
    const int64_t step = (int64_t)gridDim.x * (CUDA_BLOCK / threads);
    for (int64_t row = LONG ? (int64_t)blockIdx.x : cuda_row(); row < e.rows; row += step) {
        const int64_t begin = e.offset[row];
        const int64_t end = e.offset[row + 1];
        if ((end - begin > CUDA_LONG_ROW) != LONG) {
            continue;
        }
        typename Op::value own[1] = {Op::none()};
        CUDA_UNROLL
        for (int64_t at = begin + team; at < end && j < e.d; at += threads / lanes) {
            own[0] = typename Op::join()(own[0], op.of(at, e.column[at], row, j));
        }
        cuda_join_teams(typename Op::join(), own, e.lanes);
        if (LONG) {
            cuda_join_warps(typename Op::join(), own);
        }
        if (team == 0 && j < e.d) {
            op.finish(row, j, own[0], begin < end);
        }
    }
}

template <typename Op>
int cuda_row_edges(cuda_queue *queue, const Op &op, const hal_mat &offset, const hal_mat &column, int64_t rows,
                   int64_t d)
{
    const edge_lists e = {static_cast<const int64_t *>(offset.source),
                          static_cast<const int32_t *>(column.source),
                          rows,
                          column.rows,
                          d,
                          cuda_team_lanes(d)};
    const unsigned strips = (unsigned)cuda_pieces(e.d, e.lanes);
    cuda_grid grid = cuda_rows(e.rows);
    grid.y = strips;
    CUDA_TRY(cuda_launch_teams(queue, grid, cuda_row_edges_kernel<Op, false>, op, e));
    return e.entries <= CUDA_LONG_ROW ? CUDA_DONE
                                      : cuda_launch_teams(queue, {cuda_long_blocks(queue, e.rows), CUDA_BLOCK, strips},
                                                          cuda_row_edges_kernel<Op, true>, op, e);
}

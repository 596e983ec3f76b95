/*
 * hal/cuda/kernels/cuda_edge_sums.h: sums over the edges of rows whose terms need a number for each edge and head first.
 *
 *      lanes of a warp     (edge 0, head 0) (edge 0, head 1) .. (edge 1, head 0) ..     work out a pair each
 *                      ->  shared memory                                                32 pairs at a time
 *      lanes of a warp     columns, or teams of them where columns are few              add a term a column and edge
 *
 * So a power or a mask is worked out once, nothing is kept for an edge, and rows of x are read side by side. A warp has a row
 * and a group of heads with up to 128 columns; a row of more than CUDA_LONG_ROW edges has a block, whose warps take turns. An
 * operation says what it is:
 *
 *      typedef real;  typedef join;            of the numbers that are summed by head
 *      enum { COLUMNS };                       sums a column: 0, 1 or 2
 *      __device__ edge_pair<real> pair(u, r, h)            u: the other end of an edge of row r
 *      __device__ void term(sums, pair, u, r, j)           what the edge adds in column j
 *      __device__ void finish_head(r, h, sum), finish_column(r, j, sums)
 */
#ifndef WEFT_HAL_CUDA_KERNELS_CUDA_EDGE_SUMS_H
#define WEFT_HAL_CUDA_KERNELS_CUDA_EDGE_SUMS_H

#include "hal/cuda/kernels/cuda_team.h"
#include "hal/op_args.h"

/* summed by head; what columns need besides */
template <typename real> struct edge_pair {
    real sum, other;
};

struct edge_rows {
    const int64_t *offset;
    const int32_t *column;
    int64_t rows, entries, self;
    int heads, d;
    int group;  /* heads of a warp */
    int chunks; /* of the columns of a group */
};

static const int CUDA_GROUP_COLUMNS = 128;

static inline edge_rows edge_rows_of(const hal_attention &how, const hal_mat &offset, const hal_mat &column,
                                     int64_t rows, int64_t cols)
{
    const int d = (int)(cols / how.heads);
    const int most = CUDA_GROUP_COLUMNS / (d > 0 ? d : 1);
    const int group = most < 1 ? 1 : most > CUDA_WARP ? CUDA_WARP : most;
    return {static_cast<const int64_t *>(offset.source),
            static_cast<const int32_t *>(column.source),
            rows,
            column.rows,
            how.self,
            how.heads,
            d,
            group < how.heads ? group : how.heads,
            (int)cuda_pieces(d > CUDA_GROUP_COLUMNS ? d : 1, CUDA_GROUP_COLUMNS)};
}

/* Where a warp stands: heads [head, head + heads) and columns [begin, end) of theirs. */
struct edge_place {
    int head, heads, pair_lanes, lanes;
    int64_t begin, end;
    bool tells_heads;
};

static __device__ inline int lanes_for(int64_t n)
{
    int lanes = 1;
    while (lanes < CUDA_WARP && lanes < n) {
        lanes *= 2;
    }
    return lanes;
}

static __device__ inline edge_place place_of(const edge_rows &e)
{
    edge_place p;
    p.head = (int)(blockIdx.y / (unsigned)e.chunks) * e.group;
    p.heads = e.heads - p.head < e.group ? e.heads - p.head : e.group;
    p.pair_lanes = lanes_for(p.heads);
    const int64_t chunk = blockIdx.y % (unsigned)e.chunks;
    const int64_t all = (int64_t)(p.head + p.heads) * e.d;
    p.begin = (int64_t)p.head * e.d + chunk * CUDA_GROUP_COLUMNS;
    p.end = p.begin + CUDA_GROUP_COLUMNS < all ? p.begin + CUDA_GROUP_COLUMNS : all;
    p.lanes = lanes_for(p.end - p.begin);
    p.tells_heads = chunk == 0;
    return p;
}

enum { EDGE_STRIPS = 4 /* columns of a lane: CUDA_GROUP_COLUMNS / CUDA_WARP */ };

/* Adds the terms of the `count` edges whose pairs the warp has just worked out. */
template <typename Op, int K>
static __device__ void add_terms(const Op &op, const edge_rows &e, const edge_place &p, int64_t row, int count,
                                 const edge_pair<typename Op::real> *pairs, const int64_t *others,
                                 typename Op::real (&sums)[EDGE_STRIPS][K])
{
    const int lane = cuda_lane();
    for (int i = lane / p.lanes; i < count; i += CUDA_WARP / p.lanes) {
        for (int k = 0; k < EDGE_STRIPS; ++k) {
            const int64_t j = p.begin + lane % p.lanes + k * CUDA_WARP;
            if (j < p.end) {
                op.term(sums[k], pairs[i * p.pair_lanes + (int)(j / e.d) - p.head], others[i], row, j);
            }
        }
    }
}

template <typename Op, bool LONG>
static __device__ void sum_row(const Op &op, const edge_rows &e, const edge_place &p, int64_t row)
{
    typedef typename Op::real real;
    enum { K = Op::COLUMNS > 0 ? Op::COLUMNS : 1 };
    __shared__ edge_pair<real> pairs[CUDA_ROWS][CUDA_WARP];
    __shared__ int64_t others[CUDA_ROWS][CUDA_WARP];
    const int warp = (int)(threadIdx.x / CUDA_WARP);
    const int lane = cuda_lane();
    const int64_t listed = e.offset[row + 1] - e.offset[row];
    const int64_t count = listed + (row < e.self ? 1 : 0);
    const int at_once = CUDA_WARP / p.pair_lanes; /* edges */
    const int of_edge = lane / p.pair_lanes;
    const int h = p.head + lane % p.pair_lanes;
    const bool pairs_up = lane % p.pair_lanes < p.heads;
    real by_head[1] = {Op::none()};
    real sums[EDGE_STRIPS][K] = {};
    for (int64_t begin = LONG ? (int64_t)warp * at_once : 0; begin < count;
         begin += LONG ? CUDA_ROWS * at_once : at_once) {
        const int64_t edge = begin + of_edge;
        if (edge < count && pairs_up) {
            const int64_t other = edge < listed ? e.column[e.offset[row] + edge] : row;
            const edge_pair<real> pair = op.pair(other, row, h);
            by_head[0] = typename Op::join()(by_head[0], pair.sum);
            pairs[warp][lane] = pair;
            others[warp][of_edge] = other;
        }
        if (Op::COLUMNS > 0) {
            const int64_t rest = count - begin;
            __syncwarp();
            add_terms<Op, K>(op, e, p, row, rest < at_once ? (int)rest : at_once, pairs[warp], others[warp], sums);
            __syncwarp();
        }
    }
    cuda_join_teams(typename Op::join(), by_head, p.pair_lanes);
    if (LONG) {
        cuda_join_warps(typename Op::join(), by_head);
    }
    const bool tells = !LONG || warp == 0;
    if (tells && p.tells_heads && lane < p.heads) {
        op.finish_head(row, h, by_head[0]);
    }
    for (int k = 0; k < EDGE_STRIPS && Op::COLUMNS > 0; ++k) {
        const int64_t j = p.begin + lane % p.lanes + k * CUDA_WARP;
        cuda_join_teams(cuda_sum(), sums[k], p.lanes);
        if (LONG) {
            cuda_join_warps(cuda_sum(), sums[k]);
        }
        if (tells && lane < p.lanes && j < p.end) {
            op.finish_column(row, j, sums[k]);
        }
    }
}

template <typename Op, bool LONG> __global__ void __launch_bounds__(CUDA_BLOCK) edge_sums_kernel(Op op, edge_rows e)
{
    const edge_place p = place_of(e);
    const int64_t step = (int64_t)gridDim.x * (LONG ? 1 : CUDA_ROWS);
    for (int64_t row = LONG ? (int64_t)blockIdx.x : cuda_row(); row < e.rows; row += step) {
        if ((e.offset[row + 1] - e.offset[row] > CUDA_LONG_ROW) == LONG) {
            sum_row<Op, LONG>(op, e, p, row);
        }
    }
}

template <typename Op> int cuda_edge_sums(cuda_queue *queue, const Op &op, const edge_rows &e)
{
    const unsigned groups = (unsigned)cuda_pieces(e.heads, e.group) * (unsigned)(Op::COLUMNS > 0 ? e.chunks : 1);
    edge_rows launched = e;
    launched.chunks = Op::COLUMNS > 0 ? e.chunks : 1;
    cuda_grid grid = cuda_rows(e.rows);
    grid.y = groups;
    CUDA_TRY(cuda_launch_teams(queue, grid, edge_sums_kernel<Op, false>, op, launched));
    return e.entries <= CUDA_LONG_ROW ? CUDA_DONE
                                      : cuda_launch_teams(queue, {cuda_long_blocks(queue, e.rows), CUDA_BLOCK, groups},
                                                          edge_sums_kernel<Op, true>, op, launched);
}

#endif

/*
 * hal/cuda/kernels/maximum.cu: the largest row over edges, and its gradient. A warp has a row, or a block where it is long; a
 * thread has a column, and teams of threads take edges in turn. What an edge gives, and what becomes of all of them, says a
 * struct:
 *
 *      typedef value;  typedef join;           of what edges give
 *      static __device__ value none()          of no edges
 *      __device__ value of(c, row, j)          of the edge to c, in column j
 *      __device__ void finish(row, j, joined, some)    some: the row has edges
 */
#include <math.h>

#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_kernels.h"
#include "hal/cuda/kernels/cuda_team.h"

struct edge_lists {
    const int64_t *offset;
    const int32_t *column;
    int64_t rows, entries, d;
    int lanes; /* of a team */
};

template <typename Op, bool LONG> __global__ void __launch_bounds__(CUDA_BLOCK) edges_kernel(Op op, edge_lists e)
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
        if (j < e.d) { /* in the condition of the loop it would keep loads of several edges apart */
            CUDA_UNROLL
            for (int64_t at = begin + team; at < end; at += threads / lanes) {
                own[0] = typename Op::join()(own[0], op.of(e.column[at], row, j));
            }
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
static int over_edges(cuda_queue *queue, const Op &op, const hal_mat &offset, const hal_mat &column, const hal_mat &out)
{
    const edge_lists e = {static_cast<const int64_t *>(offset.source),
                          static_cast<const int32_t *>(column.source),
                          out.rows,
                          column.rows,
                          out.cols,
                          cuda_team_lanes(out.cols)};
    const unsigned strips = (unsigned)cuda_pieces(e.d, e.lanes);
    cuda_grid grid = cuda_rows(e.rows);
    grid.y = strips;
    CUDA_TRY(cuda_launch_teams(queue, grid, edges_kernel<Op, false>, op, e));
    return e.entries <= CUDA_LONG_ROW ? CUDA_DONE
                                      : cuda_launch_teams(queue, {cuda_long_blocks(queue, e.rows), CUDA_BLOCK, strips},
                                                          edges_kernel<Op, true>, op, e);
}

/* ---- forward --------------------------------------------------------------------------------------------------------- */

/* A NaN wins. Of a zero and its negative it is either. */
struct largest {
    template <typename real> __device__ real operator()(real most, real next) const
    {
        return next > most || next != next ? next : most;
    }
};

template <typename cell> struct forward_op {
    typedef cuda_real<cell> value;
    typedef largest join;
    cuda_mat<cell> x, out;
    const uint8_t *elsewhere;

    static __device__ value none()
    {
        return -(value)INFINITY;
    }
    __device__ value of(int64_t c, int64_t, int64_t j) const
    {
        return cuda_load(*x.at(c, j));
    }
    __device__ void finish(int64_t row, int64_t j, value most, bool some) const
    {
        const bool waits = elsewhere != nullptr && elsewhere[row] != 0;
        cuda_store(out.at(row, j), some || waits ? most : (value)0);
    }
};

template <typename cell> static int forward(cuda_queue *queue, const hal_max_forward_args *a)
{
    const forward_op<cell> op = {cuda_mat_of<cell>(a->x), cuda_mat_of<cell>(a->out),
                                 static_cast<const uint8_t *>(a->elsewhere.source)};
    return over_edges(queue, op, a->offset, a->column, a->out);
}

int cuda_run_max_forward(cuda_queue *queue, const hal_max_forward_args *a)
{
    return cuda_empty(a->out) ? CUDA_DONE : CUDA_BY_DATA(a->out.dtype, forward, queue, a);
}

/* ---- ties ------------------------------------------------------------------------------------------------------------ */

template <typename cell> struct ties_op {
    typedef int64_t value;
    typedef cuda_sum join;
    cuda_mat<cell> x, y;
    cuda_mat<cuda_real<cell>> ties;

    static __device__ value none()
    {
        return 0;
    }
    __device__ value of(int64_t c, int64_t row, int64_t j) const
    {
        return cuda_load(*x.at(c, j)) == cuda_load(*y.at(row, j)) ? 1 : 0;
    }
    __device__ void finish(int64_t row, int64_t j, value count, bool) const
    {
        *ties.at(row, j) = (cuda_real<cell>)count;
    }
};

template <typename cell> static int ties(cuda_queue *queue, const hal_max_ties_args *a)
{
    const ties_op<cell> op = {cuda_mat_of<cell>(a->x), cuda_mat_of<cell>(a->y), cuda_mat_of<cuda_real<cell>>(a->ties)};
    return over_edges(queue, op, a->offset, a->column, a->ties);
}

int cuda_run_max_ties(cuda_queue *queue, const hal_max_ties_args *a)
{
    return cuda_empty(a->ties) ? CUDA_DONE : CUDA_BY_DATA(a->x.dtype, ties, queue, a);
}

/* ---- backward -------------------------------------------------------------------------------------------------------- */

template <typename cell> __global__ void share_kernel(cuda_mat<cell> dy, cuda_mat<cuda_real<cell>> ties)
{
    typedef cuda_real<cell> real;
    for (int64_t at = cuda_first(); at < dy.rows * dy.cols; at += cuda_stride()) {
        const int64_t i = at / dy.cols;
        const int64_t j = at % dy.cols;
        const real count = *ties.at(i, j);
        cuda_store(dy.at(i, j), count > (real)0 ? cuda_load(*dy.at(i, j)) / count : (real)0);
    }
}

template <typename cell> static int share(cuda_queue *queue, const hal_max_share_args *a)
{
    return cuda_launch(queue, cuda_lines(queue, a->dy.rows * a->dy.cols), share_kernel<cell>, cuda_mat_of<cell>(a->dy),
                       cuda_mat_of<cuda_real<cell>>(a->ties));
}

int cuda_run_max_share(cuda_queue *queue, const hal_max_share_args *a)
{
    return cuda_empty(a->dy) ? CUDA_DONE : CUDA_BY_DATA(a->dy.dtype, share, queue, a);
}

template <typename cell> struct backward_op {
    typedef cuda_real<cell> value;
    typedef cuda_sum join;
    cuda_mat<cell> x, y, dy, dx;

    static __device__ value none()
    {
        return 0;
    }
    __device__ value of(int64_t c, int64_t row, int64_t j) const
    {
        const value share = cuda_load(*dy.at(c, j));
        return cuda_load(*y.at(c, j)) == cuda_load(*x.at(row, j)) ? share : (value)0;
    }
    __device__ void finish(int64_t row, int64_t j, value sum, bool) const
    {
        cuda_store(dx.at(row, j), sum);
    }
};

template <typename cell> static int backward(cuda_queue *queue, const hal_max_backward_args *a)
{
    const backward_op<cell> op = {cuda_mat_of<cell>(a->x), cuda_mat_of<cell>(a->y), cuda_mat_of<cell>(a->dy),
                                  cuda_mat_of<cell>(a->dx)};
    return over_edges(queue, op, a->offset, a->column, a->dx);
}

int cuda_run_max_backward(cuda_queue *queue, const hal_max_backward_args *a)
{
    return cuda_empty(a->dx) ? CUDA_DONE : CUDA_BY_DATA(a->dx.dtype, backward, queue, a);
}

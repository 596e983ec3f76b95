/*
 * hal/cuda/kernels/maximum.cu: the largest row over edges, and its gradient, as sums by row that cuda_row_edges.h
 * walks.
 */
#include <math.h>

#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_kernels.h"
#include "hal/cuda/kernels/cuda_row_edges.h"
#include "hal/cuda/kernels/cuda_walk.h"

/* ---- forward ----------------------------------------------------------------------------------------------------- */

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
    __device__ value of(int64_t, int64_t c, int64_t, int64_t j) const
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
    return cuda_row_edges(queue, op, a->offset, a->column, a->out.rows, a->out.cols);
}

CUDA_OP(max_forward, CUDA_BY_DATA, out, forward, out)

/* ---- ties -------------------------------------------------------------------------------------------------------- */

template <typename cell> struct ties_op {
    typedef int64_t value;
    typedef cuda_sum join;
    cuda_mat<cell> x, y;
    cuda_mat<cuda_real<cell>> count, ties;
    int64_t once; /* rows of x that count once; those behind have a row of counts each */

    static __device__ value none()
    {
        return 0;
    }
    __device__ value of(int64_t, int64_t c, int64_t row, int64_t j) const
    {
        if (cuda_load(*x.at(c, j)) != cuda_load(*y.at(row, j))) {
            return 0;
        }
        return c < once ? 1 : (value)*count.at(c - once, j);
    }
    __device__ void finish(int64_t row, int64_t j, value sum, bool) const
    {
        *ties.at(row, j) = (cuda_real<cell>)sum;
    }
};

template <typename cell> static int ties(cuda_queue *queue, const hal_max_ties_args *a)
{
    typedef cuda_real<cell> real;
    const int64_t once = a->x.rows - (a->count.source != nullptr ? a->count.rows : 0);
    const ties_op<cell> op = {cuda_mat_of<cell>(a->x), cuda_mat_of<cell>(a->y), cuda_mat_of<real>(a->count),
                              cuda_mat_of<real>(a->ties), once};
    return cuda_row_edges(queue, op, a->offset, a->column, a->ties.rows, a->ties.cols);
}

CUDA_OP(max_ties, CUDA_BY_DATA, x, ties, ties)

/* ---- backward ---------------------------------------------------------------------------------------------------- */

template <typename cell> struct shared_out {
    typedef cuda_real<cell> real;
    cuda_mat<cell> dy;
    cuda_mat<real> ties;

    template <int N> __device__ void cells(int64_t i, int64_t j, int n) const
    {
        cuda_pack<cell, N> to = cuda_get<N>(dy.at(i, j), n);
        const cuda_pack<real, N> count = cuda_get<N>(ties.at(i, j), n);
        for (int k = 0; k < N; ++k) {
            cuda_store(&to.at[k], count.at[k] > (real)0 ? cuda_load(to.at[k]) / count.at[k] : (real)0);
        }
        cuda_put(dy.at(i, j), to, n);
    }
};

template <typename cell> static int share(cuda_queue *queue, const hal_max_share_args *a)
{
    const shared_out<cell> f = {cuda_mat_of<cell>(a->dy), cuda_mat_of<cuda_real<cell>>(a->ties)};
    return cuda_walk<cuda_cells_at_once<cell>()>(queue, f, CUDA_ANYWHERE, f.dy, f.ties);
}

CUDA_OP(max_share, CUDA_BY_DATA, dy, share, dy)

template <typename cell> struct backward_op {
    typedef cuda_real<cell> value;
    typedef cuda_sum join;
    cuda_mat<cell> x, y, dy, dx;

    static __device__ value none()
    {
        return 0;
    }
    __device__ value of(int64_t, int64_t c, int64_t row, int64_t j) const
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
    return cuda_row_edges(queue, op, a->offset, a->column, a->dx.rows, a->dx.cols);
}

CUDA_OP(max_backward, CUDA_BY_DATA, dx, backward, dx)

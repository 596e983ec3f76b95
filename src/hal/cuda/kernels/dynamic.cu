/*
 * hal/cuda/kernels/dynamic.cu: attention whose ends meet in every column before they are scored. The paper is named in
 * hal/ops.def; cuda_edge_sums.h goes over the edges.
 */
#include <float.h>

#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_dropout.h"
#include "hal/cuda/kernels/cuda_edge_sums.h"
#include "hal/cuda/kernels/cuda_kernels.h"

template <typename real> struct meeting {
    cuda_mat<real> x, target;
    const real *vector;
    real slope;
    int64_t d;

    __device__ real leaky(real met) const
    {
        return met > (real)0 ? met : slope * met;
    }
    __device__ real met(int64_t u, int64_t v, int64_t j) const
    {
        return *x.at(u, j) + *target.at(v, j);
    }
    /* What a score in column j changes by with either end. */
    __device__ real change(int64_t u, int64_t v, int64_t j) const
    {
        return vector[j] * (met(u, v, j) > (real)0 ? (real)1 : slope);
    }
    __device__ real raw(int64_t u, int64_t v, int h) const
    {
        real sum = 0;
        for (int64_t j = h * d; j < (h + 1) * d; ++j) {
            sum += vector[j] * leaky(met(u, v, j));
        }
        return sum;
    }
};

template <typename real, typename Args> static meeting<real> meeting_of(const Args *a)
{
    return {cuda_mat_of<real>(a->x), cuda_mat_of<real>(a->target), static_cast<const real *>(a->vector.source),
            (real)a->how.slope, a->x.cols / a->how.heads};
}

/* ---- forward --------------------------------------------------------------------------------------------------------- */

template <typename T> struct dynamic_highest_op {
    typedef T real;
    typedef cuda_larger join;
    enum { COLUMNS = 0 };
    meeting<real> s;
    cuda_mat<real> highest;

    static __device__ real none()
    {
        return sizeof(real) == sizeof(float) ? (real)-FLT_MAX : (real)-DBL_MAX;
    }
    __device__ edge_pair<real> pair(int64_t u, int64_t r, int h) const
    {
        return {s.raw(u, r, h), 0};
    }
    __device__ void term(real *, const edge_pair<real> &, int64_t, int64_t, int64_t) const
    {
    }
    __device__ void finish_head(int64_t r, int h, real most) const
    {
        *highest.at(r, h) = most;
    }
    __device__ void finish_column(int64_t, int64_t, const real *) const
    {
    }
};

template <typename real> static int highest(cuda_queue *queue, const hal_dynamic_highest_args *a)
{
    return cuda_edge_sums(queue, dynamic_highest_op<real>{meeting_of<real>(a), cuda_mat_of<real>(a->highest)},
                          edge_rows_of(a->how, a->offset, a->column, a->highest.rows, a->highest.cols));
}

int cuda_run_dynamic_highest(cuda_queue *queue, const hal_dynamic_highest_args *a)
{
    return cuda_empty(a->highest) ? CUDA_DONE : CUDA_BY_REAL(a->highest.dtype, highest, queue, a);
}

template <typename T> struct dynamic_forward_op {
    typedef T real;
    typedef cuda_sum join;
    enum { COLUMNS = 1 };
    meeting<real> s;
    cuda_mask mask;
    cuda_mat<real> highest, out, total;

    static __device__ real none()
    {
        return 0;
    }
    __device__ edge_pair<real> pair(int64_t u, int64_t r, int h) const
    {
        const real power = exp(s.raw(u, r, h) - *highest.at(r, h));
        return {power, power * cuda_kept_edge<real>(mask, u, r, h)};
    }
    __device__ void term(real *sum, const edge_pair<real> &edge, int64_t u, int64_t, int64_t j) const
    {
        sum[0] += edge.other * *s.x.at(u, j);
    }
    __device__ void finish_head(int64_t r, int h, real sum) const
    {
        *total.at(r, h) = sum;
    }
    __device__ void finish_column(int64_t r, int64_t j, const real *sum) const
    {
        *out.at(r, j) = sum[0];
    }
};

template <typename real> static int forward(cuda_queue *queue, const hal_dynamic_forward_args *a)
{
    const dynamic_forward_op<real> op = {meeting_of<real>(a), cuda_mask_of(a->how.dropout), cuda_mat_of<real>(a->highest),
                                         cuda_mat_of<real>(a->out), cuda_mat_of<real>(a->total)};
    return cuda_edge_sums(queue, op, edge_rows_of(a->how, a->offset, a->column, a->out.rows, a->x.cols));
}

int cuda_run_dynamic_forward(cuda_queue *queue, const hal_dynamic_forward_args *a)
{
    return cuda_empty(a->total) ? CUDA_DONE : CUDA_BY_REAL(a->out.dtype, forward, queue, a);
}

/* ---- backward -------------------------------------------------------------------------------------------------------- */

template <typename real> struct dynamic_gradients {
    meeting<real> s;
    cuda_mask mask;
    cuda_mat<real> highest, total, mean, dy;

    /* draw, and weight * kept */
    __device__ edge_pair<real> of(int64_t u, int64_t v, int h) const
    {
        const real weight = exp(s.raw(u, v, h) - *highest.at(v, h)) / *total.at(v, h);
        const real kept = cuda_kept_edge<real>(mask, u, v, h);
        const real *left = dy.at(v, h * s.d);
        const real *right = s.x.at(u, h * s.d);
        real dot = 0;
        for (int64_t j = 0; j < s.d; ++j) {
            dot += left[j] * right[j];
        }
        return {weight * (kept * dot - *mean.at(v, h)), weight * kept};
    }
};

template <typename real, typename Args> static dynamic_gradients<real> dynamic_gradients_of(const Args *a)
{
    return {meeting_of<real>(a),         cuda_mask_of(a->how.dropout), cuda_mat_of<real>(a->highest),
            cuda_mat_of<real>(a->total), cuda_mat_of<real>(a->mean),   cuda_mat_of<real>(a->dy)};
}

template <typename T> struct dynamic_targets_op {
    typedef T real;
    typedef cuda_sum join;
    enum { COLUMNS = 2 };
    dynamic_gradients<real> g;
    cuda_mat<real> dtarget, dvector;

    static __device__ real none()
    {
        return 0;
    }
    __device__ edge_pair<real> pair(int64_t u, int64_t r, int h) const
    {
        return g.of(u, r, h);
    }
    __device__ void term(real *sum, const edge_pair<real> &edge, int64_t u, int64_t r, int64_t j) const
    {
        sum[0] += edge.sum * g.s.change(u, r, j);
        sum[1] += edge.sum * g.s.leaky(g.s.met(u, r, j));
    }
    __device__ void finish_head(int64_t, int, real) const
    {
    }
    __device__ void finish_column(int64_t r, int64_t j, const real *sum) const
    {
        *dtarget.at(r, j) = sum[0];
        *dvector.at(r, j) = sum[1];
    }
};

template <typename real> static int targets(cuda_queue *queue, const hal_dynamic_backward_targets_args *a)
{
    const dynamic_targets_op<real> op = {dynamic_gradients_of<real>(a), cuda_mat_of<real>(a->dtarget),
                                         cuda_mat_of<real>(a->dvector)};
    return cuda_edge_sums(queue, op, edge_rows_of(a->how, a->offset, a->column, a->dtarget.rows, a->x.cols));
}

int cuda_run_dynamic_backward_targets(cuda_queue *queue, const hal_dynamic_backward_targets_args *a)
{
    return cuda_empty(a->dtarget) ? CUDA_DONE : CUDA_BY_REAL(a->dtarget.dtype, targets, queue, a);
}

template <typename T> struct dynamic_sources_op {
    typedef T real;
    typedef cuda_sum join;
    enum { COLUMNS = 1 };
    dynamic_gradients<real> g;
    cuda_mat<real> dx;

    static __device__ real none()
    {
        return 0;
    }
    __device__ edge_pair<real> pair(int64_t v, int64_t r, int h) const
    {
        return g.of(r, v, h);
    }
    __device__ void term(real *sum, const edge_pair<real> &edge, int64_t v, int64_t r, int64_t j) const
    {
        sum[0] += edge.sum * g.s.change(r, v, j) + edge.other * *g.dy.at(v, j);
    }
    __device__ void finish_head(int64_t, int, real) const
    {
    }
    __device__ void finish_column(int64_t r, int64_t j, const real *sum) const
    {
        *dx.at(r, j) = sum[0];
    }
};

template <typename real> static int sources(cuda_queue *queue, const hal_dynamic_backward_sources_args *a)
{
    return cuda_edge_sums(queue, dynamic_sources_op<real>{dynamic_gradients_of<real>(a), cuda_mat_of<real>(a->dx)},
                          edge_rows_of(a->how, a->offset, a->column, a->dx.rows, a->x.cols));
}

int cuda_run_dynamic_backward_sources(cuda_queue *queue, const hal_dynamic_backward_sources_args *a)
{
    return cuda_empty(a->dx) ? CUDA_DONE : CUDA_BY_REAL(a->dx.dtype, sources, queue, a);
}

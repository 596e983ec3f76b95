/*
 * hal/cuda/kernels/attention.cu: attention whose ends are scored alone, and products by head. Papers are named in hal/ops.def;
 * cuda_edge_sums.h goes over the edges.
 */
#include <float.h>

#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_dropout.h"
#include "hal/cuda/kernels/cuda_edge_sums.h"
#include "hal/cuda/kernels/cuda_kernels.h"

/* ---- products by head ------------------------------------------------------------------------------------------------ */

template <typename real> __global__ void head_dot_kernel(cuda_mat<real> x, cuda_mat<real> y, cuda_mat<real> out, int64_t d)
{
    for (int64_t at = cuda_first(); at < out.rows * out.cols; at += cuda_stride()) {
        const int64_t i = at / out.cols;
        const int64_t h = at % out.cols;
        const real *left = x.at(i, h * d);
        const real *right = y.at(y.rows == 1 ? 0 : i, h * d);
        real sum = 0;
        for (int64_t j = 0; j < d; ++j) {
            sum += left[j] * right[j];
        }
        *out.at(i, h) = sum;
    }
}

template <typename real> static int head_dot(cuda_queue *queue, const hal_head_dot_args *a)
{
    return cuda_launch(queue, cuda_lines(queue, a->out.rows * a->out.cols), head_dot_kernel<real>, cuda_mat_of<real>(a->x),
                       cuda_mat_of<real>(a->y), cuda_mat_of<real>(a->out), a->x.cols / a->out.cols);
}

int cuda_run_head_dot(cuda_queue *queue, const hal_head_dot_args *a)
{
    return cuda_empty(a->out) ? CUDA_DONE : CUDA_BY_REAL(a->out.dtype, head_dot, queue, a);
}

template <typename real>
__global__ void head_scale_kernel(cuda_mat<real> scale, cuda_mat<real> x, cuda_mat<real> y, int64_t d, real beta, bool divide)
{
    for (int64_t at = cuda_first(); at < y.rows * y.cols; at += cuda_stride()) {
        const int64_t i = at / y.cols;
        const int64_t j = at % y.cols;
        const real from = *x.at(x.rows == 1 ? 0 : i, j);
        const real factor = *scale.at(i, j / d);
        const real value = divide ? from / factor : from * factor;
        *y.at(i, j) = beta == (real)0 ? value : beta * *y.at(i, j) + value;
    }
}

template <typename real> static int head_scale(cuda_queue *queue, const hal_head_scale_args *a)
{
    return cuda_launch(queue, cuda_lines(queue, a->y.rows * a->y.cols), head_scale_kernel<real>, cuda_mat_of<real>(a->scale),
                       cuda_mat_of<real>(a->x), cuda_mat_of<real>(a->y), a->y.cols / a->scale.cols, (real)a->beta, a->divide);
}

int cuda_run_head_scale(cuda_queue *queue, const hal_head_scale_args *a)
{
    return cuda_empty(a->y) ? CUDA_DONE : CUDA_BY_REAL(a->y.dtype, head_scale, queue, a);
}

/* ---- scores ---------------------------------------------------------------------------------------------------------- */

template <typename real> static __device__ real lowest_of(real);
template <> __device__ inline float lowest_of(float)
{
    return -FLT_MAX;
}
template <> __device__ inline double lowest_of(double)
{
    return -DBL_MAX;
}

template <typename real> struct scores {
    cuda_mat<real> source, target, highest;
    real slope;

    __device__ real leaky(real x) const
    {
        return x > (real)0 ? x : slope * x;
    }
    __device__ real raw(int64_t u, int64_t v, int h) const
    {
        return *source.at(u, h) + *target.at(v, h);
    }
    __device__ real power(int64_t u, int64_t v, int h) const
    {
        return exp(leaky(raw(u, v, h)) - leaky(*highest.at(v, h) + *target.at(v, h)));
    }
};

template <typename real, typename Args> static scores<real> scores_of(const Args *a)
{
    return {cuda_mat_of<real>(a->source), cuda_mat_of<real>(a->target), cuda_mat_of<real>(a->highest), (real)a->how.slope};
}

template <typename T> struct highest_op {
    typedef T real;
    typedef cuda_larger join;
    enum { COLUMNS = 0 };
    cuda_mat<real> source, highest;

    static __device__ real none()
    {
        return lowest_of(real());
    }
    __device__ edge_pair<real> pair(int64_t u, int64_t, int h) const
    {
        return {*source.at(u, h), 0};
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

template <typename real> static int highest(cuda_queue *queue, const hal_attention_highest_args *a)
{
    return cuda_edge_sums(queue, highest_op<real>{cuda_mat_of<real>(a->source), cuda_mat_of<real>(a->highest)},
                          edge_rows_of(a->how, a->offset, a->column, a->highest.rows, a->highest.cols));
}

int cuda_run_attention_highest(cuda_queue *queue, const hal_attention_highest_args *a)
{
    return cuda_empty(a->highest) ? CUDA_DONE : CUDA_BY_REAL(a->highest.dtype, highest, queue, a);
}

/* ---- forward --------------------------------------------------------------------------------------------------------- */

template <typename T> struct forward_op {
    typedef T real;
    typedef cuda_sum join;
    enum { COLUMNS = 1 };
    scores<real> s;
    cuda_mask mask;
    cuda_mat<real> x, out, total;

    static __device__ real none()
    {
        return 0;
    }
    __device__ edge_pair<real> pair(int64_t u, int64_t r, int h) const
    {
        const real power = s.power(u, r, h);
        return {power, power * cuda_kept_edge<real>(mask, u, r, h)};
    }
    __device__ void term(real *sum, const edge_pair<real> &edge, int64_t u, int64_t, int64_t j) const
    {
        sum[0] += edge.other * *x.at(u, j);
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

template <typename real> static int forward(cuda_queue *queue, const hal_attention_forward_args *a)
{
    const forward_op<real> op = {scores_of<real>(a), cuda_mask_of(a->how.dropout), cuda_mat_of<real>(a->x),
                                 cuda_mat_of<real>(a->out), cuda_mat_of<real>(a->total)};
    return cuda_edge_sums(queue, op, edge_rows_of(a->how, a->offset, a->column, a->out.rows, a->x.cols));
}

int cuda_run_attention_forward(cuda_queue *queue, const hal_attention_forward_args *a)
{
    return cuda_empty(a->total) ? CUDA_DONE : CUDA_BY_REAL(a->out.dtype, forward, queue, a);
}

/* ---- backward -------------------------------------------------------------------------------------------------------- */

template <typename real> struct gradients {
    scores<real> s;
    cuda_mask mask;
    cuda_mat<real> total, mean, x, dy;
    int64_t d;

    /* draw, and weight * kept */
    __device__ edge_pair<real> of(int64_t u, int64_t v, int h) const
    {
        const real weight = s.power(u, v, h) / *total.at(v, h);
        const real kept = cuda_kept_edge<real>(mask, u, v, h);
        const real *left = dy.at(v, h * d);
        const real *right = x.at(u, h * d);
        real dot = 0;
        for (int64_t j = 0; j < d; ++j) {
            dot += left[j] * right[j];
        }
        const real slope = s.raw(u, v, h) > (real)0 ? (real)1 : s.slope;
        return {weight * (kept * dot - *mean.at(v, h)) * slope, weight * kept};
    }
};

template <typename real, typename Args> static gradients<real> gradients_of(const Args *a)
{
    return {scores_of<real>(a),         cuda_mask_of(a->how.dropout), cuda_mat_of<real>(a->total),
            cuda_mat_of<real>(a->mean), cuda_mat_of<real>(a->x),      cuda_mat_of<real>(a->dy),
            a->x.cols / a->how.heads};
}

template <typename T> struct targets_op {
    typedef T real;
    typedef cuda_sum join;
    enum { COLUMNS = 0 };
    gradients<real> g;
    cuda_mat<real> dtarget;

    static __device__ real none()
    {
        return 0;
    }
    __device__ edge_pair<real> pair(int64_t u, int64_t r, int h) const
    {
        return g.of(u, r, h);
    }
    __device__ void term(real *, const edge_pair<real> &, int64_t, int64_t, int64_t) const
    {
    }
    __device__ void finish_head(int64_t r, int h, real sum) const
    {
        *dtarget.at(r, h) = sum;
    }
    __device__ void finish_column(int64_t, int64_t, const real *) const
    {
    }
};

template <typename real> static int targets(cuda_queue *queue, const hal_attention_backward_targets_args *a)
{
    return cuda_edge_sums(queue, targets_op<real>{gradients_of<real>(a), cuda_mat_of<real>(a->dtarget)},
                          edge_rows_of(a->how, a->offset, a->column, a->dtarget.rows, a->dtarget.cols));
}

int cuda_run_attention_backward_targets(cuda_queue *queue, const hal_attention_backward_targets_args *a)
{
    return cuda_empty(a->dtarget) ? CUDA_DONE : CUDA_BY_REAL(a->dtarget.dtype, targets, queue, a);
}

template <typename T> struct sources_op {
    typedef T real;
    typedef cuda_sum join;
    enum { COLUMNS = 1 };
    gradients<real> g;
    cuda_mat<real> dx, dsource;

    static __device__ real none()
    {
        return 0;
    }
    __device__ edge_pair<real> pair(int64_t v, int64_t r, int h) const
    {
        return g.of(r, v, h);
    }
    __device__ void term(real *sum, const edge_pair<real> &edge, int64_t v, int64_t, int64_t j) const
    {
        sum[0] += edge.other * *g.dy.at(v, j);
    }
    __device__ void finish_head(int64_t r, int h, real sum) const
    {
        *dsource.at(r, h) = sum;
    }
    __device__ void finish_column(int64_t r, int64_t j, const real *sum) const
    {
        *dx.at(r, j) = sum[0];
    }
};

template <typename real> static int sources(cuda_queue *queue, const hal_attention_backward_sources_args *a)
{
    const sources_op<real> op = {gradients_of<real>(a), cuda_mat_of<real>(a->dx), cuda_mat_of<real>(a->dsource)};
    return cuda_edge_sums(queue, op, edge_rows_of(a->how, a->offset, a->column, a->dx.rows, a->x.cols));
}

int cuda_run_attention_backward_sources(cuda_queue *queue, const hal_attention_backward_sources_args *a)
{
    return cuda_empty(a->dsource) ? CUDA_DONE : CUDA_BY_REAL(a->dx.dtype, sources, queue, a);
}

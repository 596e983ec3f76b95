/*
 * hal/cuda/kernels/attention.cu: attention whose ends are scored alone, and products by head. Papers are named in
 * hal/ops.def; cuda_edge_sums.h goes over the edges.
 */
#include <float.h>

#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_dropout.h"
#include "hal/cuda/kernels/cuda_edge_sums.h"
#include "hal/cuda/kernels/cuda_kernels.h"
#include "hal/cuda/kernels/cuda_row.h"
#include "hal/cuda/kernels/cuda_walk.h"

/* ---- products by head -------------------------------------------------------------------------------------------- */

/* A team a row and head, and N elements a lane at a time: the order of a sum is a function of d. */
template <typename real, int N>
__global__ void __launch_bounds__(CUDA_BLOCK) head_dot_kernel(cuda_row_team team, cuda_mat<real> x, cuda_mat<real> y,
                                                              cuda_mat<real> out, cuda_divisor heads, int64_t d)
{
    const int64_t at = team.row();
    const bool there = at < out.rows * out.cols;
    const int64_t i = there ? heads.quotient((uint32_t)at) : 0;
    const int64_t h = there ? at - i * out.cols : 0;
    const real *left = x.at(i, h * d);
    const real *right = y.at(y.rows == 1 ? 0 : i, h * d);
    real sum = 0;
    const int64_t own = there ? team.parts(d / N) : 0;
    CUDA_UNROLL
    for (int64_t k = 0; k < own; ++k) {
        const int64_t j = (team.lane() + k * team.lanes) * N;
        const cuda_pack<real, N> a = cuda_get_any<N>(left + j, N);
        const cuda_pack<real, N> b = cuda_get_any<N>(right + j, N);
        for (int c = 0; c < N; ++c) {
            sum += a.at[c] * b.at[c];
        }
    }
    sum = team.joined(cuda_sum(), sum);
    if (there && team.lane() == 0) {
        *out.at(i, h) = sum;
    }
}

/* Rows [first, first + rows) of a matrix; of one row all. */
template <typename real> static cuda_mat<real> rows_of(const cuda_mat<real> &mat, int64_t first, int64_t rows)
{
    return mat.rows == 1 ? mat : cuda_mat<real>{mat.data + first * mat.ld, rows, mat.cols, mat.ld};
}

template <typename real, int N> static int head_dot_rows(cuda_queue *queue, const hal_head_dot_args *a, int64_t d)
{
    const int64_t most = 0x7fffffff / a->out.cols; /* rows of a launch */
    const cuda_row_team team = cuda_row_team_of(cuda_pieces(d, 3 * N));
    for (int64_t first = 0; first < a->out.rows; first += most) {
        const int64_t rows = a->out.rows - first < most ? a->out.rows - first : most;
        CUDA_TRY(cuda_launch_teams(queue, cuda_team_grid(team, rows * a->out.cols), head_dot_kernel<real, N>, team,
                                   rows_of(cuda_mat_of<real>(a->x), first, rows),
                                   rows_of(cuda_mat_of<real>(a->y), first, rows),
                                   rows_of(cuda_mat_of<real>(a->out), first, rows), cuda_divisor_of(a->out.cols), d));
    }
    return CUDA_DONE;
}

template <typename real> static int head_dot(cuda_queue *queue, const hal_head_dot_args *a)
{
    const int64_t d = a->x.cols / a->out.cols;
    return d % 4 == 0 ? head_dot_rows<real, 4>(queue, a, d) : head_dot_rows<real, 1>(queue, a, d);
}

CUDA_OP(head_dot, CUDA_BY_REAL, out, head_dot, out)

template <typename real> struct scaled_heads {
    cuda_mat<real> scale, x, y;
    cuda_divisor d;
    real beta;
    bool divide;

    template <int N> __device__ void cells(int64_t i, int64_t j, int n) const
    {
        const cuda_pack<real, N> from = cuda_get<N>(x.at(x.rows == 1 ? 0 : i, j), n);
        cuda_pack<real, N> to = {};
        if (beta != (real)0) {
            to = cuda_get<N>(y.at(i, j), n);
        }
        for (int k = 0; k < N && k < n; ++k) {
            const real factor = *scale.at(i, d.quotient((uint32_t)j + (uint32_t)k));
            const real value = divide ? from.at[k] / factor : from.at[k] * factor;
            to.at[k] = beta == (real)0 ? value : beta * to.at[k] + value;
        }
        cuda_put(y.at(i, j), to, n);
    }
};

template <typename real> static int head_scale(cuda_queue *queue, const hal_head_scale_args *a)
{
    const scaled_heads<real> f = {cuda_mat_of<real>(a->scale), cuda_mat_of<real>(a->x), cuda_mat_of<real>(a->y),
                                  cuda_divisor_of(a->y.cols / a->scale.cols), (real)a->beta, a->divide};
    return f.y.cols > 0x7fffffff ? CUDA_ERROR_SHAPE
                                 : cuda_walk<cuda_cells_at_once<real>()>(queue, f, CUDA_BY_PLACE, f.y, f.x);
}

CUDA_OP(head_scale, CUDA_BY_REAL, y, head_scale, y)

/* ---- scores ------------------------------------------------------------------------------------------------------ */

template <typename real> static __device__ real lowest_of(real);
template <> __device__ inline float lowest_of(float)
{
    return -FLT_MAX;
}
template <> __device__ inline double lowest_of(double)
{
    return -DBL_MAX;
}

template <typename real> static __device__ real leaky(real x, real slope)
{
    return x > (real)0 ? x : slope * x;
}

/* What targets have for each head, and what weighs edges without and with a gradient. */
template <typename real> struct scores {
    edge_mat<real> source, target, highest;
    real slope;

    struct of_target {
        real target, top;
    };

    __device__ real at_source(int64_t u, int h) const
    {
        return *source.at(u, h);
    }
    __device__ of_target at_target(int64_t v, int h) const
    {
        const real own = *target.at(v, h);
        return {own, leaky(*highest.at(v, h) + own, slope)};
    }
    __device__ real power(real u, const of_target &v) const
    {
        return exp(leaky(u + v.target, slope) - v.top);
    }
};

template <typename real, typename Args> static scores<real> scores_of(const Args *a)
{
    return {edge_mat_of<real>(a->source), edge_mat_of<real>(a->target), edge_mat_of<real>(a->highest), (real)a->how.slope};
}

template <typename real> struct highest_op : edge_op<real> {
    typedef cuda_larger join;
    edge_mat<real> source, highest;

    typedef real edge_head;

    static __device__ real none()
    {
        return lowest_of(real());
    }
    __device__ edge_head at_edge(int64_t u, int h) const
    {
        return *source.at(u, h);
    }
    __device__ edge_pair<real> weigh(const edge_nothing &, edge_head own, const real *, real) const
    {
        return {own, 0};
    }
    __device__ void finish_head(int64_t r, int h, real most) const
    {
        *highest.at(r, h) = most;
    }
};

template <typename real> static int highest(cuda_queue *queue, const hal_attention_highest_args *a)
{
    return cuda_edge_sums(queue, highest_op<real>{{}, edge_mat_of<real>(a->source), edge_mat_of<real>(a->highest)},
                          edge_rows_of(a->how, a->offset, a->column, a->highest.rows, a->highest.cols));
}

CUDA_OP(attention_highest, CUDA_BY_REAL, highest, highest, highest)

/* ---- forward ----------------------------------------------------------------------------------------------------- */

template <typename real> struct forward_op : edge_op<real> {
    enum { EDGE = 1, COLUMNS = 1, KEEPS = 1 };
    scores<real> s;
    cuda_mask mask;
    edge_mat<real> x, out, total;

    typedef typename scores<real>::of_target row_head;
    typedef real edge_head;

    __host__ __device__ edge_mat<real> of_edge(int) const
    {
        return x;
    }
    __device__ row_head at_row(int64_t r, int h) const
    {
        return s.at_target(r, h);
    }
    __device__ edge_head at_edge(int64_t u, int h) const
    {
        return s.at_source(u, h);
    }
    __device__ edge_pair<real> weigh(const row_head &target, edge_head source, const real *, real kept) const
    {
        const real power = s.power(source, target);
        return {power, power * kept};
    }
    __device__ void term(real *sum, const edge_pair<real> &edge, const real *, const real *other) const
    {
        sum[0] += edge.other * other[0];
    }
    __device__ void finish_head(int64_t r, int h, real sum) const
    {
        *total.at(r, h) = sum;
    }
    __device__ void finish_column(int64_t r, int64_t j, int, real sum) const
    {
        *out.at(r, j) = sum;
    }
};

template <typename real> static int forward(cuda_queue *queue, const hal_attention_forward_args *a)
{
    const forward_op<real> op = {{},
                                 scores_of<real>(a),
                                 cuda_mask_of(a->how.dropout),
                                 edge_mat_of<real>(a->x),
                                 edge_mat_of<real>(a->out),
                                 edge_mat_of<real>(a->total)};
    return cuda_edge_sums(queue, op, edge_rows_of(a->how, a->offset, a->column, a->out.rows, a->x.cols));
}

CUDA_OP(attention_forward, CUDA_BY_REAL, total, forward, total)

/* ---- backward ---------------------------------------------------------------------------------------------------- */

template <typename real> struct gradients {
    scores<real> s;
    edge_mat<real> total, mean, x, dy;

    struct alignas(16) of_target {
        typename scores<real>::of_target score;
        real share, mean; /* share: of a power of 1 in the total */
    };

    __device__ of_target at_target(int64_t v, int h) const
    {
        return {s.at_target(v, h), (real)1 / *total.at(v, h), *mean.at(v, h)};
    }
    /* draw, and weight * kept */
    __device__ edge_pair<real> of(real u, const of_target &v, real dot, real kept) const
    {
        const real weight = s.power(u, v.score) * v.share;
        const real slope = u + v.score.target > (real)0 ? (real)1 : s.slope;
        return {weight * (kept * dot - v.mean) * slope, weight * kept};
    }
};

template <typename real, typename Args> static gradients<real> gradients_of(const Args *a)
{
    return {scores_of<real>(a), edge_mat_of<real>(a->total), edge_mat_of<real>(a->mean), edge_mat_of<real>(a->x),
            edge_mat_of<real>(a->dy)};
}

template <typename real> struct targets_op : edge_op<real> {
    enum { ROW = 1, EDGE = 1, DOTS = 1, KEEPS = 1 };
    gradients<real> g;
    cuda_mask mask;
    edge_mat<real> dtarget;

    typedef typename gradients<real>::of_target row_head;
    typedef real edge_head;

    __host__ __device__ edge_mat<real> of_row(int) const
    {
        return g.dy;
    }
    __host__ __device__ edge_mat<real> of_edge(int) const
    {
        return g.x;
    }
    __device__ row_head at_row(int64_t r, int h) const
    {
        return g.at_target(r, h);
    }
    __device__ edge_head at_edge(int64_t u, int h) const
    {
        return g.s.at_source(u, h);
    }
    __device__ void dot(real *dots, const real *dy, const real *x) const
    {
        dots[0] += dy[0] * x[0];
    }
    __device__ edge_pair<real> weigh(const row_head &target, edge_head source, const real *dots, real kept) const
    {
        return g.of(source, target, dots[0], kept);
    }
    __device__ void finish_head(int64_t r, int h, real sum) const
    {
        *dtarget.at(r, h) = sum;
    }
};

template <typename real> static int targets(cuda_queue *queue, const hal_attention_backward_targets_args *a)
{
    const targets_op<real> op = {{}, gradients_of<real>(a), cuda_mask_of(a->how.dropout), edge_mat_of<real>(a->dtarget)};
    return cuda_edge_sums(queue, op, edge_rows_of(a->how, a->offset, a->column, a->dtarget.rows, a->x.cols));
}

CUDA_OP(attention_backward_targets, CUDA_BY_REAL, dtarget, targets, dtarget)

template <typename real> struct sources_op : edge_op<real> {
    enum { ROW = 1, EDGE = 1, DOTS = 1, COLUMNS = 1, KEEPS = 1, FROM_ROW = 1 };
    gradients<real> g;
    cuda_mask mask;
    edge_mat<real> dx, dsource;
    const typename gradients<real>::of_target *targets; /* [., heads] */
    int heads;

    typedef real row_head;
    typedef typename gradients<real>::of_target edge_head;

    __host__ __device__ edge_mat<real> of_row(int) const
    {
        return g.x;
    }
    __host__ __device__ edge_mat<real> of_edge(int) const
    {
        return g.dy;
    }
    __device__ row_head at_row(int64_t r, int h) const
    {
        return g.s.at_source(r, h);
    }
    __device__ edge_head at_edge(int64_t v, int h) const
    {
        return targets[v * heads + h];
    }
    __device__ void dot(real *dots, const real *x, const real *dy) const
    {
        dots[0] += dy[0] * x[0];
    }
    __device__ edge_pair<real> weigh(row_head source, const edge_head &target, const real *dots, real kept) const
    {
        return g.of(source, target, dots[0], kept);
    }
    __device__ void term(real *sum, const edge_pair<real> &edge, const real *, const real *dy) const
    {
        sum[0] += edge.other * dy[0];
    }
    __device__ void finish_head(int64_t r, int h, real sum) const
    {
        *dsource.at(r, h) = sum;
    }
    __device__ void finish_column(int64_t r, int64_t j, int, real sum) const
    {
        *dx.at(r, j) = sum;
    }
};

template <typename real> static int sources(cuda_queue *queue, const hal_attention_backward_sources_args *a)
{
    const gradients<real> g = gradients_of<real>(a);
    typename gradients<real>::of_target *of_targets = nullptr;
    CUDA_TRY(edge_targets(queue, g, a->total.rows, a->how.heads, &of_targets));
    const sources_op<real> op = {{},
                                 g,
                                 cuda_mask_of(a->how.dropout),
                                 edge_mat_of<real>(a->dx),
                                 edge_mat_of<real>(a->dsource),
                                 of_targets,
                                 a->how.heads};
    return cuda_edge_sums(queue, op, edge_rows_of(a->how, a->offset, a->column, a->dx.rows, a->x.cols));
}

CUDA_OP(attention_backward_sources, CUDA_BY_REAL, dsource, sources, dsource)

size_t cuda_scratch_attention(int64_t rows, int64_t heads, weft_dtype dtype)
{
    return dtype == WEFT_DTYPE_F64 ? edge_target_bytes<gradients<double>>(rows, heads)
                                   : edge_target_bytes<gradients<float>>(rows, heads);
}

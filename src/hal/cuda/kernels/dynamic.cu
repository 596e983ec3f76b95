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
    edge_mat<real> x, target, vector;
    real slope;

    /* Of x + target in a column. */
    __device__ real leaky(real met) const
    {
        return met > (real)0 ? met : slope * met;
    }
    /* What a score changes by with either end. */
    __device__ real change(real weight, real met) const
    {
        return weight * (met > (real)0 ? (real)1 : slope);
    }
};

template <typename real, typename Args> static meeting<real> meeting_of(const Args *a)
{
    return {edge_mat_of<real>(a->x), edge_mat_of<real>(a->target), edge_mat_of<real>(a->vector), (real)a->how.slope};
}

/* Matrices of a row that is a target, and of one that is a source; of the target at the other end of an edge. */
enum { TARGET, VECTOR, GRADIENT };
enum { OWN, OWN_VECTOR };
enum { OTHER, OTHER_GRADIENT };

/* ---- forward ----------------------------------------------------------------------------------------------------- */

template <typename real> struct dynamic_highest_op : edge_op<real> {
    typedef cuda_larger join;
    enum { ROW = 2, EDGE = 1, DOTS = 1 };
    meeting<real> s;
    edge_mat<real> highest;

    static __device__ real none()
    {
        return sizeof(real) == sizeof(float) ? (real)-FLT_MAX : (real)-DBL_MAX;
    }
    __host__ __device__ edge_mat<real> of_row(int m) const
    {
        return m == TARGET ? s.target : s.vector;
    }
    __host__ __device__ edge_mat<real> of_edge(int) const
    {
        return s.x;
    }
    __device__ void dot(real *dots, const real *row, const real *x) const
    {
        dots[0] += row[VECTOR] * s.leaky(x[0] + row[TARGET]);
    }
    __device__ edge_pair<real> weigh(const edge_nothing &, const edge_nothing &, const real *dots, real) const
    {
        return {dots[0], 0};
    }
    __device__ void finish_head(int64_t r, int h, real most) const
    {
        *highest.at(r, h) = most;
    }
};

template <typename real> static int highest(cuda_queue *queue, const hal_dynamic_highest_args *a)
{
    return cuda_edge_sums(queue, dynamic_highest_op<real>{{}, meeting_of<real>(a), edge_mat_of<real>(a->highest)},
                          edge_rows_of(a->how, a->offset, a->column, a->highest.rows, a->x.cols));
}

CUDA_OP(dynamic_highest, CUDA_BY_REAL, highest, highest, highest)

template <typename real> struct dynamic_forward_op : edge_op<real> {
    enum { ROW = 2, EDGE = 1, DOTS = 1, COLUMNS = 1, KEEPS = 1 };
    meeting<real> s;
    cuda_mask mask;
    edge_mat<real> highest, out, total;

    typedef real row_head;

    __host__ __device__ edge_mat<real> of_row(int m) const
    {
        return m == TARGET ? s.target : s.vector;
    }
    __host__ __device__ edge_mat<real> of_edge(int) const
    {
        return s.x;
    }
    __device__ row_head at_row(int64_t r, int h) const
    {
        return *highest.at(r, h);
    }
    __device__ void dot(real *dots, const real *row, const real *x) const
    {
        dots[0] += row[VECTOR] * s.leaky(x[0] + row[TARGET]);
    }
    __device__ edge_pair<real> weigh(row_head top, const edge_nothing &, const real *dots, real kept) const
    {
        const real power = exp(dots[0] - top);
        return {power, power * kept};
    }
    __device__ void term(real *sum, const edge_pair<real> &edge, const real *, const real *x) const
    {
        sum[0] += edge.other * x[0];
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

template <typename real> static int forward(cuda_queue *queue, const hal_dynamic_forward_args *a)
{
    const dynamic_forward_op<real> op = {{},
                                         meeting_of<real>(a),
                                         cuda_mask_of(a->how.dropout),
                                         edge_mat_of<real>(a->highest),
                                         edge_mat_of<real>(a->out),
                                         edge_mat_of<real>(a->total)};
    return cuda_edge_sums(queue, op, edge_rows_of(a->how, a->offset, a->column, a->out.rows, a->x.cols));
}

CUDA_OP(dynamic_forward, CUDA_BY_REAL, total, forward, total)

/* ---- backward ---------------------------------------------------------------------------------------------------- */

template <typename real> struct dynamic_gradients {
    meeting<real> s;
    edge_mat<real> highest, total, mean, dy;

    struct alignas(16) of_target {
        real highest, share, mean; /* share: of a power of 1 in the total */
    };

    __device__ of_target at_target(int64_t v, int h) const
    {
        return {*highest.at(v, h), (real)1 / *total.at(v, h), *mean.at(v, h)};
    }
    /* draw, and weight * kept */
    __device__ edge_pair<real> of(const of_target &v, real raw, real dot, real kept) const
    {
        const real weight = exp(raw - v.highest) * v.share;
        return {weight * (kept * dot - v.mean), weight * kept};
    }
};

template <typename real, typename Args> static dynamic_gradients<real> dynamic_gradients_of(const Args *a)
{
    return {meeting_of<real>(a), edge_mat_of<real>(a->highest), edge_mat_of<real>(a->total), edge_mat_of<real>(a->mean),
            edge_mat_of<real>(a->dy)};
}

template <typename real> struct dynamic_targets_op : edge_op<real> {
    enum { ROW = 3, EDGE = 1, DOTS = 2, COLUMNS = 2, KEEPS = 1 };
    dynamic_gradients<real> g;
    cuda_mask mask;
    edge_mat<real> dtarget, dvector;

    typedef typename dynamic_gradients<real>::of_target row_head;

    __host__ __device__ edge_mat<real> of_row(int m) const
    {
        return m == TARGET ? g.s.target : m == VECTOR ? g.s.vector : g.dy;
    }
    __host__ __device__ edge_mat<real> of_edge(int) const
    {
        return g.s.x;
    }
    __device__ row_head at_row(int64_t r, int h) const
    {
        return g.at_target(r, h);
    }
    __device__ void dot(real *dots, const real *row, const real *x) const
    {
        dots[0] += row[VECTOR] * g.s.leaky(x[0] + row[TARGET]);
        dots[1] += row[GRADIENT] * x[0];
    }
    __device__ edge_pair<real> weigh(const row_head &target, const edge_nothing &, const real *dots, real kept) const
    {
        return g.of(target, dots[0], dots[1], kept);
    }
    __device__ void term(real *sum, const edge_pair<real> &edge, const real *row, const real *x) const
    {
        const real met = x[0] + row[TARGET];
        sum[0] += edge.sum * g.s.change(row[VECTOR], met);
        sum[1] += edge.sum * g.s.leaky(met);
    }
    __device__ void finish_column(int64_t r, int64_t j, int which, real sum) const
    {
        *(which == 0 ? dtarget : dvector).at(r, j) = sum;
    }
};

template <typename real> static int targets(cuda_queue *queue, const hal_dynamic_backward_targets_args *a)
{
    const dynamic_targets_op<real> op = {{},
                                         dynamic_gradients_of<real>(a),
                                         cuda_mask_of(a->how.dropout),
                                         edge_mat_of<real>(a->dtarget),
                                         edge_mat_of<real>(a->dvector)};
    return cuda_edge_sums(queue, op, edge_rows_of(a->how, a->offset, a->column, a->dtarget.rows, a->x.cols));
}

CUDA_OP(dynamic_backward_targets, CUDA_BY_REAL, dtarget, targets, dtarget)

template <typename real> struct dynamic_sources_op : edge_op<real> {
    enum { ROW = 2, EDGE = 2, DOTS = 2, COLUMNS = 1, KEEPS = 1, FROM_ROW = 1 };
    dynamic_gradients<real> g;
    cuda_mask mask;
    edge_mat<real> dx;
    const typename dynamic_gradients<real>::of_target *targets; /* [., heads] */
    int heads;

    typedef typename dynamic_gradients<real>::of_target edge_head;

    __host__ __device__ edge_mat<real> of_row(int m) const
    {
        return m == OWN ? g.s.x : g.s.vector;
    }
    __host__ __device__ edge_mat<real> of_edge(int m) const
    {
        return m == OTHER ? g.s.target : g.dy;
    }
    __device__ edge_head at_edge(int64_t v, int h) const
    {
        return targets[v * heads + h];
    }
    __device__ void dot(real *dots, const real *row, const real *edge) const
    {
        dots[0] += row[OWN_VECTOR] * g.s.leaky(row[OWN] + edge[OTHER]);
        dots[1] += edge[OTHER_GRADIENT] * row[OWN];
    }
    __device__ edge_pair<real> weigh(const edge_nothing &, const edge_head &target, const real *dots, real kept) const
    {
        return g.of(target, dots[0], dots[1], kept);
    }
    __device__ void term(real *sum, const edge_pair<real> &edge, const real *row, const real *of_edge) const
    {
        sum[0] += edge.sum * g.s.change(row[OWN_VECTOR], row[OWN] + of_edge[OTHER]) + edge.other * of_edge[OTHER_GRADIENT];
    }
    __device__ void finish_column(int64_t r, int64_t j, int, real sum) const
    {
        *dx.at(r, j) = sum;
    }
};

template <typename real> static int sources(cuda_queue *queue, const hal_dynamic_backward_sources_args *a)
{
    const dynamic_gradients<real> g = dynamic_gradients_of<real>(a);
    typename dynamic_gradients<real>::of_target *of_targets = nullptr;
    CUDA_TRY(edge_targets(queue, g, a->total.rows, a->how.heads, &of_targets));
    const dynamic_sources_op<real> op = {
        {}, g, cuda_mask_of(a->how.dropout), edge_mat_of<real>(a->dx), of_targets, a->how.heads};
    return cuda_edge_sums(queue, op, edge_rows_of(a->how, a->offset, a->column, a->dx.rows, a->x.cols));
}

CUDA_OP(dynamic_backward_sources, CUDA_BY_REAL, dx, sources, dx)

size_t cuda_scratch_dynamic(int64_t rows, int64_t heads, weft_dtype dtype)
{
    return dtype == WEFT_DTYPE_F64 ? edge_target_bytes<dynamic_gradients<double>>(rows, heads)
                                   : edge_target_bytes<dynamic_gradients<float>>(rows, heads);
}

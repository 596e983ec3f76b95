/*
 * hal/cuda/kernels/pack.cu: the group pack of hal/ops.def but for rows in few bits (pack_rows.cu) and selections
 * (top_k.cu).
 */
#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_fold.h"
#include "hal/cuda/kernels/cuda_kernels.h"
#include "hal/cuda/kernels/cuda_walk.h"

/* ---- reduce ------------------------------------------------------------------------------------------------------ */

/* Integers wrap: their sums are of unsigned numbers. */
static __device__ inline float sum_of(float a, float b)
{
    return a + b;
}

static __device__ inline double sum_of(double a, double b)
{
    return a + b;
}

static __device__ inline int32_t sum_of(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

static __device__ inline int64_t sum_of(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static __device__ inline uint8_t sum_of(uint8_t a, uint8_t b)
{
    return (uint8_t)(a + b);
}

/* A NaN on either side stays: it is no equal of itself. */
template <typename T> struct reduced {
    cuda_mat<T> left, right, to;
    int reduction;

    template <int N> __device__ void cells(int64_t i, int64_t j, int n) const
    {
        const cuda_pack<T, N> a = cuda_get<N>(left.at(i, j), n);
        const cuda_pack<T, N> b = cuda_get<N>(right.at(i, j), n);
        cuda_pack<T, N> made;
        for (int k = 0; k < N; ++k) {
            const bool first = reduction == HAL_MAX ? a.at[k] > b.at[k] : a.at[k] < b.at[k];
            made.at[k] = reduction == HAL_SUM                 ? sum_of(a.at[k], b.at[k])
                         : first || a.at[k] != a.at[k] ? a.at[k]
                                                              : b.at[k];
        }
        cuda_put(to.at(i, j), made, n);
    }
};

template <typename T> static int reduce(cuda_queue *queue, const hal_reduce_args *a)
{
    const reduced<T> f = {cuda_mat_of<T>(a->left), cuda_mat_of<T>(a->right), cuda_mat_of<T>(a->to), (int)a->reduction};
    return cuda_walk<cuda_cells_at_once<T>()>(queue, f, CUDA_ANYWHERE, f.to, f.left, f.right);
}

int cuda_run_reduce(cuda_queue *queue, const hal_reduce_args *a)
{
    if (cuda_empty(a->to)) {
        return CUDA_DONE;
    }
    switch (a->to.dtype) {
    case WEFT_DTYPE_F32:
        return reduce<float>(queue, a);
    case WEFT_DTYPE_F64:
        return reduce<double>(queue, a);
    case WEFT_DTYPE_I32:
        return reduce<int32_t>(queue, a);
    case WEFT_DTYPE_I64:
        return reduce<int64_t>(queue, a);
    default: /* of hal_reduces bytes are left */
        return reduce<uint8_t>(queue, a);
    }
}

/* ---- cast -------------------------------------------------------------------------------------------------------- */

enum { CAST = 8 /* cells at once: 16 bytes of the narrow ones */ };

template <typename X, typename Y> struct converted {
    cuda_mat<X> x;
    cuda_mat<Y> y;
    bool add;

    template <int N> __device__ void cells(int64_t i, int64_t j, int n) const
    {
        const cuda_pack<X, N> from = cuda_get<N>(x.at(i, j), n);
        cuda_pack<Y, N> to = {};
        if (add) {
            to = cuda_get<N>(y.at(i, j), n);
        }
        for (int k = 0; k < N; ++k) {
            const float value = cuda_load(from.at[k]);
            cuda_store(&to.at[k], add ? cuda_load(to.at[k]) + value : value);
        }
        cuda_put(y.at(i, j), to, n);
    }
};

template <typename X, typename Y> static int cast(cuda_queue *queue, const hal_cast_args *a)
{
    const converted<X, Y> f = {cuda_mat_of<X>(a->x), cuda_mat_of<Y>(a->y), a->add};
    return cuda_walk<CAST>(queue, f, CUDA_ANYWHERE, f.y, f.x);
}

template <typename X> static int cast_from(cuda_queue *queue, const hal_cast_args *a)
{
    return a->y.dtype == WEFT_DTYPE_BF16  ? cast<X, cuda_bf16>(queue, a)
           : a->y.dtype == WEFT_DTYPE_F16 ? cast<X, cuda_f16>(queue, a)
                                          : cast<X, float>(queue, a);
}

int cuda_run_cast(cuda_queue *queue, const hal_cast_args *a)
{
    if (cuda_empty(a->y)) {
        return CUDA_DONE;
    }
    return a->x.dtype == WEFT_DTYPE_BF16  ? cast_from<cuda_bf16>(queue, a)
           : a->x.dtype == WEFT_DTYPE_F16 ? cast_from<cuda_f16>(queue, a)
                                          : cast_from<float>(queue, a);
}

/* ---- magnitudes -------------------------------------------------------------------------------------------------- */

struct magnitudes {
    double sum, top; /* top: a NaN where there is one */
};

struct magnitude_fold {
    typedef magnitudes value;
    const float *x;
    double *out;

    __device__ magnitudes zero() const
    {
        return {0.0, 0.0};
    }
    __device__ void take(magnitudes &all, int64_t i) const
    {
        const double magnitude = fabs((double)x[i]);
        join(all, {magnitude, magnitude});
    }
    __device__ void join(magnitudes &all, const magnitudes &other) const
    {
        all.sum += other.sum;
        all.top = other.top > all.top || other.top != other.top ? other.top : all.top;
    }
    __device__ void finish(const magnitudes &all) const
    {
        out[0] = all.sum;
        out[1] = all.top;
    }
};

int cuda_run_sum_magnitudes(cuda_queue *queue, const hal_sum_magnitudes_args *a)
{
    return cuda_fold(queue, magnitude_fold{cuda_data<const float>(a->x), cuda_data<double>(a->out)},
                     a->x.rows * a->x.cols);
}

/* ---- what is not finite ------------------------------------------------------------------------------------------ */

struct first_not_finite_fold {
    typedef int64_t value; /* n: none */
    const float *x;
    int64_t n;
    int64_t *place;

    __device__ int64_t zero() const
    {
        return n;
    }
    __device__ void take(int64_t &first, int64_t i) const
    {
        join(first, cuda_finite(x[i]) ? n : i);
    }
    __device__ void join(int64_t &first, int64_t other) const
    {
        first = other < first ? other : first;
    }
    __device__ void finish(int64_t first) const
    {
        *place = first < n ? first : -1;
    }
};

struct zeros_at_trouble {
    cuda_mat<float> x;
    const int64_t *place;

    template <int N> __device__ void cells(int64_t i, int64_t j, int n) const
    {
        if (*place >= 0) {
            cuda_put(x.at(i, j), cuda_pack<float, N>{}, n);
        }
    }
};

int cuda_run_zero_unless_finite(cuda_queue *queue, const hal_zero_unless_finite_args *a)
{
    const int64_t n = a->x.rows * a->x.cols;
    const first_not_finite_fold find = {cuda_data<const float>(a->x), n, cuda_data<int64_t>(a->place)};
    const int code = cuda_fold(queue, find, n);
    if (code != CUDA_DONE || n == 0) {
        return code;
    }
    const zeros_at_trouble f = {cuda_mat_of<float>(a->x), find.place};
    return cuda_walk<cuda_cells_at_once<float>()>(queue, f, CUDA_ANYWHERE, f.x);
}

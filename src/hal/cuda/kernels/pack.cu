/*
 * hal/cuda/kernels/pack.cu: the group pack of hal/ops.def but for rows in few bits (pack_rows.cu). What reaches a floor is
 * counted by pieces, the counts are summed up, and each piece writes behind those before it: in order, without atomics.
 */
#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_fold.h"
#include "hal/cuda/kernels/cuda_kernels.h"
#include "hal/cuda/kernels/cuda_walk.h"

/* ---- reduce ----------------------------------------------------------------------------------------------------------- */

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

/* ---- cast ------------------------------------------------------------------------------------------------------------- */

struct cuda_f16 {
    uint16_t bits;
};

static __device__ inline float cuda_load(cuda_f16 x)
{
    return fp16_to_float(x.bits);
}

static __device__ inline void cuda_store(cuda_f16 *to, float x)
{
    to->bits = fp16_from_float(x);
}

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

/* ---- selection --------------------------------------------------------------------------------------------------------- */

static __device__ inline bool reaches(float x, float floor)
{
    return fabsf(x) >= floor || x != x;
}

struct count_fold {
    typedef int64_t value;
    const float *x;
    float floor;
    int64_t *count;

    __device__ int64_t zero() const
    {
        return 0;
    }
    __device__ void take(int64_t &sum, int64_t i) const
    {
        sum += reaches(x[i], floor) ? 1 : 0;
    }
    __device__ void join(int64_t &sum, int64_t other) const
    {
        sum += other;
    }
    __device__ void finish(int64_t sum) const
    {
        *count = sum;
    }
};

int cuda_run_count_above(cuda_queue *queue, const hal_count_above_args *a)
{
    return cuda_fold(queue, count_fold{cuda_data<const float>(a->x), a->floor, cuda_data<int64_t>(a->count)},
                     a->x.rows * a->x.cols);
}

static const int64_t SELECT_PIECE = 4096; /* elements of a block */

/* A warp's lanes look at 32 neighbours at a time and count by ballot; a block is one warp's piece. */
__global__ void select_count(const float *x, int64_t n, float floor, int64_t *count)
{
    const int64_t piece = cuda_row();
    const int64_t begin = piece * SELECT_PIECE;
    const int64_t end = begin + SELECT_PIECE < n ? begin + SELECT_PIECE : n;
    int64_t sum = 0;
    for (int64_t first = begin; first < end; first += CUDA_WARP) {
        const int64_t i = first + cuda_lane();
        sum += __popc(__ballot_sync(0xffffffffu, i < end && reaches(x[i], floor)));
    }
    if (cuda_lane() == 0 && begin < n) {
        count[piece] = sum;
    }
}

/* before[p] = the counts of the pieces before p; total = all of them. One thread: pieces are thousands of elements. */
__global__ void select_scan(int64_t *count, int64_t pieces, int64_t *total)
{
    int64_t sum = 0;
    for (int64_t p = 0; p < pieces; ++p) {
        const int64_t own = count[p];
        count[p] = sum;
        sum += own;
    }
    *total = sum;
}

__global__ void select_write(const float *x, int64_t n, float floor, const int64_t *before, int32_t *index,
                             float *value, int64_t capacity)
{
    const int64_t piece = cuda_row();
    const int64_t begin = piece * SELECT_PIECE;
    const int64_t end = begin + SELECT_PIECE < n ? begin + SELECT_PIECE : n;
    int64_t at = begin < n ? before[piece] : 0;
    for (int64_t first = begin; first < end; first += CUDA_WARP) {
        const int64_t i = first + cuda_lane();
        const bool holds = i < end && reaches(x[i], floor);
        const unsigned lanes = __ballot_sync(0xffffffffu, holds);
        const int64_t place = at + __popc(lanes & ((1u << cuda_lane()) - 1u));
        if (holds && place < capacity) {
            index[place] = (int32_t)i;
            value[place] = x[i];
        }
        at += __popc(lanes);
    }
}

int cuda_run_compact_above(cuda_queue *queue, const hal_compact_above_args *a)
{
    const int64_t n = a->x.rows * a->x.cols;
    const int64_t pieces = cuda_pieces(n, SELECT_PIECE);
    const float *x = cuda_data<const float>(a->x);
    void *scratch = nullptr;
    CUDA_TRY(cuda_queue_scratch(queue, (size_t)(pieces + 1) * sizeof(int64_t), &scratch));
    int64_t *count = static_cast<int64_t *>(scratch);
    if (n > 0) {
        CUDA_TRY(cuda_launch_teams(queue, cuda_rows(pieces), select_count, x, n, a->floor, count));
    }
    CUDA_TRY(cuda_launch(queue, {1, 1}, select_scan, count, pieces, cuda_data<int64_t>(a->count)));
    if (n == 0) {
        return CUDA_DONE;
    }
    return cuda_launch_teams(queue, cuda_rows(pieces), select_write, x, n, a->floor,
                             static_cast<const int64_t *>(count), cuda_data<int32_t>(a->index),
                             cuda_data<float>(a->value), a->index.cols);
}

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

/*
 * hal/cuda/kernels/tokens.cu: attention, embedding and mean of tokens (hal/ops.def). A thread makes the shares of a row
 * and head, which lie in scratch memory [rows, heads, tokens] until threads for each cell have used them; sums are in
 * double and in the order of rows, so every run gives the same bits.
 */
#include <math.h>

#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_kernels.h"

/* One attention: x [rows, 3 n], rows of images of `tokens`. */
template <typename cell> struct attended {
    typedef cuda_real<cell> real;
    cuda_mat<cell> x;
    cuda_mat<const real> key;
    int64_t rows, n, tokens, heads, width;
    real *share, *slope; /* [rows, heads, tokens] */

    __device__ bool is_token(int64_t i) const
    {
        return key.data == nullptr || *key.at(i, 0) != (real)0;
    }
    /* Product of a run of cells of row i of a and of row j of b. */
    __device__ double product(const cuda_mat<cell> &a, int64_t i, int64_t at, int64_t j, int64_t column) const
    {
        double sum = 0.0;
        for (int64_t c = 0; c < width; ++c) {
            sum += (double)cuda_load(*a.at(i, at + c)) * (double)cuda_load(*x.at(j, column + c));
        }
        return sum;
    }
    __device__ real *share_of(int64_t i, int64_t head) const
    {
        return share + (i * heads + head) * tokens;
    }
    __device__ real *slope_of(int64_t i, int64_t head) const
    {
        return slope + (i * heads + head) * tokens;
    }
};

template <typename cell> static __device__ inline void attend_shares(const attended<cell> &a, int64_t i, int64_t head)
{
    typedef cuda_real<cell> real;
    const int64_t first = i / a.tokens * a.tokens, at = head * a.width;
    const double scale = 1.0 / sqrt((double)a.width);
    real *share = a.share_of(i, head);
    double highest = -1e300, sum = 0.0;
    const bool token = a.is_token(i);
    for (int64_t j = 0; j < a.tokens; ++j) {
        const bool reads = token && a.is_token(first + j);
        const double score = reads ? a.product(a.x, i, at, first + j, a.n + at) * scale : 0.0;
        share[j] = (real)score;
        highest = reads && score > highest ? score : highest;
    }
    for (int64_t j = 0; j < a.tokens; ++j) {
        const bool reads = token && a.is_token(first + j);
        share[j] = reads ? (real)exp((double)share[j] - highest) : (real)0;
        sum += (double)share[j];
    }
    for (int64_t j = 0; j < a.tokens && sum > 0.0; ++j) {
        share[j] = (real)((double)share[j] / sum);
    }
}

template <typename cell> __global__ void __launch_bounds__(CUDA_BLOCK) attend_shares_kernel(attended<cell> a)
{
    for (int64_t at = cuda_first(); at < a.rows * a.heads; at += cuda_stride()) {
        attend_shares(a, at / a.heads, at % a.heads);
    }
}

template <typename cell>
__global__ void __launch_bounds__(CUDA_BLOCK) attend_values_kernel(attended<cell> a, cuda_mat<cell> y)
{
    typedef cuda_real<cell> real;
    for (int64_t at = cuda_first(); at < a.rows * a.n; at += cuda_stride()) {
        const int64_t i = at / a.n, j = at % a.n, first = i / a.tokens * a.tokens;
        const real *share = a.share_of(i, j / a.width);
        double sum = 0.0;
        for (int64_t k = 0; k < a.tokens; ++k) {
            sum += (double)share[k] * (double)cuda_load(*a.x.at(first + k, 2 * a.n + j));
        }
        cuda_store(y.at(i, j), (real)sum);
    }
}

template <typename cell>
__global__ void __launch_bounds__(CUDA_BLOCK) attend_slopes_kernel(attended<cell> a, cuda_mat<cell> dy)
{
    typedef cuda_real<cell> real;
    const double scale = 1.0 / sqrt((double)a.width);
    for (int64_t at = cuda_first(); at < a.rows * a.heads; at += cuda_stride()) {
        const int64_t i = at / a.heads, head = at % a.heads, first = i / a.tokens * a.tokens;
        const real *share = a.share_of(i, head);
        real *slope = a.slope_of(i, head);
        double mean = 0.0;
        for (int64_t j = 0; j < a.tokens; ++j) {
            slope[j] = share[j] != (real)0
                           ? (real)a.product(dy, i, head * a.width, first + j, 2 * a.n + head * a.width)
                           : (real)0;
            mean += (double)share[j] * (double)slope[j];
        }
        for (int64_t j = 0; j < a.tokens; ++j) {
            slope[j] = (real)((double)share[j] * ((double)slope[j] - mean) * scale);
        }
    }
}

template <typename cell>
__global__ void __launch_bounds__(CUDA_BLOCK)
    attend_gradients_kernel(attended<cell> a, cuda_mat<cell> dy, cuda_mat<cell> dx)
{
    typedef cuda_real<cell> real;
    for (int64_t at = cuda_first(); at < a.rows * a.n; at += cuda_stride()) {
        const int64_t i = at / a.n, j = at % a.n, head = j / a.width, first = i / a.tokens * a.tokens;
        double query = 0.0, key = 0.0, value = 0.0;
        for (int64_t k = 0; k < a.tokens; ++k) {
            query += (double)a.slope_of(i, head)[k] * (double)cuda_load(*a.x.at(first + k, a.n + j));
            key += (double)a.slope_of(first + k, head)[i - first] * (double)cuda_load(*a.x.at(first + k, j));
            value += (double)a.share_of(first + k, head)[i - first] * (double)cuda_load(*dy.at(first + k, j));
        }
        cuda_store(dx.at(i, j), (real)query);
        cuda_store(dx.at(i, a.n + j), (real)key);
        cuda_store(dx.at(i, 2 * a.n + j), (real)value);
    }
}

size_t cuda_scratch_attend(int64_t rows, int64_t heads, int64_t tokens, weft_dtype dtype)
{
    return 2 * (size_t)(rows * heads * tokens) * (dtype == WEFT_DTYPE_F64 ? sizeof(double) : sizeof(float));
}

/* The shares, made. */
template <typename cell, typename args_type>
static int attend(cuda_queue *queue, const args_type *args, const hal_mat &y, attended<cell> *a)
{
    typedef cuda_real<cell> real;
    void *scratch = nullptr;
    *a = {cuda_mat_of<cell>(args->x),
          cuda_mat_of<const real>(args->key),
          y.rows,
          y.cols,
          args->tokens,
          args->heads,
          y.cols / args->heads,
          nullptr,
          nullptr};
    CUDA_TRY(cuda_queue_scratch(queue, 2 * (size_t)(y.rows * args->heads * args->tokens) * sizeof(real), &scratch));
    a->share = static_cast<real *>(scratch);
    a->slope = a->share + y.rows * args->heads * args->tokens;
    return cuda_launch(queue, cuda_lines(queue, y.rows * args->heads), attend_shares_kernel<cell>, *a);
}

template <typename cell> static int attend_forward(cuda_queue *queue, const hal_attend_forward_args *args)
{
    attended<cell> a;
    CUDA_TRY(attend<cell>(queue, args, args->y, &a));
    return cuda_launch(queue, cuda_lines(queue, a.rows * a.n), attend_values_kernel<cell>, a,
                       cuda_mat_of<cell>(args->y));
}

CUDA_OP(attend_forward, CUDA_BY_VALUE, y, attend_forward, y)

template <typename cell> static int attend_backward(cuda_queue *queue, const hal_attend_backward_args *args)
{
    attended<cell> a;
    const cuda_mat<cell> dy = cuda_mat_of<cell>(args->dy);
    CUDA_TRY(attend<cell>(queue, args, args->dy, &a));
    CUDA_TRY(cuda_launch(queue, cuda_lines(queue, a.rows * a.heads), attend_slopes_kernel<cell>, a, dy));
    return cuda_launch(queue, cuda_lines(queue, a.rows * a.n), attend_gradients_kernel<cell>, a, dy,
                       cuda_mat_of<cell>(args->dx));
}

CUDA_OP(attend_backward, CUDA_BY_VALUE, dx, attend_backward, dx)

/* ---- embedding -------------------------------------------------------------------------------------------------- */

template <typename cell>
__global__ void __launch_bounds__(CUDA_BLOCK)
    lookup_kernel(cuda_mat<const cuda_real<cell>> id, cuda_mat<const cuda_real<cell>> table, cuda_mat<cell> y)
{
    for (int64_t at = cuda_first(); at < y.rows * y.cols; at += cuda_stride()) {
        const int64_t i = at / y.cols, j = at % y.cols;
        cuda_store(y.at(i, j), *table.at((int64_t)*id.at(i, 0), j));
    }
}

template <typename cell> static int lookup_forward(cuda_queue *queue, const hal_lookup_forward_args *a)
{
    typedef const cuda_real<cell> real;
    return cuda_launch(queue, cuda_lines(queue, a->y.rows * a->y.cols), lookup_kernel<cell>, cuda_mat_of<real>(a->id),
                       cuda_mat_of<real>(a->table), cuda_mat_of<cell>(a->y));
}

CUDA_OP(lookup_forward, CUDA_BY_VALUE, y, lookup_forward, y)

template <typename cell>
__global__ void __launch_bounds__(CUDA_BLOCK)
    lookup_zero_kernel(cuda_mat<cuda_real<cell>> table)
{
    for (int64_t at = cuda_first(); at < table.rows * table.cols; at += cuda_stride()) {
        *table.at(at / table.cols, at % table.cols) = 0;
    }
}

/* A thread a column, down all rows. */
template <typename cell>
__global__ void __launch_bounds__(CUDA_BLOCK)
    lookup_sum_kernel(cuda_mat<cell> dy, cuda_mat<const cuda_real<cell>> id, cuda_mat<cuda_real<cell>> table)
{
    for (int64_t j = cuda_first(); j < table.cols; j += cuda_stride()) {
        for (int64_t i = 0; i < dy.rows; ++i) {
            const int64_t row = (int64_t)*id.at(i, 0);
            if (row > 0) {
                *table.at(row, j) += cuda_load(*dy.at(i, j));
            }
        }
    }
}

template <typename cell> static int lookup_backward(cuda_queue *queue, const hal_lookup_backward_args *a)
{
    typedef cuda_real<cell> real;
    const cuda_mat<real> table = cuda_mat_of<real>(a->dtable);
    CUDA_TRY(cuda_launch(queue, cuda_lines(queue, table.rows * table.cols), lookup_zero_kernel<cell>, table));
    return cuda_launch(queue, cuda_lines(queue, table.cols), lookup_sum_kernel<cell>, cuda_mat_of<cell>(a->dy),
                       cuda_mat_of<const real>(a->id), table);
}

CUDA_OP(lookup_backward, CUDA_BY_VALUE, dy, lookup_backward, dtable)

/* ---- mean ------------------------------------------------------------------------------------------------------- */

/* Tokens of an image. */
template <typename real>
static __device__ inline int64_t tokens_of(const cuda_mat<const real> &key, int64_t image, int64_t tokens)
{
    int64_t count = 0;
    for (int64_t i = image * tokens; i < (image + 1) * tokens; ++i) {
        count += key.data == nullptr || *key.at(i, 0) != (real)0 ? 1 : 0;
    }
    return count;
}

template <typename cell>
__global__ void __launch_bounds__(CUDA_BLOCK)
    token_mean_kernel(cuda_mat<cell> x, cuda_mat<const cuda_real<cell>> key, cuda_mat<cell> y, int64_t tokens)
{
    typedef cuda_real<cell> real;
    for (int64_t at = cuda_first(); at < y.rows * y.cols; at += cuda_stride()) {
        const int64_t image = at / y.cols, j = at % y.cols, count = tokens_of<real>(key, image, tokens);
        double sum = 0.0;
        for (int64_t i = image * tokens; i < (image + 1) * tokens; ++i) {
            sum += key.data == nullptr || *key.at(i, 0) != (real)0 ? (double)cuda_load(*x.at(i, j)) : 0.0;
        }
        cuda_store(y.at(image, j), (real)(count > 0 ? sum / (double)count : 0.0));
    }
}

template <typename cell> static int token_mean_forward(cuda_queue *queue, const hal_token_mean_forward_args *a)
{
    return cuda_launch(queue, cuda_lines(queue, a->y.rows * a->y.cols), token_mean_kernel<cell>,
                       cuda_mat_of<cell>(a->x), cuda_mat_of<const cuda_real<cell>>(a->key), cuda_mat_of<cell>(a->y),
                       a->tokens);
}

CUDA_OP(token_mean_forward, CUDA_BY_VALUE, y, token_mean_forward, y)

template <typename cell>
__global__ void __launch_bounds__(CUDA_BLOCK)
    token_mean_backward_kernel(cuda_mat<cell> dy, cuda_mat<const cuda_real<cell>> key, cuda_mat<cell> dx,
                               int64_t tokens)
{
    typedef cuda_real<cell> real;
    for (int64_t at = cuda_first(); at < dx.rows * dx.cols; at += cuda_stride()) {
        const int64_t i = at / dx.cols, j = at % dx.cols, image = i / tokens;
        const bool token = key.data == nullptr || *key.at(i, 0) != (real)0;
        const double share = token ? (double)cuda_load(*dy.at(image, j)) / (double)tokens_of<real>(key, image, tokens) : 0.0;
        cuda_store(dx.at(i, j), (real)share);
    }
}

template <typename cell> static int token_mean_backward(cuda_queue *queue, const hal_token_mean_backward_args *a)
{
    return cuda_launch(queue, cuda_lines(queue, a->dx.rows * a->dx.cols), token_mean_backward_kernel<cell>,
                       cuda_mat_of<cell>(a->dy), cuda_mat_of<const cuda_real<cell>>(a->key),
                       cuda_mat_of<cell>(a->dx), a->tokens);
}

CUDA_OP(token_mean_backward, CUDA_BY_VALUE, dx, token_mean_backward, dx)

/*
 * hal/cuda/kernels/cuda_fold.h: many numbers to one value, the same bits every time and on every card.
 *
 *      n elements  ->  pieces, a block each  ->  a value a piece  ->  one block joins them
 *
 * The number of pieces is a function of n alone, and inside a block values are joined by halves. A fold says what it
 * is:
 *
 *      struct sum_of_squares {
 *          typedef double value;
 *          const float *x; double *out;
 *          __device__ double zero() const { return 0.0; }
 *          __device__ void take(double &sum, int64_t i) const { sum += (double)x[i] * (double)x[i]; }
 *          __device__ void join(double &sum, double other) const { sum += other; }
 *          __device__ void finish(double sum) const { *out = sum; }
 *      };
 *      return cuda_fold(queue, sum_of_squares{x, out}, n);      n = 0: finish(zero())
 */
#pragma once

#include "hal/cuda/kernels/cuda_launch.h"

static const int64_t CUDA_FOLD_PIECE = 2048; /* elements of a piece, at least */
static const int64_t CUDA_FOLD_MOST = 1024;  /* pieces */

/* What the threads of a block have, in thread 0. */
template <typename F> static __device__ typename F::value cuda_join_block(const F &f, typename F::value own)
{
    __shared__ typename F::value all[CUDA_BLOCK];
    const unsigned t = threadIdx.x;
    all[t] = own;
    __syncthreads();
    for (unsigned half = CUDA_BLOCK / 2; half > 0; half /= 2) {
        if (t < half) {
            f.join(all[t], all[t + half]);
        }
        __syncthreads();
    }
    return all[0];
}

template <typename F> __global__ void cuda_fold_pieces(F f, int64_t n, int64_t piece, typename F::value *partial)
{
    const int64_t begin = (int64_t)blockIdx.x * piece;
    const int64_t end = begin + piece < n ? begin + piece : n;
    typename F::value own = f.zero();
    for (int64_t i = begin + threadIdx.x; i < end; i += CUDA_BLOCK) {
        f.take(own, i);
    }
    own = cuda_join_block(f, own);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = own;
    }
}

template <typename F> __global__ void cuda_fold_rest(F f, int pieces, const typename F::value *partial)
{
    typename F::value own = f.zero();
    for (int i = (int)threadIdx.x; i < pieces; i += CUDA_BLOCK) {
        f.join(own, partial[i]);
    }
    own = cuda_join_block(f, own);
    if (threadIdx.x == 0) {
        f.finish(own);
    }
}

/* Bytes of scratch memory that a fold of n elements takes. */
template <typename F> static inline size_t cuda_fold_bytes()
{
    return (size_t)CUDA_FOLD_MOST * sizeof(typename F::value);
}

/* The same in scratch memory that the caller has, cuda_fold_bytes long. */
template <typename F> int cuda_fold_in(cuda_queue *queue, F f, int64_t n, void *scratch)
{
    typedef typename F::value value;
    const int64_t wanted = cuda_pieces(n, CUDA_FOLD_PIECE);
    const int64_t most = wanted < CUDA_FOLD_MOST ? wanted : CUDA_FOLD_MOST;
    const int64_t piece = most > 0 ? cuda_pieces(n, most) : 1;
    const int64_t pieces = cuda_pieces(n, piece);
    value *partial = static_cast<value *>(scratch);
    if (pieces > 0) {
        CUDA_TRY(cuda_launch_teams(queue, {pieces, CUDA_BLOCK}, cuda_fold_pieces<F>, f, n, piece, partial));
    }
    return cuda_launch_teams(queue, {1, CUDA_BLOCK}, cuda_fold_rest<F>, f, (int)pieces, partial);
}

template <typename F> int cuda_fold(cuda_queue *queue, F f, int64_t n)
{
    void *scratch = nullptr;
    CUDA_TRY(cuda_queue_scratch(queue, cuda_fold_bytes<F>(), &scratch));
    return cuda_fold_in(queue, f, n, scratch);
}

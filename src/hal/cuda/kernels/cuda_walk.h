/*
 * hal/cuda/kernels/cuda_walk.h: the cells of matrices of one shape, a thread N neighbours of a row, loaded and stored
 * 16 bytes at a time where all matrices allow it, else a cell a thread. Matrices without gaps are one long row where a
 * cell's place does not matter. What becomes of the cells says a struct:
 *
 *   template <typename cell> struct negated {
 *       cuda_mat<cell> x, y;
 *       template <int N> __device__ void cells(int64_t i, int64_t j, int n) const      (i, j) .. (i, j + n - 1), n <= N
 *       {
 *           cuda_pack<cell, N> to = cuda_get<N>(x.at(i, j), n);
 *           for (int k = 0; k < N; ++k) cuda_store(&to.at[k], -cuda_load(to.at[k]));
 *           cuda_put(y.at(i, j), to, n);
 *       }
 *   };
 *   const negated<cell> f = {x, y};
 *   return cuda_walk<cuda_cells_at_once<cell>()>(queue, f, CUDA_ANYWHERE, f.y, f.x);     the shape is the first one's
 */
#pragma once

#include "hal/cuda/kernels/cuda_cells.h"

/* Cells of 16 bytes. */
template <typename cell> static constexpr int cuda_cells_at_once()
{
    return (int)(16 / sizeof(cell));
}

/* N cells, moved up to 16 bytes at a time. */
template <typename cell, int N> struct alignas(sizeof(cell) * N < 16 ? sizeof(cell) * N : 16) cuda_pack {
    cell at[N];
};

template <int N, typename cell>
static __device__ inline cuda_pack<cell, N> cuda_get_packed(const cell *from, int n, bool aligned)
{
    cuda_pack<cell, N> made;
    if (n == N && aligned) {
        return *reinterpret_cast<const cuda_pack<cell, N> *>(from);
    }
    for (int k = 0; k < N; ++k) {
        made.at[k] = k < n ? from[k] : cell();
    }
    return made;
}

/* The first n of N cells from an aligned address on; zeros behind them. */
template <int N, typename cell> static __device__ inline cuda_pack<cell, N> cuda_get(const cell *from, int n)
{
    return cuda_get_packed<N>(from, n, true);
}

/* The same from any address: parameters of columns lie where they like. */
template <int N, typename cell> static __device__ inline cuda_pack<cell, N> cuda_get_any(const cell *from, int n)
{
    return cuda_get_packed<N>(from, n, (uintptr_t)from % alignof(cuda_pack<cell, N>) == 0);
}

/* The same of a matrix that may be left out: zeros then. */
template <int N, typename cell>
static __device__ inline cuda_pack<cell, N> cuda_get_if(const cuda_mat<cell> &mat, int64_t i, int64_t j, int n)
{
    cuda_pack<cell, N> made = {};
    if (mat.data != nullptr) {
        made = cuda_get<N>(mat.at(i, j), n);
    }
    return made;
}

/* To an aligned address, by instructions that are named: left to itself nvcc stores many a pack cell by cell. */
template <typename pack> static __device__ inline void cuda_put_packed(pack *to, const pack &made)
{
#if WEFT_CUDA_SHIM
    *to = made;
#else
    if constexpr (sizeof(pack) % 16 == 0) {
        for (unsigned w = 0; w < sizeof(pack) / 16; ++w) {
            const uint4 word = reinterpret_cast<const uint4 *>(&made)[w];
            asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(reinterpret_cast<uint4 *>(to) + w),
                         "r"(word.x), "r"(word.y), "r"(word.z), "r"(word.w)
                         : "memory");
        }
    } else if constexpr (sizeof(pack) == 8) {
        const uint2 word = *reinterpret_cast<const uint2 *>(&made);
        asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(word.x), "r"(word.y) : "memory");
    } else {
        *to = made;
    }
#endif
}

/* The first n of N cells, to an aligned address unless it says otherwise. */
template <int N, typename cell>
static __device__ inline void cuda_put(cell *to, const cuda_pack<cell, N> &made, int n, bool aligned = true)
{
    if (n == N && aligned) {
        cuda_put_packed(reinterpret_cast<cuda_pack<cell, N> *>(to), made);
        return;
    }
    for (int k = 0; k < N; ++k) {
        if (k < n) {
            to[k] = made.at[k];
        }
    }
}

/* Quotients of numbers below 2^31 by one that is known on the host, in 1 .. 2^31 - 1. T. Granlund, P. L. Montgomery:
 * Division by invariant integers using multiplication. PLDI '94, doi:10.1145/178243.178249 */
struct cuda_divisor {
    uint32_t by, multiplier, shift;

    __device__ uint32_t quotient(uint32_t n) const
    {
        return ((uint32_t)((uint64_t)n * multiplier >> 32) + n) >> shift;
    }
};

static inline cuda_divisor cuda_divisor_of(int64_t by)
{
    uint32_t shift = 0;
    while (((int64_t)1 << shift) < by) {
        shift += 1;
    }
    const uint64_t above = ((uint64_t)1 << shift) - (uint64_t)by;
    return {(uint32_t)by, (uint32_t)((above << 32) / (uint64_t)by + 1), shift};
}

/* A launch: `count` packs, of rows from `row` on, each from `column` on. */
struct cuda_walked {
    int64_t row, column, cols;
    uint32_t count;
    cuda_divisor packs; /* of a row */
};

template <typename F, int N> __global__ void __launch_bounds__(CUDA_BLOCK) cuda_walk_kernel(F f, cuda_walked walked)
{
    const uint32_t at = blockIdx.x * CUDA_BLOCK + threadIdx.x;
    if (at >= walked.count) {
        return;
    }
    const uint32_t line = walked.packs.quotient(at);
    const int64_t j = walked.column + (int64_t)(at - line * walked.packs.by) * N;
    const int64_t left = walked.cols - j;
    if (N == 1 || left >= N) {
        f.template cells<N>(walked.row + line, j, N); /* a number that is known: loads without branches */
    } else {
        f.template cells<N>(walked.row + line, j, (int)left);
    }
}

template <int N, typename F> int cuda_walk_rows(cuda_queue *queue, const F &f, int64_t rows, int64_t cols)
{
    const int64_t most = 0x7fffff00; /* packs of a launch */
    const int64_t packs = cuda_pieces(cols, N);
    for (int64_t first = 0; first < packs; first += most) {
        const int64_t wide = packs - first < most ? packs - first : most;
        const int64_t tall = most / wide;
        for (int64_t row = 0; row < rows; row += tall) {
            const int64_t count = (rows - row < tall ? rows - row : tall) * wide;
            const cuda_walked walked = {row, first * N, cols, (uint32_t)count, cuda_divisor_of(wide)};
            CUDA_TRY(
                cuda_launch(queue, {cuda_pieces(count, CUDA_BLOCK), CUDA_BLOCK}, cuda_walk_kernel<F, N>, f, walked));
        }
    }
    return CUDA_DONE;
}

/* Whether a matrix has no gaps between its rows. */
template <typename cell> static inline bool cuda_dense(const cuda_mat<cell> &mat)
{
    return mat.rows <= 1 || mat.ld == mat.cols;
}

/* Whether rows of a matrix, or its cells as one row, can be moved N at a time; one that was left out can. */
template <int N, typename cell> static inline bool cuda_takes_packs(const cuda_mat<cell> &mat, bool one_row)
{
    const uintptr_t bytes = alignof(cuda_pack<cell, N>);
    return mat.data == nullptr || ((uintptr_t)mat.data % bytes == 0 &&
                                   (one_row || mat.rows <= 1 || (uintptr_t)mat.ld * sizeof(cell) % bytes == 0));
}

enum cuda_places { CUDA_ANYWHERE, CUDA_BY_PLACE /* what becomes of a cell depends on its row or column */ };

/* Over the cells of `shape`, which is not empty, N at a time where it and the others allow that. */
template <int N, typename F, typename cell, typename... Others>
int cuda_walk(cuda_queue *queue, const F &f, cuda_places places, const cuda_mat<cell> &shape, const Others &...others)
{
    const bool one_row = places == CUDA_ANYWHERE && (cuda_dense(shape) && ... && cuda_dense(others));
    const int64_t rows = one_row ? 1 : shape.rows;
    const int64_t cols = one_row ? shape.rows * shape.cols : shape.cols;
    return (cuda_takes_packs<N>(shape, one_row) && ... && cuda_takes_packs<N>(others, one_row))
               ? cuda_walk_rows<N>(queue, f, rows, cols)
               : cuda_walk_rows<1>(queue, f, rows, cols);
}

/*
 * hal/cuda/kernels/cuda_tile.h: products of matrices that nobody holds whole: c(m, n) = sum over k of a(m, k) * b(k,
 * n), the elements fetched by what is multiplied. A block makes a tile of 64 x 64 or 64 x 16 of c, 16 k at a time
 * through shared memory; a thread has 4 rows of it. Sums over k are in one thread and in order.
 *
 *      typedef real;                                       what is summed in
 *      enum { A_BY_K };                                    four elements of a at once: of k, else of m
 *      int64_t m, n, depth;                                the shape, of each product
 *      __device__ void enter(int64_t z)                    product z of the launch; may set first and depth
 *      __device__ row a_row(int64_t m), column b_column(int64_t n)     what a thread works out once
 *      __device__ void load_a(real (&v)[4], row, m, k)     four elements from (m, k) on; 0 outside
 *      __device__ void load_b(real (&v)[4], column, k, n)  b(k, n .. n + 3); 0 outside
 *      __device__ void store(m, n, real sum)
 */
#pragma once

#include "hal/cuda/kernels/cuda_launch.h"

enum { CUDA_TILE = 64, CUDA_TILE_NARROW = 16, CUDA_TILE_DEPTH = 16 };

template <typename P, int WIDTH> __global__ void __launch_bounds__(CUDA_BLOCK) cuda_tile_kernel(P p)
{
    typedef typename P::real real;
    enum { COLS = WIDTH / 16 /* of a thread */ };
    __shared__ real a[CUDA_TILE_DEPTH][CUDA_TILE + 4];
    __shared__ real b[CUDA_TILE_DEPTH][WIDTH];
    const int t = (int)threadIdx.x;
    const int64_t across = (p.n + WIDTH - 1) / WIDTH;
    const int64_t down = (p.m + CUDA_TILE - 1) / CUDA_TILE;
    const int64_t tile = blockIdx.x;
    const int64_t n0 = tile % across * WIDTH;
    const int64_t m0 = tile / across % down * CUDA_TILE;
    p.enter(tile / across / down);
    const int a_m = P::A_BY_K ? t / 4 : t % 16 * 4;
    const int a_k = P::A_BY_K ? t % 4 * 4 : t / 16;
    const int b_k = t / (WIDTH / 4) % CUDA_TILE_DEPTH;
    const int b_n = t % (WIDTH / 4) * 4;
    const bool loads_b = t < CUDA_TILE_DEPTH * WIDTH / 4;
    const typename P::row row = p.a_row(m0 + a_m);
    const typename P::column column = p.b_column(n0 + b_n);
    const int m1 = t / 16 * 4;
    const int n1 = t % 16 * COLS;
    real sum[4][COLS] = {};
    for (int64_t k0 = 0; k0 < p.depth; k0 += CUDA_TILE_DEPTH) {
        real v[4];
        p.load_a(v, row, m0 + a_m, k0 + a_k);
        for (int i = 0; i < 4; ++i) {
            a[P::A_BY_K ? a_k + i : a_k][P::A_BY_K ? a_m : a_m + i] = v[i];
        }
        if (loads_b) {
            p.load_b(v, column, k0 + b_k, n0 + b_n);
            for (int i = 0; i < 4; ++i) {
                b[b_k][b_n + i] = v[i];
            }
        }
        __syncthreads();
        for (int k = 0; k < CUDA_TILE_DEPTH; ++k) {
            for (int i = 0; i < 4; ++i) {
                for (int j = 0; j < COLS; ++j) {
                    sum[i][j] += a[k][m1 + i] * b[k][n1 + j];
                }
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < COLS; ++j) {
            if (m0 + m1 + i < p.m && n0 + n1 + j < p.n) {
                p.store(m0 + m1 + i, n0 + n1 + j, sum[i][j]);
            }
        }
    }
}

/* `products` of one shape. */
template <typename P> int cuda_tiles(cuda_queue *queue, const P &p, int64_t products)
{
    const bool narrow = p.n <= CUDA_TILE_NARROW;
    const int64_t blocks =
        cuda_pieces(p.m, CUDA_TILE) * cuda_pieces(p.n, narrow ? CUDA_TILE_NARROW : CUDA_TILE) * products;
    if (blocks == 0) {
        return CUDA_DONE;
    }
    return narrow ? cuda_launch_teams(queue, {blocks, CUDA_BLOCK}, cuda_tile_kernel<P, CUDA_TILE_NARROW>, p)
                  : cuda_launch_teams(queue, {blocks, CUDA_BLOCK}, cuda_tile_kernel<P, CUDA_TILE>, p);
}

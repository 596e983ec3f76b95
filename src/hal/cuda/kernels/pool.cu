/* hal/cuda/kernels/pool.cu: pooling, a thread a few channels of a pixel of what comes out. */
#include <math.h>

#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_kernels.h"
#include "hal/cuda/kernels/cuda_walk.h"
#include "hal/cuda/kernels/cuda_window.h"

static cuda_window window_of(const hal_pool_shape *s)
{
    cuda_window w = {{(int)s->height, (int)s->width},
                     {0, 0},
                     {(int)s->kernel[0], (int)s->kernel[1]},
                     {(int)s->stride[0], (int)s->stride[1]},
                     {1, 1},
                     {(int)s->pad[0][0], (int)s->pad[1][0]}};
    for (int i = 0; i < 2; ++i) {
        w.made[i] = (int)((w.size[i] + s->pad[i][0] + s->pad[i][1] - s->kernel[i]) / s->stride[i]) + 1;
    }
    return w;
}

template <typename cell> struct pooling {
    typedef cuda_real<cell> real;
    cuda_mat<cell> x, y;
    cuda_mat<uint8_t> index; /* left out where it is not asked for */
    cuda_window w;
    bool average;

    template <int N> __device__ void cells(int64_t row, int64_t c, int n) const
    {
        const cuda_pixel pixel = cuda_pixel_of(row, w.made);
        real made[N] = {}; /* sum, or largest so far */
        cuda_pack<uint8_t, N> place = {};
        bool first = true;
        for (int k = 0; k < w.kernel[0] * w.kernel[1]; ++k) {
            const int64_t from = w.read(pixel.image, pixel.y, pixel.x, k / w.kernel[1], k % w.kernel[1]);
            if (from < 0) {
                continue;
            }
            const cuda_pack<cell, N> in = cuda_get<N>(x.at(from, c), n);
            for (int v = 0; v < N; ++v) {
                const real value = cuda_load(in.at[v]);
                if (average) {
                    made[v] += value;
                } else if (first || value > made[v] || (value != value && made[v] == made[v])) { /* first NaN */
                    made[v] = value;
                    place.at[v] = (uint8_t)k;
                }
            }
            first = false;
        }
        cuda_pack<cell, N> to;
        for (int v = 0; v < N; ++v) {
            cuda_store(&to.at[v], average ? made[v] / (real)(w.kernel[0] * w.kernel[1]) : made[v]);
        }
        cuda_put(y.at(row, c), to, n);
        if (index.data != nullptr) {
            cuda_put(index.at(row, c), place, n);
        }
    }
};

template <typename cell> static int pool_forward(cuda_queue *queue, const hal_pool_forward_args *a)
{
    pooling<cell> f = {cuda_mat_of<cell>(a->x), cuda_mat_of<cell>(a->y), cuda_mat_of<uint8_t>(a->index),
                       window_of(&a->shape), a->shape.average};
    f.index.data = f.average ? nullptr : f.index.data;
    return cuda_walk<cuda_cells_at_once<cell>()>(queue, f, CUDA_BY_PLACE, f.y, f.x, f.index);
}

CUDA_OP(pool_forward, CUDA_BY_VALUE, y, pool_forward, y)

template <typename cell> struct unpooling {
    typedef cuda_real<cell> real;
    cuda_mat<cell> dy, dx;
    cuda_mat<uint8_t> index; /* left out of averages */
    cuda_window w;

    /* Adds what the output pixel `from` gives element k of its window. */
    template <int N> __device__ void add(int64_t from, int k, int64_t c, int n, real (&sum)[N]) const
    {
        const cuda_pack<cell, N> in = cuda_get<N>(dy.at(from, c), n);
        const cuda_pack<uint8_t, N> place = cuda_get_if<N>(index, from, c, n);
        for (int v = 0; v < N; ++v) {
            sum[v] += index.data == nullptr || place.at[v] == k ? cuda_load(in.at[v]) : 0;
        }
    }

    /* Of the window's elements those that meet this pixel: every stride-th. */
    template <int N> __device__ void cells(int64_t row, int64_t c, int n) const
    {
        const cuda_pixel pixel = cuda_pixel_of(row, w.size);
        const int y = pixel.y + w.pad[0];
        const int x = pixel.x + w.pad[1];
        real sum[N] = {};
        for (int ky = y % w.stride[0], oy = y / w.stride[0]; ky < w.kernel[0] && oy >= 0; ky += w.stride[0], --oy) {
            for (int kx = x % w.stride[1], ox = x / w.stride[1]; kx < w.kernel[1] && ox >= 0; kx += w.stride[1], --ox) {
                if (oy < w.made[0] && ox < w.made[1]) {
                    add<N>((pixel.image * w.made[0] + oy) * w.made[1] + ox, ky * w.kernel[1] + kx, c, n, sum);
                }
            }
        }
        cuda_pack<cell, N> to;
        for (int v = 0; v < N; ++v) {
            cuda_store(&to.at[v], index.data == nullptr ? sum[v] / (real)(w.kernel[0] * w.kernel[1]) : sum[v]);
        }
        cuda_put(dx.at(row, c), to, n);
    }
};

template <typename cell> static int pool_backward(cuda_queue *queue, const hal_pool_backward_args *a)
{
    unpooling<cell> f = {cuda_mat_of<cell>(a->dy), cuda_mat_of<cell>(a->dx), cuda_mat_of<uint8_t>(a->index),
                         window_of(&a->shape)};
    f.index.data = a->shape.average ? nullptr : f.index.data;
    return cuda_walk<cuda_cells_at_once<cell>()>(queue, f, CUDA_BY_PLACE, f.dx, f.dy, f.index);
}

CUDA_OP(pool_backward, CUDA_BY_VALUE, dx, pool_backward, dx)

/* hal/cuda/kernels/pool.cu: pooling, a thread an element of what comes out. */
#include <math.h>

#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_kernels.h"
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

template <typename cell>
__global__ void pool_kernel(cuda_mat<cell> x, cuda_mat<cell> y, cuda_mat<uint8_t> index, cuda_window w, bool average)
{
    typedef cuda_real<cell> real;
    for (int64_t at = cuda_first(); at < y.rows * y.cols; at += cuda_stride()) {
        const int64_t row = at / y.cols;
        const int64_t c = at % y.cols;
        const cuda_pixel pixel = cuda_pixel_of(row, w.made);
        real best = 0;
        real sum = 0;
        int place = -1;
        for (int k = 0; k < w.kernel[0] * w.kernel[1]; ++k) {
            const int64_t from = w.read(pixel.image, pixel.y, pixel.x, k / w.kernel[1], k % w.kernel[1]);
            if (from < 0) {
                continue;
            }
            const real value = cuda_load(*x.at(from, c));
            if (place < 0 || value > best || (value != value && best == best)) { /* the first NaN wins */
                best = value;
                place = k;
            }
            sum += value;
        }
        cuda_store(y.at(row, c), average ? sum / (real)(w.kernel[0] * w.kernel[1]) : best);
        if (index.data != nullptr && !average) {
            *index.at(row, c) = (uint8_t)place;
        }
    }
}

template <typename cell> static int pool_forward(cuda_queue *queue, const hal_pool_forward_args *a)
{
    return cuda_launch(queue, cuda_lines(queue, a->y.rows * a->y.cols), pool_kernel<cell>, cuda_mat_of<cell>(a->x),
                       cuda_mat_of<cell>(a->y), cuda_mat_of<uint8_t>(a->index), window_of(&a->shape), a->shape.average);
}

int cuda_run_pool_forward(cuda_queue *queue, const hal_pool_forward_args *a)
{
    return cuda_empty(a->y) ? CUDA_DONE : CUDA_BY_VALUE(a->y.dtype, pool_forward, queue, a);
}

template <typename cell>
__global__ void unpool_kernel(cuda_mat<cell> dy, cuda_mat<uint8_t> index, cuda_mat<cell> dx, cuda_window w, bool average)
{
    typedef cuda_real<cell> real;
    for (int64_t at = cuda_first(); at < dx.rows * dx.cols; at += cuda_stride()) {
        const int64_t row = at / dx.cols;
        const int64_t c = at % dx.cols;
        const cuda_pixel pixel = cuda_pixel_of(row, w.size);
        real sum = 0;
        for (int k = 0; k < w.kernel[0] * w.kernel[1]; ++k) {
            const int64_t from = w.reader(pixel.image, pixel.y, pixel.x, k / w.kernel[1], k % w.kernel[1]);
            if (from >= 0 && (average || *index.at(from, c) == k)) {
                sum += cuda_load(*dy.at(from, c));
            }
        }
        cuda_store(dx.at(row, c), average ? sum / (real)(w.kernel[0] * w.kernel[1]) : sum);
    }
}

template <typename cell> static int pool_backward(cuda_queue *queue, const hal_pool_backward_args *a)
{
    return cuda_launch(queue, cuda_lines(queue, a->dx.rows * a->dx.cols), unpool_kernel<cell>, cuda_mat_of<cell>(a->dy),
                       cuda_mat_of<uint8_t>(a->index), cuda_mat_of<cell>(a->dx), window_of(&a->shape), a->shape.average);
}

int cuda_run_pool_backward(cuda_queue *queue, const hal_pool_backward_args *a)
{
    return cuda_empty(a->dx) ? CUDA_DONE : CUDA_BY_VALUE(a->dx.dtype, pool_backward, queue, a);
}

/*
 * hal/cuda/kernels/cuda_launch.h: launching, for nvcc and for the shim that runs kernels on the CPU.
 *
 *      __global__ void scale_kernel(float *x, int64_t n, float by) 
 *      { for (int64_t i = cuda_first(); i < n; i += cuda_stride()) x[i] *= by; }
 *      return cuda_launch(queue, cuda_lines(queue, n), scale_kernel, x, n, by);             no barriers
 *      return cuda_launch_teams(queue, {blocks, 256}, sum_kernel, x, n, partial);    __syncthreads, shuffles
 *
 * Both return a code of cuda_device.h. Rows go to x of a grid, whose limit is 2^31 - 1.
 */
#pragma once

#include <stdint.h>

#include "hal/cuda/device/cuda_queue.h"
#if WEFT_CUDA_SHIM
#include "hal/cuda/shim/shim_device.h"
#endif

enum { CUDA_BLOCK = 256, CUDA_WARP = 32, CUDA_ROWS = CUDA_BLOCK / CUDA_WARP /* of a block, a warp each */ };

struct cuda_grid {
    int64_t x;
    unsigned threads;      /* of a block, in x */
    unsigned y = 1, z = 1; /* blocks */
};

#if WEFT_CUDA_SHIM
template <typename Call> struct cuda_shim_call final : shim_kernel {
    Call call;
    explicit cuda_shim_call(Call made) : call(made)
    {
    }
    void run_thread() override
    {
        call();
    }
};

template <typename... P, typename... A>
int cuda_launch_any(cuda_queue *queue, cuda_grid grid, bool barriers, void (*kernel)(P...), A... args)
{
    const auto call = [=] { kernel(static_cast<P>(args)...); };
    const unsigned x = grid.x > 0x7fffffff ? 0 : (unsigned)grid.x;
    return shim_submit(queue->stream, new cuda_shim_call<decltype(call)>(call), {x, grid.y, grid.z},
                       {grid.threads, 1, 1}, barriers);
}
#else
template <typename... P, typename... A>
int cuda_launch_any(cuda_queue *queue, cuda_grid grid, bool barriers, void (*kernel)(P...), A... args)
{
    (void)barriers;
    if (grid.x > 0x7fffffff) {
        return CUDA_ERROR_SHAPE;
    }
    const dim3 blocks((unsigned)grid.x, grid.y, grid.z);
    kernel<<<blocks, grid.threads, 0, (cudaStream_t)(void *)queue->stream>>>(static_cast<P>(args)...);
    return (int)cudaGetLastError();
}
#endif

/* Threads that do not wait for each other. */
template <typename... P, typename... A>
int cuda_launch(cuda_queue *queue, cuda_grid grid, void (*kernel)(P...), A... args)
{
    return cuda_launch_any(queue, grid, false, kernel, args...);
}

/* Threads that meet in their block or warp. */
template <typename... P, typename... A>
int cuda_launch_teams(cuda_queue *queue, cuda_grid grid, void (*kernel)(P...), A... args)
{
    return cuda_launch_any(queue, grid, true, kernel, args...);
}

static inline int64_t cuda_pieces(int64_t count, int64_t piece)
{
    return (count + piece - 1) / piece;
}

/* As many threads as elements, as far as they fill the device: kernels go on in strides. n > 0. */
static inline cuda_grid cuda_lines(const cuda_queue *queue, int64_t n)
{
    const int64_t blocks = cuda_pieces(n, CUDA_BLOCK);
    const int64_t most = (int64_t)queue->processors * 16;
    return {blocks < most ? blocks : most, CUDA_BLOCK};
}

/* A warp a row. */
static inline cuda_grid cuda_rows(int64_t rows)
{
    return {cuda_pieces(rows, CUDA_ROWS), CUDA_BLOCK};
}

/* The first element of this thread, and how far the next one is. */
static __device__ inline int64_t cuda_first()
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ inline int64_t cuda_stride()
{
    return (int64_t)gridDim.x * blockDim.x;
}

/* The row of this warp, and this thread's place in it. */
static __device__ inline int64_t cuda_row()
{
    return (int64_t)blockIdx.x * CUDA_ROWS + threadIdx.x / CUDA_WARP;
}

static __device__ inline int cuda_lane()
{
    return (int)(threadIdx.x % CUDA_WARP);
}

/* A launch that is the next of several. */
#define CUDA_TRY(call)                                                                                                 \
    do {                                                                                                               \
        const int cuda_try_code_ = (call);                                                                             \
        if (cuda_try_code_ != CUDA_DONE) {                                                                             \
            return cuda_try_code_;                                                                                     \
        }                                                                                                              \
    } while (0)

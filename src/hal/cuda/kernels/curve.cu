/*
 * hal/cuda/kernels/curve.cu: activations beside ReLU, and gates (hal/ops.def). A curve is computed in the type of
 * parameters, a gate's gradient in double by a thread for each channel of an image.
 */
#include <math.h>

#include "hal/cuda/kernels/cuda_cells.h"
#include "hal/cuda/kernels/cuda_kernels.h"
#include "hal/cuda/kernels/cuda_walk.h"

template <typename real> static __device__ inline real sigmoid_of(real x)
{
    return (real)1 / ((real)1 + exp(-x));
}

/* The share of a normal distribution that is below x. */
template <typename real> static __device__ inline real normal_share(real x)
{
    return (real)0.5 * erfc(-x * (real)0.70710678118654752440);
}

template <typename real> static __device__ inline real curve_value(hal_curve curve, real x)
{
    switch (curve) {
    case HAL_CURVE_GELU:
        return x * normal_share(x);
    case HAL_CURVE_SILU:
        return x * sigmoid_of(x);
    case HAL_CURVE_SIGMOID:
        return sigmoid_of(x);
    case HAL_CURVE_RELU6:
        return x < 0 ? 0 : x > 6 ? 6 : x;
    }
    return x;
}

template <typename real> static __device__ inline real curve_slope(hal_curve curve, real known)
{
    switch (curve) {
    case HAL_CURVE_GELU:
        return normal_share(known) + known * (real)0.39894228040143267794 * exp((real)-0.5 * known * known);
    case HAL_CURVE_SILU:
        return sigmoid_of(known) * ((real)1 + known * ((real)1 - sigmoid_of(known)));
    case HAL_CURVE_SIGMOID:
        return known * ((real)1 - known);
    case HAL_CURVE_RELU6:
        return known > 0 && known < 6 ? 1 : 0;
    }
    return 1;
}

template <typename cell> struct curved {
    cuda_mat<cell> x, y;
    hal_curve curve;

    template <int N> __device__ void cells(int64_t i, int64_t j, int n) const
    {
        cuda_pack<cell, N> to = cuda_get<N>(x.at(i, j), n);
        for (int k = 0; k < N; ++k) {
            cuda_store(&to.at[k], curve_value(curve, cuda_load(to.at[k])));
        }
        cuda_put(y.at(i, j), to, n);
    }
};

template <typename cell> static int curve_forward(cuda_queue *queue, const hal_curve_forward_args *a)
{
    const curved<cell> f = {cuda_mat_of<cell>(a->x), cuda_mat_of<cell>(a->y), a->curve};
    return cuda_walk<cuda_cells_at_once<cell>()>(queue, f, CUDA_ANYWHERE, f.y, f.x);
}

CUDA_OP(curve_forward, CUDA_BY_VALUE, y, curve_forward, y)

template <typename cell> struct curve_gradient {
    cuda_mat<cell> dy, known, dx;
    hal_curve curve;

    template <int N> __device__ void cells(int64_t i, int64_t j, int n) const
    {
        const cuda_pack<cell, N> at = cuda_get<N>(known.at(i, j), n);
        cuda_pack<cell, N> to = cuda_get<N>(dy.at(i, j), n);
        for (int k = 0; k < N; ++k) {
            cuda_store(&to.at[k], cuda_load(to.at[k]) * curve_slope(curve, cuda_load(at.at[k])));
        }
        cuda_put(dx.at(i, j), to, n);
    }
};

template <typename cell> static int curve_backward(cuda_queue *queue, const hal_curve_backward_args *a)
{
    const curve_gradient<cell> f = {cuda_mat_of<cell>(a->dy), cuda_mat_of<cell>(a->known), cuda_mat_of<cell>(a->dx),
                                    a->curve};
    return cuda_walk<cuda_cells_at_once<cell>()>(queue, f, CUDA_ANYWHERE, f.dx, f.dy, f.known);
}

CUDA_OP(curve_backward, CUDA_BY_VALUE, dx, curve_backward, dx)

/* ---- gates ------------------------------------------------------------------------------------------------------ */

template <typename cell> struct gated {
    cuda_mat<cell> x, gate, y;
    int64_t pixels;

    template <int N> __device__ void cells(int64_t i, int64_t j, int n) const
    {
        const cuda_pack<cell, N> factor = cuda_get_any<N>(gate.at(i / pixels, j), n);
        cuda_pack<cell, N> to = cuda_get<N>(x.at(i, j), n);
        for (int k = 0; k < N; ++k) {
            cuda_store(&to.at[k], cuda_load(to.at[k]) * cuda_load(factor.at[k]));
        }
        cuda_put(y.at(i, j), to, n);
    }
};

template <typename cell> static int gate_forward(cuda_queue *queue, const hal_gate_forward_args *a)
{
    const gated<cell> f = {cuda_mat_of<cell>(a->x), cuda_mat_of<cell>(a->gate), cuda_mat_of<cell>(a->y), a->pixels};
    return cuda_walk<cuda_cells_at_once<cell>()>(queue, f, CUDA_BY_PLACE, f.y, f.x);
}

CUDA_OP(gate_forward, CUDA_BY_VALUE, y, gate_forward, y)

/* A thread a channel of an image: it reads dy and x before it writes dx, which may be dy. */
template <typename cell>
__global__ void gate_gradient_kernel(cuda_mat<cell> dy, cuda_mat<cell> x, cuda_mat<cell> gate, cuda_mat<cell> dgate,
                                     cuda_mat<cell> dx, int64_t pixels)
{
    const int64_t cols = dx.cols, count = gate.rows * cols;
    for (int64_t at = cuda_first(); at < count; at += cuda_stride()) {
        const int64_t image = at / cols, j = at % cols;
        const cuda_real<cell> factor = cuda_load(*gate.at(image, j));
        double sum = 0.0;
        for (int64_t i = image * pixels; i < (image + 1) * pixels; ++i) {
            const cuda_real<cell> gradient = cuda_load(*dy.at(i, j));
            sum += (double)gradient * (double)cuda_load(*x.at(i, j));
            cuda_store(dx.at(i, j), gradient * factor);
        }
        if (dgate.data != nullptr) {
            cuda_store(dgate.at(image, j), (cuda_real<cell>)sum);
        }
    }
}

template <typename cell> static int gate_backward(cuda_queue *queue, const hal_gate_backward_args *a)
{
    return cuda_launch(queue, cuda_lines(queue, a->gate.rows * a->dx.cols), gate_gradient_kernel<cell>,
                       cuda_mat_of<cell>(a->dy), cuda_mat_of<cell>(a->x), cuda_mat_of<cell>(a->gate),
                       cuda_mat_of<cell>(a->dgate), cuda_mat_of<cell>(a->dx), a->pixels);
}

CUDA_OP(gate_backward, CUDA_BY_VALUE, dx, gate_backward, dx)

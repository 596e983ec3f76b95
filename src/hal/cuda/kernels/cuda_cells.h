/*
 * hal/cuda/kernels/cuda_cells.h: elements of matrices by type. Kernels are templates of the type of their cells; rows
 * of bfloat16 and float16 are computed in float32 and rounded when stored.
 */
#pragma once

#include "base/half.h"
#include "hal/cuda/kernels/cuda_launch.h"
#include "hal/op_args.h"

struct cuda_bf16 {
    uint16_t bits;
};

struct cuda_f16 {
    uint16_t bits;
};

/* real: what a cell is computed in, and what its parameters and sums are. */
template <typename cell> struct cuda_cell {
    typedef cell real;
};
template <> struct cuda_cell<cuda_bf16> {
    typedef float real;
};
template <> struct cuda_cell<cuda_f16> {
    typedef float real;
};
template <typename cell> using cuda_real = typename cuda_cell<cell>::real;

static __device__ inline bool cuda_finite(float x)
{
    return x - x == 0.0f;
}

static __device__ inline float cuda_load(float x)
{
    return x;
}

static __device__ inline double cuda_load(double x)
{
    return x;
}

static __device__ inline float cuda_load(cuda_bf16 x)
{
    return bf16_to_float(x.bits);
}

/* By the instructions that every card from Pascal on has; the bits are those of base/half.h, but of a NaN, whose sign
 * and payload storing drops. */
static __device__ inline float cuda_load(cuda_f16 x)
{
#if WEFT_CUDA_SHIM
    return fp16_to_float(x.bits);
#else
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
    return wide;
#endif
}

static __device__ inline void cuda_store(float *to, float x)
{
    *to = x;
}

static __device__ inline void cuda_store(double *to, double x)
{
    *to = x;
}

static __device__ inline void cuda_store(cuda_bf16 *to, float x)
{
    to->bits = bf16_from_float(x);
}

static __device__ inline void cuda_store(cuda_f16 *to, float x)
{
#if WEFT_CUDA_SHIM
    to->bits = fp16_from_float(x);
#else
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to->bits) : "f"(x));
#endif
}

/* What storing makes of a number. */
template <typename cell> static __device__ inline cuda_real<cell> cuda_rounded(cuda_real<cell> x)
{
    cell kept;
    cuda_store(&kept, x);
    return cuda_load(kept);
}

/* A matrix in device memory; data NULL where it was left out. */
template <typename cell> struct cuda_mat {
    cell *data;
    int64_t rows, cols, ld;

    __device__ cell *at(int64_t i, int64_t j) const
    {
        return data + i * ld + j;
    }
};

template <typename cell> static inline cuda_mat<cell> cuda_mat_of(const hal_mat &mat)
{
    return {static_cast<cell *>(mat.data), mat.rows, mat.cols, mat.ld};
}

template <typename cell> static inline cell *cuda_data(const hal_mat &mat)
{
    return static_cast<cell *>(mat.data);
}

static inline bool cuda_empty(const hal_mat &mat)
{
    return mat.rows <= 0 || mat.cols <= 0;
}

/* Calls f<cell>(queue, args) for the type of an operand: HAL_REAL, HAL_DATA, and HAL_DATA of a HAL_VALUE_OP. */
#define CUDA_BY_REAL(dtype, f, ...) ((dtype) == WEFT_DTYPE_F32 ? f<float>(__VA_ARGS__) : f<double>(__VA_ARGS__))
#define CUDA_BY_DATA(dtype, f, ...)                                                                                    \
    ((dtype) == WEFT_DTYPE_BF16 ? f<cuda_bf16>(__VA_ARGS__) : CUDA_BY_REAL(dtype, f, __VA_ARGS__))
#define CUDA_BY_VALUE(dtype, f, ...)                                                                                   \
    ((dtype) == WEFT_DTYPE_F16 ? f<cuda_f16>(__VA_ARGS__) : CUDA_BY_DATA(dtype, f, __VA_ARGS__))

/* The function cuda_run_<name>: it calls f<cell>(queue, a) for the type of the operand `typed`, or nothing if the
 * operand `result` has no elements. by: CUDA_BY_REAL, CUDA_BY_DATA or CUDA_BY_VALUE. */
#define CUDA_OP(name, by, typed, f, result)                                                                            \
    int cuda_run_##name(cuda_queue *queue, const hal_##name##_args *a)                                                 \
    {                                                                                                                  \
        return cuda_empty(a->result) ? CUDA_DONE : by(a->typed.dtype, f, queue, a);                                    \
    }

/*
 * hal/cuda/kernels/cuda_kernels.h: what runs an operation: cuda_run_<op>(queue, arguments) launches its kernels and returns a
 * code of cuda_device.h. Types were checked before (hal_op_type). One .cu a group of hal/ops.def or a part of one.
 */
#ifndef WEFT_HAL_CUDA_KERNELS_CUDA_KERNELS_H
#define WEFT_HAL_CUDA_KERNELS_CUDA_KERNELS_H

#include "hal/cuda/device/cuda_queue.h"
#include "hal/op_args.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HAL_OP(group, name, flops, operands, ...) int cuda_run_##name(cuda_queue *queue, const hal_##name##_args *a);
#include "hal/ops.def"

#ifdef __cplusplus
}
#endif
#endif

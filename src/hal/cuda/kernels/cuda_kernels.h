/*
 * hal/cuda/kernels/cuda_kernels.h: what runs an operation: cuda_run_<op>(queue, arguments) launches its kernels and
 * returns a code of cuda_device.h. Types were checked before (hal_op_type). One .cu a group of hal/ops.def or a part of
 * one.
 */
#pragma once

#include "hal/cuda/device/cuda_queue.h"
#include "hal/op_args.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HAL_OP(group, name, flops, operands, ...) int cuda_run_##name(cuda_queue *queue, const hal_##name##_args *a);
#define HAL_HOST_OP(group, name, types, flops, operands, ...)
#include "hal/ops.def"

/* Scratch memory that runs of these shapes take, at most [bytes]. dtype: type of the result. rows, cols: shape of the
 * result; shape of the input for sums by column, losses, counts, gram and factorisations. */
size_t cuda_scratch_gemm(int64_t rows, int64_t cols, int64_t terms, bool in_f64);
size_t cuda_scratch_gram(int64_t rows, int64_t cols, bool in_f64);
/* terms: rows of one matrix of geqrf; not read for the others. */
size_t cuda_scratch_factor(cuda_queue *queue, cuda_solver_call call, int64_t rows, int64_t cols, int64_t terms,
                           weft_dtype dtype);
size_t cuda_scratch_columns(int64_t rows, int64_t cols);
size_t cuda_scratch_loss(int64_t rows);
size_t cuda_scratch_attention(int64_t rows, int64_t heads, weft_dtype dtype);
size_t cuda_scratch_attend(int64_t rows, int64_t heads, int64_t tokens, weft_dtype dtype);
size_t cuda_scratch_dynamic(int64_t rows, int64_t heads, weft_dtype dtype);
/* The `selected` largest of so many elements, or fewer of them. */
size_t cuda_scratch_select(int64_t elements, int64_t selected);
/* pieces: of all long rows (cuda_matrix.h), most_pieces: of one; sources: rows of x; cache: of the second level. */
size_t cuda_scratch_spmm(int64_t pieces, int64_t most_pieces, int64_t sources, int64_t cols, int64_t cache,
                         weft_dtype dtype);

#ifdef __cplusplus
}
#endif

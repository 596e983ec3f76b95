/*
 * hal/cuda/cuda_prepared.h: prepared matrices and convolutions, and what operations that run them check before they are
 * launched.
 */
#pragma once

#include "hal/cuda/cuda_state.h"

void cuda_sparse_ops(hal_sparse_ops *ops);
/* A matrix by rows, and one by shared sums of a csr without values (cuda_matrix.h). [out] *spmm: cuda_spmm_destroy;
 * NULL on failure. */
weft_status cuda_spmm_rows(weft_hal *hal, const hal_csr *csr, int64_t max_d, hal_spmm **spmm);
weft_status cuda_spmm_shared(weft_hal *hal, const hal_csr *csr, int64_t max_d, hal_spmm **spmm);
void cuda_spmm_destroy(weft_hal *hal, hal_spmm *spmm); /* NULL is fine */
/* Of a run of a matrix that is not prepared yet (hal_mem_ops.scratch). */
size_t cuda_scratch_of_spmm(const cuda_queue *queue, const hal_scratch_shape *shape);
void cuda_image_ops(hal_image_ops *ops);
/* What conv_create would take for a convolution of all its sizes; 0 where it would refuse it. */
size_t cuda_scratch_of_conv(const weft_hal *hal, const hal_scratch_shape *shape);

/* The arguments of spmm_run; of convolutions and pooling, WEFT_OK for other operations. */
weft_status cuda_check_spmm(const hal_spmm_run_args *args);
weft_status cuda_check_image(hal_op op, const void *args);

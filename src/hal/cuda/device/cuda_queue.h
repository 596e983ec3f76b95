/*
 * hal/cuda/device/cuda_queue.h: where kernels run, and the scratch memory that they may use.
 *
 * Kernels of one queue run one after the other, so all of them share one block of scratch memory: an operation's begins
 * where it likes and ends with the operation.
 */
#pragma once

#include "hal/cuda/device/cuda_blas.h"
#include "hal/cuda/device/cuda_dnn.h"
#include "hal/cuda/device/cuda_solver.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cuda_queue {
    cuda_stream *stream;
    cuda_blas *blas;     /* NULL before the first product */
    cuda_dnn *dnn;       /* NULL before the first convolution */
    cuda_solver *solver; /* NULL before the first factorisation */
    int processors;
    int64_t cache; /* bytes of the second level, which all processors share */
    void *scratch;
    size_t scratch_bytes;
} cuda_queue;

/* [out] scratch  `bytes` of device memory, aligned to 256, until the operation's last kernel; grown when it is too
 * short, which waits for the queue. CUDA_ERROR_MEMORY when the device has no more. */
int cuda_queue_scratch(cuda_queue *queue, size_t bytes, void **scratch);
/* What the queue holds but the stream. */
void cuda_queue_close(cuda_queue *queue);

#ifdef __cplusplus
}
#endif

/* hal/cuda/device/cuda_queue.c: see cuda_queue.h. */
#include "hal/cuda/device/cuda_queue.h"

#include "base/alloc.h"

static void free_scratch(cuda_queue *queue)
{
    if (queue->scratch != NULL) {
        (void)cuda_stream_sync(queue->stream);
        (void)cuda_device_free(queue->scratch);
        weft_mem_give_back(queue->scratch_bytes, WEFT_MEM_WORKSPACE);
        queue->scratch = NULL;
        queue->scratch_bytes = 0;
    }
}

int cuda_queue_scratch(cuda_queue *queue, size_t bytes, void **scratch)
{
    int code = CUDA_DONE;
    if (bytes > queue->scratch_bytes) {
        free_scratch(queue);
        if (weft_mem_take(bytes, WEFT_MEM_WORKSPACE) != WEFT_OK) {
            return CUDA_ERROR_MEMORY;
        }
        code = cuda_device_alloc(&queue->scratch, bytes);
        if (code == CUDA_DONE) {
            queue->scratch_bytes = bytes;
        } else {
            weft_mem_give_back(bytes, WEFT_MEM_WORKSPACE);
        }
    }
    *scratch = queue->scratch;
    return code;
}

void cuda_queue_close(cuda_queue *queue)
{
    free_scratch(queue);
    cuda_blas_close(queue->blas);
    queue->blas = NULL;
    cuda_dnn_close(queue->dnn);
    queue->dnn = NULL;
    cuda_solver_close(queue->solver);
    queue->solver = NULL;
}

/*
 * hal/cuda/cuda_order.h: hal.h promises one stream; asynchronous copies have streams of their own, so that they overlap
 * with operations. Pieces of device memory that such copies touch are remembered, with an event behind the last copy
 * and one behind the last operation on them. A copy waits for the operations on its piece, an operation for the copies
 * of the pieces that its operands touch, and nothing else waits. The first copy of a piece waits for all that was
 * called before.
 */
#pragma once

#include "hal/cuda/cuda_state.h"
#include "hal/table/op_table.h"

/* Around a copy on the stream `in` or `out`. Copies beyond CUDA_PIECES pieces go to the stream of operations:
 * *stream. */
int cuda_order_begin_copy(cuda_state *state, bool up, const void *device, const void *host, size_t bytes,
                          cuda_stream **stream);
int cuda_order_end_copy(cuda_state *state, const void *device, const void *host, size_t bytes, cuda_stream *stream);

/* Around what touches device memory on the stream of operations. */
int cuda_order_begin_use(cuda_state *state, const void *device, size_t bytes);
int cuda_order_end_use(cuda_state *state, const void *device, size_t bytes);
int cuda_order_begin_op(cuda_state *state, hal_op op, const void *args);
int cuda_order_end_op(cuda_state *state, hal_op op, const void *args);

/* Forget the pieces inside memory that is given back; nothing may use it any more. */
void cuda_order_forget(cuda_state *state, const void *device, size_t bytes);

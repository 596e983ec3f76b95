/*
 * hal/cuda/shim/shim_device.h: kernels for the queues of shim_device.cpp. What is called on a stream waits there until
 * somebody waits for it, and then only what it depends on runs: an order between two streams that was never asked for
 * is no order.
 */
#pragma once

#include "hal/cuda/device/cuda_device.h"
#include "hal/cuda/shim/shim_block.h"

/* Takes the kernel. */
int shim_submit(cuda_stream *stream, shim_kernel *kernel, shim_index grid, shim_index block, bool barriers);

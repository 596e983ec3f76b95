/*
 * hal/cuda/device/cuda_device.h: everything that the backend asks of a GPU, in one place, so that it can be asked of
 * something else: device_runtime.c is the CUDA runtime, shim/shim_device.cpp the host's memory behind queues that run
 * late (cmake -DWEFT_CUDA=SHIM). The build takes one of the two.
 *
 * Codes are those of CUDA: 0, or a CUDA_ERROR below, or another that cuda_device_error explains. Copies, fills and
 * kernels are ordered in their stream and return early. The calling thread has a current device (cuda_device_use).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CUDA_DONE = 0,
    CUDA_ERROR_VALUE = 1,
    CUDA_ERROR_MEMORY = 2,
    CUDA_ERROR_INIT = 3,
    CUDA_ERROR_SHAPE = 9, /* of a grid */
    CUDA_ERROR_OLD_DRIVER = 35,
    CUDA_ERROR_BUSY = 46,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_WRONG_DEVICE = 101,
    CUDA_ERROR_NO_KERNEL = 209, /* compiled for other processors */
    CUDA_ERROR_UNKNOWN = 999
};

typedef struct cuda_stream cuda_stream;
typedef struct cuda_event cuda_event;

typedef struct cuda_device_info {
    char name[64];
    char place[32]; /* on the bus */
    int major, minor, processors;
    int khz, memory_khz, memory_bits; /* 0: unknown */
    int cache;                        /* bytes of the second level; 0: unknown */
    bool ecc, native_bf16;
} cuda_device_info;

int cuda_device_count(int *count);
int cuda_device_use(int device);
int cuda_device_describe(int device, cuda_device_info *info);
/* Whether the first can copy from and to the second's memory by itself. */
int cuda_device_reaches(int device, int other, bool *reaches);
/* The newest version of CUDA that the driver knows, 1000 * major + 10 * minor; 0 without one. */
int cuda_device_driver(void);
/* What kernels are compiled for, as CMAKE_CUDA_ARCHITECTURES with blanks: "60-real 70-real 90". */
const char *cuda_device_architectures(void);
/* Of the current device, bytes. */
int cuda_device_memory(size_t *left, size_t *total);
/* Whether copies of the host reach its memory as they do the host's; else a library has to know CUDA. */
bool cuda_device_memory_is_open(void);
/* The failure of a launch, once. */
int cuda_device_last_error(void);
/* "out of memory" */
const char *cuda_device_error(int code);
/* What stands behind the calls: "CUDA 12.8", "CUDA imitated on this CPU". */
void cuda_device_library(char *text, size_t bytes);
/* "2.21.5", of the NCCL that the machine has, or "an unknown version"; "": none. */
void cuda_device_nccl(char *text, size_t bytes);

/* bytes > 0. Freeing does not wait for what may use the memory. */
int cuda_device_alloc(void **device, size_t bytes);
int cuda_device_free(void *device);
/* Host memory that copies reach while the host goes on. */
int cuda_host_alloc(void **host, size_t bytes);
int cuda_host_free(void *host);

/* `host`: of cuda_host_alloc, and left alone until the copy is done. */
int cuda_copy_up(cuda_stream *stream, void *device, const void *host, size_t bytes);
int cuda_copy_down(cuda_stream *stream, void *host, const void *device, size_t bytes);
int cuda_copy_across(cuda_stream *stream, void *to, const void *from, size_t bytes);
int cuda_fill(cuda_stream *stream, void *device, int byte, size_t bytes);
/* The same of rows, `stride` bytes apart on the device, side by side on the host. */
int cuda_copy_rows_up(cuda_stream *stream, void *device, size_t stride, const void *host, size_t bytes, size_t rows);
int cuda_copy_rows_down(cuda_stream *stream, void *host, const void *device, size_t stride, size_t bytes, size_t rows);
int cuda_fill_rows(cuda_stream *stream, void *device, size_t stride, int byte, size_t bytes, size_t rows);

/* `urgent`: before others, where the device can choose. Streams wait for nothing that they are not told to. */
int cuda_stream_create(cuda_stream **stream, bool urgent);
int cuda_stream_destroy(cuda_stream *stream);
int cuda_stream_sync(cuda_stream *stream);
/* What is called on the stream from here on waits for the event as it was last recorded. */
int cuda_stream_wait(cuda_stream *stream, cuda_event *event);

/* An event that was never recorded has passed. */
int cuda_event_create(cuda_event **event);
int cuda_event_destroy(cuda_event *event);
int cuda_event_record(cuda_event *event, cuda_stream *stream);
int cuda_event_sync(cuda_event *event);
/* [out] passed  whether its stream has come past it; on any thread. Never waits. */
int cuda_event_query(cuda_event *event, bool *passed);

#ifdef __cplusplus
}
#endif

/* hal/cuda/device/device_runtime.c: the calls of cuda_device.h, of the CUDA runtime. */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "hal/cuda/device/cuda_device.h"

static cudaStream_t stream_of(cuda_stream *stream)
{
    return (cudaStream_t)(void *)stream;
}

static cudaEvent_t event_of(cuda_event *event)
{
    return (cudaEvent_t)(void *)event;
}

/* The function `name` of cuda_device.h, which is one call of the runtime. */
#define CALL(name, parameters, call)                                                                                   \
    int name parameters                                                                                                \
    {                                                                                                                  \
        return (int)(call);                                                                                            \
    }
CALL(cuda_device_count, (int *count), cudaGetDeviceCount(count))
CALL(cuda_device_use, (int device), cudaSetDevice(device))

/* Attributes, where there is one: fields of all properties change between versions. */
static int attribute(enum cudaDeviceAttr which, int device)
{
    int value = 0;
    return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
}

int cuda_device_describe(int device, cuda_device_info *info)
{
    struct cudaDeviceProp all;
    cudaError_t code = cudaDeviceGetPCIBusId(info->place, (int)sizeof info->place, device);
    if (code == cudaSuccess) {
        code = cudaGetDeviceProperties(&all, device);
    }
    if (code == cudaSuccess) {
        snprintf(info->name, sizeof info->name, "%.63s", all.name);
        info->major = attribute(cudaDevAttrComputeCapabilityMajor, device);
        info->minor = attribute(cudaDevAttrComputeCapabilityMinor, device);
        info->processors = attribute(cudaDevAttrMultiProcessorCount, device);
        info->khz = attribute(cudaDevAttrClockRate, device);
        info->memory_khz = attribute(cudaDevAttrMemoryClockRate, device);
        info->memory_bits = attribute(cudaDevAttrGlobalMemoryBusWidth, device);
        info->cache = attribute(cudaDevAttrL2CacheSize, device);
        info->ecc = attribute(cudaDevAttrEccEnabled, device) != 0;
        info->native_bf16 = info->major >= 8; /* by cuBLAS and cuDNN; our kernels multiply in float32, as fast */
    }
    (void)cudaGetLastError(); /* told here, and not again by the next launch */
    return (int)code;
}

int cuda_device_reaches(int device, int other, bool *reaches)
{
    int can = 0;
    const cudaError_t code = cudaDeviceCanAccessPeer(&can, device, other);
    *reaches = can != 0;
    return (int)code;
}

int cuda_device_driver(void)
{
    int version = 0;
    return cudaDriverGetVersion(&version) == cudaSuccess ? version : 0;
}

const char *cuda_device_architectures(void)
{
    return WEFT_CUDA_ARCHITECTURES;
}

CALL(cuda_device_memory, (size_t * left, size_t *total), cudaMemGetInfo(left, total))

bool cuda_device_memory_is_open(void)
{
    return false;
}

CALL(cuda_device_last_error, (void), cudaGetLastError())

const char *cuda_device_error(int code)
{
    return cudaGetErrorString((cudaError_t)code);
}

void cuda_device_library(char *text, size_t bytes)
{
    int version = 0;
    (void)cudaRuntimeGetVersion(&version);
    snprintf(text, bytes, "CUDA %d.%d", version / 1000, version % 1000 / 10);
}

/* Opened for its version alone. Before 2.9 that is a number of four digits. */
void cuda_device_nccl(char *text, size_t bytes)
{
    int (*ask)(int *version) = NULL;
    int version = 0;
    void *library = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_LOCAL);
    text[0] = '\0';
    if (library == NULL) {
        return;
    }
    void *found = dlsym(library, "ncclGetVersion");
    memcpy(&ask, &found, sizeof found); /* function pointers are not objects: copied as what they are */
    if (ask != NULL && ask(&version) == 0 && version > 0) {
        const int major = version < 10000 ? version / 1000 : version / 10000;
        const int minor = version < 10000 ? version % 1000 / 100 : version % 10000 / 100;
        snprintf(text, bytes, "%d.%d.%d", major, minor, version % 100);
    } else {
        snprintf(text, bytes, "an unknown version");
    }
    (void)dlclose(library);
}

int cuda_device_alloc(void **device, size_t bytes)
{
    *device = NULL;
    cudaError_t code = cudaMalloc(device, bytes);
    if (code != cudaSuccess) {
        (void)cudaGetLastError(); /* told here, and not again by the next launch */
    }
    return (int)code;
}

CALL(cuda_device_free, (void *device), cudaFree(device))

int cuda_host_alloc(void **host, size_t bytes)
{
    *host = NULL;
    cudaError_t code = cudaHostAlloc(host, bytes, cudaHostAllocPortable);
    if (code != cudaSuccess) {
        (void)cudaGetLastError();
    }
    return (int)code;
}

CALL(cuda_host_free, (void *host), cudaFreeHost(host))
CALL(cuda_copy_up, (cuda_stream * stream, void *device, const void *host, size_t bytes),
     cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream_of(stream)))
CALL(cuda_copy_down, (cuda_stream * stream, void *host, const void *device, size_t bytes),
     cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream_of(stream)))
CALL(cuda_copy_across, (cuda_stream * stream, void *to, const void *from, size_t bytes),
     cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_of(stream)))
CALL(cuda_fill, (cuda_stream * stream, void *device, int byte, size_t bytes),
     cudaMemsetAsync(device, byte, bytes, stream_of(stream)))
CALL(cuda_copy_rows_up,
     (cuda_stream * stream, void *device, size_t stride, const void *host, size_t bytes, size_t rows),
     cudaMemcpy2DAsync(device, stride, host, bytes, bytes, rows, cudaMemcpyHostToDevice, stream_of(stream)))
CALL(cuda_copy_rows_down,
     (cuda_stream * stream, void *host, const void *device, size_t stride, size_t bytes, size_t rows),
     cudaMemcpy2DAsync(host, bytes, device, stride, bytes, rows, cudaMemcpyDeviceToHost, stream_of(stream)))
CALL(cuda_fill_rows, (cuda_stream * stream, void *device, size_t stride, int byte, size_t bytes, size_t rows),
     cudaMemset2DAsync(device, stride, byte, bytes, rows, stream_of(stream)))

/* Non-blocking: the legacy default stream, which libraries may use, would serialise the others. */
int cuda_stream_create(cuda_stream **stream, bool urgent)
{
    int least = 0;
    int greatest = 0;
    cudaStream_t made = NULL;
    cudaError_t code = cudaDeviceGetStreamPriorityRange(&least, &greatest);
    if (code == cudaSuccess) {
        code = cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, urgent ? greatest : least);
    }
    *stream = (cuda_stream *)(void *)made;
    return (int)code;
}

CALL(cuda_stream_destroy, (cuda_stream * stream), cudaStreamDestroy(stream_of(stream)))
CALL(cuda_stream_sync, (cuda_stream * stream), cudaStreamSynchronize(stream_of(stream)))
CALL(cuda_stream_wait, (cuda_stream * stream, cuda_event *event),
     cudaStreamWaitEvent(stream_of(stream), event_of(event), 0))

int cuda_event_create(cuda_event **event)
{
    cudaEvent_t made = NULL;
    cudaError_t code = cudaEventCreateWithFlags(&made, cudaEventDisableTiming);
    *event = (cuda_event *)(void *)made;
    return (int)code;
}

CALL(cuda_event_destroy, (cuda_event * event), cudaEventDestroy(event_of(event)))
CALL(cuda_event_record, (cuda_event * event, cuda_stream *stream), cudaEventRecord(event_of(event), stream_of(stream)))
CALL(cuda_event_sync, (cuda_event * event), cudaEventSynchronize(event_of(event)))

int cuda_event_query(cuda_event *event, bool *passed)
{
    const cudaError_t code = cudaEventQuery(event_of(event));
    *passed = code == cudaSuccess;
    if (code == cudaErrorNotReady) {
        (void)cudaGetLastError(); /* an answer, which is kept like a failure: not for the next launch */
        return CUDA_DONE;
    }
    return (int)code;
}

/*
 * hal/cuda/shim/shim_device.cpp: the calls of cuda_device.h on the host's memory.
 *
 * A stream is a queue of tasks, and an event a place in one. Waiting for a place runs the tasks before it; a task that
 * waits for another stream's event runs that stream first. Blocks have exact extents, so that the address sanitizer
 * names an access past their end, and begin as NaNs; host memory that a copy is to fill holds 0xA5 bytes until the copy
 * runs. Who asks for an event without waiting hears "not yet" a few times, then what is before it runs on the asking
 * thread: the streams of a device are behind one lock, which is held while their tasks run.
 *
 * WEFT_CUDA_SHIM_DEVICES: how many devices there are (1). WEFT_CUDA_SHIM_MEMORY: bytes of each (1 TiB).
 * WEFT_CUDA_SHIM_CAPABILITY: their compute capability, 10 * major + minor (70). WEFT_CUDA_SHIM_DIRECT=1: transports
 * copy from and to their memory, as an MPI library that knows CUDA does.
 */
#include "hal/cuda/shim/shim_device.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

/* Tasks wait for streams by themselves, so that a thread comes to hold it twice. */
using shim_lock = std::recursive_mutex;
using shim_hold = std::lock_guard<shim_lock>;

/* Under its lock. */
struct cuda_stream {
    std::shared_ptr<shim_lock> lock;
    std::deque<std::function<void()>> tasks;
    uint64_t done = 0;

    uint64_t submitted() const
    {
        return done + tasks.size();
    }

    void run(uint64_t until)
    {
        while (done < until && !tasks.empty()) {
            const std::function<void()> task = std::move(tasks.front());
            tasks.pop_front();
            done += 1;
            task();
        }
    }
};

struct cuda_event {
    cuda_stream *stream = nullptr;
    uint64_t until = 0;
    int asked = 0; /* in vain, since it was recorded */
};

namespace
{

enum { POISON = 0xA5, ALIGNMENT = 256, LATEST = 4096, NOT_YET = 3 };

std::atomic<size_t> used;

size_t setting(const char *name, size_t fallback)
{
    const char *text = getenv(name);
    return text != nullptr ? strtoull(text, nullptr, 10) : fallback;
}

size_t memory_of_device()
{
    return setting("WEFT_CUDA_SHIM_MEMORY", (size_t)1 << 40);
}

/* Of the device that this thread opens: its streams are made by one thread. */
std::shared_ptr<shim_lock> lock_of_thread()
{
    thread_local const std::shared_ptr<shim_lock> lock = std::make_shared<shim_lock>();
    return lock;
}

/* A stream that nobody ever waits for does not grow for ever. */
int submit(cuda_stream *stream, std::function<void()> task)
{
    const shim_hold hold(*stream->lock);
    if (stream->tasks.size() >= LATEST) {
        stream->run(stream->done + LATEST / 2);
    }
    stream->tasks.push_back(std::move(task));
    return CUDA_DONE;
}

} // namespace

int shim_submit(cuda_stream *stream, shim_kernel *kernel, shim_index grid, shim_index block, bool barriers)
{
    const std::shared_ptr<shim_kernel> kept(kernel);
    const bool fits = grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= 0x7fffffffu && grid.y <= 65535 &&
                      grid.z <= 65535 && block.x * block.y * block.z > 0 &&
                      block.x * block.y * block.z <= SHIM_MOST_THREADS;
    if (!fits) {
        return CUDA_ERROR_SHAPE;
    }
    return submit(stream, [=] { shim_run_grid(*kept, grid, block, barriers); });
}

int cuda_device_count(int *count)
{
    *count = (int)setting("WEFT_CUDA_SHIM_DEVICES", 1);
    return *count > 0 ? CUDA_DONE : CUDA_ERROR_NO_DEVICE;
}

int cuda_device_use(int device)
{
    int count = 0;
    (void)cuda_device_count(&count);
    return device >= 0 && device < count ? CUDA_DONE : CUDA_ERROR_WRONG_DEVICE;
}

int cuda_device_describe(int device, cuda_device_info *info)
{
    *info = cuda_device_info{};
    int count = 0;
    (void)cuda_device_count(&count);
    if (device < 0 || device >= count) {
        return CUDA_ERROR_WRONG_DEVICE;
    }
    const size_t capability = setting("WEFT_CUDA_SHIM_CAPABILITY", 70);
    snprintf(info->name, sizeof info->name, "imitated GPU");
    snprintf(info->place, sizeof info->place, "0000:%02X:00.0", 10 + device);
    info->major = (int)(capability / 10);
    info->minor = (int)(capability % 10);
    info->native_bf16 = info->major >= 8;
    info->processors = 2;
    info->cache = 16384; /* a strip of x in it, or not, by the size of the test */
    return CUDA_DONE;
}

int cuda_device_reaches(int device, int other, bool *reaches)
{
    *reaches = device != other;
    return CUDA_DONE;
}

int cuda_device_driver(void)
{
    return 0;
}

const char *cuda_device_architectures(void)
{
    return "70-real 80";
}

int cuda_device_memory(size_t *left, size_t *total)
{
    *total = memory_of_device();
    *left = *total > used ? *total - used : 0;
    return CUDA_DONE;
}

bool cuda_device_memory_is_open(void)
{
    return setting("WEFT_CUDA_SHIM_DIRECT", 0) != 0;
}

int cuda_device_last_error(void)
{
    return CUDA_DONE;
}

const char *cuda_device_error(int code)
{
    switch (code) {
    case CUDA_ERROR_MEMORY:
        return "out of memory";
    case CUDA_ERROR_SHAPE:
        return "invalid configuration argument";
    case CUDA_ERROR_NO_DEVICE:
        return "no CUDA-capable device is detected";
    case CUDA_ERROR_WRONG_DEVICE:
        return "invalid device ordinal";
    default:
        return "unknown error";
    }
}

void cuda_device_library(char *text, size_t bytes)
{
    snprintf(text, bytes, "CUDA imitated on this CPU");
}

void cuda_device_nccl(char *text, size_t bytes)
{
    (void)bytes;
    text[0] = '\0'; /* one that the machine has knows nothing of this device */
}

/* The block begins with its length, out of the caller's reach. */
int cuda_device_alloc(void **device, size_t bytes)
{
    void *block = nullptr;
    *device = nullptr;
    if (used + bytes > memory_of_device() || posix_memalign(&block, ALIGNMENT, ALIGNMENT + bytes) != 0) {
        return CUDA_ERROR_MEMORY;
    }
    used += bytes;
    memcpy(block, &bytes, sizeof bytes);
    *device = (char *)block + ALIGNMENT;
    memset(*device, 0xff, bytes);
    return CUDA_DONE;
}

int cuda_device_free(void *device)
{
    if (device != nullptr) {
        void *block = (char *)device - ALIGNMENT;
        size_t bytes = 0;
        memcpy(&bytes, block, sizeof bytes);
        used -= bytes;
        free(block);
    }
    return CUDA_DONE;
}

int cuda_host_alloc(void **host, size_t bytes)
{
    return posix_memalign(host, ALIGNMENT, bytes) == 0 ? CUDA_DONE : CUDA_ERROR_MEMORY;
}

int cuda_host_free(void *host)
{
    free(host);
    return CUDA_DONE;
}

int cuda_copy_up(cuda_stream *stream, void *device, const void *host, size_t bytes)
{
    return submit(stream, [=] { memcpy(device, host, bytes); });
}

int cuda_copy_down(cuda_stream *stream, void *host, const void *device, size_t bytes)
{
    memset(host, POISON, bytes);
    return submit(stream, [=] { memcpy(host, device, bytes); });
}

int cuda_copy_across(cuda_stream *stream, void *to, const void *from, size_t bytes)
{
    return submit(stream, [=] { memmove(to, from, bytes); });
}

int cuda_fill(cuda_stream *stream, void *device, int byte, size_t bytes)
{
    return submit(stream, [=] { memset(device, byte, bytes); });
}

int cuda_copy_rows_up(cuda_stream *stream, void *device, size_t stride, const void *host, size_t bytes, size_t rows)
{
    return submit(stream, [=] {
        for (size_t i = 0; i < rows; ++i) {
            memcpy((char *)device + i * stride, (const char *)host + i * bytes, bytes);
        }
    });
}

int cuda_copy_rows_down(cuda_stream *stream, void *host, const void *device, size_t stride, size_t bytes, size_t rows)
{
    memset(host, POISON, rows * bytes);
    return submit(stream, [=] {
        for (size_t i = 0; i < rows; ++i) {
            memcpy((char *)host + i * bytes, (const char *)device + i * stride, bytes);
        }
    });
}

int cuda_fill_rows(cuda_stream *stream, void *device, size_t stride, int byte, size_t bytes, size_t rows)
{
    return submit(stream, [=] {
        for (size_t i = 0; i < rows; ++i) {
            memset((char *)device + i * stride, byte, bytes);
        }
    });
}

int cuda_stream_create(cuda_stream **stream, bool urgent)
{
    (void)urgent;
    *stream = new cuda_stream;
    (*stream)->lock = lock_of_thread();
    return CUDA_DONE;
}

int cuda_stream_destroy(cuda_stream *stream)
{
    (void)cuda_stream_sync(stream);
    delete stream;
    return CUDA_DONE;
}

int cuda_stream_sync(cuda_stream *stream)
{
    const shim_hold hold(*stream->lock);
    stream->run(stream->submitted());
    return CUDA_DONE;
}

int cuda_stream_wait(cuda_stream *stream, cuda_event *event)
{
    cuda_stream *other = event->stream;
    const uint64_t until = event->until;
    if (other == nullptr || other == stream) {
        return CUDA_DONE;
    }
    if (other->lock != stream->lock) {
        return CUDA_ERROR_VALUE; /* two devices of two threads would wait for each other's lock */
    }
    return submit(stream, [=] { other->run(until); });
}

int cuda_event_create(cuda_event **event)
{
    *event = new cuda_event;
    return CUDA_DONE;
}

int cuda_event_destroy(cuda_event *event)
{
    delete event;
    return CUDA_DONE;
}

int cuda_event_record(cuda_event *event, cuda_stream *stream)
{
    const shim_hold hold(*stream->lock);
    event->stream = stream;
    event->until = stream->submitted();
    event->asked = 0;
    return CUDA_DONE;
}

int cuda_event_sync(cuda_event *event)
{
    if (event->stream != nullptr) {
        const shim_hold hold(*event->stream->lock);
        event->stream->run(event->until);
    }
    return CUDA_DONE;
}

int cuda_event_query(cuda_event *event, bool *passed)
{
    *passed = event->stream == nullptr;
    if (!*passed) {
        const shim_hold hold(*event->stream->lock);
        *passed = event->stream->done >= event->until || event->asked++ >= NOT_YET;
        if (*passed) {
            event->stream->run(event->until);
        }
    }
    return CUDA_DONE;
}

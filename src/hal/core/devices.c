/* hal/core/devices.c: see hal/devices.h. Builds without the backend cuda have no devices. */
#include "hal/devices.h"

#include <stdio.h>
#include <string.h>

#if WEFT_HAVE_CUDA
#include "hal/cuda/cuda_devices.h"
#include "hal/cuda/device/cuda_device.h"
#else
static weft_status fail_none(void)
{
    return weft_fail(WEFT_ERR_UNSUPPORTED, "this program was built without a backend for GPUs (cmake -DWEFT_CUDA=ON)");
}
#endif

weft_status hal_devices_count(int *count)
{
    *count = 0;
#if WEFT_HAVE_CUDA
    return cuda_devices_count(count);
#else
    return fail_none();
#endif
}

weft_status hal_device_describe(int number, bool memory, hal_device *device)
{
    *device = (hal_device){.number = number};
#if WEFT_HAVE_CUDA
    return cuda_devices_describe(number, memory, device);
#else
    (void)memory;
    return fail_none();
#endif
}

bool hal_backend_has_devices(const char *resource)
{
    const size_t length = strlen(HAL_BACKEND_DEVICES);
    return strncmp(resource, HAL_BACKEND_DEVICES, length) == 0 && (resource[length] == '\0' || resource[length] == ':');
}

bool hal_backend_is_auto(const char *resource)
{
    return strcmp(resource, HAL_BACKEND_AUTO) == 0;
}

const char *hal_devices_build(char *text, size_t bytes)
{
#if WEFT_HAVE_CUDA
    cuda_devices_build(text, bytes);
#else
    snprintf(text, bytes, "none");
#endif
    return text;
}

bool hal_devices_nccl(char *text, size_t bytes)
{
#if WEFT_HAVE_CUDA
    cuda_device_nccl(text, bytes);
    return true;
#else
    (void)bytes;
    text[0] = '\0';
    return false;
#endif
}

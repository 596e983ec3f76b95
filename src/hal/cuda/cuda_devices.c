/* hal/cuda/cuda_devices.c: see cuda_devices.h. */
#include "hal/cuda/cuda_devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/append.h"
#include "hal/cuda/cuda_state.h"
#include "hal/cuda/device/cuda_blas.h"
#include "hal/cuda/device/cuda_dnn.h"

weft_status cuda_check_present(int code)
{
    if (code == CUDA_ERROR_OLD_DRIVER && cuda_device_driver() > 0) {
        char library[64];
        cuda_device_library(library, sizeof library);
        return weft_fail(WEFT_ERR_UNSUPPORTED,
                         "the NVIDIA driver is of CUDA %d.%d and this program of %s: renew the driver, build with the "
                         "toolkit of the driver, or take the backend cpu",
                         cuda_device_driver() / 1000, cuda_device_driver() % 1000 / 10, library);
    }
    if (code == CUDA_ERROR_OLD_DRIVER) {
        return weft_fail(
            WEFT_ERR_UNSUPPORTED,
            "no NVIDIA driver was found, so no GPU: nvidia-smi should be there (a container has to be given "
            "the GPUs when it starts), or take the backend cpu");
    }
    const bool absent = code == CUDA_ERROR_INIT || code == CUDA_ERROR_BUSY || code == CUDA_ERROR_NO_DEVICE ||
                        code == CUDA_ERROR_WRONG_DEVICE || code == CUDA_ERROR_UNKNOWN;
    return absent
               ? weft_fail(WEFT_ERR_UNSUPPORTED,
                           "no NVIDIA GPU was found (%d, %s): look at nvidia-smi and CUDA_VISIBLE_DEVICES, or take the "
                           "backend cpu",
                           code, cuda_device_error(code))
               : WEFT_OK;
}

weft_status cuda_devices_count(int *count)
{
    const int code = cuda_device_count(count);
    WEFT_TRY(cuda_check_present(code));
    WEFT_TRY(cuda_check("devices", code));
    *count = *count < HAL_DEVICES_MOST ? *count : HAL_DEVICES_MOST;
    return WEFT_OK;
}

bool cuda_list_runs(const char *list, int major, int minor)
{
    const long device = 10L * major + minor;
    bool numbers = false;
    while (*list != '\0') {
        char *end = NULL;
        const long made = strtol(list, &end, 10);
        const char *kind = *end >= 'a' && *end <= 'z' ? end + 1 : end; /* 90a */
        const bool real = strncmp(kind, "-virtual", 8) != 0;
        const bool virtual = strncmp(kind, "-real", 5) != 0 && kind == end;
        if (end != list) {
            numbers = true;
            const bool own = kind != end ? device == made : made / 10 == major && made <= device;
            if ((real && own) || (virtual && made <= device)) {
                return true;
            }
        }
        list += strcspn(list, " ");
        list += strspn(list, " ");
    }
    return !numbers;
}

static uint32_t peers_of(int number)
{
    int count = 0;
    uint32_t peers = 0;
    (void)cuda_device_count(&count);
    for (int other = 0; other < count && other < HAL_DEVICES_MOST; ++other) {
        bool reaches = false;
        if (other != number && cuda_device_reaches(number, other, &reaches) == CUDA_DONE && reaches) {
            peers |= UINT32_C(1) << other;
        }
    }
    return peers;
}

weft_status cuda_devices_describe(int number, bool memory, hal_device *device)
{
    cuda_device_info info;
    const int code = cuda_device_describe(number, &info);
    WEFT_TRY(cuda_check_present(code));
    WEFT_TRY(cuda_check("device", code));
    *device = (hal_device){.number = number,
                           .major = info.major,
                           .minor = info.minor,
                           .processors = info.processors,
                           .compiled = cuda_list_runs(cuda_device_architectures(), info.major, info.minor),
                           .ecc = info.ecc,
                           .mhz = info.khz * 1e-3,
                           .memory_mhz = info.memory_khz * 1e-3,
                           .memory_bits = info.memory_bits,
                           .peers = peers_of(number)};
    snprintf(device->name, sizeof device->name, "%s", info.name);
    snprintf(device->place, sizeof device->place, "%s", info.place);
    /* Folders of sys/bus/pci have small letters. */
    for (char *c = device->place; *c != '\0'; ++c) {
        *c = *c >= 'A' && *c <= 'F' ? (char)(*c - 'A' + 'a') : *c;
    }
    if (memory) {
        WEFT_TRY(cuda_check("device", cuda_device_use(number)));
        WEFT_TRY(cuda_check("memory of the device", cuda_device_memory(&device->left, &device->total)));
    }
    return WEFT_OK;
}

/* "60-real 70-real 90" as "60 70 90"; and the libraries that are there. */
void cuda_devices_build(char *text, size_t bytes)
{
    char library[64];
    cuda_device_library(library, sizeof library);
    const char *version = strncmp(library, "CUDA ", 5) == 0 ? library + 5 : library;
    snprintf(text, bytes, "%s, compiled for", version);
    for (const char *list = cuda_device_architectures(); *list != '\0';) {
        const size_t length = strcspn(list, " ");
        const size_t number = strcspn(list, " -");
        text_append(text, bytes, " %.*s", (int)number, list);
        list += length;
        list += strspn(list, " ");
    }
    char convolutions[64], factorisations[64];
    cuda_blas_library(library, sizeof library);
    cuda_dnn_library(convolutions, sizeof convolutions);
    cuda_solver_library(factorisations, sizeof factorisations);
    text_append(text, bytes, ", %s, %s, %s", library, convolutions, factorisations);
}

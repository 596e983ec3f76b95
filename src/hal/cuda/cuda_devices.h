/* hal/cuda/cuda_devices.h: the GPUs of this machine, as hal/devices.h tells of them. */
#pragma once

#include "hal/devices.h"

weft_status cuda_devices_count(int *count);
weft_status cuda_devices_describe(int number, bool memory, hal_device *device);
void cuda_devices_build(char *text, size_t bytes);

/*
 * Whether code for `list` runs on a device. "70-real": machine code, for devices of its major version from that minor
 * one on; "80-virtual": intermediate code, for that version and later ones; "90": both. Names that are no numbers
 * ("native"): it does.
 */
bool cuda_list_runs(const char *list, int major, int minor);

/* WEFT_ERR_UNSUPPORTED, with the code of cuda_device.h and what would help, when it says that there is no device;
 * WEFT_OK for other codes. */
weft_status cuda_check_present(int code);

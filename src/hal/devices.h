/*
 * hal/devices.h: the devices that backends of this build compute on, where they are not the processor: for those who
 * tell of them and those who choose one. Numbers are those behind the colon of "cuda:1".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { HAL_DEVICES_MOST = 32 };

typedef struct hal_device {
    int number;
    char name[64];  /* "Tesla V100-SXM2-32GB" */
    char place[32]; /* on the bus, "0000:3b:00.0": a folder of sys/bus/pci/devices */
    int major, minor, processors;
    bool compiled;      /* this program has code for it */
    bool ecc;           /* its memory corrects errors */
    double mhz;         /* at most; 0: unknown, as below */
    double memory_mhz;  /* at most */
    int memory_bits;    /* of its bus */
    uint32_t peers;     /* bit i: device i's memory is within its reach */
    size_t left, total; /* bytes of memory, where they were asked for */
} hal_device;

/* [out] count  devices, at most HAL_DEVICES_MOST. WEFT_ERR_UNSUPPORTED, with what would help: no backend with devices
 * in this build, no driver, no device. */
weft_status hal_devices_count(int *count);

/* memory: left and total too, which takes some tenths of a second and half a gigabyte of the device until the process
 * ends. WEFT_ERR_UNSUPPORTED for one that is not there. */
weft_status hal_device_describe(int number, bool memory, hal_device *device);

/* Whether a backend, "cuda" or "cuda:1", computes on one of them. */
bool hal_backend_has_devices(const char *resource);

/* "auto" is the first where the build has it, the machine a device and the program code for that; else the second. */
#define HAL_BACKEND_AUTO    "auto"
#define HAL_BACKEND_DEVICES "cuda"
#define HAL_BACKEND_HOST    "cpu"
bool hal_backend_is_auto(const char *resource);

/* What the build has for them: "13.0, compiled for 75 80 90", "none". Returns text. */
const char *hal_devices_build(char *text, size_t bytes);
/* [out] text  the version of the machine's NCCL, "": it has none. False: the build has no devices. Opens the library,
 * which takes a moment. */
bool hal_devices_nccl(char *text, size_t bytes);

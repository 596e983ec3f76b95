/* hal/cuda/device/device_library.h: functions of a library that was opened at run time. */
#pragma once

#include <dlfcn.h>
#include <library_types.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* [out] function: the library's. Returns true if the library has it. Function pointers are not objects, so the address
 * is copied as it is. */
static inline bool device_library_find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

/* [out] text: "cuBLAS 13.1", or "no cuBLAS" if library is NULL. property: the library's function that tells. */
static inline void device_library_version(void *library, const char *name, const char *property, char *text,
                                          size_t bytes)
{
    int (*ask)(libraryPropertyType which, int *value) = NULL;
    int major = 0;
    int minor = 0;
    if (library != NULL && device_library_find(library, property, &ask) && ask(MAJOR_VERSION, &major) == 0 &&
        ask(MINOR_VERSION, &minor) == 0) {
        snprintf(text, bytes, "%s %d.%d", name, major, minor);
    } else {
        snprintf(text, bytes, library != NULL ? "a %s of unknown version" : "no %s", name);
    }
}

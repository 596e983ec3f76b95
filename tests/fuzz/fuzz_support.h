/*
 * fuzz/fuzz_support.h: what the fuzz targets share: bytes as a file without a disk, and the two promises that hold for
 * every input: nothing stays allocated, and the peak is bounded by the input's size or a stated limit.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct fuzz_file {
    int fd;
    char path[64];
} fuzz_file;

static inline fuzz_file fuzz_file_make(const uint8_t *data, size_t size)
{
    fuzz_file file = {.fd = memfd_create("fuzz", MFD_CLOEXEC)};
    if (file.fd < 0 || write(file.fd, data, size) != (ssize_t)size) {
        abort();
    }
    snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", file.fd);
    return file;
}

/* Overwrite or make a file of the target's own folder. */
static inline void fuzz_put(const char *folder, const char *name, const void *data, size_t size)
{
    char path[FILE_PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *stream = fopen(path, "wbe");
    if (stream == NULL || fwrite(data, 1, size, stream) != size || fclose(stream) != 0) {
        abort();
    }
}

static char fuzz_folder_path[64];

static inline void fuzz_folder_remove(void)
{
    (void)folder_remove(fuzz_folder_path);
}

/* A folder in memory for targets that read several files; it goes with the process. */
static inline const char *fuzz_folder(void)
{
    snprintf(fuzz_folder_path, sizeof fuzz_folder_path, "/dev/shm/weft-fuzz-XXXXXX");
    if (mkdtemp(fuzz_folder_path) == NULL || atexit(fuzz_folder_remove) != 0) {
        abort();
    }
    return fuzz_folder_path;
}

/* After an input: nothing is left, and no input so far has taken more than `limit`. */
static inline void fuzz_check_memory(uint64_t limit)
{
    weft_mem_usage usage = weft_mem_usage_total();
    if (usage.current_bytes != 0 || usage.peak_bytes > limit) {
        fprintf(stderr, "%llu bytes are not freed; peak %llu, limit %llu\n", (unsigned long long)usage.current_bytes,
                (unsigned long long)usage.peak_bytes, (unsigned long long)limit);
        abort();
    }
}

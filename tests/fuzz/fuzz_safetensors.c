/* Fuzz target: safetensors files, every tensor read. Seeds: tests/fuzz/make_seeds DIR. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_tensor(const safetensors_file *file, int i, size_t size)
{
    const safetensors_entry *entry = safetensors_entry_at(file, i);
    float *values = NULL;
    if (entry->bytes > size || entry->offset > size - entry->bytes) {
        abort();
    }
    /* A tensor without bytes may have a shape such as [0, 2^40], never more elements than bytes. */
    if (entry->count < 0 || (uint64_t)entry->count > entry->bytes || safetensors_find(file, entry->name) != i) {
        abort();
    }
    if (WEFT_NEW(&values, entry->count, WEFT_MEM_GENERAL) == WEFT_OK) {
        (void)safetensors_read_f32(file, i, values);
        weft_free(values);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    safetensors_file *file;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
        abort();
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (safetensors_open(path, &file) == WEFT_OK) {
        for (int i = 0; i < safetensors_count(file); i++) {
            read_tensor(file, i, size);
        }
        (void)safetensors_metadata(file, "weft.model");
        safetensors_close(file);
    }
    close(fd);
    if (weft_mem_usage_total().current_bytes != 0) {
        abort();
    }
    return 0;
}

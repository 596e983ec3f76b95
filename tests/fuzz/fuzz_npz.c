/* Fuzz target: .npz archives, read whole and converted. Seeds: tests/fuzz/make_seeds DIR. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "io/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_member(npz_file *npz, int i, size_t size)
{
    npy_header header;
    npy_array array;
    if (npz_read_header(npz, i, &header) != WEFT_OK || npz_read(npz, i, &array) != WEFT_OK) {
        return;
    }
    /* A deflate stream grows at most 1032-fold: no file makes us allocate more than that. */
    if (array.header.data_bytes / 1033 > size || array.header.data_bytes != header.data_bytes) {
        abort();
    }
    int64_t *integers = NULL;
    float *floats = NULL;
    if (npy_array_to_i64("fuzz", &array, &integers) == WEFT_OK) {
        weft_free(integers);
    }
    if (npy_array_to_f32("fuzz", &array, &floats) == WEFT_OK) {
        weft_free(floats);
    }
    npy_array_free(&array);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    npz_file *npz;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
        abort();
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (npz_open(path, &npz) == WEFT_OK) {
        for (int i = 0; i < npz_count(npz); i++) {
            read_member(npz, i, size);
        }
        npz_close(npz);
    }
    close(fd);
    if (weft_mem_usage_total().current_bytes != 0) {
        abort();
    }
    return 0;
}

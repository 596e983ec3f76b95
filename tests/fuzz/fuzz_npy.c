/* Fuzz target: the .npy header. Seeds: tests/fuzz/make_seeds DIR. */
#include <stdlib.h>

#include "io/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    npy_header header;
    if (npy_parse_header("fuzz", data, size, &header) != WEFT_OK) {
        return 0;
    }
    int64_t count = 1;
    for (int d = 0; d < header.dims; d++) {
        count *= header.shape[d];
    }
    bool whole = header.data_offset + header.data_bytes == size && count == header.count &&
                 (size_t)header.count * (size_t)header.item_bytes == header.data_bytes;
    if (!whole || header.dims > NPY_MAX_DIMS || header.data_offset > NPY_HEADER_MAX) {
        abort();
    }
    return 0;
}

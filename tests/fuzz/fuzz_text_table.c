/*
 * Fuzz target: tables of numbers (.csv, .csv.gz, .csv.xz), as whole numbers and as floats. Seeds: tests/fuzz/make_seeds
 * DIR. Two blocks of at most 64 MiB, more than is touched; then: a value takes at least two bytes of unpacked text and
 * eight of memory; the array grows by doubling.
 */
#include <math.h>

#include "fuzz/fuzz_support.h"
#include "io/text/text_table.h"

enum { BLOCKS = 160 << 20, INFLATION = 1100, BYTES_PER_BYTE = 16 };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    log_set_level(LOG_QUIET);
    return 0;
}

static void read_floats(const char *path, bool nan_allowed)
{
    int64_t rows = -1, columns = -1;
    float *values = NULL;
    if (text_table_floats(path, WEFT_MEM_WORKSPACE, nan_allowed, &rows, &columns, &values) != WEFT_OK) {
        return;
    }
    for (int64_t i = 0; i < rows * columns; i++) {
        if (isinf(values[i]) || (isnan(values[i]) && !nan_allowed)) {
            abort();
        }
    }
    weft_free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static size_t largest;
    fuzz_file file = fuzz_file_make(data, size);
    int64_t rows = -1, columns = -1;
    int64_t *values = NULL;
    if (text_table_ints(file.path, WEFT_MEM_WORKSPACE, &rows, &columns, &values) == WEFT_OK) {
        if (rows < 0 || columns < 0 || (values == NULL) != (rows * columns == 0)) {
            abort();
        }
        weft_free(values);
    }
    read_floats(file.path, true);
    read_floats(file.path, false);
    close(file.fd);
    largest = size > largest ? size : largest;
    fuzz_check_memory(BLOCKS + (uint64_t)largest * INFLATION * BYTES_PER_BYTE);
    return 0;
}

/* Fuzz target: tables as LIBSVM lines. Seeds: tests/fuzz/make_seeds DIR. A line of six bytes may ask for 65536
 * columns. */
#include "fuzz/fuzz_support.h"
#include "table/table.h"

enum { BUFFERS = 64 << 20, INFLATION = 1100, BYTES_PER_BYTE = 16 << 10 };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    log_set_level(LOG_QUIET);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static size_t largest;
    fuzz_file file = fuzz_file_make(data, size);
    const char *path = file.path;
    weft_table t;
    const table_request request = {.index_base = -1, .format = "libsvm"};
    if (size < 4096 && table_open(&path, 1, &request, NULL, &t) == WEFT_OK) {
        if (t.rows < 1 || t.schema.field[0].role != TABLE_TARGET) {
            abort();
        }
        table_close(&t);
    }
    close(file.fd);
    largest = size > largest ? size : largest;
    fuzz_check_memory(BUFFERS + (uint64_t)largest * INFLATION * BYTES_PER_BYTE);
    return 0;
}

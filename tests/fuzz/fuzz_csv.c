/*
 * Fuzz target: tables as CSV, also .gz and .xz, and the layouts that are recognised by their text. The rows are the
 * same in segments of 16 bytes as in one. Seeds: tests/fuzz/make_seeds DIR. Memory: buffers of both threads and the
 * first rows, then an unpacked byte makes no more than a cell, of which there are a value, facts and a word.
 */
#include <math.h>

#include "fuzz/fuzz_support.h"
#include "support/row_sum.h"
#include "table/table.h"

enum { BUFFERS = 48 << 20, INFLATION = 1100, BYTES_PER_BYTE = 512 };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    log_set_level(LOG_QUIET);
    return 0;
}

static void check_table(const char *path)
{
    weft_table t;
    const table_request request = {.index_base = -1};
    if (table_open(&path, 1, &request, NULL, &t) != WEFT_OK) {
        return;
    }
    for (int64_t j = 0; j < t.schema.count; j++) {
        const table_field *field = &t.schema.field[j];
        for (int64_t i = 0; i < t.count && t.column[j].data != NULL; i++) {
            if (field->kind == TABLE_REAL && isinf(((const float *)t.column[j].data)[i])) {
                abort();
            }
            if (field->kind == TABLE_CATEGORY && ((const int32_t *)t.column[j].data)[i] >= words_count(field->words)) {
                abort();
            }
        }
    }
    table_close(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static size_t largest;
    fuzz_file file = fuzz_file_make(data, size);
    int64_t rows[2];
    uint64_t sum[2];
    check_table(file.path);
    const weft_status first = row_sum_read(file.path, '"', 16, 3, &rows[0], &sum[0]);
    const weft_status second = row_sum_read(file.path, '"', 1 << 20, 1, &rows[1], &sum[1]);
    if (first == WEFT_ERR_INTERNAL || first != second ||
        (first == WEFT_OK && (rows[0] != rows[1] || sum[0] != sum[1]))) {
        abort();
    }
    close(file.fd);
    largest = size > largest ? size : largest;
    fuzz_check_memory(BUFFERS + (uint64_t)largest * INFLATION * BYTES_PER_BYTE);
    return 0;
}

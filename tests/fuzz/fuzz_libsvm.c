/* Fuzz target: tables as LIBSVM lines. Seeds: tests/fuzz/make_seeds DIR. A line of six bytes may ask for 65536
 * columns. */
#include <math.h>

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

/* Every row's features ascend and are of the block. */
static void check_sparse(const weft_table *t)
{
    const table_sparse *s = &t->sparse;
    for (int64_t i = 0; s->columns > 0 && i < t->count; i++) {
        int64_t before = -1;
        for (int64_t e = s->start[i]; e < s->start[i + 1]; e++) {
            const int64_t feature = sparse_feature(s, e);
            if (feature <= before || feature >= s->columns || isinf(s->value[e])) {
                abort();
            }
            before = feature;
        }
    }
}

static void check_table(const char *path, table_sparse_choice sparse, table_absent absent)
{
    weft_table t;
    const table_request request = {.sparse = sparse, .absent = absent, .index_base = -1, .format = "libsvm"};
    if (table_open(&path, 1, &request, NULL, &t) == WEFT_OK) {
        if (t.rows < 1 || t.schema.field[0].role != TABLE_TARGET ||
            (sparse == TABLE_SPARSE_NO && t.sparse.columns > 0)) {
            abort();
        }
        check_sparse(&t);
        table_close(&t);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static size_t largest;
    fuzz_file file = fuzz_file_make(data, size);
    for (table_sparse_choice sparse = TABLE_SPARSE_NO; size < 4096 && sparse <= TABLE_SPARSE_YES; sparse++) {
        check_table(file.path, sparse, size % 2 == 0 ? TABLE_ABSENT_ZERO : TABLE_ABSENT_MISSING);
    }
    close(file.fd);
    largest = size > largest ? size : largest;
    fuzz_check_memory(BUFFERS + (uint64_t)largest * INFLATION * BYTES_PER_BYTE);
    return 0;
}

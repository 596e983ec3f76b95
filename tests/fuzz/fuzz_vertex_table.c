/*
 * Fuzz target: tables with a row for each vertex, their headers and ids: features, labels (numbers, words, tasks),
 * splits and lists, for as many vertices as the file has rows. Seeds: tests/fuzz/make_seeds DIR. Two blocks of at most
 * 64 MiB, more than is touched; then values, ids, words, and facts about each column.
 */
#include <math.h>

#include "fuzz/fuzz_support.h"
#include "gnn/data/read/reader_parts.h"
#include "table/read/table_text.h"

enum { BLOCKS = 224 << 20, INFLATION = 1100, BYTES_PER_BYTE = 512 };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    log_set_level(LOG_QUIET);
    return 0;
}

static void check(bool good)
{
    if (!good) {
        abort();
    }
}

static int64_t count_vertices(const char *path)
{
    text_header h;
    table_lines count = {.filled = 0};
    if (text_header_read(path, TEXT_TABLE_LINE, &h) == WEFT_OK) {
        check(h.named == (h.name != NULL) && (h.index < 0 || h.named));
        (void)table_text_count(&h, &count);
        text_header_free(&h);
    }
    return count.filled;
}

static void check_features(const char *path, raw_graph *raw)
{
    if (reader_text_features(path, raw) == WEFT_OK) {
        for (int64_t i = 0; i < raw->vertices * raw->features; i++) {
            check(isfinite(raw->feature[i]));
        }
    }
}

static void check_labels(const char *path, raw_graph *raw)
{
    if (reader_text_labels(path, true, raw) == WEFT_OK) {
        for (int64_t v = 0; v < raw->vertices && raw->label != NULL; v++) {
            check(raw->label[v] >= -1 && raw->label[v] < raw->classes);
        }
        check(raw->class_names.text == NULL || raw->class_names.count == raw->classes + raw->tasks);
    }
}

static void check_split(const char *path, raw_graph *raw)
{
    if (reader_text_split(path, raw) == WEFT_OK) {
        for (int64_t v = 0; v < raw->vertices; v++) {
            check(raw->split[v] < READER_PARTS || raw->split[v] == READER_NONE);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static size_t largest;
    fuzz_file file = fuzz_file_make(data, size);
    const int64_t vertices = count_vertices(file.path);
    for (int64_t n = vertices; n < vertices + 2 && vertices > 0; n++) { /* a header, or a row of words */
        raw_graph raw = {.vertices = n, .first_id = size % 2};
        int64_t count, *index = NULL;
        check_features(file.path, &raw);
        check_labels(file.path, &raw);
        check_split(file.path, &raw);
        if (reader_text_list(file.path, &raw, &count, &index) == WEFT_OK) {
            weft_free(index);
        }
        raw_graph_free(&raw);
    }
    close(file.fd);
    largest = size > largest ? size : largest;
    fuzz_check_memory(BLOCKS + (uint64_t)largest * INFLATION * BYTES_PER_BYTE);
    return 0;
}

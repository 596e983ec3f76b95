/*
 * Fuzz target: arrays of splits and labels, whatever their types, shapes and values: parts by name, numbers of parts in
 * a .npy, and labels. The first byte is the number of vertices; then each array has a byte for its type, dimensions and
 * first length, one for the second, and its data.
 */
#include "fuzz/fuzz_support.h"
#include "gnn/data/read/reader_parts.h"
#include "gnn/data/split/split_part.h"

enum { LIMIT = 1 << 20 };

typedef struct bytes {
    const uint8_t *at, *end;
} bytes;

static int64_t next(bytes *b)
{
    return b->at < b->end ? *b->at++ : 0;
}

/* Lengths are often the number of vertices. */
static int64_t length(bytes *b, int64_t vertices)
{
    const int64_t byte = next(b);
    return byte >= 128 ? vertices : byte % 40;
}

static bool make_array(bytes *b, int64_t vertices, npy_array *array)
{
    static const char kinds[] = "bbuiuiuiufff";
    static const uint8_t items[] = {1, 1, 1, 1, 1, 2, 2, 4, 8, 2, 4, 8};
    const int64_t type = next(b);
    const size_t kind = (size_t)type % sizeof items;
    *array = (npy_array){.header = {.kind = kinds[kind], .item_bytes = items[kind], .dims = (int)(type / 16 % 3)}};
    npy_header *header = &array->header;
    header->count = 1;
    for (int d = 0; d < header->dims; d++) {
        header->shape[d] = length(b, vertices);
        header->count *= header->shape[d];
    }
    header->data_bytes = (size_t)header->count * (size_t)header->item_bytes;
    if (weft_malloc(header->data_bytes, 1, WEFT_MEM_GENERAL, &array->data) != WEFT_OK) {
        abort();
    }
    for (size_t i = 0; i < header->data_bytes; i++) {
        ((uint8_t *)array->data)[i] = (uint8_t)next(b);
    }
    return header->count > 0;
}

static void check_splits(const raw_graph *raw)
{
    for (int64_t i = 0; i < raw->splits * raw->vertices; i++) {
        if (raw->split[i] >= READER_PARTS && raw->split[i] != READER_NONE) {
            abort();
        }
    }
}

static void check_labels(const raw_graph *raw)
{
    for (int64_t v = 0; raw->label != NULL && v < raw->vertices; v++) {
        if (raw->label[v] < -1 || raw->label[v] >= raw->classes) {
            abort();
        }
    }
    if ((raw->target != NULL) != (raw->tasks > 0) || (raw->label != NULL && raw->target != NULL)) {
        abort();
    }
}

static void read_codes(const npy_array *array, raw_graph *raw)
{
    const npy_header *header = &array->header;
    char path[64];
    snprintf(path, sizeof path, "/dev/shm/weft-fuzz-codes-%ld.npy", (long)getpid());
    if (npy_write(path, header->kind, header->item_bytes, header->dims, header->shape, array->data) != WEFT_OK) {
        abort();
    }
    if (reader_split_codes(path, raw) == WEFT_OK) {
        check_splits(raw);
    }
    (void)unlink(path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    log_set_level(LOG_QUIET);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bytes b = {data, data + size};
    raw_graph raw = {.vertices = next(&b) % 30 + 1, .asked_classes = next(&b) % 8};
    const int64_t what = next(&b) % 3;
    if (what == 0) {
        reader_part part[READER_PARTS];
        for (int i = 0; i < READER_PARTS; i++) {
            snprintf(part[i].name, sizeof part[i].name, "part %d", i);
            (void)make_array(&b, raw.vertices, &part[i].array);
        }
        if (reader_put_parts(part, &raw) == WEFT_OK) {
            check_splits(&raw);
        }
    } else {
        npy_array array;
        const bool any = make_array(&b, raw.vertices, &array);
        if (what == 1 && any) {
            read_codes(&array, &raw);
        } else if (what == 2 && reader_take_label_array("labels", &array, &raw) == WEFT_OK) {
            check_labels(&raw);
        }
        npy_array_free(&array);
    }
    raw_graph_free(&raw);
    fuzz_check_memory(LIMIT);
    return 0;
}

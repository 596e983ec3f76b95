/* Fuzz target: manifest.json and schema.jsonl of a table store. Seeds: tests/fuzz/make_seeds DIR. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "table/store/table_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_schema(const char *text, size_t size)
{
    table_schema schema;
    table_place *place;
    int64_t lines = 0;
    for (size_t i = 0; i < size; i++) {
        lines += text[i] == '\n';
    }
    if (table_schema_parse("fuzz", text, size, lines, &schema, &place) == WEFT_OK) {
        for (int64_t j = 0; j < schema.count; j++) {
            if (schema.field[j].kind >= TABLE_KIND_COUNT || schema.field[j].role >= TABLE_DROPPED ||
                place[j].place < 0 || place[j].words < 0) {
                abort();
            }
        }
        weft_free(place);
        schema_free(&schema);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static table_manifest manifest;
    char *text = malloc(size + 1);
    if (text == NULL) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    if (table_manifest_parse("fuzz", text, size, &manifest) == WEFT_OK) {
        for (int i = 0; i < TABLE_ARRAYS; i++) {
            const store_array *array = &manifest.arrays[i];
            if (array->dims > NPY_MAX_DIMS || strchr(array->file, '/') != NULL || array->file[0] == '.') {
                abort();
            }
        }
    }
    read_schema(text, size);
    free(text);
    if (weft_mem_usage_total().current_bytes != 0) {
        abort();
    }
    return 0;
}

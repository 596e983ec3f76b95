/* Fuzz target: manifest.json of a graph store. Seeds: tests/fuzz/make_seeds DIR. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/graph_manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static graph_manifest manifest;
    char *text = malloc(size + 1);
    if (text == NULL) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    if (graph_manifest_parse("fuzz", text, size, &manifest) == WEFT_OK) {
        for (int id = 0; id < GRAPH_ARRAYS; id++) {
            const store_array *array = &manifest.arrays[id];
            if (array->dims > NPY_MAX_DIMS || strchr(array->file, '/') != NULL || array->file[0] == '.') {
                abort();
            }
        }
        if (manifest.vertices < 1 || manifest.edges < 0 || manifest.splits < 0) {
            abort();
        }
    }
    free(text);
    if (weft_mem_usage_total().current_bytes != 0) {
        abort();
    }
    return 0;
}

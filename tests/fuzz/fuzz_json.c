/* libFuzzer: any bytes into the JSON reader. */
#include <stddef.h>
#include <stdint.h>

#include "io/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_document *document = NULL;
    if (json_parse("fuzz", (const char *)data, size, &document) == WEFT_OK) {
        (void)json_find(json_root(document), "schema");
        json_free(document);
    }
    return 0;
}

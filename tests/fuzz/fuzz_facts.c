/*
 * libFuzzer: any bytes as run.json, of which the facts of the data are printed.
 * with: src/app/facts
 */
#include <stddef.h>
#include <stdint.h>

#include "app/facts/fact_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void print_facts(const json_value *root)
{
    static char text[1 << 16];
    bool older = false;
    const json_value *data = facts_data_of(root, &older);
    (void)facts_value(data, FACT_CLASSES);
    const json_value *rows = data != NULL ? json_find(data, "facts") : NULL;
    FILE *out = rows != NULL && rows->kind == JSON_ARRAY ? fmemopen(text, sizeof text, "w") : NULL;
    if (out != NULL) {
        facts_print_json(rows, out, older ? "older" : "");
        fclose(out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_document *document = NULL;
    if (json_parse("fuzz", (const char *)data, size, &document) == WEFT_OK) {
        print_facts(json_root(document));
        json_free(document);
    }
    return 0;
}

/* io/json_file.c: a JSON object from a file. */
#include "base/alloc.h"
#include "base/file.h"
#include "io/json.h"

weft_status json_read_object(const char *path, size_t most_bytes, json_document **document, const json_value **object)
{
    char *text = NULL;
    size_t bytes = 0;
    *document = NULL;
    *object = NULL;
    WEFT_TRY(file_read_text(path, most_bytes, &text, &bytes));
    weft_status status = json_parse(path, text, bytes, document);
    weft_free(text);
    WEFT_TRY(status);
    if (json_root(*document)->kind != JSON_OBJECT) {
        json_free(*document);
        *document = NULL;
        return weft_fail(WEFT_ERR_DATA, "%s: is not a JSON object", path);
    }
    *object = json_root(*document);
    return WEFT_OK;
}

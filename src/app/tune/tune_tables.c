/* app/tune/tune_tables.c: see app/tune/tune_tables.h. */
#include "app/tune/tune_tables.h"

#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "io/json.h"
#include "io/text/path_name.h"
#include "tune/recorded/recorded.h"
#include "tune/search/search_options.def"

static weft_status add(tune_tables *tables, const char *path, size_t bytes)
{
    WEFT_CHECK(bytes > 0 && bytes < FILE_PATH_MAX, WEFT_ERR_USAGE,
               FLAG_TABLE ": the name of table %d has %zu bytes: 1 to %d are a path", tables->count + 1, bytes,
               FILE_PATH_MAX - 1);
    WEFT_TRY(grow_array((void **)&tables->path, sizeof *tables->path, tables->count, &tables->room, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW_ZERO(&tables->path[tables->count], bytes + 1, WEFT_MEM_GENERAL));
    memcpy(tables->path[tables->count++], path, bytes);
    return WEFT_OK;
}

static weft_status add_folder(tune_tables *tables, const char *folder)
{
    char path[FILE_PATH_MAX];
    json_document *document = NULL;
    const json_value *root = NULL;
    weft_status status = WEFT_OK;
    WEFT_TRY(file_path(path, "%s/" RECORDED_SPACES, folder));
    WEFT_TRY(json_read_object(path, RECORDED_SPACES_MAX, &document, &root));
    for (const json_value *table = root->child; table != NULL; table = table->next) {
        WEFT_TRY_GOTO(file_path(path, "%s/%s.npz", folder, table->key), status, done);
        WEFT_TRY_GOTO(add(tables, path, strlen(path)), status, done);
    }
    WEFT_CHECK_GOTO(tables->count > 0, status, done, WEFT_ERR_DATA, "%s/" RECORDED_SPACES " names no table", folder);
done:
    json_free(document);
    return status;
}

weft_status tune_tables_find(const char *text, tune_tables *tables)
{
    WEFT_CHECK(text[0] != '\0', WEFT_ERR_USAGE, "nothing to search: name tables by " FLAG_TABLE " FILE.npz,.. or DIR");
    if (path_is_folder(text)) {
        return add_folder(tables, text);
    }
    for (const char *at = text, *comma = at; comma != NULL; at = comma + 1) {
        comma = strchr(at, ',');
        WEFT_TRY(add(tables, at, comma != NULL ? (size_t)(comma - at) : strlen(at)));
    }
    return WEFT_OK;
}

void tune_tables_free(tune_tables *tables)
{
    for (int i = 0; i < tables->count; i++) {
        weft_free(tables->path[i]);
    }
    weft_free(tables->path);
}

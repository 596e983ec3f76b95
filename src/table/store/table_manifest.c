/* table/store/table_manifest.c: manifest.json and schema.jsonl of a table store, read with suspicion and written. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "io/json.h"
#include "table/store/table_store.h"

#define COLUMNS_MOST (INT64_C(1) << 24)

const char *table_array_name(int array)
{
    static const char *const others[] = {"word", "word_offset", "indptr", "indices", "values"};
    return array < TABLE_KIND_COUNT ? table_kind_word((table_kind)array) : others[array - TABLE_KIND_COUNT];
}

/* ---- the manifest ---- */

static weft_status read_array(const char *name, const json_value *value, table_manifest *manifest)
{
    for (int i = 0; i < TABLE_ARRAYS; i++) {
        if (strcmp(table_array_name(i), value->key) == 0 && value->kind == JSON_OBJECT) {
            manifest->arrays[i].present = true;
            return store_array_parse(name, value, &manifest->arrays[i]);
        }
    }
    return weft_fail(
        WEFT_ERR_DATA,
        "%s: \"arrays\" holds \"%s\"; expected an object each for real, integer, long, category, id, split, "
        "word, word_offset, indptr, indices, values",
        name, value->key);
}

static weft_status read_sparse(const char *name, const json_value *root, table_manifest *manifest)
{
    const json_value *sparse = json_find(root, "sparse");
    if (sparse == NULL) {
        return WEFT_OK;
    }
    WEFT_CHECK(sparse->kind == JSON_OBJECT, WEFT_ERR_DATA, "%s: \"sparse\" is not an object", name);
    WEFT_TRY(json_get_int(name, sparse, "columns", 1, INT64_MAX, &manifest->sparse_columns));
    return json_get_int(name, sparse, "base", 0, 1, &manifest->sparse_base);
}

static weft_status read_root(const char *name, const json_value *root, table_manifest *manifest)
{
    int64_t version;
    WEFT_CHECK(root->kind == JSON_OBJECT, WEFT_ERR_DATA, "%s: is not a JSON object", name);
    WEFT_TRY(json_expect_text(name, root, "format", TABLE_FORMAT));
    WEFT_TRY(json_get_int(name, root, "version", 0, INT64_MAX, &version));
    WEFT_CHECK(version == TABLE_VERSION, WEFT_ERR_UNSUPPORTED,
               "%s: version %" PRId64 " of the table store; this build reads version %d", name, version, TABLE_VERSION);
    WEFT_TRY(json_get_int(name, root, "rows", 1, INT64_C(1) << 40, &manifest->rows));
    WEFT_TRY(json_get_int(name, root, "columns", 1, COLUMNS_MOST, &manifest->columns));
    WEFT_TRY(store_optional_text(name, root, "schema_xxh3", manifest->schema_hash, sizeof manifest->schema_hash));
    WEFT_TRY(read_sparse(name, root, manifest));
    const json_value *arrays = json_find(root, "arrays");
    WEFT_CHECK(arrays != NULL && arrays->kind == JSON_OBJECT, WEFT_ERR_DATA, "%s: \"arrays\" is not an object", name);
    for (const json_value *value = arrays->child; value != NULL; value = value->next) {
        WEFT_TRY(read_array(name, value, manifest));
    }
    return WEFT_OK;
}

weft_status table_manifest_parse(const char *name, const char *text, size_t bytes, table_manifest *manifest)
{
    json_document *document = NULL;
    *manifest = (table_manifest){.rows = 0};
    for (int i = 0; i < TABLE_ARRAYS; i++) {
        manifest->arrays[i] = store_array_named(table_array_name(i), false);
    }
    WEFT_TRY(json_parse(name, text, bytes, &document));
    weft_status status = read_root(name, json_root(document), manifest);
    json_free(document);
    return status;
}

weft_status table_manifest_write(const char *folder, const table_manifest *manifest)
{
    char path[FILE_PATH_MAX];
    file_writer writer;
    WEFT_TRY(file_path(path, "%s/manifest.json", folder));
    WEFT_TRY(file_writer_open(path, &writer));
    json_writer json = json_begin(writer.stream, true);
    json_object(&json, NULL);
    json_text(&json, "format", TABLE_FORMAT);
    json_int(&json, "version", TABLE_VERSION);
    json_int(&json, "rows", manifest->rows);
    json_int(&json, "columns", manifest->columns);
    json_text(&json, "schema_xxh3", manifest->schema_hash);
    if (manifest->sparse_columns > 0) {
        json_object(&json, "sparse");
        json_int(&json, "columns", manifest->sparse_columns);
        json_int(&json, "base", manifest->sparse_base);
        json_end(&json);
    }
    json_object(&json, "arrays");
    for (int i = 0; i < TABLE_ARRAYS; i++) {
        if (manifest->arrays[i].present) {
            store_array_print(&json, table_array_name(i), &manifest->arrays[i]);
        }
    }
    json_end(&json);
    json_end(&json);
    json_line_end(&json);
    return file_writer_commit(&writer);
}

/* ---- the schema ---- */

static weft_status read_kind(const char *name, const json_value *line, table_field *field)
{
    const char *text;
    WEFT_TRY(json_get_text(name, line, "kind", &text));
    const int kind = table_kind_of(text);
    WEFT_CHECK(kind >= 0, WEFT_ERR_DATA, "%s: \"kind\" is '%.64s', no kind of column", name, text);
    field->kind = (table_kind)kind;
    WEFT_TRY(json_get_text(name, line, "role", &text));
    const int role = table_role_of(text);
    WEFT_CHECK(role >= 0 && role != TABLE_DROPPED, WEFT_ERR_DATA, "%s: \"role\" is '%.64s', no role of a column", name,
               text);
    field->role = (table_role)role;
    return WEFT_OK;
}

static void read_range(const json_value *line, table_field *field)
{
    const json_value *least = json_find(line, "least"), *most = json_find(line, "most");
    if (least != NULL && most != NULL && least->kind == JSON_NUMBER && most->kind == JSON_NUMBER) {
        field->least = least->number;
        field->most = most->number;
    }
}

static weft_status read_field(const char *name, const json_value *line, int64_t column, table_schema *schema,
                              table_place *place)
{
    const char *text;
    table_field *field = &schema->field[column];
    WEFT_CHECK(line->kind == JSON_OBJECT, WEFT_ERR_DATA, "%s: is not a JSON object", name);
    WEFT_TRY(json_get_text(name, line, "name", &text));
    WEFT_TRY(schema_name(schema, column, text, strlen(text)));
    WEFT_TRY(read_kind(name, line, field));
    WEFT_TRY(json_get_int(name, line, "place", 0, COLUMNS_MOST, &place->place));
    WEFT_TRY(store_optional_int(name, line, "words", 0, &place->words));
    WEFT_TRY(store_optional_int(name, line, "missing", 0, &field->missing));
    read_range(line, field);
    return WEFT_OK;
}

weft_status table_schema_parse(const char *name, const char *text, size_t bytes, int64_t columns, table_schema *schema,
                               table_place **place)
{
    char line_name[FILE_PATH_MAX];
    const char *at = text, *end = text + bytes;
    weft_status status;
    *place = NULL;
    /* A line has more bytes than a column of the schema takes, so `columns` is bounded by the file. */
    WEFT_CHECK(columns >= 1 && columns <= (int64_t)bytes, WEFT_ERR_DATA, "%s: %zu bytes are no %" PRId64 " columns",
               name, bytes, columns);
    WEFT_TRY(schema_create(columns, schema));
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(place, columns, WEFT_MEM_TABLE), status, done);
    for (int64_t j = 0; j < columns; j++) {
        json_document *document = NULL;
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        WEFT_CHECK_GOTO(stop != NULL, status, done, WEFT_ERR_DATA, "%s: %" PRId64 " lines, expected %" PRId64, name, j,
                        columns);
        WEFT_TRY_GOTO(file_path(line_name, "%.3000s: line %" PRId64, name, j + 1), status, done);
        WEFT_TRY_GOTO(json_parse(line_name, at, (size_t)(stop - at), &document), status, done);
        status = read_field(line_name, json_root(document), j, schema, &(*place)[j]);
        json_free(document);
        WEFT_TRY_GOTO(status, status, done);
        at = stop + 1;
    }
    WEFT_CHECK_GOTO(at == end, status, done, WEFT_ERR_DATA, "%s: more lines than the %" PRId64 " columns", name,
                    columns);
    status = WEFT_OK;
done:
    if (status != WEFT_OK) {
        weft_free(*place);
        *place = NULL;
        schema_free(schema);
    }
    return status;
}

static void write_field(json_writer *json, const table_field *field, int64_t place)
{
    json_object(json, NULL);
    json_text(json, "name", field->name);
    json_text(json, "kind", table_kind_word(field->kind));
    json_text(json, "role", table_role_word(field->role));
    json_int(json, "place", place);
    if (field->words != NULL) {
        json_int(json, "words", words_count(field->words));
    }
    if (field->missing > 0) {
        json_int(json, "missing", field->missing);
    }
    if (field->least <= field->most) {
        json_real(json, "least", field->least);
        json_real(json, "most", field->most);
    }
    json_end(json);
    json_line_end(json);
}

weft_status table_schema_write(const char *folder, const table_schema *schema, char hash[STORE_HASH_BYTES])
{
    char path[FILE_PATH_MAX];
    file_writer writer;
    file_map map;
    int64_t place[TABLE_KIND_COUNT] = {0};
    WEFT_TRY(file_path(path, "%s/schema.jsonl", folder));
    WEFT_TRY(file_writer_open(path, &writer));
    json_writer json = json_begin(writer.stream, false);
    for (int64_t j = 0; j < schema->count; j++) {
        const table_field *field = &schema->field[j];
        if (field->role != TABLE_DROPPED) {
            write_field(&json, field, place[field->kind]++);
        }
    }
    WEFT_TRY(file_writer_commit(&writer));
    WEFT_TRY(file_map_open(path, &map));
    file_map_hash(&map, hash);
    file_map_close(&map);
    return WEFT_OK;
}

/* io/store/store_array.c: entries of a manifest read with suspicion and written, and the files behind them. */
#include "io/store/store_array.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "io/zip/crc32.h"

store_array store_array_named(const char *name, bool present)
{
    store_array entry = {.present = present, .dims = -1, .bytes = -1};
    snprintf(entry.file, sizeof entry.file, "%s.npy", name);
    return entry;
}

void store_map_crc32(const file_map *map, char hex[STORE_CRC_BYTES])
{
    uint32_t crc = 0;
    for (size_t at = 0, bytes; (bytes = file_map_piece(map, at)) > 0; at += bytes) {
        crc = zip_crc32(crc, map->data + at, bytes);
    }
    snprintf(hex, STORE_CRC_BYTES, "%08" PRIx32, crc);
}

/* ---- reading ---- */

weft_status store_optional_int(const char *name, const json_value *object, const char *key, int64_t otherwise,
                               int64_t *value)
{
    *value = otherwise;
    return json_find(object, key) == NULL ? WEFT_OK : json_get_int(name, object, key, 0, INT64_MAX, value);
}

weft_status store_optional_text(const char *name, const json_value *object, const char *key, char *dst, size_t capacity)
{
    dst[0] = '\0';
    if (json_find(object, key) == NULL) {
        return WEFT_OK;
    }
    const char *text;
    WEFT_TRY(json_get_text(name, object, key, &text));
    size_t length = strlen(text);
    WEFT_CHECK(length < capacity, WEFT_ERR_DATA, "%s: \"%s\" has %zu bytes; the limit is %zu", name, key, length,
               capacity - 1);
    memcpy(dst, text, length + 1);
    return WEFT_OK;
}

/* A plain name inside the store: nothing that leads out of the folder. */
static weft_status check_file_name(const char *name, const char *array, const char *file)
{
    bool plain = file[0] != '\0' && file[0] != '.' && strchr(file, '/') == NULL;
    WEFT_CHECK(plain, WEFT_ERR_DATA, "%s: array \"%s\": file \"%s\" is not a plain file name", name, array, file);
    return WEFT_OK;
}

static weft_status read_shape(const char *name, const char *array, const json_value *shape, store_array *entry)
{
    entry->dims = -1;
    if (shape == NULL) {
        return WEFT_OK;
    }
    WEFT_CHECK(shape->kind == JSON_ARRAY, WEFT_ERR_DATA, "%s: array \"%s\": the shape is not a list", name, array);
    entry->dims = 0;
    for (const json_value *length = shape->child; length != NULL; length = length->next) {
        WEFT_CHECK(
            entry->dims < NPY_MAX_DIMS && length->kind == JSON_NUMBER && length->integral && length->integer >= 0,
            WEFT_ERR_DATA, "%s: array \"%s\": the shape is not a list of up to %d lengths", name, array, NPY_MAX_DIMS);
        entry->shape[entry->dims++] = length->integer;
    }
    return WEFT_OK;
}

weft_status store_array_parse(const char *name, const json_value *value, store_array *entry)
{
    if (json_find(value, "file") != NULL) {
        WEFT_TRY(store_optional_text(name, value, "file", entry->file, sizeof entry->file));
        WEFT_TRY(check_file_name(name, value->key, entry->file));
    }
    WEFT_TRY(store_optional_text(name, value, "dtype", entry->dtype, sizeof entry->dtype));
    WEFT_TRY(read_shape(name, value->key, json_find(value, "shape"), entry));
    WEFT_TRY(store_optional_int(name, value, "bytes", -1, &entry->bytes));
    WEFT_TRY(store_optional_text(name, value, "xxh3", entry->xxh3, sizeof entry->xxh3));
    return store_optional_text(name, value, "crc32", entry->crc32, sizeof entry->crc32);
}

void store_array_print(json_writer *json, const char *name, const store_array *entry)
{
    json_object(json, name);
    json_text(json, "file", entry->file);
    json_text(json, "dtype", entry->dtype);
    json_array(json, "shape");
    for (int d = 0; d < entry->dims; d++) {
        json_int(json, NULL, entry->shape[d]);
    }
    json_end(json);
    json_int(json, "bytes", entry->bytes);
    json_text(json, "xxh3", entry->xxh3);
    json_text(json, "crc32", entry->crc32);
    json_end(json);
}

/* ---- files ---- */

/* What the manifest says of an array must be what its file holds. */
static weft_status compare_array(const char *path, const store_array *entry, const npy_map *array)
{
    const npy_header *header = &array->header;
    char dtype[16];
    store_dtype_text(header->kind, header->item_bytes, dtype);
    WEFT_CHECK(entry->dtype[0] == '\0' || strcmp(entry->dtype, dtype) == 0, WEFT_ERR_DATA,
               "%s: holds %s, the manifest says %s", path, dtype, entry->dtype);
    WEFT_CHECK(entry->bytes < 0 || (uint64_t)entry->bytes == array->map.size, WEFT_ERR_DATA,
               "%s: %zu bytes, the manifest says %" PRId64, path, array->map.size, entry->bytes);
    bool same = entry->dims < 0 || entry->dims == header->dims;
    for (int d = 0; d < entry->dims && same; d++) {
        same = entry->shape[d] == header->shape[d];
    }
    WEFT_CHECK(same, WEFT_ERR_DATA, "%s: its shape is not the one in the manifest", path);
    return WEFT_OK;
}

void store_dtype_text(char kind, int item_bytes, char text[16])
{
    const char *word = kind == 'f' ? "float" : kind == 'i' ? "int" : kind == 'u' ? "uint" : "other";
    snprintf(text, 16, "%s%d", word, 8 * item_bytes);
}

weft_status store_array_open(const char *path, const store_array *entry, npy_map *array)
{
    WEFT_TRY(npy_map_open(path, array));
    return compare_array(path, entry, array);
}

static weft_status fail_checksum(const char *path, const char *found, const char *expected)
{
    return weft_fail(WEFT_ERR_DATA, "%s: checksum %s, the manifest says %s: damaged; convert the data again", path,
                     found, expected);
}

weft_status store_array_verify(const char *path, const store_array *entry, const npy_map *array)
{
    char found[STORE_HASH_BYTES], crc[STORE_CRC_BYTES];
    if (entry->xxh3[0] != '\0') {
        file_hash(array->map.data, array->map.size, found);
        return strcmp(found, entry->xxh3) == 0 ? WEFT_OK : fail_checksum(path, found, entry->xxh3);
    }
    if (entry->crc32[0] != '\0') {
        store_map_crc32(&array->map, crc);
        return strcmp(crc, entry->crc32) == 0 ? WEFT_OK : fail_checksum(path, crc, entry->crc32);
    }
    log_warn("%s: the manifest has no checksum for it: not verified", path);
    return WEFT_OK;
}

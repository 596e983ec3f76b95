/* io/safetensors_read.c: the strict reader; see io/safetensors.h. The file stays mapped while it is open. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/half.h"
#include "io/json.h"
#include "io/safetensors.h"

enum { LENGTH_BYTES = 8 };

struct safetensors_file {
    char path[FILE_PATH_MAX];
    file_map map;
    json_document *json;
    const json_value *metadata; /* or NULL */
    const uint8_t *data;
    size_t data_bytes;
    int count;
    safetensors_entry *entries; /* by offset */
    char **given;               /* [count] names by safetensors_rename, or NULL */
    int stripped;               /* parts that are left out of all names */
};

/* Bytes of an element; 0 for a type that the format does not know. */
static size_t dtype_bytes(const char *dtype)
{
    static const struct {
        const char *name;
        size_t bytes;
    } types[] = {{"F32", 4},     {"F64", 8}, {"F16", 2}, {"BF16", 2}, {"F8_E4M3", 1},
                 {"F8_E5M2", 1}, {"I64", 8}, {"I32", 4}, {"I16", 2},  {"I8", 1},
                 {"U64", 8},     {"U32", 4}, {"U16", 2}, {"U8", 1},   {"BOOL", 1}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].name, dtype) == 0) {
            return types[i].bytes;
        }
    }
    return 0;
}

static weft_status read_shape(const char *path, const json_value *shape, safetensors_entry *entry)
{
    WEFT_CHECK(shape != NULL && shape->kind == JSON_ARRAY, WEFT_ERR_DATA, "%s: tensor \"%s\": no shape", path,
               entry->name);
    entry->count = 1;
    for (const json_value *length = shape->child; length != NULL; length = length->next) {
        WEFT_CHECK(entry->dims < SAFETENSORS_MAX_DIMS, WEFT_ERR_DATA, "%s: tensor \"%s\": more than %d dimensions",
                   path, entry->name, SAFETENSORS_MAX_DIMS);
        WEFT_CHECK(length->kind == JSON_NUMBER && length->integral && length->integer >= 0, WEFT_ERR_DATA,
                   "%s: tensor \"%s\": length %d of the shape is no whole number from 0", path, entry->name,
                   entry->dims);
        WEFT_CHECK(!__builtin_mul_overflow(entry->count, length->integer, &entry->count), WEFT_ERR_DATA,
                   "%s: tensor \"%s\": the product of the shape does not fit 63 bits", path, entry->name);
        entry->shape[entry->dims++] = length->integer;
    }
    return WEFT_OK;
}

static weft_status read_offsets(const char *path, const json_value *offsets, size_t data_bytes,
                                safetensors_entry *entry)
{
    const json_value *begin = offsets != NULL && offsets->kind == JSON_ARRAY ? offsets->child : NULL;
    const json_value *end = begin != NULL ? begin->next : NULL;
    WEFT_CHECK(end != NULL && end->next == NULL && begin->kind == JSON_NUMBER && begin->integral &&
                   end->kind == JSON_NUMBER && end->integral,
               WEFT_ERR_DATA, "%s: tensor \"%s\": data_offsets must be two whole numbers", path, entry->name);
    WEFT_CHECK(begin->integer >= 0 && begin->integer <= end->integer && (uint64_t)end->integer <= data_bytes,
               WEFT_ERR_DATA,
               "%s: tensor \"%s\": data_offsets %" PRId64 ", %" PRId64 " are outside of %zu bytes of data", path,
               entry->name, begin->integer, end->integer, data_bytes);
    size_t length = (size_t)(end->integer - begin->integer);
    WEFT_CHECK(length == entry->bytes, WEFT_ERR_DATA,
               "%s: tensor \"%s\": %zu bytes of data, but type and shape say %zu", path, entry->name, length,
               entry->bytes);
    entry->offset = (size_t)begin->integer;
    return WEFT_OK;
}

static weft_status read_entry(const char *path, const json_value *value, size_t data_bytes, safetensors_entry *entry)
{
    *entry = (safetensors_entry){.name = value->key, .stored = value->key};
    WEFT_CHECK(value->kind == JSON_OBJECT, WEFT_ERR_DATA, "%s: tensor \"%s\": expected an object", path, entry->name);
    for (const json_value *member = value->child; member != NULL; member = member->next) {
        WEFT_CHECK(strcmp(member->key, "dtype") == 0 || strcmp(member->key, "shape") == 0 ||
                       strcmp(member->key, "data_offsets") == 0,
                   WEFT_ERR_DATA, "%s: tensor \"%s\": unknown key \"%s\"; it holds dtype, shape, data_offsets", path,
                   entry->name, member->key);
    }
    const json_value *dtype = json_find(value, "dtype");
    WEFT_CHECK(dtype != NULL && dtype->kind == JSON_TEXT, WEFT_ERR_DATA, "%s: tensor \"%s\": no dtype", path,
               entry->name);
    entry->dtype = dtype->text;
    size_t item = dtype_bytes(dtype->text);
    WEFT_CHECK(item > 0, WEFT_ERR_DATA, "%s: tensor \"%s\": unknown dtype \"%s\"", path, entry->name, dtype->text);
    WEFT_TRY(read_shape(path, json_find(value, "shape"), entry));
    WEFT_CHECK(!__builtin_mul_overflow((size_t)entry->count, item, &entry->bytes), WEFT_ERR_DATA,
               "%s: tensor \"%s\": shape times element size does not fit 64 bits", path, entry->name);
    return read_offsets(path, json_find(value, "data_offsets"), data_bytes, entry);
}

static int by_offset(const void *a, const void *b)
{
    const safetensors_entry *x = a, *y = b;
    if (x->offset != y->offset) {
        return x->offset < y->offset ? -1 : 1;
    }
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? -1 : 1) : strcmp(x->name, y->name);
}

/* The tensors lie one behind the other, from the first byte to the last. */
static weft_status check_cover(const safetensors_file *file)
{
    size_t covered = 0;
    for (int i = 0; i < file->count; i++) {
        const safetensors_entry *entry = &file->entries[i];
        WEFT_CHECK(entry->offset == covered, WEFT_ERR_DATA,
                   "%s: tensor \"%s\" begins at byte %zu of the data, %s byte %zu", file->path, entry->name,
                   entry->offset,
                   entry->offset < covered ? "inside another that ends at" : "behind a hole that begins at", covered);
        covered += entry->bytes;
    }
    WEFT_CHECK(covered == file->data_bytes, WEFT_ERR_DATA, "%s: %zu bytes of data, the tensors have %zu", file->path,
               file->data_bytes, covered);
    return WEFT_OK;
}

static weft_status check_metadata(const safetensors_file *file)
{
    WEFT_CHECK(file->metadata->kind == JSON_OBJECT, WEFT_ERR_DATA, "%s: __metadata__ is no object", file->path);
    for (const json_value *text = file->metadata->child; text != NULL; text = text->next) {
        WEFT_CHECK(text->kind == JSON_TEXT, WEFT_ERR_DATA, "%s: __metadata__: \"%s\" is no text", file->path,
                   text->key);
    }
    return WEFT_OK;
}

static weft_status read_entries(safetensors_file *file)
{
    const json_value *root = json_root(file->json);
    int members = 0;
    WEFT_CHECK(root->kind == JSON_OBJECT, WEFT_ERR_DATA, "%s: the header is no JSON object", file->path);
    for (const json_value *member = root->child; member != NULL; member = member->next) {
        members++;
    }
    WEFT_TRY(WEFT_NEW(&file->entries, members, WEFT_MEM_GENERAL));
    for (const json_value *member = root->child; member != NULL; member = member->next) {
        if (strcmp(member->key, "__metadata__") == 0) {
            file->metadata = member;
            WEFT_TRY(check_metadata(file));
            continue;
        }
        WEFT_TRY(read_entry(file->path, member, file->data_bytes, &file->entries[file->count]));
        file->count++;
    }
    if (file->count > 1) {
        qsort(file->entries, (size_t)file->count, sizeof *file->entries, by_offset);
    }
    return check_cover(file);
}

static weft_status read_header(safetensors_file *file)
{
    const uint8_t *bytes = file->map.data;
    size_t size = file->map.size;
    WEFT_CHECK(size >= LENGTH_BYTES, WEFT_ERR_DATA,
               "%s: %zu bytes, too short for a safetensors file (8 bytes of length, then the header)", file->path,
               size);
    /* A length may begin with a pickle's mark; behind it stands the header's brace. */
    const bool header = size > LENGTH_BYTES && bytes[LENGTH_BYTES] == '{';
    WEFT_CHECK((header || bytes[0] != 0x80) && memcmp(bytes, "PK\3\4", 4) != 0, WEFT_ERR_DATA,
               "%s: is a pickle or a zip archive (torch.save writes those), expected safetensors: save it with "
               "safetensors.torch.save_file",
               file->path);
    uint64_t length = 0;
    for (int i = 0; i < LENGTH_BYTES; i++) {
        length |= (uint64_t)bytes[i] << 8 * i;
    }
    WEFT_CHECK(length <= size - LENGTH_BYTES, WEFT_ERR_DATA,
               "%s: a header of %" PRIu64 " bytes in a file of %zu (truncated, or no safetensors file)", file->path,
               length, size);
    WEFT_CHECK(length <= SAFETENSORS_HEADER_MAX, WEFT_ERR_DATA, "%s: a header of %" PRIu64 " bytes; the limit is %d",
               file->path, length, SAFETENSORS_HEADER_MAX);
    WEFT_CHECK(length > 0 && bytes[LENGTH_BYTES] == '{', WEFT_ERR_DATA,
               "%s: the header does not begin with '{': no safetensors file", file->path);
    file->data = bytes + LENGTH_BYTES + length;
    file->data_bytes = size - LENGTH_BYTES - (size_t)length;
    WEFT_TRY(json_parse(file->path, (const char *)bytes + LENGTH_BYTES, (size_t)length, &file->json));
    return read_entries(file);
}

weft_status safetensors_open(const char *path, safetensors_file **file)
{
    safetensors_file *made = NULL;
    *file = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&made, 1, WEFT_MEM_GENERAL));
    weft_status status = file_path(made->path, "%s", path);
    status = status == WEFT_OK ? file_map_open(path, &made->map) : status;
    status = status == WEFT_OK ? read_header(made) : status;
    if (status != WEFT_OK) {
        safetensors_close(made);
        return status;
    }
    *file = made;
    return WEFT_OK;
}

void safetensors_close(safetensors_file *file)
{
    if (file == NULL) {
        return;
    }
    safetensors_restore(file);
    WEFT_FREE_ALL(file->given, file->entries);
    json_free(file->json);
    file_map_close(&file->map);
    weft_free(file);
}

int safetensors_count(const safetensors_file *file)
{
    return file->count;
}

const safetensors_entry *safetensors_entry_at(const safetensors_file *file, int i)
{
    return &file->entries[i];
}

int safetensors_find(const safetensors_file *file, const char *name)
{
    for (int i = 0; i < file->count; i++) {
        if (strcmp(file->entries[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

const char *safetensors_metadata(const safetensors_file *file, const char *key)
{
    const json_value *text = json_find(file->metadata, key);
    return text != NULL ? text->text : NULL;
}

bool safetensors_metadata_at(const safetensors_file *file, int i, safetensors_text *text)
{
    const json_value *at = file->metadata != NULL ? file->metadata->child : NULL;
    for (; at != NULL && i > 0; i--) {
        at = at->next;
    }
    *text = at != NULL ? (safetensors_text){at->key, at->text} : (safetensors_text){NULL, NULL};
    return at != NULL;
}

/* Bytes of the first part of all names, with the dot behind it; 0 where they differ. */
static size_t common_part(const safetensors_file *file)
{
    const char *first = file->count > 0 ? file->entries[0].name : "";
    const char *dot = strchr(first, '.');
    const size_t length = dot != NULL ? (size_t)(dot - first) + 1 : 0;
    for (int i = 0; i < file->count; i++) {
        const char *name = file->entries[i].name;
        if (strncmp(name, first, length) != 0 || name[length] == '\0') {
            return 0;
        }
    }
    return length;
}

bool safetensors_strip(safetensors_file *file)
{
    const size_t length = file->stripped < SAFETENSORS_PARTS_MAX ? common_part(file) : 0;
    file->stripped += length > 0;
    for (int i = 0; i < file->count; i++) {
        file->entries[i].name += length;
    }
    return length > 0;
}

weft_status safetensors_rename(safetensors_file *file, int i, const char *name)
{
    const size_t bytes = strlen(name) + 1;
    char *copy = NULL;
    if (file->given == NULL) {
        WEFT_TRY(WEFT_NEW_ZERO(&file->given, file->count, WEFT_MEM_GENERAL));
    }
    WEFT_TRY(WEFT_NEW(&copy, bytes, WEFT_MEM_GENERAL));
    memcpy(copy, name, bytes);
    weft_free(file->given[i]);
    file->given[i] = copy;
    file->entries[i].name = copy;
    return WEFT_OK;
}

void safetensors_restore(safetensors_file *file)
{
    file->stripped = 0;
    for (int i = 0; i < file->count; i++) {
        file->entries[i].name = file->entries[i].stored;
        if (file->given != NULL) {
            weft_free(file->given[i]);
            file->given[i] = NULL;
        }
    }
}

/* Element i of a type whose values are floats; little-endian as the machine. */
static double real_at(const uint8_t *data, const char *dtype, size_t i)
{
    if (strcmp(dtype, "F64") == 0) {
        double value;
        memcpy(&value, data + i * sizeof value, sizeof value);
        return value;
    }
    uint16_t half;
    memcpy(&half, data + i * sizeof half, sizeof half);
    return (double)(dtype[0] == 'B' ? bf16_to_float(half) : fp16_to_float(half));
}

weft_status safetensors_read_f32(const safetensors_file *file, int i, float *values)
{
    const safetensors_entry *entry = &file->entries[i];
    const uint8_t *data = file->data + entry->offset;
    if (strcmp(entry->dtype, "F32") == 0) {
        if (entry->bytes > 0) {
            memcpy(values, data, entry->bytes);
        }
        return WEFT_OK;
    }
    WEFT_CHECK(strcmp(entry->dtype, "F64") == 0 || strcmp(entry->dtype, "F16") == 0 ||
                   strcmp(entry->dtype, "BF16") == 0,
               WEFT_ERR_DATA, "%s: tensor \"%s\" holds %s, expected F32, F64, F16 or BF16", file->path, entry->stored,
               entry->dtype);
    for (size_t k = 0; k < (size_t)entry->count; k++) {
        double value = real_at(data, entry->dtype, k);
        WEFT_CHECK(!isfinite(value) || fabs(value) <= (double)FLT_MAX, WEFT_ERR_DATA,
                   "%s: tensor \"%s\", element %zu: %g is too large for a 32-bit float", file->path, entry->stored, k,
                   value);
        values[k] = (float)value;
    }
    return WEFT_OK;
}

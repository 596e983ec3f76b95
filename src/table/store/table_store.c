/*
 * table/store/table_store.c: a table store opened by mapping its arrays; see table/store/table_store.h. Opening
 * reads the manifest, the schema and the words; values are read when they are used, and the ranks of a node share
 * the pages.
 */
#include "table/store/table_store.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "io/store/store_seal.h"

enum { LOOKED_AT = 4096 }; /* bytes of a manifest that hold its format */

struct table_mapping {
    char path[FILE_PATH_MAX];
    table_manifest manifest;
    npy_map arrays[TABLE_ARRAYS];
};

/* Looks at the first bytes alone, without taking memory: a lack of it must not be a no. */
bool table_is_store(const char *path)
{
    char name[FILE_PATH_MAX], head[LOOKED_AT + 1];
    struct stat facts;
    int fd;
    if (file_path(name, "%s/manifest.json", path) != WEFT_OK || !file_exists(name) ||
        file_open(name, &fd, &facts) != WEFT_OK) {
        weft_error_clear();
        return false;
    }
    const ssize_t bytes = file_read_at(fd, 0, head, LOOKED_AT);
    close(fd);
    head[bytes > 0 ? bytes : 0] = '\0';
    return strstr(head, "\"" TABLE_FORMAT "\"") != NULL;
}

void table_store_unmap(struct table_mapping *mapping)
{
    if (mapping != NULL) {
        for (int i = 0; i < TABLE_ARRAYS; i++) {
            npy_map_close(&mapping->arrays[i]);
        }
        weft_free(mapping);
    }
}

static weft_status read_manifest(const char *store, table_manifest *manifest, char hash[STORE_HASH_BYTES])
{
    char path[FILE_PATH_MAX], *text;
    size_t bytes;
    WEFT_TRY(file_path(path, "%s/manifest.json", store));
    WEFT_TRY(file_read_text(path, STORE_MANIFEST_MAX, &text, &bytes));
    file_hash(text, bytes, hash);
    weft_status status = table_manifest_parse(path, text, bytes, manifest);
    weft_free(text);
    return status;
}

static weft_status read_schema(const char *store, const table_manifest *manifest, table_schema *schema,
                               table_place **place)
{
    char path[FILE_PATH_MAX], found[STORE_HASH_BYTES], *text;
    size_t bytes;
    WEFT_TRY(file_path(path, "%s/schema.jsonl", store));
    WEFT_TRY(file_read_text(path, TABLE_SCHEMA_MOST, &text, &bytes));
    file_hash(text, bytes, found);
    weft_status status = WEFT_OK;
    WEFT_CHECK_GOTO(manifest->schema_hash[0] == '\0' || strcmp(found, manifest->schema_hash) == 0, status, done,
                    WEFT_ERR_DATA, "%s: checksum %s, the manifest says %s: damaged; convert the data again", path,
                    found, manifest->schema_hash);
    status = table_schema_parse(path, text, bytes, manifest->columns, schema, place);
done:
    weft_free(text);
    return status;
}

/* What an array must be: [columns of its kind, rows], or one dimension; shape -1 is any. */
typedef struct array_shape {
    bool present;
    char type;
    int bytes, dims;
    int64_t shape[2];
} array_shape;

static array_shape shape_of(const struct table_mapping *m, int array, const int64_t *columns, int64_t words)
{
    const table_manifest *manifest = &m->manifest;
    const bool sparse = manifest->sparse_columns > 0, category = columns[TABLE_CATEGORY] > 0;
    const int64_t entries = m->arrays[TABLE_VALUES].header.count;
    switch (array) {
    case TABLE_WORD:
        return (array_shape){category, 'u', 1, 1, {-1}};
    case TABLE_WORD_OFFSET:
        return (array_shape){category, 'i', 8, 1, {words + 1}};
    case TABLE_INDPTR:
        return (array_shape){sparse, 'i', 8, 1, {manifest->rows + 1}};
    case TABLE_INDICES:
        return (array_shape){sparse, 'i', sparse_index_bytes(manifest->sparse_columns), 1, {entries}};
    case TABLE_VALUES:
        return (array_shape){sparse, 'f', 4, 1, {-1}};
    default:
        return (array_shape){columns[array] > 0,
                             table_kind_numpy((table_kind)array),
                             (int)table_kind_bytes((table_kind)array),
                             2,
                             {columns[array], manifest->rows}};
    }
}

static weft_status check_arrays(const struct table_mapping *m, const table_schema *schema, const table_place *place)
{
    int64_t columns[TABLE_KIND_COUNT] = {0}, words = 0;
    for (int64_t j = 0; j < schema->count; j++) {
        const table_kind kind = schema->field[j].kind;
        WEFT_CHECK(place[j].place == columns[kind], WEFT_ERR_DATA,
                   "%s/schema.jsonl: line %" PRId64 ": place %" PRId64 ", expected %" PRId64, m->path, j + 1,
                   place[j].place, columns[kind]);
        columns[kind]++;
        WEFT_CHECK(!__builtin_add_overflow(words, place[j].words, &words), WEFT_ERR_DATA,
                   "%s/schema.jsonl: more words than 63 bits count", m->path);
    }
    for (int i = 0; i < TABLE_ARRAYS; i++) {
        char path[FILE_PATH_MAX];
        const array_shape of = shape_of(m, i, columns, words);
        WEFT_TRY(file_path(path, "%s/%s", m->path, m->manifest.arrays[i].file));
        WEFT_CHECK(m->manifest.arrays[i].present == of.present, WEFT_ERR_DATA, "%s/manifest.json: array \"%s\" is %s",
                   m->path, table_array_name(i), of.present ? "missing" : "of no column");
        if (of.present) {
            WEFT_TRY(npy_expect(path, &m->arrays[i].header, of.type, of.bytes, of.dims, of.shape));
        }
    }
    return WEFT_OK;
}

/* The words of one column, which must ascend, so that codes are places among them. */
static weft_status read_words(const struct table_mapping *m, int64_t first, int64_t count, table_words **words)
{
    const int64_t *offset = (const int64_t *)m->arrays[TABLE_WORD_OFFSET].data + first;
    const char *text = m->arrays[TABLE_WORD].data;
    const int64_t bytes = m->arrays[TABLE_WORD].header.count;
    WEFT_TRY(words_create(1, words));
    for (int64_t i = 0; i < count; i++) {
        int32_t code;
        WEFT_CHECK(offset[i] >= 0 && offset[i] <= offset[i + 1] && offset[i + 1] <= bytes, WEFT_ERR_DATA,
                   "%s/word_offset.npy: word %" PRId64 " is %" PRId64 " to %" PRId64 " of %" PRId64 " bytes", m->path,
                   first + i, offset[i], offset[i + 1], bytes);
        WEFT_TRY(words_add(*words, 0, text + offset[i], (size_t)(offset[i + 1] - offset[i]), &code));
        WEFT_CHECK(code == i, WEFT_ERR_DATA, "%s/word.npy: word %" PRId64 " occurs twice in its column", m->path,
                   first + i);
    }
    int32_t *order;
    WEFT_TRY(words_sort(*words, &order));
    WEFT_CHECK(order == NULL, WEFT_ERR_DATA,
               "%s/word.npy: words %" PRId64 " to %" PRId64 " are not in the order of "
               "their bytes",
               m->path, first, first + count - 1);
    return WEFT_OK;
}

static weft_status fill_table(struct table_mapping *m, const table_place *place, weft_table *t)
{
    int64_t words = 0;
    assert(t->first >= 0 && t->first + t->count <= t->rows);
    for (int64_t j = 0; j < t->schema.count; j++) {
        table_field *field = &t->schema.field[j];
        const char *data = m->arrays[field->kind].data;
        const int64_t at = place[j].place * t->rows + t->first;
        t->column[j] = (table_column){.kind = field->kind, .data = data + (size_t)at * table_kind_bytes(field->kind)};
        if (field->kind == TABLE_CATEGORY) {
            WEFT_TRY(read_words(m, words, place[j].words, &field->words));
            words += place[j].words;
        }
    }
    return WEFT_OK;
}

/* Rows' entries must ascend, so that no row reads beyond the arrays. */
static weft_status fill_sparse(const struct table_mapping *m, weft_table *t)
{
    if (m->manifest.sparse_columns == 0) {
        return WEFT_OK;
    }
    const int64_t entries = m->arrays[TABLE_VALUES].header.count;
    const int64_t *start = (const int64_t *)m->arrays[TABLE_INDPTR].data + t->first;
    for (int64_t i = 0; i < t->count; i++) {
        WEFT_CHECK(start[i] >= 0 && start[i] <= start[i + 1] && start[i + 1] <= entries, WEFT_ERR_DATA,
                   "%s/indptr.npy: row %" PRId64 " has entries %" PRId64 " to %" PRId64 " of %" PRId64, m->path,
                   t->first + i, start[i], start[i + 1], entries);
    }
    t->sparse = (table_sparse){.columns = m->manifest.sparse_columns,
                               .base = m->manifest.sparse_base,
                               .start = start,
                               .index = m->arrays[TABLE_INDICES].data,
                               .value = m->arrays[TABLE_VALUES].data,
                               .index_bytes = sparse_index_bytes(m->manifest.sparse_columns)};
    return WEFT_OK;
}

static weft_status map_arrays(struct table_mapping *m)
{
    char path[FILE_PATH_MAX];
    for (int i = 0; i < TABLE_ARRAYS; i++) {
        if (m->manifest.arrays[i].present) {
            WEFT_TRY(file_path(path, "%s/%s", m->path, m->manifest.arrays[i].file));
            WEFT_TRY(store_array_open(path, &m->manifest.arrays[i], &m->arrays[i]));
        }
    }
    return WEFT_OK;
}

weft_status table_store_open(const char *path, int rank, int ranks, weft_table *t)
{
    table_place *place = NULL;
    weft_status status;
    WEFT_TRY(WEFT_NEW_ZERO(&t->mapping, 1, WEFT_MEM_TABLE));
    struct table_mapping *m = t->mapping;
    WEFT_TRY_GOTO(file_path(m->path, "%s", path), status, done);
    WEFT_TRY_GOTO(read_manifest(path, &m->manifest, t->hash), status, done);
    WEFT_TRY_GOTO(read_schema(path, &m->manifest, &t->schema, &place), status, done);
    WEFT_TRY_GOTO(map_arrays(m), status, done);
    WEFT_TRY_GOTO(check_arrays(m, &t->schema, place), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&t->column, t->schema.count, WEFT_MEM_TABLE), status, done);
    t->rows = m->manifest.rows;
    t->first = table_first_row(t->rows, rank, ranks);
    t->count = table_first_row(t->rows, rank + 1, ranks) - t->first;
    WEFT_TRY_GOTO(fill_table(m, place, t), status, done);
    status = fill_sparse(m, t);
done:
    weft_free(place);
    return status;
}

/* Codes beyond a column's words. */
static weft_status check_codes(const weft_table *t)
{
    for (int64_t j = 0; j < t->schema.count; j++) {
        const table_field *field = &t->schema.field[j];
        const int32_t *code = t->column[j].data;
        for (int64_t i = 0; field->kind == TABLE_CATEGORY && i < t->count; i++) {
            WEFT_CHECK(code[i] >= TABLE_NO_CODE && code[i] < words_count(field->words), WEFT_ERR_DATA,
                       "%s/category.npy: row %" PRId64 ", column '%.64s': code %" PRId32 " of %" PRId64 " words",
                       t->mapping->path, t->first + i, field->name, code[i], words_count(field->words));
        }
    }
    return WEFT_OK;
}

/* Features of a row that do not ascend, or that the block does not have. */
static weft_status check_features(const weft_table *t)
{
    const table_sparse *s = &t->sparse;
    for (int64_t i = 0; s->columns > 0 && i < t->count; i++) {
        int64_t before = -1;
        for (int64_t e = s->start[i]; e < s->start[i + 1]; e++) {
            const int64_t feature = sparse_feature(s, e);
            WEFT_CHECK(feature > before && feature < s->columns, WEFT_ERR_DATA,
                       "%s/indices.npy: row %" PRId64 ": feature %" PRId64 " behind %" PRId64 ", of %" PRId64
                       " features",
                       t->mapping->path, t->first + i, feature, before, s->columns);
            before = feature;
        }
    }
    return WEFT_OK;
}

weft_status table_verify(const weft_table *t)
{
    char path[FILE_PATH_MAX];
    const struct table_mapping *m = t->mapping;
    WEFT_CHECK(m != NULL, WEFT_ERR_USAGE, "only stores have checksums");
    for (int i = 0; i < TABLE_ARRAYS; i++) {
        if (m->manifest.arrays[i].present) {
            WEFT_TRY(file_path(path, "%s/%s", m->path, m->manifest.arrays[i].file));
            WEFT_TRY(store_array_verify(path, &m->manifest.arrays[i], &m->arrays[i]));
        }
    }
    WEFT_TRY(check_codes(t));
    return check_features(t);
}

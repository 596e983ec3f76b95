/*
 * table/store/table_convert.c: files to a store. A first pass settles kinds and words, a second one writes the
 * columns block by block: `memory` bytes hold one block of rows of all columns.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/number.h"
#include "io/store/store_writer.h"
#include "table/store/table_pass.h"
#include "table/store/table_store.h"

#define MEMORY_DEFAULT (INT64_C(256) << 20)

typedef struct converter {
    table_files files;
    table_schema schema;
    store_writer store;
    table_manifest manifest;
    store_placed array[TABLE_ARRAYS];  /* those that are written block by block */
    int64_t columns[TABLE_KIND_COUNT]; /* of each kind */
    table_words *groups;               /* hashes of the queries so far, where there are queries */
    uint64_t group;                    /* of the row before */
} converter;

/* ---- columns ---- */

static weft_status begin_arrays(converter *c)
{
    for (int64_t j = 0; j < c->schema.count; j++) {
        const table_field *f = &c->schema.field[j];
        assert(f->kind < TABLE_KIND_COUNT);
        c->columns[f->kind] += f->role != TABLE_DROPPED;
    }
    for (int i = 0; i < TABLE_KIND_COUNT; i++) {
        const int64_t shape[2] = {c->columns[i], c->files.rows};
        if (c->columns[i] > 0) {
            WEFT_TRY(store_placed_begin(&c->store, &c->manifest.arrays[i], table_array_name(i),
                                        table_kind_numpy((table_kind)i), (int)table_kind_bytes((table_kind)i), 2, shape,
                                        &c->array[i]));
        }
    }
    return WEFT_OK;
}

/* The arrays of the sparse block. Row numbers are in memory; entries come block by block. */
static weft_status begin_sparse(converter *c)
{
    const table_sparse *s = &c->files.sparse;
    if (s->columns == 0) {
        return WEFT_OK;
    }
    const int64_t starts = c->files.rows + 1, entries = s->start[c->files.rows];
    c->manifest.sparse_columns = s->columns;
    c->manifest.sparse_base = s->base;
    WEFT_TRY(store_array_write(&c->store, &c->manifest.arrays[TABLE_INDPTR], table_array_name(TABLE_INDPTR), 'i', 8, 1,
                               &starts, s->start));
    WEFT_TRY(store_placed_begin(&c->store, &c->manifest.arrays[TABLE_INDICES], table_array_name(TABLE_INDICES), 'i',
                                s->index_bytes, 1, &entries, &c->array[TABLE_INDICES]));
    return store_placed_begin(&c->store, &c->manifest.arrays[TABLE_VALUES], table_array_name(TABLE_VALUES), 'f', 4, 1,
                              &entries, &c->array[TABLE_VALUES]);
}

static weft_status write_entries(converter *c, int64_t first, int64_t count)
{
    const table_sparse *s = &c->files.sparse;
    const sink_sparse *out = &c->files.out;
    if (s->columns == 0) {
        return WEFT_OK;
    }
    const int64_t from = s->start[first], entries = s->start[first + count] - from;
    WEFT_TRY(store_placed_write(&c->store, &c->array[TABLE_INDICES], from * s->index_bytes, out->index,
                                (size_t)(entries * s->index_bytes)));
    return store_placed_write(&c->store, &c->array[TABLE_VALUES], from * (int64_t)sizeof(float), out->value,
                              (size_t)entries * sizeof(float));
}

/* Rows of the next block: as many of at most `most` as `memory` bytes hold, one at least. */
static int64_t rows_of_block(const converter *c, int64_t first, int64_t most, int64_t memory)
{
    const table_sparse *s = &c->files.sparse;
    const int64_t row = schema_row_bytes(&c->schema), entry = s->index_bytes + (int64_t)sizeof(float);
    int64_t count = c->files.rows - first < most ? c->files.rows - first : most;
    while (s->columns > 0 && count > 1 && (s->start[first + count] - s->start[first]) * entry + count * row > memory) {
        count /= 2;
    }
    return count;
}

static weft_status write_block(converter *c, int64_t first, int64_t count, void *const *value)
{
    int64_t place[TABLE_KIND_COUNT] = {0};
    for (int64_t j = 0; j < c->schema.count; j++) {
        const table_field *f = &c->schema.field[j];
        const int64_t bytes = (int64_t)table_kind_bytes(f->kind);
        if (f->role != TABLE_DROPPED) {
            const int64_t at = (place[f->kind]++ * c->files.rows + first) * bytes;
            WEFT_TRY(store_placed_write(&c->store, &c->array[f->kind], at, value[j], (size_t)(count * bytes)));
        }
    }
    return WEFT_OK;
}

/* Rows of one query stand together. */
static weft_status check_groups(converter *c, int64_t first, int64_t count, void *const *value)
{
    const int64_t column = schema_find(&c->schema, TABLE_GROUP);
    if (column < 0) {
        return WEFT_OK;
    }
    const uint64_t *group = value[column];
    WEFT_TRY(c->groups == NULL ? words_create(1, &c->groups) : WEFT_OK);
    for (int64_t i = 0; i < count; i++) {
        const int64_t queries = words_count(c->groups);
        int32_t code;
        if (group[i] == c->group && first + i > 0) {
            continue;
        }
        WEFT_CHECK(group[i] != TABLE_NO_ID, WEFT_ERR_DATA, "%s: row %" PRId64 ": column '%.64s' names no query",
                   c->files.paths[0], first + i + 1, c->schema.field[column].name);
        WEFT_TRY(words_add(c->groups, 0, (const char *)&group[i], sizeof *group, &code));
        WEFT_CHECK(
            code == queries, WEFT_ERR_DATA,
            "%s: row %" PRId64
            ": its query in column '%.64s' has rows above, and another query stands between: sort the rows by query",
            c->files.paths[0], first + i + 1, c->schema.field[column].name);
        c->group = group[i];
    }
    return WEFT_OK;
}

static void tell_block(const converter *c, int64_t rows, int64_t memory)
{
    const int64_t block = c->files.sparse.columns > 0 ? memory : rows * schema_row_bytes(&c->schema);
    log_info("%s: blocks of up to %" PRId64
             " rows are written; this takes %s at most, beside the different words of categories",
             c->files.paths[0], rows,
             number_say_bytes((uint64_t)(files_memory(&c->files, &c->schema, 0, 0) + block)).text);
}

static weft_status write_columns(converter *c, int64_t memory)
{
    const int64_t row = schema_row_bytes(&c->schema), rows = c->files.rows;
    const int64_t held = memory > 0 ? memory : MEMORY_DEFAULT, fit = held / (row > 0 ? row : 1);
    const int64_t block = fit < 1 ? 1 : fit < rows ? fit : rows;
    void **value = NULL;
    table_tally *tally = NULL;
    weft_status status;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&value, c->schema.count + 1, WEFT_MEM_TABLE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&tally, c->schema.count, WEFT_MEM_WORKSPACE), status, done);
    tell_block(c, block, held);
    WEFT_TRY_GOTO(files_make_arrays(&c->schema, block, value), status, done);
    for (int64_t first = 0, count; first < rows; first += count) {
        count = rows_of_block(c, first, block, held);
        WEFT_TRY_GOTO(files_make_entries(&c->files, first, count), status, done);
        WEFT_TRY_GOTO(files_pass_again(&c->files, &c->schema, first, count, value, tally), status, done);
        WEFT_TRY_GOTO(check_groups(c, first, count, value), status, done);
        WEFT_TRY_GOTO(write_block(c, first, count, value), status, done);
        WEFT_TRY_GOTO(write_entries(c, first, count), status, done);
    }
done:
    files_free_arrays(&c->schema, value);
    weft_free(value);
    weft_free(tally);
    return status;
}

/* ---- words ---- */

static weft_status write_words(converter *c)
{
    file_writer file;
    const int64_t words = files_words(&c->schema);
    int64_t *offset, at = 0, place = 0;
    weft_status status;
    if (c->columns[TABLE_CATEGORY] == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(&offset, words + 1, WEFT_MEM_TABLE));
    for (int64_t j = 0; j < c->schema.count; j++) {
        const table_words *of = c->schema.field[j].words;
        for (int64_t i = 0; of != NULL && i < words_count(of); i++) {
            size_t bytes;
            (void)words_text(of, i, &bytes);
            offset[place++] = at;
            at += (int64_t)bytes;
        }
    }
    offset[place] = at;
    WEFT_TRY_GOTO(store_array_write(&c->store, &c->manifest.arrays[TABLE_WORD_OFFSET], "word_offset", 'i', 8, 1,
                                    (const int64_t[1]){words + 1}, offset),
                  status, done);
    WEFT_TRY_GOTO(store_array_begin(&c->store, &c->manifest.arrays[TABLE_WORD], "word", 'u', 1, 1, &at, &file), status,
                  done);
    for (int64_t j = 0; j < c->schema.count && status == WEFT_OK; j++) {
        const table_words *of = c->schema.field[j].words;
        for (int64_t i = 0; of != NULL && i < words_count(of) && status == WEFT_OK; i++) {
            size_t bytes;
            const char *text = words_text(of, i, &bytes);
            status = store_array_piece(&c->store, &file, text, bytes);
        }
    }
    status = store_array_end(&c->store, &c->manifest.arrays[TABLE_WORD], status, &file);
done:
    weft_free(offset);
    return status;
}

/* ---- the store ---- */

static weft_status write_arrays(converter *c, int64_t memory)
{
    weft_status status = begin_arrays(c);
    status = status == WEFT_OK ? begin_sparse(c) : status;
    status = status == WEFT_OK ? write_columns(c, memory) : status;
    for (int i = 0; i < TABLE_ARRAYS; i++) {
        status = store_placed_end(&c->manifest.arrays[i], status, &c->array[i]);
    }
    return status;
}

static weft_status write_store(converter *c, int64_t memory, const char *out, bool force)
{
    char temporary[FILE_PATH_MAX] = "";
    weft_status status;
    WEFT_TRY_GOTO(folder_begin(out, force, temporary), status, done);
    c->store =
        (store_writer){.folder = temporary,
                       .progress = log_progress_begin("write store", "bytes",
                                                      (double)c->files.rows * (double)schema_row_bytes(&c->schema))};
    WEFT_TRY_GOTO(write_arrays(c, memory), status, done);
    WEFT_TRY_GOTO(write_words(c), status, done);
    log_progress_end(&c->store.progress);
    WEFT_TRY_GOTO(table_schema_write(temporary, &c->schema, c->manifest.schema_hash), status, done);
    c->manifest.rows = c->files.rows;
    for (int i = 0; i < TABLE_KIND_COUNT; i++) {
        c->manifest.columns += c->columns[i];
    }
    WEFT_TRY_GOTO(table_manifest_write(temporary, &c->manifest), status, done);
    WEFT_TRY_GOTO(folder_commit(temporary, out, force), status, done);
done:
    return status == WEFT_OK ? WEFT_OK : store_discard(temporary, status);
}

weft_status table_convert(const char *const *paths, int count, const table_request *request, int64_t memory,
                          const char *out, bool force)
{
    converter *c;
    weft_status status;
    WEFT_TRY(force ? store_check_replaceable(out, "a table store") : WEFT_OK);
    WEFT_TRY(WEFT_NEW_ZERO(&c, 1, WEFT_MEM_TABLE));
    for (int i = 0; i < TABLE_ARRAYS; i++) {
        c->array[i].fd = -1;
    }
    WEFT_TRY_GOTO(files_open(paths, count, request, NULL, &c->schema, &c->files), status, done);
    WEFT_TRY_GOTO(files_settle(&c->files, &c->schema, 0, c->files.rows, NULL), status, done);
    schema_tell(paths[0], &c->schema, c->files.rows);
    WEFT_CHECK_GOTO(schema_row_bytes(&c->schema) > 0, status, done, WEFT_ERR_USAGE, "%s: every column is dropped",
                    paths[0]);
    status = write_store(c, memory, out, force);
done:
    files_close(&c->files);
    schema_free(&c->schema);
    words_free(c->groups);
    weft_free(c);
    return status;
}

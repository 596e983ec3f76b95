/* table/store/table_open.c: see table/table.h; stores are in table/store_open.c. */
#include "table/table.h"

#include <assert.h>
#include <inttypes.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/number.h"
#include "table/store/table_halves.h"
#include "table/store/table_ranks.h"
#include "table/store/table_store.h"
#include "table/table_options.def"

static void take_arrays(table_files *files, weft_table *t, void **value)
{
    t->sparse = files->sparse;
    t->sparse.index = files->out.index;
    t->sparse.value = files->out.value;
    files->sparse.start = NULL;
    files->out = (sink_sparse){.index = NULL};
    for (int64_t j = 0; j < t->schema.count; j++) {
        t->column[j] = (table_column){.kind = t->schema.field[j].kind, .data = value[j]};
    }
    t->block = value[t->schema.count];
    value[t->schema.count] = NULL;
}

static void tell_memory(const table_files *files, const table_schema *schema, int64_t count)
{
    const int64_t values = count * schema_row_bytes(schema), all = files_memory(files, schema, 0, count);
    log_info("%s: reading %" PRId64 " rows of %" PRId64
             " columns: a rank's values take %s, and reading takes %s at most "
             "in all, beside the different words of categories",
             files->paths[0], files->rows, schema->count, number_say_bytes((uint64_t)values).text,
             number_say_bytes((uint64_t)all).text);
}

static weft_status read_files(const char *const *paths, int count, const table_request *request,
                              const table_exchange *exchange, weft_table *t)
{
    table_files files;
    void **value = NULL;
    weft_status status;
    const int rank = exchange != NULL ? exchange->rank : 0, ranks = exchange != NULL ? exchange->ranks : 1;
    WEFT_TRY(files_open(paths, count, request, exchange, &t->schema, &files));
    t->rows = files.rows;
    t->first = table_first_row(t->rows, rank, ranks);
    t->count = table_first_row(t->rows, rank + 1, ranks) - t->first;
    status = WEFT_NEW_ZERO(&value, t->schema.count + 1, WEFT_MEM_TABLE);
    status = status == WEFT_OK ? WEFT_NEW_ZERO(&t->column, t->schema.count, WEFT_MEM_TABLE) : status;
    status = status == WEFT_OK ? files_make_entries(&files, 0, t->count) : status;
    status = status == WEFT_OK ? WEFT_NEW_ZERO(&t->file_row, count, WEFT_MEM_TABLE) : status;
    for (int f = 0; status == WEFT_OK && files.reader->file_row != NULL && f < count; ++f) {
        t->file_row[f] = files.reader->file_row(files.self, f);
    }
    WEFT_TRY_GOTO(ranks_agree(exchange, status), status, done);
    const bool wait = files.sparse.columns == 0 && halves_needed(request, &t->schema, t->rows, ranks);
    if (rank == 0 && !wait) {
        tell_memory(&files, &t->schema, t->count);
    }
    WEFT_TRY_GOTO(files_settle(&files, &t->schema, t->first, t->count, wait ? NULL : value), status, done);
    t->memory = files_memory(&files, &t->schema, 0, t->count);
    if (wait) {
        WEFT_TRY_GOTO(ranks_agree(exchange, halves_open(&files, t)), status, done);
    } else {
        take_arrays(&files, t, value);
    }
    if (rank == 0) {
        schema_tell(paths[0], &t->schema, t->rows);
    }
done:
    files_free_arrays(&t->schema, value);
    weft_free(value);
    files_close(&files);
    return status;
}

/* A caller that knows no sparse block must not take a table without its features. */
static weft_status open_store(const char *path, const table_request *request, int rank, int ranks, weft_table *t)
{
    WEFT_TRY(table_store_open(path, rank, ranks, t));
    WEFT_CHECK(t->sparse.columns == 0 || request->sparse != TABLE_SPARSE_NO, WEFT_ERR_UNSUPPORTED,
               "%s: its %" PRId64
               " features are a sparse block, and columns are wanted: convert the data with " FLAG_SPARSE " no",
               path, t->sparse.columns);
    if (request->absent == TABLE_ABSENT_MISSING && rank == 0) {
        log_info("%s: is a store, whose cells are what they became: " FLAG_ABSENT " is for LIBSVM files, and weft "
                 "convert",
                 path);
    }
    return schema_apply_stored(path, request, &t->schema);
}

weft_status table_open(const char *const *paths, int count, const table_request *request,
                       const table_exchange *exchange, weft_table *table)
{
    *table = (weft_table){.mapping = NULL};
    const int rank = exchange != NULL ? exchange->rank : 0, ranks = exchange != NULL ? exchange->ranks : 1;
    weft_status status = count == 1 && table_is_store(paths[0])
                             ? ranks_agree(exchange, open_store(paths[0], request, rank, ranks, table))
                             : read_files(paths, count, request, exchange, table);
    if (status != WEFT_OK) {
        table_close(table);
    }
    return status;
}

void table_release_rows(weft_table *table, int64_t column, int64_t end)
{
    table_column *c = &table->column[column];
    const size_t width = table_kind_bytes(c->kind), gone = (size_t)c->gone * width, bytes = (size_t)end * width - gone;
    void *block = table_half(table, column) > 0 ? halves_block(table) : table->block;
    assert(end >= c->gone && end <= table->count);
    if (c->data != NULL && block != NULL) {
        const size_t begin = (size_t)((const char *)c->data - (const char *)block) + gone;
        weft_free_part(block, begin, begin + bytes);
    } else if (c->data != NULL) {
        file_map_forget((const char *)c->data + gone, bytes);
    }
    c->gone = end;
}

void table_release(weft_table *table, int64_t column)
{
    table_release_rows(table, column, table->count);
    table->column[column].data = NULL;
}

void table_close(weft_table *table)
{
    halves_close(table);
    weft_free(table->block);
    if (table->mapping == NULL) {
        weft_free((void *)(uintptr_t)table->sparse.start);
        weft_free((void *)(uintptr_t)table->sparse.index);
        weft_free((void *)(uintptr_t)table->sparse.value);
    }
    WEFT_FREE_ALL(table->column, table->file_row);
    table_store_unmap(table->mapping);
    schema_free(&table->schema);
    *table = (weft_table){.mapping = NULL};
}

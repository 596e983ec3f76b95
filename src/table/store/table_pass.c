/* table/store/table_pass.c: see table/store/table_pass.h. */
#include "table/store/table_pass.h"

#include <assert.h>
#include <inttypes.h>
#include <omp.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "table/store/table_ranks.h"
#include "table/table_options.def"

enum {
    FILES_BYTES = 64 << 10, /* what a reader and a pass hold beside what they count */
    ARRAY_LINE = 64,        /* bytes; each array begins on a line of the cache */
    ARRAY_SHORT = 4096,     /* bytes */
    ARRAY_SPREAD = 5 * 64   /* bits that the distance of two arrays has at least, so that it is no power of two */
};

static weft_status open_alone(const char *const *paths, int count, table_files *files)
{
    WEFT_TRY(table_reader_find(paths[0], files->request, &files->reader));
    WEFT_CHECK(files->request->sparse != TABLE_SPARSE_YES || files->reader->sparse != NULL, WEFT_ERR_USAGE,
               "%s: " FLAG_SPARSE " yes is for LIBSVM files, and this one is read as %s", paths[0],
               files->reader->name);
    if (files->request->absent == TABLE_ABSENT_MISSING && files->reader->sparse == NULL) {
        log_info("%s: is read as %s, whose empty cells are missing: " FLAG_ABSENT " is for LIBSVM files", paths[0],
                 files->reader->name);
    }
    return files->reader->open(paths, count, files->request, &files->self);
}

weft_status files_open(const char *const *paths, int count, const table_request *request,
                       const table_exchange *exchange, table_schema *schema, table_files *files)
{
    *files = (table_files){.paths = paths, .request = request, .exchange = exchange, .threads = omp_get_max_threads()};
    *schema = (table_schema){.field = NULL};
    WEFT_CHECK(count > 0, WEFT_ERR_USAGE, "a table needs a file");
    weft_status status = ranks_agree(exchange, open_alone(paths, count, files));
    if (status == WEFT_OK) {
        status = files->reader->begin(files->self, request, exchange, schema, &files->rows);
        files->sparse = status == WEFT_OK && files->reader->sparse != NULL ? files->reader->sparse(files->self)
                                                                           : (table_sparse){.columns = 0};
        status = ranks_agree(exchange, status);
    }
    if (status != WEFT_OK) {
        files_close(files);
        schema_free(schema);
    }
    return status;
}

void files_close(table_files *files)
{
    if (files->self != NULL) {
        files->reader->close(files->self);
        files->self = NULL;
    }
    weft_free((void *)(uintptr_t)files->sparse.start);
    weft_free(files->out.index);
    weft_free(files->out.value);
    files->sparse.start = NULL;
    files->out = (sink_sparse){.index = NULL};
}

weft_status files_make_entries(table_files *files, int64_t first, int64_t count)
{
    const table_sparse *s = &files->sparse;
    if (s->columns == 0) {
        return WEFT_OK;
    }
    const size_t entries = (size_t)(s->start[first + count] - s->start[first]) + 1;
    files->out.start = s->start + first;
    files->out.index_bytes = s->index_bytes;
    WEFT_TRY(weft_realloc(&files->out.index, entries, (size_t)s->index_bytes, WEFT_MEM_TABLE));
    return weft_realloc((void **)&files->out.value, entries, sizeof(float), WEFT_MEM_TABLE);
}

int64_t files_memory(const table_files *files, const table_schema *schema, int64_t first, int64_t count)
{
    const table_sparse *s = &files->sparse;
    /* A field with its name, its pointers in lists of columns, the bytes between two arrays, and the column's
     * facts: one for each thread, and their sum. */
    const int64_t column = (int64_t)(sizeof(table_field) + sizeof(sink_column) + 64) + ARRAY_LINE + ARRAY_SPREAD +
                           (files->threads + 2) * (int64_t)sizeof(table_tally);
    int64_t bytes = files->reader->memory(files->self) + files->threads * sink_window_bytes(schema, count) +
                    count * schema_row_bytes(schema) + schema->count * column;
    for (int64_t j = 0; j < schema->count; j++) {
        bytes += schema->field[j].kind == TABLE_CATEGORY ? WORDS_BYTES : 0;
    }
    if (s->columns > 0) {
        bytes += (files->rows + 1) * (int64_t)sizeof *s->start +
                 (s->start[first + count] - s->start[first] + 1) * (s->index_bytes + (int64_t)sizeof(float));
    }
    return bytes + FILES_BYTES;
}

/* Bytes from the array of a column to the next; 0 if it has none. Short arrays need not be spread. */
static size_t array_bytes(const table_field *f, int64_t count)
{
    const size_t bytes = f->role != TABLE_DROPPED ? (size_t)count * table_kind_bytes(f->kind) : 0;
    const size_t lines = (bytes + ARRAY_LINE - 1) & -(size_t)ARRAY_LINE;
    return lines < ARRAY_SHORT ? lines : lines | ARRAY_SPREAD;
}

weft_status files_make_arrays(const table_schema *schema, int64_t count, void **value)
{
    size_t bytes = 0;
    for (int64_t j = 0; j < schema->count; j++) {
        bytes += array_bytes(&schema->field[j], count);
    }
    WEFT_TRY(weft_malloc(bytes, 1, WEFT_MEM_TABLE, &value[schema->count]));
    char *at = value[schema->count];
    for (int64_t j = 0; j < schema->count; j++) {
        const size_t own = array_bytes(&schema->field[j], count);
        value[j] = own > 0 ? at : NULL;
        at += own;
    }
    return WEFT_OK;
}

void files_free_arrays(const table_schema *schema, void **value)
{
    if (value != NULL) {
        weft_free(value[schema->count]);
        memset(value, 0, (size_t)(schema->count + 1) * sizeof *value);
    }
}

weft_status files_pass(table_files *files, table_schema *schema, int64_t first, int64_t count, void *const *value,
                       table_tally *tally)
{
    table_sink sink;
    const char point = files->reader->point != NULL ? files->reader->point(files->self) : '.';
    WEFT_TRY(sink_create(schema, files->request->missing, point, files->threads, first, count, value, &sink));
    sink.sparse = files->out;
    weft_status status = files->reader->read(files->self, first, count, &sink);
    if (status == WEFT_OK && tally != NULL) {
        sink_sum(&sink, tally);
    }
    sink_free(&sink);
    return status;
}

int64_t files_words(const table_schema *schema)
{
    int64_t words = 0;
    for (int64_t j = 0; j < schema->count; j++) {
        words += schema->field[j].words != NULL ? words_count(schema->field[j].words) : 0;
    }
    return words;
}

weft_status files_pass_again(table_files *files, table_schema *schema, int64_t first, int64_t count, void *const *value,
                             table_tally *tally)
{
    const int64_t words = files_words(schema);
    WEFT_TRY(files_pass(files, schema, first, count, value, tally));
    bool changed = files_words(schema) != words; /* new words would have no place in the order */
    for (int64_t j = 0; j < schema->count; j++) {
        const table_tally *t = &tally[j];
        const table_kind kind = schema->field[j].kind;
        changed = changed || (kind == TABLE_INTEGER && (t->fraction || t->wide)) || (kind == TABLE_LONG && t->fraction);
    }
    WEFT_CHECK(!changed, WEFT_ERR_DATA, "%s: changed while it was read", files->paths[0]);
    return WEFT_OK;
}

/* Codes in the order of words. */
static weft_status sort_words(table_schema *schema, int64_t count, void *const *value)
{
    for (int64_t j = 0; j < schema->count; j++) {
        table_field *f = &schema->field[j];
        int32_t *order = NULL, *code = value != NULL ? value[j] : NULL;
        if (f->words == NULL) {
            continue;
        }
        WEFT_TRY(words_sort(f->words, &order));
        if (order != NULL && code != NULL) {
#pragma omp parallel for schedule(static)
            for (int64_t i = 0; i < count; i++) {
                code[i] = code[i] < 0 ? code[i] : order[code[i]];
            }
        }
        weft_free(order);
    }
    return WEFT_OK;
}

/* One pass, and what all ranks know after it. */
static weft_status pass_together(table_files *files, table_schema *schema, int64_t first, int64_t count, void **value,
                                 table_tally *tally, bool *widened)
{
    weft_status status = WEFT_OK;
    if (value != NULL) {
        files_free_arrays(schema, value);
        status = files_make_arrays(schema, count, value);
    }
    status = status == WEFT_OK ? files_pass(files, schema, first, count, value, tally) : status;
    WEFT_TRY(ranks_agree(files->exchange, status));
    WEFT_TRY(ranks_add_tallies(files->exchange, tally, schema->count));
    return schema_take(files->paths[0], schema, tally, widened);
}

/* A column that no row has a value of becomes real; its missing cells were stored as such. */
static void settle_unseen(table_schema *schema)
{
    for (int64_t j = 0; j < schema->count; j++) {
        table_field *f = &schema->field[j];
        f->kind = f->kind == TABLE_UNSEEN ? TABLE_REAL : f->kind;
    }
}

weft_status files_settle(table_files *files, table_schema *schema, int64_t first, int64_t count, void **value)
{
    table_tally *tally = NULL;
    bool widened = true;
    weft_status status;
    assert(first + count <= files->rows);
    WEFT_TRY_GOTO(ranks_agree(files->exchange, WEFT_NEW(&tally, schema->count, WEFT_MEM_WORKSPACE)), status, done);
    for (int pass = 0; widened; pass++) {
        assert(pass < TABLE_KIND_COUNT); /* kinds only become wider */
        WEFT_TRY_GOTO(pass_together(files, schema, first, count, value, tally, &widened), status, done);
    }
    settle_unseen(schema);
    WEFT_TRY_GOTO(ranks_agree(files->exchange, ranks_share_words(files->exchange, schema)), status, done);
    status = ranks_agree(files->exchange, sort_words(schema, count, value));
done:
    weft_free(tally);
    return status;
}

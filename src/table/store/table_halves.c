/* table/store/table_halves.c: see table/store/table_halves.h. */
#include "table/store/table_halves.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"

enum { STAYS = 0, FIRST = 1, SECOND = 2 };

struct table_halves {
    table_files files;
    table_request request; /* what files.request points to */
    const char *path;      /* what files.paths points to */
    uint8_t *half;         /* [schema.count] STAYS, FIRST or SECOND */
    void **value;          /* [schema.count + 1] of the standing half, as files_make_arrays makes them */
    table_tally *tally;    /* [schema.count] of a pass */
    int stands;            /* the half in memory; 0: none */
};

bool halves_needed(const table_request *request, const table_schema *schema, int64_t rows, int ranks)
{
    const int64_t most = rows / ranks + 1;
    return request->room > 0 && most * (schema_row_bytes(schema) + request->beside) > request->room;
}

static bool waits(const table_field *f)
{
    return f->role == TABLE_FEATURE && (f->kind == TABLE_REAL || f->kind == TABLE_INTEGER || f->kind == TABLE_LONG);
}

static void cut(const table_schema *schema, uint8_t *half)
{
    int64_t all = 0, before = 0;
    for (int64_t j = 0; j < schema->count; j++) {
        all += waits(&schema->field[j]) ? (int64_t)table_kind_bytes(schema->field[j].kind) : 0;
    }
    for (int64_t j = 0; j < schema->count; j++) {
        half[j] = !waits(&schema->field[j]) ? STAYS : 2 * before < all ? FIRST : SECOND;
        before += half[j] != STAYS ? (int64_t)table_kind_bytes(schema->field[j].kind) : 0;
    }
}

/* Reads the columns of a half, as if all others were dropped. [out] value: [schema.count + 1], for files_free_arrays */
static weft_status read_half(struct table_halves *h, const weft_table *t, int which, void **value)
{
    table_schema part = {.count = t->schema.count};
    WEFT_TRY(WEFT_NEW(&part.field, part.count, WEFT_MEM_WORKSPACE));
    memcpy(part.field, t->schema.field, (size_t)part.count * sizeof *part.field);
    for (int64_t j = 0; j < part.count; j++) {
        part.field[j].role = h->half[j] == which ? part.field[j].role : TABLE_DROPPED;
    }
    weft_status status = files_make_arrays(&part, t->count, value);
    status = status == WEFT_OK ? files_pass_again(&h->files, &part, t->first, t->count, value, h->tally) : status;
    weft_free(part.field);
    return status;
}

static weft_status allocate(struct table_halves *h, const weft_table *t)
{
    WEFT_TRY(WEFT_NEW(&h->half, t->schema.count, WEFT_MEM_TABLE));
    WEFT_TRY(WEFT_NEW(&h->tally, t->schema.count, WEFT_MEM_TABLE));
    return WEFT_NEW_ZERO(&h->value, t->schema.count + 1, WEFT_MEM_TABLE);
}

weft_status halves_open(table_files *files, weft_table *t)
{
    void **stay = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&t->halves, 1, WEFT_MEM_TABLE));
    struct table_halves *h = t->halves;
    h->files = *files;
    h->request = *files->request;
    h->files.request = &h->request;
    h->path = *files->paths;
    h->files.paths = &h->path;
    h->files.exchange = NULL; /* passes are local */
    *files = (table_files){.paths = files->paths};
    weft_status status;
    WEFT_TRY_GOTO(allocate(h, t), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&stay, t->schema.count + 1, WEFT_MEM_WORKSPACE), status, done);
    cut(&t->schema, h->half);
    status = read_half(h, t, STAYS, stay);
    for (int64_t j = 0; j < t->schema.count; j++) {
        t->column[j] = (table_column){.kind = t->schema.field[j].kind, .data = stay[j]};
    }
    t->block = stay[t->schema.count];
    if (t->first == 0) {
        log_info("%s: reading %" PRId64
                 " rows; the columns of numbers stand in memory by halves, as all do not fit: the "
                 "files are read once more for each change",
                 h->path, t->rows);
    }
done:
    weft_free(stay);
    return status;
}

int table_half(const weft_table *table, int64_t column)
{
    return table->halves != NULL ? table->halves->half[column] : STAYS;
}

static void drop_half(struct table_halves *h, weft_table *t)
{
    files_free_arrays(&t->schema, h->value);
    h->stands = STAYS;
    for (int64_t j = 0; j < t->schema.count; j++) {
        t->column[j].data = h->half[j] == STAYS ? t->column[j].data : NULL;
    }
}

weft_status table_hold(weft_table *t, int64_t column)
{
    struct table_halves *h = t->halves;
    const int half = table_half(t, column);
    if (half == STAYS || half == h->stands) {
        return WEFT_OK;
    }
    drop_half(h, t);
    WEFT_TRY(read_half(h, t, half, h->value));
    h->stands = half;
    for (int64_t j = 0; j < t->schema.count; j++) {
        if (h->half[j] == half) {
            t->column[j] = (table_column){.kind = t->column[j].kind, .data = h->value[j]};
        }
    }
    return WEFT_OK;
}

void *halves_block(const weft_table *table)
{
    return table->halves->value[table->schema.count];
}

void halves_close(weft_table *t)
{
    struct table_halves *h = t->halves;
    if (h != NULL) {
        files_free_arrays(&t->schema, h->value);
        files_close(&h->files);
        WEFT_FREE_ALL(h->half, h->value, h->tally, h);
        t->halves = NULL;
    }
}

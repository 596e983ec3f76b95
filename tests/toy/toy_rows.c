/* tests/toy/toy_rows.c: see tests/toy/toy_rows.h. */
#include "toy/toy_rows.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

/* See table_exchange. */
static weft_status gather(void *self, const void *mine, size_t bytes, void **all, size_t **bytes_of)
{
    weft_comm *comm = self;
    const int ranks = comm_size(comm);
    int64_t *given = NULL, own = (int64_t)bytes;
    size_t sum = 0;
    *all = NULL;
    *bytes_of = NULL;
    weft_status status = WEFT_NEW(&given, ranks, WEFT_MEM_TABLE);
    status = status == WEFT_OK ? WEFT_NEW(bytes_of, ranks, WEFT_MEM_TABLE) : status;
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    WEFT_TRY_GOTO(comm_allgather(comm, &own, sizeof own, given), status, done);
    for (int r = 0; r < ranks; ++r) {
        (*bytes_of)[r] = (size_t)given[r];
        sum += (size_t)given[r];
    }
    WEFT_TRY_GOTO(comm_agree(comm, weft_malloc(sum + 1, 1, WEFT_MEM_TABLE, all)), status, done);
    status = comm_allgatherv(comm, mine, own, *all, given);
done:
    weft_free(given);
    return status;
}

static weft_status check_columns(toy_rows *rows, const char *path)
{
    for (int64_t i = 0; i < rows->table.schema.count; ++i) {
        const table_field *f = &rows->table.schema.field[i];
        const bool number = f->kind == TABLE_REAL || f->kind == TABLE_INTEGER;
        const bool other = f->role == TABLE_SPLIT_OF || f->role == TABLE_DROPPED;
        WEFT_CHECK(other || (number && (f->missing == 0 || f->role == TABLE_TARGET)), WEFT_ERR_DATA,
                   "%s: column '%s' has no number in some row: weft convert --drop '%s' leaves it out", path, f->name,
                   f->name);
        rows->inputs += f->role == TABLE_FEATURE;
    }
    rows->target = schema_find(&rows->table.schema, TABLE_TARGET);
    rows->split = schema_find(&rows->table.schema, TABLE_SPLIT_OF);
    return WEFT_OK;
}

/* The number in a cell, or NaN. */
static double cell(const toy_rows *rows, int64_t column, int64_t row)
{
    const table_column *c = &rows->table.column[column];
    const int32_t whole = c->kind == TABLE_REAL ? 0 : ((const int32_t *)c->data)[row];
    const double number = c->kind == TABLE_REAL ? (double)((const float *)c->data)[row] : (double)whole;
    return whole == TABLE_NO_INTEGER ? (double)NAN : number;
}

static uint8_t part_of(const toy_rows *rows, int64_t row)
{
    const int64_t turn = (rows->table.first + row) % 10;
    return rows->split >= 0 ? ((const uint8_t *)rows->table.column[rows->split].data)[row]
                            : (uint8_t)(turn < 8 ? 0 : turn - 7);
}

/* The numbers of a row, its class and its split. Returns a hash of them all, of 32 bits. */
static int64_t take_row(toy_rows *rows, int64_t i)
{
    const double y = rows->target >= 0 ? cell(rows, rows->target, i) : (double)NAN;
    float *value = rows->value + i * rows->inputs;
    rows->id[i] = rows->table.first + i;
    rows->labels.label[i] = isnan(y) ? -1 : y > 0.0;
    rows->labels.split[i] = isnan(y) ? TRAIN_SPLIT_NONE : part_of(rows, i);
    uint64_t hash = (uint64_t)rows->id[i] << 32 | (uint64_t)(rows->labels.label[i] + 1) << 8 | rows->labels.split[i];
    for (int64_t j = 0; j < rows->table.schema.count; ++j) {
        if (rows->table.schema.field[j].role == TABLE_FEATURE) {
            uint32_t bits;
            *value = (float)cell(rows, j, i);
            memcpy(&bits, value++, sizeof bits);
            hash = (hash ^ bits ^ hash >> 31) * UINT64_C(0x9E3779B97F4A7C15);
        }
    }
    return (int64_t)(hash >> 32);
}

static weft_status take_rows(toy_rows *rows)
{
    const int64_t count = rows->table.count;
    WEFT_TRY(WEFT_NEW(&rows->id, count, WEFT_MEM_TABLE));
    WEFT_TRY(WEFT_NEW(&rows->value, count * rows->inputs, WEFT_MEM_TABLE));
    rows->labels.targets = (train_targets){.rows = count, .outputs = TOY_CLASSES, .loss = TRAIN_LOSS_XENT};
    WEFT_TRY(labels_create(&rows->labels, WEFT_MEM_TABLE));
    for (int64_t i = 0; i < count; ++i) {
        rows->sums[TOY_SUMS - 1] += take_row(rows, i);
        for (int s = 0; s < TOY_SUMS - 1; ++s) {
            rows->sums[s] += s < TOY_CLASSES ? rows->labels.label[i] == s : rows->labels.split[i] == s - TOY_CLASSES;
        }
    }
    return WEFT_OK;
}

weft_status toy_rows_open(weft_comm *comm, const char *const *path, int paths, toy_rows *rows)
{
    const table_exchange exchange = {.self = comm, .rank = comm_rank(comm), .ranks = comm_size(comm), .gather = gather};
    WEFT_TRY(table_open(path, paths, &(table_request){.index_base = -1}, &exchange, &rows->table));
    WEFT_TRY(check_columns(rows, path[0]));
    WEFT_TRY(comm_agree(comm, take_rows(rows)));
    return comm_allreduce(comm, rows->sums, TOY_SUMS, WEFT_DTYPE_I64, COMM_SUM);
}

weft_status toy_rows_upload(toy_rows *rows, weft_hal *hal)
{
    train_targets *t = &rows->labels.targets;
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F32, rows->table.count, rows->inputs, WEFT_MEM_TABLE, &rows->x));
    WEFT_TRY(tensor_upload(&rows->x, rows->value));
    t->loss_entries = rows->sums[TOY_CLASSES + TRAIN_SPLIT_TRAIN];
    memcpy(t->counted, &rows->sums[TOY_CLASSES], sizeof t->counted);
    return labels_upload(&rows->labels, hal);
}

void toy_rows_close(toy_rows *rows)
{
    tensor_destroy(&rows->x);
    labels_destroy(&rows->labels);
    weft_free(rows->id);
    weft_free(rows->value);
    table_close(&rows->table);
}

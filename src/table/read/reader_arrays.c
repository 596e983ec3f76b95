/*
 * table/read/reader_arrays.c: arrays of NumPy. A .npy [rows] or [rows, k] is one column or k columns c1 .. ck; an
 * .npz has such arrays of equally many rows, whose columns are called after them: y, or x1 .. xk. Integers stay
 * integers.
 *
 * Memory: a .npy in C order is mapped, everything else stands in memory as a whole while the table is read.
 */
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/failure/failure.h"
#include "base/half.h"
#include "io/foreign_kind.h"
#include "io/npy.h"
#include "machine/thread_ranges.h"
#include "table/read/table_reader.h"

enum { HELD_ROWS = 1 << 14 /* of a mapped array, for each thread */ };
#define EXACT_MOST INT64_C(9007199254740992) /* integers beyond 2^53 are no doubles */

typedef struct member {
    char name[128]; /* "" for a .npy */
    npy_header header;
    const void *data;
    npy_map map; /* one of these holds the data */
    npy_array array;
    int64_t columns;
} member;

typedef struct array_reader {
    const char *path;
    member *member;
    int count;
    bool named; /* the arrays have names */
} array_reader;

static void close_arrays(void *self)
{
    array_reader *r = self;
    for (int i = 0; r != NULL && i < r->count; i++) {
        npy_map_close(&r->member[i].map);
        npy_array_free(&r->member[i].array);
    }
    if (r != NULL) {
        weft_free(r->member);
        weft_free(r);
    }
}

static weft_status open_npy(const char *path, array_reader *r)
{
    WEFT_TRY(WEFT_NEW_ZERO(&r->member, 1, WEFT_MEM_TABLE));
    r->count = 1;
    member *m = &r->member[0];
    WEFT_TRY(npy_map_open(path, &m->map));
    m->header = m->map.header;
    m->data = m->map.data;
    if (m->header.big_endian || m->header.fortran_order) {
        npy_map_close(&m->map);
        WEFT_TRY(npy_read(path, &m->array));
        m->header = m->array.header;
        m->data = m->array.data;
    }
    return WEFT_OK;
}

static weft_status open_npz(const char *path, array_reader *r)
{
    npz_file *npz = NULL;
    weft_status status;
    WEFT_TRY(npz_open(path, &npz));
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&r->member, npz_count(npz), WEFT_MEM_TABLE), status, done);
    r->count = npz_count(npz);
    for (int i = 0; i < r->count; i++) {
        member *m = &r->member[i];
        snprintf(m->name, sizeof m->name, "%s", npz_name(npz, i));
        WEFT_TRY_GOTO(npz_read(npz, i, &m->array), status, done);
        m->header = m->array.header;
        m->data = m->array.data;
    }
done:
    npz_close(npz);
    return status;
}

static weft_status check_members(const char *path, array_reader *r, int64_t *rows, int64_t *columns)
{
    *columns = 0;
    WEFT_CHECK(r->count > 0, WEFT_ERR_DATA, "%s: holds no array", path);
    *rows = r->member[0].header.dims > 0 ? r->member[0].header.shape[0] : 0;
    for (int i = 0; i < r->count; i++) {
        member *m = &r->member[i];
        const npy_header *h = &m->header;
        WEFT_CHECK(h->dims == 1 || h->dims == 2, WEFT_ERR_DATA,
                   "%s: array '%s' has %d dimensions; columns have one, matrices two", path, m->name, h->dims);
        WEFT_CHECK(h->kind != 'U' && h->kind != 'S', WEFT_ERR_DATA,
                   "%s: array '%s' holds texts: write such columns as CSV (pandas.DataFrame.to_csv)", path, m->name);
        WEFT_CHECK(h->shape[0] == *rows, WEFT_ERR_DATA, "%s: array '%s' has %" PRId64 " rows, array '%s' has %" PRId64,
                   path, m->name, h->shape[0], r->member[0].name, *rows);
        m->columns = h->dims == 2 ? h->shape[1] : 1;
        *columns += m->columns;
    }
    WEFT_CHECK(*rows > 0 && *columns > 0, WEFT_ERR_DATA, "%s: has %" PRId64 " rows of %" PRId64 " columns", path, *rows,
               *columns);
    return WEFT_OK;
}

static weft_status name_columns(const array_reader *r, table_schema *schema)
{
    char name[160];
    for (int i = 0, column = 0; i < r->count; i++) {
        const member *m = &r->member[i];
        for (int64_t k = 0; k < m->columns; k++, column++) {
            if (m->header.dims == 1 && m->name[0] != '\0') {
                snprintf(name, sizeof name, "%s", m->name);
            } else {
                snprintf(name, sizeof name, "%s%" PRId64, m->name[0] != '\0' ? m->name : "c", k + 1);
            }
            WEFT_TRY(schema_name(schema, column, name, strlen(name)));
        }
    }
    return WEFT_OK;
}

static weft_status open_arrays(const char *const *paths, int count, const table_request *request, void **self)
{
    array_reader *r;
    file_map map;
    (void)request;
    WEFT_CHECK(count == 1, WEFT_ERR_USAGE, "%s: arrays come in one file, and %d are named", paths[0], count);
    WEFT_TRY(WEFT_NEW_ZERO(&r, 1, WEFT_MEM_TABLE));
    weft_status status;
    r->path = paths[0];
    WEFT_TRY_GOTO(file_map_open(paths[0], &map), status, done);
    r->named = map.size > 2 && map.data[0] == 'P' && map.data[1] == 'K';
    file_map_close(&map);
    WEFT_TRY_GOTO(r->named ? open_npz(paths[0], r) : open_npy(paths[0], r), status, done);
    *self = r;
    r = NULL;
done:
    close_arrays(r);
    return status;
}

static weft_status begin_arrays(void *self, const table_request *request, const table_exchange *exchange,
                                table_schema *schema, int64_t *rows)
{
    array_reader *r = self;
    int64_t columns;
    (void)exchange;
    WEFT_TRY(check_members(r->path, r, rows, &columns));
    WEFT_TRY(schema_create(columns, schema));
    WEFT_TRY(name_columns(r, schema));
    WEFT_TRY(schema_apply(r->path, request, r->named, schema));
    for (int i = 0, column = 0; i < r->count; i++) {
        for (int64_t k = 0; k < r->member[i].columns; k++, column++) {
            table_field *f = &schema->field[column];
            f->kind = f->kind != TABLE_UNSEEN ? f->kind : r->member[i].header.kind == 'f' ? TABLE_REAL : TABLE_INTEGER;
        }
    }
    return WEFT_OK;
}

/* ---- values ---- */

/* Element i; *exact = false if it is an integer that no double holds. */
static double element(const npy_header *h, const void *data, int64_t i, bool *exact)
{
    int64_t whole = 0;
    switch (h->kind == 'f' ? 10 * h->item_bytes : h->kind == 'i' ? -h->item_bytes : h->item_bytes) {
    case 20:
        return fp16_to_float(((const uint16_t *)data)[i]);
    case 40:
        return ((const float *)data)[i];
    case 80:
        return ((const double *)data)[i];
    case -1:
        return ((const int8_t *)data)[i];
    case -2:
        return ((const int16_t *)data)[i];
    case -4:
        return ((const int32_t *)data)[i];
    case 1:
        return ((const uint8_t *)data)[i];
    case 2:
        return ((const uint16_t *)data)[i];
    case 4:
        return ((const uint32_t *)data)[i];
    case -8:
        whole = ((const int64_t *)data)[i];
        break;
    default:
        whole = ((const uint64_t *)data)[i] > (uint64_t)EXACT_MOST ? INT64_MAX : (int64_t)((const uint64_t *)data)[i];
    }
    *exact = whole <= EXACT_MOST && whole >= -EXACT_MOST;
    return (double)whole;
}

/* Rows first .. last - 1 of mapped arrays are not read again in this pass. */
static void forget_rows(const array_reader *r, int64_t first, int64_t last)
{
    for (int i = 0; i < r->count; i++) {
        const member *m = &r->member[i];
        const int64_t row = m->columns * m->header.item_bytes;
        if (m->data == m->map.data) {
            file_map_forget((const char *)m->data + first * row, (size_t)((last - first) * row));
        }
    }
}

static weft_status put_row(const array_reader *r, table_sink *sink, int thread, int64_t row)
{
    for (int i = 0, column = 0; i < r->count; i++) {
        const member *m = &r->member[i];
        for (int64_t k = 0; k < m->columns; k++, column++) {
            bool exact = true;
            const double value = element(&m->header, m->data, row * m->columns + k, &exact);
            WEFT_CHECK(exact, WEFT_ERR_DATA, "array '%s': a whole number beyond 2^53: drop the column, or renumber it",
                       m->name);
            WEFT_TRY(sink_put_number(sink, thread, row, column, value));
        }
    }
    return WEFT_OK;
}

/* Arrays of an .npz are in memory; an .npy is mapped, unless its order is turned. */
static int64_t memory_arrays(const void *self)
{
    const array_reader *r = self;
    int64_t bytes = r->count * (int64_t)sizeof(member);
    for (int i = 0; i < r->count; i++) {
        const npy_header *h = &r->member[i].header;
        bytes += h->count * h->item_bytes;
    }
    return bytes;
}

static weft_status read_arrays(void *self, int64_t first, int64_t count, table_sink *sink)
{
    const array_reader *r = self;
    const int threads = sink->threads;
    first_failure failure = {.status = WEFT_OK};
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; t++) {
        const int64_t last = first + split_even(count, t + 1, threads);
        weft_status put = WEFT_OK;
        int64_t held = first + split_even(count, t, threads);
        for (int64_t row = held; row < last && put == WEFT_OK; row++) {
            put = put_row(r, sink, t, row);
            if (row + 1 == last || row + 1 - held == HELD_ROWS) {
                forget_rows(r, held, row + 1);
                held = row + 1;
            }
            if (put != WEFT_OK) {
                (void)weft_fail_context(put, "%s: row %" PRId64 ": ", r->path, row);
                first_failure_note(&failure, t, put);
            }
        }
    }
    return first_failure_tell(&failure);
}

static bool is_arrays(const reader_head *head)
{
    return (head->bytes > 6 && memcmp(head->text, "\x93NUMPY", 6) == 0) ||
           (head->bytes > 4 && memcmp(head->text, "PK\3\4", 4) == 0);
}

const table_reader table_reader_arrays = {
    .name = "arrays",
    .description = ".npy, a matrix [rows, columns] or one column, and .npz with such arrays of equally many rows",
    .recognise = is_arrays,
    .open = open_arrays,
    .begin = begin_arrays,
    .memory = memory_arrays,
    .read = read_arrays,
    .close = close_arrays,
};

/*
 * table/read/reader_csv.c: separated text, and the layouts of two data sets that come as such.
 *
 *   csv      a header or none; ',', ';' or tab
 *   criteo   no header, tabs: label, 13 whole numbers I1 .. I13, 26 words C1 .. C26; empty cells are missing
 *   avazu    a header id,click,hour,C1,...: all columns but the hour are words, whatever they look like; id is left out
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "io/text/text_source.h"
#include "table/read/csv_head.h"
#include "table/read/csv_parse.h"
#include "table/read/table_reader.h"

typedef struct csv_reader {
    csv_head head;
    row_source *rows;
    const csv_preset *preset;
    const char *path; /* of the first file */
    int64_t *begin;   /* [files] */
} csv_reader;

enum { CRITEO_NUMBERS = 13, CRITEO_WORDS = 26, CRITEO_COLUMNS = 1 + CRITEO_NUMBERS + CRITEO_WORDS };
#define CRITEO_CATEGORIES                                                                                              \
    "C1,C2,C3,C4,C5,C6,C7,C8,C9,C10,C11,C12,C13,C14,C15,C16,C17,C18,C19,C20,C21,C22,C23,C24,C25,C26"
#define AVAZU_HEADER "id,click,hour,C1,banner_pos,site_id,site_domain,site_category,app_id,"
#define AVAZU_CATEGORIES                                                                                               \
    "C1,banner_pos,site_id,site_domain,site_category,app_id,app_domain,app_category,device_id,device_ip,device_model," \
    "device_type,device_conn_type,C14,C15,C16,C17,C18,C19,C20,C21"

static void name_criteo(int64_t column, char name[32])
{
    const int64_t word = column - CRITEO_NUMBERS;
    snprintf(name, 32, column == 0 ? "label" : word <= 0 ? "I%d" : "C%d", (int)(word <= 0 ? column : word));
}

static const csv_preset preset_csv = {.separator = '\0'};
static const csv_preset preset_criteo = {.separator = '\t',
                                         .headless = true,
                                         .no_quotes = true,
                                         .name = name_criteo,
                                         .target = "label",
                                         .category = CRITEO_CATEGORIES};
static const csv_preset preset_avazu = {
    .separator = ',', .target = "click", .category = AVAZU_CATEGORIES, .drop = "id"};

static void close_csv(void *self)
{
    csv_reader *r = self;
    if (r != NULL) {
        csv_head_free(&r->head);
        row_source_close(r->rows);
        weft_free(r->begin);
        weft_free(r);
    }
}

static weft_status open_preset(const char *const *paths, int count, const table_request *request,
                               const csv_preset *preset, void **self)
{
    csv_reader *r;
    WEFT_TRY(WEFT_NEW_ZERO(&r, 1, WEFT_MEM_TABLE));
    weft_status status;
    r->preset = preset;
    r->path = paths[0];
    WEFT_TRY_GOTO(WEFT_NEW(&r->begin, count, WEFT_MEM_TABLE), status, done);
    WEFT_TRY_GOTO(csv_head_read(paths[0], request, preset, &r->head), status, done);
    r->begin[0] = (int64_t)r->head.rows_begin;
    for (int f = 1; f < count; f++) {
        WEFT_TRY_GOTO(csv_head_match(paths[f], &r->head, paths[0], &r->begin[f]), status, done);
    }
    const row_layout layout = {.marks = r->head.marks, .begin = r->begin};
    WEFT_TRY_GOTO(row_source_open(paths, count, &layout, &r->rows), status, done);
    *self = r;
    r = NULL;
done:
    close_csv(r);
    return status;
}

static weft_status open_csv(const char *const *paths, int count, const table_request *request, void **self)
{
    return open_preset(paths, count, request, &preset_csv, self);
}

static weft_status open_criteo(const char *const *paths, int count, const table_request *request, void **self)
{
    return open_preset(paths, count, request, &preset_criteo, self);
}

static weft_status open_avazu(const char *const *paths, int count, const table_request *request, void **self)
{
    return open_preset(paths, count, request, &preset_avazu, self);
}

static weft_status begin_csv(void *self, const table_request *request, const table_exchange *exchange,
                             table_schema *schema, int64_t *rows)
{
    csv_reader *r = self;
    WEFT_TRY(row_source_count(r->rows, exchange));
    *rows = row_source_rows(r->rows);
    return csv_head_schema(r->path, request, r->preset, &r->head, schema);
}

static char point_of(const void *self)
{
    return ((const csv_reader *)self)->head.point;
}

static int64_t file_row_csv(const void *self, int file)
{
    return row_source_file_row(((const csv_reader *)self)->rows, file);
}

static int64_t memory_csv(const void *self)
{
    const csv_reader *r = self;
    return row_source_memory(r->rows) + csv_head_memory(&r->head);
}

static weft_status read_csv(void *self, int64_t first, int64_t count, table_sink *sink)
{
    csv_reader *r = self;
    csv_parser parser = {.marks = r->head.marks,
                         .places = csv_places_best(),
                         .cells = cell_scan_best(),
                         .columns = sink->schema->count,
                         .sink = sink,
                         .rule = r->head.named ? "the header names" : "the first row has"};
    return row_source_read(r->rows, first, count, csv_parse, &parser);
}

/* ---- recognition ---- */

/* Any file whose first line is text; this is the last reader that is asked. */
static bool is_text(const reader_head *head)
{
    const char *end = memchr(head->text, '\n', head->bytes);
    const size_t line = end != NULL ? (size_t)(end - head->text) : head->bytes;
    return head->bytes > 0 && memchr(head->text, '\0', line) == NULL;
}

static bool is_hex(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (!isxdigit((unsigned char)text[i])) {
            return false;
        }
    }
    return bytes == 8 || bytes == 0;
}

/* The first line: 40 cells, a label 0 or 1 before, words of eight hexadecimal digits behind. */
static bool is_criteo(const reader_head *head)
{
    const char *end = memchr(head->text, '\n', head->bytes);
    int column = 0;
    if (end == NULL || head->bytes < 2 || (head->text[0] != '0' && head->text[0] != '1') || head->text[1] != '\t') {
        return false;
    }
    end -= end > head->text && end[-1] == '\r';
    for (const char *at = head->text; at <= end; column++) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        const char *stop = tab != NULL ? tab : end;
        if (column > CRITEO_NUMBERS && !is_hex(at, (size_t)(stop - at))) {
            return false;
        }
        at = stop + 1;
    }
    return column == CRITEO_COLUMNS;
}

static bool is_avazu(const reader_head *head)
{
    static const char header[] = AVAZU_HEADER;
    const size_t mark = head->bytes >= TEXT_MARK ? text_mark(head->text) : 0;
    return head->bytes - mark >= sizeof header - 1 && memcmp(head->text + mark, header, sizeof header - 1) == 0;
}

/* What the three layouts of one kernel have in common. */
#define CSV_READER                                                                                                     \
    .begin = begin_csv, .file_row = file_row_csv, .memory = memory_csv, .point = point_of, .read = read_csv,           \
    .close = close_csv

const table_reader table_reader_csv = {
    .name = "csv",
    .description = "text with ',', ';' or tabs between cells, with a header or without; also .gz and .xz",
    .recognise = is_text,
    .open = open_csv,
    CSV_READER,
};
const table_reader table_reader_criteo = {
    .name = "criteo",
    .description = "click logs of Criteo: label, 13 whole numbers and 26 words between tabs, without a header",
    .recognise = is_criteo,
    .open = open_criteo,
    CSV_READER,
};
const table_reader table_reader_avazu = {
    .name = "avazu",
    .description = "click logs of Avazu: CSV with a header id,click,hour,C1,...",
    .recognise = is_avazu,
    .open = open_avazu,
    CSV_READER,
};

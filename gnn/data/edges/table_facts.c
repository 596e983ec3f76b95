/* gnn/data/edges/table_facts.c: see gnn/data/edges/table_facts.h. What is wrong with a file is for its reader to
 * tell. */
#include "gnn/data/edges/table_facts.h"

#include <string.h>

#include "gnn/data/edges/text_head.h"
#include "io/npy.h"
#include "table/read/table_text.h"

typedef enum facts_kind { FACTS_NONE, FACTS_NPY, FACTS_NPZ, FACTS_TEXT } facts_kind;

static facts_kind kind_of(const char *path)
{
    char head[TEXT_HEAD];
    file_map map;
    if (file_map_open(path, &map) != WEFT_OK) {
        weft_error_clear();
        return FACTS_NONE;
    }
    const bool npy = map.size >= 6 && memcmp(map.data, "\x93NUMPY", 6) == 0;
    const bool npz = map.size >= 4 && memcmp(map.data, "PK", 2) == 0;
    file_map_close(&map);
    if (npy || npz) {
        return npy ? FACTS_NPY : FACTS_NPZ;
    }
    const bool text = reader_text_head(path, head) == WEFT_OK && *head != '\0';
    weft_error_clear();
    return text ? FACTS_TEXT : FACTS_NONE;
}

bool table_facts_quick(const char *path)
{
    const facts_kind kind = kind_of(path);
    return kind == FACTS_NPY || kind == FACTS_NPZ;
}

static int64_t rows_of(const npy_header *header, bool split)
{
    return header->dims == 1 || (header->dims == 2 && !split) ? header->shape[0] : -1;
}

static int64_t npy_rows(const char *path, bool split)
{
    npy_map npy;
    if (npy_map_open(path, &npy) != WEFT_OK) {
        return -1;
    }
    const int64_t rows = rows_of(&npy.header, split);
    npy_map_close(&npy);
    return rows;
}

/* The only array. */
static int64_t npz_rows(const char *path, bool split)
{
    npz_file *npz;
    npy_header header;
    int64_t rows = -1;
    if (npz_open(path, &npz) != WEFT_OK) {
        return -1;
    }
    if (!split && npz_count(npz) == 1 && npz_read_header(npz, 0, &header) == WEFT_OK) {
        rows = rows_of(&header, split);
    }
    npz_close(npz);
    return rows;
}

/* Words under a word that has no role: a row, or a header; the number of vertices decides, which is not known yet. */
static bool may_be_row(const text_header *h)
{
    text_field field;
    double number;
    if (!h->named || h->columns != 1 || text_header_is(h, 0, TEXT_LABEL) || text_header_is(h, 0, TEXT_SPLIT)) {
        return false;
    }
    return !text_header_sample(h, 0, &field) || (!text_field_missing(&field) && !text_field_number(&field, &number));
}

static int64_t text_rows(const char *path)
{
    text_header header;
    table_lines count;
    if (text_header_read(path, TEXT_TABLE_LINE, &header) != WEFT_OK) {
        return -1;
    }
    const bool known = !may_be_row(&header) && table_text_count(&header, &count) == WEFT_OK &&
                       (header.columns > 1 || count.blank == 0);
    text_header_free(&header);
    return known ? count.filled : -1;
}

weft_status table_facts_rows(const char *path, bool split, int64_t *rows)
{
    const facts_kind kind = kind_of(path);
    *rows = kind == FACTS_NPY    ? npy_rows(path, split)
            : kind == FACTS_NPZ  ? npz_rows(path, split)
            : kind == FACTS_TEXT ? text_rows(path)
                                 : -1;
    const weft_status status = *rows < 0 ? weft_error_code() : WEFT_OK;
    if (status == WEFT_ERR_RESOURCE) {
        return status;
    }
    weft_error_clear();
    return WEFT_OK;
}

weft_status table_facts_ids(const char *path, edge_columns *columns, bool *found)
{
    *columns = (edge_columns){.header = {.path = path, .index = -1}, .weight = -1};
    *found = false;
    if (kind_of(path) != FACTS_TEXT) {
        return WEFT_OK;
    }
    WEFT_TRY(text_header_read(path, TEXT_TABLE_LINE, &columns->header));
    weft_status status = text_header_take_ids(&columns->header, &columns->from);
    columns->to = columns->from;
    *found = status == WEFT_OK && columns->from >= 0;
    if (!*found) {
        edge_columns_free(columns);
    }
    return status;
}

/*
 * gnn/data/tables/table_features.c: features from text. All columns are features but those whose names say that they
 * are ids, labels or a split. A column of text is refused by name.
 */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "gnn/data/read/reader_parts.h"
#include "gnn/data/tables/vertex_table.h"

static bool has_name(const text_header *h, const char *name)
{
    for (int64_t j = 0; h->named && j < h->columns; j++) {
        if (strcasecmp(h->name[j], name) == 0) {
            return true;
        }
    }
    return false;
}

/* "val" or "test" alone may be a feature; beside "train" they are a split. And x, y are coordinates. */
static bool is_feature(const vertex_table *t, int64_t column)
{
    const text_header *h = &t->header;
    int64_t train;
    if (vertex_table_is_plain(t, column)) {
        return true;
    }
    if (text_header_is(h, column, TEXT_VALID) || text_header_is(h, column, TEXT_TEST)) {
        return strcasestr(h->name[column], "mask") == NULL && text_header_find(h, TEXT_TRAIN, &train) == WEFT_OK &&
               train < 0;
    }
    return h->named && strcasecmp(h->name[column], "y") == 0 && has_name(h, "x");
}

/* user_id, userId, and so on. */
static bool ends_in_id(const char *name)
{
    const size_t length = strlen(name);
    if (length < 3 || strcasecmp(name + length - 2, "id") != 0) {
        return false;
    }
    const char before = name[length - 3];
    return strchr("_-. ", before) != NULL || (islower((unsigned char)before) && name[length - 2] == 'I');
}

/* Where no column says which vertex a row is, and one looks as if it did. */
static void warn_of_ids(const vertex_table *t)
{
    for (int64_t j = 0; t->header.named && t->id < 0 && j < t->header.columns; j++) {
        if (t->text.place[j] >= 0 && ends_in_id(t->header.name[j])) {
            log_warn(
                "%s: the column '%.40s' is taken for a feature: if it says which vertex a row is, name it id; else "
                "leave it out",
                t->header.path, t->header.name[j]);
        }
    }
}

static weft_status choose_columns(vertex_table *t)
{
    for (int64_t j = 0; j < t->header.columns; j++) {
        if (is_feature(t, j)) {
            table_text_want(&t->text, j);
        }
    }
    WEFT_CHECK(t->text.width > 0 || t->header.row == NULL, WEFT_ERR_DATA,
               "%s: line %" PRId64 ": no column is a feature: ids, labels and splits are none", t->header.path,
               t->header.line);
    warn_of_ids(t);
    return WEFT_OK;
}

weft_status reader_text_features(const char *path, raw_graph *raw)
{
    vertex_table t;
    WEFT_TRY(vertex_table_open(path, raw, &t));
    weft_status status;
    WEFT_TRY_GOTO(choose_columns(&t), status, done);
    WEFT_TRY_GOTO(vertex_table_begin(&t), status, done);
    WEFT_TRY_GOTO(table_text_floats(&t.text, raw->vertices,
                                    "a finite number (text is coded as numbers, one-hot, or left out)", false,
                                    WEFT_MEM_FEATURE, &raw->feature),
                  status, done);
    raw->features = t.text.width;
done:
    vertex_table_close(&t);
    return status;
}

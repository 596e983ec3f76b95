/* clicks/data/click_bag_column.c: the fields of a table whose cells hold several ids, and what is told of them. */
#include "base/log.h"
#include "clicks/data/click_data_options.def"
#include "clicks/data/click_internal.h"
#include "table/table_options.def"

/* The first row that has this cell. */
static int64_t row_of(const click_rows *rows, const click_field *field, int64_t cell)
{
    const int32_t *code = rows->table.column[field->column].data;
    int64_t row = 0;
    while (row < rows->table.rows && code[row] != cell) {
        ++row;
    }
    return row;
}

static const char *cell_of(const click_rows *rows, const click_field *field, int64_t cell)
{
    size_t bytes = 0;
    return words_text(rows->table.schema.field[field->column].words, cell, &bytes);
}

/* What may be meant otherwise than it is read. */
static void warn_of_cells(const click_rows *rows, const click_field *field, const char *path, const char *separator)
{
    const click_bag_cells *c = &field->cells;
    char text[96];
    const char *column = schema_say(&rows->table.schema, field->column, text);
    if (c->joined == 0 && c->cells > 0) {
        log_warn("%s: %s: no cell has the separator '%s', so each is one id, as '%.40s': " FLAG_CLICK_SEPARATOR
                 " names another",
                 path, column, separator, cell_of(rows, field, 0));
    }
    if (c->gaps > 0) {
        log_warn("%s: row %lld, %s: '%.60s' has nothing before, between or behind separators, which is read as no id; "
                 "so have %lld different cells",
                 path, (long long)row_of(rows, field, c->gap), column, cell_of(rows, field, c->gap),
                 (long long)c->gaps);
    }
    if (c->printed >= 0) {
        log_warn("%s: row %lld, %s: '%.60s' looks like a list as Python prints it, and brackets and quotes are read as "
                 "parts of ids: write cells with '%s'.join(..)",
                 path, (long long)row_of(rows, field, c->printed), column, cell_of(rows, field, c->printed), separator);
    }
}

static weft_status make_keys(click_rows *rows, int at)
{
    click_field *field = &rows->field[at];
    table_words *words = field->cells.words;
    field->ids = words_count(words);
    field->longest = field->cells.longest;
    WEFT_TRY(WEFT_NEW(&field->word_key, field->ids, WEFT_MEM_CLICKS));
    for (int64_t i = 0; i < field->ids; ++i) {
        size_t bytes = 0;
        const char *id = words_text(words, i, &bytes);
        field->word_key[i] = click_key_of_word(at, id, bytes, rows->hash_bits);
    }
    words_free(words);
    field->cells.words = NULL;
    return WEFT_OK;
}

weft_status click_bag_take(click_rows *rows, int at, const char *path, const char *separator)
{
    click_field *field = &rows->field[at];
    const table_field *column = &rows->table.schema.field[field->column];
    char text[96];
    WEFT_CHECK(column->kind == TABLE_CATEGORY, WEFT_ERR_DATA,
               "%s: %s keeps a hash of each cell, which cannot be split: read it, or convert it, with " FLAG_CATEGORY
               " in the place of " FLAG_ID_COLUMN,
               path, schema_say(&rows->table.schema, field->column, text));
    rows->bags = true;
    WEFT_TRY(click_bag_split(column->words, separator, &field->cells));
    WEFT_CHECK(field->cells.too_long < 0, WEFT_ERR_DATA,
               "%s: row %lld, %s: '%.40s..' has more than %d ids: shorten it, or name another " FLAG_CLICK_SEPARATOR,
               path, (long long)row_of(rows, field, field->cells.too_long),
               schema_say(&rows->table.schema, field->column, text), cell_of(rows, field, field->cells.too_long),
               CLICK_BAG_MOST);
    warn_of_cells(rows, field, path, separator);
    return make_keys(rows, at);
}

void click_bags_tell(const click_rows *rows, const char *path)
{
    for (int f = 0; f < rows->fields; ++f) {
        const click_field *field = &rows->field[f];
        int64_t ids = 0;
        for (int64_t size = 0; field->sized != NULL && size <= field->longest; ++size) {
            ids += size * field->sized[size];
        }
        if (field->sized != NULL) {
            log_info("%s: '%s': %.3g ids a row, %lld at most; %lld rows have none", path, rows->field_name.text[f],
                     (double)ids / (double)rows->table.rows, (long long)field->longest, (long long)field->sized[0]);
        }
    }
    if (rows->pooling == CLICK_POOLING_MEAN && !rows->bags) {
        log_warn("%s: each column of ids has one a row, so " FLAG_CLICK_POOLING " changes nothing: " FLAG_CLICK_BAGS
                 " names columns of several",
                 path);
    }
}

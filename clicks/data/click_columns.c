/* clicks/data/click_columns.c: which columns of a table are fields of ids and which are numbers; the keys of ids. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "clicks/data/click_internal.h"
#include "table/table_options.def"

/* A missing cell is an id like others: that nothing was told says something. */
#define MISSING_WORD ""

static uint64_t id_of_hash(uint64_t hash, int bits)
{
    return bits > 0 ? hash >> (64 - bits) : hash >> EMBED_FIELD_BITS;
}

uint64_t click_key_of_word(int field, const char *word, size_t bytes, int bits)
{
    return embed_key(field, id_of_hash(file_checksum(word, bytes, 0), bits));
}

/* A table's own hash of a word: the same whatever field it stands in. */
uint64_t click_key_of_id(int field, uint64_t id, int bits)
{
    return embed_key(field, id_of_hash(id, bits));
}

static bool is_field(table_kind kind)
{
    return kind == TABLE_CATEGORY || kind == TABLE_ID;
}

static bool is_number(table_kind kind)
{
    return kind == TABLE_REAL || kind == TABLE_INTEGER || kind == TABLE_LONG;
}

static weft_status make_keys(click_rows *rows, int at)
{
    const table_field *f = &rows->table.schema.field[rows->field[at]];
    rows->missing_key[at] = click_key_of_word(at, MISSING_WORD, 0, rows->hash_bits);
    if (f->kind != TABLE_CATEGORY) {
        return WEFT_OK;
    }
    const int64_t count = words_count(f->words);
    WEFT_TRY(WEFT_NEW(&rows->word_key[at], count, WEFT_MEM_CLICKS));
    for (int64_t i = 0; i < count; ++i) {
        size_t bytes = 0;
        const char *text = words_text(f->words, i, &bytes);
        rows->word_key[at][i] = click_key_of_word(at, text, bytes, rows->hash_bits);
    }
    return WEFT_OK;
}

/* The columns that a trained model reads, in its order. */
static weft_status find_named(const click_rows *rows, const char *path, const name_list *names,
                              bool (*fits)(table_kind), const char *what, int *column)
{
    const table_schema *schema = &rows->table.schema;
    for (int64_t i = 0; i < names->count; ++i) {
        int64_t at = 0;
        while (at < schema->count && strcmp(schema->field[at].name, names->text[i]) != 0) {
            ++at;
        }
        WEFT_CHECK(at < schema->count, WEFT_ERR_DATA, "%s: has no column '%s', which the model reads", path,
                   names->text[i]);
        WEFT_CHECK(fits(schema->field[at].kind), WEFT_ERR_DATA,
                   "%s: column '%s' holds %s, and the model reads %s there: " FLAG_CATEGORY " or " FLAG_REAL
                   " says what a column is",
                   path, names->text[i], table_kind_word(schema->field[at].kind), what);
        column[i] = (int)at;
    }
    return WEFT_OK;
}

static weft_status take_all(const click_rows *rows, bool (*fits)(table_kind), int *column, int64_t *count,
                            name_list *names)
{
    const table_schema *schema = &rows->table.schema;
    const char **text = NULL;
    WEFT_TRY(WEFT_NEW(&text, schema->count, WEFT_MEM_WORKSPACE));
    *count = 0;
    for (int64_t i = 0; i < schema->count; ++i) {
        if (schema->field[i].role == TABLE_FEATURE && fits(schema->field[i].kind)) {
            text[*count] = schema->field[i].name;
            column[(*count)++] = (int)i;
        }
    }
    const weft_status status = name_list_copy(text, *count, names);
    weft_free(text);
    return status;
}

static weft_status choose(click_rows *rows, const char *path, const click_rows_options *options)
{
    int64_t fields = 0;
    if (options->fields != NULL) {
        fields = options->fields->count;
        rows->numbers = options->numbers->count;
        WEFT_TRY(find_named(rows, path, options->fields, is_field, "ids", rows->field));
        WEFT_TRY(find_named(rows, path, options->numbers, is_number, "numbers", rows->number));
        WEFT_TRY(name_list_copy((const char *const *)options->fields->text, fields, &rows->field_name));
        WEFT_TRY(name_list_copy((const char *const *)options->numbers->text, rows->numbers, &rows->number_name));
    } else {
        WEFT_TRY(take_all(rows, is_field, rows->field, &fields, &rows->field_name));
        WEFT_TRY(take_all(rows, is_number, rows->number, &rows->numbers, &rows->number_name));
    }
    WEFT_CHECK(fields > 0, WEFT_ERR_DATA,
               "%s: no column holds ids: words are such, and " FLAG_CATEGORY " A,B names columns of numbers that are",
               path);
    WEFT_CHECK(fields < EMBED_FIELDS_MOST, WEFT_ERR_UNSUPPORTED, "%s: %lld columns of ids, and %d are the most", path,
               (long long)fields, EMBED_FIELDS_MOST - 1);
    rows->fields = (int)fields;
    return WEFT_OK;
}

weft_status click_columns_take(click_rows *rows, const char *path, const click_rows_options *options)
{
    const int64_t most = rows->table.schema.count + (options->fields != NULL ? options->fields->count : 0) +
                         (options->numbers != NULL ? options->numbers->count : 0);
    WEFT_CHECK(rows->table.sparse.columns == 0, WEFT_ERR_UNSUPPORTED,
               "%s: holds given cells alone, and clicks are read by columns: convert it with " FLAG_SPARSE " no", path);
    WEFT_TRY(WEFT_NEW_ZERO(&rows->field, most, WEFT_MEM_CLICKS));
    WEFT_TRY(WEFT_NEW_ZERO(&rows->number, most, WEFT_MEM_CLICKS));
    WEFT_TRY(WEFT_NEW_ZERO(&rows->word_key, most, WEFT_MEM_CLICKS));
    WEFT_TRY(WEFT_NEW_ZERO(&rows->missing_key, most, WEFT_MEM_CLICKS));
    rows->hash_bits = options->hash_bits;
    WEFT_TRY(choose(rows, path, options));
    for (int f = 0; f < rows->fields; ++f) {
        WEFT_TRY(make_keys(rows, f));
    }
    return WEFT_OK;
}

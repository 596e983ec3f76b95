/* clicks/data/click_columns.c: which columns of a table are fields of ids and which are numbers; the keys of ids. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/integer/integers.h"
#include "base/nearest.h"
#include "clicks/data/click_data_options.def"
#include "clicks/data/click_internal.h"
#include "io/text/text_header.h"
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

static weft_status make_word_keys(click_rows *rows, int at)
{
    click_field *field = &rows->field[at];
    const table_words *words = rows->table.schema.field[field->column].words;
    field->ids = words_count(words) + 1;
    WEFT_TRY(WEFT_NEW(&field->word_key, field->ids, WEFT_MEM_CLICKS));
    for (int64_t i = 0; i + 1 < field->ids; ++i) {
        size_t bytes = 0;
        const char *text = words_text(words, i, &bytes);
        field->word_key[i] = click_key_of_word(at, text, bytes, rows->hash_bits);
    }
    return WEFT_OK;
}

/* Pairs INDEX:VALUE are the ids of a row. */
static weft_status take_given(click_rows *rows, click_field *field, const char *path)
{
    const table_sparse *given = &rows->table.sparse;
    rows->bags = true;
    field->ids = smaller(given->columns, given->start[rows->table.rows] - given->start[0]);
    for (int64_t i = 0; i < rows->table.rows; ++i) {
        const int64_t count = given->start[i + 1] - given->start[i];
        WEFT_CHECK(count <= CLICK_BAG_MOST, WEFT_ERR_DATA, "%s: row %lld: %lld pairs INDEX:VALUE, and %d are the most",
                   path, (long long)i, (long long)count, CLICK_BAG_MOST);
        field->longest = count > field->longest ? count : field->longest;
    }
    return WEFT_OK;
}

static weft_status make_field(click_rows *rows, int at, const char *path, const click_rows_options *options)
{
    click_field *field = &rows->field[at];
    field->missing_key = click_key_of_word(at, MISSING_WORD, 0, rows->hash_bits);
    if (field->column == CLICK_GIVEN) {
        return take_given(rows, field, path);
    }
    if (field->several) {
        return click_bag_take(rows, at, path, options->separator);
    }
    field->longest = 1;
    field->ids = rows->table.rows;
    return rows->table.schema.field[field->column].kind == TABLE_CATEGORY ? make_word_keys(rows, at) : WEFT_OK;
}

static weft_status fail_no_bag(const click_rows *rows, const char *path, const char *name)
{
    const char *near = nearest_word(name, (const char *const *)rows->field_name.text, rows->fields);
    return weft_fail(WEFT_ERR_USAGE,
                     "%s: " FLAG_CLICK_BAGS " %s: no column of ids has this name%s%s%s; of a store it must have been "
                     "given to weft convert by " FLAG_CATEGORY,
                     path, name, near == NULL ? "" : ": did you mean '", near == NULL ? "" : near,
                     near == NULL ? "" : "'?");
}

/* Marks the fields whose cells hold several ids: by their exact names, else by those that differ in case, blanks and
 * marks. */
static weft_status mark_bags(click_rows *rows, const char *path, const name_list *bags)
{
    for (int64_t i = 0; bags != NULL && i < bags->count; ++i) {
        int at = 0, same = 0;
        while (at < rows->fields && strcmp(rows->field_name.text[at], bags->text[i]) != 0) {
            ++at;
        }
        while (same < rows->fields && !text_same_name(rows->field_name.text[same], bags->text[i])) {
            ++same;
        }
        at = at < rows->fields ? at : same;
        if (at == rows->fields || rows->field[at].column == CLICK_GIVEN) {
            return fail_no_bag(rows, path, bags->text[i]);
        }
        rows->field[at].several = true;
    }
    return WEFT_OK;
}

static bool is_given(const click_rows *rows, const char *name)
{
    return rows->table.sparse.columns > 0 && strcmp(name, CLICK_GIVEN_NAME) == 0;
}

/* The columns that a trained model reads, in its order. */
static weft_status find_named(const click_rows *rows, const char *path, const name_list *names,
                              bool (*fits)(table_kind), const char *what, int *column)
{
    const table_schema *schema = &rows->table.schema;
    for (int64_t i = 0; i < names->count; ++i) {
        int64_t at = 0;
        if (fits == is_field && is_given(rows, names->text[i])) {
            column[i] = CLICK_GIVEN;
            continue;
        }
        while (at < schema->count && strcmp(schema->field[at].name, names->text[i]) != 0) {
            ++at;
        }
        WEFT_CHECK(at < schema->count, WEFT_ERR_DATA, "%s: has no column '%s', which the model reads%s", path,
                   names->text[i],
                   strcmp(names->text[i], CLICK_GIVEN_NAME) == 0 ? ": those are the pairs of a LIBSVM file" : "");
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
    WEFT_TRY(WEFT_NEW(&text, schema->count + 1, WEFT_MEM_WORKSPACE));
    *count = 0;
    for (int64_t i = 0; i < schema->count; ++i) {
        if (schema->field[i].role == TABLE_FEATURE && fits(schema->field[i].kind)) {
            text[*count] = schema->field[i].name;
            column[(*count)++] = (int)i;
        }
    }
    if (fits == is_field && rows->table.sparse.columns > 0) {
        text[*count] = CLICK_GIVEN_NAME;
        column[(*count)++] = CLICK_GIVEN;
    }
    const weft_status status = name_list_copy(text, *count, names);
    weft_free(text);
    return status;
}

/* column: [options->fields or columns of the table, and one more] */
static weft_status choose(click_rows *rows, const char *path, const click_rows_options *options, int *column)
{
    int64_t fields = 0;
    if (options->fields != NULL) {
        fields = options->fields->count;
        rows->numbers = options->numbers->count;
        WEFT_TRY(find_named(rows, path, options->fields, is_field, "ids", column));
        WEFT_TRY(find_named(rows, path, options->numbers, is_number, "numbers", rows->number));
        WEFT_TRY(name_list_copy((const char *const *)options->fields->text, fields, &rows->field_name));
        WEFT_TRY(name_list_copy((const char *const *)options->numbers->text, rows->numbers, &rows->number_name));
    } else {
        WEFT_TRY(take_all(rows, is_field, column, &fields, &rows->field_name));
        WEFT_TRY(take_all(rows, is_number, rows->number, &rows->numbers, &rows->number_name));
    }
    WEFT_CHECK(fields > 0, WEFT_ERR_DATA,
               "%s: no column holds ids: words are such, " FLAG_CATEGORY
               " A,B names columns of numbers that are, and a "
               "LIBSVM file's indices are where it is read as it is, or was converted with " FLAG_SPARSE " yes",
               path);
    WEFT_CHECK(fields < EMBED_FIELDS_MOST, WEFT_ERR_UNSUPPORTED, "%s: %lld columns of ids, and %d are the most", path,
               (long long)fields, EMBED_FIELDS_MOST - 1);
    rows->fields = (int)fields;
    return WEFT_OK;
}

static weft_status make_fields(click_rows *rows, const char *path, const click_rows_options *options, const int *column)
{
    WEFT_TRY(WEFT_NEW_ZERO(&rows->field, rows->fields, WEFT_MEM_CLICKS));
    for (int f = 0; f < rows->fields; ++f) {
        rows->field[f].column = column[f];
    }
    WEFT_TRY(mark_bags(rows, path, options->bags));
    for (int f = 0; f < rows->fields; ++f) {
        click_field *field = &rows->field[f];
        WEFT_TRY(make_field(rows, f, path, options));
        if (field->several || field->column == CLICK_GIVEN) {
            WEFT_TRY(WEFT_NEW_ZERO(&field->sized, field->longest + 1, WEFT_MEM_CLICKS));
        }
    }
    rows->weighted = rows->bags && options->pooling == CLICK_POOLING_MEAN;
    return WEFT_OK;
}

weft_status click_columns_take(click_rows *rows, const char *path, const click_rows_options *options)
{
    const int64_t most = rows->table.schema.count + 1 + (options->fields != NULL ? options->fields->count : 0) +
                         (options->numbers != NULL ? options->numbers->count : 0);
    int *column = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&rows->number, most, WEFT_MEM_CLICKS));
    WEFT_TRY(WEFT_NEW_ZERO(&column, most, WEFT_MEM_WORKSPACE));
    rows->hash_bits = options->hash_bits;
    rows->pooling = options->pooling;
    weft_status status = choose(rows, path, options, column);
    status = status == WEFT_OK ? make_fields(rows, path, options, column) : status;
    weft_free(column);
    return status;
}

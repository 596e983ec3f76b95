/* clicks/data/click_labels.c: what was clicked, and which rows train, validate and test. */
#include <math.h>

#include "base/log.h"
#include "clicks/data/click_data_options.def"
#include "clicks/data/click_internal.h"
#include "table/row_order.h"
#include "table/table_options.def"
#include "train/batch/row_split.h"

enum { CHUNK = 4096 };

static weft_status label_words(click_rows *rows, int64_t target, const char *path)
{
    const table_words *words = rows->table.schema.field[target].words;
    const int32_t *code = rows->table.column[target].data;
    char text[96];
    size_t bytes = 0;
    WEFT_CHECK(words_count(words) <= 2, WEFT_ERR_DATA,
               "%s: %s has %lld different words, '%.32s' the first: a click is or is not, by two words or by numbers 1 "
               "and 0",
               path, schema_say(&rows->table.schema, target, text), (long long)words_count(words),
               words_text(words, 0, &bytes));
    for (int64_t i = 0; i < rows->table.rows; ++i) {
        rows->label[i] = code[i] < 0 ? CLICK_NO_LABEL : (uint8_t)code[i];
    }
    return WEFT_OK;
}

/* 1 and 0, or from `positive` on. */
static weft_status label_numbers(click_rows *rows, int64_t target, double positive, const char *path)
{
    float value[CHUNK];
    char text[96];
    const table_column *c = &rows->table.column[target];
    for (int64_t first = 0; first < rows->table.rows; first += CHUNK) {
        const int64_t count = rows->table.rows - first < CHUNK ? rows->table.rows - first : CHUNK;
        table_read_numbers(c->kind, c->data, first, count, value);
        for (int64_t i = 0; i < count; ++i) {
            const double x = (double)value[i];
            WEFT_CHECK(isnan(x) || !isnan(positive) || x == 0.0 || x == 1.0, WEFT_ERR_DATA,
                       "%s: row %lld, %s: %g is neither 0 nor 1: " FLAG_CLICK_POSITIVE
                       " X says from which number on it is a click",
                       path, (long long)(first + i), schema_say(&rows->table.schema, target, text), x);
            rows->label[first + i] = isnan(x) ? CLICK_NO_LABEL : x >= (isnan(positive) ? 0.5 : positive);
        }
    }
    return WEFT_OK;
}

static weft_status take_labels(click_rows *rows, const char *path, double positive)
{
    const int64_t target = schema_find(&rows->table.schema, TABLE_TARGET);
    char text[96];
    rows->labelled = target >= 0;
    for (int64_t i = 0; i < rows->table.rows && !rows->labelled; ++i) {
        rows->label[i] = CLICK_NO_LABEL;
    }
    if (!rows->labelled) {
        return WEFT_OK;
    }
    const table_kind kind = rows->table.schema.field[target].kind;
    WEFT_CHECK(kind != TABLE_ID && kind != TABLE_SPLIT, WEFT_ERR_DATA, "%s: %s holds %s and cannot be a target", path,
               schema_say(&rows->table.schema, target, text), table_kind_word(kind));
    return kind == TABLE_CATEGORY ? label_words(rows, target, path) : label_numbers(rows, target, positive, path);
}

/* Splits of the rows that have a target. order_column: by its order. */
static weft_status split_by_order(click_rows *rows, const click_rows_options *options, int64_t order_column)
{
    const table_column *column = &rows->table.column[order_column];
    row_order order;
    uint64_t *key = NULL;
    int64_t count = 0;
    WEFT_TRY(WEFT_NEW(&key, rows->table.rows, WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < rows->table.rows; ++i) {
        if (rows->label[i] != CLICK_NO_LABEL) {
            key[count++] = row_order_key(column, i);
        }
    }
    const weft_status status = row_order_find(NULL, key, count, options->valid, options->test, &order);
    for (int64_t i = 0; i < rows->table.rows && status == WEFT_OK; ++i) {
        rows->split[i] = row_order_split(&order, row_order_key(column, i));
    }
    if (status == WEFT_OK && !options->trained) {
        row_order_tell(&order, &rows->table, order_column);
    }
    weft_free(key);
    return status;
}

static weft_status take_splits(click_rows *rows, const click_rows_options *options, int paths)
{
    int64_t ordered;
    const int64_t column = schema_find(&rows->table.schema, TABLE_SPLIT_OF), all = rows->table.rows;
    const row_split drawn = row_split_make(all, options->valid, options->test, options->seed);
    WEFT_CHECK(options->part == NULL || column < 0, WEFT_ERR_DATA,
               "column '%s' says the split of each row, and so do files of their own: " FLAG_DROP " it",
               column < 0 ? "" : rows->table.schema.field[column].name);
    WEFT_TRY(row_order_column(&rows->table.schema, options->part != NULL, &ordered));
    WEFT_TRY(ordered >= 0 ? split_by_order(rows, options, ordered) : WEFT_OK);
    for (int64_t i = 0; i < all; ++i) {
        const uint8_t split = ordered >= 0            ? rows->split[i]
                              : options->part != NULL ? row_split_of_file(options->part, rows->table.file_row, paths, i)
                              : column >= 0           ? ((const uint8_t *)rows->table.column[column].data)[i]
                                                      : row_split_drawn(&drawn, i);
        rows->split[i] = rows->label[i] != CLICK_NO_LABEL ? split : TRAIN_SPLIT_NONE;
        if (rows->split[i] < TRAIN_SPLITS) {
            rows->counted[rows->split[i]] += 1;
            rows->clicks[rows->split[i]] += rows->label[i];
        }
    }
    return WEFT_OK;
}

static weft_status list_rows(click_rows *rows, bool trained)
{
    const int64_t all = rows->table.rows;
    rows->evaluated = trained ? all : rows->counted[1] + rows->counted[2];
    WEFT_TRY(WEFT_NEW(&rows->train, rows->counted[0], WEFT_MEM_CLICKS));
    WEFT_TRY(WEFT_NEW(&rows->eval, rows->evaluated, WEFT_MEM_CLICKS));
    int64_t at[TRAIN_SPLITS] = {0, 0, rows->counted[1]};
    for (int64_t i = 0; i < all; ++i) {
        const uint8_t split = rows->split[i];
        if (trained) {
            rows->eval[i] = i;
        } else if (split == 1 || split == 2) {
            rows->eval[at[split]++] = i;
        }
        if (split == TRAIN_SPLIT_TRAIN) {
            rows->train[at[0]++] = i;
        }
    }
    return WEFT_OK;
}

weft_status click_labels_take(click_rows *rows, const char *path, int paths, const click_rows_options *options)
{
    WEFT_TRY(WEFT_NEW(&rows->label, rows->table.rows, WEFT_MEM_CLICKS));
    WEFT_TRY(WEFT_NEW(&rows->split, rows->table.rows, WEFT_MEM_CLICKS));
    WEFT_TRY(take_labels(rows, path, options->positive));
    WEFT_TRY(take_splits(rows, options, paths));
    return list_rows(rows, options->trained);
}

/* table/rows/row_order.c: see table/row_order.h. */
#include "table/row_order.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "table/table_options.def"

enum { DIGIT_BITS = 8, DIGITS = 64 / DIGIT_BITS, DIGIT_VALUES = 1 << DIGIT_BITS };

#define ABOVE_ALL UINT64_MAX /* where a split begins that has no rows */

static const uint64_t sign = UINT64_C(1) << 63;

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static uint64_t key_of_real(float value)
{
    uint32_t bits;
    const float plain = value + 0.0F; /* the two zeros are one value */
    memcpy(&bits, &plain, sizeof bits);
    return isnan(value) ? 0 : (bits >> 31) != 0 ? ~bits : bits | UINT32_C(0x80000000);
}

static float real_of_key(uint64_t key)
{
    const uint32_t bits = (key >> 31) != 0 ? (uint32_t)key & UINT32_C(0x7fffffff) : ~(uint32_t)key;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

uint64_t row_order_key(const table_column *column, int64_t row)
{
    switch (column->kind) {
    case TABLE_REAL:
        return key_of_real(((const float *)column->data)[row]);
    case TABLE_INTEGER: {
        const int32_t value = ((const int32_t *)column->data)[row];
        return value == TABLE_NO_INTEGER ? 0 : (uint64_t)(int64_t)value ^ sign;
    }
    case TABLE_LONG: { /* the missing one is the least */
        const uint64_t key = (uint64_t)((const int64_t *)column->data)[row] ^ sign;
        return key - (key == ABOVE_ALL);
    }
    case TABLE_CATEGORY:
        return (uint64_t)((int64_t)((const int32_t *)column->data)[row] + 1);
    default:
        return 0;
    }
}

/* ---- borders ----------------------------------------------------------------------------------------------------- */

/* Sums over ranks, in place. */
static weft_status add_up(const table_exchange *exchange, int64_t *number, size_t numbers)
{
    void *all = NULL;
    size_t *bytes_of = NULL;
    if (exchange == NULL) {
        return WEFT_OK;
    }
    const weft_status status = exchange->gather(exchange->self, number, numbers * sizeof *number, &all, &bytes_of);
    if (status == WEFT_OK) {
        memset(number, 0, numbers * sizeof *number);
        for (size_t i = 0; i < numbers * (size_t)exchange->ranks; ++i) {
            number[i % numbers] += ((const int64_t *)all)[i];
        }
    }
    weft_free(all);
    weft_free(bytes_of);
    return status;
}

/* The `place`-th largest key, from 1, digit by digit; ABOVE_ALL for place 0. */
static weft_status find_place(const table_exchange *exchange, const uint64_t *key, int64_t rows, int64_t place,
                              uint64_t *found)
{
    uint64_t high = 0; /* digits that are known */
    *found = ABOVE_ALL;
    if (place == 0) {
        return WEFT_OK;
    }
    for (int d = DIGITS - 1; d >= 0; --d) {
        int64_t count[DIGIT_VALUES] = {0};
        const int shift = d * DIGIT_BITS;
        for (int64_t i = 0; i < rows; ++i) {
            const bool within = d == DIGITS - 1 || key[i] >> (shift + DIGIT_BITS) == high;
            count[(key[i] >> shift) & (DIGIT_VALUES - 1)] += within;
        }
        WEFT_TRY(add_up(exchange, count, DIGIT_VALUES));
        int digit = DIGIT_VALUES - 1;
        while (digit > 0 && count[digit] < place) {
            place -= count[digit--];
        }
        high = high << DIGIT_BITS | (uint64_t)digit;
    }
    *found = high;
    return WEFT_OK;
}

weft_status row_order_find(const table_exchange *exchange, const uint64_t *key, int64_t rows, double valid, double test,
                           row_order *order)
{
    int64_t all[2] = {rows, 0}; /* rows, and those without a value */
    for (int64_t i = 0; i < rows; ++i) {
        all[1] += key[i] == 0;
    }
    WEFT_TRY(add_up(exchange, all, 2));
    const int64_t placed = all[0] - all[1];
    const int64_t tests = (int64_t)floor(test * (double)placed + 0.5);
    const int64_t held = tests + (int64_t)floor(valid * (double)placed + 0.5);
    *order = (row_order){.missing = all[1]};
    WEFT_TRY(find_place(exchange, key, rows, tests, &order->from[2]));
    return find_place(exchange, key, rows, held < placed ? held : placed, &order->from[1]);
}

/* ---- the column -------------------------------------------------------------------------------------------------- */

weft_status row_order_column(const table_schema *schema, bool parts, int64_t *column)
{
    char text[96];
    const int64_t split = schema_find(schema, TABLE_SPLIT_OF), group = schema_find(schema, TABLE_GROUP);
    *column = schema_find(schema, TABLE_ORDER);
    if (*column < 0) {
        return WEFT_OK;
    }
    const char *name = schema_say(schema, *column, text);
    WEFT_CHECK(schema->field[*column].kind <= TABLE_CATEGORY, WEFT_ERR_DATA,
               FLAG_SPLIT_BY ": %s holds hashes of words, which have no order: name a column of numbers, or of words "
                             "that sort",
               name);
    WEFT_CHECK(split < 0, WEFT_ERR_DATA,
               FLAG_SPLIT_BY ": %s and a column of splits both say the split: " FLAG_DROP " one of them", name);
    WEFT_CHECK(group < 0, WEFT_ERR_DATA,
               FLAG_SPLIT_BY ": %s could put rows of one query into two splits: give a column of splits in its place",
               name);
    WEFT_CHECK(!parts, WEFT_ERR_DATA, FLAG_SPLIT_BY ": %s and files of their own both say the split: leave one out",
               name);
    return WEFT_OK;
}

static void say_key(char text[64], uint64_t key, const table_field *field)
{
    size_t bytes = 0;
    if (key == ABOVE_ALL) {
        (void)snprintf(text, 64, "nowhere");
    } else if (field->kind == TABLE_REAL) {
        (void)snprintf(text, 64, "%.9g", (double)real_of_key(key));
    } else if (field->kind == TABLE_CATEGORY && key > 0) {
        (void)snprintf(text, 64, "'%.48s'", words_text(field->words, (int64_t)key - 1, &bytes));
    } else {
        (void)snprintf(text, 64, "%lld", (long long)(key ^ sign));
    }
}

void row_order_tell(const row_order *order, const weft_table *table, int64_t column)
{
    const table_field *field = &table->schema.field[column];
    char valid[64], test[64];
    say_key(valid, order->from[1], field);
    say_key(test, order->from[2], field);
    log_info("rows are split by column '%.64s', which is no feature: they validate from %s and test from %s",
             field->name, valid, test);
    if (order->missing > 0) {
        log_warn("column '%.64s': %lld rows have no value, and train", field->name, (long long)order->missing);
    }
}

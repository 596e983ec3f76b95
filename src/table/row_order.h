/*
 * table/row_order.h: which rows train, validate and test by the order of a column, such as a time: the last test,
 * those before them validate, all earlier ones train.
 *
 * Rows of one value are of one split, so a split may be a little larger than its share, and where a value takes a whole
 * share the split before it is smaller. A row without a value trains.
 */
#pragma once

#include "table/table.h"

typedef struct row_order {
    uint64_t from[3]; /* the least key of rows that train, validate, test; from[0] is 0 */
    int64_t missing;  /* rows without a value, over all ranks */
} row_order;

/* Returns a number that rises with the value of a row, of words with their bytes; 0: it has none. Not for hashes. */
uint64_t row_order_key(const table_column *column, int64_t row);

/*
 * key [count]: of this rank's rows that are split. exchange: with the ranks whose rows are all rows together, which get
 * the same order; NULL: these are all rows. Collective with an exchange. WEFT_ERR_RESOURCE.
 */
weft_status row_order_find(const table_exchange *exchange, const uint64_t *key, int64_t count, double valid,
                           double test, row_order *order);

/* Returns 0, 1 or 2 for a row that trains, validates or tests. */
static inline uint8_t row_order_split(const row_order *order, uint64_t key)
{
    return key >= order->from[2] ? 2 : key >= order->from[1] ? 1 : 0;
}

/* [out] column: that of role TABLE_ORDER, -1 if there is none. parts: files have splits of their own. WEFT_ERR_DATA: it
 * holds hashes, or a column of splits, queries or those files say the split, too. */
weft_status row_order_column(const table_schema *schema, bool parts, int64_t *column);
/* Tells where splits begin. Rank 0. */
void row_order_tell(const row_order *order, const weft_table *table, int64_t column);

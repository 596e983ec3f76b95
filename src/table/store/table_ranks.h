/* table/store/table_ranks.h: what ranks do together while a table is read. With exchange NULL there is one rank. */
#pragma once

#include "table/schema.h"
#include "table/table_exchange.h"

/* Returns the status of the first rank that failed, with its message, on every rank. */
weft_status ranks_agree(const table_exchange *exchange, weft_status status);
/* Adds up facts of all ranks. [in/out] tally: [columns] */
weft_status ranks_add_tallies(const table_exchange *exchange, table_tally *tally, int64_t columns);
/* Gives every rank the words of all ranks, for every column of categories. */
weft_status ranks_share_words(const table_exchange *exchange, table_schema *schema);

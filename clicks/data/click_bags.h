/*
 * clicks/data/click_bags.h: columns whose cells hold several ids, with a separator between them.
 *
 *     cell      "rock|jazz| rock |"     ids rock, jazz, rock: blanks around an id are no part of it, an id that is
 *                                       named twice counts twice, and nothing between two separators is no id
 *
 * A table keeps such a cell as one word of a category, so that each different cell is split once, when the table is
 * opened. Memory: 4 bytes an id of each different cell, beside the words of the column.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/option_words.h"
#include "table/words.h"

/* How the rows of a bag's ids become one. */
#define CLICK_POOLINGS(X)                                                                                              \
    X(CLICK_POOLING_SUM, "sum")                                                                                        \
    X(CLICK_POOLING_MEAN, "mean")
typedef enum click_pooling { CLICK_POOLINGS(CHOICE_VALUE) } click_pooling;

enum { CLICK_BAG_MOST = 65536 /* ids of a cell */ };

/* The next id of a cell. at: where to go on; NULL behind the last. [out] bytes: of the id, 0 where nothing stands
 * between two separators. separator: at least a byte. */
const char *click_bag_next(const char **at, const char *end, const char *separator, size_t *bytes);

/* The cells of a column. */
typedef struct click_bag_cells {
    int64_t cells;
    int64_t *at;      /* [cells + 1] ids of a cell: word[at[cell]] up to word[at[cell + 1]] */
    int32_t *word;    /* [at[cells]] codes in `words` */
    int64_t longest;  /* ids of the cell that has most */
    int64_t joined;   /* cells in which the separator occurs */
    int64_t gap;      /* the first cell with nothing between two separators; -1: none */
    int64_t gaps;     /* such cells */
    int64_t printed;  /* the first cell that looks like a list which Python prints; -1: none */
    int64_t too_long; /* the first cell of more than CLICK_BAG_MOST ids, where splitting ends; -1: none */
    table_words *words;
} click_bag_cells;

/* Splits the words of a column. Free with click_bag_free, also after a failure. WEFT_ERR_RESOURCE: no memory. */
weft_status click_bag_split(const table_words *column, const char *separator, click_bag_cells *cells);
void click_bag_free(click_bag_cells *cells); /* zeros are fine */

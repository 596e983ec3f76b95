/* gnn/data/edges/matrix_market.h: what a Matrix Market file is and says before its entries, for edges and for
 * weights. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/text/text_source.h"

/* Lines that begin so are no entries. */
#define MATRIX_MARKET_COMMENTS "%#"

typedef struct matrix_market {
    int64_t vertices, entries;
    bool has_values;
    bool both_ways; /* an entry means both directions */
    bool skew;      /* the other direction has the value with the sign turned round */
} matrix_market;

/* A text that begins with `head` is meant as one: its name ends in .mtx, or the first lines, be they comments, hold the
 * banner, however it is written. */
bool matrix_market_is(const char *path, const char *head);

/* Past the banner and the sizes. WEFT_ERR_DATA, WEFT_ERR_UNSUPPORTED: in words of the line. */
weft_status matrix_market_begin(const char *path, text_source *source, matrix_market *matrix);

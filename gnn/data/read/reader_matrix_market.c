/*
 * gnn/data/read/reader_matrix_market.c: Matrix Market coordinate files (R. Boisvert, R. Pozo, K. Remington: The Matrix
 * Market Exchange Formats, NISTIR 5935, 1996).
 *
 *   %%MatrixMarket matrix coordinate pattern|real|integer general|symmetric|skew-symmetric
 *   % comments
 *   ROWS COLUMNS ENTRIES
 *   i j [value]          from 1; an edge i -> j, and j -> i as well where the matrix is (skew-)symmetric
 *
 * Values are read over here: gnn/data/edges/edge_weights_text.c makes weights of them.
 */
#include "gnn/data/edges/matrix_market.h"

#include <inttypes.h>

#include "base/log.h"
#include "gnn/data/build/arcs.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/edges/edge_text.h"
#include "gnn/data/read/reader_formats.h"
#include "gnn/data/read/reader_parts.h"

static weft_status parse(const char *path, text_source *source, raw_graph *raw)
{
    matrix_market matrix;
    WEFT_TRY(matrix_market_begin(path, source, &matrix));
    if (matrix.has_values && !raw->weighs) {
        log_info("%s: the values of the matrix are weights where " FLAG_CONVERT_WEIGHTS " names the file, else unused",
                 path);
    }
    if (matrix.skew && !raw->weighs) {
        log_warn("%s: the matrix is skew-symmetric: its signs are dropped, and an entry is an edge in both directions",
                 path);
    }
    const edge_text rules = {.first_id = 1,
                             .vertices = matrix.vertices,
                             .columns = matrix.has_values ? 3 : 2,
                             .comments = MATRIX_MARKET_COMMENTS};
    WEFT_TRY(edge_text_parse(source, &rules, raw->arcs));
    const int64_t found = arcs_count(raw->arcs);
    WEFT_CHECK(found == matrix.entries, WEFT_ERR_DATA, "%s: %" PRId64 " entries, but its size line promises %" PRId64,
               path, found, matrix.entries);
    raw->vertices = matrix.vertices;
    raw->both_ways = matrix.both_ways;
    raw->first_id = 1;
    raw->kind = EDGE_FILE_MATRIX_MARKET;
    return WEFT_OK;
}

const reader_format reader_matrix_market = {
    .name = "matrix-market",
    .description = "Matrix Market coordinate files (.mtx): pattern, real, integer; also .gz, .xz",
    .symmetrize = true,
    .matches_text = matrix_market_is,
    .line_max = EDGE_LINE_MAX,
    .read_text = parse,
};

/* gnn/data/tables/table_edges.c: tables with a row for each edge, all of whose columns are read but an index. */
#include <inttypes.h>

#include "base/alloc.h"
#include "gnn/data/read/reader_parts.h"
#include "gnn/data/tables/vertex_table.h"

/* `edges` has as many "vertices" as there are edges. */
static weft_status open_table(const char *path, const raw_graph *edges, vertex_table *t)
{
    WEFT_TRY(vertex_table_open(path, edges, t));
    t->id = -1;
    t->text.rows_of = "edges";
    for (int64_t j = 0; j < t->header.columns; j++) {
        if (j != t->header.index) {
            table_text_want(&t->text, j);
        }
    }
    const weft_status status = vertex_table_begin(t);
    if (status != WEFT_OK) {
        vertex_table_close(t);
    }
    return status;
}

weft_status reader_text_edge_floats(const char *path, int64_t edges, int64_t *columns, float **values)
{
    const raw_graph rows = {.vertices = edges};
    vertex_table t;
    WEFT_TRY(open_table(path, &rows, &t));
    const weft_status status = table_text_floats(&t.text, edges, "a finite number", false, WEFT_MEM_WORKSPACE, values);
    *columns = t.text.width;
    vertex_table_close(&t);
    return status;
}

static weft_status take_end(void *self, const table_cell *cell)
{
    int64_t *pair = self;
    const bool whole = text_field_whole(&cell->field, &pair[2 * cell->row + cell->place]);
    return whole ? WEFT_OK : table_cell_expected(cell, "a whole number");
}

weft_status reader_text_edge_ends(const char *path, int64_t edges, int64_t **pair)
{
    const raw_graph rows = {.vertices = edges};
    vertex_table t;
    weft_status status;
    WEFT_TRY(open_table(path, &rows, &t));
    WEFT_CHECK_GOTO(t.text.width == 2, status, done, WEFT_ERR_DATA,
                    "%s: line %" PRId64 ": %" PRId64 " fields where 2 are expected", path, t.header.row_line,
                    t.text.width);
    WEFT_TRY_GOTO(weft_malloc((size_t)edges, 2 * sizeof **pair, WEFT_MEM_WORKSPACE, (void **)pair), status, done);
    status = table_text_each(&t.text, edges, take_end, *pair);
done:
    if (status != WEFT_OK) {
        weft_free(*pair);
        *pair = NULL;
    }
    vertex_table_close(&t);
    return status;
}

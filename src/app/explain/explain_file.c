/* app/explain/explain_file.c: see app/explain/explain_file.h. */
#include "app/explain/explain_file.h"

#include "app/table/grid.h"
#include "base/file.h"

/* How contributions are to be read. */
static const char *note(const explanation *e)
{
    return e->how->against ? "Contributions compare with rows of a background, of which inputs are replaced. They say "
                             "what the model does, not what causes what."
                           : "Contributions follow the paths of the model, and compare with the rows that it was "
                             "trained on. They say what the model does, not what causes what.";
}

weft_status explain_write(const explanation *e, const char *model, const char *folder)
{
    const workload *work = e->work;
    char path[FILE_PATH_MAX];
    file_writer writer;
    WEFT_TRY(file_path(path, "%s/explain.json", folder));
    WEFT_TRY(file_writer_open(path, &writer));
    json_writer json = json_begin(writer.stream, false);
    json_object(&json, NULL);
    json_text(&json, "format", "weft-explanation 1");
    json_text(&json, "model", model);
    json_text(&json, "data", work->name);
    json_int(&json, "rows", work->held.total);
    json_text(&json, "against", e->how->against ? "background" : "paths");
    json_text(&json, "note", note(e));
    json_array(&json, "inputs");
    for (int k = 0; k < e->count; ++k) {
        json_object(&json, NULL);
        json_text(&json, "name", work->ops->input_name(work, e->leading[k]));
        json_int(&json, "column", e->leading[k]);
        json_real(&json, "importance", e->importance[e->leading[k]]);
        json_end(&json);
    }
    json_end(&json);
    json_array(&json, "drawings");
    explain_draw(e, &json);
    json_end(&json);
    json_end(&json);
    json_line_end(&json);
    return file_writer_commit(&writer);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

#define EXPLAIN_ROW(C) C(TEXT, input, true) C(REAL, mean_magnitude, true) C(REAL, percent, true)
TABLE_ROW(explain_row, EXPLAIN_ROW);
#define EXPLAIN_HEAD(C) C(TEXT, model, true) C(TEXT, data, true) C(INT, rows, true) C(TEXT, compared_with, true)
TABLE_ROW(explain_head, EXPLAIN_HEAD);

static weft_status fill(const explanation *e, const char *model, table_grid *head, table_grid *grid)
{
    const workload *work = e->work;
    WEFT_TRY(table_grid_add_row(head, &(explain_head){.model = model,
                                                      .data = work->name,
                                                      .rows = work->held.total,
                                                      .compared_with = e->how->against ? "background" : "paths"}));
    for (int k = 0; k < e->count; ++k) {
        const double importance = e->importance[e->leading[k]];
        WEFT_TRY(
            table_grid_add_row(grid, &(explain_row){.input = work->ops->input_name(work, e->leading[k]),
                                                    .mean_magnitude = importance,
                                                    .percent = e->total > 0.0 ? 100.0 * importance / e->total : 0.0}));
    }
    return WEFT_OK;
}

weft_status explain_print(FILE *out, const explanation *e, const char *model, table_format format)
{
    table_grid head = {.column = explain_head_columns, .columns = TABLE_COLUMNS(explain_head)};
    table_grid grid = {.name = "inputs", .column = explain_row_columns, .columns = TABLE_COLUMNS(explain_row)};
    const weft_status status = fill(e, model, &head, &grid);
    if (status == WEFT_OK) {
        table_grid_print(out, &head, &grid, NULL, format);
    }
    table_grid_free(&head);
    table_grid_free(&grid);
    return status;
}

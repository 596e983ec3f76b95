/* app/focus/focus_plan_file.c: a plan as CSV, and as a file with drawings that weft report finds (docs/formats.md). */
#include <string.h>

#include "app/explain/drawing_json.h"
#include "app/focus/focus_plan.h"

weft_status focus_plan_print(FILE *out, const focus_plan *plan)
{
    table_grid grid = {.name = "plans", .column = focus_plan_row_columns, .columns = TABLE_COLUMNS(focus_plan_row)};
    weft_status status = WEFT_OK;
    for (int i = 0; i < plan->count && status == WEFT_OK; ++i) {
        status = table_grid_add_row(&grid, &plan->row[i]);
    }
    if (status == WEFT_OK) {
        table_grid_print(out, NULL, &grid, NULL, TABLE_CSV);
    }
    table_grid_free(&grid);
    return status;
}

/* "cheap small-run", or the plan alone where there is no cheap network. */
static void name_plan(const focus_plan_row *row, char text[FOCUS_PLAN_NAME_BYTES])
{
    const bool cheap = strcmp(row->plan, "cheap") == 0;
    snprintf(text, FOCUS_PLAN_NAME_BYTES, "%s%s%.60s", row->plan, cheap ? " " : "", cheap ? row->network : "");
}

/* A point for each plan that reaches both targets, or for each that does not. */
static void draw_series(json_writer *json, const focus_plan *plan, bool meets)
{
    double x[FOCUS_PLANS_MAX], y[FOCUS_PLANS_MAX];
    int count = 0;
    for (int i = 0; i < plan->count; ++i) {
        if (plan->row[i].meets == meets) {
            x[count] = plan->row[i].query_runs;
            y[count++] = plan->row[i].ingest_ms;
        }
    }
    json_object(json, NULL);
    json_text(json, "name", meets ? "reaches both targets" : "does not");
    drawing_json_numbers(json, "x", x, count, 1);
    drawing_json_numbers(json, "y", y, count, 1);
    json_end(json);
}

static void draw(json_writer *json, const focus_plan *plan)
{
    char text[FOCUS_PLANS_MAX][FOCUS_PLAN_NAME_BYTES];
    const char *name[FOCUS_PLANS_MAX];
    double seconds[FOCUS_PLANS_MAX];
    int count = 0;
    drawing_json_begin(json, "scatter", "Milliseconds of ingest an item, by items that a query runs the network on",
                       "items that a query runs the network on", "milliseconds of ingest an item");
    drawing_json_series(json);
    draw_series(json, plan, true);
    draw_series(json, plan, false);
    json_end(json);
    json_end(json);
    for (int i = 0; i < plan->count; ++i) {
        if (plan->row[i].meets) {
            name_plan(&plan->row[i], text[count]);
            name[count] = text[count];
            seconds[count++] = plan->row[i].seconds;
        }
    }
    drawing_json_bars(json, "Seconds of an ingest and a query, of plans that reach both targets", name, seconds, count);
}

static void print_json(FILE *out, const focus_plan *plan)
{
    json_writer json = json_begin(out, false);
    json_object(&json, NULL);
    json_text(&json, "format", "weft-focus-plan 1");
    json_int(&json, "items", plan->items);
    json_int(&json, "labels", plan->labels);
    json_text(&json, "note",
              "Recall and precision are those of the answers of the expensive network, on items that set no threshold. "
              "focus/front.csv has all figures.");
    json_array(&json, "drawings");
    draw(&json, plan);
    json_end(&json);
    json_end(&json);
    json_line_end(&json);
}

static weft_status write_file(const char *folder, const char *name, const focus_plan *plan, bool table)
{
    char path[FILE_PATH_MAX];
    file_writer writer;
    weft_status status = WEFT_OK;
    WEFT_TRY(file_path(path, "%s/%s", folder, name));
    WEFT_TRY(file_writer_open(path, &writer));
    if (table) {
        status = focus_plan_print(writer.stream, plan);
    } else {
        print_json(writer.stream, plan);
    }
    status = status == WEFT_OK ? file_writer_commit(&writer) : status;
    file_writer_discard(&writer);
    return status;
}

weft_status focus_plan_write(const focus_plan *plan, const char *run, char folder[FILE_PATH_MAX])
{
    char manifest[FILE_PATH_MAX];
    WEFT_TRY(file_path(manifest, "%s/run.json", run));
    WEFT_TRY(file_path(folder, "%s/focus", run));
    if (!file_exists(manifest)) {
        folder[0] = '\0';
        return WEFT_OK;
    }
    WEFT_TRY(folder_make(folder));
    WEFT_TRY(write_file(folder, "front.csv", plan, true));
    return write_file(folder, "plan.json", plan, false);
}

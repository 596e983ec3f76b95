/* app/gnn/bench/spmm_table.c: the table of `weft bench spmm` on stdout, and its list of graphs. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "app/gnn/bench/bench_spmm.h"

static const table_column columns[] = {
    {"graph", CELL_TEXT, true},
    {"vertices", CELL_INT, false},
    {"edges", CELL_INT, false},
    {"threads", CELL_INT, true},
    {"d", CELL_INT, true},
    {"order", CELL_TEXT, true},
    {"wanted", CELL_TEXT, true},
    {"form", CELL_TEXT, true}, /* what auto became */
    {"block_cols", CELL_INT, false},
    {"prepared_bytes", CELL_INT, false},
    {"build_seconds", CELL_REAL, true},
    {"seconds_median", CELL_REAL, true},
    {"seconds_q1", CELL_REAL, true},
    {"seconds_q3", CELL_REAL, true},
    {"n", CELL_INT, true},
    {"gelem_per_s", CELL_REAL, true},
    {"of_best", CELL_REAL, true}, /* its median over the least of the forms measured so far: auto last is auto/best */
    {"bytes_model", CELL_REAL, false},
    {"triad_bytes_per_s", CELL_REAL, false},
    {"percent_of_triad", CELL_REAL, false},
    {"set_bytes", CELL_INT, false}, /* each thread's, at a time */
    {"near_bytes_per_s", CELL_REAL, false},
    {"far_bytes_per_s", CELL_REAL, false},
    {"limit_seconds", CELL_REAL, false},
    {"bound", CELL_TEXT, true}, /* the level that sets the limit */
    {"percent_of_limit", CELL_REAL, true},
    {"rows_bytes_per_s", CELL_REAL, false}, /* of random rows out of those sets */
    {"percent_of_rows", CELL_REAL, true},
    {"percent_of_gemm", CELL_REAL, false},
    {"order_seconds", CELL_REAL, false},
    {"error", CELL_REAL, false}, /* over its bound */
    {"valid", CELL_VALID, true},
};

/* Places in the table above. */
enum { COLUMN_GRAPH = 0, COLUMN_THREADS = 3, COLUMN_D = 4, COLUMN_ORDER = 5, COLUMN_MEDIAN = 11, COLUMN_OF_BEST = 16 };

weft_status bench_table_begin(bench_table *table, const weft_options *options)
{
    static const table_column head_columns[] = {{"bench", CELL_TEXT, true},
                                                {"backend", CELL_TEXT, true},
                                                {"warmup", CELL_INT, true},
                                                {"repeats", CELL_INT, true}};
    table->head = (table_grid){.column = head_columns, .columns = sizeof head_columns / sizeof *head_columns};
    table->grid = (table_grid){.name = "rows", .column = columns, .columns = sizeof columns / sizeof *columns};
    WEFT_TRY(
        table_grid_add(&table->head, (table_cell[]){cell_text("spmm"), cell_text(option_text(options, OPT_BACKEND)),
                                                    cell_int(1), cell_int(option_int(options, OPT_REPEATS))}));
    table->progress = log_progress_begin("bench spmm", "cases", 0.0);
    table_grid_stream(&table->grid, stdout, &table->head, option_choice(options, OPT_FORMAT_OUT));
    return WEFT_OK;
}

/* NaN is above nothing. */
static void tell_above(bench_table *table, double triad, double limit, double rows)
{
    const double most = 105.0;
    if (!table->above && (triad > most || limit > most || rows > most)) {
        table->above = true;
        log_info(
            "percentages above 100: rows come out of caches, which the triad does not use, or the machine was busier "
            "when its limits were taken (weft doctor takes them again)");
    }
}

weft_status bench_table_add(bench_table *table, const bench_row *row)
{
    static const char *const form_names[] = {HAL_SPMM_FORMS(CHOICE_NAME)};
    const bool rated = row->valid && row->seconds.median > 0.0;
    const double elements = (double)table->edges * (double)row->d;
    const double seconds = rated ? row->seconds.median : (double)NAN;
    if (!row->valid && table->invalid++ == 0) {
        snprintf(table->first_invalid, sizeof table->first_invalid,
                 "aggregation of width %" PRId64 " in form %s is wrong: an error of %.3g times its bound", row->d,
                 form_names[row->wanted], row->worst);
    }
    static const int same[] = {COLUMN_GRAPH, COLUMN_THREADS, COLUMN_D, COLUMN_ORDER};
    table_cell cell[] = {cell_text(table->graph),
                         cell_int(table->vertices),
                         cell_int(table->edges),
                         cell_int(table->threads),
                         cell_int(row->d),
                         cell_text(row->order),
                         cell_text(form_names[row->wanted]),
                         cell_text(form_names[row->info.form]),
                         cell_int(row->info.block_cols),
                         cell_int((int64_t)row->info.bytes),
                         cell_real(row->info.build_seconds),
                         cell_real(seconds),
                         cell_real(row->seconds.q1),
                         cell_real(row->seconds.q3),
                         cell_int(row->seconds.count),
                         cell_real(elements / seconds * 1e-9),
                         cell_real((double)NAN),
                         cell_real(row->bytes),
                         cell_real(table->limits.triad),
                         cell_real(100.0 * row->bytes / seconds / table->limits.triad),
                         cell_int((int64_t)row->info.set_bytes),
                         cell_real(row->near > 0.0 ? row->near : (double)NAN),
                         cell_real(row->far > 0.0 ? row->far : (double)NAN),
                         cell_real(row->limit_seconds),
                         cell_text(row->bound),
                         cell_real(100.0 * row->limit_seconds / seconds),
                         cell_real(row->near_rows > 0.0 ? row->near_rows : (double)NAN),
                         cell_real(100.0 * row->rows_seconds / seconds),
                         cell_real(100.0 * 2.0 * elements / seconds / table->limits.gemm),
                         cell_real(table->order_seconds >= 0.0 ? table->order_seconds : (double)NAN),
                         cell_real(row->worst),
                         cell_flag(row->valid)};
    tell_above(table, 100.0 * row->bytes / seconds / table->limits.triad, 100.0 * row->limit_seconds / seconds,
               100.0 * row->rows_seconds / seconds);
    cell[COLUMN_OF_BEST].real =
        seconds / table_grid_least(&table->grid, cell, COLUMN_MEDIAN, same, sizeof same / sizeof *same);
    WEFT_TRY(table_grid_add(&table->grid, cell));
    log_progress_update(&table->progress, table->grid.rows);
    return WEFT_OK;
}

void bench_table_end(bench_table *table, const weft_options *options)
{
    const table_grid none = {.name = "unsupported"};
    table_grid_print(stdout, &table->head, &table->grid, &none, option_choice(options, OPT_FORMAT_OUT));
}

void bench_table_free(bench_table *table)
{
    table_grid_free(&table->head);
    table_grid_free(&table->grid);
}

weft_status bench_data_parse(const char *text, char data[BENCH_DATA_MAX][BENCH_DATA_BYTES], int *count)
{
    *count = 0;
    while (*text != '\0') {
        const size_t length = strcspn(text, ",");
        const char *sign = memchr(text, '=', length);
        char *last = *count > 0 ? data[*count - 1] : NULL;
        WEFT_CHECK(length > 0, WEFT_ERR_USAGE, "--data: an empty name between two commas");
        if (sign != NULL && last != NULL && strncmp(last, "synth:", 6) == 0) {
            const size_t used = strlen(last);
            WEFT_CHECK(used + 1 + length < BENCH_DATA_BYTES, WEFT_ERR_USAGE, "--data: a name of over %d characters",
                       BENCH_DATA_BYTES - 1);
            snprintf(last + used, BENCH_DATA_BYTES - used, ",%.*s", (int)length, text);
        } else {
            WEFT_CHECK(*count < BENCH_DATA_MAX, WEFT_ERR_USAGE, "--data: more than %d graphs", BENCH_DATA_MAX);
            WEFT_CHECK(length < BENCH_DATA_BYTES, WEFT_ERR_USAGE, "--data: a name of over %d characters",
                       BENCH_DATA_BYTES - 1);
            snprintf(data[(*count)++], BENCH_DATA_BYTES, "%.*s", (int)length, text);
        }
        text += length;
        text += *text == ',';
    }
    WEFT_CHECK(*count > 0, WEFT_ERR_USAGE,
               "--data is empty: a graph store, or synth:SPEC such as synth:reddit,scale=0.1");
    return WEFT_OK;
}

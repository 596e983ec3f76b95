/*
 * app/bench/bench_gemm.c: weft bench gemm: the rate of the three products of a linear layer, float32.
 *
 *      weft bench gemm --rows 16384,200000 --dims 64,256 --thread-counts 1,2
 *      weft bench gemm --rows 232965 --inputs 602 --dims 16
 *
 * Lists make a matrix: a row a number of threads, number of rows, inputs, width and product. Each result is checked before its
 * rate is printed (app/bench/gemm_case.c); a wrong one gets no rate and the command ends with exit code 70. Rates are
 * shares of the machine limits: a large square product, and the triad for the least traffic (each matrix once).
 */
#include <inttypes.h>
#include <math.h>

#include "app/bench/bench_gemm.h"
#include "app/bench/team.h"
#include "app/table/grid.h"
#include "base/log.h"

enum { LISTED_MAX = 64 };
static const char *const product_names[GEMM_PRODUCTS] = {"ab", "atb", "abt"};

static const table_column columns[] = {
    {"product", CELL_TEXT, true},
    {"threads", CELL_INT, true},
    {"rows", CELL_INT, true},
    {"inputs", CELL_INT, true},
    {"d", CELL_INT, true},
    {"seconds_median", CELL_REAL, true},
    {"seconds_q1", CELL_REAL, true},
    {"seconds_q3", CELL_REAL, true},
    {"n", CELL_INT, true},
    {"gflop_per_s", CELL_REAL, true},
    {"gemm_flop_per_s", CELL_REAL, false},
    {"percent_of_gemm", CELL_REAL, true},
    {"percent_of_triad", CELL_REAL, true},
    {"error", CELL_REAL, false},
    {"valid", CELL_VALID, true},
};

typedef struct gemm_bench {
    const weft_options *options;
    int64_t threads[BENCH_TEAMS_MAX], rows[LISTED_MAX], inputs[LISTED_MAX], widths[LISTED_MAX];
    int team_count, row_count, input_count, width_count;
    bench_team team;
    table_grid head, grid;
    log_progress progress;
    int invalid;
    char first_invalid[160];
} gemm_bench;

/* ---- the matrix --------------------------------------------------------------------------------------------- */
static weft_status add_row(gemm_bench *b, const gemm_result *r)
{
    const machine_limits *limits = &b->team.limits;
    const double seconds = r->valid ? r->seconds.median : (double)NAN;
    if (!r->valid && b->invalid++ == 0) {
        snprintf(b->first_invalid, sizeof b->first_invalid,
                 "product %s of %" PRId64 " rows, %" PRId64 " inputs and width %" PRId64
                 " is wrong: an error of %.3g times its bound",
                 product_names[r->product], r->rows, r->inputs, r->d, r->worst);
    }
    WEFT_TRY(table_grid_add(
        &b->grid,
        (table_cell[]){cell_text(product_names[r->product]), cell_int(b->team.place.threads), cell_int(r->rows),
                       cell_int(r->inputs), cell_int(r->d), cell_real(r->seconds.median), cell_real(r->seconds.q1),
                       cell_real(r->seconds.q3), cell_int(r->seconds.count), cell_real(r->flops / seconds * 1e-9),
                       cell_real(limits->gemm), cell_real(100.0 * r->flops / seconds / limits->gemm),
                       cell_real(100.0 * r->bytes / seconds / limits->triad), cell_real(r->worst),
                       cell_flag(r->valid)}));
    log_progress_update(&b->progress, b->grid.rows);
    return WEFT_OK;
}

/* The products of one layer; inputs 0: as many as it has outputs. */
static weft_status run_layer(gemm_bench *b, int64_t rows, int64_t inputs, int64_t d)
{
    for (int product = 0; product < GEMM_PRODUCTS; product++) {
        gemm_result result = {
            .product = (gemm_product)product, .rows = rows, .inputs = inputs > 0 ? inputs : d, .d = d};
        WEFT_TRY(bench_gemm_case(b->team.hal, (int)option_int(b->options, OPT_REPEATS), &result));
        if (result.valid) {
            WEFT_TRY(bench_team_saw(&b->team, result.flops / result.seconds.median,
                                    result.bytes / result.seconds.median, result.bytes));
        }
        WEFT_TRY(add_row(b, &result));
    }
    return WEFT_OK;
}

static weft_status run_team(gemm_bench *b)
{
    for (int r = 0; r < b->row_count; r++) {
        for (int i = 0; i < b->input_count; i++) {
            for (int w = 0; w < b->width_count; w++) {
                WEFT_TRY(run_layer(b, b->rows[r], b->inputs[i], b->widths[w]));
            }
        }
    }
    return WEFT_OK;
}

static weft_status begin(gemm_bench *b)
{
    static const table_column head_columns[] = {{"bench", CELL_TEXT, true},
                                                {"backend", CELL_TEXT, true},
                                                {"warmup", CELL_INT, true},
                                                {"repeats", CELL_INT, true}};
    const weft_options *o = b->options;
    b->team_count = bench_thread_counts(o, b->threads);
    b->row_count = option_list(o, OPT_ROWS, b->rows, LISTED_MAX);
    b->input_count = option_list(o, OPT_INPUTS, b->inputs, LISTED_MAX);
    b->width_count = option_list(o, OPT_DIMS, b->widths, LISTED_MAX);
    WEFT_CHECK(b->row_count <= LISTED_MAX && b->input_count <= LISTED_MAX && b->width_count <= LISTED_MAX,
               WEFT_ERR_USAGE, "--rows, --inputs and --dims take at most %d numbers", LISTED_MAX);
    b->head = (table_grid){.column = head_columns, .columns = sizeof head_columns / sizeof *head_columns};
    b->grid = (table_grid){.name = "rows", .column = columns, .columns = sizeof columns / sizeof *columns};
    WEFT_TRY(table_grid_add(&b->head, (table_cell[]){cell_text("gemm"), cell_text(option_text(o, OPT_BACKEND)),
                                                     cell_int(1), cell_int(option_int(o, OPT_REPEATS))}));
    table_grid_stream(&b->grid, stdout, &b->head, option_choice(o, OPT_FORMAT_OUT));
    b->progress = log_progress_begin(
        "bench gemm", "cases", (double)b->team_count * b->row_count * b->input_count * b->width_count * GEMM_PRODUCTS);
    return WEFT_OK;
}

static weft_status run_gemm(gemm_bench *b)
{
    const table_grid none = {.name = "unsupported"};
    binding start;
    WEFT_TRY(bench_one_process("gemm"));
    WEFT_TRY(bench_team_start(&start));
    WEFT_TRY(begin(b));
    for (int t = 0; t < b->team_count; t++) {
        weft_status status = bench_team_open(b->options, &start, (int)b->threads[t], &b->team);
        status = status == WEFT_OK ? run_team(b) : status;
        bench_team_close(&b->team);
        WEFT_TRY(status);
    }
    log_progress_end(&b->progress);
    table_grid_print(stdout, &b->head, &b->grid, &none, option_choice(b->options, OPT_FORMAT_OUT));
    WEFT_CHECK(b->invalid == 0, WEFT_ERR_INTERNAL, "%s", b->first_invalid);
    return WEFT_OK;
}

weft_status bench_gemm(const weft_options *options)
{
    gemm_bench b = {.options = options};
    const weft_status status = run_gemm(&b);
    table_grid_free(&b.head);
    table_grid_free(&b.grid);
    return status;
}

/*
 * app/gnn/bench/spmm_case.c: measuring one form of aggregation: operands, repetitions, and the check without which no
 * rate is printed.
 *
 * The check recomputes sampled rows (evenly spread, and the longest) from the given CSR in double precision
 * (app/bench/bench_check.h): a whole product there would take minutes.
 *
 * The limit is what must move at least, by the measured rate of the level of memory that it sits in
 * (machine/stream.h), and the slower of two levels:
 *   near  a row of x an edge, out of the set that a thread reads again and again (hal_spmm_info: a block's strip, or
 *         what fits the second-level cache): the rate at which every thread reads a set of that size in order; of the
 *         edges that come out of a smaller set, that set's
 *   far   the rows of x that come from beyond those sets, the prepared matrix and out once, and where operands are
 *         moved the moves: the rate at which the threads read as much as x, out and the matrix are together
 * What random rows of the near set would take, as long as those that the form reads out of it, is told beside it: what
 * the order of the edges leaves to a kernel. Sums that a form keeps between its blocks are its own affair and not
 * counted. A last-level cache that holds some of what is far makes more than 100 % possible.
 *
 * Least memory traffic, for the share of the triad's bandwidth: the prepared matrix once, x read once, out written
 * once.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/bench/bench_check.h"
#include "app/gnn/bench/bench_spmm.h"
#include "base/alloc.h"
#include "graph/graph.h"

enum { SAMPLED_ROWS = 128 };

/* Host and device memory of one width; out, x in the matrix's order; given_x, given_out when it is not the given one.
 */
typedef struct bench_operands {
    float *host_x, *host_out; /* in the given order */
    void *x, *out, *given_x, *given_out;
    void *vertex, *position;
} bench_operands;

static void free_operands(weft_hal *hal, bench_operands *o)
{
    weft_free(o->host_x);
    weft_free(o->host_out);
    void *const device[] = {o->x, o->out, o->given_x, o->given_out, o->vertex, o->position};
    for (size_t i = 0; i < sizeof device / sizeof *device; i++) {
        hal->mem.free(hal, device[i]);
    }
}

static weft_status upload_index(weft_hal *hal, const int32_t *index, int64_t count, void **device)
{
    WEFT_TRY(hal->mem.alloc(hal, (size_t)count * sizeof *index, WEFT_MEM_GRAPH, device));
    return hal->mem.upload(hal, *device, index, (size_t)count * sizeof *index);
}

/* to[i,:] = from[index[i],:] */
static weft_status reorder(weft_hal *hal, int64_t rows, int64_t d, const void *index, const void *from, void *to)
{
    const hal_gather_rows_args args = {.x = hal_mat_from(from, WEFT_DTYPE_F32, rows, d, d),
                                       .index = hal_column_from(index, WEFT_DTYPE_I32, rows),
                                       .y = hal_mat_of(to, WEFT_DTYPE_F32, rows, d, d)};
    return hal_gather_rows(hal, &args);
}

static weft_status new_operands(weft_hal *hal, const bench_matrix *matrix, int64_t d, bench_operands *o)
{
    const size_t rows = (size_t)matrix->csr.rows;
    const size_t floats = rows * (size_t)d;
    const size_t bytes = floats * sizeof(float);
    WEFT_TRY(WEFT_NEW(&o->host_x, floats, WEFT_MEM_FEATURE));
    WEFT_TRY(WEFT_NEW(&o->host_out, floats, WEFT_MEM_FEATURE));
    bench_fill(0, o->host_x, (int64_t)floats);
    WEFT_TRY(hal->mem.alloc(hal, bytes, WEFT_MEM_FEATURE, &o->x));
    WEFT_TRY(hal->mem.alloc(hal, bytes, WEFT_MEM_FEATURE, &o->out));
    if (matrix->position == NULL) {
        return hal->mem.upload(hal, o->x, o->host_x, bytes);
    }
    WEFT_TRY(hal->mem.alloc(hal, bytes, WEFT_MEM_FEATURE, &o->given_x));
    WEFT_TRY(hal->mem.alloc(hal, bytes, WEFT_MEM_FEATURE, &o->given_out));
    WEFT_TRY(upload_index(hal, matrix->vertex, matrix->csr.rows, &o->vertex));
    WEFT_TRY(upload_index(hal, matrix->position, matrix->csr.rows, &o->position));
    WEFT_TRY(hal->mem.upload(hal, o->given_x, o->host_x, bytes));
    return reorder(hal, matrix->csr.rows, d, o->vertex, o->given_x, o->x);
}

typedef struct bench_job {
    const bench_team *team;
    weft_hal *hal;
    hal_spmm *spmm;
    const bench_matrix *matrix;
    bench_operands *operands;
    int64_t d;
    bool move; /* operands come in the given order and go back to it */
} bench_job;

static weft_status run_once(void *argument)
{
    const bench_job *job = argument;
    weft_hal *hal = job->hal;
    const bench_operands *o = job->operands;
    const int64_t d = job->d;
    const int64_t rows = job->matrix->csr.rows;
    const hal_spmm_run_args args = {.matrix = job->spmm,
                                    .x = hal_mat_of(o->x, WEFT_DTYPE_F32, job->matrix->csr.cols, d, d),
                                    .out = hal_mat_of(o->out, WEFT_DTYPE_F32, rows, d, d)};
    if (job->move) {
        WEFT_TRY(reorder(hal, rows, d, o->vertex, o->given_x, o->x));
    }
    WEFT_TRY(hal_spmm_run(hal, &args));
    if (job->move) {
        WEFT_TRY(reorder(hal, rows, d, o->position, o->out, o->given_out));
    }
    return hal->stream.sync(hal);
}

/* `worst` or the largest error over its bound in row r of the matrix, which lies in row v of the result. */
static double row_error(const bench_job *job, int64_t r, int64_t v, double worst)
{
    const bench_matrix *matrix = job->matrix;
    const hal_csr *csr = &matrix->csr;
    for (int64_t j = 0; j < job->d; j++) {
        bench_sum sum = {.terms = 0};
        for (int64_t e = csr->offset[r]; e < csr->offset[r + 1]; e++) {
            const int64_t source = matrix->vertex != NULL ? matrix->vertex[csr->column[e]] : csr->column[e];
            bench_sum_add(&sum, (double)job->operands->host_x[source * job->d + j], 1.0);
        }
        worst = bench_sum_worst(worst, &sum, (double)job->operands->host_out[v * job->d + j], 0.0);
    }
    return worst;
}

static int64_t longest_row(const hal_csr *csr)
{
    int64_t longest = 0;
    for (int64_t r = 0; r < csr->rows; r++) {
        const bool longer = csr->offset[r + 1] - csr->offset[r] > csr->offset[longest + 1] - csr->offset[longest];
        longest = longer ? r : longest;
    }
    return longest;
}

static weft_status check_job(const bench_job *job, spmm_row *row)
{
    weft_hal *hal = job->hal;
    const bench_operands *o = job->operands;
    const hal_csr *csr = &job->matrix->csr;
    const size_t bytes = (size_t)csr->rows * (size_t)job->d * sizeof(float);
    WEFT_TRY(hal->mem.download(hal, o->host_out, job->move ? o->given_out : o->out, bytes));
    row->error = 0.0;
    for (int64_t i = 0; i <= SAMPLED_ROWS && csr->rows > 0; i++) {
        const int64_t r = i < SAMPLED_ROWS ? (int64_t)((double)i / SAMPLED_ROWS * (double)csr->rows) : longest_row(csr);
        row->error = row_error(job, r, job->move ? job->matrix->vertex[r] : r, row->error);
    }
    row->valid = row->error <= 1.0;
    return WEFT_OK;
}

static double dense_bytes(const bench_job *job)
{
    const double rows = (double)job->matrix->csr.cols + (double)job->matrix->csr.rows;
    return rows * (double)job->d * sizeof(float);
}

/* Bytes of a row as a run reads it out of its sets: of a strip, or of x. */
static size_t row_in_set(const bench_job *job, const hal_spmm_info *info)
{
    const int64_t cols = job->matrix->csr.cols;
    const int64_t held = info->block_cols < cols ? info->block_cols : cols;
    return info->form == HAL_SPMM_ROWS || held == 0 ? (size_t)job->d * sizeof(float)
                                                    : (size_t)info->set_bytes / (size_t)held;
}

/* Bytes a second: of the two levels of memory; of the smaller set (0: there is none); of rows of both sets in random
 * order. */
typedef struct spmm_rates {
    double near, far, tile, near_rows, tile_rows;
} spmm_rates;

/* Half of what is measured is added: before and after the run, as memory that is shared with other machines comes and
 * goes. */
static weft_status add_rate(const stream_request *request, size_t set, size_t line, double *rate)
{
    double measured = 0.0;
    WEFT_TRY(stream_measure_set(request, set, line, &measured));
    *rate += measured / 2.0;
    return WEFT_OK;
}

static weft_status add_rates(const bench_job *job, const hal_spmm_info *info, spmm_rates *rates)
{
    const bench_team *team = job->team;
    const stream_request request = {
        .threads = team->place.threads, .cpu = team->place.cpu, .thread_node = -1, .memory_node = -1};
    const double passes =
        fmin((double)info->bytes + dense_bytes(job), (double)stream_array_bytes(team->machine.l3_bytes, 1));
    const size_t line = row_in_set(job, info);
    if (info->set_bytes == 0) {
        return WEFT_OK;
    }
    if (info->tile_bytes > 0) {
        WEFT_TRY(add_rate(&request, info->tile_bytes, 0, &rates->tile));
        WEFT_TRY(add_rate(&request, info->tile_bytes, line, &rates->tile_rows));
    }
    WEFT_TRY(add_rate(&request, info->set_bytes, 0, &rates->near));
    WEFT_TRY(add_rate(&request, info->set_bytes, line, &rates->near_rows));
    return add_rate(&request, (size_t)(passes / team->place.threads), 0, &rates->far);
}

/* seconds: NAN of a wrong result. */
static void set_limit(const bench_job *job, const hal_spmm_info *info, const spmm_rates *rates, double seconds,
                      spmm_row *row)
{
    const hal_csr *csr = &job->matrix->csr;
    const double row_bytes = (double)job->d * sizeof(float);
    const double tile = rates->tile > 0.0 ? (double)info->tile_edges * row_bytes : 0.0;
    const double near = (double)csr->offset[csr->rows] * row_bytes - tile;
    /* Least traffic has each row of x once. */
    const double far_seconds = (row->bytes_model + (double)(info->far_edges - csr->cols) * row_bytes) / rates->far;
    const double near_seconds = near / rates->near + (tile > 0.0 ? tile / rates->tile : 0.0);
    const double rows_seconds = near / rates->near_rows + (tile > 0.0 ? tile / rates->tile_rows : 0.0);
    const bool told = rates->near > 0.0 && rates->far > 0.0;
    row->limit_seconds = told ? fmax(near_seconds, far_seconds) : (double)NAN;
    row->bound = !told ? "" : near_seconds > far_seconds ? "near" : "far";
    row->near_bytes_per_s = rates->near > 0.0 ? rates->near : (double)NAN;
    row->far_bytes_per_s = rates->far > 0.0 ? rates->far : (double)NAN;
    row->rows_bytes_per_s = rates->near_rows > 0.0 ? rates->near_rows : (double)NAN;
    row->percent_of_limit = 100.0 * row->limit_seconds / seconds;
    row->percent_of_rows = told ? 100.0 * rows_seconds / seconds : (double)NAN;
}

/* ---- a row ---- */

static const char *const form_names[] = {HAL_SPMM_FORMS(CHOICE_NAME)};

/* NaN is above nothing. */
static void tell_above(spmm_table *table, const spmm_row *row)
{
    const double most = 105.0;
    if (!table->above &&
        (row->percent_of_triad > most || row->percent_of_limit > most || row->percent_of_rows > most)) {
        table->above = true;
        log_info(
            "percentages above 100: rows come out of caches, which the triad does not use, or the machine was busier "
            "when its limits were taken (weft doctor takes them again)");
    }
}

/* The row has its times, the least traffic and the verdict. */
static weft_status add_row(const bench_job *job, hal_spmm_form wanted, const hal_spmm_info *info,
                           const spmm_rates *rates, spmm_table *table, spmm_row *row)
{
    static const char *const same[] = {"graph", "threads", "d", "order", NULL};
    const machine_limits *limits = &job->team->limits;
    const double elements = (double)row->edges * (double)row->d;
    assert(row->d > 0 && row->edges == job->matrix->csr.offset[job->matrix->csr.rows]);
    const double seconds = row->valid && row->seconds_median > 0.0 ? row->seconds_median : (double)NAN;
    if (!row->valid) {
        bench_grid_reject(&table->grid,
                          "aggregation of width %lld in form %s is wrong: an error of %.3g times its bound",
                          (long long)row->d, form_names[wanted], row->error);
    }
    set_limit(job, info, rates, seconds, row);
    row->seconds_median = seconds;
    row->gelem_per_s = elements / seconds * 1e-9;
    row->triad_bytes_per_s = limits->triad;
    row->percent_of_triad = 100.0 * row->bytes_model / seconds / limits->triad;
    row->percent_of_gemm = 100.0 * 2.0 * elements / seconds / limits->gemm;
    row->of_best = seconds / table_grid_least(&table->grid.rows, row, "seconds_median", same);
    tell_above(table, row);
    return bench_grid_add(&table->grid, row);
}

static weft_status measure_case(bench_job *job, hal_spmm_form wanted, spmm_table *table)
{
    const hal_spmm_info info = job->hal->sparse.spmm_info(job->hal, job->spmm);
    spmm_row row = table->common;
    assert(!job->move || job->matrix->position != NULL);
    spmm_rates rates = {.near = 0.0};
    bench_quartiles seconds;
    row.threads = job->team->place.threads;
    row.d = job->d;
    row.order = job->matrix->position == NULL ? "given" : job->move ? "cluster+move" : "cluster";
    row.wanted = form_names[wanted];
    row.form = form_names[info.form];
    row.block_cols = info.block_cols;
    row.prepared_bytes = (int64_t)info.bytes;
    row.build_seconds = info.build_seconds;
    row.set_bytes = (int64_t)info.set_bytes;
    row.bytes_model = (double)info.bytes + (job->move ? 3.0 : 1.0) * dense_bytes(job);
    WEFT_TRY(add_rates(job, &info, &rates));
    WEFT_TRY(bench_time(run_once, job, table->repeats, &seconds));
    WEFT_TRY(add_rates(job, &info, &rates));
    BENCH_SET_SECONDS(&row, seconds);
    WEFT_TRY(check_job(job, &row));
    return add_row(job, wanted, &info, &rates, table, &row);
}

weft_status bench_form(const bench_team *team, const bench_matrix *matrix, hal_spmm_form wanted, int64_t d,
                       spmm_table *table)
{
    weft_status status = WEFT_OK;
    weft_hal *hal = team->hal;
    bench_operands o = {0};
    bench_job job = {.team = team, .hal = hal, .matrix = matrix, .operands = &o, .d = d};
    WEFT_TRY(hal->sparse.spmm_create(hal, &matrix->csr, wanted, d, &job.spmm));
    WEFT_TRY_GOTO(new_operands(hal, matrix, d, &o), status, done);
    WEFT_TRY_GOTO(measure_case(&job, wanted, table), status, done);
    if (matrix->position != NULL) {
        job.move = true;
        status = measure_case(&job, wanted, table);
    }
done:
    free_operands(hal, &o);
    hal->sparse.spmm_destroy(hal, job.spmm);
    return status;
}

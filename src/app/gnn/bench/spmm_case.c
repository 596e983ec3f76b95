/*
 * app/gnn/bench/spmm_case.c: measuring one form of aggregation: operands, repetitions, and the check without which no rate
 * is printed.
 *
 * The check recomputes sampled rows (evenly spread, and the longest) from the given CSR by the loop that defines the
 * operation in the reference backend, in double precision: a whole product there would take minutes. The error
 * of a sum of n floats grows like sqrt(n) when roundings are independent, so a value may be off by TOLERANCE * sqrt(n +
 * 4) roundings of the sum of magnitudes.
 *
 * The limit is what must move at least, by the measured rate of the level of memory that it sits in (machine/stream.h), and
 * the slower of two levels:
 *   near  a row of x an edge, out of the set that a thread reads again and again (hal_spmm_info: a block's strip, or what
 *         fits the second-level cache): the rate at which every thread reads a set of that size in order; of the edges that
 *         come out of a smaller set, that set's
 *   far   the rows of x that come from beyond those sets, the prepared matrix and out once, and where operands are moved the
 *         moves: the rate at which the threads read as much as x, out and the matrix are together
 * What random rows of the near set would take, as long as those that the form reads out of it, is told beside it: what the order
 * of the edges leaves to a kernel.
 * Sums that a form keeps between its blocks are its own affair and not counted. A last-level cache that holds some of what is
 * far makes more than 100 % possible.
 *
 * Least memory traffic, for the share of the triad's bandwidth: the prepared matrix once, x read once, out written once.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/gnn/bench/bench_spmm.h"
#include "base/alloc.h"

enum { SAMPLED_ROWS = 128, TOLERANCE = 4 };

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

/* Values in [-1, 1), the same for every width, form and machine. */
static void fill_random(float *x, int64_t count)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits = (uint32_t)((uint64_t)i * 0x9E3779B97F4A7C15U >> 40);
        x[i] = (float)bits * 0x1p-23F - 1.0F;
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
    fill_random(o->host_x, (int64_t)floats);
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

/* Largest |error| / bound over one row of the given order. */
static double row_error(const bench_matrix *matrix, const bench_operands *o, int64_t d, int64_t r, int64_t v)
{
    const hal_csr *csr = &matrix->csr;
    const int64_t degree = csr->offset[r + 1] - csr->offset[r];
    const double unit = TOLERANCE * sqrt((double)degree + 4.0) * 0x1p-24;
    double worst = 0.0;
    for (int64_t j = 0; j < d; j++) {
        double sum = 0.0;
        double magnitude = 0.0;
        for (int64_t e = csr->offset[r]; e < csr->offset[r + 1]; e++) {
            int64_t source = matrix->vertex != NULL ? matrix->vertex[csr->column[e]] : csr->column[e];
            double value = (double)o->host_x[source * d + j];
            sum += value;
            magnitude += fabs(value);
        }
        double error = fabs((double)o->host_out[v * d + j] - sum) / (unit * magnitude + 0x1p-100);
        worst = error > worst || isnan(error) ? error : worst;
        if (isnan(worst)) {
            return (double)INFINITY;
        }
    }
    return worst;
}

static weft_status check_job(const bench_job *job, bench_row *row)
{
    weft_hal *hal = job->hal;
    bench_operands *o = job->operands;
    const hal_csr *csr = &job->matrix->csr;
    const size_t bytes = (size_t)csr->rows * (size_t)job->d * sizeof(float);
    const void *result = job->move ? o->given_out : o->out;
    WEFT_TRY(hal->mem.download(hal, o->host_out, result, bytes));
    int64_t longest = 0;
    for (int64_t r = 0; r < csr->rows; r++) {
        if (csr->offset[r + 1] - csr->offset[r] > csr->offset[longest + 1] - csr->offset[longest]) {
            longest = r;
        }
    }
    row->worst = 0.0;
    for (int64_t i = 0; i <= SAMPLED_ROWS && csr->rows > 0; i++) {
        int64_t r = i < SAMPLED_ROWS ? (int64_t)((double)i / SAMPLED_ROWS * (double)csr->rows) : longest;
        int64_t v = job->move ? job->matrix->vertex[r] : r; /* where the result of matrix row r lies */
        double error = row_error(job->matrix, o, job->d, r, v);
        row->worst = error > row->worst ? error : row->worst;
    }
    row->valid = row->worst <= 1.0;
    return WEFT_OK;
}

static double dense_bytes(const bench_job *job)
{
    const double rows = (double)job->matrix->csr.cols + (double)job->matrix->csr.rows;
    return rows * (double)job->d * sizeof(float);
}

static double least_bytes(const bench_job *job, const hal_spmm_info *info)
{
    return (double)info->bytes + (job->move ? 3.0 : 1.0) * dense_bytes(job);
}

/* Bytes of a row as a run reads it out of its sets: of a strip, or of x. */
static size_t row_in_set(const bench_job *job, const hal_spmm_info *info)
{
    const int64_t cols = job->matrix->csr.cols;
    const int64_t held = info->block_cols < cols ? info->block_cols : cols;
    return info->form == HAL_SPMM_ROWS || held == 0 ? (size_t)job->d * sizeof(float)
                                                    : (size_t)info->set_bytes / (size_t)held;
}

/* Rates of the two levels, added to those of the row: before and after the run, as memory that is shared with other machines
 * comes and goes. */
static weft_status add_rates(const bench_job *job, bench_row *row)
{
    const bench_team *team = job->team;
    const stream_request request = {
        .threads = team->place.threads, .cpu = team->place.cpu, .thread_node = -1, .memory_node = -1};
    const double passes = (double)row->info.bytes + dense_bytes(job);
    const double most = (double)stream_array_bytes(team->machine.l3_bytes, 1);
    const size_t line = row_in_set(job, &row->info);
    double near, far, near_rows, tile = 0.0, tile_rows = 0.0;
    if (row->info.set_bytes == 0) {
        return WEFT_OK;
    }
    if (row->info.tile_bytes > 0) {
        WEFT_TRY(stream_measure_set(&request, row->info.tile_bytes, 0, &tile));
        WEFT_TRY(stream_measure_set(&request, row->info.tile_bytes, line, &tile_rows));
    }
    WEFT_TRY(stream_measure_set(&request, row->info.set_bytes, 0, &near));
    WEFT_TRY(stream_measure_set(&request, row->info.set_bytes, line, &near_rows));
    WEFT_TRY(stream_measure_set(&request, (size_t)((passes < most ? passes : most) / team->place.threads), 0, &far));
    row->near += near / 2.0;
    row->far += far / 2.0;
    row->tile += tile / 2.0;
    row->near_rows += near_rows / 2.0;
    row->tile_rows += tile_rows / 2.0;
    return WEFT_OK;
}

static void set_limit(const bench_job *job, bench_row *row)
{
    const hal_csr *csr = &job->matrix->csr;
    const double row_bytes = (double)job->d * sizeof(float);
    const double tile = row->tile > 0.0 ? (double)row->info.tile_edges * row_bytes : 0.0;
    const double near = (double)csr->offset[csr->rows] * row_bytes - tile;
    const double near_seconds = near / row->near + (tile > 0.0 ? tile / row->tile : 0.0);
    /* Least traffic has each row of x once. */
    const double far = row->bytes + (double)(row->info.far_edges - csr->cols) * row_bytes;
    const bool near_bound = near_seconds > far / row->far;
    row->limit_seconds = row->rows_seconds = (double)NAN;
    row->bound = "";
    if (row->near > 0.0 && row->far > 0.0) {
        row->limit_seconds = near_bound ? near_seconds : far / row->far;
        row->bound = near_bound ? "near" : "far";
        row->rows_seconds = near / row->near_rows + (tile > 0.0 ? tile / row->tile_rows : 0.0);
    }
}

static weft_status measure_case(bench_job *job, hal_spmm_form wanted, int repeats, bench_table *table)
{
    bench_row row = {.d = job->d, .wanted = wanted, .info = job->hal->sparse.spmm_info(job->hal, job->spmm)};
    row.order = job->matrix->position == NULL ? "given" : job->move ? "cluster+move" : "cluster";
    row.bytes = least_bytes(job, &row.info);
    WEFT_TRY(add_rates(job, &row));
    WEFT_TRY(bench_time(run_once, job, repeats, &row.seconds));
    WEFT_TRY(add_rates(job, &row));
    set_limit(job, &row);
    WEFT_TRY(check_job(job, &row));
    return bench_table_add(table, &row);
}

/* A form prepared for d columns: auto may choose another for each width. */
static weft_status measure_width(const bench_team *team, const bench_matrix *matrix, hal_spmm_form wanted, int64_t d,
                                 int repeats, bench_table *table)
{
    weft_status status = WEFT_OK;
    weft_hal *hal = team->hal;
    bench_operands o = {0};
    bench_job job = {.team = team, .hal = hal, .matrix = matrix, .operands = &o, .d = d};
    WEFT_TRY(hal->sparse.spmm_create(hal, &matrix->csr, wanted, d, &job.spmm));
    WEFT_TRY_GOTO(new_operands(hal, matrix, d, &o), status, done);
    WEFT_TRY_GOTO(measure_case(&job, wanted, repeats, table), status, done);
    if (matrix->position != NULL) {
        job.move = true;
        status = measure_case(&job, wanted, repeats, table);
    }
done:
    free_operands(hal, &o);
    hal->sparse.spmm_destroy(hal, job.spmm);
    return status;
}

weft_status bench_form(const bench_team *team, const bench_matrix *matrix, hal_spmm_form wanted, const int64_t *widths,
                       int count, int repeats, bench_table *table)
{
    for (int i = 0; i < count; i++) {
        WEFT_TRY(measure_width(team, matrix, wanted, widths[i], repeats, table));
    }
    return WEFT_OK;
}

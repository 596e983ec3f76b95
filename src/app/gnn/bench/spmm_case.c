/*
 * app/gnn/bench/spmm_case.c: measuring one form of aggregation. The check recomputes sampled rows (evenly spread, and
 * the longest) from the given CSR: a whole product in double precision would take minutes.
 *
 * The limit is what must move at least, by the measured rate of the level of memory that it sits in
 * (machine/stream.h), and the slower of two levels:
 *   near  a row of x an edge, out of the set that a thread reads again and again (hal_spmm_info: a block's strip, or
 *         what fits the second-level cache): the rate at which every thread reads a set of that size in order; of the
 *         edges that come out of a smaller set, that set's
 *   far   the rows of x that come from beyond those sets, the prepared matrix and out once, and where operands are
 *         moved the moves: the rate at which the threads read as much as x, out and the matrix are together
 * percent_of_rows has random rows of the near set, as long as those that the form reads: what the order of the edges
 * leaves to a kernel. Sums that a form keeps between its blocks are not counted. A last-level cache that holds some of
 * what is far makes more than 100 % possible.
 */
#include <assert.h>
#include <math.h>

#include "app/gnn/bench/bench_spmm.h"
#include "base/alloc.h"

enum { SAMPLED_ROWS = 128 };

/* Arrays of one width on the device. The last four are empty when the matrix has the given order. */
enum { X, OUT, GIVEN_X, GIVEN_OUT, VERTEX, POSITION, ARRAYS };

typedef struct spmm_case {
    const bench_team *team;
    weft_hal *hal;
    const bench_matrix *matrix;
    int64_t d, longest; /* columns of x; the row with most entries */
    hal_spmm *spmm;
    hal_spmm_info info;
    float *host_x, *host_out; /* [rows, d] in the given order */
    weft_tensor t[ARRAYS];
    bool move; /* operands come in the given order and go back to it */
} spmm_case;

static void close_case(spmm_case *c)
{
    for (int i = 0; i < ARRAYS; i++) {
        tensor_destroy(&c->t[i]);
    }
    weft_free(c->host_x);
    weft_free(c->host_out);
    if (c->spmm != NULL) {
        c->hal->sparse.spmm_destroy(c->hal, c->spmm);
    }
}

/* values: NULL leaves the array as it is. */
static weft_status upload(spmm_case *c, int array, weft_dtype dtype, int64_t cols, const void *values)
{
    weft_tensor *t = &c->t[array];
    WEFT_TRY(tensor_create(c->hal, dtype, c->matrix->csr.rows, cols, WEFT_MEM_FEATURE, t));
    return values != NULL ? tensor_upload(t, values) : WEFT_OK;
}

/* to[i,:] = from[index[i],:] */
static weft_status reorder(const spmm_case *c, int index, int from, int to)
{
    return hal_gather_rows(c->hal, &(hal_gather_rows_args){.x = tensor_mat(&c->t[from]),
                                                           .index = tensor_mat(&c->t[index]),
                                                           .y = tensor_mat(&c->t[to])});
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

static weft_status open_case(spmm_case *c, hal_spmm_form wanted)
{
    const bench_matrix *m = c->matrix;
    const int64_t count = m->csr.rows * c->d;
    WEFT_TRY(c->hal->sparse.spmm_create(c->hal, &m->csr, wanted, c->d, &c->spmm));
    c->info = c->hal->sparse.spmm_info(c->hal, c->spmm);
    c->longest = longest_row(&m->csr);
    WEFT_TRY(WEFT_NEW(&c->host_x, count, WEFT_MEM_FEATURE));
    WEFT_TRY(WEFT_NEW(&c->host_out, count, WEFT_MEM_FEATURE));
    bench_fill(0, c->host_x, count);
    WEFT_TRY(upload(c, X, WEFT_DTYPE_F32, c->d, m->position == NULL ? c->host_x : NULL));
    WEFT_TRY(upload(c, OUT, WEFT_DTYPE_F32, c->d, NULL));
    if (m->position == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(upload(c, GIVEN_X, WEFT_DTYPE_F32, c->d, c->host_x));
    WEFT_TRY(upload(c, GIVEN_OUT, WEFT_DTYPE_F32, c->d, NULL));
    WEFT_TRY(upload(c, VERTEX, WEFT_DTYPE_I32, 1, m->vertex));
    WEFT_TRY(upload(c, POSITION, WEFT_DTYPE_I32, 1, m->position));
    return reorder(c, VERTEX, GIVEN_X, X);
}

static weft_status run_once(void *self)
{
    const spmm_case *c = self;
    const hal_spmm_run_args args = {.matrix = c->spmm, .x = tensor_mat(&c->t[X]), .out = tensor_mat(&c->t[OUT])};
    WEFT_TRY(c->move ? reorder(c, VERTEX, GIVEN_X, X) : WEFT_OK);
    WEFT_TRY(hal_spmm_run(c->hal, &args));
    WEFT_TRY(c->move ? reorder(c, POSITION, OUT, GIVEN_OUT) : WEFT_OK);
    return c->hal->stream.sync(c->hal);
}

/* Elements of sampled rows, which are spread evenly; the longest row is the last of them. */
static bench_sum element(const void *self, int64_t at)
{
    const spmm_case *c = self;
    const hal_csr *csr = &c->matrix->csr;
    const int32_t *vertex = c->matrix->vertex;
    const int64_t i = at / c->d, j = at % c->d;
    const int64_t r = i < SAMPLED_ROWS ? (int64_t)((double)i / SAMPLED_ROWS * (double)csr->rows) : c->longest;
    bench_sum sum = {.found = (double)c->host_out[(c->move ? vertex[r] : r) * c->d + j]};
    for (int64_t e = csr->offset[r]; e < csr->offset[r + 1]; e++) {
        const int64_t source = vertex != NULL ? vertex[csr->column[e]] : csr->column[e];
        bench_sum_add(&sum, (double)c->host_x[source * c->d + j], 1.0);
    }
    return sum;
}

/* ---- limits ---- */

static double dense_bytes(const spmm_case *c)
{
    return (double)(c->matrix->csr.cols + c->matrix->csr.rows) * (double)c->d * sizeof(float);
}

/* Bytes of a row as a run reads it out of its sets: of a strip, or of x. */
static size_t row_in_set(const spmm_case *c)
{
    const int64_t cols = c->matrix->csr.cols;
    const int64_t held = c->info.block_cols < cols ? c->info.block_cols : cols;
    return c->info.form == HAL_SPMM_ROWS || held == 0 ? (size_t)c->d * sizeof(float)
                                                      : (size_t)c->info.set_bytes / (size_t)held;
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

static weft_status add_rates(const spmm_case *c, spmm_rates *rates)
{
    const bench_team *team = c->team;
    const hal_spmm_info *info = &c->info;
    const stream_request request = {
        .threads = team->place.threads, .cpu = team->place.cpu, .thread_node = -1, .memory_node = -1};
    const double passes =
        fmin((double)info->bytes + dense_bytes(c), (double)stream_array_bytes(team->machine.l3_bytes, 1));
    const size_t line = row_in_set(c);
    if (info->set_bytes == 0) { /* the backend knows no levels */
        *rates = (spmm_rates){.near = (double)NAN, .far = (double)NAN, .near_rows = (double)NAN};
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

/* Seconds that a run takes at least, by each level, and with random rows of the near sets. bytes: the least traffic,
 * which has each row of x once. */
static void find_limits(const spmm_case *c, const spmm_rates *rates, double bytes, double *near, double *far,
                        double *rows)
{
    const hal_csr *csr = &c->matrix->csr;
    const double row_bytes = (double)c->d * sizeof(float);
    const double tile = rates->tile > 0.0 ? (double)c->info.tile_edges * row_bytes : 0.0;
    const double rest = (double)csr->offset[csr->rows] * row_bytes - tile;
    *near = rest / rates->near + (tile > 0.0 ? tile / rates->tile : 0.0);
    *far = (bytes + (double)(c->info.far_edges - csr->cols) * row_bytes) / rates->far;
    *rows = rest / rates->near_rows + (tile > 0.0 ? tile / rates->tile_rows : 0.0);
}

/* ---- a row ---- */

static const char *const form_names[] = {HAL_SPMM_FORMS(CHOICE_NAME)};

/* NaN is above nothing. */
static void tell_above(spmm_bench *bench, const spmm_row *row)
{
    const double most = 105.0;
    if (!bench->above &&
        (row->percent_of_triad > most || row->percent_of_limit > most || row->percent_of_rows > most)) {
        bench->above = true;
        log_info(
            "percentages above 100: rows come out of caches, which the triad does not use, or the machine was busier "
            "when its limits were taken (weft doctor takes them again)");
    }
}

static weft_status add_row(spmm_bench *bench, const spmm_case *c, hal_spmm_form wanted, const spmm_rates *rates,
                           const bench_result *result)
{
    static const char *const same[] = {"graph", "threads", "d", "order", NULL};
    const machine_limits *limits = &c->team->limits;
    const weft_graph *graph = &bench->graph;
    const char *order = c->matrix->position == NULL ? "given" : c->move ? "cluster+move" : "cluster";
    const double seconds = result->time.seconds.median, elements = (double)graph->edges * (double)c->d;
    const double bytes = (double)c->info.bytes + (c->move ? 3.0 : 1.0) * dense_bytes(c);
    double near = 0.0, far = 0.0, rows = 0.0;
    assert(c->d > 0 && graph->edges == c->matrix->csr.offset[c->matrix->csr.rows]);
    find_limits(c, rates, bytes, &near, &far, &rows);
    const char *bound = isnan(near) ? "" : near > far ? "near" : "far";
    spmm_row row = {BENCH_RESULT(result),
                    .graph = bench->name[bench->run.set],
                    .vertices = graph->vertices,
                    .edges = graph->edges,
                    .threads = c->team->place.threads,
                    .d = c->d,
                    .order = order,
                    .wanted = form_names[wanted],
                    .form = form_names[c->info.form],
                    .block_cols = c->info.block_cols,
                    .prepared_bytes = (int64_t)c->info.bytes,
                    .build_seconds = c->info.build_seconds,
                    .gelem_per_s = elements / seconds * 1e-9,
                    .bytes_model = bytes,
                    .triad_bytes_per_s = limits->triad,
                    .percent_of_triad = 100.0 * bytes / seconds / limits->triad,
                    .set_bytes = (int64_t)c->info.set_bytes,
                    .near_bytes_per_s = rates->near,
                    .far_bytes_per_s = rates->far,
                    .limit_seconds = fmax(near, far),
                    .bound = bound,
                    .percent_of_limit = 100.0 * fmax(near, far) / seconds,
                    .rows_bytes_per_s = rates->near_rows,
                    .percent_of_rows = 100.0 * rows / seconds,
                    .percent_of_gemm = 100.0 * 2.0 * elements / seconds / limits->gemm,
                    .order_seconds = bench->order_seconds};
    row.of_best = seconds / table_grid_least(&bench->run.rows, &row, "seconds_median", same);
    tell_above(bench, &row);
    return bench_add(&bench->run, &row);
}

static weft_status measure(spmm_bench *bench, spmm_case *c, hal_spmm_form wanted)
{
    const int64_t sampled = c->matrix->csr.rows > 0 ? (SAMPLED_ROWS + 1) * c->d : 0;
    bench_case timed = {.side = {run_once, c, NULL},
                        .result = &c->t[c->move ? GIVEN_OUT : OUT],
                        .host = c->host_out,
                        .samples = sampled,
                        .elements = sampled,
                        .element = element};
    bench_result result;
    spmm_rates rates = {.near = 0.0};
    assert(!c->move || c->matrix->position != NULL);
    snprintf(timed.what, sizeof timed.what, "aggregation of width %lld in form %s", (long long)c->d,
             form_names[wanted]);
    WEFT_TRY(add_rates(c, &rates));
    WEFT_TRY(bench_measure(&bench->run, &timed, &result));
    WEFT_TRY(add_rates(c, &rates));
    return add_row(bench, c, wanted, &rates, &result);
}

weft_status bench_form(spmm_bench *bench, const bench_matrix *matrix, hal_spmm_form wanted, int64_t d)
{
    const bench_team *team = bench->run.team;
    spmm_case c = {.team = team, .hal = team->hal, .matrix = matrix, .d = d};
    weft_status status = open_case(&c, wanted);
    status = status == WEFT_OK ? measure(bench, &c, wanted) : status;
    if (status == WEFT_OK && matrix->position != NULL) {
        c.move = true;
        status = measure(bench, &c, wanted);
    }
    close_case(&c);
    return status;
}

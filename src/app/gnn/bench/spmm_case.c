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

static int64_t longest_row(const hal_csr *csr)
{
    int64_t longest = 0;
    for (int64_t r = 0; r < csr->rows; r++) {
        const bool longer = csr->offset[r + 1] - csr->offset[r] > csr->offset[longest + 1] - csr->offset[longest];
        longest = longer ? r : longest;
    }
    return longest;
}

static weft_status upload_index(spmm_case *c, const int32_t *index, weft_tensor *t)
{
    WEFT_TRY(tensor_create(c->hal, WEFT_DTYPE_I32, c->csr.rows, 1, WEFT_MEM_FEATURE, t));
    return tensor_upload(t, index);
}

/* to[i,:] = from[index[i],:] */
static weft_status reorder(const spmm_case *c, const weft_tensor *index, const bench_array *from, const bench_array *to)
{
    return hal_gather_rows(
        c->hal,
        &(hal_gather_rows_args){.x = tensor_mat(&from->on), .index = tensor_mat(index), .y = tensor_mat(&to->on)});
}

weft_status spmm_case_open(bench_run *run, void *self)
{
    spmm_case *c = self;
    spmm_bench *b = (spmm_bench *)run;
    const weft_graph *graph = &b->graph.graph;
    const weft_part *part = &b->graph.part;
    const bool ordered = run->at[ORDER] > 0;
    const int64_t n = graph->vertices, d = run->at[WIDTH];
    *c = (spmm_case){.hal = run->context->hal,
                     .csr = {.rows = n,
                             .cols = n,
                             .offset = ordered ? part->offset : graph->offset,
                             .column = ordered ? part->source : graph->source32},
                     .vertex = ordered ? b->vertex : NULL,
                     .d = d};
    WEFT_TRY(c->hal->sparse.spmm_create(c->hal, &c->csr, (hal_spmm_form)run->at[FORM], d, &c->spmm));
    c->info = c->hal->sparse.spmm_info(c->hal, c->spmm);
    c->longest = longest_row(&c->csr);
    WEFT_TRY(bench_array_create(c->hal, WEFT_DTYPE_F32, n, d, &c->x));
    WEFT_TRY(bench_array_create(c->hal, WEFT_DTYPE_F32, n, d, &c->out));
    bench_fill(0, c->x.host, n * d);
    WEFT_TRY(bench_array_upload(&c->x));
    if (!ordered) {
        return WEFT_OK;
    }
    WEFT_TRY(bench_array_create(c->hal, WEFT_DTYPE_F32, n, d, &c->own_x));
    WEFT_TRY(bench_array_create(c->hal, WEFT_DTYPE_F32, n, d, &c->own_out));
    WEFT_TRY(upload_index(c, b->vertex, &c->vertices));
    WEFT_TRY(upload_index(c, b->position, &c->positions));
    return reorder(c, &c->vertices, &c->x, &c->own_x);
}

void spmm_case_close(void *self)
{
    spmm_case *c = self;
    bench_array_free(&c->x);
    bench_array_free(&c->out);
    bench_array_free(&c->own_x);
    bench_array_free(&c->own_out);
    TENSOR_DESTROY_ALL(&c->vertices, &c->positions);
    if (c->spmm != NULL) {
        c->hal->sparse.spmm_destroy(c->hal, c->spmm);
    }
}

static weft_status run_once(void *self)
{
    const spmm_case *c = self;
    const bench_array *x = c->vertex != NULL ? &c->own_x : &c->x, *out = c->vertex != NULL ? &c->own_out : &c->out;
    WEFT_TRY(c->move ? reorder(c, &c->vertices, &c->x, x) : WEFT_OK);
    WEFT_TRY(hal_spmm_run(
        c->hal, &(hal_spmm_run_args){.matrix = c->spmm, .x = tensor_mat(&x->on), .out = tensor_mat(&out->on)}));
    WEFT_TRY(c->move ? reorder(c, &c->positions, out, &c->out) : WEFT_OK);
    return c->hal->stream.sync(c->hal);
}

/* Elements of sampled rows, which are spread evenly; the longest row is the last of them. */
static bench_sum element(const void *self, int64_t at)
{
    const spmm_case *c = self;
    const hal_csr *csr = &c->csr;
    const int32_t *vertex = c->vertex;
    const int64_t i = at / c->d, j = at % c->d;
    const int64_t r = i < SAMPLED_ROWS ? (int64_t)((double)i / SAMPLED_ROWS * (double)csr->rows) : c->longest;
    bench_sum sum = {.found = (double)c->result->host[(c->move ? vertex[r] : r) * c->d + j]};
    for (int64_t e = csr->offset[r]; e < csr->offset[r + 1]; e++) {
        const int64_t source = vertex != NULL ? vertex[csr->column[e]] : csr->column[e];
        bench_sum_add(&sum, (double)c->x.host[source * c->d + j], 1.0);
    }
    return sum;
}

/* ---- limits ---- */

static double dense_bytes(const spmm_case *c)
{
    return (double)(c->csr.cols + c->csr.rows) * (double)c->d * sizeof(float);
}

/* Bytes of a row as a run reads it out of its sets: of a strip, or of x. */
static size_t row_in_set(const spmm_case *c)
{
    const int64_t cols = c->csr.cols;
    const int64_t held = c->info.block_cols < cols ? c->info.block_cols : cols;
    return c->info.form == HAL_SPMM_ROWS || held == 0 ? (size_t)c->d * sizeof(float)
                                                      : (size_t)c->info.set_bytes / (size_t)held;
}

/* Bytes a second of sets: the two levels of memory, and the smaller set; and of rows of sets in random order. */
enum { NEAR, FAR, TILE, NEAR_ROWS, TILE_ROWS, RATES };

/* Half of what is measured is added: before and after the run, as memory that is shared with other machines comes and
 * goes. NaN: the backend knows no levels. */
static weft_status add_rates(const app_context *at, const spmm_case *c, double rate[RATES])
{
    const hal_spmm_info *info = &c->info;
    const stream_request request = {
        .threads = at->placement.threads, .cpu = at->placement.cpu, .thread_node = -1, .memory_node = -1};
    const double passes =
        fmin((double)info->bytes + dense_bytes(c), (double)stream_array_bytes(at->machine.l3_bytes, 1));
    const size_t line = row_in_set(c), set[RATES] = {[NEAR] = info->set_bytes,
                                                     [FAR] = (size_t)(passes / at->placement.threads),
                                                     [TILE] = info->tile_bytes,
                                                     [NEAR_ROWS] = info->set_bytes,
                                                     [TILE_ROWS] = info->tile_bytes};
    for (int i = 0; i < RATES; i++) {
        double measured = info->set_bytes == 0 ? (double)NAN : 0.0;
        if (info->set_bytes > 0 && set[i] > 0) {
            WEFT_TRY(stream_measure_set(&request, set[i], i >= NEAR_ROWS ? line : 0, &measured));
        }
        rate[i] += measured / 2.0;
    }
    return WEFT_OK;
}

/* Seconds that a run takes at least, by each level, and with random rows of the near sets. bytes: the least traffic,
 * which has each row of x once. */
static void find_limits(const spmm_case *c, const double rate[RATES], double bytes, double *near, double *far,
                        double *rows)
{
    const hal_csr *csr = &c->csr;
    const double row_bytes = (double)c->d * sizeof(float);
    const double tile = rate[TILE] > 0.0 ? (double)c->info.tile_edges * row_bytes : 0.0;
    const double rest = (double)csr->offset[csr->rows] * row_bytes - tile;
    *near = rest / rate[NEAR] + (tile > 0.0 ? tile / rate[TILE] : 0.0);
    *far = (bytes + (double)(c->info.far_edges - csr->cols) * row_bytes) / rate[FAR];
    *rows = rest / rate[NEAR_ROWS] + (tile > 0.0 ? tile / rate[TILE_ROWS] : 0.0);
}

/* ---- a row ---- */

/* NaN is above nothing. */
static void tell_above(spmm_bench *bench, double triad, double limit, double rows)
{
    if (!bench->above && (triad > 1.05 || limit > 1.05 || rows > 1.05)) {
        bench->above = true;
        log_info(
            "percentages above 100: rows come out of caches, which the triad does not use, or the machine was busier "
            "when its limits were taken (weft doctor takes them again)");
    }
}

static weft_status add_row(spmm_bench *bench, const spmm_case *c, const double rate[RATES], const bench_result *result)
{
    static const char *const same[] = {"graph", "threads", "d", "order", NULL};
    static const char *const form_names[] = {HAL_SPMM_FORMS(CHOICE_NAME)};
    bench_run *run = &bench->run;
    const machine_limits *limits = &run->limits;
    const weft_graph *graph = &bench->graph.graph;
    const double seconds = result->time.seconds.median, elements = (double)graph->edges * (double)c->d;
    const double bytes = (double)c->info.bytes + (c->move ? 3.0 : 1.0) * dense_bytes(c);
    const double triad = bytes / seconds / limits->triad;
    double near = 0.0, far = 0.0, rows = 0.0;
    assert(c->d > 0 && graph->edges == c->csr.offset[c->csr.rows]);
    find_limits(c, rate, bytes, &near, &far, &rows);
    const double limit = fmax(near, far);
    tell_above(bench, triad, limit / seconds, rows / seconds);
    return bench_add_best(run,
                          &(spmm_row){BENCH_RESULT(result),
                                      .graph = bench->name[run->set],
                                      .vertices = graph->vertices,
                                      .edges = graph->edges,
                                      .threads = run->context->placement.threads,
                                      .d = c->d,
                                      .order = c->vertex == NULL ? "given"
                                               : c->move         ? "cluster+move"
                                                                 : "cluster",
                                      .wanted = form_names[run->at[FORM]],
                                      .form = form_names[c->info.form],
                                      .block_cols = c->info.block_cols,
                                      .prepared_bytes = (int64_t)c->info.bytes,
                                      .build_seconds = c->info.build_seconds,
                                      .gelem_per_s = elements / seconds * 1e-9,
                                      .bytes_model = bytes,
                                      .triad_bytes_per_s = limits->triad,
                                      .percent_of_triad = 100.0 * triad,
                                      .set_bytes = (int64_t)c->info.set_bytes,
                                      .near_bytes_per_s = rate[NEAR],
                                      .far_bytes_per_s = rate[FAR],
                                      .limit_seconds = limit,
                                      .bound = isnan(near)  ? ""
                                               : near > far ? "near"
                                                            : "far",
                                      .percent_of_limit = 100.0 * limit / seconds,
                                      .rows_bytes_per_s = rate[NEAR_ROWS],
                                      .percent_of_rows = 100.0 * rows / seconds,
                                      .percent_of_gemm = 100.0 * 2.0 * elements / seconds / limits->gemm,
                                      .order_seconds = bench->order_seconds},
                          same);
}

static weft_status measure(bench_run *run, spmm_case *c)
{
    const int64_t sampled = c->csr.rows > 0 ? (SAMPLED_ROWS + 1) * c->d : 0;
    bench_case timed = {
        .side = {run_once, c, NULL}, .result = c->result, .samples = sampled, .elements = sampled, .element = element};
    bench_result result;
    double rate[RATES] = {0.0};
    snprintf(timed.what, sizeof timed.what, "aggregation of width %lld in form %s", (long long)c->d,
             run->axis[FORM].name[run->place[FORM]]);
    WEFT_TRY(add_rates(run->context, c, rate));
    WEFT_TRY(bench_measure(run, &timed, &result));
    WEFT_TRY(add_rates(run->context, c, rate));
    return add_row((spmm_bench *)run, c, rate, &result);
}

weft_status spmm_case_measure(bench_run *run, void *self)
{
    spmm_case *c = self;
    c->result = c->vertex != NULL ? &c->own_out : &c->out;
    WEFT_TRY(measure(run, c));
    c->move = c->vertex != NULL;
    c->result = &c->out;
    return c->move ? measure(run, c) : WEFT_OK;
}

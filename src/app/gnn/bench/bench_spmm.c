/*
 * app/gnn/bench/bench_spmm.c: weft bench spmm: the rate of neighbour aggregation (out = A x, float32).
 *
 *      weft bench spmm --data reddit.weft,synth:arxiv --thread-counts 1,2,4 --dims 64,256 --forms all
 *
 * A row a graph, number of threads, vertex order, form and width: edge elements a second (E * d / t) and shares of
 * limits. --reorder cluster measures the library's vertex order, once with operands that live in it and once gathering
 * them from the given order and back; auto does so for graphs that training clusters. The check recomputes sampled rows
 * (evenly spread, and the longest) from the CSR: a whole product in double precision would take minutes.
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
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/gnn/bench/bench_spmm.h"
#include "app/gnn/data/graph_data.h"
#include "base/alloc.h"
#include "gnn/data/generate/generator.h"
#include "partition/reorder.h"
#include "tensor/tensor_fixed.h"

/*
 * form            the form that ran: auto has chosen one
 * order           "given", "cluster", or "cluster+move": operands are gathered into the order and back
 * of_best         the median over the smallest median of the forms so far; of auto, measured last: auto/best
 * bytes_model     least memory traffic of a run: the prepared matrix, x and out once
 * set_bytes       bytes that each thread reads again and again
 * bound           the level of memory that sets the limit
 * percent_of_rows of the time that random rows out of those sets would take
 * error           the largest error of the sampled rows over its bound
 */
/* clang-format off */
#define SPMM_ROW(C)                                                                                                    \
    C(TEXT, graph, true) C(INT, vertices, false) C(INT, edges, false) C(INT, threads, true) C(INT, d, true)            \
    C(TEXT, order, true) C(TEXT, wanted, true) C(TEXT, form, true) C(INT, block_cols, false)                           \
    C(INT, prepared_bytes, false) C(REAL, build_seconds, true) BENCH_SECONDS(C) C(REAL, gelem_per_s, true)             \
    C(REAL, of_best, true) C(REAL, bytes_model, false) C(REAL, triad_bytes_per_s, false)                               \
    C(REAL, percent_of_triad, false) C(INT, set_bytes, false) C(REAL, near_bytes_per_s, false)                         \
    C(REAL, far_bytes_per_s, false) C(REAL, limit_seconds, false) C(TEXT, bound, true)                                 \
    C(REAL, percent_of_limit, true) C(REAL, rows_bytes_per_s, false) C(REAL, percent_of_rows, true)                    \
    C(REAL, percent_of_gemm, false) C(REAL, order_seconds, false) C(REAL, error, false) C(VALID, valid, true)
/* clang-format on */
TABLE_ROW(spmm_row, SPMM_ROW);

enum { ORDER, FORM, WIDTH };              /* axes; forms are those of hal_spmm_form */
enum { GIVEN, CLUSTERED, MOVED, ORDERS }; /* values of the axis ORDER */
enum { SAMPLED_ROWS = 128 };

typedef struct spmm_bench {
    bench_run run; /* a set is a graph */
    char data[SPMM_DATA_MAX][SPMM_DATA_BYTES];
    char name[SPMM_DATA_MAX][64]; /* of the graphs */
    graph_data graph;             /* open while its cases are measured */
    int32_t *position, *vertex;   /* [vertices] of graph.part: place of each given vertex, and its inverse */
    double order_seconds;         /* what making that order took; NaN: not made yet */
    bool above;                   /* the log has explained percentages above 100 */
} spmm_bench;

/* One form of aggregation of one width. */
typedef struct spmm_case {
    weft_hal *hal;
    hal_csr csr;
    int64_t d, longest; /* columns of x; the row with most entries */
    hal_spmm *spmm;
    hal_spmm_info info;
    bench_array x, out;   /* [rows, d] */
    tensor_quanta quanta; /* of the form i16 */
    int32_t most;
    /* MOVED: x and out are in the given order and go through own_x and own_out, [rows, d] in the matrix's order. */
    const int32_t *vertex; /* [rows] the given vertex of each row; NULL: x and out are in the matrix's order */
    weft_tensor own_x, own_out, vertices, positions; /* vertices, positions: [rows, 1] */
} spmm_case;

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

weft_status bench_data_parse(const char *text, char data[SPMM_DATA_MAX][SPMM_DATA_BYTES], int *count)
{
    *count = 0;
    while (*text != '\0') {
        const size_t length = strcspn(text, ",");
        WEFT_CHECK(length > 0, WEFT_ERR_USAGE, "--data: an empty name between two commas");
        const bool more = *count > 0 && memchr(text, '=', length) != NULL && generator_named(data[*count - 1]);
        WEFT_CHECK(more || *count < SPMM_DATA_MAX, WEFT_ERR_USAGE, "--data: more than %d graphs", SPMM_DATA_MAX);
        char *name = more ? data[*count - 1] : data[(*count)++];
        const size_t used = more ? strlen(name) : 0;
        WEFT_CHECK(used + more + length < SPMM_DATA_BYTES, WEFT_ERR_USAGE, "--data: a name of over %d characters",
                   SPMM_DATA_BYTES - 1);
        snprintf(name + used, SPMM_DATA_BYTES - used, "%s%.*s", more ? "," : "", (int)length, text);
        text += length;
        text += *text == ',';
    }
    WEFT_CHECK(*count > 0, WEFT_ERR_USAGE,
               "weft bench spmm needs --data: a graph store, or synth:SPEC such as synth:reddit,scale=0.1");
    return WEFT_OK;
}

static weft_status begin(bench_run *run)
{
    spmm_bench *b = (spmm_bench *)run;
    const weft_options *o = run->options;
    const bool listed = option_is_set(o, OPT_FORMS);
    WEFT_TRY(bench_data_parse(option_text(o, OPT_DATA), b->data, &run->sets));
    bench_axis_numbers(o, OPT_DIMS, &run->axis[WIDTH]);
    return bench_axis_names(listed ? "--forms" : "--spmm", option_text(o, listed ? OPT_FORMS : OPT_SPMM),
                            option_row_in(o, OPT_SPMM)->choices, &run->axis[FORM]);
}

/* A generated graph lives in a temporary store for the time of its cases. The generator uses the threads of the first
 * team. */
static weft_status open_graph(spmm_bench *b)
{
    const char *temporary = getenv("TMPDIR"), *data = b->data[b->run.set];
    app_context context = *b->run.context;
    weft_options *options = NULL;
    WEFT_TRY(option_copy(context.options, &options));
    context.options = options;
    weft_status status = option_assign(options, "data", data);
    if (status == WEFT_OK) {
        status = graph_data_open(&context, temporary != NULL && *temporary != '\0' ? temporary : "/tmp", &b->graph);
    }
    option_destroy(options);
    WEFT_TRY(status);
    const weft_graph *graph = &b->graph.graph;
    WEFT_CHECK(graph->source32 != NULL || graph->edges == 0, WEFT_ERR_UNSUPPORTED,
               "%s: %" PRId64 " vertices; aggregation takes 32-bit ids", data, graph->vertices);
    memcpy(b->name[b->run.set], graph->name, sizeof b->name[0]);
    b->order_seconds = (double)NAN;
    return WEFT_OK;
}

static void close_graph(bench_run *run)
{
    spmm_bench *b = (spmm_bench *)run;
    graph_data_close(&b->graph);
    WEFT_FREE_ALL(b->position, b->vertex);
    b->position = b->vertex = NULL;
}

/* The whole graph in the order in which training would cut it. */
static weft_status order_graph(spmm_bench *b)
{
    const weft_graph *graph = &b->graph.graph;
    const weft_partition whole = {.parts = 1, .method = "whole", .vertices = graph->vertices, .edges = graph->edges};
    WEFT_TRY(graph_cluster_order(graph, 0, b->run.context->placement.threads, &b->position, &b->order_seconds));
    WEFT_TRY(part_extract(graph, &whole, 0, b->position, PART_IN_ORDER, &b->graph.part));
    WEFT_TRY(WEFT_NEW(&b->vertex, graph->vertices, WEFT_MEM_GRAPH));
    for (int64_t v = 0; v < graph->vertices; v++) {
        assert(b->graph.part.gid[b->position[v]] == v);
        b->vertex[b->position[v]] = (int32_t)v;
    }
    return WEFT_OK;
}

static weft_status enter(bench_run *run)
{
    spmm_bench *b = (spmm_bench *)run;
    WEFT_TRY(b->graph.graph.mapping != NULL ? WEFT_OK : open_graph(b));
    const bool ordered = graph_data_wants_clustering(run->options, &b->graph.graph);
    run->axis[ORDER].count = ordered ? ORDERS : 1;
    return ordered && b->position == NULL ? order_graph(b) : WEFT_OK;
}

/* ---- a case ------------------------------------------------------------------------------------------------------ */

static int64_t longest_row(const hal_csr *csr)
{
    int64_t longest = 0;
    for (int64_t r = 0; r < csr->rows; r++) {
        const bool longer = csr->offset[r + 1] - csr->offset[r] > csr->offset[longest + 1] - csr->offset[longest];
        longest = longer ? r : longest;
    }
    return longest;
}

static int64_t longest_entries(const hal_csr *csr, int64_t row)
{
    return csr->rows > 0 ? csr->offset[row + 1] - csr->offset[row] : 0;
}

static weft_status open_case(bench_run *run, void *self)
{
    spmm_case *c = self;
    spmm_bench *b = (spmm_bench *)run;
    const weft_graph *graph = &b->graph.graph;
    const weft_part *part = &b->graph.part;
    const bool ordered = run->at[ORDER] != GIVEN;
    const int64_t n = graph->vertices, d = run->at[WIDTH];
    c->hal = run->context->hal;
    c->csr.rows = c->csr.cols = n;
    c->csr.offset = ordered ? part->offset : graph->offset;
    c->csr.column = ordered ? part->source : graph->source32;
    c->d = d;
    c->longest = longest_row(&c->csr);
    WEFT_TRY(c->hal->sparse.spmm_create(c->hal, &c->csr, (hal_spmm_form)run->at[FORM], d, &c->spmm));
    c->info = c->hal->sparse.spmm_info(c->hal, c->spmm);
    c->most = hal_fixed_most(longest_entries(&c->csr, c->longest));
    WEFT_TRY(c->info.form == HAL_SPMM_I16 ? tensor_quanta_create(c->hal, d, &c->quanta) : WEFT_OK);
    WEFT_TRY(bench_array_input(c->hal, 0, n, d, &c->x));
    WEFT_TRY(bench_array_create(c->hal, WEFT_DTYPE_F32, n, d, &c->out));
    if (run->at[ORDER] != MOVED) {
        return WEFT_OK;
    }
    c->vertex = b->vertex;
    WEFT_TRY(tensor_create(c->hal, WEFT_DTYPE_F32, n, d, WEFT_MEM_WORKSPACE, &c->own_x));
    WEFT_TRY(tensor_create(c->hal, WEFT_DTYPE_F32, n, d, WEFT_MEM_WORKSPACE, &c->own_out));
    WEFT_TRY(tensor_create(c->hal, WEFT_DTYPE_I32, n, 1, WEFT_MEM_FEATURE, &c->vertices));
    WEFT_TRY(tensor_create(c->hal, WEFT_DTYPE_I32, n, 1, WEFT_MEM_FEATURE, &c->positions));
    WEFT_TRY(tensor_upload(&c->vertices, b->vertex));
    return tensor_upload(&c->positions, b->position);
}

static void close_case(void *self)
{
    spmm_case *c = self;
    bench_array_free(&c->x);
    bench_array_free(&c->out);
    tensor_quanta_destroy(&c->quanta);
    TENSOR_DESTROY_ALL(&c->own_x, &c->own_out, &c->vertices, &c->positions);
    if (c->spmm != NULL) {
        c->hal->sparse.spmm_destroy(c->hal, c->spmm);
    }
}

/* to[i,:] = from[index[i],:] */
static weft_status reorder(const spmm_case *c, const weft_tensor *index, const weft_tensor *from, const weft_tensor *to)
{
    return hal_gather_rows(
        c->hal, &(hal_gather_rows_args){.x = tensor_mat(from), .index = tensor_mat(index), .y = tensor_mat(to)});
}

/* out = A x, of i16 with quanta that are found anew, as a layer does it. */
static weft_status multiply(spmm_case *c, const weft_tensor *x, const weft_tensor *out)
{
    if (c->info.form != HAL_SPMM_I16) {
        return hal_spmm_run(c->hal,
                            &(hal_spmm_run_args){.matrix = c->spmm, .x = tensor_mat(x), .out = tensor_mat(out)});
    }
    const tensor_sparse a = {.spmm = c->spmm, .rows = c->csr.rows, .cols = c->csr.cols};
    weft_tensor to = *out;
    WEFT_TRY(tensor_quanta_measure(&c->quanta, x, NULL));
    WEFT_TRY(tensor_quanta_set(&c->quanta, c->most, c->d));
    return tensor_fixed_run(&a, x, &c->quanta, &(tensor_spmm_terms){.beta = 0.0}, &to);
}

static weft_status run_once(void *self)
{
    spmm_case *c = self;
    const bool moved = c->vertex != NULL;
    const weft_tensor *x = moved ? &c->own_x : &c->x.on, *out = moved ? &c->own_out : &c->out.on;
    WEFT_TRY(moved ? reorder(c, &c->vertices, &c->x.on, x) : WEFT_OK);
    WEFT_TRY(multiply(c, x, out));
    WEFT_TRY(moved ? reorder(c, &c->positions, out, &c->out.on) : WEFT_OK);
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
    bench_sum sum = {.found = (double)c->out.host[(vertex != NULL ? vertex[r] : r) * c->d + j]};
    for (int64_t e = csr->offset[r]; e < csr->offset[r + 1]; e++) {
        const int64_t source = vertex != NULL ? vertex[csr->column[e]] : csr->column[e];
        const double quantum = c->info.form == HAL_SPMM_I16 ? (double)c->quanta.host[j] : 0.0;
        const double x = (double)c->x.host[source * c->d + j];
        bench_sum_add(&sum, quantum > 0.0 ? nearbyint(x / quantum) * quantum : x, 1.0);
    }
    return sum;
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

static double dense_bytes(const spmm_case *c)
{
    return (double)(c->csr.cols + c->csr.rows) * (double)c->d * sizeof(float);
}

/* Bytes of a row as a run reads it out of its sets: of a strip, beside which partial sums lie, or of x. */
static size_t row_in_set(const spmm_case *c)
{
    const int64_t cols = c->csr.cols + c->info.sums;
    const int64_t held = c->info.block_cols < c->csr.cols ? c->info.block_cols : cols;
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

/* Seconds that a run takes at least, by each level, and with random rows of the near sets. */
typedef struct spmm_limits {
    double near, far, rows;
} spmm_limits;

/* bytes: the least traffic, which has each row of x once. A row is read for each edge, or for each read that is left
 * where sums are shared, in 16 bits a number by the form i16. */
static spmm_limits find_limits(const spmm_case *c, const double rate[RATES], double bytes)
{
    const hal_csr *csr = &c->csr;
    const bool shares = c->info.form == HAL_SPMM_SHARED;
    const double row_bytes = (double)c->d * (c->info.form == HAL_SPMM_I16 ? sizeof(int16_t) : sizeof(float));
    const double tile = rate[TILE] > 0.0 ? (double)c->info.tile_edges * row_bytes : 0.0;
    const double rest = (double)(shares ? c->info.reads : csr->offset[csr->rows]) * row_bytes - tile;
    return (spmm_limits){.near = rest / rate[NEAR] + (tile > 0.0 ? tile / rate[TILE] : 0.0),
                         .far = (bytes + (double)(c->info.far_edges - csr->cols) * row_bytes) / rate[FAR],
                         .rows = rest / rate[NEAR_ROWS] + (tile > 0.0 ? tile / rate[TILE_ROWS] : 0.0)};
}

/* ---- a row ------------------------------------------------------------------------------------------------------- */

static weft_status add_row(spmm_bench *bench, const spmm_case *c, const double rate[RATES], const bench_result *result)
{
    static const char *const same[] = {"graph", "threads", "d", "order", NULL};
    static const char *const order[ORDERS] = {"given", "cluster", "cluster+move"};
    static const char *const form[] = {HAL_SPMM_FORMS(CHOICE_NAME)};
    bench_run *run = &bench->run;
    const machine_limits *limits = &run->limits;
    const weft_graph *graph = &bench->graph.graph;
    const double seconds = result->time.seconds.median, elements = (double)graph->edges * (double)c->d;
    const double bytes = (double)c->info.bytes + (c->vertex != NULL ? 3.0 : 1.0) * dense_bytes(c);
    const double triad = bytes / seconds / limits->triad;
    const spmm_limits least = find_limits(c, rate, bytes);
    const double limit = fmax(least.near, least.far);
    const char *bound = isnan(least.near) ? "" : least.near > least.far ? "near" : "far";
    assert(c->d > 0 && graph->edges == c->csr.offset[c->csr.rows]);
    if (!bench->above && fmax(triad, fmax(limit, least.rows) / seconds) > 1.05) {
        bench->above = true;
        log_info(
            "percentages above 100: rows come out of caches, which the triad does not use, or the machine was busier "
            "when its limits were taken (weft doctor takes them again)");
    }
    /* clang-format off */
    spmm_row row = {
        BENCH_RESULT(result), .graph = bench->name[run->set], .vertices = graph->vertices, .edges = graph->edges,
        .threads = run->context->placement.threads, .d = c->d, .order = order[run->at[ORDER]],
        .order_seconds = bench->order_seconds, .wanted = form[run->at[FORM]], .form = form[c->info.form],
        .block_cols = c->info.block_cols, .prepared_bytes = (int64_t)c->info.bytes,
        .build_seconds = c->info.build_seconds, .gelem_per_s = elements / seconds * 1e-9, .bytes_model = bytes,
        .triad_bytes_per_s = limits->triad, .percent_of_triad = 100.0 * triad,
        .set_bytes = (int64_t)c->info.set_bytes, .near_bytes_per_s = rate[NEAR], .far_bytes_per_s = rate[FAR],
        .limit_seconds = limit, .bound = bound, .percent_of_limit = 100.0 * limit / seconds,
        .rows_bytes_per_s = rate[NEAR_ROWS], .percent_of_rows = 100.0 * least.rows / seconds,
        .percent_of_gemm = 100.0 * 2.0 * elements / seconds / limits->gemm};
    /* clang-format on */
    return bench_add_best(run, &row, same);
}

static weft_status measure(bench_run *run, void *self)
{
    spmm_case *c = self;
    const int64_t sampled = c->csr.rows > 0 ? (SAMPLED_ROWS + 1) * c->d : 0;
    bench_case timed = {BENCH_KERNEL(c, &c->out, element, sampled), .elements = sampled};
    bench_result result;
    double rate[RATES] = {0.0};
    snprintf(run->what, sizeof run->what, "aggregation of width %" PRId64 " in form %s", c->d, bench_name(run, FORM));
    WEFT_TRY(add_rates(run->context, c, rate));
    WEFT_TRY(bench_measure(run, &timed, &result));
    WEFT_TRY(add_rates(run->context, c, rate));
    return add_row((spmm_bench *)run, c, rate, &result);
}

const bench_kind bench_spmm = {BENCH_CASES(spmm_case, spmm_row), .bytes = sizeof(spmm_bench), .begin = begin,
                               .enter = enter, .leave = close_graph};

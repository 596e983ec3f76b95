/*
 * app/bench/comm_select.c: weft bench comm --op select: the largest --topk-density of a vector of float32, by each
 * method, in turns with one pass that only reads the vector. Every rank selects from a vector of its own at the same
 * time.
 *
 * `passes` is the selection in units of that pass. `exact_share` is the part of what was found that belongs to the k
 * largest, whose smallest magnitude is found here by counting: the bits of |x| are ordered like |x|. radix must find
 * all of them; mstopk exactly k elements; reuse everything above some threshold.
 *
 * The pass that reads is the backend's sum of squares. On a backend whose memory is a device's the vector and what is
 * found lie there, and radix is its operation select_largest.
 */
#include <math.h>
#include <string.h>

#include "app/bench/bench_check.h"
#include "app/bench/bench_comm.h"
#include "app/bench/pair.h"
#include "base/alloc.h"
#include "comm/core/cost.h"
#include "comm/sparse/select.h"

enum { ROOM = 2 };

/* clang-format off */
#define SELECT_ROW(C)                                                                                                  \
    C(TEXT, op, false) C(TEXT, algorithm, true) C(INT, bytes, true) C(INT, ranks, false) C(INT, k, true)               \
    C(INT, n, false) C(REAL, seconds_median, true) C(REAL, seconds_q1, true) C(REAL, seconds_q3, true)                 \
    C(REAL, seconds_min, true) C(REAL, read_seconds_median, true) C(REAL, read_seconds_min, true)                      \
    C(REAL, passes, true) C(REAL, model_seconds, true) C(INT, found, true) C(REAL, exact_share, true)                  \
    C(VALID, valid, true)
/* clang-format on */
TABLE_ROW(select_row, SELECT_ROW);

typedef struct select_case {
    weft_comm *comm;
    const char *name;
    select_method method;
    int64_t count, k, capacity, found;
    float *x;       /* [count] */
    int32_t *index; /* [capacity] */
    float *value;   /* [capacity] */
    selector *selector;
    weft_hal *hal;
    bool device;                                               /* its memory is a device's: */
    void *device_x, *device_index, *device_value, *device_sum; /* else device_x and device_sum are the host's */
    double sum;
    bench_pair times;
    double share;
    int64_t correct; /* 1 or 0 */
} select_case;

static weft_status run_select(void *argument)
{
    select_case *c = argument;
    if (c->device) {
        const hal_select_largest_args args = {.x = hal_row_of(c->device_x, WEFT_DTYPE_F32, c->count),
                                              .index = hal_row_of(c->device_index, WEFT_DTYPE_I32, c->k),
                                              .value = hal_row_of(c->device_value, WEFT_DTYPE_F32, c->k)};
        c->found = c->k;
        WEFT_TRY(hal_select_largest(c->hal, &args));
        return c->hal->stream.sync(c->hal);
    }
    return selector_run(c->selector, c->x, c->count, c->k, c->capacity, c->index, c->value, &c->found);
}

static uint32_t magnitude(float x)
{
    uint32_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    return bits & 0x7FFFFFFFU;
}

static weft_status run_read(void *argument)
{
    select_case *c = argument;
    const hal_sum_squares_args args = {.x = hal_row_of(c->device_x, WEFT_DTYPE_F32, c->count),
                                       .out = hal_row_of(c->device_sum, WEFT_DTYPE_F64, 1)};
    WEFT_TRY(hal_sum_squares(c->hal, &args));
    return c->hal->stream.sync(c->hal);
}

static int64_t count_from(const float *x, int64_t count, uint32_t least)
{
    int64_t found = 0;
#pragma omp parallel for schedule(static) reduction(+ : found)
    for (int64_t i = 0; i < count; i++) {
        found += magnitude(x[i]) >= least;
    }
    return found;
}

/* The largest magnitude that at least k elements reach, bit by bit. */
static uint32_t kth_magnitude(const select_case *c)
{
    uint32_t kth = 0;
    for (uint32_t bit = 1U << 30; bit > 0; bit >>= 1) {
        kth |= count_from(c->x, c->count, kth | bit) >= c->k ? bit : 0;
    }
    return kth;
}

/* Ascending, in range, with the vector's values; and the least magnitude found. */
static bool is_sound(const select_case *c, uint32_t *least)
{
    *least = UINT32_MAX;
    for (int64_t j = 0; j < c->found; j++) {
        const int32_t i = c->index[j];
        if (i < 0 || i >= c->count || (j > 0 && i <= c->index[j - 1]) || c->value[j] != c->x[i]) {
            return false;
        }
        *least = magnitude(c->value[j]) < *least ? magnitude(c->value[j]) : *least;
    }
    return c->found <= c->capacity;
}

static weft_status check(select_case *c)
{
    uint32_t least = 0;
    WEFT_TRY(run_select(c));
    if (c->device) {
        WEFT_TRY(c->hal->mem.download(c->hal, c->index, c->device_index, (size_t)c->k * sizeof *c->index));
        WEFT_TRY(c->hal->mem.download(c->hal, c->value, c->device_value, (size_t)c->k * sizeof *c->value));
    }
    bool correct = is_sound(c, &least);
    c->share =
        correct && c->found > 0 ? (double)count_from(c->value, c->found, kth_magnitude(c)) / (double)c->found : 1.0;
    if (c->method == SELECT_REUSE) {
        /* All that is at least as large as the least one found, unless there was no room. */
        correct = correct && (c->found == c->capacity || count_from(c->x, c->count, least) == c->found);
    } else {
        correct = correct && c->found == c->k && (c->method != SELECT_RADIX || c->share == 1.0);
    }
    c->correct = correct;
    return WEFT_OK;
}

static weft_status open_device(select_case *c)
{
    const size_t bytes = (size_t)c->count * sizeof *c->x;
    c->device_x = c->device_sum = NULL;
    WEFT_TRY(c->hal->mem.alloc(c->hal, bytes, WEFT_MEM_WORKSPACE, &c->device_x));
    WEFT_TRY(c->hal->mem.alloc(c->hal, (size_t)c->k * sizeof *c->index, WEFT_MEM_WORKSPACE, &c->device_index));
    WEFT_TRY(c->hal->mem.alloc(c->hal, (size_t)c->k * sizeof *c->value, WEFT_MEM_WORKSPACE, &c->device_value));
    WEFT_TRY(c->hal->mem.alloc(c->hal, sizeof(double), WEFT_MEM_WORKSPACE, &c->device_sum));
    return c->hal->mem.upload(c->hal, c->device_x, c->x, bytes);
}

static weft_status open_case(select_case *c, int threads)
{
    const select_options options = {.method = c->method, .samplings = 30, .refresh = 32, .seed = 1, .threads = threads};
    WEFT_TRY(WEFT_NEW(&c->x, c->count, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&c->index, c->capacity, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&c->value, c->capacity, WEFT_MEM_WORKSPACE));
    WEFT_TRY(selector_create(&options, c->count, &c->selector));
    bench_fill(comm_rank(c->comm), c->x, c->count);
    /* Few large ones, many small, as gradients are. */
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < c->count; i++) {
        c->x[i] *= c->x[i] * c->x[i];
    }
    c->device_x = c->x;
    c->device_sum = &c->sum;
    return c->device ? open_device(c) : WEFT_OK;
}

static void close_case(select_case *c)
{
    void *const device[] = {c->device_x, c->device_index, c->device_value, c->device_sum};
    for (size_t i = 0; c->device && i < sizeof device / sizeof *device; i++) {
        c->hal->mem.free(c->hal, device[i]);
    }
    selector_destroy(c->selector);
    weft_free(c->x);
    weft_free(c->index);
    weft_free(c->value);
}

static weft_status add_row(comm_bench *bench, const select_case *c)
{
    const bool valid = c->correct == 1;
    const bench_quartiles ours = valid ? c->times.seconds : bench_quartiles_of(NULL, 0);
    const int64_t bytes = c->count * (int64_t)sizeof(float);
    const comm_cost cost = {.selected = c->count};
    if (!valid) {
        bench_comm_reject(bench, c->name, bytes, (double)INFINITY);
    }
    select_row row = {.op = "select",
                      .algorithm = c->name,
                      .bytes = bytes,
                      .ranks = comm_size(c->comm),
                      .k = c->k,
                      .seconds_min = ours.least,
                      .read_seconds_median = c->times.other.median,
                      .read_seconds_min = c->times.other.least,
                      .passes = valid ? 1.0 / c->times.ratio : (double)NAN,
                      .model_seconds = comm_model_seconds(comm_get_model(c->comm), &cost),
                      .found = c->found,
                      .exact_share = c->share,
                      .valid = valid};
    BENCH_SET_SECONDS(&row, ours);
    row.n = c->times.seconds.count;
    return bench_grid_add(&bench->grid, &row);
}

static weft_status run_case(comm_bench *bench, int64_t bytes, int number)
{
    const app_context *context = bench->context;
    const double density = option_real(context->options, OPT_TOPK_DENSITY);
    select_case c = {.comm = context->comm,
                     .name = bench->names.choice[number],
                     .method = (select_method)number,
                     .count = bytes / (int64_t)sizeof(float),
                     .hal = context->hal,
                     .device = !hal_host_visible(context->hal)};
    WEFT_CHECK(!c.device || c.method == SELECT_RADIX, WEFT_ERR_UNSUPPORTED,
               "--algorithms %s: backend %s selects on its device, exactly: take radix", c.name, c.hal->name);
    c.k = (int64_t)ceil(density * (double)c.count);
    c.capacity = ROOM * c.k < c.count ? ROOM * c.k : c.count;
    const bench_side ours = {run_select, &c};
    const bench_side read = {run_read, &c};
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(comm_agree(c.comm, open_case(&c, context->placement.threads)), status, done);
    WEFT_TRY_GOTO(bench_pair_measure(c.comm, &ours, &read, bench->repeats, &c.times), status, done);
    WEFT_TRY_GOTO(comm_agree(c.comm, check(&c)), status, done);
    c.correct = -c.correct; /* correct where it is on every rank */
    WEFT_TRY_GOTO(comm_allreduce(c.comm, &c.correct, 1, WEFT_DTYPE_I64, COMM_MAX), status, done);
    c.correct = -c.correct;
    status = add_row(bench, &c);
done:
    close_case(&c);
    return status;
}

weft_status bench_comm_select(comm_bench *bench)
{
    WEFT_TRY(bench_comm_begin(bench, select_row_columns, TABLE_COLUMNS(select_row)));
    for (int i = 0; i < bench->sizes; i++) {
        WEFT_CHECK(bench->size[i] / (int64_t)sizeof(float) <= INT32_MAX, WEFT_ERR_UNSUPPORTED,
                   "--sizes: a selection takes less than 2^31 elements, not %lld bytes", (long long)bench->size[i]);
        for (int j = 0; j < bench->names.count; j++) {
            WEFT_TRY(run_case(bench, bench->size[i], bench->names.wanted[j]));
        }
    }
    return WEFT_OK;
}

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
#include <string.h>

#include "app/bench/bench_comm.h"
#include "base/alloc.h"
#include "comm/core/cost.h"
#include "comm/sparse/select.h"
#include "tensor/tensor.h"

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
    select_method method;
    int64_t count, k, capacity, found;
    float *x;       /* [count] */
    int32_t *index; /* [capacity] */
    float *value;   /* [capacity] */
    selector *selector;
    weft_hal *hal;
    bool device;                                  /* the backend's memory is a device's */
    weft_tensor on_x, on_index, on_value, on_sum; /* arrays of the backend; without a device on_x is x */
    double share;
} select_case;

static weft_status run_select(void *self)
{
    select_case *c = self;
    if (c->device) {
        const hal_select_largest_args args = {
            .x = tensor_mat(&c->on_x), .index = tensor_mat(&c->on_index), .value = tensor_mat(&c->on_value)};
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

static weft_status run_read(void *self)
{
    select_case *c = self;
    const hal_sum_squares_args args = {.x = tensor_mat(&c->on_x), .out = tensor_mat(&c->on_sum)};
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

/* [out] error: 0 if the selection is correct on every rank. Collective. */
static weft_status check(void *self, double *error)
{
    select_case *c = self;
    uint32_t least = 0;
    weft_status status = run_select(c);
    if (c->device && status == WEFT_OK) {
        status = tensor_download(&c->on_index, c->index);
        status = status == WEFT_OK ? tensor_download(&c->on_value, c->value) : status;
    }
    WEFT_TRY(comm_agree(c->comm, status));
    const bool sound = is_sound(c, &least), some = sound && c->found > 0;
    c->share = some ? (double)count_from(c->value, c->found, kth_magnitude(c)) / (double)c->found : 1.0;
    /* reuse: all that is at least as large as the least one found, unless there was no room. */
    const bool right = c->method == SELECT_REUSE
                           ? c->found == c->capacity || count_from(c->x, c->count, least) == c->found
                           : c->found == c->k && (c->method != SELECT_RADIX || c->share == 1.0);
    *error = sound && right ? 0.0 : (double)INFINITY;
    return comm_allreduce(c->comm, error, 1, WEFT_DTYPE_F64, COMM_MAX);
}

static weft_status open_case(select_case *c, int threads)
{
    const select_options options = {.method = c->method, .samplings = 30, .refresh = 32, .seed = 1, .threads = threads};
    WEFT_TRY(WEFT_NEW(&c->x, c->count, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&c->index, c->capacity, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&c->value, c->capacity, WEFT_MEM_WORKSPACE));
    bench_fill_gradient(comm_rank(c->comm), c->x, c->count);
    WEFT_TRY(selector_create(&options, c->count, &c->selector));
    WEFT_TRY(tensor_create(c->hal, WEFT_DTYPE_F64, 1, 1, WEFT_MEM_WORKSPACE, &c->on_sum));
    if (!c->device) {
        c->on_x = (weft_tensor){
            .hal = c->hal, .dtype = WEFT_DTYPE_F32, .rows = 1, .cols = c->count, .ld = c->count, .data = c->x};
        return WEFT_OK;
    }
    WEFT_TRY(tensor_create(c->hal, WEFT_DTYPE_F32, 1, c->count, WEFT_MEM_WORKSPACE, &c->on_x));
    WEFT_TRY(tensor_create(c->hal, WEFT_DTYPE_I32, 1, c->k, WEFT_MEM_WORKSPACE, &c->on_index));
    WEFT_TRY(tensor_create(c->hal, WEFT_DTYPE_F32, 1, c->k, WEFT_MEM_WORKSPACE, &c->on_value));
    return tensor_upload(&c->on_x, c->x);
}

static void close_case(select_case *c)
{
    TENSOR_DESTROY_ALL(&c->on_x, &c->on_index, &c->on_value, &c->on_sum);
    selector_destroy(c->selector);
    weft_free(c->x);
    weft_free(c->index);
    weft_free(c->value);
}

static weft_status add_row(comm_bench *bench, const comm_case *at, const select_case *c, const bench_result *result)
{
    const comm_cost cost = {.selected = c->count};
    return bench_add(&bench->run,
                     &(select_row){COMM_COMMON(bench, at, result), .algorithm = at->name, .k = c->k,
                                   .read_seconds_median = result->time.other.median,
                                   .read_seconds_min = result->time.other.least, .passes = 1.0 / result->time.ratio,
                                   .model_seconds = comm_model_seconds(comm_get_model(c->comm), &cost),
                                   .found = c->found, .exact_share = c->share});
}

static weft_status run_case(comm_bench *bench, const comm_case *at)
{
    const app_context *context = bench->run.context;
    select_case c = {.comm = context->comm,
                     .method = (select_method)at->number,
                     .count = at->count,
                     .hal = context->hal,
                     .device = !hal_host_visible(context->hal)};
    WEFT_CHECK(at->count <= INT32_MAX, WEFT_ERR_UNSUPPORTED,
               "--sizes: a selection takes less than 2^31 elements, not %lld bytes", (long long)at->bytes);
    WEFT_CHECK(!c.device || c.method == SELECT_RADIX, WEFT_ERR_UNSUPPORTED,
               "--algorithms %s: backend %s selects on its device, exactly: take radix", at->name, c.hal->name);
    c.k = (int64_t)ceil(option_real(context->options, OPT_TOPK_DENSITY) * (double)c.count);
    c.capacity = ROOM * c.k < c.count ? ROOM * c.k : c.count;
    bench_case timed = {.side = {run_select, &c, NULL}, .other = {run_read, &c, NULL}, .check = check};
    bench_result result;
    bench_comm_name(timed.what, at);
    weft_status status = comm_agree(c.comm, open_case(&c, context->placement.threads));
    status = status == WEFT_OK ? bench_measure(&bench->run, &timed, &result) : status;
    status = status == WEFT_OK ? add_row(bench, at, &c, &result) : status;
    close_case(&c);
    return status;
}

const comm_bench_op bench_comm_select = {.choices = OPT_TOPK_SELECT,
                                         .all = true,
                                         .column = select_row_columns,
                                         .columns = TABLE_COLUMNS(select_row),
                                         .run = run_case};

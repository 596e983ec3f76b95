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
    weft_hal *hal;
    bool device;          /* the backend's memory is a device's */
    bench_array x, value; /* [1, count], [1, capacity] */
    weft_tensor index;    /* [1, capacity] */
    int32_t *found_at;    /* [capacity] index on the host */
    weft_tensor sum;
    selector *selector;
    double share;
} select_case;

static weft_status run_select(void *self)
{
    select_case *c = self;
    if (c->device) {
        const hal_select_largest_args args = {
            .x = tensor_mat(&c->x.on), .index = tensor_mat(&c->index), .value = tensor_mat(&c->value.on)};
        c->found = c->k;
        WEFT_TRY(hal_select_largest(c->hal, &args));
        return c->hal->stream.sync(c->hal);
    }
    return selector_run(c->selector, c->x.on.data, c->count, c->k, c->capacity, c->index.data, c->value.on.data,
                        &c->found);
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
    WEFT_TRY(tensor_sum_squares(&c->x.on, &c->sum));
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
        kth |= count_from(c->x.host, c->count, kth | bit) >= c->k ? bit : 0;
    }
    return kth;
}

/* Ascending, in range, with the vector's values; and the least magnitude found. */
static bool is_sound(const select_case *c, uint32_t *least)
{
    const float *value = c->value.host;
    *least = UINT32_MAX;
    for (int64_t j = 0; j < c->found; j++) {
        const int32_t i = c->found_at[j];
        if (i < 0 || i >= c->count || (j > 0 && i <= c->found_at[j - 1]) || value[j] != c->x.host[i]) {
            return false;
        }
        *least = magnitude(value[j]) < *least ? magnitude(value[j]) : *least;
    }
    return c->found <= c->capacity;
}

/* [out] error: 0 if the selection is correct. Collective. */
static weft_status check(void *self, double *error)
{
    select_case *c = self;
    uint32_t least = 0;
    weft_status status = run_select(c);
    status = status == WEFT_OK ? tensor_download(&c->index, c->found_at) : status;
    status = status == WEFT_OK ? bench_array_copy(&c->value, BENCH_DOWN) : status;
    WEFT_TRY(comm_agree(c->comm, status));
    const bool sound = is_sound(c, &least), some = sound && c->found > 0;
    c->share = some ? (double)count_from(c->value.host, c->found, kth_magnitude(c)) / (double)c->found : 1.0;
    /* reuse: all that is at least as large as the least one found, unless there was no room. */
    const bool right = c->method == SELECT_REUSE
                           ? c->found == c->capacity || count_from(c->x.host, c->count, least) == c->found
                           : c->found == c->k && (c->method != SELECT_RADIX || c->share == 1.0);
    *error = sound && right ? 0.0 : (double)INFINITY;
    return WEFT_OK;
}

static weft_status make(select_case *c, int threads)
{
    const select_options options = {.method = c->method, .samplings = 30, .refresh = 32, .seed = 1, .threads = threads};
    WEFT_TRY(bench_array_create(c->hal, WEFT_DTYPE_F32, 1, c->count, &c->x));
    WEFT_TRY(bench_array_create(c->hal, WEFT_DTYPE_F32, 1, c->capacity, &c->value));
    WEFT_TRY(tensor_create(c->hal, WEFT_DTYPE_I32, 1, c->capacity, WEFT_MEM_WORKSPACE, &c->index));
    WEFT_TRY(tensor_create(c->hal, WEFT_DTYPE_F64, 1, 1, WEFT_MEM_WORKSPACE, &c->sum));
    WEFT_TRY(WEFT_NEW(&c->found_at, c->capacity, WEFT_MEM_WORKSPACE));
    WEFT_TRY(selector_create(&options, c->count, &c->selector));
    bench_fill_gradient(comm_rank(c->comm), c->x.host, c->count);
    return bench_array_copy(&c->x, BENCH_UP);
}

static weft_status open_case(bench_run *run, void *self)
{
    const app_context *context = run->context;
    select_case *c = self;
    *c = (select_case){.comm = run->comm,
                       .method = (select_method)run->at[1],
                       .count = COMM_COUNT(run),
                       .hal = context->hal,
                       .device = !hal_host_visible(context->hal)};
    WEFT_CHECK(c->count <= INT32_MAX, WEFT_ERR_UNSUPPORTED,
               "--sizes: a selection takes less than 2^31 elements, not %lld bytes", (long long)run->at[0]);
    WEFT_CHECK(!c->device || c->method == SELECT_RADIX, WEFT_ERR_UNSUPPORTED,
               "--algorithms %s: backend %s selects on its device, exactly: take radix", bench_name(run, 1),
               c->hal->name);
    c->k = (int64_t)ceil(option_real(run->options, OPT_TOPK_DENSITY) * (double)c->count);
    c->capacity = c->device ? c->k : ROOM * c->k < c->count ? ROOM * c->k : c->count;
    return comm_agree(c->comm, make(c, context->placement.threads));
}

static void close_case(void *self)
{
    select_case *c = self;
    bench_array_free(&c->x);
    bench_array_free(&c->value);
    TENSOR_DESTROY_ALL(&c->index, &c->sum);
    selector_destroy(c->selector);
    weft_free(c->found_at);
}

static weft_status measure(bench_run *run, void *self)
{
    select_case *c = self;
    const comm_cost cost = {.selected = c->count};
    bench_case timed = {.side = {run_select, c, NULL}, .other = {run_read, c, NULL}, .check = check};
    bench_result result;
    WEFT_TRY(bench_measure(run, &timed, &result));
    return bench_add(run, &(select_row){COMM_COMMON(run, &result), .algorithm = bench_name(run, 1), .k = c->k,
                                        .read_seconds_median = result.time.other.median,
                                        .read_seconds_min = result.time.other.least, .passes = 1.0 / result.time.ratio,
                                        .model_seconds = comm_model_seconds(comm_get_model(c->comm), &cost),
                                        .found = c->found, .exact_share = c->share});
}

const comm_bench_op bench_comm_select = {
    .kind = {.ranks = true, BENCH_CASES(select_case, select_row)}, .choices = OPT_TOPK_SELECT, .all = true};

/*
 * backend/backend_env.h: operands that live on several backends at once: [0] ref, behind it those under test, so that
 * what ref makes, which takes longest, is made once for all.
 *
 * operand_make fills all copies with the same pseudo-random values; operand_compare downloads them and demands that
 * each agrees with ref's and that the padding between cols and ld is untouched. Everything made is freed by env_free.
 */
#pragma once

#include <math.h>

#include "base/half.h"
#include "hal/hal.h"
#include "support/open.h"
#include "support/random.h"

enum { ENV_POOL = 4096, ENV_BACKENDS = 5 };

typedef struct env {
    weft_hal *hal[ENV_BACKENDS];
    int backends;
    weft_dtype dtype;
    int64_t m, n, pad;
    const char *name;
    bool second; /* the same operations ran before: none may allocate */
    uint64_t random;
    struct {
        weft_hal *hal;
        void *device;
    } pool[ENV_POOL];
    int pooled;
} env;

typedef enum fill {
    UNIT,      /* -1..1 */
    POSITIVE,  /* 0.5..1.5 */
    WIDE,      /* -30..30 */
    COARSE,    /* multiples of 0.25 in -1..1 */
    SOME_NANS, /* the same, one in ten a NaN */
    NOTHING    /* NaN: never to be read */
} fill;

typedef struct operand {
    weft_dtype dtype;
    int64_t rows, cols, ld;
    void *dev[ENV_BACKENDS];
} operand;

typedef struct int_operand {
    weft_dtype dtype;
    int64_t count, bytes;
    void *host;
    void *dev[ENV_BACKENDS];
} int_operand;

/* On the backend that RUN is at. */
#define ON(x)  mat_on(&(x), run_backend)
#define ROW(x) row_on(&(x), run_backend)
#define INT(x) ints_on(&(x), run_backend)

/* The arguments of hal_<op>, named. */
#define RUN_ON(e, b, op, ...)                                                                                          \
    do {                                                                                                               \
        uint64_t allocations_ = weft_mem_usage_total().allocations;                                                    \
        weft_status run_status_ = hal_##op((e)->hal[b], &(hal_##op##_args){__VA_ARGS__});                              \
        if (run_status_ != WEFT_OK) {                                                                                  \
            fail_msg("%s %ld x %ld on %s: %s: %s", (e)->name, (long)(e)->m, (long)(e)->n, (e)->hal[b]->name,           \
                     weft_status_name(run_status_), weft_error_message());                                             \
        }                                                                                                              \
        if ((e)->second && weft_mem_usage_total().allocations != allocations_) {                                       \
            fail_msg("%s %ld x %ld on %s: %s allocated when called again", (e)->name, (long)(e)->m, (long)(e)->n,      \
                     (e)->hal[b]->name, #op);                                                                          \
        }                                                                                                              \
    } while (0)

#define RUN(e, op, ...)                                                                                                \
    for (int run_backend = 0; run_backend < (e)->backends; ++run_backend) {                                            \
        RUN_ON(e, run_backend, op, __VA_ARGS__);                                                                       \
    }

static inline hal_mat mat_on(const operand *x, int b)
{
    return hal_mat_of(x->dev[b], x->dtype, x->rows, x->cols, x->ld);
}

/* As a row: the vectors of norms and optimisers. */
static inline hal_mat row_on(const operand *x, int b)
{
    return hal_row_of(x->dev[b], x->dtype, x->rows);
}

static inline hal_mat ints_on(const int_operand *x, int b)
{
    return hal_column_from(x->dev[b], x->dtype, x->count);
}

static inline double env_random(env *e)
{
    return test_uniform(&e->random);
}

static inline void *env_alloc(env *e, int b, int64_t bytes)
{
    void *device = NULL;
    assert_true(e->pooled < ENV_POOL);
    ASSERT_OK(e->hal[b]->mem.alloc(e->hal[b], (size_t)bytes, WEFT_MEM_GENERAL, &device));
    e->pool[e->pooled].hal = e->hal[b];
    e->pool[e->pooled++].device = device;
    return device;
}

static inline void env_free(env *e)
{
    for (int i = 0; i < e->pooled; ++i) {
        if (e->pool[i].hal != NULL) {
            e->pool[i].hal->mem.free(e->pool[i].hal, e->pool[i].device);
        } else {
            free(e->pool[i].device);
        }
    }
    e->pooled = 0;
}

static inline double fill_value(env *e, fill how)
{
    double u = env_random(e);
    switch (how) {
    case UNIT:
        return 2.0 * u - 1.0;
    case POSITIVE:
        return 0.5 + u;
    case WIDE:
        return 60.0 * u - 30.0;
    case COARSE:
        return floor(9.0 * u) * 0.25 - 1.0;
    case SOME_NANS:
        return u < 0.1 ? NAN : floor(9.0 * u) * 0.25 - 1.0;
    case NOTHING:
        break;
    }
    return NAN;
}

static const double PADDING = 7.25;

static inline void store_real(void *array, weft_dtype dtype, int64_t i, double value)
{
    if (dtype == WEFT_DTYPE_F32) {
        ((float *)array)[i] = (float)value;
    } else if (dtype == WEFT_DTYPE_BF16) {
        ((uint16_t *)array)[i] = bf16_from_float((float)value);
    } else if (dtype == WEFT_DTYPE_F16) {
        ((uint16_t *)array)[i] = fp16_from_float((float)value);
    } else {
        ((double *)array)[i] = value;
    }
}

static inline double load_real(const void *array, weft_dtype dtype, int64_t i)
{
    return dtype == WEFT_DTYPE_F32    ? (double)((const float *)array)[i]
           : dtype == WEFT_DTYPE_BF16 ? (double)bf16_to_float(((const uint16_t *)array)[i])
           : dtype == WEFT_DTYPE_F16  ? (double)fp16_to_float(((const uint16_t *)array)[i])
                                      : ((const double *)array)[i];
}

static inline operand operand_of_type(env *e, weft_dtype dtype, int64_t rows, int64_t cols, int64_t ld, fill how)
{
    operand x = {.dtype = dtype, .rows = rows, .cols = cols, .ld = ld};
    int64_t count = rows * ld;
    int64_t bytes = count * (int64_t)weft_dtype_bytes(dtype);
    void *host = malloc((size_t)bytes + 1);
    assert_non_null(host);
    for (int64_t i = 0; i < count; ++i) {
        store_real(host, dtype, i, i % ld < cols ? fill_value(e, how) : PADDING);
    }
    for (int b = 0; b < e->backends; ++b) {
        x.dev[b] = env_alloc(e, b, bytes);
        ASSERT_OK(e->hal[b]->mem.upload(e->hal[b], x.dev[b], host, (size_t)bytes));
    }
    free(host);
    return x;
}

static inline operand operand_make(env *e, int64_t rows, int64_t cols, fill how)
{
    return operand_of_type(e, e->dtype, rows, cols, cols + e->pad > 0 ? cols + e->pad : 1, how);
}

/* The same in the type of parameters unless it is narrow. */
static inline operand operand_own(env *e, bool narrow, int64_t rows, int64_t cols, fill how)
{
    const weft_dtype dtype = narrow || e->dtype == WEFT_DTYPE_F64 ? e->dtype : WEFT_DTYPE_F32;
    return operand_of_type(e, dtype, rows, cols, cols + e->pad > 0 ? cols + e->pad : 1, how);
}

/* The type of parameters and sums of rows of the case's type. */
static inline weft_dtype env_param(const env *e)
{
    return hal_is_half(e->dtype) ? WEFT_DTYPE_F32 : e->dtype;
}

static inline operand operand_vector(env *e, int64_t count, fill how)
{
    return operand_of_type(e, env_param(e), count, 1, 1, how);
}

static inline operand operand_f64(env *e, int64_t count, fill how)
{
    return operand_of_type(e, WEFT_DTYPE_F64, count, 1, 1, how);
}

static inline int_operand int_operand_make(env *e, int64_t count, weft_dtype dtype)
{
    int_operand x = {.dtype = dtype, .count = count, .bytes = count * (int64_t)weft_dtype_bytes(dtype)};
    x.host = calloc((size_t)x.bytes + 1, 1);
    assert_non_null(x.host);
    assert_true(e->pooled < ENV_POOL);
    e->pool[e->pooled].hal = NULL;
    e->pool[e->pooled++].device = x.host;
    return x;
}

static inline void int_operand_upload(env *e, int_operand *x)
{
    for (int b = 0; b < e->backends; ++b) {
        x->dev[b] = env_alloc(e, b, x->bytes);
        ASSERT_OK(e->hal[b]->mem.upload(e->hal[b], x->dev[b], x->host, (size_t)x->bytes));
    }
}

/* |actual - wanted| <= tolerance * max(1, |wanted|), or both NaN or the same infinity. */
static inline void compare_values(const env *e, int b, const char *what, int64_t row, int64_t col, double actual,
                                  double wanted, double tolerance)
{
    double size = fabs(wanted) > 1.0 ? fabs(wanted) : 1.0;
    if (!(fabs(actual - wanted) <= tolerance * size) && !(isnan(actual) && isnan(wanted)) && actual != wanted) {
        fail_msg("%s %ld x %ld (ld + %ld) %s on %s: %s (%ld, %ld) is %.9g, ref says %.9g", e->name, (long)e->m,
                 (long)e->n, (long)e->pad, weft_dtype_name(e->dtype), e->hal[b]->name, what, (long)row, (long)col,
                 actual, wanted);
    }
}

static inline double epsilon_of(weft_dtype dtype)
{
    return dtype == WEFT_DTYPE_F32    ? 0x1.0p-23
           : dtype == WEFT_DTYPE_BF16 ? 0x1.0p-7
           : dtype == WEFT_DTYPE_F16  ? 0x1.0p-10
                                      : 0x1.0p-52;
}

static inline void *download(const env *e, int b, const void *device, size_t bytes)
{
    void *host = malloc(bytes + 1);
    assert_non_null(host);
    ASSERT_OK(e->hal[b]->mem.download(e->hal[b], host, device, bytes));
    return host;
}

static inline void operand_compare_as(const env *e, const operand *x, double tolerance)
{
    const size_t bytes = (size_t)(x->rows * x->ld) * weft_dtype_bytes(x->dtype);
    void *wanted = download(e, 0, x->dev[0], bytes);
    for (int b = 1; b < e->backends; ++b) {
        void *given = download(e, b, x->dev[b], bytes);
        for (int64_t i = 0; i < x->rows * x->ld; ++i) {
            const double actual = load_real(given, x->dtype, i);
            if (i % x->ld < x->cols) {
                compare_values(e, b, "element", i / x->ld, i % x->ld, actual, load_real(wanted, x->dtype, i),
                               tolerance);
            } else {
                compare_values(e, b, "padding", i / x->ld, i % x->ld, actual, PADDING, 0.0);
            }
        }
        free(given);
    }
    free(wanted);
}

/* A backend that adds in another order than ref does: in trees, as a device must. */
static inline bool sums_in_trees(const env *e)
{
    return strcmp(e->hal[1]->name, "cuda") == 0;
}

/* Epsilons to add for such a backend where sums over m rows went in: they are kept in double, so that their order shows
 * in that type alone, by half an epsilon of the magnitudes an addition. */
static inline double order_of_sums(const env *e)
{
    return sums_in_trees(e) && e->dtype == WEFT_DTYPE_F64 ? 0.5 * (double)e->m : 0.0;
}

/* Tolerance in units of the type's epsilon. 16-bit floats are computed in float32 and rounded once: to a neighbour at
 * most. */
static inline void operand_compare(const env *e, const operand *x, double epsilons)
{
    const double units = hal_is_half(x->dtype) && epsilons > 1.0 ? 1.0 : epsilons;
    operand_compare_as(e, x, units * epsilon_of(x->dtype));
}

static inline void int_operand_compare(const env *e, const int_operand *x)
{
    void *wanted = download(e, 0, x->dev[0], (size_t)x->bytes);
    for (int b = 1; b < e->backends; ++b) {
        void *given = download(e, b, x->dev[b], (size_t)x->bytes);
        assert_memory_equal(given, wanted, (size_t)x->bytes);
        free(given);
    }
    free(wanted);
}

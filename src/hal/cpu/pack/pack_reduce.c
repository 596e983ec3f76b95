/*
 * hal/cpu/pack/pack_reduce.c: to = left op right on every element type, and the same of several vectors into several
 * places. Memory-bound: three streams. Threads are worth their start only past the caches of one core.
 *
 * Sums of several vectors of float32 run on the widest vectors there are. Their other types and operations are reduced
 * block by block in the first-level cache and copied out.
 *
 * The kernels say "omp simd" because `to` may be one of the operands, which a compiler must otherwise test for.
 */
#include <assert.h>

#include "hal/cpu/pack/pack_internal.h"

enum {
    BLOCK = 1 << 15, /* elements */
    PARALLEL_BLOCKS = 8,
    CACHE_BYTES = 4096,
    PART_BYTES = 1 << 19,
    PARALLEL_PARTS = 4
};

#define REDUCE_TYPE      float
#define REDUCE_SUM_TYPE  float
#define REDUCE_NAME(op)  reduce_f32_##op
#define REDUCE_IS_NAN(x) ((x) != (x))
#include "hal/cpu/pack/pack_reduce_body.h"

#define REDUCE_TYPE      double
#define REDUCE_SUM_TYPE  double
#define REDUCE_NAME(op)  reduce_f64_##op
#define REDUCE_IS_NAN(x) ((x) != (x))
#include "hal/cpu/pack/pack_reduce_body.h"

#define REDUCE_TYPE      int32_t
#define REDUCE_SUM_TYPE  uint32_t
#define REDUCE_NAME(op)  reduce_i32_##op
#define REDUCE_IS_NAN(x) 0
#include "hal/cpu/pack/pack_reduce_body.h"

#define REDUCE_TYPE      int64_t
#define REDUCE_SUM_TYPE  uint64_t
#define REDUCE_NAME(op)  reduce_i64_##op
#define REDUCE_IS_NAN(x) 0
#include "hal/cpu/pack/pack_reduce_body.h"

#define REDUCE_TYPE      uint8_t
#define REDUCE_SUM_TYPE  uint32_t
#define REDUCE_NAME(op)  reduce_u8_##op
#define REDUCE_IS_NAN(x) 0
#include "hal/cpu/pack/pack_reduce_body.h"

void pack_reduce(weft_dtype dtype, hal_reduction reduction, void *to, const void *left, const void *right,
                 int64_t count)
{
    assert(hal_reduces(dtype, reduction) && count >= 0);
    switch (dtype) {
    case WEFT_DTYPE_F32:
        reduce_f32_run(reduction, to, left, right, count);
        break;
    case WEFT_DTYPE_F64:
        reduce_f64_run(reduction, to, left, right, count);
        break;
    case WEFT_DTYPE_I32:
        reduce_i32_run(reduction, to, left, right, count);
        break;
    case WEFT_DTYPE_I64:
        reduce_i64_run(reduction, to, left, right, count);
        break;
    case WEFT_DTYPE_U8:
        reduce_u8_run(reduction, to, left, right, count);
        break;
    case WEFT_DTYPE_BF16:
    case WEFT_DTYPE_F16:
    case WEFT_DTYPE_I8:
    case WEFT_DTYPE_I16:
        break; /* not of hal_reduces */
    }
}

void hal_pack_reduce(weft_dtype dtype, hal_reduction reduction, void *to, const void *left, const void *right,
                     int64_t count)
{
    size_t element = weft_dtype_bytes(dtype);
    int64_t blocks = (count + BLOCK - 1) / BLOCK;
    if (blocks < PARALLEL_BLOCKS) {
        pack_reduce(dtype, reduction, to, left, right, count);
        return;
    }
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < blocks; ++b) {
        size_t offset = (size_t)b * BLOCK * element;
        int64_t rest = count - b * BLOCK;
        pack_reduce(dtype, reduction, (char *)to + offset, (const char *)left + offset, (const char *)right + offset,
                    rest < BLOCK ? rest : BLOCK);
    }
}

/* ---- several vectors --------------------------------------------------------------------------------------------- */

/* What is reduced, so that a part of it can be. */
typedef struct reduction_of_all {
    void (*sum)(void *const *to, int tos, const void *const *from, int froms, int64_t begin, int64_t end); /* or NULL */
    weft_dtype dtype;
    hal_reduction reduction;
    void *const *to;
    int tos;
    const void *const *from;
    int froms;
} reduction_of_all;

/* Any type and operation, elements [begin, end). */
static void reduce_any(const reduction_of_all *r, int64_t begin, int64_t end)
{
    _Alignas(64) char result[CACHE_BYTES];
    int64_t element = (int64_t)weft_dtype_bytes(r->dtype);
    for (int64_t at = begin; at < end; at += CACHE_BYTES / element) {
        int64_t block = end - at < CACHE_BYTES / element ? end - at : CACHE_BYTES / element;
        pack_reduce(r->dtype, r->reduction, result, (const char *)r->from[0] + at * element,
                    (const char *)r->from[1] + at * element, block);
        for (int q = 2; q < r->froms; ++q) {
            pack_reduce(r->dtype, r->reduction, result, result, (const char *)r->from[q] + at * element, block);
        }
        for (int t = 0; t < r->tos; ++t) {
            memcpy((char *)r->to[t] + at * element, result, (size_t)(block * element));
        }
    }
}

static void reduce_part(const reduction_of_all *r, int64_t begin, int64_t end)
{
    if (r->sum != NULL) {
        r->sum(r->to, r->tos, r->from, r->froms, begin, end);
    } else {
        reduce_any(r, begin, end);
    }
}

void hal_pack_reduce_all(weft_dtype dtype, hal_reduction reduction, void *const *to, int tos, const void *const *from,
                         int froms, int64_t count)
{
    assert(hal_reduces(dtype, reduction) && tos >= 1 && froms >= 2);
    const bool sums = dtype == WEFT_DTYPE_F32 && reduction == HAL_SUM;
    const reduction_of_all all = {.sum = sums ? hal_pack_best()->sum : NULL,
                                  .dtype = dtype,
                                  .reduction = reduction,
                                  .to = to,
                                  .tos = tos,
                                  .from = from,
                                  .froms = froms};
    int64_t part = PART_BYTES / (int64_t)weft_dtype_bytes(dtype);
    int64_t parts = (count + part - 1) / part;
    if (parts < PARALLEL_PARTS) {
        reduce_part(&all, 0, count);
        return;
    }
#pragma omp parallel for schedule(static)
    for (int64_t p = 0; p < parts; ++p) {
        reduce_part(&all, p * part, (p + 1) * part < count ? (p + 1) * part : count);
    }
}

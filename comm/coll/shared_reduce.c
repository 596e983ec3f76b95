/*
 * comm/coll/shared_reduce.c: reductions of several vectors into several places.
 *
 * Sums of float32 run on the widest vectors there are. The other types and operations are reduced block by block in the
 * first-level cache and copied out.
 */
#include <string.h>

#include "base/isa.h"
#include "comm/coll/shared.h"
#include "comm/core/reduce.h"

enum { BLOCK_BYTES = 4096, PART_BYTES = 1 << 19, PARALLEL_PARTS = 4 };

static shared_sum_fn best_sum(void)
{
    static const shared_sum_fn sums[HAL_ISAS] = {shared_sum_base, shared_sum_avx2, shared_sum_avx512};
    return sums[hal_isa_best()];
}

/* Any type and operation, elements [begin, end). */
static void reduce_any(weft_dtype dtype, comm_op op, void *const *to, int tos, const void *const *from, int froms,
                       int64_t begin, int64_t end)
{
    _Alignas(64) char result[BLOCK_BYTES];
    int64_t element = (int64_t)weft_dtype_bytes(dtype);
    for (int64_t at = begin; at < end; at += BLOCK_BYTES / element) {
        int64_t block = end - at < BLOCK_BYTES / element ? end - at : BLOCK_BYTES / element;
        comm_reduce(dtype, op, result, (const char *)from[0] + at * element, (const char *)from[1] + at * element,
                    block);
        for (int q = 2; q < froms; ++q) {
            comm_reduce(dtype, op, result, result, (const char *)from[q] + at * element, block);
        }
        for (int t = 0; t < tos; ++t) {
            memcpy((char *)to[t] + at * element, result, (size_t)(block * element));
        }
    }
}

static void reduce_part(shared_sum_fn sum, weft_dtype dtype, comm_op op, void *const *to, int tos,
                        const void *const *from, int froms, int64_t begin, int64_t end)
{
    if (sum != NULL) {
        sum(to, tos, from, froms, begin, end);
    } else {
        reduce_any(dtype, op, to, tos, from, froms, begin, end);
    }
}

void shared_reduce(weft_dtype dtype, comm_op op, void *const *to, int tos, const void *const *from, int froms,
                   int64_t count)
{
    shared_sum_fn sum = dtype == WEFT_DTYPE_F32 && op == COMM_SUM ? best_sum() : NULL;
    int64_t part = PART_BYTES / (int64_t)weft_dtype_bytes(dtype);
    int64_t parts = (count + part - 1) / part;
    if (parts < PARALLEL_PARTS) {
        reduce_part(sum, dtype, op, to, tos, from, froms, 0, count);
        return;
    }
#pragma omp parallel for schedule(static)
    for (int64_t p = 0; p < parts; ++p) {
        int64_t end = (p + 1) * part < count ? (p + 1) * part : count;
        reduce_part(sum, dtype, op, to, tos, from, froms, p * part, end);
    }
}

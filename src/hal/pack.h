/*
 * hal/pack.h: the kernels behind the pack operations of hal/ops.def, on the host's own memory and called straight.
 *
 * Collectives reduce and convert between two messages, a few hundred bytes as often as megabytes, in memory that other
 * ranks share: there is no backend to ask there, no span and no count of cost. Vectors are float32 unless a type is
 * given. Any thread may call any of these; those that say so divide long vectors over the threads of an OpenMP region
 * of their own, and the bits do not depend on it.
 *
 * Magnitudes are compared as integers: the bits of |x| order like |x| itself, infinities and NaN lie above every
 * finite number, and denormals are not flushed.
 */
#pragma once

#include <string.h>

#include "base/isa.h"
#include "hal/hal.h"

enum {
    HAL_PACK_SLACK = 16 /* entries that `compact` may overwrite past the last one it keeps */
};

#define HAL_MAGNITUDE_BITS     0x7fffffffu /* all bits but the sign */
#define HAL_MAGNITUDE_INFINITY 0x7f800000u /* this and above: not finite */

static inline uint32_t hal_magnitude(float x)
{
    uint32_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    return bits & HAL_MAGNITUDE_BITS;
}

/* float32 to a 16-bit type and back; to nearest, ties to even, NaN stays NaN (base/half.h). */
typedef struct hal_pack_cast {
    void (*encode)(const float *restrict from, uint16_t *restrict to, int64_t count);
    void (*decode)(const uint16_t *restrict from, float *restrict to, int64_t count);
    void (*decode_add)(const uint16_t *restrict from, float *restrict to, int64_t count);
} hal_pack_cast;

/* On one thread; the same bits on every instruction set. */
typedef struct hal_pack {
    hal_pack_cast bf16, fp16;
    /* to[t][i] = (from[0][i] + from[1][i]) + ... for all t < tos, begin <= i < end; a `to` may be one of the `from`.
     * tos >= 1, froms >= 2. */
    void (*sum)(void *const *to, int tos, const void *const *from, int froms, int64_t begin, int64_t end);
    /* Append every i of [begin, end) with hal_magnitude(x[i]) >= floor to index and value, in order; returns how many,
     * or -1 when there are more than `capacity`, of which the first `capacity` stand there (the arrays have
     * HAL_PACK_SLACK more). *top: the largest magnitude, unless there are more. */
    int64_t (*compact)(const float *x, int64_t begin, int64_t end, uint32_t floor, int64_t capacity, int32_t *index,
                       float *value, uint32_t *top);
    /* How many of x[begin..end) have a magnitude >= floor. */
    int64_t (*count)(const float *x, int64_t begin, int64_t end, uint32_t floor);
    /* Sum of |x|, in the same order of additions on every instruction set; *top: the largest magnitude. */
    double (*sum_magnitudes)(const float *x, int64_t begin, int64_t end, uint32_t *top);
} hal_pack;

/* Of an instruction set, which this processor must have; and of the best one that it has. */
const hal_pack *hal_pack_of(hal_isa isa);
const hal_pack *hal_pack_best(void);

/* to[i] = left[i] op right[i]; `to` may be left or right; see reduce in hal/ops.def. Long vectors: on several threads.
 */
void hal_pack_reduce(weft_dtype dtype, hal_reduction reduction, void *to, const void *left, const void *right,
                     int64_t count);
/* to[t][i] = (from[0][i] op from[1][i]) op ... for all t < tos, i < count; a `to` may be one of the `from`. tos >= 1,
 * froms >= 2. Long vectors: on several threads. */
void hal_pack_reduce_all(weft_dtype dtype, hal_reduction reduction, void *const *to, int tos, const void *const *from,
                         int froms, int64_t count);

/* dtype: WEFT_DTYPE_BF16 or WEFT_DTYPE_F16. Long vectors: on several threads. */
void hal_pack_encode(weft_dtype dtype, const float *from, void *to, int64_t count);
void hal_pack_decode(weft_dtype dtype, const void *from, float *to, int64_t count);
/* to += decoded */
void hal_pack_decode_add(weft_dtype dtype, const void *from, float *to, int64_t count);

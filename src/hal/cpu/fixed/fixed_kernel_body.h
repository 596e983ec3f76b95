/*
 * hal/cpu/fixed/fixed_kernel_body.h: the kernels of fixed.h, included once for each instruction set.
 *
 * The including file defines FIXED_TABLE, the name of the table, and FIXED_LANES, the numbers of its vectors for strips
 * of 32 columns; FIXED_NARROW, of 16 columns; FIXED_PAIRS, if there are products of pairs.
 */
#include <math.h>
#include <string.h>

#include "hal/cpu/kernels.h"

#define KERNEL static inline __attribute__((always_inline))

/* What the lower half of a word is moved by. */
#ifdef FIXED_PAIRS
enum { HALF = 0, EDGES_AT_ONCE = 4 };
#else
enum { HALF = 1 << 15, EDGES_AT_ONCE = 1 };
#endif

/* x / quantum, a power of two, rounded to the nearest integer: |x| <= 2^15 quanta, else any number. */
KERNEL int32_t rounded(float x, float inverse)
{
    const float bias = 0x1.8p23f;
    const float moved = x * inverse + bias;
    int32_t bits, zero;
    memcpy(&bits, &moved, sizeof bits);
    memcpy(&zero, &bias, sizeof zero);
    return bits - zero;
}

KERNEL uint32_t word_of(int32_t low, int32_t high)
{
    return (uint32_t)high << 16 | (((uint32_t)low & 0xffffU) ^ HALF);
}

static void kernel_round(int64_t cols, const float *x, float scale, const float *quantum, int16_t *q)
{
    for (int64_t j = 0; j < cols; j++) {
        q[j] = (int16_t)rounded(x[j] * scale, 1.0F / quantum[j]);
    }
}

static void kernel_largest(int64_t cols, const float *x, float scale, float *largest)
{
    for (int64_t j = 0; j < cols; j++) {
        const float own = fabsf(x[j] * scale);
        largest[j] = largest[j] >= own || largest[j] != largest[j] ? largest[j] : own; /* a NaN of x comes in */
    }
}

/* What the row's columns [0, cols) become of their sums. */
KERNEL void put_floats(const fixed_end *end, int64_t row, int64_t cols, const int32_t *sum)
{
    const float post = end->post != NULL ? end->post[row] : 1.0F;
    const float diag = end->diag != NULL ? end->diag[row] : 0.0F;
    const float *self = end->diag != NULL ? end->self + row * end->ldself : NULL;
    float *out = end->out + row * end->ldo;
    for (int64_t j = 0; j < cols; j++) {
        float y = post * (end->quantum[j] * (float)sum[j]);
        y = end->adds ? y + out[j] : y;
        out[j] = self != NULL ? y + diag * self[j] : y;
    }
}

static void kernel_finish(const fixed_end *end, int64_t cols, const int32_t *sum, int64_t ldsum, int64_t begin,
                          int64_t last)
{
    for (int64_t row = begin; row < last; row++) {
        put_floats(end, row, cols, sum + row * ldsum);
    }
}

/* The row of a strip of which not all columns exist, or where there is more to do than to store. */
static __attribute__((noinline)) void put_sums(const fixed_pass *pass, int64_t row, const int32_t *sum)
{
    if (!pass->integers) {
        put_floats(&pass->end, row, pass->width, sum);
        return;
    }
    int32_t *out = pass->integer_out + row * pass->ldo;
    for (int j = 0; j < pass->width; j++) {
        out[j] = pass->end.adds ? out[j] + sum[j] : sum[j];
    }
}

#define FIXED(name) name##_wide
#define LANES       FIXED_LANES
#include "hal/cpu/fixed/fixed_strip_body.h"
#undef FIXED
#undef LANES
#define FIXED(name) name##_narrow
#define LANES       FIXED_NARROW
#include "hal/cpu/fixed/fixed_strip_body.h"

static void kernel_pack(const fixed_pass *pass, int64_t begin, int64_t end)
{
    if (pass->strip == SPMM_STRIP) {
        pack_wide(pass, begin, end, SPMM_STRIP);
    } else {
        pack_narrow(pass, begin, end, SPMM_STRIP_NARROW);
    }
}

static void kernel_lists(const spmm_blocks *m, const spmm_chunk *chunk, int64_t begin, const fixed_pass *pass)
{
    const bool wide = pass->strip == SPMM_STRIP;
    if (wide && pass->last) {
        lists_wide(m, chunk, begin, pass, SPMM_STRIP, true);
    } else if (wide) {
        lists_wide(m, chunk, begin, pass, SPMM_STRIP, false);
    } else if (pass->last) {
        lists_narrow(m, chunk, begin, pass, SPMM_STRIP_NARROW, true);
    } else {
        lists_narrow(m, chunk, begin, pass, SPMM_STRIP_NARROW, false);
    }
}

static void kernel_blocks(const uint32_t *start, const uint16_t *column, int64_t begin, int64_t end,
                          const fixed_pass *pass)
{
    const bool wide = pass->strip == SPMM_STRIP;
    if (wide && pass->last) {
        blocks_wide(start, column, begin, end, pass, SPMM_STRIP, true);
    } else if (wide) {
        blocks_wide(start, column, begin, end, pass, SPMM_STRIP, false);
    } else if (pass->last) {
        blocks_narrow(start, column, begin, end, pass, SPMM_STRIP_NARROW, true);
    } else {
        blocks_narrow(start, column, begin, end, pass, SPMM_STRIP_NARROW, false);
    }
}

const fixed_kernels FIXED_TABLE = {.pack = kernel_pack,
                                   .lists = kernel_lists,
                                   .blocks = kernel_blocks,
                                   .finish = kernel_finish,
                                   .round = kernel_round,
                                   .largest = kernel_largest};

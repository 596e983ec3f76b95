/*
 * comm/sparse/select_kernel.h: the passes over a vector that selection is made of, one table an instruction set.
 *
 * Magnitudes are compared as integers: the bits of |x| order like |x| itself, infinities and NaN lie above every
 * finite number, and denormals are not flushed.
 */
#ifndef WEFT_COMM_SPARSE_SELECT_KERNEL_H
#define WEFT_COMM_SPARSE_SELECT_KERNEL_H

#include <stdint.h>
#include <string.h>

enum {
    SELECT_SLACK = 16 /* entries that `compact` may overwrite past the last one it keeps */
};

#define SELECT_MAGNITUDE 0x7fffffffu /* all bits but the sign */
#define SELECT_INFINITY  0x7f800000u /* this and above: not finite */

typedef struct select_kernels {
    /*
     * Append every i of [begin, end) with |x[i]| >= floor to index and value, in order; returns how many, or -1 when
     * more than `capacity` would be needed (the arrays have SELECT_SLACK more). *top: the largest magnitude seen.
     */
    int64_t (*compact)(const float *x, int64_t begin, int64_t end, uint32_t floor, int64_t capacity, int32_t *index,
                       float *value, uint32_t *top);
    /* How many of x[begin..end) have |x| >= floor. */
    int64_t (*count)(const float *x, int64_t begin, int64_t end, uint32_t floor);
    /* Sum of |x|, in the same order of additions on every instruction set; *top: the largest magnitude. */
    double (*sum)(const float *x, int64_t begin, int64_t end, uint32_t *top);
} select_kernels;

extern const select_kernels select_kernels_base, select_kernels_avx2, select_kernels_avx512;

/* The best table of this processor. */
const select_kernels *select_kernels_of_cpu(void);

static inline uint32_t select_bits(float x)
{
    uint32_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    return bits & SELECT_MAGNITUDE;
}

#endif

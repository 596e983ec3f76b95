/*
 * app/bench/bench_check.h: known inputs, and how far a result is from what they give in double precision.
 *
 * Rank r holds numbers in [-1, 1) that only r and the position determine, so every rank can make those of all others
 * and check its own result alone. An error is told over its bound: above 1 a result is wrong, and infinite is one that
 * is not a number. The error of a sum of P float32 over ranks is at most P roundings of the sum of magnitudes; a shorter
 * type on the wire adds one rounding of each input and one of the result.
 */
#ifndef WEFT_APP_BENCH_BENCH_CHECK_H
#define WEFT_APP_BENCH_BENCH_CHECK_H

#include <math.h>

#include "comm/comm.h"

/* Number i of a rank, in [-1, 1). */
float bench_input(int rank, int64_t i);
/* x [count]: the numbers of a rank. */
void bench_fill(int rank, float *x, int64_t count);
/* x [count]: the cubes of a rank's numbers: a few large values and many small ones, as gradients are. */
void bench_fill_gradient(int rank, float *x, int64_t count);
/* Returns the largest error of sum[begin .. begin + count) of the inputs of all ranks. */
double bench_sum_error(const float *sum, int64_t begin, int64_t count, int ranks, comm_wire wire);
/* A hash of bits and their positions. Vectors that differ anywhere almost surely have different hashes. */
uint64_t bench_bits_hash(const float *x, int64_t count);

/*
 * An element of a result, computed again in double precision: a sum of products, and the sum of their magnitudes. The
 * error of n float32 additions grows like sqrt(n) when roundings are independent, so that an element may be off by
 * four times sqrt(n + 4) roundings of the sum of magnitudes.
 */
typedef struct bench_sum {
    double exact, magnitude;
    int64_t terms;
    double found;
    double more; /* allowed beside the bound of float32 */
} bench_sum;

static inline void bench_sum_add(bench_sum *sum, double a, double b)
{
    sum->exact += a * b;
    sum->magnitude += fabs(a * b);
    sum->terms += 1;
}

/* Returns the larger one of `worst` and the error of the element. */
double bench_sum_worst(double worst, const bench_sum *sum);

#endif

/*
 * app/bench/bench_check.h: known inputs of an all-reduce, and how far its result is from their sum in double precision.
 *
 * Rank r holds numbers in [-1, 1) that only r and the position determine, so every rank can make those of all others
 * and check its own result alone. The error of P float32 additions is at most P roundings of the sum of magnitudes; a
 * shorter type on the wire adds one rounding of each input and one of the result.
 */
#ifndef WEFT_APP_BENCH_BENCH_CHECK_H
#define WEFT_APP_BENCH_BENCH_CHECK_H

#include "comm/comm.h"

void bench_fill(int rank, float *x, int64_t count);
/* The largest error of sum[i] over its bound: above 1 is wrong, infinite where a result is not a number. */
double bench_sum_error(const float *sum, int64_t count, int ranks, comm_wire wire);
/* Of the bits and their positions: two results that differ anywhere have different hashes, almost surely. */
uint64_t bench_bits_hash(const float *x, int64_t count);

#endif

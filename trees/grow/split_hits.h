/*
 * trees/grow/split_hits.h: which cuts of a column may beat the best split so far.
 *
 * A cut between left sums (gl, hl) and right sums (gr, hr) is looked at closer only if
 *
 *      gl^2 / hl + gr^2 / hr >= least        gl^2 hr + gr^2 hl >= least hl hr
 *
 * which needs no division. The caller leaves a part in 10^9 to rounding, so that a split that is as good is never
 * missed, whichever instruction set looks.
 */
#pragma once

#include <stdint.h>

#include "base/isa.h"

enum { SPLIT_CUTS = 256 /* of numbers that are looked at together */ };

/* Sums on the left of some cuts of a column, as doubles, which hold them exactly. */
typedef struct left_sums {
    double gradient[SPLIT_CUTS], hessian[SPLIT_CUTS];
} left_sums;

typedef struct split_bar {
    double gradient, hessian;           /* sums of the node */
    double gradient_unit, hessian_unit; /* what a 1 in sums means */
    double alpha, lambda, min_hessian;  /* as in split_rule */
    double least;                       /* what both sides must reach together */
} split_bar;

/* [out] hit: [cuts] 1: the cut may be the best one, 0: it is not. cuts: at most SPLIT_CUTS. Returns how many may. */
typedef double split_hits(const split_bar *bar, const left_sums *left, int cuts, double *hit);
split_hits split_hits_base, split_hits_avx2, split_hits_avx512;

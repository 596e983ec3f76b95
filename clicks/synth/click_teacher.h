/*
 * clicks/synth/click_teacher.h: who says which rows of made data are clicks, and rows by its rule.
 *
 *     z = c + sum_f a_f[id_f] + sum over CLICK_PAIRS pairs (f, g) of <u_f[id_f], u_g[id_g]> + 0.3 sum_j w_j tanh(x_j)
 *     a ~ N(0, 0.35) and u ~ N(0, 0.25 I) in CLICK_HIDDEN dimensions, by their variances; w, x ~ N(0, 1)
 *     P(click) = 1 / (1 + exp(-z)); c is such that a quarter of all rows are clicks
 *
 * Ids of a field of R are 1 to R with P(k) proportional to k^-1.05. No table is kept: ids and numbers are functions of
 * (seed, row), what the teacher knows of an id is one of (seed, field, id), so every rank makes the rows that it
 * needs. No model orders rows better than z does: its AUC is the ceiling of these data.
 *
 * A row has the same bits on every machine: kernels add, multiply, divide and take roots in one order, and the compiler
 * fuses none of it (cmake/WeftRooms.cmake).
 */
#pragma once

#include "clicks/synth/click_spec.h"

enum { CLICK_PAIRS = 40, CLICK_HIDDEN = 4, CLICK_LANES = 16 };

typedef struct click_teacher {
    click_spec spec;
    int lanes;                                              /* fields, up to whole vectors */
    int32_t size[CLICK_SPEC_FIELDS];                        /* [lanes] ids of a field */
    double low[CLICK_SPEC_FIELDS], span[CLICK_SPEC_FIELDS]; /* [lanes] where draws of ids begin, and how far they go */
    int pairs;                                              /* CLICK_PAIRS, or all that the fields have */
    int32_t pair[CLICK_PAIRS][2];
    float weight[CLICK_SPEC_NUMBERS];
    float offset; /* c */
} click_teacher;

typedef struct click_made_row {
    int32_t id[CLICK_SPEC_FIELDS];
    float number[CLICK_SPEC_NUMBERS];
    float logit; /* z */
    bool clicked;
} click_made_row;

/* Makes 2^17 rows to find c, by `threads` threads. */
weft_status click_teacher_make(const click_spec *spec, int threads, click_teacher *teacher);
/* [out] made. Any thread. */
void click_teacher_row(const click_teacher *teacher, int64_t row, click_made_row *made);
/* Returns how many ids of a field are expected in so many rows, within 1 %. */
int64_t click_teacher_distinct(const click_teacher *teacher, int field, int64_t rows);

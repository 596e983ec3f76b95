/*
 * clicks/model/click_sums.h: linear models and factorisation machines by sums over a sample's ids (embed_sums), so that
 * 1 or width + 2 numbers of a sample travel however many ids it has.
 *
 *     total    [samples, width + 1 (+ 1)]: the sum s of rows, the sum w of linear weights, with fm the sum q of squares
 *     logit    w, and with fm 0.5 (|s|^2 - q): the sum over pairs of ids of <v_i, v_j>
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* [out] logit: [samples] */
void click_sums_forward(const float *total, int64_t ld, int width, bool fm, int64_t samples, float *logit);
/* [out] dtotal: the gradient of total, with leading dimension ld. */
void click_sums_backward(const float *total, int64_t ld, int width, bool fm, int64_t samples, const float *dlogit,
                         float *dtotal);

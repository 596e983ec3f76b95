/*
 * embed/pool/pool_sums.h: sums of the rows of bags, and of gradients by row, times the weights of bags that have such.
 * Each sum is made by one thread in the order of positions: the same bits for any number of threads, and no atomics.
 *
 * stride: numbers of a row; field f of a sample has columns [f * stride, (f + 1) * stride) of the sample's row.
 */
#pragma once

#include <stdint.h>

#include "embed/embed.h"
#include "embed/pool/bag_index.h"

/* pooled [samples, fields * stride], leading dimension ld >= fields * stride: of each bag the sum of value[place].
 * value: [distinct, stride] with leading dimension value_ld, in the order of index->key. Empty bags are zeros. */
void pool_rows(const bag_index *index, const embed_bags *bags, const float *value, int64_t value_ld, int stride,
               float *pooled, int64_t ld);

/* gradient [distinct, stride] with leading dimension gradient_ld: of each distinct key the sum of dpooled
 * [samples, fields * stride] (ld) over the bags that hold it, as often as they hold it. */
void pool_gradients(const bag_index *index, int fields, const float *dpooled, int64_t ld, int stride, float *gradient,
                    int64_t gradient_ld);
/* gradient [last - first, stride]: sums as those of pool_gradients, of keys [first, last) alone, by the thread that
 * calls it. */
void pool_some_gradients(const bag_index *index, int fields, const float *dpooled, int64_t ld, int stride,
                         int64_t first, int64_t last, float *gradient);

/* [out] total: [samples] with leading dimension ld, of each the sum of weight^2 * square[place] over the keys of all
 * its bags. square: [distinct] with leading dimension square_ld. */
void pool_squares(const bag_index *index, const embed_bags *bags, const float *square, int64_t square_ld, float *total,
                  int64_t ld);
/* [out] dsquare: [distinct] with leading dimension dsquare_ld, of each the sum of weight^2 * dtotal[sample] (ld) over
 * its positions. */
void pool_square_gradients(const bag_index *index, int fields, const float *dtotal, int64_t ld, float *dsquare,
                           int64_t dsquare_ld);

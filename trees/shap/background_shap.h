/*
 * trees/shap/background_shap.h: SHAP values against rows of a background: interventional ones.
 *
 * The value of a set of columns is the mean answer for background rows of which these columns are replaced by the
 * row's. Covers play no part. A leaf is reached by some mixture of row x and background row b if every column on its
 * path meets its conditions by x or by b. With A the columns that only x meets, and B those that only b meets, a leaf
 * of value v adds
 *
 *     to column j of A   v (|A| - 1)! |B|! / (|A| + |B|)!         to column j of B   -v |A|! (|B| - 1)! / (|A| + |B|)!
 *
 * A walk carries 64 background rows as bits of a word, which part where A and B do. Cost: at most O(rows background
 * leaves depth), of which rows that go the same way share most.
 *
 *   S. Lundberg et al., 2020 (tree_shap.h); D. Janzing, L. Minorics, P. Blöbaum: Feature relevance quantification in
 *   explainable AI: A causal problem. AISTATS 2020.
 */
#pragma once

#include "trees/forest/forest.h"

/*
 * background: [count, columns], NaN for missing values; count is at least 1. [out] phi: [rows, outputs, columns + 1] of
 * rows first .. first + rows - 1; the last number of an answer is the mean margin of the background, and the sum of all
 * is the row's margin. WEFT_ERR_UNSUPPORTED: a tree is deeper than SHAP_DEPTH_MAX. Local.
 */
weft_status background_shap(const weft_forest *forest, const float *background, int64_t count, const tree_columns *data,
                            int64_t first, int64_t rows, int threads, double *phi);

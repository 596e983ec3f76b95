/*
 * trees/shap/tree_shap.h: what each column adds to the answer of a row: SHAP values that depend on the paths of trees,
 * exact.
 *
 * The value of a set of columns is the mean answer of the rows of the training that agree with the row in these
 * columns, as far as the covers of the tree know; column j's share is the Shapley value of that game. With t on [0, 1]
 * it is
 *
 *     phi_j = sum over leaves v (o_j - z_j) integral of the product over i != j of (z_i (1 - t) + o_i t) dt
 *
 * where z_i is the product of the cover ratios of column i's conditions on the path, and o_i is 1 if the row meets all
 * of them and 0 otherwise. The product is a polynomial of degree below D, the number of columns on the path, so
 * ceil(D / 2) points of Gauss and Legendre integrate it exactly. One walk over the edges of a tree serves all columns
 * of 16 rows: O(edges D) a row. The covers are sums of hessians, which makes these the values that XGBoost gives; they
 * say what the model does, not what causes what.
 *
 *   S. Lundberg et al.: From local explanations to global understanding with explainable AI for trees. Nature Machine
 *   Intelligence 2, 2020, doi:10.1038/s42256-019-0138-9.
 */
#pragma once

#include "trees/forest/forest.h"

enum { SHAP_DEPTH_MAX = 256 };

/* [out] depth: splits on the way to the deepest leaf. WEFT_ERR_UNSUPPORTED: more than SHAP_DEPTH_MAX. */
weft_status shap_depth(const weft_tree *tree, int *depth);

/*
 * [out] phi: [rows, outputs, columns + 1] of rows first .. first + rows - 1; the last number of an answer is the mean
 * margin, and the sum of all is the margin. WEFT_ERR_UNSUPPORTED: a tree is deeper than SHAP_DEPTH_MAX. Local.
 */
weft_status tree_shap(const weft_forest *forest, const tree_columns *data, int64_t first, int64_t rows, int threads,
                      double *phi);
/*
 * SHAP interaction values. [out] phi: [rows, outputs, columns + 1, columns + 1]: element (i, j) is half of what columns
 * i and j add together beyond what each adds alone, (i, i) is the rest of column i's SHAP value, and the last one is
 * the mean margin; the others of the last row and column are 0. A matrix is equal to its transpose to the bit, and its
 * rows add up to SHAP values. O(edges depth D) a row. Otherwise as tree_shap.
 */
weft_status tree_shap_pairs(const weft_forest *forest, const tree_columns *data, int64_t first, int64_t rows,
                            int threads, double *phi);

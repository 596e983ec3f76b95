/*
 * trees/grow/split.h: the best way to divide the rows of a node, by its histograms.
 *
 *     gain = s(left) + s(right) - s(node)        s(G, H) = t(G)^2 / (H + lambda)
 *
 * with t(G) = G brought nearer to 0 by alpha; T. Chen, C. Guestrin: XGBoost, KDD 2016, doi:10.1145/2939672.2939785.
 * Both children need a hessian of at least min_hessian. Rows without a value go to the side where the gain is larger,
 * and right where both are equal. Of equal gains the lower column is taken, then the lower bin: ties fall alike on all
 * ranks.
 *
 * Categories are divided into two sets. With few bins one category stands against the rest; categories that the node
 * has not go where missing values go, and without missing values in the node that is left, to the rest. With more bins
 * they are ordered by G / (H + smooth), and the first ones or the last ones go right, all else left: rows without a
 * value, and categories that the node has not or that fewer than `smooth` of its rows have. s is convex in (G, H), so
 * without smoothing the best of all subsets is one of these (W. D. Fisher: On grouping for maximum homogeneity,
 * JASA 1958, doi:10.1080/01621459.1958.10501479). Sets of many categories fit noise: the first half of an order that
 * the targets made looks as if it gained much. So at most set_most categories are split off, and category_l2 is added
 * to lambda for them, as LightGBM does.
 *
 * Where columns have a direction, or leaves a largest step, a leaf adds a number within the bounds of its node, s is
 * what the leaf gains with that number, and a split whose sides contradict the direction of its column is none.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { SPLIT_WORDS = 16 };

/* The sums of a node or of a side, in units of split_rule's scales. */
typedef struct tree_sums {
    int64_t gradient, hessian;
} tree_sums;

typedef struct tree_split {
    double gain; /* 0: there is no split */
    tree_sums left;
    int32_t feature;
    uint16_t bin; /* rows up to this bin go left; of categories the place of the cut in their order */
    bool default_left;
    bool by_category;            /* rows whose bins are in `right` go right, whatever `bin` is */
    uint64_t right[SPLIT_WORDS]; /* bit b % 64 of word b / 64 is bin b */
} tree_split;

typedef struct split_rule {
    double lambda, alpha, min_hessian;
    double min_gain;                    /* a split gains more than this */
    double gradient_unit, hessian_unit; /* what a 1 in tree_sums means */
    const int8_t *direction;            /* [columns] 1: answers rise with the column, -1: they fall; NULL: all 0 */
    bool bounded;                       /* the bounds of nodes count; where a column has a direction they do */
    const int *categories;              /* [columns] bins of categories; 0: a column of numbers. NULL: all 0 */
    double smooth, category_l2;
    int set_most; /* categories that go right, at most; 0: no bound */
    int one_hot;  /* with this many bins of categories and fewer one stands against the rest */
} split_rule;

/* A node whose split is looked for. */
typedef struct split_node {
    tree_sums sums;
    int64_t rows;        /* of all ranks */
    double lower, upper; /* of what its leaves add before the rate, where rule->bounded */
    const uint8_t *use;  /* [columns] not 0: the column may be used */
} split_node;

/* The histogram of a column of a node. */
typedef struct split_cells {
    const int64_t *cell; /* [count][width] sums by bin; the last cell is of missing values */
    int width;           /* 2: gradients and hessians apart; 1: both in one number (hal_cell_gradient) */
    int count;
} split_cells;

/* Improves *best. */
void split_scan(const split_rule *rule, const split_node *node, const split_cells *cells, int32_t feature,
                tree_split *best);
/* Does a come before b? */
bool split_is_better(const tree_split *a, const tree_split *b);
/* What a leaf of these sums adds to a margin. */
double split_leaf(const split_rule *rule, double gradient, double hessian);
/* What a leaf of these sums adds to a margin, kept within the bounds of its node. */
double split_bounded_leaf(const split_rule *rule, const split_node *node, double gradient, double hessian);
/* [out] left, right: the bounds of the children. */
void split_bounds(const split_rule *rule, const split_node *node, const tree_split *split, split_node *left,
                  split_node *right);

/* Does a row of this bin go left? missing: the bin of missing values. */
static inline bool split_goes_left(const tree_split *split, int missing, int bin)
{
    if (bin == missing) {
        return split->default_left;
    }
    return split->by_category ? (split->right[bin / 64] >> (bin % 64) & 1) == 0 : bin <= split->bin;
}

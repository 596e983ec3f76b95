/* trees/grow/split.c: see trees/grow/split.h. */
#include "trees/grow/split.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hal/hal.h"
#include "trees/grow/split_hits.h"

static double towards_zero(double g, double alpha)
{
    return g > alpha ? g - alpha : g < -alpha ? g + alpha : 0.0;
}

static double score(const split_rule *rule, double gradient, double hessian)
{
    const double g = towards_zero(gradient, rule->alpha);
    return hessian + rule->lambda > 0.0 ? g * g / (hessian + rule->lambda) : 0.0;
}

/* The score of a leaf that adds w. */
static double score_at(const split_rule *rule, double gradient, double hessian, double w)
{
    return -(2.0 * gradient * w + (hessian + rule->lambda) * w * w + 2.0 * rule->alpha * fabs(w));
}

double split_leaf(const split_rule *rule, double gradient, double hessian)
{
    return hessian + rule->lambda > 0.0 ? -towards_zero(gradient, rule->alpha) / (hessian + rule->lambda) : 0.0;
}

double split_bounded_leaf(const split_rule *rule, const split_node *node, double gradient, double hessian)
{
    const double w = split_leaf(rule, gradient, hessian);
    return !rule->bounded ? w : fmin(fmax(w, node->lower), node->upper);
}

bool split_is_better(const tree_split *a, const tree_split *b)
{
    if (a->gain != b->gain) {
        return a->gain > b->gain;
    }
    if (a->feature != b->feature) {
        return a->feature < b->feature;
    }
    return a->bin != b->bin ? a->bin < b->bin : !a->default_left && b->default_left;
}

/* One side of missing values. */
typedef struct split_side {
    const split_rule *rule;
    const split_node *node;
    double parent; /* score of the node */
    int32_t feature;
    bool default_left;
} split_side;

/* Sums of both sides in the units of gradients and hessians. */
typedef struct side_sums {
    double gradient[2], hessian[2];
} side_sums;

static side_sums sums_of(const split_rule *rule, const tree_sums *node, const tree_sums *left)
{
    return (side_sums){.gradient = {(double)left->gradient * rule->gradient_unit,
                                    (double)(node->gradient - left->gradient) * rule->gradient_unit},
                       .hessian = {(double)left->hessian * rule->hessian_unit,
                                   (double)(node->hessian - left->hessian) * rule->hessian_unit}};
}

/* 0 where the sides contradict the column's direction. */
static double bounded_gain(const split_side *side, const side_sums *s)
{
    const split_rule *rule = side->rule;
    const double left = split_bounded_leaf(rule, side->node, s->gradient[0], s->hessian[0]);
    const double right = split_bounded_leaf(rule, side->node, s->gradient[1], s->hessian[1]);
    if (rule->direction != NULL && (right - left) * rule->direction[side->feature] < 0.0) {
        return 0.0;
    }
    return score_at(rule, s->gradient[0], s->hessian[0], left) + score_at(rule, s->gradient[1], s->hessian[1], right) -
           side->parent;
}

/* What a split with these sums on its left gains; 0 where it must not be. */
static double gain_of(const split_side *side, const tree_sums *left)
{
    const split_rule *rule = side->rule;
    const side_sums s = sums_of(rule, &side->node->sums, left);
    if (left->hessian == 0 || left->hessian == side->node->sums.hessian || s.hessian[0] < rule->min_hessian ||
        s.hessian[1] < rule->min_hessian) {
        return 0.0;
    }
    const double gain = rule->bounded ? bounded_gain(side, &s)
                                      : score(rule, s.gradient[0], s.hessian[0]) +
                                            score(rule, s.gradient[1], s.hessian[1]) - side->parent;
    return gain > rule->min_gain ? gain : 0.0;
}

/* Returns true if the split behind `bin`, with these sums on its left, is the best so far, and takes it. */
static bool try_split(const split_side *side, int bin, const tree_sums *left, tree_split *best)
{
    const double gain = gain_of(side, left);
    if (!(gain > 0.0) || gain < best->gain) {
        return false;
    }
    const tree_split split = {.gain = gain,
                              .left = *left,
                              .feature = side->feature,
                              .bin = (uint16_t)bin,
                              .default_left = side->default_left};
    if (!split_is_better(&split, best)) {
        return false;
    }
    *best = split;
    return true;
}

static tree_sums sums_at(const split_cells *cells, int bin)
{
    const int64_t *cell = cells->cell + (int64_t)bin * cells->width;
    return cells->width == 2 ? (tree_sums){cell[0], cell[1]}
                             : (tree_sums){hal_cell_gradient(cell[0]), hal_cell_hessian(cell[0])};
}

static bool is_empty(const split_cells *cells, int bin)
{
    const tree_sums sums = sums_at(cells, bin);
    return sums.gradient == 0 && sums.hessian == 0;
}

/* [in, out] sum: on the left of bin `first`, then of the bin behind the last. */
static void add_up(const split_cells *cells, int first, int cuts, tree_sums *sum, left_sums *left)
{
    for (int i = 0; i < cuts; ++i) {
        const tree_sums own = sums_at(cells, first + i);
        sum->gradient += own.gradient;
        sum->hessian += own.hessian;
        left->gradient[i] = (double)sum->gradient;
        left->hessian[i] = (double)sum->hessian;
    }
}

static split_hits *const kernels[HAL_ISAS] = {
    [HAL_ISA_BASE] = split_hits_base, [HAL_ISA_AVX2] = split_hits_avx2, [HAL_ISA_AVX512] = split_hits_avx512};

/* [out] hit: [cuts] 0: the split behind this bin cannot gain as much as the best one so far. Returns true if some
 * can. */
static bool find_hits(const split_side *side, const left_sums *left, int cuts, const tree_split *best, double *hit)
{
    const split_rule *rule = side->rule;
    const double least = side->parent + fmax(best->gain, rule->min_gain);
    const split_bar bar = {.gradient = (double)side->node->sums.gradient,
                           .hessian = (double)side->node->sums.hessian,
                           .gradient_unit = rule->gradient_unit,
                           .hessian_unit = rule->hessian_unit,
                           .alpha = rule->alpha,
                           .lambda = rule->lambda,
                           .min_hessian = rule->min_hessian,
                           .least = least * (1.0 - 1e-9)};
    return kernels[hal_isa_best()](&bar, left, cuts, hit) > 0.0;
}

/* The cuts behind bins first .. first + cuts - 1, at most SPLIT_CUTS. sum: as in add_up. */
static void scan_part(const split_side *side, const split_cells *cells, int first, int cuts, tree_sums *sum,
                      tree_split *best)
{
    left_sums left;
    double hit[SPLIT_CUTS];
    add_up(cells, first, cuts, sum, &left);
    if (!side->rule->bounded && !find_hits(side, &left, cuts, best, hit)) {
        return;
    }
    for (int i = 0; i < cuts; ++i) {
        const int bin = first + i, after = bin < cells->count - 2 ? bin + 1 : bin;
        if ((side->rule->bounded || hit[i] != 0.0) && !is_empty(cells, side->default_left ? after : bin)) {
            const tree_sums own = {(int64_t)left.gradient[i], (int64_t)left.hessian[i]};
            try_split(side, bin, &own, best);
        }
    }
}

/* Of the bins between two values of the node all are the same split. With missing values on the right the first is
 * taken, with missing values on the left the last, as XGBoost does. */
static void scan_side(const split_side *side, const split_cells *cells, tree_split *best)
{
    const int cuts = cells->count - 1;
    tree_sums sum = side->default_left ? sums_at(cells, cuts) : (tree_sums){0, 0};
    for (int first = 0; first < cuts; first += SPLIT_CUTS) {
        scan_part(side, cells, first, cuts - first < SPLIT_CUTS ? cuts - first : SPLIT_CUTS, &sum, best);
    }
}

/* ---- categories -------------------------------------------------------------------------------------------------- */

typedef struct ranked_bin {
    double ratio; /* gradient by hessian */
    int bin;
} ranked_bin;

static int compare_ratios(const void *a, const void *b)
{
    const ranked_bin *x = a, *y = b;
    return x->ratio != y->ratio ? (x->ratio < y->ratio ? -1 : 1) : x->bin - y->bin;
}

/* [out] ranked: the bins that the node has, in the order of their ratios, without those of few rows. Rows of a bin are
 * known by its share of the hessian. Returns how many. */
static int rank_bins(const split_rule *rule, const split_node *node, double smooth, const split_cells *cells,
                     ranked_bin *ranked)
{
    const double share = smooth / (double)(node->rows > 0 ? node->rows : 1);
    int count = 0;
    for (int bin = 0; bin < cells->count - 1; ++bin) {
        const tree_sums own = sums_at(cells, bin);
        const double g = (double)own.gradient * rule->gradient_unit, h = (double)own.hessian * rule->hessian_unit;
        if (!is_empty(cells, bin) && (double)own.hessian >= share * (double)node->sums.hessian) {
            ranked[count++] = (ranked_bin){g / (h + smooth), bin};
        }
    }
    qsort(ranked, (size_t)count, sizeof *ranked, compare_ratios);
    return count;
}

static void put_right(tree_split *split, int bin)
{
    split->right[bin / 64] |= UINT64_C(1) << (bin % 64);
}

static void scan_one_hot(const split_side *side, const split_cells *cells, const ranked_bin *ranked, int count,
                         tree_split *best)
{
    const tree_sums right = side->default_left ? (tree_sums){0, 0} : sums_at(cells, cells->count - 1);
    for (int i = 0; i < count; ++i) {
        const tree_sums own = sums_at(cells, ranked[i].bin);
        const tree_sums left = {side->node->sums.gradient - own.gradient - right.gradient,
                                side->node->sums.hessian - own.hessian - right.hessian};
        if (try_split(side, ranked[i].bin, &left, best)) {
            best->by_category = true;
            put_right(best, ranked[i].bin);
            for (int bin = 0; bin < cells->count - 1 && !best->default_left; ++bin) {
                if (is_empty(cells, bin)) {
                    put_right(best, bin);
                }
            }
        }
    }
}

/* The first ranked bins go right, or with step -1 the last ones, and all else left. */
static void scan_ranked(const split_side *side, const split_cells *cells, const ranked_bin *ranked, int count, int step,
                        tree_split *best)
{
    const ranked_bin *first = step > 0 ? ranked : ranked + count - 1;
    const int set_most = side->rule->set_most;
    tree_sums left = side->node->sums;
    for (int i = 0; i < count && (set_most == 0 || i < set_most); ++i) {
        const tree_sums own = sums_at(cells, first[i * step].bin);
        left.gradient -= own.gradient;
        left.hessian -= own.hessian;
        if (try_split(side, step > 0 ? i : count - 1 - i, &left, best)) {
            best->by_category = true;
            for (int chosen = 0; chosen <= i; ++chosen) {
                put_right(best, first[chosen * step].bin);
            }
        }
    }
}

static void scan_categories(split_side *side, const split_cells *cells, tree_split *best)
{
    ranked_bin ranked[64 * SPLIT_WORDS];
    const split_rule *rule = side->rule;
    if (rule->categories[side->feature] <= rule->one_hot) {
        const int count = rank_bins(rule, side->node, 0.0, cells, ranked);
        for (int left = is_empty(cells, cells->count - 1) ? 1 : 0; left < 2; ++left) {
            side->default_left = left == 1;
            scan_one_hot(side, cells, ranked, count, best);
        }
        return;
    }
    const int count = rank_bins(rule, side->node, rule->smooth, cells, ranked);
    side->default_left = true;
    scan_ranked(side, cells, ranked, count, 1, best);
    scan_ranked(side, cells, ranked, count, -1, best);
}

/* ---- a column ---------------------------------------------------------------------------------------------------- */

static double score_of_node(const split_rule *rule, const split_node *node)
{
    const double gradient = (double)node->sums.gradient * rule->gradient_unit;
    const double hessian = (double)node->sums.hessian * rule->hessian_unit;
    return !rule->bounded ? score(rule, gradient, hessian)
                          : score_at(rule, gradient, hessian, split_bounded_leaf(rule, node, gradient, hessian));
}

void split_scan(const split_rule *rule, const split_node *node, const split_cells *cells, int32_t feature,
                tree_split *best)
{
    split_side side = {.rule = rule, .node = node, .feature = feature, .parent = score_of_node(rule, node)};
    if (rule->categories != NULL && rule->categories[feature] > 0) {
        split_rule stronger = *rule;
        stronger.lambda += rule->categories[feature] > rule->one_hot ? rule->category_l2 : 0.0;
        side.rule = &stronger;
        side.parent = score_of_node(&stronger, node);
        scan_categories(&side, cells, best);
        return;
    }
    scan_side(&side, cells, best);
    if (sums_at(cells, cells->count - 1).hessian != 0) {
        side.default_left = true;
        scan_side(&side, cells, best);
    }
}

void split_bounds(const split_rule *rule, const split_node *node, const tree_split *split, split_node *left,
                  split_node *right)
{
    left->lower = right->lower = node->lower;
    left->upper = right->upper = node->upper;
    if (rule->direction == NULL || rule->direction[split->feature] == 0) {
        return;
    }
    const side_sums s = sums_of(rule, &node->sums, &split->left);
    const double middle = 0.5 * (split_bounded_leaf(rule, node, s.gradient[0], s.hessian[0]) +
                                 split_bounded_leaf(rule, node, s.gradient[1], s.hessian[1]));
    const bool rises = rule->direction[split->feature] > 0;
    *(rises ? &left->upper : &left->lower) = middle;
    *(rises ? &right->lower : &right->upper) = middle;
}

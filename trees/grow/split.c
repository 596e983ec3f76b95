/* trees/grow/split.c: see trees/grow/split.h. */
#include "trees/grow/split.h"

#include <math.h>

static double towards_zero(double g, double alpha)
{
    return g > alpha ? g - alpha : g < -alpha ? g + alpha : 0.0;
}

static double score(const split_rule *rule, double gradient, double hessian)
{
    const double g = towards_zero(gradient, rule->alpha);
    return hessian + rule->lambda > 0.0 ? g * g / (hessian + rule->lambda) : 0.0;
}

double split_leaf(const split_rule *rule, double gradient, double hessian)
{
    return hessian + rule->lambda > 0.0 ? -towards_zero(gradient, rule->alpha) / (hessian + rule->lambda) : 0.0;
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

typedef struct split_side {
    const split_rule *rule;
    const tree_sums *node;
    double parent; /* score of the node */
    int32_t feature;
    bool default_left;
} split_side;

/* The split behind `bin`, with these sums on its left. */
static void try_split(const split_side *side, int bin, const tree_sums *left, tree_split *best)
{
    const split_rule *rule = side->rule;
    const double hessian[2] = {(double)left->hessian * rule->hessian_unit,
                               (double)(side->node->hessian - left->hessian) * rule->hessian_unit};
    const double gradient[2] = {(double)left->gradient * rule->gradient_unit,
                                (double)(side->node->gradient - left->gradient) * rule->gradient_unit};
    if (left->hessian == 0 || left->hessian == side->node->hessian || hessian[0] < rule->min_hessian ||
        hessian[1] < rule->min_hessian) {
        return;
    }
    const double gain = score(rule, gradient[0], hessian[0]) + score(rule, gradient[1], hessian[1]) - side->parent;
    const tree_split split = {.gain = gain,
                              .left = *left,
                              .feature = side->feature,
                              .bin = (uint8_t)bin,
                              .default_left = side->default_left};
    if (gain > rule->min_gain && split_is_better(&split, best)) {
        *best = split;
    }
}

static bool is_empty(const int64_t *cell, int bin)
{
    return cell[2 * bin] == 0 && cell[2 * bin + 1] == 0;
}

/* Of the bins between two values of the node all are the same split. With missing values on the right the first is
 * taken, with missing values on the left the last, as XGBoost does. */
static void scan_side(const split_side *side, const int64_t *cell, int cells, tree_split *best)
{
    const int64_t *missing = cell + 2 * (cells - 1);
    tree_sums left = {side->default_left ? missing[0] : 0, side->default_left ? missing[1] : 0};
    for (int bin = 0; bin < cells - 1; ++bin) {
        left.gradient += cell[2 * bin];
        left.hessian += cell[2 * bin + 1];
        if (!is_empty(cell, side->default_left && bin < cells - 2 ? bin + 1 : bin)) {
            try_split(side, bin, &left, best);
        }
    }
}

void split_scan(const split_rule *rule, const tree_sums *node, const int64_t *cell, int cells, int32_t feature,
                tree_split *best)
{
    split_side side = {.rule = rule, .node = node, .feature = feature};
    side.parent = score(rule, (double)node->gradient * rule->gradient_unit, (double)node->hessian * rule->hessian_unit);
    scan_side(&side, cell, cells, best);
    if (cell[2 * (cells - 1) + 1] != 0) {
        side.default_left = true;
        scan_side(&side, cell, cells, best);
    }
}

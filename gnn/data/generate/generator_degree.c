/*
 * gnn/data/generate/generator_degree.c: wanted degrees, and the weights that give them in a graph without repeated
 * edges.
 *
 * Degrees are a truncated log-normal or power law with the wanted mean, cut into 128 levels of equal ratio (6 % steps;
 * the randomness of the edges smears them). Every community gets the same mix of levels, so one mean-field model serves
 * all.
 *
 * A pair u, v is drawn Poisson(w_u w_v) times, so it is an edge with probability 1 - exp(-w_u w_v): dense blocks
 * saturate and plain products of degrees would lose edges to repeats, the largest degrees most. Therefore inside   w =
 * s * degree, with s such that the number of distinct edges inside communities is the wanted one; outside  what a
 * vertex still lacks of its wanted degree is asked of the other communities, solved by fixed point. Cost: 128^2
 * exponentials a step, some tens of milliseconds, whatever the size of the graph.
 *
 * F. Chung, L. Lu: Connected components in random graphs with given expected degree sequences. Annals of Combinatorics
 * 6, 2002, doi:10.1007/PL00012580. B. Karrer, M. Newman: Stochastic blockmodels and community structure in networks.
 * Physical Review E 83, 2011, doi:10.1103/PhysRevE.83.016107.
 */
#include <assert.h>
#include <math.h>

#include "gnn/data/generate/generator_parts.h"

enum { LEVELS = GENERATOR_LEVELS, BISECTIONS = 40, FIXED_POINT_STEPS = 40 };

/* Share of vertices with a degree below d; `place` is the median (log-normal) or the smallest degree (power law). */
static double degree_share_below(const generator_spec *spec, double place, double d)
{
    if (spec->exponent > 0) {
        return d <= place ? 0 : 1 - pow(place / d, spec->exponent - 1);
    }
    return 0.5 * erfc(-log(d / place) / (spec->sigma * sqrt(2.0)));
}

/* Levels for a place: share[l] of the vertices, descending degrees. Returns the mean degree. */
static double degree_levels_at(const generator_spec *spec, double place, double *degree, double *share)
{
    assert(place > 0);
    double high = spec->max_degree;
    double low = spec->exponent > 0 ? place : fmin(place * exp(-4 * spec->sigma), high / 2);
    double ratio = pow(low / high, 1.0 / LEVELS);
    double floor_share = degree_share_below(spec, place, low);
    double span = degree_share_below(spec, place, high) - floor_share;
    double above = high, mean = 0;
    for (int l = 0; l < LEVELS; ++l) {
        double below = above * ratio;
        degree[l] = sqrt(above * below);
        share[l] = (degree_share_below(spec, place, above) - degree_share_below(spec, place, below)) / span;
        mean += share[l] * degree[l];
        above = below;
    }
    return mean;
}

/* Degrees and counts of the levels with mean edges / vertices. */
static void levels_shape(const generator_spec *spec, generator_levels *levels)
{
    double share[LEVELS];
    double wanted = spec->edges / spec->vertices, low = wanted * 1e-6;
    double high = spec->max_degree * (spec->exponent > 0 ? 1 - 1e-9 : 1e3);
    for (int step = 0; step < 2 * BISECTIONS; ++step) {
        double middle = sqrt(low * high);
        if (degree_levels_at(spec, middle, levels->degree, share) < wanted) {
            low = middle;
        } else {
            high = middle;
        }
    }
    degree_levels_at(spec, low, levels->degree, share);
    double sum = 0;
    int64_t before = 0;
    for (int l = 0; l < LEVELS; ++l) {
        sum += share[l];
        int64_t upto = l == LEVELS - 1 ? (int64_t)spec->vertices : (int64_t)llround(fmin(sum, 1) * spec->vertices);
        assert(upto >= before);
        levels->count[l] = upto - before;
        before = upto;
    }
}

/* Expected distinct neighbours of a vertex of each level among `part` of all vertices; self: it is one of them itself.
 */
static void distinct_neighbours(const generator_levels *levels, const double *weight, double part, bool self,
                                double *out)
{
    for (int l = 0; l < LEVELS; ++l) {
        double sum = self ? expm1(-weight[l] * weight[l]) : 0;
        for (int m = 0; m < LEVELS; ++m) {
            sum -= (double)levels->count[m] * part * expm1(-weight[l] * weight[m]);
        }
        out[l] = fmax(sum, 0);
    }
}

static double weighted_sum(const generator_levels *levels, const double *value)
{
    double sum = 0;
    for (int l = 0; l < LEVELS; ++l) {
        sum += (double)levels->count[l] * value[l];
    }
    return sum;
}

/* Multiply weights by one factor such that the distinct entries become `total`. */
static void scale_weights(const generator_levels *levels, double part, bool self, double total, double *weight)
{
    double neighbours[LEVELS], tried[LEVELS];
    double sum = weighted_sum(levels, weight);
    assert(part > 0 && sum > 0 && total > 0);
    double low = sqrt(total / (part * sum * sum)); /* too small: repeats not yet counted */
    double high = low;
    for (int step = 0; step < 3 * BISECTIONS; ++step) {
        double factor = high > low ? sqrt(low * high) : 2 * low;
        for (int l = 0; l < LEVELS; ++l) {
            tried[l] = factor * weight[l];
        }
        distinct_neighbours(levels, tried, part, self, neighbours);
        bool enough = weighted_sum(levels, neighbours) >= total;
        if (high > low) {
            *(enough ? &high : &low) = factor;
        } else if (enough) {
            high = factor;
        } else {
            low = high = factor;
        }
        if (high > low && high / low < 1 + 1e-9) {
            break;
        }
    }
    for (int l = 0; l < LEVELS; ++l) {
        weight[l] *= high;
    }
}

/* What the other communities should give to each level: the rest of its degree, at least a tenth of its usual share. */
static void outside_targets(const generator_spec *spec, const generator_levels *levels, const double *inside,
                            double *target)
{
    double room = 0.9 * spec->vertices * (1 - 1 / spec->communities);
    for (int l = 0; l < LEVELS; ++l) {
        target[l] = fmax(levels->degree[l] - inside[l], 0.1 * (1 - spec->p_in) * levels->degree[l]);
    }
    double factor = (1 - spec->p_in) * spec->edges / weighted_sum(levels, target);
    for (int l = 0; l < LEVELS; ++l) {
        target[l] = fmin(target[l] * factor, room);
    }
}

static void solve_outside(const generator_spec *spec, generator_levels *levels, const double *target)
{
    double part = 1 - 1 / spec->communities;
    double neighbours[LEVELS];
    double root = sqrt(part * weighted_sum(levels, target));
    for (int l = 0; l < LEVELS; ++l) {
        levels->outside[l] = target[l] / root;
    }
    for (int step = 0; step < FIXED_POINT_STEPS; ++step) {
        distinct_neighbours(levels, levels->outside, part, false, neighbours);
        for (int l = 0; l < LEVELS; ++l) {
            levels->outside[l] *= sqrt(target[l] / neighbours[l]);
        }
    }
    scale_weights(levels, part, false, (1 - spec->p_in) * spec->edges, levels->outside);
}

void generator_levels_solve(const generator_spec *spec, generator_levels *levels)
{
    *levels = (generator_levels){0};
    if (spec->edges == 0) {
        levels->count[0] = (int64_t)spec->vertices;
        return;
    }
    double inside[LEVELS] = {0}, target[LEVELS];
    levels_shape(spec, levels);
    if (spec->p_in > 0) {
        double part = 1 / spec->communities;
        for (int l = 0; l < LEVELS; ++l) {
            levels->inside[l] = levels->degree[l];
        }
        scale_weights(levels, part, true, spec->p_in * spec->edges, levels->inside);
        distinct_neighbours(levels, levels->inside, part, true, inside);
    }
    if (spec->p_in < 1) {
        outside_targets(spec, levels, inside, target);
        solve_outside(spec, levels, target);
    }
}

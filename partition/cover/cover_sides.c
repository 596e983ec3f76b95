/* partition/cover/cover_sides.c: see partition/cover/cover_sides.h. */
#include "partition/cover/cover_sides.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

#include "partition/shares.h"

enum { SWEEPS = 8 };
#define VERTEX_SLACK 1.1
#define PAIR_SLACK   1.05
#define VERTEX_PRICE 2.0 /* of a vertex beyond the share, in replicas */

typedef struct part_loads {
    int parts;
    const double *share;             /* [parts], or NULL */
    int64_t *vertices, *pairs;       /* [parts] */
    double vertex_limit, pair_limit; /* of all parts together, of which each has its share */
    double pair_price;               /* of a pair beyond the share, in replicas */
} part_loads;

static double price_of(const part_loads *loads, int part)
{
    double vertices = (double)loads->vertices[part], pairs = (double)loads->pairs[part];
    double vertex_share = shares_amount(loads->share, loads->parts, part, loads->vertex_limit);
    double pair_share = shares_amount(loads->share, loads->parts, part, loads->pair_limit);
    return vertices + VERTEX_PRICE * fmax(0, vertices - vertex_share) + loads->pair_price * fmax(0, pairs - pair_share);
}

/* sign 1: add what the offer's present side brings; -1: take it away. */
static void apply(const cover_offer *offer, int low, int high, int sign, part_loads *loads)
{
    assert(low < high && high < loads->parts && (int)offer->side < SIDES);
    loads->vertices[low] += sign * offer->low_replicas[offer->side];
    loads->vertices[high] += sign * offer->high_replicas[offer->side];
    loads->pairs[low] += sign * offer->low_pairs[offer->side];
    loads->pairs[high] += sign * offer->high_pairs[offer->side];
}

static bool revise(cover_offer *offer, int low, int high, part_loads *loads)
{
    cover_side before = offer->side, best = before;
    double least = INFINITY;
    apply(offer, low, high, -1, loads);
    for (int i = 0; i < SIDES; ++i) {
        offer->side = (cover_side)i;
        apply(offer, low, high, 1, loads);
        double price = price_of(loads, low) + price_of(loads, high);
        apply(offer, low, high, -1, loads);
        if (price < least) {
            least = price;
            best = offer->side;
        }
    }
    offer->side = best;
    apply(offer, low, high, 1, loads);
    return best != before;
}

static void set_limits(part_loads *loads)
{
    double vertices = 0, pairs = 0;
    for (int p = 0; p < loads->parts; ++p) {
        vertices += (double)loads->vertices[p];
        pairs += (double)loads->pairs[p];
    }
    loads->vertex_limit = VERTEX_SLACK * vertices;
    loads->pair_limit = PAIR_SLACK * pairs;
    loads->pair_price = vertices / (pairs + 1);
}

void cover_choose_sides(int parts, const double *share, int64_t *vertices, int64_t *pairs, cover_offer *offer)
{
    part_loads loads = {.parts = parts, .share = share, .vertices = vertices, .pairs = pairs};
    for (int j = 1; j < parts; ++j) {
        for (int i = 0; i < j; ++i) {
            offer[cover_cut(i, j)].side = SIDE_COVER;
            apply(&offer[cover_cut(i, j)], i, j, 1, &loads);
        }
    }
    bool changed = true;
    for (int sweep = 0; sweep < SWEEPS && changed; ++sweep) {
        changed = false;
        set_limits(&loads);
        for (int j = 1; j < parts; ++j) {
            for (int i = 0; i < j; ++i) {
                changed = revise(&offer[cover_cut(i, j)], i, j, &loads) || changed;
            }
        }
    }
}

/* tune/search/search_random.c: configurations at random, which every searcher begins with. */
#include <math.h>

#include "tune/search/searcher_internal.h"
#include "tune/space/space_rules.h"

enum { DRAWS_MOST = 100000 /* of a configuration that breaks a constraint */ };

static const double prior_deviation = 0.2; /* of coordinates around what the user expects */

/* Normal around the prior, by Box and Muller; what leaves [0, 1] is reflected at its ends. */
static double draw_near(const space_dimension *d, search_draws *draws)
{
    const double radius = sqrt(-2.0 * log(search_draw(draws))), angle = 2.0 * M_PI * search_draw(draws);
    double at = fabs(space_coordinate(d, d->prior) + prior_deviation * radius * cos(angle));
    at = fmod(at, 2.0);
    return at > 1.0 ? 2.0 - at : at;
}

static void draw_values(const search_space *space, search_draws *draws, double *values)
{
    for (int i = 0; i < space->count; i++) {
        const space_dimension *d = &space->dimension[i];
        double at = search_draw(draws);
        if (d->has_prior && search_draw(draws) < 0.5) {
            if (!space_is_ordered(d)) {
                values[i] = d->prior;
                continue;
            }
            at = draw_near(d, draws);
        }
        values[i] = space_value(d, at);
    }
}

void search_random(const search_space *space, search_draws *draws, double *values)
{
    int draw = 0;
    do {
        draw_values(space, draws, values);
        space_settle(space, values);
    } while (!space_allows(space, values) && ++draw < DRAWS_MOST);
}

weft_status search_check_space(const search_space *space, uint64_t seed)
{
    double values[SPACE_DIMENSIONS_MAX];
    search_draws draws = {seed, UINT32_MAX - 1, 0};
    search_random(space, &draws, values);
    WEFT_CHECK(space_allows(space, values), WEFT_ERR_USAGE,
               "the constraints leave none of %d configurations at random: make them wider, or the ranges narrower",
               DRAWS_MOST);
    return WEFT_OK;
}

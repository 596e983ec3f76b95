/* tune/search/search_random.c: configurations at random, which every searcher begins with. */
#include <math.h>

#include "tune/search/searcher_internal.h"

static const double prior_deviation = 0.2; /* of coordinates around what the user expects */

/* Normal around the prior, by Box and Muller; what leaves [0, 1] is reflected at its ends. */
static double draw_near(const space_dimension *d, search_draws *draws)
{
    const double radius = sqrt(-2.0 * log(search_draw(draws))), angle = 2.0 * M_PI * search_draw(draws);
    double at = fabs(space_coordinate(d, d->prior) + prior_deviation * radius * cos(angle));
    at = fmod(at, 2.0);
    return at > 1.0 ? 2.0 - at : at;
}

void search_random(const search_space *space, search_draws *draws, double *values)
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

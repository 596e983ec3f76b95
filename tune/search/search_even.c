/*
 * tune/search/search_even.c: configurations that fill the space without looking at scores: Sobol's points and grids.
 *
 * Sobol's points are moved by a random number in each dimension (a digital shift), so that seeds differ and no point
 * lies in the corner. Dimensions past the 21st are drawn at random.
 *
 * A grid has every value of a dimension of cells, and `grid` values of one with a range, at equal steps of its
 * coordinate. They come in a random order, so that a search that ends early has seen all of the space.
 *
 * Sobol's points that break a constraint are replaced by random ones; a grid has none of them.
 */
#include <inttypes.h>
#include <string.h>

#include "base/permutation.h"
#include "tune/search/searcher_internal.h"
#include "tune/search/sobol.h"
#include "tune/space/space_rules.h"

static const uint64_t grid_most = 1ull << 48;

void search_even_point(const searcher *s, uint32_t index, search_draws *draws, double *values)
{
    search_draws shifts = {s->desc.seed, UINT32_MAX, 0};
    for (int d = 0; d < s->space->count; d++) {
        const uint32_t shift = (uint32_t)(search_draw(&shifts) * 0x1p32);
        const double at =
            d < SOBOL_DIMENSIONS ? ((double)(sobol_coordinate(index, d) ^ shift) + 0.5) * 0x1p-32 : search_draw(draws);
        values[d] = space_value(&s->space->dimension[d], at);
    }
}

void search_sobol(const searcher *s, double *values)
{
    search_draws draws = search_draws_of(s);
    search_even_point(s, (uint32_t)s->history.trials, &draws, values);
}

static uint64_t steps(const space_dimension *dimension, const searcher_desc *desc)
{
    const int64_t cells = space_cells(dimension);
    return (uint64_t)(cells > 0 ? cells : desc->grid);
}

static uint64_t points(const search_space *space, const searcher_desc *desc)
{
    uint64_t count = 1;
    for (int d = 0; d < space->count && count <= grid_most; d++) {
        const uint64_t more = steps(&space->dimension[d], desc);
        count = more > grid_most / count ? grid_most + 1 : count * more;
    }
    return count;
}

weft_status search_grid_check(const search_space *space, const searcher_desc *desc)
{
    WEFT_CHECK(desc->grid >= 2, WEFT_ERR_USAGE, "a grid of %d values of a range: it needs 2 at least, its ends",
               desc->grid);
    WEFT_CHECK(points(space, desc) <= grid_most, WEFT_ERR_USAGE,
               "a grid of more than %" PRIu64 " points: search at random, or give dimensions fewer values", grid_most);
    return WEFT_OK;
}

static void grid_point(const search_space *space, const searcher_desc *desc, uint64_t place, double *values)
{
    for (int d = space->count - 1; d >= 0; d--) {
        const space_dimension *dimension = &space->dimension[d];
        const uint64_t count = steps(dimension, desc), step = place % count;
        place /= count;
        values[d] = space_is_whole(dimension) || step == 0 ? dimension->low + (double)step
                                                           : space_value(dimension, (double)step / (double)(count - 1));
    }
}

/* Returns true if the point breaks no constraint and is not another one once more, with other values of what is not
 * active. */
static bool is_of_grid(const search_space *space, const double *values)
{
    double settled[SPACE_DIMENSIONS_MAX];
    const size_t bytes = (size_t)space->count * sizeof *values;
    memcpy(settled, values, bytes);
    space_settle(space, settled);
    return memcmp(settled, values, bytes) == 0 && space_allows(space, values);
}

int64_t searcher_grid_points(const search_space *space, const searcher_desc *desc, int64_t most)
{
    double values[SPACE_DIMENSIONS_MAX];
    const uint64_t all = points(space, desc);
    int64_t count = 0;
    if (!space_has_rules(space)) {
        return all < (uint64_t)most ? (int64_t)all : most;
    }
    for (uint64_t at = 0; at < all && count < most; at++) {
        grid_point(space, desc, at, values);
        count += is_of_grid(space, values);
    }
    return count;
}

bool search_grid(const searcher *s, double *values)
{
    const uint64_t all = points(s->space, &s->desc);
    const permutation order = permutation_make(all, s->desc.seed, WEFT_RNG_SEARCH, 1);
    const bool rules = space_has_rules(s->space);
    int64_t left = rules ? s->history.trials : 0; /* points before the one that comes */
    for (uint64_t at = rules ? 0 : (uint64_t)s->history.trials; at < all; at++) {
        grid_point(s->space, &s->desc, permute(&order, at), values);
        if (is_of_grid(s->space, values) && left-- == 0) {
            return true;
        }
    }
    return false;
}

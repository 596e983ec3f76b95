/*
 * tune/search/search_even.c: configurations that fill the space without looking at scores: Sobol's points and grids.
 *
 * Sobol's points are moved by a random number in each dimension (a digital shift), so that seeds differ and no point
 * lies in the corner. Dimensions past the 21st are drawn at random.
 *
 * A grid has every value of a dimension of cells, and `grid` values of one with a range, at equal steps of its
 * coordinate. They come in a random order, so that a search that ends early has seen all of the space.
 */
#include <inttypes.h>

#include "base/permutation.h"
#include "tune/search/searcher_internal.h"
#include "tune/search/sobol.h"

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

bool search_grid(const searcher *s, double *values)
{
    const uint64_t all = points(s->space, &s->desc);
    if ((uint64_t)s->history.trials >= all) {
        return false;
    }
    const permutation order = permutation_make(all, s->desc.seed, WEFT_RNG_SEARCH, 1);
    uint64_t place = permute(&order, (uint64_t)s->history.trials);
    for (int d = s->space->count - 1; d >= 0; d--) {
        const space_dimension *dimension = &s->space->dimension[d];
        const uint64_t count = steps(dimension, &s->desc), step = place % count;
        place /= count;
        values[d] = space_is_whole(dimension) ? dimension->low + (double)step
                                              : space_value(dimension, (double)step / (double)(count - 1));
    }
    return true;
}

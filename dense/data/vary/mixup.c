/* dense/data/vary/mixup.c: see dense/data/vary/mixup.h. */
#include "dense/data/vary/mixup.h"

#include <assert.h>

#include "base/philox.h"
#include "base/random/gamma.h"

/* Draws of a step. */
enum { DRAW_ITSELF, DRAW_PARTNER, DRAW_ORDER, DRAWS };

mixup mixup_draw(double alpha, uint64_t seed, uint32_t epoch, int64_t step, int64_t images)
{
    const uint64_t first = (uint64_t)step * DRAWS;
    const double a = gamma_draw(alpha, seed, WEFT_RNG_MIXUP, epoch, first + DRAW_ITSELF);
    const double b = gamma_draw(alpha, seed, WEFT_RNG_MIXUP, epoch, first + DRAW_PARTNER);
    const philox_block key = philox4x32(philox_counter(0, first + DRAW_ORDER, WEFT_RNG_MIXUP, epoch), seed);
    const uint64_t order = (uint64_t)key.word[0] << 32 | key.word[1];
    assert(alpha > 0.0 && images >= 1);
    return (mixup){.share = a + b > 0.0 ? (a > b ? a : b) / (a + b) : 1.0, /* where both underflow, alpha is about 0 */
                   .partner = permutation_make((uint64_t)images, order, WEFT_RNG_MIXUP, epoch)};
}

void mixup_pixels(double share, const float *partner, int64_t count, float *pixels)
{
    const float own = (float)share, other = (float)(1.0 - share);
    for (int64_t i = 0; i < count; ++i) {
        pixels[i] = own * pixels[i] + other * partner[i];
    }
}

void mixup_shares(double share, double smoothing, int32_t label, int32_t other, int64_t classes, float *shares)
{
    for (int64_t c = 0; c < classes; ++c) {
        const double mixed = (c == label ? share : 0.0) + (c == other ? 1.0 - share : 0.0);
        shares[c] = (float)((1.0 - smoothing) * mixed + smoothing / (double)classes);
    }
}

/* clicks/data/click_order.c: see clicks/data/click_order.h. */
#include "clicks/data/click_order.h"

#include <assert.h>

#include "base/philox.h"

enum { SPAN = CLICK_BLOCK * CLICK_WINDOW, WINDOWS_MOST = 1 << 24 };

click_order click_order_of(int64_t rows, uint64_t seed, uint32_t epoch)
{
    assert(rows >= 1);
    const int64_t whole = rows / CLICK_BLOCK;
    return (click_order){.rows = rows,
                         .seed = seed,
                         .epoch = epoch,
                         .blocks =
                             permutation_make(whole > 0 ? (uint64_t)whole : 1, seed, WEFT_RNG_CLICK_BLOCKS, epoch),
                         .window = -1};
}

/* The order within a window has a key of its own: the seed moves with the window. */
static void enter(click_order *o, int64_t window)
{
    const int64_t begin = window * SPAN, left = o->rows - begin;
    const uint64_t seed = o->seed + (uint64_t)window * UINT64_C(0x9E3779B97F4A7C15);
    o->within = permutation_make((uint64_t)(left < SPAN ? left : SPAN), seed, WEFT_RNG_ORDER, o->epoch);
    o->window = window;
}

int64_t click_order_at(click_order *o, int64_t position)
{
    const int64_t window = position / SPAN;
    assert(position >= 0 && position < o->rows && window < WINDOWS_MOST);
    if (window != o->window) {
        enter(o, window);
    }
    const int64_t at = window * SPAN + (int64_t)permute(&o->within, (uint64_t)(position % SPAN));
    const int64_t block = at / CLICK_BLOCK, whole = o->rows / CLICK_BLOCK;
    return block < whole ? (int64_t)permute(&o->blocks, (uint64_t)block) * CLICK_BLOCK + at % CLICK_BLOCK : at;
}

/* dense/data/image_order.c: see dense/data/image_order.h. */
#include "dense/data/image_order.h"

#include "base/philox.h"
#include "hal/hal.h"

int64_t image_order_steps(int64_t samples, int64_t batch, bool drop_last)
{
    return drop_last && samples >= batch ? samples / batch : (samples + batch - 1) / batch;
}

permutation image_order(int64_t samples, uint64_t seed, uint32_t epoch)
{
    return permutation_make((uint64_t)samples, seed, WEFT_RNG_ORDER, epoch);
}

image_share image_order_share(int64_t samples, int64_t batch, int64_t step, int ranks, int rank)
{
    return image_order_part(samples, batch, (image_turn){.step = step, .parts = 1}, ranks, rank);
}

image_share image_order_part(int64_t samples, int64_t batch, image_turn turn, int ranks, int rank)
{
    const int64_t first = turn.step * batch;
    const int64_t rows = samples - first < batch ? samples - first : batch;
    int64_t part_begin;
    int64_t part_end;
    int64_t begin;
    int64_t end;
    hal_split_rows(rows, turn.parts, turn.part, &part_begin, &part_end);
    hal_split_rows(part_end - part_begin, ranks, rank, &begin, &end);
    return (image_share){
        .batch = rows, .part = part_end - part_begin, .begin = first + part_begin + begin, .count = end - begin};
}

/*
 * hal/cpu/pack/pack_select_body.h: what reaches a threshold, in plain C, written in blocks that compilers turn into
 * vectors; included once an instruction set that has nothing better. No include guard.
 */
enum { SELECT_BLOCK = 32 };

static uint32_t block_top(const float *x, int64_t n)
{
    int32_t top = 0; /* magnitudes are below 2^31: signed comparisons order them, and baseline vectors have those */
#pragma omp simd reduction(max : top)
    for (int64_t i = 0; i < n; ++i) {
        int32_t bits = (int32_t)hal_magnitude(x[i]);
        top = bits > top ? bits : top;
    }
    return (uint32_t)top;
}

static int64_t compact(const float *x, int64_t begin, int64_t end, uint32_t floor, int64_t capacity, int32_t *index,
                       float *value, uint32_t *top)
{
    int64_t found = 0;
    uint32_t most = 0;
    for (int64_t b = begin; b < end; b += SELECT_BLOCK) {
        int64_t stop = end - b < SELECT_BLOCK ? end : b + SELECT_BLOCK;
        uint32_t here = block_top(x + b, stop - b);
        most = here > most ? here : most;
        if (here < floor) {
            continue;
        }
        for (int64_t i = b; i < stop; ++i) {
            if (hal_magnitude(x[i]) >= floor) {
                if (found == capacity) {
                    return -1;
                }
                index[found] = (int32_t)i;
                value[found++] = x[i];
            }
        }
    }
    *top = most;
    return found;
}

static int64_t count_from(const float *x, int64_t begin, int64_t end, uint32_t floor)
{
    int64_t found = 0;
    for (int64_t i = begin; i < end;) {
        int64_t stop = end - i < (1 << 20) ? end : i + (1 << 20);
        int32_t here = 0; /* narrow inside a run: as many lanes as floats */
#pragma omp simd reduction(+ : here)
        for (int64_t j = i; j < stop; ++j) {
            here += (int32_t)hal_magnitude(x[j]) >= (int32_t)floor;
        }
        found += here;
        i = stop;
    }
    return found;
}

/* hal/cpu/kernels_base.c: the kernels for any x86-64 (and any other) processor. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/philox.h"
#include "hal/cpu/kernels.h"

enum { DRAW_LANES = 1 };
typedef uint64_t draw_vec;

static inline draw_vec draw_set(uint64_t value)
{
    return value;
}

static inline draw_vec draw_load(const uint64_t *from)
{
    return *from;
}

static inline draw_vec draw_add(draw_vec a, draw_vec b)
{
    return a + b;
}

static inline draw_vec draw_multiply(draw_vec a, draw_vec b)
{
    return (a & 0xffffffffu) * b;
}

static inline draw_vec draw_high(draw_vec a)
{
    return a >> 32;
}

static inline draw_vec draw_xor(draw_vec a, draw_vec b, draw_vec c)
{
    return a ^ b ^ c;
}

/* purpose | bits 32..47 of the id */
static inline draw_vec draw_or_id(draw_vec purpose, draw_vec id)
{
    return purpose | ((id >> 32) & 0xffffu);
}

static inline void draw_store(uint16_t *lane, draw_vec c0, draw_vec c1, draw_vec c2, draw_vec c3)
{
    uint32_t word[4] = {(uint32_t)c0, (uint32_t)c1, (uint32_t)c2, (uint32_t)c3};
    for (unsigned j = 0; j < 8; ++j) {
        lane[j] = (uint16_t)(word[j >> 1] >> (16 * (j & 1u)));
    }
}

/* The first lanes of a vector of floats from memory, the others zero, and to memory; and lane k from[index[k]], of
 * LANES floats. */
typedef float lanes_of_floats __attribute__((vector_size(16)));

static inline lanes_of_floats vec_load_first(const float *from, int64_t lanes)
{
    return (lanes_of_floats){from[0], lanes > 1 ? from[1] : 0.0F, lanes > 2 ? from[2] : 0.0F,
                             lanes > 3 ? from[3] : 0.0F};
}

static inline void vec_store_first(float *to, lanes_of_floats value, int64_t lanes)
{
    for (int64_t j = 0; j < lanes; ++j) {
        to[j] = value[j];
    }
}

static inline lanes_of_floats vec_pick(const float *from, const int32_t *index)
{
    return (lanes_of_floats){from[index[0]], from[index[1]], from[index[2]], from[index[3]]};
}

/* Where x > 0 lanes of `positive`, else of `other`. */
static inline lanes_of_floats vec_if_positive(lanes_of_floats x, lanes_of_floats positive, lanes_of_floats other)
{
    return (lanes_of_floats){x[0] > 0.0F ? positive[0] : other[0], x[1] > 0.0F ? positive[1] : other[1],
                             x[2] > 0.0F ? positive[2] : other[2], x[3] > 0.0F ? positive[3] : other[3]};
}

/* Sums of lanes 0 and 1, 2 and 3 of a, then of b. */
static inline lanes_of_floats vec_add_neighbours(lanes_of_floats a, lanes_of_floats b)
{
    return (lanes_of_floats){a[0] + a[1], a[2] + a[3], b[0] + b[1], b[2] + b[3]};
}

/* Registers: 16 of 4 floats, 12 of them sums. */
#define LANES         4
#define PANEL         2
#define TILE(vectors) ((vectors) == 1 ? 12 : 6)

#define KERNELS cpu_kernels_base
#include "hal/cpu/kernels_table.h"

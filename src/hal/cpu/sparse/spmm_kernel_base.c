/* hal/cpu/sparse/spmm_kernel_base.c: the aggregation kernels in the 4 lanes of every x86-64; tails are counts. */
#include <string.h>

#include "hal/cpu/sparse/spmm.h"

typedef float base_vec __attribute__((vector_size(16)));
typedef float base_vec_unaligned __attribute__((vector_size(16), aligned(4), may_alias));

#define VEC         base_vec
#define TAIL        int
#define LANES       4
#define MAX_VECTORS 8
#define SPMM_TABLE  spmm_kernels_base

typedef uint16_t halves __attribute__((vector_size(2 * LANES)));
typedef uint16_t halves_unaligned __attribute__((vector_size(2 * LANES), aligned(2), may_alias));

typedef uint32_t words __attribute__((vector_size(4 * LANES)));

static inline words words_of_halves(halves value)
{
    return __builtin_convertvector(value, words);
}

static inline halves halves_of_words(words value)
{
    return __builtin_convertvector(value, halves);
}

static inline VEC vec_set1(float value)
{
    return (VEC){value, value, value, value};
}

static inline VEC vec_load(const float *p)
{
    return *(const base_vec_unaligned *)p;
}

static inline void vec_store(float *p, VEC value)
{
    *(base_vec_unaligned *)p = value;
}

static inline void vec_stream(float *p, VEC value)
{
    vec_store(p, value);
}

static inline TAIL tail_of(int lanes)
{
    return lanes;
}

static inline VEC vec_load_tail(const float *p, TAIL tail)
{
    if (tail == LANES) {
        return vec_load(p);
    }
    float value[LANES] = {0};
    memcpy(value, p, (size_t)tail * sizeof *p);
    return vec_load(value);
}

static inline void vec_store_tail(float *p, TAIL tail, VEC value)
{
    if (tail == LANES) {
        vec_store(p, value);
        return;
    }
    float lane[LANES];
    vec_store(lane, value);
    memcpy(p, lane, (size_t)tail * sizeof *p);
}

static inline halves halves_load_tail(const uint16_t *p, TAIL tail)
{
    if (tail == LANES) {
        return *(const halves_unaligned *)p;
    }
    uint16_t lane[LANES] = {0};
    memcpy(lane, p, (size_t)tail * sizeof *p);
    return *(const halves_unaligned *)lane;
}

static inline void halves_store_tail(uint16_t *p, TAIL tail, halves value)
{
    memcpy(p, &value, (size_t)tail * sizeof *p);
}

#include "hal/cpu/sparse/spmm_kernel_body.h"

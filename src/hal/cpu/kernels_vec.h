/* hal/cpu/kernels_vec.h: LANES floats, for bodies that are compiled once an instruction set. No include guard. */

typedef float vec __attribute__((vector_size(LANES * 4)));
typedef float vec_unaligned __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

static inline vec vec_load(const float *from)
{
    return *(const vec_unaligned *)from;
}

static inline void vec_store(float *to, vec value)
{
    *(vec_unaligned *)to = value;
}

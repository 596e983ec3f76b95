/*
 * hal/cpu/kernels_pool.h: which pixels a pooling's kernel covers, for the kernels of kernels_cell_body.h. Included once
 * by each kernels_*.c.
 */
#include "hal/cpu/kernels.h"

enum { CELL_STRIP = 64 }; /* columns whose sums are kept in registers or close by */

/* The part [*begin, *end) of a kernel that lies in the image at an output place; *first: the input it begins at. */
static inline void window(int64_t place, int64_t stride, int64_t pad, int64_t kernel, int64_t input, int64_t *begin,
                          int64_t *end, int64_t *first)
{
    const int64_t origin = place * stride - pad;
    *begin = origin < 0 ? -origin : 0;
    *end = origin + kernel > input ? input - origin : kernel;
    *first = origin + *begin;
}

/* The part of a kernel that lies in the image, of one output pixel. */
typedef struct pool_window {
    int64_t ky, ky_end, kx, kx_end;
    int64_t pixel; /* row of x of element (ky, kx) */
} pool_window;

static inline pool_window pool_window_of(const cpu_pooling *p, int64_t row)
{
    const hal_pool_shape *s = &p->shape;
    pool_window w;
    int64_t iy = 0;
    int64_t ix = 0;
    window(row / p->extent[1] % p->extent[0], s->stride[0], s->pad[0][0], s->kernel[0], s->height, &w.ky, &w.ky_end,
           &iy);
    window(row % p->extent[1], s->stride[1], s->pad[1][0], s->kernel[1], s->width, &w.kx, &w.kx_end, &ix);
    w.pixel = (row / (p->extent[0] * p->extent[1]) * s->height + iy) * s->width + ix;
    return w;
}

/* Output places [*begin, *end) whose kernels reach an input. */
static inline void reached_by(int64_t input, int64_t stride, int64_t pad, int64_t kernel, int64_t places,
                              int64_t *begin, int64_t *end)
{
    const int64_t last = (input + pad) / stride + 1;
    const int64_t before = input + pad - kernel;
    *begin = before < 0 ? 0 : before / stride + 1;
    *end = last < places ? last : places;
}

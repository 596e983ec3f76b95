/* clicks/model/click_kernels_body.h: the kernels of click_kernels.h, included once for each instruction set with the
 * name of its table as KERNELS and the floats of a vector as LANES. */
#include <string.h>

#include "base/integer/integers.h"
#include "clicks/model/click_kernels.h"

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

/* ---- fields ------------------------------------------------------------------------------------------------------ */

static float gather_field(const click_fields *a, const float *restrict v, float *restrict x, float *restrict sum)
{
    float squares = 0.0F;
    if (x != NULL) {
        memcpy(x, v, (size_t)a->width * sizeof *x);
    }
    if (a->fm) {
#pragma omp simd reduction(+ : squares)
        for (int64_t d = 0; d < a->width; ++d) {
            sum[d] += v[d];
            squares += v[d] * v[d];
        }
    }
    return squares;
}

static void gather(const click_fields *a, int64_t begin, int64_t end)
{
    for (int64_t s = begin; s < end; ++s) {
        const float *v = a->pooled + s * a->ld;
        float *sum = a->fm ? a->sum + s * a->width : NULL;
        float logit = 0.0F, squares = 0.0F, of_sum = 0.0F;
        if (a->fm) {
            memset(sum, 0, (size_t)a->width * sizeof *sum);
        }
        for (int64_t f = 0; f < a->fields; ++f, v += a->stride) {
            squares += gather_field(a, v, a->x != NULL ? a->x + s * a->ld_x + f * a->width : NULL, sum);
            logit += a->linear ? v[a->width] : 0.0F;
        }
        for (int64_t d = 0; a->fm && d < a->width; ++d) {
            of_sum += sum[d] * sum[d];
        }
        a->logit[s] = logit + 0.5F * (of_sum - squares);
    }
}

static void spread_field(const click_fields *a, const float *restrict v, const float *restrict sum, float dlogit,
                         const float *restrict dx, float *restrict dv)
{
    if (dx != NULL) {
        memcpy(dv, dx, (size_t)a->width * sizeof *dv);
    } else {
        memset(dv, 0, (size_t)a->width * sizeof *dv);
    }
    if (a->fm) {
#pragma omp simd
        for (int64_t d = 0; d < a->width; ++d) {
            dv[d] += dlogit * (sum[d] - v[d]);
        }
    }
    if (a->linear) {
        dv[a->width] = dlogit;
    }
}

static void spread(const click_fields *a, int64_t begin, int64_t end)
{
    for (int64_t s = begin; s < end; ++s) {
        const float *sum = a->fm ? a->sum + s * a->width : NULL;
        for (int64_t f = 0; f < a->fields; ++f) {
            const int64_t at = s * a->ld + f * a->stride;
            spread_field(a, a->pooled + at, sum, a->dlogit[s],
                         a->dx != NULL ? a->dx + s * a->ld_x + f * a->width : NULL, a->dpooled + at);
        }
    }
}

/* ---- dot products of pairs --------------------------------------------------------------------------------------- */

/* The sample's vectors as rows of `padded` columns, and as the columns of `turned`, `columns` wide. */
typedef struct dots_room {
    int64_t padded, columns;
    float *row, *turned, *pair;
} dots_room;

static dots_room room_of(const click_dots *a, float *scratch)
{
    dots_room room = {.padded = whole(a->width, CLICK_PAD), .columns = whole(a->vectors, CLICK_PAD), .row = scratch};
    room.turned = room.row + room.columns * room.padded;
    room.pair = room.turned + whole(a->width * room.columns, CLICK_PAD);
    memset(scratch, 0, (size_t)(room.pair + room.columns * room.columns - scratch) * sizeof *scratch);
    return room;
}

static const float *vector_of(const click_dots *a, int64_t sample, int64_t i)
{
    const int64_t first = a->has_first ? 1 : 0;
    return i < first ? a->first + sample * a->ld_first : a->field + sample * a->ld_field + (i - first) * a->width;
}

static void dots(const click_dots *a, int64_t begin, int64_t end, float *scratch)
{
    const dots_room room = room_of(a, scratch);
    for (int64_t s = begin; s < end; ++s) {
        float *y = a->y + s * a->ld_y;
        if (a->has_first) {
            memcpy(y, a->first + s * a->ld_first, (size_t)a->width * sizeof *y);
            y += a->width;
        }
        for (int64_t i = 0; i < a->vectors; ++i) {
            const float *v = vector_of(a, s, i);
            for (int64_t d = 0; d < a->width; ++d) {
                room.turned[d * room.columns + i] = v[d];
            }
        }
        for (int64_t i = 1; i < a->vectors; y += i, ++i) {
            const float *v = vector_of(a, s, i);
            for (int64_t j = 0; j < i; j += LANES) {
                vec sum = {0};
                for (int64_t d = 0; d < a->width; ++d) {
                    sum += v[d] * vec_load(room.turned + d * room.columns + j);
                }
                if (i - j >= LANES) {
                    vec_store(y + j, sum);
                } else {
                    memcpy(y + j, &sum, (size_t)(i - j) * sizeof *y);
                }
            }
        }
    }
}

/* dv_i = sum over j of pair[i, j] v_j, to which a gradient that stands there may be added first. */
static void dots_gradient(const dots_room *room, const click_dots *a, int64_t i, const float *own, float *dv)
{
    const float *pair = room->pair + i * room->columns;
    for (int64_t c = 0; c < a->width; c += LANES) {
        vec sum = {0};
        for (int64_t j = 0; j < a->vectors; ++j) {
            sum += pair[j] * vec_load(room->row + j * room->padded + c);
        }
        float out[LANES];
        vec_store(out, sum);
        for (int64_t d = c; d < smaller(c + LANES, a->width); ++d) {
            dv[d] = out[d - c] + (own != NULL ? own[d] : 0.0F);
        }
    }
}

static void dots_backward(const click_dots *a, int64_t begin, int64_t end, float *scratch)
{
    const dots_room room = room_of(a, scratch);
    const int64_t first = a->has_first ? 1 : 0;
    for (int64_t s = begin; s < end; ++s) {
        const float *own = a->has_first ? a->dy + s * a->ld_y : NULL;
        const float *dy = a->dy + s * a->ld_y + first * a->width;
        for (int64_t i = 0; i < a->vectors; dy += i, ++i) {
            memcpy(room.row + i * room.padded, vector_of(a, s, i), (size_t)a->width * sizeof *dy);
            for (int64_t j = 0; j < i; ++j) {
                room.pair[i * room.columns + j] = room.pair[j * room.columns + i] = dy[j];
            }
        }
        if (a->has_first) {
            dots_gradient(&room, a, 0, own, a->dfirst + s * a->ld_first);
        }
        for (int64_t i = first; i < a->vectors; ++i) {
            dots_gradient(&room, a, i, NULL, a->dfield + s * a->ld_field + (i - first) * a->width);
        }
    }
}

/* ---- crosses ----------------------------------------------------------------------------------------------------- */

static void cross(const click_cross *a, int64_t begin, int64_t end)
{
    for (int64_t s = begin; s < end; ++s) {
        const float *restrict x0 = a->x0 + s * a->ld_x0, *restrict x = a->x + s * a->cols;
        const float *restrict p = a->p + s * a->cols;
        float *restrict y = a->y + s * a->cols;
#pragma omp simd
        for (int64_t c = 0; c < a->cols; ++c) {
            y[c] = x0[c] * p[c] + x[c];
        }
    }
}

static void cross_backward(const click_cross *a, int64_t begin, int64_t end)
{
    for (int64_t s = begin; s < end; ++s) {
        const float *restrict x0 = a->x0 + s * a->ld_x0, *restrict dy = a->dy + s * a->cols;
        const float *restrict p = a->p + s * a->cols;
        float *restrict dp = a->dp + s * a->cols, *restrict dx0 = a->dx0 + s * a->ld_x0;
#pragma omp simd
        for (int64_t c = 0; c < a->cols; ++c) {
            dp[c] = dy[c] * x0[c];
            dx0[c] += dy[c] * p[c];
        }
    }
}

/* ---- outer products of CIN --------------------------------------------------------------------------------------- */

static void outer(const click_outer *a, int64_t begin, int64_t end)
{
    for (int64_t r = begin; r < end; ++r) {
        const float *restrict field = a->field + r * a->fields;
        for (int64_t i = 0; i < a->maps; ++i) {
            const float map = a->map[r * a->maps + i];
            float *restrict z = a->z + (r * a->maps + i) * a->fields;
#pragma omp simd
            for (int64_t j = 0; j < a->fields; ++j) {
                z[j] = map * field[j];
            }
        }
    }
}

static void outer_backward(const click_outer *a, int64_t begin, int64_t end)
{
    for (int64_t r = begin; r < end; ++r) {
        const float *restrict field = a->field + r * a->fields;
        float *restrict dfield = a->dfield + r * a->fields;
        for (int64_t i = 0; i < a->maps; ++i) {
            const float map = a->map[r * a->maps + i];
            const float *restrict dz = a->dz + (r * a->maps + i) * a->fields;
            float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
            for (int64_t j = 0; j < a->fields; ++j) {
                sum += dz[j] * field[j];
                dfield[j] += dz[j] * map;
            }
            a->dmap[r * a->maps + i] = sum;
        }
    }
}

const click_kernels KERNELS = {.gather = gather,
                               .spread = spread,
                               .dots = dots,
                               .dots_backward = dots_backward,
                               .cross = cross,
                               .cross_backward = cross_backward,
                               .outer = outer,
                               .outer_backward = outer_backward};

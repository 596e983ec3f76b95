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
        squares = a->of_ids ? *v : squares;
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
        const float own = a->of_ids ? 0.0F : 1.0F;
#pragma omp simd
        for (int64_t d = 0; d < a->width; ++d) {
            dv[d] += dlogit * (sum[d] - own * v[d]);
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
        if (a->of_ids) {
            a->dpooled[s * a->ld + a->fields * a->stride] = -0.5F * a->dlogit[s];
        }
    }
}

/* ---- dot products of pairs --------------------------------------------------------------------------------------- */

/* The sample's vectors as rows of `padded` columns, and as the columns of `turned`, `columns` wide; what is beyond them
 * is zeros. ROWS of them are multiplied at a time, so that as many sums are under way. */
enum { ROWS = 4 };
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

static void take_rows(const dots_room *room, const click_dots *a, int64_t sample)
{
    const int64_t first = a->has_first ? 1 : 0;
    for (int64_t i = 0; i < a->vectors; ++i) {
        const float *v =
            i < first ? a->first + sample * a->ld_first : a->field + sample * a->ld_field + (i - first) * a->width;
        float *row = room->row + i * room->padded;
        int64_t d = 0;
        for (; d + LANES <= a->width; d += LANES) {
            vec_store(row + d, vec_load(v + d));
        }
        for (; d < a->width; ++d) {
            row[d] = v[d];
        }
    }
}

static void turn_rows(const dots_room *room, const click_dots *a)
{
    for (int64_t d = 0; d < a->width; ++d) {
        float *restrict turned = room->turned + d * room->columns;
        for (int64_t i = 0; i < a->vectors; ++i) {
            turned[i] = room->row[i * room->padded + d];
        }
    }
}

/* pair[r, j] = vectors r of i .. i + ROWS - 1 times vectors j of those before them, and some more. */
static void dots_of_rows(const dots_room *room, const click_dots *a, int64_t i)
{
    const int64_t end = smaller(i + ROWS, a->vectors);
    for (int64_t j = 0; j < end - 1; j += LANES) {
        vec sum[ROWS] = {{0}};
        for (int64_t d = 0; d < a->width; ++d) {
            const vec others = vec_load(room->turned + d * room->columns + j);
            for (int r = 0; r < ROWS; ++r) {
                sum[r] += room->row[(i + r) * room->padded + d] * others;
            }
        }
        for (int r = 0; r < ROWS; ++r) {
            vec_store(room->pair + (i + r) * room->columns + j, sum[r]);
        }
    }
}

/* y = pairs (1, 0) (2, 0) (2, 1) .., row by row of the matrix of pairs: a vector that sticks out of its row is written
 * over by the next one, but for those that would stick out of y. */
static void pack_pairs(const dots_room *room, const click_dots *a, float *y)
{
    const float *end = y + a->vectors * (a->vectors - 1) / 2;
    for (int64_t i = 1; i < a->vectors; y += i, ++i) {
        const float *pair = room->pair + i * room->columns;
        int64_t j = 0;
        for (; j < i && end - y >= j + LANES; j += LANES) {
            vec_store(y + j, vec_load(pair + j));
        }
        for (; j < i; ++j) {
            y[j] = pair[j];
        }
    }
}

static void dots(const click_dots *a, int64_t begin, int64_t end, float *scratch)
{
    const dots_room room = room_of(a, scratch);
    for (int64_t s = begin; s < end; ++s) {
        float *y = a->y + s * a->ld_y;
        take_rows(&room, a, s);
        turn_rows(&room, a);
        if (a->has_first) {
            memcpy(y, room.row, (size_t)a->width * sizeof *y);
            y += a->width;
        }
        for (int64_t i = 0; i < a->vectors; i += ROWS) {
            dots_of_rows(&room, a, i);
        }
        pack_pairs(&room, a, y);
    }
}

/* The gradients of pairs as a symmetric matrix. */
static void take_pairs(const dots_room *room, const click_dots *a, const float *dy)
{
    for (int64_t i = 0; i < a->vectors; dy += i, ++i) {
        memcpy(room->pair + i * room->columns, dy, (size_t)i * sizeof *dy);
        for (int64_t j = 0; j < i; ++j) {
            room->pair[j * room->columns + i] = dy[j];
        }
    }
}

/* Where the gradient of vector i goes. */
static float *gradient_at(const click_dots *a, int64_t sample, int64_t i)
{
    const int64_t first = a->has_first ? 1 : 0;
    return i < first ? a->dfirst + sample * a->ld_first : a->dfield + sample * a->ld_dfield + (i - first) * a->width;
}

/* The first `count` numbers of a vector, at most. */
static void store_some(float *to, vec value, int64_t count)
{
    if (count >= LANES) {
        vec_store(to, value);
        return;
    }
    float some[LANES];
    vec_store(some, value);
    for (int64_t l = 0; l < count; ++l) {
        to[l] = some[l];
    }
}

/* dv_i = sum over j of pair[i, j] v_j, of vectors i .. i + ROWS - 1. */
static void gradients_of_rows(const dots_room *room, const click_dots *a, int64_t sample, int64_t i)
{
    for (int64_t c = 0; c < a->width; c += LANES) {
        vec sum[ROWS] = {{0}};
        for (int64_t j = 0; j < a->vectors; ++j) {
            const vec v = vec_load(room->row + j * room->padded + c);
            for (int r = 0; r < ROWS; ++r) {
                sum[r] += room->pair[(i + r) * room->columns + j] * v;
            }
        }
        for (int64_t r = i; r < smaller(i + ROWS, a->vectors); ++r) {
            store_some(gradient_at(a, sample, r) + c, sum[r - i], a->width - c);
        }
    }
}

static void dots_backward(const click_dots *a, int64_t begin, int64_t end, float *scratch)
{
    const dots_room room = room_of(a, scratch);
    for (int64_t s = begin; s < end; ++s) {
        const float *own = a->dy + s * a->ld_y;
        take_rows(&room, a, s);
        take_pairs(&room, a, own + (a->has_first ? a->width : 0));
        for (int64_t i = 0; i < a->vectors; i += ROWS) {
            gradients_of_rows(&room, a, s, i);
        }
        for (int64_t d = 0; a->has_first && d < a->width; ++d) {
            a->dfirst[s * a->ld_first + d] += own[d];
        }
    }
}

/* ---- crosses ----------------------------------------------------------------------------------------------------- */

static void cross(const click_cross *a, int64_t begin, int64_t end)
{
    for (int64_t s = begin; s < end; ++s) {
        const float *restrict x0 = a->x0 + s * a->ld_x0, *restrict x = a->x + s * a->ld_x;
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

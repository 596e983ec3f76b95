/*
 * embed/pool/pool_kernels_body.h: the loops of embed/pool/pool_kernels.h; POOL_KERNELS names the table. No include
 * guard.
 *
 * A sum takes its rows' addresses in lists of MANY; columns are added in registers, 16, 8, 4 and 1 at a time, over the
 * whole list. Additions of a column are in the order of the list whatever the registers, so every instruction set gives
 * the same bits; with weights, products may be fused with additions, and bits are those of an instruction set.
 */
#include <stdbool.h>
#include <stddef.h>

#include "embed/pool/pool_kernels.h"

enum { MANY = 64, AHEAD = 16, LINE_FLOATS = 16, LINES_MOST = 4 };

#define SUM_COLUMNS(lanes)                                                                                             \
    typedef float vec##lanes __attribute__((vector_size((lanes)*4)));                                                  \
    typedef float open##lanes __attribute__((vector_size((lanes)*4), aligned(4), may_alias));                          \
    static inline __attribute__((always_inline)) int64_t sum_##lanes(                                                  \
        const float *const *row, const float *weight, int n, int64_t column, int64_t stride, bool begin, float *out)   \
    {                                                                                                                  \
        for (; column + (lanes) <= stride; column += (lanes)) {                                                        \
            vec##lanes sum = {0};                                                                                      \
            if (!begin) {                                                                                              \
                sum = *(const open##lanes *)(out + column);                                                            \
            }                                                                                                          \
            for (int i = 0; i < n; ++i) {                                                                              \
                const vec##lanes here = *(const open##lanes *)(row[i] + column);                                       \
                sum += weight == NULL ? here : weight[i] * here;                                                       \
            }                                                                                                          \
            *(open##lanes *)(out + column) = sum;                                                                      \
        }                                                                                                              \
        return column;                                                                                                 \
    }

SUM_COLUMNS(16)
SUM_COLUMNS(8)
SUM_COLUMNS(4)

/* out = (begin ? 0 : out) + the rows, in their order, times their weights if weight is not NULL. */
static inline __attribute__((always_inline)) void sum_rows(const float *const *row, const float *weight, int n,
                                                           int64_t stride, bool begin, float *out)
{
    int64_t column = sum_16(row, weight, n, 0, stride, begin, out);
    column = sum_8(row, weight, n, column, stride, begin, out);
    column = sum_4(row, weight, n, column, stride, begin, out);
    for (; column < stride; ++column) {
        float sum = begin ? 0.0F : out[column];
        for (int i = 0; i < n; ++i) {
            sum += weight == NULL ? row[i][column] : weight[i] * row[i][column];
        }
        out[column] = sum;
    }
}

static inline void prefetch_row(const float *row, int stride)
{
    for (int64_t at = 0; at < stride && at < LINES_MOST * LINE_FLOATS; at += LINE_FLOATS) {
        __builtin_prefetch(row + at);
    }
}

static inline const float *bag_of(const pool_source *source, int32_t bag)
{
    const int32_t sample = bag / source->fields;
    return source->from + sample * source->ld + (bag - sample * source->fields) * (int64_t)source->stride;
}

static inline const float *row_of(const pool_source *source, int32_t row)
{
    return source->from + row * source->ld;
}

/* The sum of rows number[first] up to number[last]; `end`: numbers there are. */
#define SUM_LIST(address, number, first, last, end, to)                                                                \
    do {                                                                                                               \
        int64_t p = (first);                                                                                           \
        do {                                                                                                           \
            const float *row[MANY];                                                                                    \
            int n = 0;                                                                                                 \
            const bool begin = p == (first);                                                                           \
            const float *weight = source->weight == NULL ? NULL : source->weight + p;                                  \
            for (; n < MANY && p < (last); ++n, ++p) {                                                                 \
                row[n] = address(source, (number)[p]);                                                                 \
                if (p + AHEAD < (end)) {                                                                               \
                    prefetch_row(address(source, (number)[p + AHEAD]), source->stride);                                \
                }                                                                                                      \
            }                                                                                                          \
            if (weight == NULL) {                                                                                      \
                sum_rows(row, NULL, n, source->stride, begin, (to));                                                   \
            } else {                                                                                                   \
                sum_rows(row, weight, n, source->stride, begin, (to));                                                 \
            }                                                                                                          \
        } while (p < (last));                                                                                          \
    } while (0)

static void rows_of_bags(const pool_source *source, const int64_t *at, const int32_t *place, int64_t first,
                         int64_t last, float *out, int64_t out_ld)
{
    const int64_t fields = source->fields;
    int64_t sample = first / fields, field = first % fields;
    for (int64_t b = first; b < last; ++b) {
        float *to = out + sample * out_ld + field * source->stride;
        SUM_LIST(row_of, place, at[b], at[b + 1], at[last], to);
        field += 1;
        if (field == fields) {
            field = 0;
            sample += 1;
        }
    }
}

static void gradients_of_keys(const pool_source *source, const int64_t *at, const int32_t *bag, int64_t first,
                              int64_t last, float *out, int64_t out_ld)
{
    for (int64_t i = first; i < last; ++i) {
        float *to = out + (i - first) * out_ld;
        SUM_LIST(bag_of, bag, at[i], at[i + 1], at[last], to);
    }
}

const pool_kernels POOL_KERNELS = {.rows = rows_of_bags, .gradients = gradients_of_keys};

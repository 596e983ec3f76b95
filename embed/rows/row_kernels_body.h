/*
 * embed/rows/row_kernels_body.h: the loops of embed/rows/row_kernels.h; ROW_KERNELS names the table. No include guard.
 *
 * A row's cache lines are asked for AHEAD rows before they are used. Rows in two halves are joined, updated and split
 * in pieces of PIECE numbers; a rule is one loop over numbers of a row, whose state lies beside it.
 */
#include <math.h>
#include <stdbool.h>

#include "base/half.h"
#include "base/integer/integers.h"
#include "base/philox.h"
#include "embed/rows/row_kernels.h"

enum { AHEAD = 32, PIECE = 64, LINE = 64, LINES_MOST = 8 };

/* write: the processor that asks will change the row, so that no other one keeps a copy. */
static inline void prefetch_line(const char *line, bool write)
{
    if (write) {
        __builtin_prefetch(line, 1);
    } else {
        __builtin_prefetch(line, 0);
    }
}

static inline __attribute__((always_inline)) void prefetch_column(const row_slabs *slabs, int column, int64_t row,
                                                                  bool write)
{
    const int64_t bytes = smaller(slabs->row_bytes[column], LINES_MOST * LINE);
    if (bytes == 0) {
        return;
    }
    const char *start = row_at(slabs, column, row);
    for (int64_t at = 0; at < bytes; at += LINE) {
        prefetch_line(start + at, write);
    }
    prefetch_line(start + bytes - 1, write);
}

static void read_rows(const row_rule *rule, const row_slabs *slabs, const int64_t *row, int64_t n, float *out,
                      int64_t ld)
{
    const int64_t stride = rule->stride;
    for (int64_t i = 0; i < n; ++i) {
        if (i + AHEAD < n && row[i + AHEAD] >= 0) {
            prefetch_column(slabs, ROW_NUMBERS, row[i + AHEAD], false);
        }
        float *restrict to = out + i * ld;
        if (row[i] < 0) {
            memset(to, 0, (size_t)stride * sizeof *to);
        } else if (rule->number == EMBED_F32) {
            const float *restrict from = row_at(slabs, ROW_NUMBERS, row[i]);
#pragma omp simd
            for (int64_t j = 0; j < stride; ++j) {
                to[j] = from[j];
            }
        } else {
            const uint16_t *restrict from = row_at(slabs, ROW_NUMBERS, row[i]);
#pragma omp simd
            for (int64_t j = 0; j < stride; ++j) {
                to[j] = bf16_to_float(from[j]);
            }
        }
    }
}

/* ---- rules: n numbers of a row ---- */

static inline void step_scaled(int64_t n, float factor, const float *restrict g, float *restrict w)
{
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
        w[j] -= factor * g[j];
    }
}

static inline void step_adagrad(const row_rule *rule, int64_t n, const float *restrict g, float *restrict w,
                                float *restrict sum)
{
    const float rate = rule->rate, epsilon = rule->epsilon;
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
        sum[j] += g[j] * g[j];
        w[j] -= rate * g[j] / (sqrtf(sum[j]) + epsilon);
    }
}

/* H. B. McMahan et al.: Ad click prediction: a view from the trenches. KDD'13, doi:10.1145/2487575.2488200 */
static inline void step_ftrl(const row_rule *rule, int64_t n, const float *restrict g, float *restrict w,
                             float *restrict z, float *restrict squares)
{
    const float rate = rule->rate, beta = (float)rule->beta1, l1 = rule->l1, l2 = rule->l2;
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
        const float before = sqrtf(squares[j]);
        squares[j] += g[j] * g[j];
        const float after = sqrtf(squares[j]);
        z[j] += g[j] - (after - before) / rate * w[j];
        const float excess = fabsf(z[j]) - l1;
        const float divisor = (beta + after) / rate + l2;
        w[j] = excess <= 0.0F ? 0.0F : -copysignf(excess, z[j]) / divisor;
    }
}

typedef struct moment_rates {
    float first, second, scale_first, scale_second; /* scales: corrections of the moments' bias */
} moment_rates;

/* D. Kingma, J. Ba: Adam. ICLR'15, arXiv:1412.6980; the correction counts the row's own updates. */
static inline void step_adam(const row_rule *rule, const moment_rates *m, int64_t n, const float *restrict g,
                             float *restrict w, float *restrict first, float *restrict second)
{
    const float rate = rule->rate, epsilon = rule->epsilon;
    const float b1 = m->first, b2 = m->second, c1 = m->scale_first, c2 = m->scale_second;
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
        first[j] = b1 * first[j] + (1.0F - b1) * g[j];
        second[j] = b2 * second[j] + (1.0F - b2) * g[j] * g[j];
        w[j] -= rate * (first[j] * c1) / (sqrtf(second[j] * c2) + epsilon);
    }
}

/* ---- a row ---- */

/* rate / (root of the mean of squares so far + epsilon) of n numbers. */
static inline float row_factor(const row_rule *rule, int64_t n, const float *restrict g, float *mean)
{
    float squares = 0.0F;
#pragma omp simd reduction(+ : squares)
    for (int64_t j = 0; j < n; ++j) {
        squares += g[j] * g[j];
    }
    *mean += squares / (float)n;
    return rule->rate / (sqrtf(*mean) + rule->epsilon);
}

/* A rule's factors that are one number a row: row-adagrad's of the columns and of `linear`, lazy-adam's corrections. */
typedef struct row_scalars {
    float factor[2];
    moment_rates moments;
} row_scalars;

static inline row_scalars scalars_of(const row_rule *rule, const float *g, float *state)
{
    row_scalars scalars = {0};
    if (rule->rule == EMBED_ROW_ADAGRAD) {
        if (rule->width > 0) {
            scalars.factor[0] = row_factor(rule, rule->width, g, state++);
        }
        if (rule->width < rule->stride) {
            scalars.factor[1] = row_factor(rule, 1, g + rule->width, state);
        }
    } else if (rule->rule == EMBED_LAZY_ADAM) {
        uint32_t updates;
        float *place = state + 2 * (int64_t)rule->stride;
        memcpy(&updates, place, sizeof updates);
        updates += updates < UINT32_MAX;
        memcpy(place, &updates, sizeof updates);
        scalars.moments = (moment_rates){.first = (float)rule->beta1,
                                         .second = (float)rule->beta2,
                                         .scale_first = (float)(1.0 / (1.0 - pow(rule->beta1, updates))),
                                         .scale_second = (float)(1.0 / (1.0 - pow(rule->beta2, updates)))};
    }
    return scalars;
}

/* Columns [first, last) of a row: w holds them, g and state the whole row. */
static inline void step_columns(const row_rule *rule, const row_scalars *scalars, int64_t first, int64_t last,
                                const float *g, float *w, float *state)
{
    const int64_t n = last - first, stride = rule->stride;
    switch (rule->rule) {
    case EMBED_SGD:
        step_scaled(n, rule->rate, g + first, w);
        break;
    case EMBED_ROW_ADAGRAD: {
        const int64_t wide = larger(smaller(last, rule->width) - first, 0);
        step_scaled(wide, scalars->factor[0], g + first, w);
        step_scaled(n - wide, scalars->factor[1], g + first + wide, w + wide);
        break;
    }
    case EMBED_ADAGRAD:
        step_adagrad(rule, n, g + first, w, state + first);
        break;
    case EMBED_FTRL:
        step_ftrl(rule, n, g + first, w, state + first, state + stride + first);
        break;
    case EMBED_LAZY_ADAM:
        step_adam(rule, &scalars->moments, n, g + first, w, state + first, state + stride + first);
        break;
    }
}

static inline void split_numbers(int64_t n, const float *restrict w, uint16_t *restrict upper, uint16_t *restrict lower)
{
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
        row_split(w[j], upper + j, lower + j);
    }
}

static inline void update_halves(const row_rule *rule, const row_scalars *scalars, const float *g,
                                 uint16_t *restrict upper, uint16_t *restrict lower, float *state)
{
    float w[PIECE];
    for (int64_t first = 0; first < rule->stride; first += PIECE) {
        const int64_t n = smaller(rule->stride - first, PIECE);
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
            w[j] = row_join(upper[first + j], lower[first + j]);
        }
        step_columns(rule, scalars, first, first + n, g, w, state);
        split_numbers(n, w, upper + first, lower + first);
    }
}

static void update_rows(const row_rule *rule, const row_slabs *slabs, const int64_t *row, int64_t n, int64_t known,
                        const float *gradient, int64_t ld)
{
    float no_state[1];
    for (int64_t i = 0; i < n; ++i) {
        if (i + AHEAD < known && row[i + AHEAD] >= 0) {
            for (int c = 0; c < ROW_COLUMNS; ++c) {
                prefetch_column(slabs, c, row[i + AHEAD], true);
            }
        }
        if (row[i] < 0) {
            continue;
        }
        const float *g = gradient + i * ld;
        float *state = slabs->row_bytes[ROW_STATE] > 0 ? row_at(slabs, ROW_STATE, row[i]) : no_state;
        const row_scalars scalars = scalars_of(rule, g, state);
        if (rule->number == EMBED_F32) {
            step_columns(rule, &scalars, 0, rule->stride, g, row_at(slabs, ROW_NUMBERS, row[i]), state);
        } else {
            update_halves(rule, &scalars, g, row_at(slabs, ROW_NUMBERS, row[i]), row_at(slabs, ROW_LOWER, row[i]),
                          state);
        }
    }
}

/* ---- new rows ---- */

/* The four numbers that block `index` of a key gives. */
static inline philox_block first_numbers(const row_rule *rule, uint64_t key, uint32_t index)
{
    return philox4x32((philox_block){{index, (uint32_t)key, (uint32_t)WEFT_RNG_ROWS << 16 | 1, (uint32_t)(key >> 32)}},
                      rule->seed);
}

static void make_rows(const row_rule *rule, const row_slabs *slabs, const int64_t *row, const uint64_t *key, int64_t n)
{
    for (int64_t i = 0; i < n; ++i) {
        float w[PIECE];
        for (int64_t first = 0; first < rule->stride; first += PIECE) {
            const int64_t count = smaller(rule->stride - first, PIECE);
            philox_block block = {{0}};
            for (int64_t j = 0; j < count; ++j) {
                const int64_t column = rule->first + first + j;
                if (j == 0 || column % 4 == 0) {
                    block = first_numbers(rule, key[i], (uint32_t)(column / 4));
                }
                const float uniform = 2.0F * philox_uniform(block.word[column % 4]) - 1.0F;
                w[j] = column < rule->whole_width ? rule->spread * uniform : 0.0F;
            }
            if (rule->number == EMBED_F32) {
                memcpy((float *)row_at(slabs, ROW_NUMBERS, row[i]) + first, w, (size_t)count * sizeof *w);
            } else {
                split_numbers(count, w, (uint16_t *)row_at(slabs, ROW_NUMBERS, row[i]) + first,
                              (uint16_t *)row_at(slabs, ROW_LOWER, row[i]) + first);
            }
        }
        if (slabs->row_bytes[ROW_STATE] > 0) {
            memset(row_at(slabs, ROW_STATE, row[i]), 0, (size_t)slabs->row_bytes[ROW_STATE]);
        }
    }
}

const row_kernels ROW_KERNELS = {.read = read_rows, .update = update_rows, .make = make_rows};

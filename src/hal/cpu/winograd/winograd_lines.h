/*
 * hal/cpu/winograd/winograd_lines.h: the transforms of tiles on vectors of floats, a channel each; included by the
 * kernels of one instruction set, which define vec. No include guard.
 *
 * Of one dimension, applied to columns and then to rows:
 *
 *      input     (d0 - d2, d1 + d2, d2 - d1, d1 - d3)              4 pixels
 *      kernel    (g0, (g0 + g1 + g2) / 2, (g0 - g1 + g2) / 2, g2)  3 taps
 *      output    (m0 + m1 + m2, m1 - m2 - m3)                      2 pixels
 *
 * and their transposes, by which gradients of outputs go in and those of taps come out.
 */

#include "hal/cpu/winograd/winograd.h"

/* ---- one dimension: `step` apart --------------------------------------------------------------------------------- */

static inline void input_line(const vec *d, int step, vec *to, int to_step)
{
    to[0] = d[0] - d[2 * step];
    to[to_step] = d[step] + d[2 * step];
    to[2 * to_step] = d[2 * step] - d[step];
    to[3 * to_step] = d[step] - d[3 * step];
}

/* The transpose of output_line, from two numbers to four. */
static inline void gradient_line(const vec *y, int step, vec *to, int to_step)
{
    to[0] = y[0];
    to[to_step] = y[0] + y[step];
    to[2 * to_step] = y[0] - y[step];
    to[3 * to_step] = -y[step];
}

static inline void kernel_line(const vec *g, int step, vec *to, int to_step)
{
    const vec ends = 0.5F * (g[0] + g[2 * step]);
    const vec middle = 0.5F * g[step];
    to[0] = g[0];
    to[to_step] = ends + middle;
    to[2 * to_step] = ends - middle;
    to[3 * to_step] = g[2 * step];
}

static inline void output_line(const vec *m, int step, vec *to, int to_step)
{
    const vec sum = m[step] + m[2 * step];
    const vec difference = m[step] - m[2 * step];
    to[0] = m[0] + sum;
    to[to_step] = difference - m[3 * step];
}

/* The transpose of kernel_line. */
static inline void taps_line(const vec *m, int step, vec *to, int to_step)
{
    const vec sum = 0.5F * (m[step] + m[2 * step]);
    to[0] = m[0] + sum;
    to[to_step] = 0.5F * (m[step] - m[2 * step]);
    to[2 * to_step] = sum + m[3 * step];
}

/* ---- two: columns, then rows ------------------------------------------------------------------------------------- */

typedef void line_rule(const vec *from, int step, vec *to, int to_step);

/* to[to_side, to_side] of from[from_side, from_side]; the sides are constants where this is called. */
static inline __attribute__((always_inline)) void transform_tile(line_rule *line, const vec *from, int from_side,
                                                                 vec *to, int to_side)
{
    vec columns[TILE_CELLS];
    UNROLL
    for (int x = 0; x < from_side; ++x) {
        line(from + x, from_side, columns + x, from_side);
    }
    UNROLL
    for (int y = 0; y < to_side; ++y) {
        line(columns + (ptrdiff_t)y * from_side, 1, to + (ptrdiff_t)y * to_side, 1);
    }
}

/* A number of each lane, `step` apart. Gathering by one instruction is no faster. */
static inline vec take_lanes(const float *from, int64_t step)
{
    vec taken;
    float lane[sizeof taken / sizeof *from];
    UNROLL
    for (size_t i = 0; i < sizeof lane / sizeof *lane; ++i) {
        lane[i] = from[(int64_t)i * step];
    }
    memcpy(&taken, lane, sizeof taken);
    return taken;
}

/* A kernel of each lane, `step` apart, transformed. */
static inline void kernel_tile(const float *weight, int64_t step, bool turned, vec to[TILE_CELLS])
{
    vec taps[TILE_TAPS];
    UNROLL
    for (int t = 0; t < TILE_TAPS; ++t) {
        taps[t] = take_lanes(weight + (turned ? TILE_TAPS - 1 - t : t), step);
    }
    transform_tile(kernel_line, taps, TAPS_SIDE, to, TILE_SIDE);
}

/* The gradients of a kernel of each lane, `step` apart, from the cells of `parts` sums. */
static inline void put_taps(int parts, const float *sums, int64_t part, int64_t between, bool adds, float *dweight,
                            int64_t step)
{
    vec m[TILE_CELLS];
    vec tap[TILE_TAPS];
    float lane[TILE_TAPS][sizeof(vec) / sizeof(float)];
    for (int i = 0; i < TILE_CELLS; ++i) {
        memcpy(&m[i], sums + i * between, sizeof *m);
        for (int p = 1; p < parts; ++p) {
            vec other;
            memcpy(&other, sums + p * part + i * between, sizeof other);
            m[i] += other;
        }
    }
    transform_tile(taps_line, m, TILE_SIDE, tap, TAPS_SIDE);
    memcpy(lane, tap, sizeof lane);
    for (size_t i = 0; i < sizeof *lane / sizeof **lane; ++i) {
        for (int t = 0; t < TILE_TAPS; ++t) {
            float *to = dweight + (int64_t)i * step + t;
            *to = adds ? *to + lane[t][i] : lane[t][i];
        }
    }
}

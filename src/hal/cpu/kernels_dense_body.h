/*
 * hal/cpu/kernels_dense_body.h: element-wise dense kernels and optimiser steps. Included once an instruction set by
 * kernels_*.c; plain loops that the compiler turns into vector code of that set. No include guard.
 */

static void scale_rows(int64_t m, int64_t n, const float *scale, const float *x, int64_t ldx, float *y, int64_t ldy)
{
    for (int64_t i = 0; i < m; ++i) {
        const float *from = x + i * ldx;
        float *to = y + i * ldy;
        float factor = scale[i];
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
            to[j] = factor * from[j];
        }
    }
}

static inline void copy_row(int64_t n, const float *restrict from, float *restrict to)
{
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
        to[j] = from[j];
    }
}

static inline void add_row(int64_t n, const float *restrict from, float *restrict to)
{
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
        to[j] += from[j];
    }
}

/* A NaN on either side stays. */
static inline void max_row(int64_t n, const float *restrict from, float *restrict to)
{
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
        to[j] = from[j] > to[j] || from[j] != from[j] ? from[j] : to[j];
    }
}

/* Rows that a copy asks for ahead of time: their addresses are random, no hardware prefetcher guesses them. */
enum { ROWS_AHEAD = 12, LINES_AHEAD = 4, FLOATS_OF_LINE = 16 };

static void gather_rows(int64_t m, int64_t n, const int32_t *index, const float *x, int64_t ldx, float *y, int64_t ldy)
{
    int64_t lines = (n + FLOATS_OF_LINE - 1) / FLOATS_OF_LINE;
    lines = lines < LINES_AHEAD ? lines : LINES_AHEAD;
    for (int64_t i = 0; i < m; ++i) {
        const float *ahead = x + index[i + ROWS_AHEAD < m ? i + ROWS_AHEAD : m - 1] * ldx;
        for (int64_t line = 0; line < lines; ++line) {
            __builtin_prefetch(ahead + line * FLOATS_OF_LINE);
        }
        copy_row(n, x + index[i] * ldx, y + i * ldy);
    }
}

static void scatter_rows(int64_t m, int64_t n, const int32_t *index, hal_scatter mode, const float *x, int64_t ldx,
                         float *y, int64_t ldy)
{
    int64_t lines = (n + FLOATS_OF_LINE - 1) / FLOATS_OF_LINE;
    lines = lines < LINES_AHEAD ? lines : LINES_AHEAD;
    for (int64_t i = 0; i < m; ++i) {
        const float *ahead = y + index[i + ROWS_AHEAD < m ? i + ROWS_AHEAD : m - 1] * ldy;
        for (int64_t line = 0; line < lines; ++line) {
            __builtin_prefetch(ahead + line * FLOATS_OF_LINE, 1);
        }
        const float *from = x + i * ldx;
        float *to = y + index[i] * ldy;
        switch (mode) {
        case HAL_SCATTER_REPLACE:
            copy_row(n, from, to);
            break;
        case HAL_SCATTER_ADD:
            add_row(n, from, to);
            break;
        case HAL_SCATTER_MAX:
            max_row(n, from, to);
            break;
        }
    }
}

static void adam(int64_t n, const cpu_adam_step *step, float *restrict w, const float *restrict g, float *restrict m,
                 float *restrict v)
{
    cpu_adam_step s = *step;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
        float gradient = g[i] + s.weight_decay * w[i];
        float first = s.beta1 * m[i] + s.one_minus_beta1 * gradient;
        float second = s.beta2 * v[i] + s.one_minus_beta2 * gradient * gradient;
        m[i] = first;
        v[i] = second;
        w[i] -= s.step_size * first / (sqrtf(second) * s.inverse_root_second + s.epsilon);
    }
}

static void sgd(int64_t n, const cpu_sgd_step *step, float *restrict w, const float *restrict g,
                float *restrict momentum)
{
    cpu_sgd_step s = *step;
    if (!s.has_momentum) {
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) {
            w[i] -= s.lr * (g[i] + s.weight_decay * w[i]);
        }
        return;
    }
    float kept = s.first ? 0.0F : s.momentum;
    float added = s.first ? 1.0F : s.one_minus_dampening;
    for (int64_t i = 0; i < n; ++i) {
        float gradient = g[i] + s.weight_decay * w[i];
        float buffer = s.first ? gradient : kept * momentum[i] + added * gradient;
        momentum[i] = buffer;
        w[i] -= s.lr * (s.nesterov ? gradient + s.momentum * buffer : buffer);
    }
}

static double sum_squares(int64_t n, const float *x)
{
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) {
        sum += (double)x[i] * (double)x[i];
    }
    return sum;
}

static void lars(int64_t n, const cpu_lars_step *step, float *restrict w, const float *restrict g,
                 float *restrict velocity)
{
    cpu_lars_step s = *step;
    if (!s.has_momentum) {
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) {
            w[i] -= s.rate * (g[i] + s.weight_decay * w[i]);
        }
        return;
    }
    if (s.first) {
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) {
            velocity[i] = s.rate * (g[i] + s.weight_decay * w[i]);
            w[i] -= velocity[i];
        }
        return;
    }
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
        velocity[i] = s.momentum * velocity[i] + s.rate * (g[i] + s.weight_decay * w[i]);
        w[i] -= velocity[i];
    }
}

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

static void adadelta(int64_t n, const cpu_adadelta_step *step, float *restrict w, const float *restrict g,
                     float *restrict squares, float *restrict moves)
{
    cpu_adadelta_step s = *step;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
        float gradient = g[i] + s.weight_decay * w[i];
        float square = s.decay * squares[i] + s.one_minus_decay * gradient * gradient;
        float taken = sqrtf((moves[i] + s.epsilon) / (square + s.epsilon)) * gradient;
        squares[i] = square;
        moves[i] = s.decay * moves[i] + s.one_minus_decay * taken * taken;
        w[i] -= s.lr * taken;
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

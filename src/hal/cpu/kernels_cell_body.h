/*
 * hal/cpu/kernels_cell_body.h: sums, activations, gates and pooling. A body over cells (kernels_cells.h).
 * Plain loops that the compiler turns into vector code of that set. Statistics are kept in double. No include guard.
 */

/* ---- sums and ReLU --------------------------------------------------------------------------------------------- */

static void CELL(axpby)(int64_t m, int64_t n, float alpha, const void *x, int64_t ldx, float beta, void *y, int64_t ldy)
{
    for (int64_t i = 0; i < m; ++i) {
        const cell *from = (const cell *)x + i * ldx;
        cell *to = (cell *)y + i * ldy;
        if (beta == 0.0F) {
#pragma omp simd
            for (int64_t j = 0; j < n; ++j) {
                to[j] = STORE(alpha * LOAD(from[j]));
            }
        } else {
#pragma omp simd
            for (int64_t j = 0; j < n; ++j) {
                to[j] = STORE(alpha * LOAD(from[j]) + beta * LOAD(to[j]));
            }
        }
    }
}

/* Four rows a sweep, so that the running sums are loaded and stored a quarter as often. */
static void CELL(col_sum)(int64_t m, int64_t n, const void *a, int64_t lda, double *restrict sum)
{
    int64_t i = 0;
    for (; i + 4 <= m; i += 4) {
        const cell *restrict row = (const cell *)a + i * lda;
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
            double low = (double)LOAD(row[j]) + (double)LOAD(row[lda + j]);
            double high = (double)LOAD(row[2 * lda + j]) + (double)LOAD(row[3 * lda + j]);
            sum[j] += low + high;
        }
    }
    for (; i < m; ++i) {
        const cell *restrict row = (const cell *)a + i * lda;
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
            sum[j] += (double)LOAD(row[j]);
        }
    }
}

/* A NaN passes. Without gaps the matrix is one row. */
static void CELL(relu_forward)(int64_t m, int64_t n, const void *x, int64_t ldx, void *y, int64_t ldy)
{
    const bool flat = ldx == n && ldy == n;
    const int64_t columns = flat ? m * n : n;
    for (int64_t i = 0; i < (flat ? 1 : m); ++i) {
        const cell *from = (const cell *)x + i * ldx;
        cell *to = (cell *)y + i * ldy;
#pragma omp simd
        for (int64_t j = 0; j < columns; ++j) {
            to[j] = STORE(LOAD(from[j]) < 0.0F ? 0.0F : LOAD(from[j]));
        }
    }
}

/* scale: of the dropout behind the ReLU */
static void CELL(relu_backward)(int64_t m, int64_t n, const void *dy, int64_t lddy, const void *y, int64_t ldy,
                                float scale, void *dx, int64_t lddx)
{
    const bool flat = lddy == n && ldy == n && lddx == n;
    const int64_t columns = flat ? m * n : n;
    for (int64_t i = 0; i < (flat ? 1 : m); ++i) {
        const cell *gradient = (const cell *)dy + i * lddy;
        const cell *output = (const cell *)y + i * ldy;
        cell *to = (cell *)dx + i * lddx;
#pragma omp simd
        for (int64_t j = 0; j < columns; ++j) {
            float scaled = LOAD(gradient[j]) * scale;
            to[j] = STORE(LOAD(output[j]) > 0.0F ? scaled : 0.0F);
        }
    }
}

/* ---- curves and gates ------------------------------------------------------------------------------------------- */

BY_FORM void CELL(curve_rows)(hal_curve curve, int64_t m, int64_t n, const void *x, int64_t ldx, void *y, int64_t ldy)
{
    for (int64_t i = 0; i < m; ++i) {
        const cell *from = (const cell *)x + i * ldx;
        cell *to = (cell *)y + i * ldy;
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
            to[j] = STORE(curve_value(curve, LOAD(from[j])));
        }
    }
}

static void CELL(curve_forward)(int64_t m, int64_t n, hal_curve curve, const void *x, int64_t ldx, void *y, int64_t ldy)
{
    switch (curve) {
    case HAL_CURVE_GELU:
        CELL(curve_rows)(HAL_CURVE_GELU, m, n, x, ldx, y, ldy);
        break;
    case HAL_CURVE_SILU:
        CELL(curve_rows)(HAL_CURVE_SILU, m, n, x, ldx, y, ldy);
        break;
    case HAL_CURVE_SIGMOID:
        CELL(curve_rows)(HAL_CURVE_SIGMOID, m, n, x, ldx, y, ldy);
        break;
    case HAL_CURVE_RELU6:
        CELL(curve_rows)(HAL_CURVE_RELU6, m, n, x, ldx, y, ldy);
        break;
    }
}

BY_FORM void CELL(slope_rows)(hal_curve curve, const cpu_curve_backward *a)
{
    for (int64_t i = 0; i < a->m; ++i) {
        const cell *gradient = (const cell *)a->dy + i * a->lddy;
        const cell *known = (const cell *)a->known + i * a->ldk;
        cell *to = (cell *)a->dx + i * a->lddx;
#pragma omp simd
        for (int64_t j = 0; j < a->n; ++j) {
            to[j] = STORE(LOAD(gradient[j]) * curve_slope(curve, LOAD(known[j])));
        }
    }
}

static void CELL(curve_backward)(const cpu_curve_backward *a, hal_curve curve)
{
    switch (curve) {
    case HAL_CURVE_GELU:
        CELL(slope_rows)(HAL_CURVE_GELU, a);
        break;
    case HAL_CURVE_SILU:
        CELL(slope_rows)(HAL_CURVE_SILU, a);
        break;
    case HAL_CURVE_SIGMOID:
        CELL(slope_rows)(HAL_CURVE_SIGMOID, a);
        break;
    case HAL_CURVE_RELU6:
        CELL(slope_rows)(HAL_CURVE_RELU6, a);
        break;
    }
}

/* row: the first one's number in the whole matrix. */
static void CELL(gate_forward)(const hal_gate_forward_args *a, int64_t row, int64_t rows)
{
    for (int64_t i = row; i < row + rows; ++i) {
        const cell *from = (const cell *)a->x.source + i * a->x.ld;
        const cell *gate = (const cell *)a->gate.source + i / a->pixels * a->gate.ld;
        cell *to = (cell *)a->y.data + i * a->y.ld;
#pragma omp simd
        for (int64_t j = 0; j < a->y.cols; ++j) {
            to[j] = STORE(LOAD(from[j]) * LOAD(gate[j]));
        }
    }
}

/* n <= CELL_STRIP columns of the rows of an image. */
static inline void CELL(gate_strip)(const hal_gate_backward_args *a, int64_t image, int64_t col, int64_t n)
{
    const cell *gate = (const cell *)a->gate.source + image * a->gate.ld + col;
    float sum[CELL_STRIP] = {0.0F};
    for (int64_t i = image * a->pixels; i < (image + 1) * a->pixels; ++i) {
        const cell *gradient = (const cell *)a->dy.source + i * a->dy.ld + col;
        const cell *from = (const cell *)a->x.source + i * a->x.ld + col;
        cell *to = (cell *)a->dx.data + i * a->dx.ld + col;
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
            const float dy = LOAD(gradient[j]);
            sum[j] += dy * LOAD(from[j]);
            to[j] = STORE(dy * LOAD(gate[j]));
        }
    }
    for (int64_t j = 0; a->dgate.data != NULL && j < n; ++j) {
        ((cell *)a->dgate.data + image * a->dgate.ld + col)[j] = STORE(sum[j]);
    }
}

static void CELL(gate_backward)(const hal_gate_backward_args *a, int64_t image, int64_t images)
{
    for (int64_t i = image; i < image + images; ++i) {
        for (int64_t col = 0; col < a->dx.cols; col += CELL_STRIP) {
            const int64_t left = a->dx.cols - col;
            CELL(gate_strip)(a, i, col, left < CELL_STRIP ? left : CELL_STRIP);
        }
    }
}

/* ---- pooling ------------------------------------------------------------------------------------------------- */

/* n <= CELL_STRIP columns of one output pixel. */
static inline void CELL(pool_max_strip)(const cpu_pooling *p, const pool_window *w, int64_t n, const cell *x, cell *y,
                                        uint8_t *index)
{
    float best[CELL_STRIP];
    int32_t place[CELL_STRIP];
    for (int64_t ky = w->ky; ky < w->ky_end; ++ky) {
        for (int64_t kx = w->kx; kx < w->kx_end; ++kx) {
            const cell *from = x + (w->pixel + (ky - w->ky) * p->shape.width + kx - w->kx) * p->ldx;
            const int32_t k = (int32_t)(ky * p->shape.kernel[1] + kx);
            const bool begins = ky == w->ky && kx == w->kx;
            for (int64_t j = 0; j < n && begins; ++j) {
                best[j] = LOAD(from[j]);
                place[j] = k;
            }
#pragma omp simd
            for (int64_t j = 0; j < n; ++j) {
                const float value = LOAD(from[j]);
                const bool wins = value > best[j] || (value != value && best[j] == best[j]);
                best[j] = wins ? value : best[j];
                place[j] = wins ? k : place[j];
            }
        }
    }
    for (int64_t j = 0; j < n; ++j) {
        y[j] = STORE(best[j]);
    }
    for (int64_t j = 0; index != NULL && j < n; ++j) {
        index[j] = (uint8_t)place[j];
    }
}

static void CELL(pool_max)(const cpu_pooling *p, int64_t first, int64_t rows, const void *x, void *y, uint8_t *index)
{
    for (int64_t row = first; row < first + rows; ++row) {
        const pool_window w = pool_window_of(p, row);
        for (int64_t c = 0; c < p->cols; c += CELL_STRIP) {
            const int64_t n = p->cols - c < CELL_STRIP ? p->cols - c : CELL_STRIP;
            CELL(pool_max_strip)
            (p, &w, n, (const cell *)x + c, (cell *)y + row * p->ldy + c,
             index != NULL ? index + row * p->ld_index + c : NULL);
        }
    }
}

static void CELL(pool_average)(const cpu_pooling *p, int64_t first, int64_t rows, const void *x, void *y)
{
    const float share = 1.0F / (float)(p->shape.kernel[0] * p->shape.kernel[1]);
    for (int64_t row = first; row < first + rows; ++row) {
        const pool_window w = pool_window_of(p, row);
        for (int64_t c = 0; c < p->cols; c += CELL_STRIP) {
            const int64_t n = p->cols - c < CELL_STRIP ? p->cols - c : CELL_STRIP;
            cell *to = (cell *)y + row * p->ldy + c;
            float sum[CELL_STRIP] = {0.0F};
            for (int64_t ky = w.ky; ky < w.ky_end; ++ky) {
                for (int64_t kx = w.kx; kx < w.kx_end; ++kx) {
                    const cell *from =
                        (const cell *)x + (w.pixel + (ky - w.ky) * p->shape.width + kx - w.kx) * p->ldx + c;
#pragma omp simd
                    for (int64_t j = 0; j < n; ++j) {
                        sum[j] += LOAD(from[j]);
                    }
                }
            }
            for (int64_t j = 0; j < n; ++j) {
                to[j] = STORE(share * sum[j]);
            }
        }
    }
}

static void CELL(pool_backward)(const cpu_pooling *p, int64_t first, int64_t rows, const void *dy, const uint8_t *index,
                                void *dx)
{
    const hal_pool_shape *s = &p->shape;
    const float share = index != NULL ? 1.0F : 1.0F / (float)(s->kernel[0] * s->kernel[1]);
    for (int64_t row = first; row < first + rows; ++row) {
        const int64_t iy = row / s->width % s->height;
        const int64_t ix = row % s->width;
        const int64_t image = row / (s->height * s->width);
        int64_t oy_begin, oy_end, ox_begin, ox_end;
        reached_by(iy, s->stride[0], s->pad[0][0], s->kernel[0], p->extent[0], &oy_begin, &oy_end);
        reached_by(ix, s->stride[1], s->pad[1][0], s->kernel[1], p->extent[1], &ox_begin, &ox_end);
        for (int64_t c = 0; c < p->cols; c += CELL_STRIP) {
            const int64_t n = p->cols - c < CELL_STRIP ? p->cols - c : CELL_STRIP;
            cell *to = (cell *)dx + row * p->ldx + c;
            float sum[CELL_STRIP] = {0.0F};
            for (int64_t oy = oy_begin; oy < oy_end; ++oy) {
                for (int64_t ox = ox_begin; ox < ox_end; ++ox) {
                    const int64_t at = (image * p->extent[0] + oy) * p->extent[1] + ox;
                    const int64_t ky = iy + s->pad[0][0] - oy * s->stride[0];
                    const int64_t k = ky * s->kernel[1] + ix + s->pad[1][0] - ox * s->stride[1];
                    const cell *from = (const cell *)dy + at * p->ldy + c;
                    const uint8_t *place = index != NULL ? index + at * p->ld_index + c : NULL;
#pragma omp simd
                    for (int64_t j = 0; j < n; ++j) {
                        sum[j] += place == NULL || place[j] == k ? LOAD(from[j]) : 0.0F;
                    }
                }
            }
            for (int64_t j = 0; j < n; ++j) {
                to[j] = STORE(share * sum[j]);
            }
        }
    }
}

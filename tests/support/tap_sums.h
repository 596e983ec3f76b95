/*
 * support/tap_sums.h: a listener (train/tap.h) that forms the weight gradients anew, on the host and in double, out of
 * the rows that it is told of: x^T dy of linear maps, sums over patches of convolutions. tap_sums_check compares them
 * with those that the pass left in the parameter store, and sees that no weight was left out.
 */
#pragma once

#include <math.h>

#include "base/alloc.h"
#include "base/half.h"
#include "support/test.h"
#include "train/tap.h"

typedef struct tap_sums {
    const param_store *params;
    double *sum;   /* [trained] */
    bool *covered; /* [trained] */
    int every;     /* steps; 0: each */
    int asked, calls;
    int64_t wanted_step; /* of the pass that was wanted last */
    train_tap tap;
} tap_sums;

/* [rows, cols] on the host; free with weft_free. */
static weft_status tap_read(const weft_tensor *t, double **values)
{
    const int64_t count = t->rows * t->cols;
    void *raw = NULL;
    WEFT_TRY(WEFT_NEW(values, count + 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY(weft_malloc((size_t)count + 1, weft_dtype_bytes(t->dtype), WEFT_MEM_WORKSPACE, &raw));
    const weft_status status = tensor_download(t, raw);
    for (int64_t i = 0; status == WEFT_OK && i < count; ++i) {
        (*values)[i] = t->dtype == WEFT_DTYPE_F64    ? ((const double *)raw)[i]
                       : t->dtype == WEFT_DTYPE_F32  ? (double)((const float *)raw)[i]
                       : t->dtype == WEFT_DTYPE_BF16 ? (double)bf16_to_float(((const uint16_t *)raw)[i])
                                                     : (double)fp16_to_float(((const uint16_t *)raw)[i]);
    }
    weft_free(raw);
    return status;
}

/* Sparse rows as a matrix: their product with the unit matrix, under the same mask. */
static weft_status tap_read_sparse(const tap_rows *rows, weft_dtype dtype, double **values)
{
    weft_hal *hal = rows->sparse->hal;
    const int64_t cols = rows->sparse->cols;
    weft_tensor ones = {0}, whole = {0};
    double *wide = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&wide, cols * cols, WEFT_MEM_WORKSPACE));
    float *narrow = (float *)(void *)wide;
    for (int64_t i = 0; i < cols; ++i) {
        if (dtype == WEFT_DTYPE_F64) {
            wide[i * cols + i] = 1.0;
        } else {
            narrow[i * cols + i] = 1.0F;
        }
    }
    weft_status status = tensor_create(hal, dtype, cols, cols, WEFT_MEM_WORKSPACE, &ones);
    status = status == WEFT_OK ? tensor_upload(&ones, wide) : status;
    status =
        status == WEFT_OK ? tensor_create(hal, dtype, rows->sparse->rows, cols, WEFT_MEM_WORKSPACE, &whole) : status;
    status = status == WEFT_OK ? tensor_features_product(rows->sparse, &ones, 0.0, rows->dropout, &whole) : status;
    status = status == WEFT_OK ? tap_read(&whole, values) : status;
    tensor_destroy(&ones);
    tensor_destroy(&whole);
    weft_free(wide);
    return status;
}

/* The element of the store that input i and output o of the rows' sub-matrix meet in. */
static int64_t tap_element(const tap_sums *s, const tap_rows *rows, int64_t i, int64_t o)
{
    const param_block *block = &s->params->block[rows->block];
    const int64_t row = rows->row + (rows->transposed ? o : i);
    const int64_t col = rows->col + (rows->transposed ? i : o);
    return block->offset + row * block->cols + col;
}

static weft_status tap_take_linear(tap_sums *s, const tap_rows *rows, const double *x, const double *dy)
{
    const int64_t out = rows->dy->cols;
    const int64_t in = rows->transposed ? rows->cols : rows->rows;
    WEFT_CHECK(out == (rows->transposed ? rows->rows : rows->cols) &&
                   in == (rows->x != NULL ? rows->x->cols : rows->sparse->cols) &&
                   rows->dy->rows == (rows->x != NULL ? rows->x->rows : rows->sparse->rows),
               WEFT_ERR_INTERNAL, "rows of another shape than their block's");
    for (int64_t r = 0; r < rows->dy->rows; ++r) {
        for (int64_t i = 0; i < in; ++i) {
            for (int64_t o = 0; o < out; ++o) {
                s->sum[tap_element(s, rows, i, o)] += x[r * in + i] * dy[r * out + o];
            }
        }
    }
    for (int64_t i = 0; i < in; ++i) {
        for (int64_t o = 0; o < out; ++o) {
            s->covered[tap_element(s, rows, i, o)] = true;
        }
    }
    return WEFT_OK;
}

/* What the norm in front of the convolution makes of x. */
static weft_status tap_normalise(const tap_rows *rows, double *x)
{
    const hal_mat *vector[4] = {&rows->norm->mean, &rows->norm->rstd, &rows->norm->gamma, &rows->norm->beta};
    double *value[4] = {NULL};
    weft_status status = WEFT_OK;
    for (int v = 0; v < 4 && status == WEFT_OK; ++v) {
        const weft_tensor t = {.hal = rows->x->hal,
                               .dtype = vector[v]->dtype,
                               .rows = 1,
                               .cols = rows->x->cols,
                               .ld = rows->x->cols,
                               .data = vector[v]->data};
        status = tap_read(&t, &value[v]);
    }
    for (int64_t r = 0; status == WEFT_OK && r < rows->x->rows; ++r) {
        for (int64_t c = 0; c < rows->x->cols; ++c) {
            double *at = &x[r * rows->x->cols + c];
            *at = (*at - value[0][c]) * value[1][c] * value[2][c] + value[3][c];
            *at = rows->norm->relu && *at < 0.0 ? 0.0 : *at;
        }
    }
    for (int v = 0; v < 4; ++v) {
        weft_free(value[v]);
    }
    return status;
}

static int64_t tap_side(const hal_conv_shape *c, int d)
{
    const int64_t side = d == 0 ? c->height : c->width;
    return (side + c->pad[d][0] + c->pad[d][1] - c->dilation[d] * (c->kernel[d] - 1) - 1) / c->stride[d] + 1;
}

/* One pixel of the output: the patch that it saw, times its gradient. */
static void tap_take_pixel(tap_sums *s, const tap_rows *rows, const double *x, int64_t top, int64_t left,
                           const double *dy)
{
    const hal_conv_shape *c = rows->conv;
    const int64_t in = c->in / c->groups, out = c->out / c->groups;
    for (int64_t ky = 0; ky < c->kernel[0]; ++ky) {
        for (int64_t kx = 0; kx < c->kernel[1]; ++kx) {
            const int64_t row = top + ky * c->dilation[0], col = left + kx * c->dilation[1];
            if (row < 0 || row >= c->height || col < 0 || col >= c->width) {
                continue;
            }
            for (int64_t o = 0; o < c->out; ++o) {
                const double *pixel = x + (row * c->width + col) * c->in + o / out * in;
                double *sum = &s->sum[tap_element(s, rows, ky * c->kernel[1] + kx, o)];
                for (int64_t i = 0; i < in; ++i) {
                    sum[i * c->kernel[0] * c->kernel[1]] += pixel[i] * dy[o];
                }
            }
        }
    }
}

static weft_status tap_take_conv(tap_sums *s, const tap_rows *rows, const double *x, const double *dy)
{
    const hal_conv_shape *c = rows->conv;
    const int64_t height = tap_side(c, 0), width = tap_side(c, 1);
    const param_block *block = &s->params->block[rows->block];
    WEFT_CHECK(rows->x->rows == rows->images * c->height * c->width && rows->x->cols == c->in &&
                   rows->dy->rows == rows->images * height * width && rows->dy->cols == c->out && rows->transposed &&
                   rows->rows == c->out && rows->cols == c->in / c->groups * c->kernel[0] * c->kernel[1],
               WEFT_ERR_INTERNAL, "images of another shape than their convolution's");
    for (int64_t at = 0; at < rows->dy->rows; ++at) {
        const int64_t image = at / (height * width), row = at / width % height, col = at % width;
        tap_take_pixel(s, rows, x + image * c->height * c->width * c->in, row * c->stride[0] - c->pad[0][0],
                       col * c->stride[1] - c->pad[1][0], dy + at * c->out);
    }
    memset(s->covered + block->offset, 1, (size_t)(block->rows * block->cols));
    return WEFT_OK;
}

static weft_status tap_sums_take(void *self, const train_pass *pass, const tap_rows *rows)
{
    tap_sums *s = self;
    double *x = NULL, *dy = NULL;
    const param_block *block = &s->params->block[rows->block];
    WEFT_CHECK(pass->training && pass->step == s->wanted_step, WEFT_ERR_INTERNAL, "a pass that was not wanted");
    WEFT_CHECK(rows->dy->rows >= 1 && rows->row >= 0 && rows->row + rows->rows <= block->rows && rows->col >= 0 &&
                   rows->col + rows->cols <= block->cols && (rows->x == NULL) == (rows->sparse != NULL),
               WEFT_ERR_INTERNAL, "rows that are none");
    s->calls += 1;
    weft_status status = rows->x != NULL ? tap_read(rows->x, &x) : tap_read_sparse(rows, s->params->dtype, &x);
    status = status == WEFT_OK && rows->norm != NULL ? tap_normalise(rows, x) : status;
    status = status == WEFT_OK ? tap_read(rows->dy, &dy) : status;
    if (status == WEFT_OK) {
        status = rows->conv != NULL ? tap_take_conv(s, rows, x, dy) : tap_take_linear(s, rows, x, dy);
    }
    weft_free(x);
    weft_free(dy);
    return status;
}

static bool tap_sums_wants(void *self, const train_pass *pass)
{
    tap_sums *s = self;
    s->asked += 1;
    if (s->every > 0 && pass->step % s->every != 0) {
        return false;
    }
    s->wanted_step = pass->step;
    return true;
}

/* params: committed. Free with tap_sums_destroy, also after a failure. */
static inline weft_status tap_sums_create(const param_store *params, int every, tap_sums *s)
{
    *s = (tap_sums){.params = params, .every = every, .tap = {.wants = tap_sums_wants, .take = tap_sums_take}};
    s->tap.self = s;
    WEFT_TRY(WEFT_NEW_ZERO(&s->sum, params->trained, WEFT_MEM_WORKSPACE));
    return WEFT_NEW_ZERO(&s->covered, params->trained, WEFT_MEM_WORKSPACE);
}

static inline void tap_sums_destroy(tap_sums *s)
{
    weft_free(s->sum);
    weft_free(s->covered);
}

static inline bool tap_is_weight(const param_entry *entry)
{
    static const char *const ends[] = {".weight", ".self", ".neigh", ".source", ".target"};
    const char *dot = strrchr(entry->name, '.');
    if (strncmp(entry->name, "embed", 5) == 0) {
        return false; /* an embedding picks rows, and multiplies none */
    }
    for (size_t i = 0; dot != NULL && entry->rank >= 2 && i < sizeof ends / sizeof *ends; ++i) {
        if (strcmp(dot, ends[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* tolerance: of the largest element of a weight's gradient. any: this rank has rows. gradient: [trained]. */
static inline weft_status tap_sums_compare(const tap_sums *s, const double *gradient, bool any, double tolerance)
{
    const param_store *params = s->params;
    int weights = 0;
    for (int e = 0; e < params->entries; ++e) {
        const param_entry *entry = &params->entry[e];
        double largest = 0.0;
        weights += tap_is_weight(entry);
        for (int64_t i = 0; tap_is_weight(entry) && i < entry->rows * entry->cols; ++i) {
            largest = fmax(largest, fabs(gradient[entry->offset + i / entry->cols * entry->ld + i % entry->cols]));
        }
        for (int64_t i = 0; tap_is_weight(entry) && i < entry->rows * entry->cols; ++i) {
            const int64_t at = entry->offset + i / entry->cols * entry->ld + i % entry->cols;
            WEFT_CHECK(s->covered[at] == any, WEFT_ERR_INTERNAL, "%s was left out", entry->name);
            WEFT_CHECK(fabs(s->sum[at] - gradient[at]) <= tolerance * (largest + 1e-30), WEFT_ERR_INTERNAL,
                       "%s, element %lld: the listener's sum is %.12g, the gradient %.12g", entry->name, (long long)i,
                       s->sum[at], gradient[at]);
        }
    }
    WEFT_CHECK(weights > 0, WEFT_ERR_INTERNAL, "a model without weights");
    return WEFT_OK;
}

static inline weft_status tap_sums_check(const tap_sums *s, bool any, double tolerance)
{
    double *gradient = NULL;
    weft_status status = tap_read(&s->params->grad, &gradient);
    status = status == WEFT_OK ? tap_sums_compare(s, gradient, any, tolerance) : status;
    weft_free(gradient);
    return status;
}

/*
 * hal/cpu/cpu_tokens.c: attention, embedding and mean of tokens.
 *
 * A thread takes one head of one image at a time. Rows that are no padding are copied to float32 side by side, so that
 * padding costs nothing, and meet in products of the processor's own kernels (kernels_gemm_body.h), a block of queries
 * at a time, whose shares stay in the second-level cache:
 *
 *      shares [block, tokens] = softmax(Q K^T)        y = shares V
 *      backward: the shares again;  dV += shares^T dY;  slopes = of dY V^T;  dQ = slopes K;  dK += slopes^T Q
 *
 * Nothing of [tokens, tokens] is stored between the passes: five products of the backward pass, of which one is made
 * again, cost less than writing and reading shares of all heads (T. Dao et al., NeurIPS 2022, arXiv 2205.14135). An
 * image's head is one thread's, and a column of the embedding's gradient, so results are the same bits for any number
 * of threads.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "hal/cpu/cpu_rows.h"

enum { QUERIES = 64 /* rows of a block; of 512 tokens 128 KB of shares */, ALIGN = 16 /* floats of a line */ };

static int64_t aligned(int64_t floats)
{
    return (floats + ALIGN - 1) / ALIGN * ALIGN;
}

/* ---- cells ------------------------------------------------------------------------------------------------------ */

/* n cells of a row of mat from a column on, as floats. */
static void load_cells(const hal_mat *mat, int64_t row, int64_t column, int64_t n, float *to)
{
    const int64_t at = row * mat->ld + column;
    if (mat->dtype != WEFT_DTYPE_BF16) {
        memcpy(to, (const float *)mat->source + at, (size_t)n * sizeof *to);
        return;
    }
    const uint16_t *from = (const uint16_t *)mat->source + at;
    for (int64_t j = 0; j < n; ++j) {
        to[j] = bf16_to_float(from[j]);
    }
}

/* from: NULL for zeros */
static void store_cells(const hal_mat *mat, int64_t row, int64_t column, int64_t n, const float *from)
{
    const int64_t at = row * mat->ld + column;
    const size_t cell = weft_dtype_bytes(mat->dtype);
    if (from == NULL) {
        memset((char *)mat->data + (size_t)at * cell, 0, (size_t)n * cell);
        return;
    }
    if (mat->dtype != WEFT_DTYPE_BF16) {
        memcpy((float *)mat->data + at, from, (size_t)n * cell);
        return;
    }
    uint16_t *to = (uint16_t *)mat->data + at;
    for (int64_t j = 0; j < n; ++j) {
        to[j] = bf16_from_float(from[j]);
    }
}

static bool is_token(const hal_mat *key, int64_t row)
{
    return key->source == NULL || ((const float *)key->source)[row * key->ld] != 0.0F;
}

/* ---- attention -------------------------------------------------------------------------------------------------- */

/* One head of one image, and the memory that it is computed in. */
typedef struct head_work {
    const cpu_kernels *kernels;
    const hal_mat *key;
    int64_t first, tokens; /* rows of the image */
    int64_t width, count;  /* columns of the head; rows that are no padding */
    float scale;
    float *query, *keys, *values, *dy;   /* [count, width] */
    float *dquery, *dkeys, *dvalues;     /* the same */
    float *share, *slope;                /* [QUERIES, tokens] */
    float *key_columns, *value_columns;  /* packed, of [width, count] */
    float *rows_packed, *queries_packed; /* packed, of [count, width] and [QUERIES, width] */
} head_work;

/* Takes `floats` of the memory at *from, or only counts them in *used. */
static float *take(float *from, int64_t *used, int64_t floats)
{
    float *taken = from != NULL ? from + *used : NULL;
    *used += aligned(floats);
    return taken;
}

/* Lays the arrays of a head out in `own`; NULL: only counts. Returns the floats of all. */
static int64_t lay_out(head_work *w, int64_t tokens, int64_t width, bool training, float *own)
{
    /* A packed row is at most a panel of vectors longer than its columns. */
    const int64_t rows = tokens * width, padding = 64;
    int64_t used = 0;
    w->query = take(own, &used, rows);
    w->keys = take(own, &used, rows);
    w->values = take(own, &used, rows);
    w->share = take(own, &used, QUERIES * tokens);
    w->key_columns = take(own, &used, width * (tokens + padding));
    w->rows_packed = take(own, &used, tokens * (width + padding));
    w->dquery = take(own, &used, rows);
    if (training) {
        w->dy = take(own, &used, rows);
        w->dkeys = take(own, &used, rows);
        w->dvalues = take(own, &used, rows);
        w->slope = take(own, &used, QUERIES * tokens);
        w->value_columns = take(own, &used, width * (tokens + padding));
        w->queries_packed = take(own, &used, QUERIES * (width + padding));
    }
    return used;
}

/* The rows of mat that are no padding, from a column on. Returns how many. */
static int64_t load_rows(const head_work *w, const hal_mat *mat, int64_t column, float *to)
{
    int64_t count = 0;
    for (int64_t i = w->first; i < w->first + w->tokens; ++i) {
        if (is_token(w->key, i)) {
            load_cells(mat, i, column, w->width, to + count++ * w->width);
        }
    }
    return count;
}

/* The other way; rows of padding become zeros. */
static void store_rows(const head_work *w, const float *from, const hal_mat *mat, int64_t column)
{
    int64_t count = 0;
    for (int64_t i = w->first; i < w->first + w->tokens; ++i) {
        store_cells(mat, i, column, w->width, is_token(w->key, i) ? from + count++ * w->width : NULL);
    }
}

/* The transpose of rows [count, width], times alpha. */
static void pack_columns(const head_work *w, float alpha, const float *rows, float *packed)
{
    w->kernels->gemm_pack(0, w->width, w->width, w->count, alpha, rows, 1, w->width, packed);
}

static void pack_rows(const head_work *w, int64_t count, const float *rows, float *packed)
{
    w->kernels->gemm_pack(0, count, count, w->width, 1.0F, rows, w->width, 1, packed);
}

/* c[m, count] = a[m, width] times packed columns. */
static void times_columns(const head_work *w, int64_t m, const float *a, const float *packed, float *c)
{
    w->kernels->gemm_multiply(m, w->count, w->width, a, w->width, packed, 0.0F, NULL, c, w->count);
}

/* c[m, width] = a[m, count] times packed rows. */
static void times_rows(const head_work *w, int64_t m, const float *a, const float *packed, float *c)
{
    w->kernels->gemm_multiply(m, w->width, w->count, a, w->count, packed, 0.0F, NULL, c, w->width);
}

/* c[count, width] += transpose of a[m, count], times packed rows [m, width]. */
static void add_transposed(const head_work *w, int64_t m, const float *a, const float *packed, bool adds, float *c)
{
    w->kernels->gemm_multiply_transposed(w->count, w->width, m, a, w->count, packed, adds ? 1.0F : 0.0F, c, w->width);
}

static void shares_of(const head_work *w, int64_t first, int64_t rows)
{
    times_columns(w, rows, w->query + first * w->width, w->key_columns, w->share);
    w->kernels->softmax_rows(rows, w->count, w->share, w->count);
}

static void load_head(head_work *w, const hal_mat *x, int64_t column, int64_t n)
{
    w->count = load_rows(w, x, column, w->query);
    load_rows(w, x, column + n, w->keys);
    load_rows(w, x, column + 2 * n, w->values);
    pack_columns(w, w->scale, w->keys, w->key_columns);
}

static int64_t block_at(const head_work *w, int64_t first)
{
    return w->count - first < QUERIES ? w->count - first : QUERIES;
}

static head_work head_of(const cpu_piece *piece, const hal_mat *key, int64_t tokens, int64_t width, bool training)
{
    head_work w = {.kernels = piece->kernels,
                   .key = key,
                   .tokens = tokens,
                   .width = width,
                   .scale = (float)(1.0 / sqrt((double)width))};
    lay_out(&w, tokens, width, training, piece->own);
    return w;
}

static void forward_heads(const cpu_piece *piece, const void *args)
{
    const hal_attend_forward_args *a = args;
    const int64_t n = a->y.cols;
    head_work w = head_of(piece, &a->key, a->tokens, n / a->heads, false);
    for (int64_t at = piece->first; at < piece->first + piece->rows; ++at) {
        const int64_t column = at % a->heads * w.width;
        w.first = at / a->heads * a->tokens;
        load_head(&w, &a->x, column, n);
        pack_rows(&w, w.count, w.values, w.rows_packed);
        for (int64_t i = 0; i < w.count; i += QUERIES) {
            shares_of(&w, i, block_at(&w, i));
            times_rows(&w, block_at(&w, i), w.share, w.rows_packed, w.dquery + i * w.width);
        }
        store_rows(&w, w.dquery, &a->y, column);
    }
}

/* Gradients of a block of queries, and their share in those of keys and values. */
static void backward_block(const head_work *w, int64_t first)
{
    const int64_t rows = block_at(w, first), at = first * w->width;
    shares_of(w, first, rows);
    pack_rows(w, rows, w->dy + at, w->queries_packed);
    add_transposed(w, rows, w->share, w->queries_packed, first > 0, w->dvalues);
    times_columns(w, rows, w->dy + at, w->value_columns, w->slope);
    w->kernels->softmax_slopes(rows, w->count, w->share, w->count, w->scale, w->slope, w->count);
    times_rows(w, rows, w->slope, w->rows_packed, w->dquery + at);
    pack_rows(w, rows, w->query + at, w->queries_packed);
    add_transposed(w, rows, w->slope, w->queries_packed, first > 0, w->dkeys);
}

static void backward_heads(const cpu_piece *piece, const void *args)
{
    const hal_attend_backward_args *a = args;
    const int64_t n = a->dy.cols;
    head_work w = head_of(piece, &a->key, a->tokens, n / a->heads, true);
    for (int64_t at = piece->first; at < piece->first + piece->rows; ++at) {
        const int64_t column = at % a->heads * w.width;
        w.first = at / a->heads * a->tokens;
        load_head(&w, &a->x, column, n);
        load_rows(&w, &a->dy, column, w.dy);
        pack_columns(&w, 1.0F, w.values, w.value_columns);
        pack_rows(&w, w.count, w.keys, w.rows_packed);
        for (int64_t i = 0; i < w.count; i += QUERIES) {
            backward_block(&w, i);
        }
        store_rows(&w, w.dquery, &a->dx, column);
        store_rows(&w, w.dkeys, &a->dx, column + n);
        store_rows(&w, w.dvalues, &a->dx, column + 2 * n);
    }
}

static weft_status each_head(weft_hal *hal, void (*run)(const cpu_piece *piece, const void *args), const void *args,
                             const hal_mat *y, int64_t tokens, int64_t heads, bool training)
{
    assert(tokens > 0 && heads > 0 && y->rows % tokens == 0 && y->cols % heads == 0);
    head_work counted;
    cpu_parts_left left;
    const int64_t rows = y->cols > 0 ? y->rows / tokens * heads : 0;
    const int64_t floats = lay_out(&counted, tokens, y->cols / heads, training, NULL);
    const cpu_rows_job job = {.run = run,
                              .args = args,
                              .rows = rows,
                              .work = y->rows * y->cols * tokens,
                              .own_bytes = (size_t)floats * sizeof(float)};
    return rows > 0 ? cpu_rows(hal, &job, &left) : WEFT_OK;
}

static weft_status cpu_attend_forward(weft_hal *hal, const hal_attend_forward_args *a)
{
    return each_head(hal, forward_heads, a, &a->y, a->tokens, a->heads, false);
}

static weft_status cpu_attend_backward(weft_hal *hal, const hal_attend_backward_args *a)
{
    return each_head(hal, backward_heads, a, &a->dy, a->tokens, a->heads, true);
}

/* ---- embedding -------------------------------------------------------------------------------------------------- */

static int64_t row_of_id(const hal_mat *id, int64_t i, int64_t rows)
{
    const int64_t row = (int64_t)((const float *)id->source)[i * id->ld];
    assert(row >= 0 && row < rows);
    (void)rows;
    return row;
}

static void embed_rows(const cpu_piece *piece, const void *args)
{
    const hal_lookup_forward_args *a = args;
    for (int64_t i = piece->first; i < piece->first + piece->rows; ++i) {
        const int64_t row = row_of_id(&a->id, i, a->table.rows);
        store_cells(&a->y, i, 0, a->y.cols, (const float *)a->table.source + row * a->table.ld);
    }
}

static weft_status cpu_lookup_forward(weft_hal *hal, const hal_lookup_forward_args *a)
{
    assert(a->id.rows == a->y.rows && a->table.cols == a->y.cols);
    return cpu_each_row(hal, embed_rows, a, &a->y);
}

enum { COLUMNS = 16 /* of a gradient that a thread takes at once: a line */ };

/* Rows of the piece are runs of columns. */
static void embed_columns(const cpu_piece *piece, const void *args)
{
    const hal_lookup_backward_args *a = args;
    const int64_t from = piece->first * COLUMNS, last = (piece->first + piece->rows) * COLUMNS;
    const int64_t n = (last < a->dtable.cols ? last : a->dtable.cols) - from;
    float *table = (float *)a->dtable.data + from;
    for (int64_t i = 0; n > 0 && i < a->dtable.rows; ++i) {
        memset(table + i * a->dtable.ld, 0, (size_t)n * sizeof *table);
    }
    for (int64_t i = 0; n > 0 && i < a->dy.rows; ++i) {
        const int64_t row = row_of_id(&a->id, i, a->dtable.rows);
        float *to = table + row * a->dtable.ld;
        for (int64_t j = 0; row > 0 && j < n; j += COLUMNS) {
            float own[COLUMNS];
            const int64_t some = n - j < COLUMNS ? n - j : COLUMNS;
            load_cells(&a->dy, i, from + j, some, own);
            for (int64_t k = 0; k < some; ++k) {
                to[j + k] += own[k];
            }
        }
    }
}

static weft_status cpu_lookup_backward(weft_hal *hal, const hal_lookup_backward_args *a)
{
    assert(a->id.rows == a->dy.rows && a->dtable.cols == a->dy.cols);
    const cpu_rows_job job = {.run = embed_columns,
                              .args = a,
                              .rows = (a->dtable.cols + COLUMNS - 1) / COLUMNS,
                              .work = (a->dy.rows + a->dtable.rows) * a->dy.cols};
    return cpu_rows(hal, &job, NULL);
}

/* ---- mean ------------------------------------------------------------------------------------------------------- */

static int64_t tokens_of(const hal_mat *key, int64_t image, int64_t tokens)
{
    int64_t count = 0;
    for (int64_t i = image * tokens; i < (image + 1) * tokens; ++i) {
        count += is_token(key, i);
    }
    return count;
}

static void mean_images(const cpu_piece *piece, const void *args)
{
    const hal_token_mean_forward_args *a = args;
    const int64_t n = a->y.cols;
    float *row = piece->own, *sum = row + n;
    for (int64_t image = piece->first; image < piece->first + piece->rows; ++image) {
        const int64_t count = tokens_of(&a->key, image, a->tokens);
        const float share = count > 0 ? 1.0F / (float)count : 0.0F;
        memset(sum, 0, (size_t)n * sizeof *sum);
        for (int64_t i = image * a->tokens; i < (image + 1) * a->tokens; ++i) {
            load_cells(&a->x, i, 0, n, row);
            for (int64_t j = 0; is_token(&a->key, i) && j < n; ++j) {
                sum[j] += row[j];
            }
        }
        for (int64_t j = 0; j < n; ++j) {
            sum[j] *= share;
        }
        store_cells(&a->y, image, 0, n, sum);
    }
}

static weft_status cpu_token_mean_forward(weft_hal *hal, const hal_token_mean_forward_args *a)
{
    cpu_parts_left left;
    const cpu_rows_job job = {.run = mean_images,
                              .args = a,
                              .rows = a->y.cols > 0 ? a->y.rows : 0,
                              .work = a->x.rows * a->x.cols,
                              .own_bytes = 2 * (size_t)a->y.cols * sizeof(float)};
    return cpu_rows(hal, &job, &left);
}

static void mean_images_backward(const cpu_piece *piece, const void *args)
{
    const hal_token_mean_backward_args *a = args;
    const int64_t n = a->dx.cols;
    float *row = piece->own;
    for (int64_t image = piece->first; image < piece->first + piece->rows; ++image) {
        const int64_t count = tokens_of(&a->key, image, a->tokens);
        load_cells(&a->dy, image, 0, n, row);
        for (int64_t j = 0; j < n; ++j) {
            row[j] /= (float)(count > 0 ? count : 1);
        }
        for (int64_t i = image * a->tokens; i < (image + 1) * a->tokens; ++i) {
            store_cells(&a->dx, i, 0, n, is_token(&a->key, i) ? row : NULL);
        }
    }
}

static weft_status cpu_token_mean_backward(weft_hal *hal, const hal_token_mean_backward_args *a)
{
    cpu_parts_left left;
    const cpu_rows_job job = {.run = mean_images_backward,
                              .args = a,
                              .rows = a->dx.cols > 0 ? a->dy.rows : 0,
                              .work = a->dx.rows * a->dx.cols,
                              .own_bytes = (size_t)a->dx.cols * sizeof(float)};
    return cpu_rows(hal, &job, &left);
}

void cpu_token_ops(hal_ops *ops)
{
    ops->attend_forward = cpu_attend_forward;
    ops->attend_backward = cpu_attend_backward;
    ops->lookup_forward = cpu_lookup_forward;
    ops->lookup_backward = cpu_lookup_backward;
    ops->token_mean_forward = cpu_token_mean_forward;
    ops->token_mean_backward = cpu_token_mean_backward;
}

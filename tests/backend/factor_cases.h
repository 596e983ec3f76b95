/*
 * backend/factor_cases.h: sums of products, factorisations and histograms on a backend against ref. Eigenvectors, which
 * have either sign, are checked by what they must fulfil.
 */
#pragma once

#include "backend/backend_env.h"

/* ---- sums of products ------------------------------------------------------------------------------------------- */

static operand packed_make(env *e, int64_t n, fill how)
{
    const int64_t cells = hal_triangle(n);
    return operand_of_type(e, env_param(e), 1, cells, cells > 0 ? cells : 1, how);
}

static void gram_compare(env *e, const operand *packed, int64_t rows)
{
    operand_compare_as(e, packed, (8.0 + 0.5 * (double)rows) * epsilon_of(env_param(e)));
}

/* All rows, rows of a list with one named twice, rows of a mask; into nothing and into what is there. */
static void case_gram(env *e)
{
    const hal_mat none = {.data = NULL};
    if (e->n > 700) {
        return;
    }
    operand x = operand_make(e, e->m, e->n, UNIT);
    int_operand index = int_operand_make(e, e->m / 2 + 1, WEFT_DTYPE_I32);
    int_operand mask = int_operand_make(e, e->m, WEFT_DTYPE_U8);
    for (int64_t i = 0; i < index.count && e->m > 0; ++i) {
        ((int32_t *)index.host)[i] = (int32_t)((i * 7 + 3) % e->m);
    }
    index.count = e->m > 0 ? index.count : 0;
    for (int64_t i = 0; i < e->m; ++i) {
        ((uint8_t *)mask.host)[i] = (uint8_t)(i % 3 == 1 ? 0 : i % 200 + 1);
    }
    int_operand_upload(e, &index);
    int_operand_upload(e, &mask);
    for (int form = 0; form < 3; ++form) {
        operand fresh = packed_make(e, e->n, NOTHING);
        operand added = packed_make(e, e->n, UNIT);
        RUN(e, gram, .x = ON(x), .index = form == 1 ? INT(index) : none, .mask = form == 2 ? INT(mask) : none,
            .packed = ON(fresh), .alpha = 1.0);
        RUN(e, gram, .x = ON(x), .index = form == 1 ? INT(index) : none, .mask = form == 2 ? INT(mask) : none,
            .packed = ON(added), .alpha = 0.25, .beta = -0.5);
        gram_compare(e, &fresh, e->m);
        gram_compare(e, &added, e->m);
    }
}

/* The shapes of images are the table's; the cases' own are too small to matter, so each comes once. */
static void case_patch_gram(env *e)
{
    static const hal_conv_shape shapes[] = {
        {.height = 8,
         .width = 7,
         .in = 5,
         .groups = 1,
         .kernel = {3, 3},
         .stride = {1, 1},
         .dilation = {1, 1},
         .pad = {{1, 1}, {1, 1}}},
        {.height = 9,
         .width = 6,
         .in = 3,
         .groups = 1,
         .kernel = {3, 2},
         .stride = {2, 1},
         .dilation = {2, 3},
         .pad = {{2, 0}, {0, 3}}},
        {.height = 4, .width = 4, .in = 33, .groups = 1, .kernel = {1, 1}, .stride = {2, 3}, .dilation = {1, 1}},
        {.height = 3,
         .width = 2,
         .in = 58,
         .groups = 1,
         .kernel = {3, 3},
         .stride = {1, 1},
         .dilation = {1, 1},
         .pad = {{1, 1}, {1, 1}}}};
    const hal_mat none = {.data = NULL};
    const int form = e->n == 3 ? 0 : e->n == 17 ? 1 : e->pad > 0 ? 2 : 3;
    if (e->m != 5 || e->n > 65 || (form == 3 && e->dtype == WEFT_DTYPE_F64)) {
        return;
    }
    const hal_conv_shape shape = shapes[form];
    const int64_t images = 3;
    operand x = operand_make(e, images * shape.height * shape.width, shape.in, UNIT);
    const int64_t patches = hal_patches(&shape, x.rows);
    int_operand index = int_operand_make(e, patches / 3 + 1, WEFT_DTYPE_I32);
    for (int64_t i = 0; i < index.count; ++i) {
        ((int32_t *)index.host)[i] = (int32_t)(i * 5 % patches);
    }
    int_operand_upload(e, &index);
    for (int subset = 0; subset < 2; ++subset) {
        hal_conv_shape s = shape;
        s.bias = subset == 1;
        operand fresh = packed_make(e, hal_patch_columns(&s), NOTHING);
        operand added = packed_make(e, hal_patch_columns(&s), UNIT);
        RUN(e, patch_gram, .x = ON(x), .index = subset == 1 ? INT(index) : none, .packed = ON(fresh), .shape = s,
            .alpha = 1.0);
        RUN(e, patch_gram, .x = ON(x), .index = subset == 1 ? INT(index) : none, .packed = ON(added), .shape = s,
            .alpha = 0.5, .beta = 1.0);
        gram_compare(e, &fresh, patches);
        gram_compare(e, &added, patches);
    }
}

static void case_unpack_triangle(env *e)
{
    if (e->n > 132) {
        return;
    }
    operand packed = packed_make(e, e->n, POSITIVE);
    operand plain = operand_make(e, e->n, e->n, NOTHING);
    operand damped = operand_make(e, e->n, e->n, NOTHING);
    RUN(e, unpack_triangle, .packed = ON(packed), .a = ON(plain));
    RUN(e, unpack_triangle, .packed = ON(packed), .a = ON(damped), .shift = 0.25, .relative = 0.5);
    operand_compare(e, &plain, 0.0);
    operand_compare(e, &damped, 4.0);
}

/* ---- factorisations --------------------------------------------------------------------------------------------- */

/* Matrices of the case: their number, and columns, or 0 where the case's shape adds nothing. */
static int64_t squares_of(const env *e)
{
    return 1 + e->m % 4;
}

static int64_t columns_of(const env *e)
{
    return e->n <= 132 && e->m <= 90 ? e->n : 0;
}

/* Symmetric matrices with eigenvalues of 1 and more, below each other; numbers above the diagonal that nobody should
 * read. */
static operand definite_make(env *e, int64_t count, int64_t n)
{
    operand a = operand_make(e, count * n, n, NOTHING);
    const size_t bytes = (size_t)(a.rows * a.ld) * weft_dtype_bytes(a.dtype);
    void *host = malloc(bytes + 1);
    double *b = malloc(((size_t)(n * n) + 1) * sizeof *b);
    assert_true(host != NULL && b != NULL);
    for (int64_t i = 0; i < a.rows * a.ld; ++i) {
        store_real(host, a.dtype, i, i % a.ld < n ? NAN : PADDING);
    }
    for (int64_t matrix = 0; matrix < count; ++matrix) {
        for (int64_t i = 0; i < n * n; ++i) {
            b[i] = fill_value(e, UNIT);
        }
        for (int64_t i = 0; i < n; ++i) {
            for (int64_t j = 0; j <= i; ++j) {
                double sum = i == j ? 1.0 : 0.0;
                for (int64_t k = 0; k < n; ++k) {
                    sum += b[i * n + k] * b[j * n + k] / (double)n;
                }
                store_real(host, a.dtype, (matrix * n + i) * a.ld + j, sum);
            }
        }
    }
    for (int i = 0; i < e->backends; ++i) {
        ASSERT_OK(e->hal[i]->mem.upload(e->hal[i], a.dev[i], host, bytes));
    }
    free(host);
    free(b);
    return a;
}

static int_operand info_make(env *e, int64_t count)
{
    int_operand info = int_operand_make(e, count, WEFT_DTYPE_I32);
    memset(info.host, 0x55, (size_t)info.bytes);
    int_operand_upload(e, &info);
    return info;
}

static void info_is(const env *e, const int_operand *info, int32_t wanted)
{
    int32_t *host = download(e, 0, info->dev[0], (size_t)info->bytes);
    for (int64_t i = 0; i < info->count; ++i) {
        assert_int_equal(host[i], wanted);
    }
    free(host);
    int_operand_compare(e, info);
}

/* Element (i, j) of a matrix on the host. */
static double cell_of(const operand *x, const void *host, int64_t i, int64_t j)
{
    return load_real(host, x->dtype, i * x->ld + j);
}

static void *operand_download(const env *e, const operand *x, int b)
{
    return download(e, b, x->dev[b], (size_t)(x->rows * x->ld) * weft_dtype_bytes(x->dtype));
}

/* Lower triangles of matrices of n rows. */
static void lower_compare(const env *e, const operand *x, double tolerance)
{
    void *wanted = operand_download(e, x, 0);
    for (int b = 1; b < e->backends; ++b) {
        void *given = operand_download(e, x, b);
        for (int64_t i = 0; i < x->rows; ++i) {
            for (int64_t j = 0; j <= i % x->cols; ++j) {
                compare_values(e, b, "element", i, j, cell_of(x, given, i, j), cell_of(x, wanted, i, j), tolerance);
            }
        }
        free(given);
    }
    free(wanted);
}

static void case_cholesky(env *e)
{
    const int64_t n = columns_of(e);
    const int64_t count = squares_of(e);
    if (n == 0) {
        return;
    }
    operand a = definite_make(e, count, n);
    operand x = operand_make(e, count * 3, n, UNIT);
    int_operand info = info_make(e, count);
    const double tolerance = (16.0 + (double)n) * epsilon_of(e->dtype);
    RUN(e, potrf, .a = ON(a), .info = INT(info));
    info_is(e, &info, 0);
    lower_compare(e, &a, tolerance);
    RUN(e, potrs, .a = ON(a), .x = ON(x));
    operand_compare_as(e, &x, 4.0 * tolerance);
    RUN(e, potri, .a = ON(a));
    operand_compare_as(e, &a, 4.0 * tolerance);
}

/* Matrices that have no Cholesky factor: a pivot that is negative, zero or no number, in the row that info names. */
static void case_indefinite(env *e)
{
    static const double bad[] = {-3.0, 0.0, NAN, INFINITY};
    const int64_t n = columns_of(e);
    const int64_t count = squares_of(e);
    for (size_t i = 0; n > 0 && i < sizeof bad / sizeof *bad; ++i) {
        const int64_t row = n / 2;
        operand a = definite_make(e, count, n);
        int_operand info = info_make(e, count);
        const size_t size = weft_dtype_bytes(e->dtype);
        double cell[1];
        store_real(cell, e->dtype, 0, bad[i]);
        for (int b = 0; b < e->backends; ++b) {
            for (int64_t matrix = 0; matrix < count; ++matrix) {
                char *at = (char *)a.dev[b] + (size_t)((matrix * n + row) * a.ld + row) * size;
                ASSERT_OK(e->hal[b]->mem.upload(e->hal[b], at, cell, size));
            }
        }
        RUN(e, potrf, .a = ON(a), .info = INT(info));
        info_is(e, &info, (int32_t)(row + 1));
    }
}

/* A v = value v, and vectors of length 1 that are orthogonal. */
static void vectors_fit(const env *e, int b, const operand *a, const void *matrix, const operand *vectors,
                        const void *v, const operand *values, const void *d, double tolerance)
{
    const int64_t n = a->cols;
    for (int64_t row = 0; row < a->rows; ++row) {
        const int64_t first = row / n * n; /* of the matrix */
        for (int64_t i = 0; i < n; ++i) {
            double product = 0.0;
            double along = 0.0;
            for (int64_t k = 0; k < n; ++k) {
                const int64_t upper = i > k ? i : k;
                product += cell_of(a, matrix, first + upper, i + k - upper) * cell_of(vectors, v, row, k);
                along += cell_of(vectors, v, row, k) * cell_of(vectors, v, first + i, k);
            }
            const double wanted = cell_of(values, d, row / n, row % n) * cell_of(vectors, v, row, i);
            compare_values(e, b, "A v", row, i, product, wanted, tolerance);
            compare_values(e, b, "v . w", row, i, along, first + i == row ? 1.0 : 0.0, tolerance);
        }
    }
}

static void case_eigen(env *e)
{
    const int64_t n = columns_of(e);
    const int64_t count = squares_of(e);
    if (n == 0) {
        return;
    }
    operand a = definite_make(e, count, n);
    operand vectors = operand_make(e, count * n, n, NOTHING);
    operand values = operand_make(e, count, n, NOTHING);
    int_operand info = info_make(e, count);
    const double tolerance = (32.0 + 2.0 * (double)n) * epsilon_of(e->dtype);
    void *matrix = operand_download(e, &a, 0);
    RUN(e, syevd, .a = ON(a), .vectors = ON(vectors), .values = ON(values), .info = INT(info));
    info_is(e, &info, 0);
    operand_compare_as(e, &values, tolerance);
    for (int b = 0; b < e->backends; ++b) {
        void *v = operand_download(e, &vectors, b);
        void *d = operand_download(e, &values, b);
        vectors_fit(e, b, &a, matrix, &vectors, v, &values, d, tolerance);
        free(v);
        free(d);
    }
    free(matrix);
}

static void case_eigen_refused(env *e)
{
    const int64_t n = columns_of(e);
    const size_t size = weft_dtype_bytes(e->dtype);
    double cell[1];
    if (n == 0) {
        return;
    }
    operand a = definite_make(e, 1, n);
    operand vectors = operand_make(e, n, n, NOTHING);
    operand values = operand_make(e, 1, n, NOTHING);
    int_operand info = info_make(e, 1);
    store_real(cell, e->dtype, 0, INFINITY);
    for (int b = 0; b < e->backends; ++b) {
        ASSERT_OK(e->hal[b]->mem.upload(e->hal[b], (char *)a.dev[b] + (size_t)(n / 3 * a.ld) * size, cell, size));
    }
    RUN(e, syevd, .a = ON(a), .vectors = ON(vectors), .values = ON(values), .info = INT(info));
    info_is(e, &info, (int32_t)(n / 3 + 1));
}

static void case_qr(env *e)
{
    const int64_t n = columns_of(e);
    const int64_t count = squares_of(e);
    if (n == 0) {
        return;
    }
    operand a = definite_make(e, count, n); /* its upper triangle has no numbers yet */
    operand r = operand_make(e, count * n, n, NOTHING);
    int_operand info = info_make(e, count);
    RUN(e, potrf, .a = ON(a), .info = INT(info));
    RUN(e, potri, .a = ON(a)); /* now it has */
    RUN(e, geqrf, .a = ON(a), .r = ON(r), .info = INT(info));
    info_is(e, &info, 0);
    operand_compare_as(e, &a, (64.0 + 8.0 * (double)n) * epsilon_of(e->dtype));
    operand_compare_as(e, &r, (64.0 + 8.0 * (double)n) * epsilon_of(e->dtype));
}

/* Tall matrices, and a column that is the sum of two others. */
static void case_qr_tall(env *e)
{
    const int64_t n = e->n < 33 ? e->n : 33;
    const int64_t m = 4 * n + 3;
    if (columns_of(e) == 0) {
        return;
    }
    operand a = operand_make(e, 2 * m, n, UNIT);
    operand r = operand_make(e, 2 * n, n, NOTHING);
    int_operand info = info_make(e, 2);
    RUN(e, geqrf, .a = ON(a), .r = ON(r), .info = INT(info));
    info_is(e, &info, 0);
    operand_compare(e, &a, 64.0 + 8.0 * (double)n);
    operand_compare(e, &r, 64.0 + 8.0 * (double)n);
    if (n < 3) {
        return;
    }
    operand b = operand_make(e, m, n, COARSE);
    void *host = operand_download(e, &b, 0);
    for (int64_t i = 0; i < m; ++i) {
        store_real(host, e->dtype, i * b.ld + n / 2 + 1, cell_of(&b, host, i, 0) + cell_of(&b, host, i, n / 2));
    }
    for (int i = 0; i < e->backends; ++i) {
        ASSERT_OK(e->hal[i]->mem.upload(e->hal[i], b.dev[i], host, (size_t)(m * b.ld) * weft_dtype_bytes(e->dtype)));
    }
    free(host);
    operand s = operand_make(e, n, n, NOTHING);
    int_operand told = info_make(e, 1);
    RUN(e, geqrf, .a = ON(b), .r = ON(s), .info = INT(told));
    info_is(e, &told, (int32_t)(n / 2 + 2));
}

/* ---- histograms ------------------------------------------------------------------------------------------------- */

static hal_mat sums_on(const int_operand *x, int64_t cols, int b)
{
    return hal_mat_of(x->dev[b], WEFT_DTYPE_I64, x->count / cols, cols, cols);
}

/* Bins of a feature that has 16 bits for them. */
#define WIDE_CELLS(f) (1 + (int32_t)(f) % 5 * 307)

static void case_histogram(env *e)
{
    if (e->dtype != WEFT_DTYPE_F32 || e->n > 700) {
        return;
    }
    const int64_t ld = e->n + e->pad > 0 ? e->n + e->pad : 1;
    int_operand bins = int_operand_make(e, e->m * ld, WEFT_DTYPE_U8);
    int_operand wide = int_operand_make(e, e->m * ld, WEFT_DTYPE_I16);
    int_operand first = int_operand_make(e, e->n + 1, WEFT_DTYPE_I32);
    int_operand pair = int_operand_make(e, e->m, WEFT_DTYPE_I32);
    int_operand index = int_operand_make(e, e->m > 0 ? e->m / 2 + 1 : 0, WEFT_DTYPE_I32);
    for (int64_t f = 0; f < e->n; ++f) {
        ((int32_t *)first.host)[f + 1] = ((int32_t *)first.host)[f] + WIDE_CELLS(f);
    }
    for (int64_t i = 0; i < bins.count; ++i) {
        ((uint8_t *)bins.host)[i] = (uint8_t)(env_random(e) * 256.0);
        ((uint16_t *)wide.host)[i] = i % ld < e->n ? (uint16_t)(env_random(e) * WIDE_CELLS(i % ld)) : UINT16_MAX;
    }
    for (int64_t i = 0; i < e->m; ++i) {
        const bool most = i % 3 == 0; /* of the largest that there are */
        const int16_t gradient = (int16_t)(most ? INT16_MIN : (int)(env_random(e) * 65535.0) - 32767);
        ((int32_t *)pair.host)[i] = hal_pair_of(gradient, most ? UINT16_MAX : (uint16_t)(env_random(e) * 65535.0));
    }
    for (int64_t i = 0; i < index.count; ++i) {
        ((int32_t *)index.host)[i] = (int32_t)(i * 11 % e->m);
    }
    int_operand_upload(e, &bins);
    int_operand_upload(e, &wide);
    int_operand_upload(e, &first);
    int_operand_upload(e, &pair);
    int_operand_upload(e, &index);
    for (int form = 0; form < 8; ++form) {
        const int64_t cols = 1 + form % 2;
        const bool is_wide = form / 4 == 1;
        const int_operand *of = is_wide ? &wide : &bins;
        const int64_t cells = is_wide ? ((int32_t *)first.host)[e->n] : HAL_BINS * e->n;
        int_operand sums = int_operand_make(e, cells * cols, WEFT_DTYPE_I64);
        for (int64_t i = 0; i < sums.count; ++i) {
            ((int64_t *)sums.host)[i] = i * 1000003;
        }
        int_operand_upload(e, &sums);
        RUN(e, histogram, .bins = hal_mat_of(of->dev[run_backend], of->dtype, e->m, e->n, ld),
            .first = is_wide ? INT(first) : (hal_mat){.data = NULL}, .pair = INT(pair),
            .index = form / 2 % 2 == 1 ? INT(index) : (hal_mat){.data = NULL},
            .sums = sums_on(&sums, cols, run_backend), .add = form / 2 % 2 == 1);
        int_operand_compare(e, &sums);
    }
}

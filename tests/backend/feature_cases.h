/*
 * backend/feature_cases.h: products with sparse features: the backend under test beside ref's operation of that name,
 * and beside ref's dropout and matrix product of the same features held whole.
 */
#pragma once

#include "backend/backend_env.h"
#include "base/philox.h"

/* A matrix of `rows` x `cols` as CSR, of which about one element in `one_in` is not 0, or the transpose. */
typedef struct feature_csr {
    int_operand offset, column, value;
} feature_csr;

/* One row and one column have many more than others. */
static float feature_at(int64_t row, int64_t col, int64_t one_in)
{
    const uint32_t mixed = (uint32_t)(row * 2654435761LL + col * 40503LL) >> 3;
    const bool often = row == 6 || col == 2;
    return row % 5 == 3 || (!often && mixed % (uint32_t)one_in != 0) ? 0.0F : (float)(mixed % 17U) / 8.0F - 1.0625F;
}

static feature_csr feature_csr_make(env *e, int64_t rows, int64_t cols, int64_t one_in, bool transposed)
{
    const int64_t out = transposed ? cols : rows;
    const int64_t in = transposed ? rows : cols;
    feature_csr csr = {.offset = int_operand_make(e, out + 1, WEFT_DTYPE_I64)};
    int64_t *offset = csr.offset.host;
    for (int pass = 0; pass < 2; ++pass) {
        if (pass == 1) {
            csr.column = int_operand_make(e, offset[out], WEFT_DTYPE_I32);
            csr.value = int_operand_make(e, offset[out], WEFT_DTYPE_F32);
        }
        int64_t at = 0;
        for (int64_t r = 0; r < out; ++r) {
            for (int64_t c = 0; c < in; ++c) {
                const float x = transposed ? feature_at(c, r, one_in) : feature_at(r, c, one_in);
                if (x != 0.0F && pass == 1) {
                    ((int32_t *)csr.column.host)[at] = (int32_t)c;
                    ((float *)csr.value.host)[at] = x;
                }
                at += x != 0.0F;
            }
            offset[r + 1] = at;
        }
    }
    int_operand_upload(e, &csr.offset);
    int_operand_upload(e, &csr.column);
    int_operand_upload(e, &csr.value);
    return csr;
}

/* y = beta y + F x (or F^T x), on ref with F held whole where `whole`. */
static void feature_variant(env *e, float drop, bool transposed, bool whole, double beta)
{
    const int64_t rows = e->m;
    const int64_t cols = e->m > 400 ? 300 : 3 * e->m + 1;
    const int64_t one_in = e->m > 100 ? 3 : 2; /* rows of more entries than a kernel masks at once */
    feature_csr csr = feature_csr_make(e, rows, cols, one_in, transposed);
    operand dense = operand_of_type(e, e->dtype, rows, cols, cols, UNIT);
    operand masked = operand_of_type(e, e->dtype, rows, cols, cols, NOTHING);
    for (int64_t i = 0; i < rows * cols; ++i) {
        store_real(dense.dev[0], e->dtype, i, (double)feature_at(i / cols, i % cols, one_in)); /* of ref: the host's */
    }
    int_operand id = int_operand_make(e, rows, WEFT_DTYPE_I64);
    for (int64_t r = 0; r < rows; ++r) {
        ((int64_t *)id.host)[r] = ((int64_t)5 << 33) + 7 * r;
    }
    int_operand_upload(e, &id);
    operand x = operand_own(e, !transposed, transposed ? rows : cols, e->n, UNIT);
    operand y = operand_own(e, !transposed, transposed ? cols : rows, e->n, beta == 0.0 ? NOTHING : UNIT);
    for (int b = 0; b < e->backends; ++b) {
        const hal_dropout dropout = {.probability = drop,
                                     .seed = 98765432109ULL,
                                     .purpose = WEFT_RNG_DROPOUT,
                                     .epoch = 4,
                                     .row_id = ints_on(&id, b)};
        if (b == 0 && whole) {
            RUN_ON(e, b, act_forward, .x = mat_on(&dense, b), .y = mat_on(&masked, b), .dropout = dropout);
            RUN_ON(e, b, gemm, .a = mat_on(&masked, b), .b = mat_on(&x, b), .c = mat_on(&y, b), .trans_a = transposed,
                   .alpha = 1.0, .beta = beta, .accumulate = WEFT_DTYPE_F64);
            continue;
        }
        RUN_ON(e, b, feature_product, .x = mat_on(&x, b), .offset = ints_on(&csr.offset, b),
               .column = ints_on(&csr.column, b), .value = ints_on(&csr.value, b), .y = mat_on(&y, b), .beta = beta,
               .transposed = transposed, .dropout = dropout);
    }
    operand_compare(e, &y, 256.0);
}

/* A sum over thousands of rows is as exact as a short one. */
static void feature_long_sum(env *e)
{
    enum { ROWS = 5000 };
    feature_csr csr = {.offset = int_operand_make(e, 2, WEFT_DTYPE_I64),
                       .column = int_operand_make(e, ROWS, WEFT_DTYPE_I32),
                       .value = int_operand_make(e, ROWS, WEFT_DTYPE_F32)};
    ((int64_t *)csr.offset.host)[0] = 0;
    ((int64_t *)csr.offset.host)[1] = ROWS;
    for (int32_t i = 0; i < ROWS; ++i) {
        ((int32_t *)csr.column.host)[i] = i;
        ((float *)csr.value.host)[i] = 0.1F;
    }
    int_operand_upload(e, &csr.offset);
    int_operand_upload(e, &csr.column);
    int_operand_upload(e, &csr.value);
    operand x = operand_own(e, false, ROWS, e->n, POSITIVE);
    operand y = operand_own(e, false, 1, e->n, NOTHING);
    for (int b = 0; b < e->backends; ++b) {
        RUN_ON(e, b, feature_product, .x = mat_on(&x, b), .offset = ints_on(&csr.offset, b),
               .column = ints_on(&csr.column, b), .value = ints_on(&csr.value, b), .y = mat_on(&y, b),
               .transposed = true);
    }
    operand_compare(e, &y, 4.0);
}

static void case_features(env *e)
{
    if (e->m == 1 && e->dtype != WEFT_DTYPE_F64) { /* ref adds up doubles in order itself */
        feature_long_sum(e);
    }
    if (e->m * e->n > 6000) { /* ref draws a mask for every column of the result */
        return;
    }
    const bool masks_are_rounded = e->dtype == WEFT_DTYPE_BF16; /* where features are held whole */
    for (int transposed = 0; transposed < 2; ++transposed) {
        feature_variant(e, 0.0F, transposed, true, 0.0);
        feature_variant(e, 0.4F, transposed, !masks_are_rounded, 1.0);
        feature_variant(e, 0.4F, transposed, false, 0.0);
    }
}

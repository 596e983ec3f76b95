/*
 * tensor/tensor_features.h: a constant matrix that is mostly zeros, on a backend, in both directions.
 *
 * Held are the numbers alone, as CSR arrays of the rows and of the columns: 16 bytes each and 8 for every row and
 * column, where the whole matrix has 4 for every element. Products walk the numbers, and dropout masks them as they are
 * read: the bits are those of the mask over the whole matrix (hal/ops.def, feature_product). Not collective.
 */
#pragma once

#include "tensor/tensor.h"

typedef struct tensor_features {
    weft_hal *hal;
    int64_t rows, cols, entries;
    int64_t *offset[2]; /* device: of rows, of columns */
    int32_t *column[2];
    float *value[2];
} tensor_features;

/* Copies host CSR arrays: offset[rows + 1] from 0, column[entries] ascending in a row, value[entries]. tag: of the
 * device memory. Zeroed *features, also after a failure, may be destroyed. WEFT_ERR_RESOURCE: no room. */
weft_status tensor_features_create(weft_hal *hal, const hal_csr *csr, const float *value, weft_mem_tag *tag,
                                   tensor_features *features);
void tensor_features_destroy(tensor_features *features);
/* Bytes of a matrix with so many numbers. */
uint64_t tensor_features_bytes(double rows, double cols, double entries);

/* y[rows, n] = beta * y + F w; w [cols, n]. dropout: of F's elements; NULL: none. */
weft_status tensor_features_product(const tensor_features *features, const weft_tensor *w, double beta,
                                    const hal_dropout *dropout, weft_tensor *y);
/* y[cols, n] = F^T x, with the same mask; x [rows, n]. */
weft_status tensor_features_gradient(const tensor_features *features, const weft_tensor *x, const hal_dropout *dropout,
                                     weft_tensor *y);

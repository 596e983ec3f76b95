/*
 * hal/cpu/gemm/gemm_tall.h: products of graph networks, of matrices of bfloat16 with as many rows as vertices, by the
 * library's on chunks of these rows: it copies a whole tall matrix before it multiplies, and takes three times as long.
 *
 *   by rows       C[m, n] = A op(B)    a chunk of A and of C at a time; B of float32, the weights, is rounded to
 *                                      bfloat16 first, as the processor multiplies that alone
 *   by reduction  C[m, n] = A^T B      C, or C^T if that is what the library copies less for, += a chunk of both
 *
 * Rates: docs/notes/products.md.
 */
#pragma once

#include "hal/cpu/library/onednn.h"

/* Returns true if cpu_gemm_tall multiplies this and is the fastest way: a rule of shapes, so that the bits of a product
 * are the same in every run. */
bool cpu_gemm_is_tall(const weft_hal *hal, const cpu_product *product);
weft_status cpu_gemm_tall(weft_hal *hal, const cpu_product *product);

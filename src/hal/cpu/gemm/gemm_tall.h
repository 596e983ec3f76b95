/*
 * hal/cpu/gemm/gemm_tall.h: products of graph networks, of matrices of bfloat16 with as many rows as vertices. What is
 * float32 among their operands, the weights or the gradient of logits, is rounded to bfloat16, as the processor
 * multiplies that alone.
 *
 * Where the processor has dot products of pairs and no tiles, narrow ones are ours (gemm_pair_rows.h): the tall matrix
 * is read once, where it lies. All others are the library's on chunks of these rows: it copies a whole tall matrix
 * before it multiplies, and takes three times as long. Each thread of the backend takes chunks of its own, by a library
 * of one thread: of so little work the library's own threads made up to a fifth of the rate.
 *
 *   by rows       C[m, n] = A op(B)    a chunk of A and of C at a time
 *   by reduction  C[m, n] = A^T B      sums of C, or of C^T if that is what the library copies less for, one for each
 *                                      thread, which are added in the order of the threads
 *
 * Rates: docs/notes/products.md.
 */
#pragma once

#include "hal/cpu/library/onednn.h"

/* Returns true if cpu_gemm_tall multiplies this and is the fastest way: a rule of shapes, so that the bits of a product
 * are the same in every run. */
bool cpu_gemm_is_tall(const weft_hal *hal, const cpu_product *product);
weft_status cpu_gemm_tall(weft_hal *hal, const cpu_product *product);

/*
 * hal/cpu/gemm/gemm_pair_rows.h: products of tall matrices of bfloat16 by dot products of pairs, where the processor
 * has them and no tiles (AMX): the tall matrix is read once, where it lies (gemm_rows_avx512bf16.c).
 *
 *   by rows    C[m, n] = A op(B)   what is float32, the weights or the gradient of logits, is rounded to bfloat16
 *   by sums    C[m, n] = A^T B     of at most PAIR_SUM_NARROW rows or columns of C; other sums: cpu_gemm_pairs.c
 *
 * Both are for tall products alone (gemm_tall.h). Rates: docs/notes/products.md.
 */
#pragma once

#include "hal/cpu/library/onednn.h"

enum { PAIR_SUM_NARROW = 64 };

bool cpu_gemm_has_pair_rows(const weft_hal *hal, const cpu_product *product);
weft_status cpu_gemm_pair_rows(weft_hal *hal, const cpu_product *product);
bool cpu_gemm_has_pair_sums(const weft_hal *hal, const cpu_product *product);
weft_status cpu_gemm_pair_sums(weft_hal *hal, const cpu_product *product);

/*
 * hal/share.h: what the rows of a matrix of zeros and ones have in common, found once on the host for many runs on any
 * backend.
 *
 *      partial sums    level 1 reads columns of the matrix, level 2 those and partial sums of level 1, ...
 *      rows            read columns of the matrix and partial sums, and subtract columns of which these have too many
 *
 * Without signs nothing is subtracted: every entry of the matrix is on one path, so that largest elements, and how
 * often they are there, follow from partial maxima as sums do from partial sums.
 *
 * Any thread may call these functions; none is collective.
 */
#pragma once

#include "hal/hal.h"

/* The share of reads that a first pass saves, by a sample, from which on it is worth looking for the rest. */
#define HAL_SHARE_LEAST 0.4
/* A search leaves (1 - that share)^HAL_SHARE_PASSES of the reads. */
#define HAL_SHARE_PASSES 1.6

/* Entries behind the last one, which kernels may read. */
enum { HAL_SHARED_SPARE = 48 };

/* Rows: first the partial sums, level by level, then the rows of the matrix. Columns: first those of the matrix, then
 * the partial sums. A row is the sum of its plus columns less its minus columns. */
typedef struct hal_shared_rows {
    int64_t targets, sources, sums;
    int levels;
    int64_t *level;        /* [levels + 1] first partial sum of each */
    int64_t *plus_start;   /* [sums + targets + 1] */
    int64_t *minus_start;  /* [sums + targets + 1] */
    int32_t *plus, *minus; /* plus has room behind its entries for as many as minus has, and HAL_SHARED_SPARE more */
} hal_shared_rows;

/* Finds them, or reads them where an earlier job left them. csr: without values. signs: partial sums may have columns
 * too many. keep: folder for the next job on the same matrix, or NULL. [out] rows: for hal_shared_rows_free; zeros on
 * failure. WEFT_ERR_RESOURCE; WEFT_ERR_UNSUPPORTED: the build leaves them out. */
weft_status hal_share_find(const hal_csr *csr, bool signs, int threads, const char *keep, hal_shared_rows *rows);
/* [out] share: of the matrix's reads, the part that a first pass saves, by a sample; 0 where the build leaves them out.
 * It takes milliseconds for a few million entries. */
weft_status hal_share_sample(const hal_csr *csr, bool signs, int threads, double *share);
void hal_shared_rows_free(hal_shared_rows *rows); /* zeros are fine */

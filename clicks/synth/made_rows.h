/* clicks/synth/made_rows.h: the making of rows (clicks/synth/click_teacher.h), by instruction set. */
#pragma once

#include "clicks/synth/click_teacher.h"

/* World of a row, beside its number: rows that data have, and those by which c is found. */
enum { MADE_DATA, MADE_SAMPLE };

typedef void made_rows_kernel(const click_teacher *teacher, uint32_t world, int64_t row, click_made_row *made);
made_rows_kernel made_row_base, made_row_avx2, made_row_avx512;

/* Returns the kernel that this processor runs fastest; all give the same bits. */
made_rows_kernel *made_rows_get(void);

/* Exponent s of P(k) proportional to k^-s is 1 + 1 / MADE_ROOT. */
enum { MADE_ROOT = 20 };

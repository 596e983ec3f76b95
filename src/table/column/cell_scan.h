/*
 * table/column/cell_scan.h: kernels that read many cells of separated text at once: what each cell is, and its number.
 *
 * A cell of up to 16 bytes is one vector that ends where the cell ends. Digits, point and sign are bit masks, the
 * point is shuffled away, and products of neighbours add the digits up. No branch depends on the length of a number,
 * because lengths cannot be predicted. An integer below 2^53 divided by a power of ten rounds correctly
 * (table/column/decimal.h). The caller reads all other cells: long ones, and those with exponents, plus signs, blanks
 * or quotes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Bytes of a cell that a kernel looks into; cells that it finishes together. */
enum { CELL_SHORT = 16, CELL_GROUP = 16 };

/* Bits of a cell. An empty cell has the first three as well, because it fits columns of every kind: it is missing. */
enum {
    CELL_NUMBER = 1, /* a short number of at most 15 digits; its value is exact or correctly rounded */
    CELL_WHOLE = 2,  /* a short number without a point */
    CELL_BARE = 4,   /* 1 to 16 bytes, none of them a quote, a blank or a control character */
    CELL_EMPTY = 8   /* no byte */
};

typedef struct cell_marks {
    char point, quote; /* decimal point; quote '\0': quotes are characters like others */
} cell_marks;

/* Reads cells 0 .. count - 1. Cell i is text[before[i] + 1 .. end[i]); before[i] may be negative: the cell begins
 * before the text. DECIMAL_PAD bytes before the first cell must be readable. [out] value: the number, or NaN if the
 * cell is none. [out] found: bits of each cell. The arrays have room for `count` cells, rounded up to a multiple of
 * CELL_GROUP; entries of `end` behind `count` are places of the text too. */
typedef void (*cell_scan_fn)(const cell_marks *marks, const char *text, const int32_t *before, const int32_t *end,
                             size_t count, double *value, uint8_t *found);

void cell_scan_base(const cell_marks *marks, const char *text, const int32_t *before, const int32_t *end, size_t count,
                    double *value, uint8_t *found);
void cell_scan_avx2(const cell_marks *marks, const char *text, const int32_t *before, const int32_t *end, size_t count,
                    double *value, uint8_t *found);
void cell_scan_avx512(const cell_marks *marks, const char *text, const int32_t *before, const int32_t *end,
                      size_t count, double *value, uint8_t *found);
/* The kernel for this processor. */
cell_scan_fn cell_scan_best(void);

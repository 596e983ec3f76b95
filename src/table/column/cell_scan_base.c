/* table/column/cell_scan_base.c: the kernel of table/column/cell_scan.h for every x86-64, and the choice of one. */
#include "table/column/cell_scan.h"

#include <math.h>

#include "base/isa.h"
#include "table/column/decimal.h"

enum { DIGITS_MOST = 15 };

static int digits_of(const char *text, size_t bytes)
{
    int digits = 0;
    for (size_t i = 0; i < bytes; i++) {
        digits += text[i] >= '0' && text[i] <= '9';
    }
    return digits;
}

static bool is_bare(const char *text, size_t bytes, char quote)
{
    for (size_t i = 0; i < bytes; i++) {
        if ((uint8_t)text[i] <= ' ' || text[i] == quote) {
            return false;
        }
    }
    return true;
}

void cell_scan_base(const cell_marks *marks, const char *text, const int32_t *before, const int32_t *end, size_t count,
                    double *value, uint8_t *found)
{
    for (size_t i = 0; i < count; i++) {
        const char *begin = text + before[i] + 1;
        const size_t bytes = (size_t)(end[i] - before[i] - 1);
        const bool empty = bytes == 0;
        bool whole = false;
        const bool number = bytes - 1 < CELL_SHORT && digits_of(begin, bytes) <= DIGITS_MOST &&
                            decimal_read_short(begin, bytes, marks->point, &value[i], &whole);
        const bool bare = bytes - 1 < CELL_SHORT && is_bare(begin, bytes, marks->quote);
        value[i] = number ? value[i] : NAN;
        found[i] = (uint8_t)((number || empty) * CELL_NUMBER + ((number && whole) || empty) * CELL_WHOLE +
                             (bare || empty) * CELL_BARE + empty * CELL_EMPTY);
    }
}

cell_scan_fn cell_scan_best(void)
{
    const hal_isa isa = hal_isa_best();
    return isa == HAL_ISA_AVX512 ? cell_scan_avx512 : isa == HAL_ISA_AVX2 ? cell_scan_avx2 : cell_scan_base;
}

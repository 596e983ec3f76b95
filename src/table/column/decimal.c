/* table/column/decimal.c: numbers that table/column/decimal.h does not read at once: exponents, many digits, plus
 * signs, and what is no number. */
#include "table/column/decimal.h"

#include "io/text/text_source.h"

enum { DECIMAL_MOST = 400 }; /* bytes of a number */

bool decimal_read_slowly(const char *text, size_t bytes, char point, double *value, bool *whole)
{
    char copy[DECIMAL_MOST + TEXT_PAD];
    if (bytes == 0 || bytes > DECIMAL_MOST) {
        return false;
    }
    memcpy(copy, text, bytes);
    memset(copy + bytes, 0, TEXT_PAD);
    *whole = true;
    for (size_t i = 0; i < bytes; i++) {
        if (point != '.' && copy[i] == '.') {
            return false; /* a point where commas are decimal: 1.234,5 */
        }
        copy[i] = copy[i] == point ? '.' : copy[i];
        *whole = *whole && ((copy[i] >= '0' && copy[i] <= '9') || (i == 0 && (copy[i] == '-' || copy[i] == '+')));
    }
    const char *at = copy;
    return text_scan_real(&at, false, value) && at == copy + bytes;
}

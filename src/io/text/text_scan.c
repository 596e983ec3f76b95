/*
 * io/text/text_scan.c: lines, fields, and numbers in the C locale; see io/text/text_source.h.
 *
 * Reals: a decimal of at most 19 significant digits is an integer times a power of ten. Where the integer is below 2^53
 * and the power within 10^22, both are exact doubles and one multiplication or division rounds correctly (Clinger, How
 * to Read Floating Point Numbers Accurately, PLDI 1990). Everything else goes to the slower base/number.h. Fortran
 * writes the exponent of a double after a D: 1.5D+00 is 1.5.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "io/text/text_source.h"

enum { EXACT_POWER = 22, EXACT_DIGITS = 19, EXPONENT_MAX = 9999, SHOWN = 40, FORTRAN_MAX = 400 };

/* In bytes of 64 lanes, added up before one can overflow: the compiler turns this into vectors of bytes. */
int64_t text_count_lines(const char *text, size_t bytes)
{
    enum { LANES = 64, ROUNDS = 255 };
    int64_t lines = 0;
    size_t at = 0;
    while (bytes - at >= LANES) {
        uint8_t lane[LANES] = {0};
        for (int round = 0; round < ROUNDS && bytes - at >= LANES; round++, at += LANES) {
            for (int i = 0; i < LANES; i++) {
                lane[i] = (uint8_t)(lane[i] + (text[at + (size_t)i] == '\n'));
            }
        }
        for (int i = 0; i < LANES; i++) {
            lines += lane[i];
        }
    }
    for (; at < bytes; at++) {
        lines += text[at] == '\n';
    }
    return lines;
}

bool text_scan_int(const char **at, int64_t *value)
{
    const char *p = *at;
    bool negative = *p == '-';
    p += *p == '-' || *p == '+';
    int64_t number = 0;
    const char *first = p;
    for (; *p >= '0' && *p <= '9'; p++) {
        /* Built on the negative side, which reaches one further. */
        if (__builtin_mul_overflow(number, (int64_t)10, &number) ||
            __builtin_sub_overflow(number, (int64_t)(*p - '0'), &number)) {
            return false;
        }
    }
    if (p == first || (!negative && number == INT64_MIN)) {
        return false;
    }
    *value = negative ? number : -number;
    *at = p;
    return true;
}

/* Digits into an integer; those beyond 19 significant ones clear *exact. */
static const char *take_digits(const char *p, uint64_t *mantissa, int *digits, bool *exact)
{
    for (; *p >= '0' && *p <= '9'; p++) {
        if (*digits >= EXACT_DIGITS) {
            *exact = false;
            continue;
        }
        *mantissa = 10 * *mantissa + (uint64_t)(*p - '0');
        *digits += *mantissa != 0;
    }
    return p;
}

static bool begins_exponent(char c)
{
    return c == 'e' || c == 'E' || c == 'd' || c == 'D';
}

static const char *take_exponent(const char *p, int *exponent)
{
    if (!begins_exponent(*p)) {
        return p;
    }
    const char *q = p + 1 + (p[1] == '+' || p[1] == '-');
    if (*q < '0' || *q > '9') {
        return p;
    }
    int power = 0;
    for (; *q >= '0' && *q <= '9'; q++) {
        power = power < EXPONENT_MAX ? 10 * power + (*q - '0') : power;
    }
    *exponent += p[1] == '-' ? -power : power;
    return q;
}

/* The number at *at that ends at `end`, by base/number.h, which knows no D. */
static bool scan_slowly(const char **at, const char *end, double *value)
{
    char text[FORTRAN_MAX];
    const size_t length = (size_t)(end - *at);
    const char *d = memchr(*at, 'd', length);
    d = d == NULL ? memchr(*at, 'D', length) : d;
    if (d == NULL) {
        return number_scan_real(*at, at, value);
    }
    if (length >= sizeof text) {
        return false;
    }
    memcpy(text, *at, length);
    text[d - *at] = 'e';
    text[length] = '\0';
    if (!number_parse_real(text, value)) {
        return false;
    }
    *at = end;
    return true;
}

bool text_scan_real(const char **at, bool nan_allowed, double *value)
{
    static const double powers[EXACT_POWER + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *p = *at + (**at == '-' || **at == '+');
    if (nan_allowed && strncasecmp(p, "nan", 3) == 0) {
        *value = (double)NAN;
        *at = p + 3;
        return true;
    }
    uint64_t mantissa = 0;
    int digits = 0, exponent = 0;
    bool exact = true;
    const char *whole = p;
    p = take_digits(p, &mantissa, &digits, &exact);
    long figures = p - whole;
    if (*p == '.') {
        const char *fraction = p + 1;
        p = take_digits(fraction, &mantissa, &digits, &exact);
        figures += p - fraction;
        exponent -= (int)(p - fraction < EXPONENT_MAX ? p - fraction : EXPONENT_MAX);
    }
    if (figures == 0) {
        return false;
    }
    p = take_exponent(p, &exponent);
    if (exact && mantissa < (UINT64_C(1) << 53) && exponent >= -EXACT_POWER && exponent <= EXACT_POWER) {
        double number = (double)mantissa;
        number = exponent < 0 ? number / powers[-exponent] : number * powers[exponent];
        *value = **at == '-' ? -number : number;
        *at = p;
        return true;
    }
    return scan_slowly(at, p, value);
}

bool text_expected(text_piece *piece, const char *at, const char *what)
{
    char shown[SHOWN + 1];
    int length = 0;
    while (length < SHOWN && !text_at_end(at + length) && at[length] != ' ' && at[length] != '\t' &&
           (length == 0 || (at[length] != ',' && at[length] != ';'))) {
        shown[length] = isprint((unsigned char)at[length]) ? at[length] : '?';
        length++;
    }
    shown[length] = '\0';
    piece->at = at;
    if (length > 0) {
        snprintf(piece->reason, sizeof piece->reason, "'%s': expected %s", shown, what);
    } else {
        snprintf(piece->reason, sizeof piece->reason, "the line ends where %s is expected", what);
    }
    return false;
}

bool text_fail(text_piece *piece, weft_status status)
{
    piece->status = status;
    snprintf(piece->reason, sizeof piece->reason, "%s", weft_error_message());
    return false;
}

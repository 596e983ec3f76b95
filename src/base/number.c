/*
 * base/number.c: reading and writing of decimal numbers in the C locale.
 *
 * The shortest text is found by trying digits until a text reads back equal. Numbers of common size are tried in
 * arithmetic that is exact or tells that it may not be, some 50 ns; all others through printf and strtod, a microsecond
 * or two.
 */
#include "base/number.h"

#include <assert.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_digits(const char *at)
{
    while (*at >= '0' && *at <= '9') {
        at++;
    }
    return at;
}

/* Past the number, or `text` when there is none. */
static const char *number_extent(const char *text)
{
    const char *at = text + (*text == '+' || *text == '-');
    const char *whole = skip_digits(at);
    long digits = (long)(whole - at);
    at = whole;
    if (*at == '.') {
        const char *fraction = skip_digits(at + 1);
        digits += (long)(fraction - (at + 1));
        at = fraction;
    }
    if (digits == 0) {
        return text;
    }
    if (*at == 'e' || *at == 'E') {
        const char *exponent = at + 1 + (at[1] == '+' || at[1] == '-');
        const char *past = skip_digits(exponent);
        if (past != exponent) {
            at = past;
        }
    }
    return at;
}

bool number_scan_real(const char *text, const char **end, double *value)
{
    const char *extent = number_extent(text);
    *end = text;
    if (extent == text) {
        return false;
    }
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a static object in glibc: nothing is allocated */
    char *past = NULL;
    double number = plain != (locale_t)0 ? strtod_l(text, &past, plain) : strtod(text, &past);
    if (plain != (locale_t)0) {
        freelocale(plain);
    }
    if (past != extent || !isfinite(number)) {
        return false;
    }
    *end = extent;
    *value = number;
    return true;
}

bool number_parse_real(const char *text, double *value)
{
    const char *end = NULL;
    double number = 0;
    if (!number_scan_real(text, &end, &number) || *end != '\0') {
        return false;
    }
    *value = number;
    return true;
}

bool number_parse_int(const char *text, int64_t *value)
{
    const char *at = text + (*text == '+' || *text == '-');
    bool negative = *text == '-';
    int64_t number = 0;
    if (*at == '\0') {
        return false;
    }
    for (; *at != '\0'; at++) {
        if (*at < '0' || *at > '9') {
            return false;
        }
        int64_t digit = *at - '0';
        /* Built on the negative side, which reaches one further. */
        if (__builtin_mul_overflow(number, (int64_t)10, &number) || __builtin_sub_overflow(number, digit, &number)) {
            return false;
        }
    }
    if (!negative && number == INT64_MIN) {
        return false;
    }
    *value = negative ? number : -number;
    return true;
}

/* Writes so many digits. Returns true if they give the number back. */
static bool format_digits(double value, bool single, int digits, char text[NUMBER_TEXT_MAX])
{
    if (snprintf(text, NUMBER_TEXT_MAX, "%.*g", digits, value) >= NUMBER_TEXT_MAX) {
        return false;
    }
    const double back = strtod(text, NULL);
    return single ? (float)back == (float)value : back == value;
}

/* The fewest of least .. most digits are found by halving: if some suffice, so do more, which are as near or nearer.
 * Most numbers that were computed need one of the last two, so that these are asked first. %g drops trailing zeros, so
 * that a short number stays short. */
static void format_shortest(double value, bool single, int least, int most, char text[NUMBER_TEXT_MAX])
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = plain != (locale_t)0 ? uselocale(plain) : (locale_t)0;
    if (fabs(value) < 1e15 && value == trunc(value)) {
        snprintf(text, NUMBER_TEXT_MAX, "%.0f", value);
    } else {
        const int all = most;
        bool written = false; /* with `most` digits */
        for (int digits = all - 2; least < most; digits = most == all ? digits + 1 : (least + most) / 2) {
            written = format_digits(value, single, digits, text);
            most = written ? digits : most;
            least = written ? least : digits + 1;
        }
        if (!written) {
            snprintf(text, NUMBER_TEXT_MAX, "%.*g", most, value);
        }
    }
    if (plain != (locale_t)0) {
        uselocale(before);
        freelocale(plain);
    }
}

/* whole / 10^places as "12.0345"; whole has no trailing zeros when places > 0. */
static void put_fixed(bool negative, uint64_t whole, int places, char text[NUMBER_TEXT_MAX])
{
    char digits[NUMBER_TEXT_MAX];
    int count = 0;
    do {
        digits[count++] = (char)('0' + whole % 10);
        whole /= 10;
    } while (whole > 0 || count <= places);
    int at = 0;
    if (negative) {
        text[at++] = '-';
    }
    while (count > 0) {
        if (count == places) {
            text[at++] = '.';
        }
        text[at++] = digits[--count];
    }
    text[at] = '\0';
}

const char *number_format_int(int64_t value, char text[NUMBER_TEXT_MAX])
{
    put_fixed(value < 0, value < 0 ? -(uint64_t)value : (uint64_t)value, 0, text);
    return text;
}

static void drop_zeros(uint64_t *whole, int *places)
{
    while (*places > 0 && *whole % 10 == 0) {
        *whole /= 10;
        --*places;
    }
}

/* Returns true if `quotient` becomes the same double as what it was rounded from: it does not lie in the middle of two
 * doubles, of which only the exact quotient would know the nearer one. */
static bool is_sure(long double quotient)
{
    uint64_t digits;
    memcpy(&digits, &quotient, sizeof digits);
    return (digits & 0x7ff) != 0x400;
}

/*
 * Doubles of common size without printf. 10^places and `whole` are exact in the 64 digits of a long double, so that a
 * product or a quotient is rounded once: it may be on the wrong side of a middle only where it is that middle, and then
 * printf decides.
 */
static bool format_common_real(double value, char text[NUMBER_TEXT_MAX])
{
    static const long double power[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L, 1e10L,
                                        1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L};
    static const double least[] = {1e-3, 1e-2, 1e-1, 1e0, 1e1,  1e2,  1e3,  1e4,  1e5,
                                   1e6,  1e7,  1e8,  1e9, 1e10, 1e11, 1e12, 1e13, 1e14};
    const long double size = fabsl((long double)value);
    int before = -3; /* digits before the point, negative: zeros behind it */
    _Static_assert(LDBL_MANT_DIG == 64, "a long double has 64 digits");
    if (!(fabs(value) >= 1e-4 && fabs(value) < 1e15)) {
        return false;
    }
    while (before < 15 && fabs(value) >= least[before + 3]) {
        before++;
    }
    for (int digits = 15; digits <= 17; digits++) {
        int places = digits - before;
        const long double product = size * power[places];
        uint64_t whole = (uint64_t)llrintl(product);
        const long double quotient = (long double)whole / power[places];
        if (fabsl(product - (long double)whole) == 0.5L || !is_sure(quotient)) {
            return false;
        }
        if ((double)quotient == (double)size) {
            drop_zeros(&whole, &places);
            put_fixed(value < 0, whole, places, text);
            return true;
        }
    }
    return false;
}

const char *number_format_real(double value, char text[NUMBER_TEXT_MAX])
{
    assert(isfinite(value));
    if (!format_common_real(value, text)) {
        format_shortest(value, false, 1, 17, text);
    }
    return text;
}

/*
 * Floats of common size without printf: features are written by the hundred million. whole and 10^places are exact
 * doubles, so that their quotient is what reading the text gives; it decides whether the digits suffice.
 */
static bool format_common(float value, char text[NUMBER_TEXT_MAX])
{
    static const double power[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14};
    double size = fabs((double)value);
    if (!(size >= 1e-5 && size < 1e6)) {
        return false;
    }
    int before = 0; /* digits before the point, negative: zeros behind it */
    while (before < 6 && size >= power[before]) {
        before++;
    }
    while (before <= 0 && before > -5 && size < 1.0 / power[1 - before]) {
        before--;
    }
    for (int digits = 6; digits <= 9; digits++) {
        int places = digits - before;
        uint64_t whole = (uint64_t)llrint(size * power[places]);
        if ((float)((double)whole / power[places]) == (float)size) {
            drop_zeros(&whole, &places);
            put_fixed(value < 0, whole, places, text);
            return true;
        }
    }
    return false;
}

const char *number_format_float(float value, char text[NUMBER_TEXT_MAX])
{
    assert(isfinite(value));
    if (!format_common(value, text)) {
        format_shortest((double)value, true, 6, 9, text); /* nine digits tell any two floats apart */
    }
    return text;
}

number_words number_say_bytes(uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    number_words words;
    double value = (double)bytes;
    int unit = -1;
    while (value >= 1023.5 && unit < 5) { /* 1023.5 of one would be printed as 1024 */
        value /= 1024;
        unit++;
    }
    if (unit < 0) {
        snprintf(words.text, sizeof words.text, "%d bytes", (int)bytes);
    } else {
        const int places = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
        snprintf(words.text, sizeof words.text, "%.*f %s", places, value, units[unit]);
    }
    return words;
}

/*
 * table/column/decimal.h: decimal numbers of known length, correctly rounded to double, for the lengths that tables
 * are full of.
 *
 * Up to 16 digits are put together eight at a time in one register (D. Lemire, Number Parsing at a Gigabyte per Second,
 * Software: Practice and Experience 2021). Such an integer below 2^53 and a power of ten up to 10^16 are exact
 * doubles, so one division rounds correctly (W. D. Clinger, How to Read Floating Point Numbers Accurately, PLDI
 * 1990). Every other text goes to text_scan_real.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { DECIMAL_PAD = 16 /* bytes before and behind a text that may be read */ };

/* Reads text[0 .. bytes), all of which must be one finite number; `point` is '.' or ','. DECIMAL_PAD bytes before it
 * must be readable. [out] whole: the text is an optional sign and digits alone. */
bool decimal_read_slowly(const char *text, size_t bytes, char point, double *value, bool *whole);

/* The last `bytes` bytes before `end`, 1 to 8 of them, in the high bytes of a word whose others are '0'. */
static inline uint64_t decimal_last(const char *end, unsigned bytes)
{
    uint64_t word;
    memcpy(&word, end - 8, 8);
    const unsigned junk = 64 - 8 * bytes;
    return junk == 0 ? word : (word >> junk << junk) | UINT64_C(0x3030303030303030) >> 8 * bytes;
}

/* Takes the first byte that equals the point out of eight characters. Returns the number of characters behind it, or
 * -1. */
static inline int decimal_take_point(uint64_t *word, char point)
{
    const uint64_t x = *word ^ (uint64_t)(uint8_t)point * UINT64_C(0x0101010101010101);
    const uint64_t zero = (x - UINT64_C(0x0101010101010101)) & ~x & UINT64_C(0x8080808080808080);
    if (zero == 0) {
        return -1;
    }
    const unsigned bit = (unsigned)__builtin_ctzll(zero) - 7; /* of the point's lowest bit */
    const uint64_t before = *word & ((UINT64_C(1) << bit) - 1);
    const uint64_t behind = bit == 56 ? 0 : *word >> (bit + 8) << (bit + 8);
    *word = behind | before << 8 | '0';
    return 7 - (int)(bit / 8);
}

static inline bool decimal_all_digits(uint64_t word)
{
    return ((word & UINT64_C(0xf0f0f0f0f0f0f0f0)) == UINT64_C(0x3030303030303030)) &
           (((word + UINT64_C(0x0606060606060606)) & UINT64_C(0xf0f0f0f0f0f0f0f0)) == UINT64_C(0x3030303030303030));
}

/* Eight digits, the first in the lowest byte, to a number. */
static inline uint32_t decimal_eight(uint64_t word)
{
    word = (word & UINT64_C(0x0f0f0f0f0f0f0f0f)) * 2561 >> 8;
    word = (word & UINT64_C(0x00ff00ff00ff00ff)) * 6553601 >> 16;
    return (uint32_t)((word & UINT64_C(0x0000ffff0000ffff)) * UINT64_C(42949672960001) >> 32);
}

/* Reads a number of up to 16 digits below 2^53; false leaves the text to decimal_read_slowly. */
static inline bool decimal_read_short(const char *text, size_t bytes, char point, double *value, bool *whole)
{
    static const double power[17] = {1e0, 1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7, 1e8,
                                     1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16};
    static const uint64_t scale[2] = {100000000, 10000000};
    const bool negative = bytes > 0 && *text == '-';
    const char *const end = text + bytes;
    const size_t digits = bytes - negative;
    uint64_t number;
    int behind;
    if (digits - 1 < 8) {
        uint64_t word = decimal_last(end, (unsigned)digits);
        behind = decimal_take_point(&word, point);
        if (!decimal_all_digits(word) || (digits == 1 && behind >= 0)) {
            return false;
        }
        number = decimal_eight(word);
    } else if (digits - 1 < 16) {
        uint64_t low = decimal_last(end, 8), high = decimal_last(end - 8, (unsigned)digits - 8);
        behind = decimal_take_point(&low, point);
        const int shorter = behind >= 0; /* one of the low eight characters was the point */
        if (!shorter) {
            behind = decimal_take_point(&high, point);
            behind += behind >= 0 ? 8 : 0;
        }
        if (!decimal_all_digits(low) || !decimal_all_digits(high)) {
            return false;
        }
        number = decimal_eight(high) * scale[shorter] + decimal_eight(low);
        if (number > UINT64_C(1) << 53) {
            return false;
        }
    } else {
        return false;
    }
    *whole = behind < 0;
    const double magnitude = behind > 0 ? (double)number / power[behind] : (double)number;
    *value = negative ? -magnitude : magnitude;
    return true;
}

static inline bool decimal_read(const char *text, size_t bytes, char point, double *value, bool *whole)
{
    return decimal_read_short(text, bytes, point, value, whole) ||
           decimal_read_slowly(text, bytes, point, value, whole);
}

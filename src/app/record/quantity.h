/*
 * app/record/quantity.h: numbers as people read them: three or four digits and a unit.
 *
 * A report is read, not computed with: the files of a run folder have all digits. "–" stands for a value that is
 * not finite.
 */
#pragma once

/* UNIT_PERCENT: a share of 1, shown as a percentage; UNIT_HUNDREDTHS: a percentage already. UNIT_RATE: four
 * decimals. */
typedef enum quantity_unit {
    UNIT_COUNT,
    UNIT_PERCENT,
    UNIT_SECONDS,
    UNIT_BYTES,
    UNIT_REAL,
    UNIT_RATE,
    UNIT_HUNDREDTHS
} quantity_unit;

typedef struct quantity {
    char text[40];
} quantity;

quantity quantity_seconds(double seconds); /* "3.08 ms" */
quantity quantity_bytes(double bytes);     /* "1.23 MB", powers of ten */
quantity quantity_count(double count);     /* "114,615,892" */
quantity quantity_percent(double share);   /* 0.9212: "92.12 %" */
quantity quantity_real(double value);      /* four digits */
quantity quantity_of(double value, quantity_unit unit);
quantity quantity_spread(double deviation, quantity_unit unit); /* of shares in percent, two decimals and no unit */
/* The unit that a file names: "s", "bytes", "%" (of percentages), "x" (a ratio); any other text is a count. */
quantity_unit quantity_unit_named(const char *name);

/* app/record/quantity.c: see app/record/quantity.h. */
#include "app/record/quantity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

static const quantity missing = {"–"};

quantity quantity_real(double value)
{
    quantity q;
    if (!isfinite(value)) {
        return missing;
    }
    int length = snprintf(q.text, sizeof q.text, "%#.4g", value);
    if (q.text[length - 1] == '.') { /* "1234." */
        q.text[length - 1] = '\0';
    }
    return q;
}

/* Three digits of a value below 1000. */
static quantity with_unit(double value, const char *unit)
{
    quantity q;
    int decimals = fabs(value) >= 99.95 ? 0 : fabs(value) >= 9.995 ? 1 : 2;
    snprintf(q.text, sizeof q.text, "%.*f %s", decimals, value, unit);
    return q;
}

quantity quantity_seconds(double seconds)
{
    quantity q;
    double size = fabs(seconds);
    if (!isfinite(seconds)) {
        return missing;
    }
    if (size >= 120) {
        snprintf(q.text, sizeof q.text, "%s%s", seconds < 0 ? "-" : "", clock_say(size).text);
        return q;
    }
    return size >= 0.9995 || size == 0 ? with_unit(seconds, "s")
           : size >= 0.9995e-3         ? with_unit(1e3 * seconds, "ms")
                                       : with_unit(1e6 * seconds, "µs");
}

quantity quantity_bytes(double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    quantity q;
    int unit = 0;
    for (; isfinite(bytes) && fabs(bytes) >= 999.5 && unit < 6; ++unit) {
        bytes /= 1000;
    }
    if (unit > 0 && fabs(bytes) < 1e6) {
        return with_unit(bytes, units[unit]);
    }
    snprintf(q.text, sizeof q.text, "%.0f B", bytes);
    return unit > 0 || !isfinite(bytes) ? quantity_real(bytes) : q;
}

quantity quantity_count(double count)
{
    quantity q;
    char digits[24];
    if (!isfinite(count)) {
        return missing;
    }
    if (fabs(count) >= 1e15 || count != floor(count)) {
        return quantity_real(count);
    }
    int length = snprintf(digits, sizeof digits, "%.0f", fabs(count));
    int at = snprintf(q.text, sizeof q.text, "%s", count < 0 ? "-" : "");
    for (int i = 0; i < length; ++i) {
        at += snprintf(q.text + at, sizeof q.text - (size_t)at, "%s%c", i > 0 && (length - i) % 3 == 0 ? "," : "",
                       digits[i]);
    }
    return q;
}

quantity quantity_percent(double share)
{
    quantity q;
    if (!isfinite(share)) {
        return missing;
    }
    if (fabs(share) > 1e4) {
        return quantity_real(share);
    }
    snprintf(q.text, sizeof q.text, "%.2f %%", 100 * share);
    return q;
}

quantity_unit quantity_unit_named(const char *name)
{
    return strcmp(name, "%") == 0       ? UNIT_HUNDREDTHS
           : strcmp(name, "s") == 0     ? UNIT_SECONDS
           : strcmp(name, "bytes") == 0 ? UNIT_BYTES
           : strcmp(name, "x") == 0     ? UNIT_REAL
                                        : UNIT_COUNT;
}

static quantity rate(double value)
{
    quantity q;
    snprintf(q.text, sizeof q.text, isfinite(value) && fabs(value) < 1e9 ? "%.4f" : "–", value);
    return q;
}

static quantity hundredths(double percentage)
{
    return quantity_percent(percentage / 100);
}

quantity quantity_of(double value, quantity_unit unit)
{
    static quantity (*const spell[])(double) = {
        [UNIT_COUNT] = quantity_count, [UNIT_PERCENT] = quantity_percent, [UNIT_SECONDS] = quantity_seconds,
        [UNIT_BYTES] = quantity_bytes, [UNIT_REAL] = quantity_real,       [UNIT_RATE] = rate,
        [UNIT_HUNDREDTHS] = hundredths};
    return spell[unit](value);
}

quantity quantity_spread(double deviation, quantity_unit unit)
{
    quantity q;
    if (unit == UNIT_PERCENT) {
        snprintf(q.text, sizeof q.text, "%.2f", 100 * deviation);
        return q;
    }
    return quantity_real(deviation);
}

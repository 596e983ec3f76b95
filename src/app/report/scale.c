/* app/report/scale.c: axes with sensible ticks (app/report/drawing.h). */
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "app/report/drawing.h"

/* Below this, steps would be no normal numbers. */
#define SMALLEST 1e-290

/* Beyond this a value is a sign of divergence, not something to scale an axis by. */
#define DRAWN_BELOW 1e100

bool scale_takes(double value)
{
    return isfinite(value) && fabs(value) < DRAWN_BELOW;
}

void scale_widen(double *low, double *high, const record_column *values)
{
    for (int i = 0; i < values->count; ++i) {
        if (scale_takes(values->value[i])) {
            *low = fmin(*low, values->value[i]);
            *high = fmax(*high, values->value[i]);
        }
    }
}

static double nice_step(double rough)
{
    static const double steps[] = {1, 2, 2.5, 5, 10};
    double power = pow(10, floor(log10(rough)));
    int i = 0;
    while (i < 4 && steps[i] * power < rough * (1 - 1e-9)) {
        i += 1;
    }
    return steps[i] * power;
}

scale scale_linear(double low, double high, int ticks, double from, double to)
{
    assert(low <= high && ticks > 0);
    double size = fmax(fabs(low), fabs(high));
    if (high - low <= fmax(1e-9 * size, SMALLEST)) { /* a flat line stands in the middle */
        double room = size > SMALLEST ? 0.05 * size : 1;
        low -= room;
        high += room;
    }
    double step = nice_step((high - low) / ticks);
    return (scale){.low = step * floor(low / step + 1e-9),
                   .high = step * ceil(high / step - 1e-9),
                   .step = step,
                   .from = from,
                   .to = to};
}

scale scale_logarithmic(double low, double high, double from, double to)
{
    assert(low > 0 && low <= high);
    return (scale){.low = low / 1.1, .high = high * 1.1, .step = 0, .from = from, .to = to};
}

double scale_at(const scale *s, double value)
{
    double share =
        s->step > 0 ? (value - s->low) / (s->high - s->low) : (log(value) - log(s->low)) / (log(s->high) - log(s->low));
    return s->from + fmin(fmax(share, 0), 1) * (s->to - s->from);
}

/* Ticks of a logarithmic axis: 1, 2, 5 while there are few decades, then every k-th power of ten. */
static bool logarithmic_tick(const scale *s, int i, double *value)
{
    double decades = log10(s->high) - log10(s->low); /* their quotient may overflow */
    int every = decades > 8 ? (int)ceil(decades / 8) : 1;
    int each = decades <= 2.5 ? 3 : 1;
    static const double mantissa[] = {1, 2, 5};
    int first = (int)floor(log10(s->low));
    int seen = -1;
    for (int n = 0; n <= (int)decades + 2; n += every) {
        for (int m = 0; m < each; ++m) {
            *value = mantissa[m] * pow(10, first + n);
            seen += *value >= s->low && *value <= s->high;
            if (seen == i) {
                return true;
            }
        }
    }
    return false;
}

bool scale_tick(const scale *s, int i, double *value)
{
    if (s->step <= 0) {
        return logarithmic_tick(s, i, value);
    }
    *value = s->step * ceil(s->low / s->step - 1e-9) + i * s->step;
    *value = fabs(*value) < 1e-9 * s->step ? 0 : *value;
    return *value <= s->high + 1e-6 * s->step && i < 100;
}

typedef struct unit_text {
    double factor;
    const char *suffix;
} unit_text;

/* One unit for a whole axis: that of its upper end. */
static unit_text unit_of(const scale *s, quantity_unit unit)
{
    static const struct {
        quantity_unit unit;
        double from; /* smallest upper end of an axis in this unit */
        unit_text text;
    } units[] = {
        {UNIT_PERCENT, 0, {100, " %"}},   {UNIT_HUNDREDTHS, 0, {1, " %"}},    {UNIT_SECONDS, 300, {1.0 / 60, " min"}},
        {UNIT_SECONDS, 1, {1, " s"}},     {UNIT_SECONDS, 1e-3, {1e3, " ms"}}, {UNIT_SECONDS, 0, {1e6, " µs"}},
        {UNIT_BYTES, 1e9, {1e-9, " GB"}}, {UNIT_BYTES, 1e6, {1e-6, " MB"}},   {UNIT_BYTES, 0, {1e-3, " kB"}}};
    for (size_t i = 0; i < sizeof units / sizeof *units; ++i) {
        if (units[i].unit == unit && fabs(s->high) >= units[i].from) {
            return units[i].text;
        }
    }
    return (unit_text){1, ""};
}

quantity scale_tick_text(const scale *s, double value, quantity_unit unit)
{
    quantity q;
    unit_text u = unit_of(s, unit);
    double step = u.factor * s->step;
    value *= u.factor;
    if (s->step <= 0 || fabs(value) >= 1e6 || step < 1e-5) {
        snprintf(q.text, sizeof q.text, "%.4g%s", value, u.suffix);
        return q;
    }
    int decimals = 0;
    for (double rest = step; decimals < 6 && fabs(rest - round(rest)) > 1e-6 * rest; rest *= 10) {
        decimals += 1;
    }
    snprintf(q.text, sizeof q.text, "%.*f%s", decimals, value, u.suffix);
    return q;
}

/* clicks/data/click_scaling.h: how a number becomes an input. */
#pragma once

#include <math.h>

#include "base/option_words.h"
#include "train/input_moments.h"

#define CLICK_SCALINGS(X)                                                                                              \
    X(CLICK_SCALING_OFF, "off")                                                                                        \
    X(CLICK_SCALING_STANDARD, "standard") /* (x - mean) / deviation */                                                 \
    X(CLICK_SCALING_LOG, "log")           /* the same of log(1 + x), of -log(1 - x) below 0 */
typedef enum click_scaling_kind { CLICK_SCALINGS(CHOICE_VALUE) } click_scaling_kind;

typedef struct click_scaling {
    click_scaling_kind kind;
    input_moments moments; /* of what stands behind the logarithm; none where kind is off */
} click_scaling;

static inline double click_scaling_bent(click_scaling_kind kind, double x)
{
    return kind == CLICK_SCALING_LOG ? copysign(log1p(fabs(x)), x) : x;
}

/* NaN: missing, which is the mean. */
static inline float click_scaled(const click_scaling *scaling, int64_t column, float x)
{
    if (isnan(x)) {
        return 0.0F;
    }
    if (scaling->kind == CLICK_SCALING_OFF) {
        return x;
    }
    const double deviation = scaling->moments.deviation[column];
    const double at = click_scaling_bent(scaling->kind, (double)x) - scaling->moments.mean[column];
    return deviation > 0.0 ? (float)(at / deviation) : 0.0F;
}

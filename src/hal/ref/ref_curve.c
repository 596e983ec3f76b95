/* hal/ref/ref_curve.c: smooth activations and gates as they are defined (hal/ops.def). */
#include <assert.h>
#include <math.h>

#include "base/half.h"
#include "hal/ref/ref_backend.h"

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

/* The share of a normal distribution that is below x. */
static double normal_share(double x)
{
    return 0.5 * erfc(-x * 0.70710678118654752440);
}

static double normal_density(double x)
{
    return 0.39894228040143267794 * exp(-0.5 * x * x);
}

static double curve_value(hal_curve curve, double x)
{
    switch (curve) {
    case HAL_CURVE_GELU:
        return x * normal_share(x);
    case HAL_CURVE_SILU:
        return x * sigmoid(x);
    case HAL_CURVE_SIGMOID:
        return sigmoid(x);
    case HAL_CURVE_RELU6:
        return x < 0.0 ? 0.0 : x > 6.0 ? 6.0 : x;
    }
    return x;
}

/* known: see curve_backward in hal/ops.def */
static double curve_slope(hal_curve curve, double known)
{
    switch (curve) {
    case HAL_CURVE_GELU:
        return normal_share(known) + known * normal_density(known);
    case HAL_CURVE_SILU:
        return sigmoid(known) * (1.0 + known * (1.0 - sigmoid(known)));
    case HAL_CURVE_SIGMOID:
        return known * (1.0 - known);
    case HAL_CURVE_RELU6:
        return known > 0.0 && known < 6.0 ? 1.0 : 0.0;
    }
    return 1.0;
}

#define REF_BODY "hal/ref/ref_curve_body.h"
#define REF_F16
#include "hal/ref/ref_typed.h"

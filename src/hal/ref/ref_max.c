/*
 * hal/ref/ref_max.c: the largest row over edges, and its gradient, as they are defined, for rows of float32, float64
 * and bfloat16.
 */
#include <assert.h>
#include <math.h>

#include "base/half.h"
#include "hal/ref/ref_backend.h"

#define REF_BODY "hal/ref/ref_max_body.h"
#include "hal/ref/ref_typed.h"

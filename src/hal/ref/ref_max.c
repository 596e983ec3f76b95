/*
 * hal/ref/ref_max.c: the largest row over edges, and its gradient, as they are defined, for rows of float32, float64 and
 * bfloat16.
 */
#include <assert.h>
#include <math.h>

#include "base/half.h"
#include "hal/ref/ref_backend.h"

#define cell        float
#define real        float
#define LOAD(x)     (x)
#define STORE(x)    (x)
#define TYPED(name) name##_f32
#include "hal/ref/ref_max_body.h"
#undef cell
#undef real
#undef TYPED

#define cell        double
#define real        double
#define TYPED(name) name##_f64
#include "hal/ref/ref_max_body.h"
#undef cell
#undef real
#undef LOAD
#undef STORE
#undef TYPED

#define cell        uint16_t
#define real        float
#define LOAD(x)     bf16_to_float(x)
#define STORE(x)    bf16_from_float(x)
#define TYPED(name) name##_bf16
#include "hal/ref/ref_max_body.h"
#undef cell
#undef real
#undef LOAD
#undef STORE
#undef TYPED

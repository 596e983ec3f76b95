/* hal/ref/ref_dense.c: dense operations as they are defined; see hal/hal.h. */
#include <assert.h>

#include "hal/ref/ref_backend.h"

#include <math.h>

#define real        float
#define TYPED(name) name##_f32
#include "hal/ref/ref_dense_body.h"
#undef real
#undef TYPED

#define real        double
#define TYPED(name) name##_f64
#include "hal/ref/ref_dense_body.h"
#undef real
#undef TYPED

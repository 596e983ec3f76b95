/* hal/ref/ref_group_norm.c: group norm as it is defined (hal/ops.def). */
#include <assert.h>
#include <math.h>

#include "base/half.h"
#include "hal/ref/ref_backend.h"

#define REF_BODY "hal/ref/ref_group_norm_body.h"
#define REF_F16
#include "hal/ref/ref_typed.h"

/* hal/ref/ref_tokens.c: operations on tokens as they are defined (hal/ops.def). */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "hal/ref/ref_backend.h"

/* Columns of a head whose gradients are summed at once, as each needs all scores again. */
enum { ATTEND_COLUMNS = 16 };

#define REF_BODY "hal/ref/ref_tokens_body.h"
#define REF_F16
#include "hal/ref/ref_typed.h"

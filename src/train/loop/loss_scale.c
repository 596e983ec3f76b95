/* train/loop/loss_scale.c: see train/loop/loss_scale.h. */
#include "train/loop/loss_scale.h"

#include <string.h>

#include "base/number.h"
#include "train/train_options.def"

weft_status loss_scale_read(const char *text, double *fixed)
{
    *fixed = 0.0;
    if (strcmp(text, "auto") == 0) {
        return WEFT_OK;
    }
    WEFT_CHECK(number_parse_real(text, fixed) && *fixed > 0.0 && *fixed <= LOSS_SCALE_LAST, WEFT_ERR_USAGE,
               FLAG_LOSS_SCALE " %s: expected auto, or a number above 0 and up to %.0f, such as 1024", text,
               LOSS_SCALE_LAST);
    return WEFT_OK;
}

void loss_scale_begin(train_scaling *scaling, double fixed)
{
    scaling->scale = fixed > 0.0 ? fixed : LOSS_SCALE_FIRST;
    scaling->clean = 0;
}

void loss_scale_resume(train_scaling *scaling, double fixed)
{
    if (fixed > 0.0 || scaling->scale == 0.0) {
        loss_scale_begin(scaling, fixed);
    }
}

void loss_scale_passed(train_scaling *scaling, double fixed)
{
    scaling->clean += 1;
    if (fixed == 0.0 && scaling->clean >= LOSS_SCALE_CLEAN) {
        scaling->scale = scaling->scale < LOSS_SCALE_LAST ? 2.0 * scaling->scale : scaling->scale;
        scaling->clean = 0;
    }
}

bool loss_scale_overflowed(train_scaling *scaling, double fixed)
{
    if (fixed > 0.0 || scaling->scale <= 1.0) {
        return false;
    }
    scaling->scale /= 2.0;
    scaling->clean = 0;
    scaling->skipped += 1;
    return true;
}

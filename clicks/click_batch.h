/* clicks/click_batch.h: what models of clicks read of a batch, this rank's samples of it. Lives until the source's next
 * batch. */
#pragma once

#include <stdint.h>

#include "embed/embed.h"

typedef struct click_batch {
    embed_bags bags;     /* ids of the fields */
    int64_t numbers;     /* columns of numbers */
    const float *number; /* [bags.samples, numbers], scaled; a missing one is 0 */
} click_batch;

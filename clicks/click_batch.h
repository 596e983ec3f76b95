/* clicks/click_batch.h: what models of clicks read of a batch, this rank's samples of it. Lives until the source's next
 * batch. */
#pragma once

#include <stdint.h>

#include "embed/embed.h"

typedef struct click_batch {
    embed_bags bags;     /* ids of the fields */
    int64_t numbers;     /* columns of numbers */
    const float *number; /* [bags.samples, numbers], scaled; a missing one is 0 */
    /* [bags.samples] number of each sample in the data, below 2^48; keys dropout. NULL: nothing is dropped. */
    const int64_t *sample_id;
} click_batch;

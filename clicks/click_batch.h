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
    /* [out] bags: of the batch that training goes on with in this epoch, until it is over; NULL: it goes on with none.
     * Waits until they are made. The same batch on all ranks. NULL: nobody knows. */
    weft_status (*next)(void *source, const embed_bags **bags);
    void *source;
} click_batch;

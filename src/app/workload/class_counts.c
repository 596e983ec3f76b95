/* app/workload/class_counts.c: see app/train/class_counts.h. */
#include "app/workload/class_counts.h"

#include <string.h>

weft_status class_counts_of(const workload *work, int64_t *by_class)
{
    const train_targets *targets = work->targets;
    const int64_t classes = targets->outputs;
    memset(by_class, 0, (size_t)(TRAIN_SPLITS * classes) * sizeof *by_class);
    for (int64_t i = 0; i < targets->rows; ++i) {
        const int32_t label = targets->label_host[i];
        const uint8_t split = targets->split_host[i];
        if (label >= 0 && split < TRAIN_SPLITS) {
            by_class[split * classes + label] += 1;
        }
    }
    if (work->ops->count_training != NULL) {
        work->ops->count_training(work, by_class);
    }
    return comm_allreduce(work->context->comm, by_class, TRAIN_SPLITS * classes, WEFT_DTYPE_I64, COMM_SUM);
}

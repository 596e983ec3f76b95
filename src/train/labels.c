/* train/labels.c: see train/labels.h. */
#include "train/labels.h"

#include <assert.h>
#include <string.h>

weft_status labels_create(train_labels *labels, weft_mem_tag *tag)
{
    const train_targets *t = &labels->targets;
    assert(labels->split == NULL && t->rows >= 0 && t->outputs >= 0);
    labels->tag = tag;
    WEFT_TRY(WEFT_NEW(&labels->split, t->rows, tag));
    return t->loss == TRAIN_LOSS_XENT ? WEFT_NEW(&labels->label, t->rows, tag)
                                      : WEFT_NEW(&labels->target, t->rows * t->outputs, tag);
}

weft_status labels_count(train_labels *labels, weft_comm *comm, uint64_t *hash)
{
    train_targets *t = &labels->targets;
    int64_t sums[TRAIN_SPLITS + 1] = {[TRAIN_SPLITS] = (int64_t)*hash};
    for (int64_t i = 0; i < t->rows; ++i) {
        if (labels->split[i] < TRAIN_SPLITS) {
            sums[labels->split[i]] += 1;
        }
    }
    WEFT_TRY(comm_allreduce(comm, sums, TRAIN_SPLITS + 1, WEFT_DTYPE_I64, COMM_SUM));
    memcpy(t->counted, sums, sizeof t->counted);
    t->loss_entries = sums[TRAIN_SPLIT_TRAIN];
    *hash = (uint64_t)sums[TRAIN_SPLITS];
    return WEFT_OK;
}

/* [out] here: where the backend reads what stands at `host`; NULL: there is nothing. */
static weft_status upload(train_labels *labels, weft_hal *hal, weft_dtype dtype, int64_t cols, const void *host,
                          weft_tensor *device, const void **here)
{
    *here = host;
    if (host == NULL || labels->targets.rows == 0 || hal_host_visible(hal)) {
        return WEFT_OK;
    }
    WEFT_TRY(tensor_create(hal, dtype, labels->targets.rows, cols, labels->tag, device));
    *here = device->data;
    return tensor_upload(device, host);
}

/* One mask a split, of the rows that count. */
static weft_status upload_masks(train_labels *labels, weft_hal *hal)
{
    train_targets *t = &labels->targets;
    uint8_t *mask = NULL;
    WEFT_TRY(WEFT_NEW(&mask, TRAIN_SPLITS * t->rows, labels->tag));
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        for (int64_t i = 0; i < t->rows; ++i) {
            mask[s * t->rows + i] = labels->split[i] == s;
        }
    }
    weft_status status = tensor_create(hal, WEFT_DTYPE_U8, t->rows, TRAIN_SPLITS, labels->tag, &labels->device_mask);
    status = status == WEFT_OK ? tensor_upload(&labels->device_mask, mask) : status;
    weft_free(mask);
    for (int s = 0; s < TRAIN_SPLITS && labels->device_mask.data != NULL; ++s) {
        t->mask[s] = (const uint8_t *)labels->device_mask.data + s * t->rows;
    }
    return status;
}

weft_status labels_upload(train_labels *labels, weft_hal *hal)
{
    train_targets *t = &labels->targets;
    const void *label, *target;
    WEFT_TRY(upload(labels, hal, WEFT_DTYPE_I32, 1, labels->label, &labels->device_label, &label));
    WEFT_TRY(upload(labels, hal, WEFT_DTYPE_F32, t->outputs, labels->target, &labels->device_target, &target));
    WEFT_TRY(t->rows > 0 ? upload_masks(labels, hal) : WEFT_OK);
    t->label = label;
    t->label_host = labels->label;
    t->target = target;
    t->target_host = labels->target;
    t->split_host = labels->split;
    t->labelled = true;
    return WEFT_OK;
}

void labels_destroy(train_labels *labels)
{
    TENSOR_DESTROY_ALL(&labels->device_label, &labels->device_target, &labels->device_mask);
    WEFT_FREE_ALL(labels->label, labels->target, labels->split);
    *labels = (train_labels){.tag = NULL};
}

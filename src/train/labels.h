/*
 * train/labels.h: the labels and splits of the rows that a rank keeps over a whole job, on the host and on the backend.
 *
 *     labels.targets = (train_targets){.rows = n, .outputs = 7, .loss = TRAIN_LOSS_XENT};
 *     labels_create(&labels, WEFT_MEM_FEATURE);     fill in label and split
 *     labels_upload(&labels, hal);                  targets point to them; set loss_entries and counted
 */
#pragma once

#include "train/model.h"

typedef struct train_labels {
    /* The arrays that targets points to are those below. */
    train_targets targets;
    weft_mem_tag *tag;
    /* [rows] the class of each row, or -1; NULL under the other losses than TRAIN_LOSS_XENT. */
    int32_t *label;
    /* [rows, outputs] 0, 1 or NaN, or numbers; NULL under TRAIN_LOSS_XENT. */
    float *target;
    /* [rows] the split of each row, or TRAIN_SPLIT_NONE. */
    uint8_t *split;
    /* On the backend: a mask [rows] for each split, and copies of classes and tasks if it cannot read those above. */
    weft_tensor device_label, device_target, device_mask;
} train_labels;

/* Takes the host arrays for targets.rows and targets.outputs; the caller fills them in. Free with labels_destroy, also
 * after a failure. Local. */
weft_status labels_create(train_labels *labels, weft_mem_tag *tag);
/* Sets counted and loss_entries of the targets, of all ranks. [in, out] hash: of this rank's rows, then the sum over
 * all ranks. Collective. */
weft_status labels_count(train_labels *labels, weft_comm *comm, uint64_t *hash);
/* Copies to the backend what it cannot read. The arrays must not change any more, and the targets are labelled from now
 * on. Local. */
weft_status labels_upload(train_labels *labels, weft_hal *hal);
/* Harmless on zeros, which it leaves behind. */
void labels_destroy(train_labels *labels);

/*
 * train/indexes/index_records.h: the labelled rows of all ranks on rank 0, as records of 8 bytes: score, class, split.
 *
 * Beside its record a row may have a value, by which rows are put into groups: 4 bytes more.
 */
#pragma once

#include <stdbool.h>

#include "comm/comm.h"
#include "train/indexes/score_levels.h"
#include "train/model.h"

/* A split that is every labelled row, also one without a split. */
enum { INDEX_ALL_ROWS = TRAIN_SPLITS };

typedef struct index_records {
    uint64_t
        *record;  /* [count] of train/score/score_record.h, with the row's split in the bits above the label. Rank 0 */
    float *value; /* [count]; NULL: none was asked for. Rank 0 */
    int64_t count;
    bool finite; /* all scores are, on all ranks */
    uint64_t *spare;
} index_records;

/* Returns true if targets are two classes, or one task of two answers. The same on every rank. */
bool binary_targets(const train_targets *targets);
/* The score of a row as its logit, and its class 0 or 1, or -1 without a label. targets: binary. */
float binary_score(const train_targets *targets, const float *logits, int64_t row);
int binary_label(const train_targets *targets, int64_t row);

/* Splits of a set, as bits. */
static inline unsigned index_splits(int split)
{
    return split == INDEX_ALL_ROWS ? (2U << INDEX_ALL_ROWS) - 1U : 1U << split;
}

/*
 * logits: [targets->rows, targets->outputs]. splits: rows of these are gathered, and no others. valued: rows have
 * values, the same on every rank; value: [targets->rows], else NULL. Free with index_records_free, also after a
 * failure. Collective.
 */
weft_status index_records_gather(weft_comm *comm, const train_targets *targets, const float *logits, unsigned splits,
                                 bool valued, const float *value, index_records *records);
void index_records_free(index_records *records);

/* Returns true if the row is of a split, or of any under INDEX_ALL_ROWS. */
static inline bool index_record_in(uint64_t record, int split)
{
    return split == INDEX_ALL_ROWS || (int)(record >> 1 & 3) == split;
}

/* The levels of a split's rows; with `part` [count] of those rows alone whose part is `number`. Rank 0. */
weft_status index_records_levels(const index_records *records, int split, const int32_t *part, int32_t number,
                                 score_levels *levels);

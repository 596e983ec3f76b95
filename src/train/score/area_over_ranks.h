/*
 * train/score/area_over_ranks.h: the area under the ROC curve of rows that lie on many ranks, of which no rank sees
 * more than about its share.
 *
 * A sample sort: ranks sort their own rows, agree on borders between scores from a few of each, and rank p receives the
 * rows between border p - 1 and p; so rows of one score meet on one rank. Rows of one score, class and split travel as
 * one record with their number. What a rank adds up over its scores, and the rows of each class on the ranks before,
 * are integers, so the area has the same bits however rows are dealt to ranks.
 *
 * area = sum over scores of positives (negatives below + negatives of this score / 2) / (all positives x all negatives)
 */
#pragma once

#include "comm/comm.h"

enum { AREA_SPLITS = 3 }; /* that rows belong to: 0, 1, 2; 3: to none */

/*
 * record [count]: this rank's rows (train/score/score_record.h), with the split in bits 1 and 2; those of none
 * are left out. The records are lost. [out] area: of each split, the same on all ranks; NaN where a split
 * has not both classes. Memory: 8 bytes a record, and 16 bytes for each that comes. Collective. WEFT_ERR_RESOURCE.
 */
weft_status area_over_ranks(weft_comm *comm, uint64_t *record, int64_t count, double area[AREA_SPLITS]);

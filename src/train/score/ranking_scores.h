/* train/score/ranking_scores.h: how well answers order the rows of groups. */
#pragma once

#include "train/score/value_scores.h"

/*
 * [out] score[TRAIN_SPLITS]: mean over the groups of NDCG of the first `at` rows by answer, with gains 2^target - 1 and
 * discounts 1 / log2(2 + place); a group in which all targets are 0 counts as 1, and of a group the rows of one split
 * are judged alone. NaN for a split without rows. group: [rows], of which equal neighbours are a group, also across
 * ranks. Gathers 24 bytes a row on every rank. Collective.
 */
weft_status ndcg_scores(weft_comm *comm, int at, const value_rows *rows, const uint64_t *group, double *score);

/*
 * embed/plan/embed_plan.h: how many bytes the modes of a table (embed/embed.h) send, and the cheapest of them.
 *
 * Formulas are those of what is sent, to the byte, counts in front of messages included. Counts of a batch are
 * measured, or expected from how often ids occur in a sample of the data.
 */
#pragma once

#include "embed/embed.h"

/* A training batch of all ranks. */
typedef struct embed_counts {
    int ranks;
    int64_t samples;
    int64_t distinct;      /* distinct keys of each rank's samples, summed over ranks */
    int64_t distinct_away; /* of those: of other owners */
    int64_t keys_away;     /* keys in bags, each time they occur, of other owners */
    bool weighted;         /* keys in bags have weights */
} embed_counts;

/*
 * Bytes that all ranks together send in a training batch.
 * stride   numbers of a row
 * columns  numbers of a sample that mode des sums: fields * stride for pooled rows, or embed_sums_columns
 * whole    mode des: every rank reads the bags of all ranks (embed_sums_forward's samples_of)
 */
int64_t embed_mode_bytes(embed_mode mode, const embed_counts *counts, int stride, int64_t columns, bool whole);
/* The mode that sends least; of equals the first of EMBED_MODES. */
embed_mode embed_mode_cheapest(const embed_counts *counts, int stride, int64_t columns, bool whole);

/* Numbers that a parameter server would send to ranks and take back, without keys, in bytes: each rank pulls the rows
 * of its samples and pushes their gradients. */
int64_t embed_server_bytes(const embed_counts *counts, int stride);
/* 1 - bytes of numbers that mode des sends / embed_server_bytes; below 0 where des sends more. */
double embed_des_saving(const embed_counts *counts, int stride, int64_t columns);

enum { EMBED_OCCURRENCE_BINS = 64 };
/* Expected distinct ids of a field among `draws` of them. ids [k]: how many ids occur at least 2^k and fewer than
 * 2^(k + 1) times in a sample of the data. */
double embed_expected_distinct(const int64_t ids[EMBED_OCCURRENCE_BINS], int64_t draws);

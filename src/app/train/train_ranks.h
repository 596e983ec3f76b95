/*
 * app/train/train_ranks.h: what each rank did, gathered at the end of training and kept in summary.json.
 *
 * The closing table knows min, average and max; a rank that is slow, large or on another host shows itself only in the
 * figures rank by rank. They are columns (one array of P numbers a figure) of the object "per_rank"; seconds are
 * rounded to microseconds, which keeps 4,096 ranks below the 1 MiB that the JSON reader takes.
 */
#pragma once

#include "app/train/train_report.h"
#include "io/json.h"

/* One rank; sent to rank 0 as bytes. */
typedef struct train_rank {
    train_figures figures;
    double shared_bytes;             /* through memory that the ranks of a node share, in place of messages */
    int64_t shares[WORKLOAD_SHARES]; /* of the data, as workload_ops.share_names says */
    char host[sizeof(((app_context *)0)->host)];
} train_rank;

/* Collective. [out] rows  [P] on rank 0 (weft_free), NULL on the others. */
weft_status train_ranks_gather(const train_report *report, const train_figures *mine, train_rank **rows);
/* The object "per_rank"; its seconds and bytes are those of `epochs` epochs. */
void train_ranks_write(json_writer *json, const workload_ops *ops, const train_rank *rows, int ranks, int64_t epochs);

/*
 * app/run_dir.h: the folder of a run, written by rank 0.
 *
 *   run.json           manifest: versions, options and where each came from, hosts, hashes, start, end, exit
 *   metrics.jsonl      a line an epoch
 *   summary.json       the result
 *   weights.npz        parameters at the best epoch of the last run
 *   predictions.npy    the model's answer for every vertex at that epoch
 */
#ifndef WEFT_APP_RUN_DIR_H
#define WEFT_APP_RUN_DIR_H

#include "app/context.h"
#include "base/file.h"
#include "partition/partition.h"
#include "train/loop.h"

typedef struct run_dir {
    char path[FILE_PATH_MAX]; /* on every rank */
    FILE *metrics;            /* rank 0 */
    double started;           /* seconds since 1970 */
} run_dir;

/* Make the folder: --run-dir, or the first free weft-run-NNNN. A folder that already holds a run is refused unless --force.
 * Collective. */
weft_status run_dir_open(const app_context *context, run_dir *dir);
/* run.json; `exit` is -1 while running. Rank 0. */
weft_status run_dir_write_manifest(const run_dir *dir, const app_context *context, const weft_graph *graph, int exit);
weft_status run_dir_write_epoch(run_dir *dir, const train_epoch *epoch);
void run_dir_close(run_dir *dir);

#endif

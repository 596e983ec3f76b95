/*
 * app/run_dir.h: the folder of a run, written by rank 0.
 *
 *   run.json           manifest: versions, options and where each came from, hosts, hashes, all starts; at the end: end
 *                      and exit code. One without "exit" belongs to a run that goes on, or was killed.
 *   metrics.jsonl      a line an epoch
 *   summary.json       the result
 *   ckpt/              checkpoints (train/checkpoint.h)
 *   weights.npz        parameters at the best epoch of the last run
 *   trace-RANK.json    with --trace: what each rank did when; by each rank itself
 *   predictions.npy    the model's answer for every vertex at that epoch
 *
 * Until training begins the folder may be taken back: a job that is refused leaves no folder that it made, and no file
 * changed in one that was there.
 */
#ifndef WEFT_APP_RUN_DIR_H
#define WEFT_APP_RUN_DIR_H

#include "app/context.h"
#include "app/run_history.h"
#include "base/file.h"
#include "partition/partition.h"
#include "train/loop.h"

typedef struct run_dir {
    char path[FILE_PATH_MAX]; /* on every rank */
    FILE *metrics;            /* rank 0 */
    double started;           /* seconds since 1970 */
    bool made;                /* rank 0: the folder was not there before */
    bool begun;               /* rank 0: it holds files of this run */
    weft_graph facts;         /* of the graph, for run.json; no arrays */
    run_history history;      /* rank 0: starts of this run, this one last */
} run_dir;

/* Make the folder: --run-dir, or the first free weft-run-NNNN. A folder that already holds a run is refused unless
 * --force or --resume is given; with --resume the default is the newest weft-run-NNNN. For --dry-run it is a name only:
 * whoever needs the folder makes it, and closing removes it. Collective. */
weft_status run_dir_open(const app_context *context, run_dir *dir);
/* Training begins: removes results of a replaced run, opens metrics.jsonl, writes run.json. from: the checkpoint to go
 * on from, after whose epoch metrics.jsonl is cut, or NULL. keep: a name of this job's in the folder, or "". Rank 0. */
weft_status run_dir_begin(run_dir *dir, const app_context *context, const weft_graph *graph, const train_progress *from,
                          const char *keep);
weft_status run_dir_write_epoch(run_dir *dir, const train_epoch *epoch);
/* What was written so far is on the disk. Rank 0. */
weft_status run_dir_sync(run_dir *dir);
/* Adds end and exit code to run.json; or removes the folder again when training never began. Nothing on other ranks. */
weft_status run_dir_close(run_dir *dir, const app_context *context, weft_status exit);

#endif

/*
 * app/train/run_dir.h: the folder of a run, written by rank 0.
 *
 *   run.json           manifest: rank 0's command line, versions, options and where each came from, hosts, hashes, all
 *                      starts; at the end: end and exit code. One without "exit" goes on, or was killed.
 *   metrics.jsonl      a line an epoch
 *   summary.json       the result
 *   ckpt/              checkpoints (train/checkpoint/checkpoint.h)
 *   weights.npz        parameters at the best epoch of the last run
 *   events.out.tf...   with --tensorboard (app/train/train_events.h)
 *   trace-RANK.json    with --trace: what each rank did when; by each rank itself
 *   predictions.npy    the model's answer for every row of the data at that epoch
 *   run.lock           while a job writes here: which (app/train/run_folder.h)
 *
 * Until training begins the folder may be taken back: a job that is refused leaves no folder that it made, and no file
 * changed in one that was there.
 */
#ifndef WEFT_APP_TRAIN_RUN_DIR_H
#define WEFT_APP_TRAIN_RUN_DIR_H

#include "app/setup/context.h"
#include "app/train/run_folder.h"
#include "app/train/run_history.h"
#include "app/workload/workload.h"
#include "base/file.h"
#include "train/fit/fit.h"

typedef struct run_dir {
    char path[FILE_PATH_MAX]; /* on every rank */
    FILE *metrics;            /* rank 0 */
    double started;           /* seconds since 1970 */
    run_folder folder;        /* rank 0 */
    bool begun;               /* rank 0: it holds files of this run */
    const workload *work;     /* whose data run.json describes; open when training begins */
    run_history history;      /* rank 0: starts of this run, this one last */
} run_dir;

/* Make the folder and lock it, or refuse (app/train/run_folder.h). Collective; other ranks wait for as long as rank 0
 * looks for a sign of life of an earlier job, which may be half a minute: before comm_set_stall_timeout. */
weft_status run_dir_open(const app_context *context, const workload *work, run_dir *dir);
/* Training begins: removes results of a replaced run, opens metrics.jsonl, writes run.json. from: what training goes on
 * from, after whose epoch metrics.jsonl is cut, or NULL. Rank 0. */
weft_status run_dir_begin(run_dir *dir, const app_context *context, const train_progress *from);
/* A line of metrics.jsonl. Rank 0. */
weft_status run_dir_write_epoch(run_dir *dir, const train_epoch *epoch);
/* What was written so far is on the disk. Rank 0. */
weft_status run_dir_sync(run_dir *dir);
/* Adds end and exit code to run.json, or removes a folder that this job made when training never began; unlocks.
 * Nothing on other ranks. */
weft_status run_dir_close(run_dir *dir, const app_context *context, weft_status exit);

#endif

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
#pragma once

#include "app/setup/context.h"
#include "app/train/run_folder.h"
#include "app/train/run_history.h"
#include "app/workload/workload.h"
#include "base/file.h"
#include "train/fit/fit.h"

typedef struct run_dir {
    char path[FILE_PATH_MAX]; /* on every rank */
    FILE *metrics;            /* rank 0: metrics.jsonl, open for appending */
    double started;           /* seconds since 1970 */
    run_folder folder;        /* rank 0: the lock */
    bool of_search;           /* see run_folder.h */
    bool begun;               /* rank 0: the folder holds files of this run */
    const workload *work;     /* run.json describes its data; open when training begins */
    run_history history;      /* rank 0: starts of this run, oldest first */
} run_dir;

/* Makes the folder and locks it, or refuses (app/train/run_folder.h). Rank 0 may look for a sign of life of an earlier
 * job for half a minute, and the other ranks wait: call it before comm_set_stall_timeout. of_search: see there.
 * Collective. */
weft_status run_dir_open(const app_context *context, const workload *work, bool of_search, run_dir *dir);
/* Training begins: removes results of a replaced run, opens metrics.jsonl and writes run.json, which a trial of a
 * search has when its part is over. from: progress of the checkpoint that training goes on from, after which
 * metrics.jsonl is cut; or NULL. Rank 0. */
weft_status run_dir_begin(run_dir *dir, const app_context *context, const train_progress *from);
/* Writes a line of metrics.jsonl. Rank 0. */
weft_status run_dir_write_epoch(run_dir *dir, const train_epoch *epoch);
/* Brings the lines of metrics.jsonl so far to the disk. Rank 0. */
weft_status run_dir_sync(run_dir *dir);
/* Adds end and exit code to run.json, or removes a folder that this job made if training never began, and unlocks.
 * Other ranks do nothing. */
weft_status run_dir_close(run_dir *dir, const app_context *context, weft_status exit);

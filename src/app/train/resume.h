/*
 * app/train/resume.h: what --checkpoint-every, --resume and --max-hours mean.
 *
 * A training goes on from a checkpoint of the same data, model and training options: one that differs is refused with
 * both values. --epochs may be another number if the schedule of the learning rate does not depend on it and no run has
 * ended before the checkpoint's; a run that had ended goes on, unless --patience ended it. Options that change only how
 * the work is divided or summed (ranks, threads, partition, communication, backend) may differ; the log names them,
 * because the bits are then no longer those of an undisturbed run.
 */
#pragma once

#include "app/train/run_dir.h"
#include "train/checkpoint/keeper.h"

/* [out] plan: intervals and time limit of the options, counted from `started` (clock_seconds); folder, callbacks and
 * checkpoint stay empty. WEFT_ERR_USAGE: an interval is no number of epochs and no time. */
weft_status resume_plan(const weft_options *options, double started, train_checkpoints *plan);
/* work: open. With --resume: rank 0's newest good checkpoint in the run folder; NULL on other ranks, and when there is
 * none yet. Options that are open take the values that the kind of workload adopts from it. changed: options that may
 * have other values than there, up to OPTION_NONE; NULL: none. After workload_decide. Collective. */
weft_status resume_open(const app_context *context, const run_dir *dir, const workload *work, const option_id *changed,
                        checkpoint **ck);
/* Returns the choices of the checkpoint's run (app/setup/choices.h), or NULL if it recorded none or this job has other
 * numbers of ranks or threads. */
const char *resume_choices(const app_context *context, const checkpoint *ck);
/* Rank 0: --lr of the checkpoint; NULL: there is no checkpoint. */
const char *resume_rate(const app_context *context, const checkpoint *ck);
/* The command line that goes on from `path`: the options as given, --resume and --run-dir. */
void resume_command(const app_context *context, const char *path, char *text, size_t bytes);

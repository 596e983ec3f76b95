/*
 * app/train/train_events.h: --tensorboard: the epochs of a training as TensorBoard's event files (io/event_file.h).
 *
 * They stand in the run folder; with --runs above 1 each run's in RUN_DIR/run-1, run-2, ..., which TensorBoard draws
 * over each other. One record an epoch, written as the epoch ends; its step is the epoch. Tags: loss, score/train,
 * score/valid, score/test (epochs that were evaluated), lr, time/epoch_s, time/eval_s, time/comm_exposed_s, sent_bytes.
 *
 * A training that is resumed goes on in a new file; records behind its checkpoint are cut from the ones before. The
 * events are a view of metrics.jsonl: where they cannot be written a warning says so once, and training goes on.
 * Everything is rank 0's.
 */
#pragma once

#include "app/setup/context.h"
#include "io/event_file.h"
#include "train/fit/fit.h"

typedef struct train_events {
    bool on;
    char folder[FILE_PATH_MAX]; /* the run folder */
    char host[64];
    int runs;
    int run;             /* that the open file belongs to, from 0; -1: none is open */
    int resumed_run;     /* the first epoch of this run voids what was known of later ones; -1: none does */
    int64_t first_epoch; /* that this job trains of the resumed run, should it be trained further */
    event_file file;
} train_events;

/* Make way: files of a training that is replaced go, those of one that is resumed end with its checkpoint; also without
 * the option, when no epochs are written. from: the checkpoint to go on from, or NULL. */
void train_events_begin(train_events *events, const app_context *context, const char *run_dir,
                        const train_progress *from);
void train_events_epoch(train_events *events, const train_epoch *epoch);
/* Also of one that never began. */
void train_events_close(train_events *events);

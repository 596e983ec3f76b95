/*
 * app/train/run_history.h: what a resumed run keeps of the starts before it: their list in run.json, and the lines of
 * metrics.jsonl up to the checkpoint.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "io/json.h"

enum { RUN_STARTS_KEPT = 1000 };

/* One start of a run. */
typedef struct run_start {
    char started[24], ended[24]; /* ISO 8601; "" = not known: killed, or going on */
    char host[64];
    int64_t ranks, exit;            /* -1: not known */
    int64_t after_run, after_epoch; /* went on after this run (from 1) and epoch; 0: from the beginning */
} run_start;

typedef struct run_history {
    run_start *start; /* [count] oldest first */
    int count;
} run_history;

/* Add the starts that a run.json tells of. A file that is absent or damaged tells of none (with a warning). */
weft_status run_history_read(const char *path, run_history *history);
/* One more. Beyond RUN_STARTS_KEPT the oldest is forgotten. */
weft_status run_history_add(run_history *history, const run_start *start);
void run_history_write(json_writer *json, const run_history *history);
void run_history_free(run_history *history);

/* Cut a metrics.jsonl after the line of this run (from 1) and epoch; what was written later goes. */
weft_status run_metrics_cut(const char *path, int64_t run, int64_t epoch);

/* app/train/train_results.h: what a fit leaves in its run folder: predictions, the model, and with --trace a trace. */
#pragma once

#include "app/train/run_dir.h"
#include "app/train/train_outcome.h"

/* Answers all rows with the best model, measures them into `outcome`, and writes predictions.npy and the model's file.
 * Collective. */
weft_status train_results_write(workload *work, const run_dir *dir, train_metric metric, train_outcome *outcome);
/* trace-RANK.json of every rank, where it was asked for and there are results or a checkpoint. They are safe by then: a
 * trace that cannot be written is a warning. since: clock_seconds() of the job's first span. trained: how
 * the fit ended; returned as it is. Collective. */
weft_status train_trace_write(const app_context *context, const run_dir *dir, double since, weft_status trained);

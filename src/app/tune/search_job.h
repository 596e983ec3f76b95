/*
 * app/tune/search_job.h: weft tune on data: trainings of one space's configurations, by groups of the job's ranks
 * beside each other (--ranks-per-trial).
 *
 *     weft tune space.toml --data reddit.weft --model sage --epochs 100 --run-dir search
 *
 *     search/trials.jsonl    the journal (tune/journal/journal.h)
 *     search/trial-0007/     a run folder for each trial; a trial that pauses leaves its checkpoint there
 *     search/summary.csv     a line for each trial
 *     search/best.toml       options of the best trial, for weft train --config
 *
 * A trial is what `weft train` with its options is, to the bit, whether it pauses on the way or not. Data stay open
 * from one trial to the next where the kind can keep them and no option asks for others. A trial that diverges, does
 * not fit into memory, or is refused is a result; the search goes on.
 */
#pragma once

#include "app/options/app_options.h"

/* Collective, before MPI is started. WEFT_STOPPED: a signal or --max-hours ended it, and --resume goes on. */
weft_status search_job_run(const weft_options *options);

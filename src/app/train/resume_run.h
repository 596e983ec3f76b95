/*
 * app/train/resume_run.h: `weft train --resume RUN`: options and data of a run that goes on, without typing them again.
 */
#pragma once

#include "app/options/app_options.h"

/*
 * [out] options: a copy of `asked` (of the command train) in which every option that is not set has the value that
 * somebody gave it when RUN was started, by its run.json, and --run-dir is RUN; for option_destroy. NULL: `asked` names
 * no RUN. What concerns one start alone (--force, --dry-run, --quiet) is left out. For rank 0.
 * WEFT_ERR_USAGE: --run-dir names another folder, or a value is none of this version; WEFT_ERR_NOINPUT, WEFT_ERR_DATA:
 * RUN holds no run, or its run.json is malformed.
 */
weft_status resume_run_options(const weft_options *asked, weft_options **options);

/* app/train/option_change.h: how a run that is resumed, and data that are open, take another value of an option.
 */
#pragma once

#include "app/workload/workload.h"

/* Returns true if the option's value equals `before`; texts may differ where values do not: 0.50 and .5. */
bool option_same_value(const weft_options *options, option_id id, const char *before);
/* Returns what a resumed run of this kind makes of another value: its section's word, or that of the workloads'
 * exceptions. Options that serve other kinds alone may change. */
option_change option_change_of(const workload_ops *ops, const weft_options *options, option_id id);
/* A later fit on open data keeps the options that say which data are open, or how the job's ranks, threads and messages
 * were set up. WEFT_ERR_USAGE names the first of them whose value differs in `next`. asked: options of the fit before,
 * as they were given. */
weft_status option_check_refit(const workload *work, const weft_options *asked, const weft_options *next);

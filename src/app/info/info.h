/*
 * app/info/info.h: what the files of `weft info` share: one file for each thing that every kind of workload has. What
 * only one kind has is described by it (workload_ops.info).
 */
#pragma once

#include <stdbool.h>

#include "app/workload/workload.h"
#include "train/input_moments.h"

weft_status info_table(const char *store, bool check);
weft_status info_run(const char *folder);
weft_status info_checkpoint(const char *folder);
weft_status info_model(const char *path);
/* Arrays of an .npz, and the run that it lies in. WEFT_ERR_DATA: they are no weights. */
weft_status info_weights(const char *path);
weft_status info_hardware(void);

/* weft info. */
weft_status app_info(const weft_options *options);

/* Ask the kinds in the order of workload_list. [out] known: one of them knew the subject, and has printed it. */
weft_status info_ask(const workload_subject *subject, bool *known);

/* The line that says so, where a model has moments of its inputs; in app/info/info_checkpoint.c. */
void info_moments(const input_moments *moments);

/*
 * app/report/report_metrics.h: metrics.jsonl, line by line.
 *
 * A line that is not an object with a run and an epoch is counted and left out; a last line without its end belongs to
 * a job that was killed while it wrote. An epoch that comes again replaces what followed it: the job was resumed there.
 */
#ifndef WEFT_APP_REPORT_REPORT_METRICS_H
#define WEFT_APP_REPORT_REPORT_METRICS_H

#include "app/report/report_run.h"

/* Fills series, lines and counts of damage. WEFT_ERR_DATA: more epochs or runs than the limits of run.h. */
weft_status report_metrics_read(const char *path, report_run *run);

#endif

/*
 * app/report/sections.h: the parts of a report on one run folder, and the comparison of several.
 *
 * Each writes its heading and its content, or nothing where the folder has nothing to say about it.
 */
#ifndef WEFT_APP_REPORT_SECTIONS_H
#define WEFT_APP_REPORT_SECTIONS_H

#include "app/report/figures.h"
#include "app/report/text.h"

/* What happened and the figures that matter: headline.c. */
void section_headline(report_text *out, const report_run *run, const report_figures *figures);
/* What training warned of: outcome.c. */
void section_warnings(report_text *out, const report_run *run);
/* "quickstart · sage" */
void section_title(const report_run *run, char *title, size_t bytes);
/* Loss and scores over epochs, runs: learning.c. */
weft_status section_learning(report_text *out, const report_run *run, const report_figures *figures);
/* Figures by class and what is taken for what, or by task: outcome.c. */
weft_status section_outcome(report_text *out, const report_run *run);
/* Time of epochs, by activity and rank: time.c. */
weft_status section_time(report_text *out, const report_run *run, const report_figures *figures);
/* What training advised at its end: time.c. */
void section_advice(report_text *out, const report_run *run);
/* Bytes by lane, exposed time: communication.c. */
weft_status section_communication(report_text *out, const report_run *run, const report_figures *figures);
/* Partition, memory and the table of ranks: ranks.c. */
weft_status section_ranks(report_text *out, const report_run *run, const report_figures *figures);
/* Options and their sources, machine, versions: settings.c. */
void section_settings(report_text *out, const report_run *run, const report_figures *figures);
/* Several folders side by side: compare.c. */
weft_status section_compare(report_text *out, const report_run *runs, const report_figures *figures, int count);

#endif

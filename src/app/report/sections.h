/*
 * app/report/sections.h: a report of run folders, and its sections.
 *
 * Each section writes its heading and its content, or nothing where the folder has nothing to say about it.
 * Sections know no kind of workload: names, facts, columns and drawings come from the files.
 */
#pragma once

#include "app/record/run_record.h"
#include "app/report/text.h"

/* Writes the report of one run, or the comparison of several and then each of them (report.c). WEFT_ERR_RESOURCE. */
weft_status report_write(report_text *out, run_record *runs, int count);

/* [out] title: "quickstart · sage" */
void section_title(const run_record *run, char *title, size_t bytes);

void section_search(report_text *out, run_record *run);        /* report_search.c: the page of a search */
void section_headline(report_text *out, run_record *run);      /* headline.c: what happened, and the main figures */
void section_learning(report_text *out, run_record *run);      /* learning.c: loss and scores over epochs, runs */
void section_outcome(report_text *out, run_record *run);       /* report_outcome.c: figures by class or by task */
void section_indexes(report_text *out, run_record *run);       /* report_indexes.c: two classes, with their curves */
void section_figures(report_text *out, run_record *run);       /* report_figures.c: drawings that the files define */
void section_time(report_text *out, run_record *run);          /* time.c: time of epochs, by activity and rank */
void section_second(report_text *out, run_record *run);        /* second_order.c: its time, damping and clip */
void section_advice(report_text *out, run_record *run);        /* time.c: what training advised at its end */
void section_communication(report_text *out, run_record *run); /* ranks.c: bytes by lane, exposed time */
void section_ranks(report_text *out, run_record *run);         /* ranks.c: memory, and the table of ranks */
void section_facts(report_text *out, run_record *run);         /* settings.c: groups of facts of summary.json */
void section_settings(report_text *out, run_record *run);      /* settings.c: options, data, starts, machine */
void section_compare(report_text *out, run_record *runs, int count); /* compare.c: several folders side by side */

/* A cell of a number in its unit (ranks.c). */
void section_cell(report_text *out, double value, quantity_unit unit);
/* Cells for the smallest, mean and largest value, divided by `per` (ranks.c). */
void section_spread(report_text *out, const record_spread *spread, double per, quantity_unit unit);
/* Texts of an array, each as a paragraph of this kind. */
void section_lines(report_text *out, const json_value *array, const char *kind);

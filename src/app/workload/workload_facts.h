/*
 * app/workload/workload_facts.h: what a workload tells of itself (workload_ops: data_facts, plan_facts, epoch_facts,
 * result_facts), in the files of a run folder and in words. docs/formats.md has the forms.
 */
#pragma once

#include "app/workload/workload.h"

/* Version of run.json and summary.json: 2 has rows of facts. Lines of metrics.jsonl have schema 1. */
enum { RUN_FILE_SCHEMA = 2 };

/* "data" of run.json: kind, rows, name, hash, class_names where there are any, and facts. */
void workload_write_data(const workload *work, json_writer *json);
/* "facts" of summary.json. After gather_figures. */
void workload_write_result(const workload *work, json_writer *json);
/* The kind's objects in a line of metrics.jsonl. */
void workload_write_epoch(const workload *work, json_writer *json);

/* The plan, as --dry-run prints it. After plan. */
void workload_print_plan(const workload *work, FILE *out);
/* Lines below the closing table. After gather_figures. */
void workload_print_closing(const workload *work, FILE *out);

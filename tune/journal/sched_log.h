/*
 * tune/journal/sched_log.h: what a scheduler did, as lines of a journal, and done again.
 *
 *     start    trial until                       sched_next; a search adds the trial's parameters
 *     resume   trial from until [source]         sched_next; source: pbt, whose weights are taken
 *     report   trial resource value decision     sched_report; value null: no finite number
 *     remove   trial                             sched_remove
 *     limit    trials                            sched_limit
 *
 * Schedulers are functions of their calls, so a line is a call and its answer, and replay makes the calls and compares
 * the answers. Afterwards the scheduler has the digest that it had, and trials that ran are running still: their next
 * reports are those that come when they go on from their last checkpoints.
 */
#pragma once

#include "tune/journal/journal.h"
#include "tune/sched/sched.h"

/* Each begins a line, to which the caller may add members of other names before journal_end. work: START or RESUME. */
weft_status sched_log_work(journal *j, const sched_work *work, json_writer **json);
weft_status sched_log_report(journal *j, int trial, int64_t resource, double value, sched_decision decision,
                             json_writer **json);
weft_status sched_log_remove(journal *j, int trial, json_writer **json);
weft_status sched_log_limit(journal *j, int trials, json_writer **json);

/* Does what the line says. [out] known: false if it is none of the five events, and nothing was done. WEFT_ERR_DATA: a
 * member is missing or impossible, or the scheduler answers otherwise. */
weft_status sched_log_apply(sched *s, const journal_line *line, bool *known);

/*
 * bench/tune/journal_rates.c: what the journal of a search and its scheduler cost, without training.
 *
 *     journal_rates FILE [TRIALS]
 *
 * Makes FILE anew for groups of 1, 8 and 64 lines a commit: fifo trials of one report each, two lines a trial. Prints
 * milliseconds a trial, of the whole and of this process's processor time, and what replay takes, whose state must be
 * the one that was live.
 */
#include <unistd.h>

#include "base/clock.h"
#include "support/test.h"
#include "tune/journal/sched_log.h"

static const char space[] = "00";

static weft_status run_trial(sched *s, journal *j, int trial)
{
    sched_work work;
    sched_decision decision;
    json_writer *json = NULL;
    WEFT_TRY(sched_next(s, &work));
    WEFT_TRY(sched_log_work(j, &work, &json));
    json_real(json, "lr", 0.001 * trial);
    WEFT_TRY(journal_end(j));
    WEFT_TRY(sched_report(s, trial, 1, 1.0 / (1 + trial), &decision));
    WEFT_TRY(sched_log_report(j, trial, 1, 1.0 / (1 + trial), decision, &json));
    return journal_end(j);
}

static weft_status write_trials(const char *path, sched *s, int trials, int group)
{
    journal *j = NULL;
    weft_status status = WEFT_OK;
    WEFT_TRY(journal_create(path, space, &j));
    for (int i = 0; i < trials && status == WEFT_OK; i++) {
        status = run_trial(s, j, i);
        if (status == WEFT_OK && journal_lines(j) % group < 2) {
            status = journal_commit(j);
        }
    }
    status = status == WEFT_OK ? journal_commit(j) : status;
    journal_close(j);
    return status;
}

static weft_status apply(void *self, const journal_line *line)
{
    bool known = false;
    return sched_log_apply(self, line, &known);
}

static void print_group(const char *path, int trials, int group)
{
    const sched_desc desc = {.kind = SCHED_KIND_FIFO, .max_resource = 1};
    sched *s = NULL, *again = NULL;
    journal_facts facts;
    (void)unlink(path);
    ASSERT_OK(sched_open(&desc, &s));
    ASSERT_OK(sched_open(&desc, &again));
    const double began = clock_seconds(), used = clock_cpu_seconds();
    ASSERT_OK(write_trials(path, s, trials, group));
    const double written = clock_seconds(), computed = clock_cpu_seconds();
    ASSERT_OK(journal_read(path, &(journal_reader){.space = space, .visit = apply, .self = again}, &facts));
    const double replayed = clock_seconds();
    assert_true(sched_digest(s) == sched_digest(again));
    printf("%5d lines a commit: %8.4f ms a trial, %.4f of the processor; replay %.4f ms a trial; %lld lines\n", group,
           (written - began) / trials * 1e3, (computed - used) / trials * 1e3, (replayed - written) / trials * 1e3,
           (long long)facts.lines);
    sched_close(s);
    sched_close(again);
    (void)unlink(path);
}

int main(int argc, char **argv)
{
    const int trials = argc > 2 ? atoi(argv[2]) : 1000;
    if (argc < 2 || trials < 1) {
        fprintf(stderr, "usage: journal_rates FILE [TRIALS]\n");
        return 2;
    }
    for (int group = 1; group <= 64; group *= 8) {
        print_group(argv[1], trials, group);
    }
    return 0;
}

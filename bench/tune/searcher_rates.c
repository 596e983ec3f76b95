/*
 * bench/tune/searcher_rates.c: what suggestions cost, and how much of a core rank 0 needs for 64 trials that run.
 *
 *     searcher_rates FOLDER [TRIALS]
 *
 * First a row for each kind of searcher: milliseconds of a suggestion, of processor time, once 100, 200, 500 and TRIALS
 * (1,000) trials of five numbers have ended. Then 64 trials that run beside each other and report once each, to the
 * desk's parts that rank 0 runs: scheduler, tpe, and the journal in FOLDER with a wait for the disk a report. Its processor time a
 * report says how many reports a second make 2 % of a core.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sample.h"
#include "support/test.h"
#include "tune/journal/sched_log.h"
#include "tune/search/searcher.h"

enum { DIMENSIONS = 5, RUNNING = 64, REPORTS = 2000, SAMPLES = 40 };

static const char *const searchers[] = {SEARCHER_KINDS(CHOICE_NAME)};

static void make_space(search_space *space)
{
    *space = (search_space){0};
    for (int d = 0; d < DIMENSIONS; d++) {
        ASSERT_OK(space_add(
            space, &(space_dimension){.name = {(char)('a' + d)}, .kind = SPACE_RANGE, .low = 0.0, .high = 1.0}));
    }
}

static double loss(const double *values)
{
    double sum = 0.0;
    for (int d = 0; d < DIMENSIONS; d++) {
        sum += (values[d] - 0.3) * (values[d] - 0.3);
    }
    return sum;
}

/* Random trials until there are so many, then the median seconds of a suggestion, each of which ends. */
static double suggestion(const search_space *space, searcher_kind kind, int trials)
{
    double values[DIMENSIONS], second[SAMPLES];
    searcher *random = NULL, *s = NULL;
    int64_t trial;
    ASSERT_OK(searcher_open(space, &(searcher_desc){.kind = SEARCHER_RANDOM, .seed = 1}, &random));
    ASSERT_OK(searcher_open(space, &(searcher_desc){.kind = kind, .seed = 1, .grid = 3}, &s));
    for (int i = 0; i < trials - SAMPLES; i++) {
        ASSERT_OK(searcher_suggest(random, values, &trial));
        ASSERT_OK(searcher_begin(s, values, &trial));
        ASSERT_OK(searcher_report(s, trial, loss(values)));
    }
    for (int i = 0; i < SAMPLES; i++) {
        const double began = clock_cpu_seconds();
        ASSERT_OK(searcher_suggest(s, values, &trial));
        second[i] = clock_cpu_seconds() - began;
        ASSERT_OK(searcher_report(s, trial, loss(values)));
    }
    searcher_close(random);
    searcher_close(s);
    sample_sort(second, SAMPLES);
    return sample_quantile(second, SAMPLES, 0.5);
}

static void print_suggestions(const search_space *space, int most)
{
    const int counts[] = {100, 200, 500, most};
    printf("%-8s", "searcher");
    for (int i = 0; i < 4; i++) {
        printf(" %6d trials", counts[i]);
    }
    printf("   (ms a suggestion)\n");
    for (int kind = SEARCHER_RANDOM; kind <= SEARCHER_GP; kind++) {
        printf("%-8s", searchers[kind]);
        for (int i = 0; i < 4; i++) {
            printf(" %13.4f", 1e3 * suggestion(space, (searcher_kind)kind, counts[i]));
        }
        printf("\n");
    }
}

/* One trial ends and the next one begins, as often as REPORTS says, with RUNNING of them running. */
static void print_rank_0(const search_space *space, const char *folder)
{
    const sched_desc desc = {.kind = SCHED_KIND_FIFO, .max_resource = 1};
    char path[4096];
    double values[DIMENSIONS], (*config)[DIMENSIONS] = NULL;
    sched *scheduler = NULL;
    searcher *s = NULL;
    journal *j = NULL;
    json_writer *json;
    sched_work work;
    sched_decision decision;
    int64_t trial;
    (void)snprintf(path, sizeof path, "%s/searcher_rates.jsonl", folder);
    (void)unlink(path);
    ASSERT_OK(WEFT_NEW(&config, RUNNING + REPORTS, WEFT_MEM_GENERAL));
    ASSERT_OK(sched_open(&desc, &scheduler));
    ASSERT_OK(searcher_open(space, &(searcher_desc){.kind = SEARCHER_TPE, .seed = 1}, &s));
    ASSERT_OK(journal_create(path, "00", &j));
    const double began = clock_cpu_seconds();
    for (int i = 0; i < RUNNING + REPORTS; i++) {
        if (i >= RUNNING) {
            const int ends = i - RUNNING;
            ASSERT_OK(sched_report(scheduler, ends, 1, loss(config[ends]), &decision));
            ASSERT_OK(sched_log_report(j, ends, 1, loss(config[ends]), decision, &json));
            ASSERT_OK(journal_end(j));
            ASSERT_OK(searcher_report(s, ends, loss(config[ends])));
        }
        ASSERT_OK(sched_next(scheduler, &work));
        ASSERT_OK(searcher_suggest(s, values, &trial));
        memcpy(config[trial], values, sizeof values);
        ASSERT_OK(sched_log_work(j, &work, &json));
        ASSERT_OK(journal_end(j));
        ASSERT_OK(journal_commit(j));
    }
    const double each = (clock_cpu_seconds() - began) / (RUNNING + REPORTS);
    printf("rank 0, tpe, %d trials running, %d ended: %.3f ms a trial; 64 trials that end once in %.2f s take 2 %% of "
           "a core\n",
           RUNNING, REPORTS, 1e3 * each, RUNNING * each / 0.02);
    journal_close(j);
    searcher_close(s);
    sched_close(scheduler);
    weft_free(config);
    (void)unlink(path);
}

int main(int argc, char **argv)
{
    search_space space;
    if (argc < 2) {
        fprintf(stderr, "usage: searcher_rates FOLDER [TRIALS]\n");
        return 2;
    }
    make_space(&space);
    print_suggestions(&space, argc > 2 ? atoi(argv[2]) : 1000);
    print_rank_0(&space, argv[1]);
    space_free(&space);
    return 0;
}

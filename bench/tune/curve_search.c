/*
 * bench/tune/curve_search.c: one search whose trainings are learning curves that another program answers.
 *
 *     curve_search SCHEDULER GRACE SEARCHER SEED EPOCHS BUDGET
 *
 * The space is that of LCBench. Each new trial is a line of its seven values on stdout; its answer on stdin is the
 * accuracy after each of EPOCHS epochs. One trial trains at a time until BUDGET epochs are spent. The last line is
 * "best", the largest accuracy that was seen, and the number of trials. bench/tune/live_curves.py starts it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"
#include "tune/sched/sched.h"
#include "tune/search/searcher.h"

enum { EPOCHS_MOST = 1000 };

typedef struct curve_trial {
    double value[EPOCHS_MOST];
} curve_trial;

static const char *const scheds[] = {SCHED_KINDS(CHOICE_NAME)};
static const char *const searchers[] = {SEARCHER_KINDS(CHOICE_NAME)};

static int find(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    fprintf(stderr, "curve_search: '%s' is neither a scheduler nor a searcher\n", name);
    exit(2);
}

static void make_space(search_space *space)
{
    static const space_dimension dimensions[] = {
        {.name = "batch_size", .kind = SPACE_INTEGER_LOG, .low = 16.0, .high = 512.0},
        {.name = "learning_rate", .kind = SPACE_LOG, .low = 1e-4, .high = 0.1},
        {.name = "momentum", .kind = SPACE_RANGE, .low = 0.1, .high = 0.99},
        {.name = "weight_decay", .kind = SPACE_RANGE, .low = 1e-5, .high = 0.1},
        {.name = "num_layers", .kind = SPACE_INTEGER, .low = 1.0, .high = 5.0},
        {.name = "max_units", .kind = SPACE_INTEGER_LOG, .low = 64.0, .high = 1024.0},
        {.name = "max_dropout", .kind = SPACE_RANGE, .low = 0.0, .high = 1.0},
    };
    *space = (search_space){0};
    for (size_t d = 0; d < sizeof dimensions / sizeof *dimensions; d++) {
        ASSERT_OK(space_add(space, &dimensions[d]));
    }
}

static void ask_curve(const search_space *space, const double *values, int epochs, curve_trial *trial)
{
    for (int d = 0; d < space->count; d++) {
        printf("%.17g%c", values[d], d + 1 < space->count ? ' ' : '\n');
    }
    fflush(stdout);
    for (int e = 0; e < epochs; e++) {
        assert_int_equal(scanf("%lf", &trial->value[e]), 1);
    }
}

/* What app/tune/search_desk.c tells a searcher. */
static void tell(searcher *s, const sched_trial *t, int trial, int epochs)
{
    if (t->state == SCHED_COMPLETED) {
        ASSERT_OK(searcher_report(s, trial, -t->best));
    } else {
        ASSERT_OK(searcher_report_part(s, trial, (double)t->resource / epochs, -t->best));
    }
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr, "usage: curve_search SCHEDULER GRACE SEARCHER SEED EPOCHS BUDGET\n");
        return 2;
    }
    const int epochs = atoi(argv[5]);
    int64_t budget = atoll(argv[6]), trials = 0;
    const sched_desc sched_of = {.kind = (sched_kind)find(scheds, SCHED_PBT, argv[1]),
                                 .maximise = true,
                                 .max_resource = epochs,
                                 .grace = atoll(argv[2])};
    const searcher_desc searcher_of = {.kind = (searcher_kind)find(searchers, SEARCHER_GP + 1, argv[3]),
                                       .seed = strtoull(argv[4], NULL, 10),
                                       .grid = 2};
    search_space space;
    sched *scheduler = NULL;
    searcher *chooser = NULL;
    curve_trial *trial = NULL;
    double values[SPACE_DIMENSIONS_MAX], best = 0.0;
    make_space(&space);
    ASSERT_OK(sched_open(&sched_of, &scheduler));
    ASSERT_OK(searcher_open(&space, &searcher_of, &chooser));
    ASSERT_OK(WEFT_NEW(&trial, budget, WEFT_MEM_GENERAL));
    while (budget > 0) {
        sched_work work;
        sched_decision decision = SCHED_CONTINUE;
        ASSERT_OK(sched_next(scheduler, &work));
        if (work.action == SCHED_START) {
            ASSERT_OK(searcher_suggest(chooser, values, &trials));
            ask_curve(&space, values, epochs, &trial[work.trial]);
        }
        for (int64_t epoch = work.from + 1; decision == SCHED_CONTINUE && budget > 0; epoch++, budget--) {
            const double value = trial[work.trial].value[epoch - 1];
            best = value > best ? value : best;
            ASSERT_OK(sched_report(scheduler, work.trial, epoch, value, &decision));
        }
        if (decision != SCHED_CONTINUE) {
            tell(chooser, sched_trial_at(scheduler, work.trial), work.trial, epochs);
        }
    }
    printf("best %.9g %lld\n", best, (long long)trials + 1);
    searcher_close(chooser);
    sched_close(scheduler);
    space_free(&space);
    weft_free(trial);
    return 0;
}

/*
 * app/tune/search_desk.h: what rank 0 knows of a search: the space, who suggests configurations, who says how far each
 * trains, and the journal that brings all of it back.
 *
 *     desk_open                       the search's folder: a new journal, or one that is read again
 *     desk_next(&order)               what the ranks train next; the journal has it before it is returned
 *     desk_report(trial, ...)         a score; the answer says whether the trial trains on
 *     desk_fail(trial, ...)           a trial that cannot be trained is a result, too
 *     desk_close
 *
 * One process calls; nothing here knows ranks. Scores are turned so that the larger one is the better one.
 */
#pragma once

#include "app/options/app_options.h"
#include "base/file.h"
#include "tune/journal/sched_log.h"
#include "tune/search/searcher.h"

enum { DESK_WORDS = 200 };

typedef struct desk_trial {
    double *values; /* [dimensions] */
    uint64_t seed;
    double seconds;          /* of training, over all its parts */
    char failed[DESK_WORDS]; /* why it cannot be trained; "": nothing failed */
} desk_trial;

typedef struct desk_order {
    bool over;  /* nothing is left to train */
    bool waits; /* nothing until a trial that trains reports */
    int trial;
    int64_t from, until; /* epochs */
    uint64_t seed;
} desk_order;

typedef struct search_desk {
    const search_space *space;
    int64_t unit; /* epochs between scores, which are the scheduler's resource */
    sched *sched;
    searcher *searcher;
    journal *journal;
    desk_trial *trial; /* [trials] */
    int trials, room;
    int known;  /* trials of a journal that was read again */
    int again;  /* of those, trials below this were looked at for those that ran when it ended */
    bool lower; /* a lower score is the better one, for those who print */
} search_desk;

/* What options say of who suggests configurations; repeats: a configuration may be trained more than once. */
searcher_desc desk_searcher(const weft_options *options, int64_t trials, bool repeats);
/* WEFT_ERR_USAGE: options contradict each other, or the space. Writes nothing. */
weft_status desk_check(const weft_options *options, const search_space *space);
/*
 * options: of `weft tune`. path: of the journal. base: names all that scores depend on beside the space, in words; a
 * journal of another search is refused with WEFT_ERR_USAGE. resume: it is read again, where there is one. Free with
 * desk_close, also after a failure.
 */
weft_status desk_open(const weft_options *options, const search_space *space, const char *path, const char *base,
                      bool resume, search_desk *desk);
void desk_close(search_desk *desk);

weft_status desk_next(search_desk *desk, desk_order *order);
/* epoch: a multiple of desk->unit, or the last. [out] stops: the trial does not train beyond this epoch. */
weft_status desk_report(search_desk *desk, int trial, int64_t epoch, double score, bool *stops);
/* The trial's part is over: seconds that it took; failed: NULL, or why it will never go on. */
weft_status desk_end(search_desk *desk, int trial, double seconds, const char *failed);
/* [out] trial: the one that is taken for the best, -1: none has a score. */
weft_status desk_best(search_desk *desk, int *trial);

/*
 * app/tune/search_desk.h: what rank 0 knows of a search: the space, who suggests configurations, who says how far each
 * trains, and the journal that brings all of it back.
 *
 *     desk_open                       the search's folder: a new journal, or one that is read again
 *     desk_next(&order)               what the ranks train next
 *     desk_report(trial, ...)         a score; the answer says whether the trial trains on
 *     desk_fail(trial, ...)           a trial that cannot be trained is a result, too
 *     desk_close
 *
 * Nobody acts on an answer before the journal is committed: the caller's duty, who commits for several answers at once.
 *
 * A file `cancel` in the search's folder has numbers of trials that the user ends, a line each: those that pause end at
 * once, those that train at their next score.
 *
 * One process calls; nothing here knows ranks. Scores are turned so that the larger one is the better one.
 */
#pragma once

#include "app/options/app_options.h"
#include "base/file.h"
#include "tune/journal/sched_log.h"
#include "tune/search/front.h"
#include "tune/search/searcher.h"

enum { DESK_WORDS = 200 };

typedef struct desk_trial {
    double *values; /* [dimensions] */
    char *settings; /* of a trial that is outside: lines of name=value, as its own space had them; NULL: not known */
    uint64_t seed;
    int64_t number;                  /* with the searcher; -1: the space was changed, and the trial is outside */
    double seconds, rank_seconds;    /* of training, over all its parts; the latter times their ranks */
    double at_best[OBJECTIVES_MOST]; /* [objectives] where the first one was best; NaN: no report yet */
    bool ends;                       /* the user has said so */
    bool unended;                    /* of a journal that was read again, which does not say that its last part ended */
    bool busy;                       /* ranks have it: from its order until desk_end, when its checkpoint is written */
    char failed[DESK_WORDS];         /* why it does not train on; "": nothing failed */
} desk_trial;

/* One report of a trial; the larger value is the better one. */
typedef struct desk_score {
    int trial;
    int64_t epoch;
    double value;
} desk_score;

/* What a seat reports after an epoch. */
typedef struct desk_news {
    int64_t epoch;
    int32_t trial;
    uint32_t lower;                /* bit k: a lower figure of objective k is the better one, for those who print */
    double value[OBJECTIVES_MOST]; /* [objectives] schedulers go by the first; none is a number: it diverged */
} desk_news;

/* A part of a trial's training that is over. */
typedef struct desk_ended {
    int32_t trial, ranks; /* that trained it together */
    double seconds;       /* that it took */
} desk_ended;

typedef struct desk_order {
    bool over;  /* nothing is left to train */
    bool waits; /* nothing until a trial that trains reports */
    int trial;
    int64_t from, until; /* epochs */
    uint64_t seed;
    int seats; /* that train it together (app/tune/search_crew.h), set by who gives it to them */
} desk_order;

/* pbt: a trial went on from the checkpoint of another one, or began (source -1), with these values. */
typedef struct desk_descent {
    int trial, source;
    int64_t resource;
    double *values; /* [dimensions] */
} desk_descent;

typedef struct search_desk {
    const search_space *space;
    const char *folder;
    int64_t limit;       /* trials that are begun */
    int64_t unit;        /* epochs between scores, which are the scheduler's resource */
    int64_t runs;        /* trials of each suggested configuration, one after another */
    double repeat_share; /* of all epochs, in which leading configurations train again once promotions are over */
    int64_t epochs_most; /* budgets, 0: none */
    double rank_hours_most;
    bool spent; /* a budget is: no part begins any more */
    sched *sched;
    searcher *searcher;
    journal *journal;
    desk_trial *trial; /* [trials] */
    int trials, room;
    int outside;       /* of the trials: see desk_trial.number */
    desk_score *score; /* [scores] all reports, in their order */
    int scores, score_room;
    desk_descent *descent;             /* [descents] */
    int descents, descent_room, moved; /* moved: exchanges of the scheduler whose checkpoints were copied */
    desk_order held;                   /* for a trial whose ranks still write the checkpoint that it goes on from */
    bool holds;
    int known;            /* trials of a journal that was read again */
    int again;            /* of those, trials below this were looked at for what a killed search left undone */
    int64_t cancel_bytes; /* of the file `cancel` that were read */
    int objectives;
    uint32_t lower; /* see desk_news */
} search_desk;

/* What options say of who suggests configurations; repeats: a configuration may be trained more than once. */
searcher_desc desk_searcher(const weft_options *options, int64_t trials, bool repeats);
/* WEFT_ERR_USAGE: options contradict each other, or the space. Writes nothing. */
weft_status desk_check(const weft_options *options, const search_space *space);
/* The subject of a search. base: all that scores depend on beside the space, in words; text: the space's file. */
typedef struct desk_subject {
    const char *base, *text;
} desk_subject;

/*
 * options: of `weft tune`. objectives: values of a report. folder: exists and outlives the desk; the journal is
 * its trials.jsonl. A journal of another search is refused with WEFT_ERR_USAGE; with --force that of another space is
 * brought to this one: trials whose settings it has not are kept as history. resume: the journal is read again, where
 * there is one, and goes on to the number of trials that options say now. Free with desk_close, also after a failure.
 */
weft_status desk_open(const weft_options *options, int objectives, const search_space *space, const char *folder,
                      const desk_subject *subject, bool resume, search_desk *desk);
/* [out] path [FILE_PATH_MAX]: of a trial's folder, or of a file in it; name NULL: the folder. */
weft_status desk_trial_path(const char *folder, int trial, const char *name, char *path);
void desk_close(search_desk *desk);

weft_status desk_next(search_desk *desk, desk_order *order);
/* news->epoch: a multiple of desk->unit, or the last. [out] stops: the trial does not train beyond this epoch. */
weft_status desk_report(search_desk *desk, const desk_news *news, bool *stops);
/* A trial's part is over; failed: NULL, or why the trial will never go on. */
weft_status desk_end(search_desk *desk, const desk_ended *ended, const char *failed);
/* Epochs of the shortest part of a training: up to the first rung, where there are rungs. */
int64_t desk_first_part(const search_desk *desk);
/* [out] trial: the one that is taken for the best, -1: none has a score; leader: what the searcher says of its
 * configuration, whose trial is -1 where it says nothing. */
weft_status desk_best(search_desk *desk, int *trial, searcher_leader *leader);
/* The trial of the space that has the best score, whatever the others of its configuration have; -1: there is none. */
int desk_best_score(const search_desk *desk);

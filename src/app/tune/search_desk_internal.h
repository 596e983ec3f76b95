/* app/tune/search_desk_internal.h: what the files search_desk*.c and search_respace.c share. */
#pragma once

#include "app/tune/search_desk.h"

/* The journal of the desk's folder: a new one, or the one that is read again. Needs the deciders, and sets everything
 * that follows from the journal. (app/tune/search_desk_journal.c) */
weft_status desk_open_journal(const weft_options *options, const desk_subject *subject, bool resume, search_desk *d);

/*
 * Brings a journal of another space to this one, whose digest with all options is `name`: trials whose settings are in
 * both keep their numbers and results, all others are marked. The journal as it was stays beside it, as
 * trials-before-1.jsonl. rest: digest of the options without the space. Does nothing where the journal has this space,
 * or there is none. WEFT_ERR_USAGE: more than the space has changed, or the journal does not say its space.
 * (app/tune/search_respace.c)
 */
weft_status desk_respace(const search_desk *d, const char *path, const char *name, const char *rest, const char *text);
/* The line of a journal that says its space. */
weft_status desk_log_space(journal *j, const char *rest, const char *text);

/* number: the trial's own with the searcher, or DESK_OUTSIDE. */
enum { DESK_OUTSIDE = -1 };
weft_status desk_add_trial(search_desk *d, const double *values, uint64_t seed, int64_t number);
/* After a report: the trial's score, and all objectives where the first one is best. value [objectives] */
weft_status desk_add_score(search_desk *d, int trial, const double *value);
bool desk_is_population(const search_desk *d);
/* What the searcher hears of a trial that does not train on now; it looks for small numbers. */
weft_status desk_tell_searcher(search_desk *d, int trial);
/* A trial that the user ended says nothing about its configuration. */
weft_status desk_forget(search_desk *d, int trial);

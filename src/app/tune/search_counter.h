/*
 * app/tune/search_counter.h: rank 0's desk, asked by several threads: one call at a time, in one order.
 *
 * An answer goes out once its lines are on the disk. Threads that wait for the disk leave the desk to others, and one
 * of them waits for all: with many seats a wait for the disk serves many answers.
 */
#pragma once

#include <pthread.h>

#include "app/tune/search_crew.h"

typedef struct search_counter {
    search_desk *desk;
    search_crew crew;
    pthread_mutex_t mutex;
    pthread_cond_t news; /* there may be work for those that wait */
    pthread_cond_t disk; /* more lines are on it */
    int64_t synced;      /* lines of the journal that are on the disk */
    bool syncing;        /* a thread waits for the disk */
    bool ends;           /* a seat has left: no other begins a part */
    weft_status failed;  /* of the desk */
    char words[FILE_PATH_MAX];
} search_counter;

/* desk: outlives the counter. seats, most: see crew_open. Close also after a failure. */
weft_status counter_open(search_desk *desk, int seats, int most, search_counter *counter);
void counter_close(search_counter *counter);
/* The first failure of the desk, which every later call returns too. */
weft_status counter_failed(const search_counter *counter);
void counter_hold(search_counter *counter); /* the desk is the caller's until counter_release */
void counter_release(search_counter *counter);

/*
 * Waits a few seconds for work of the seat. leaves: it takes what it was given already, else it goes for good, and the
 * others are told that the search is over, for a part may need it. [out] order; values [dimensions] of its trial.
 */
weft_status counter_next(search_counter *counter, int seat, bool leaves, desk_order *order, double *values);
weft_status counter_report(search_counter *counter, const desk_news *news, bool *stops);
weft_status counter_end(search_counter *counter, const desk_ended *ended, const char *failed);

/*
 * comm/core/inquest.h: who is missing: what the ranks of a stalled job find out before it ends.
 *
 * When nothing moves for the stall timeout, every rank that waits knows only whom it waits for, and that rank may wait
 * itself. So each tells all others where it stands, on a lane of its own, and listens for a moment. Who stays silent is
 * stopped, dead or cut off: the root cause.
 *
 *      rank 0 waits for 3, rank 3 waits for 2, rank 1 waits for 2      rank 2 is silent: it is the cause
 *
 * A rank that stands still looks now and then whether another one calls (comm/core/progress_watch.c), so those that
 * began to wait later answer at once. The lowest rank that was heard speaks for all: the job ends with one block of
 * text. A cut network may leave two such ranks, one on each side.
 *
 * From the last progress to the end of a rank: the stall timeout T, at most T / 20 + 0.5 s (and 3 s) of listening, and
 * little more than a second until MPI has been told: below 1.2 T + 2 s.
 */
#pragma once

#include "comm/comm.h"

enum { INQUEST_TEXT_BYTES = 2048 };

typedef struct comm_inquest {
    bool speaks;                   /* this rank is the lowest that was heard */
    int silent;                    /* ranks that were not heard */
    char text[INQUEST_TEXT_BYTES]; /* the likely causes, then a line for each of the first ranks heard */
} comm_inquest;

/*
 * place: where this rank stands, for the others (the message of the stall). host: its node's name. Waits as long as the
 * head of this file says, less when everybody was heard. Never fails: what cannot be found out is left out. To be
 * called by every rank that fails with WEFT_ERR_STALL, just before it ends the job; the communicator is of no use
 * afterwards.
 */
void comm_hold_inquest(weft_comm *comm, const char *host, const char *place, comm_inquest *result);

/* Wait for so long, or until another rank calls to the inquest: true. For a rank that failed and lets others speak
 * first: who calls waits for it. */
bool comm_await_call(weft_comm *comm, double seconds);

/* ---- what is made of it: comm/core/inquest_text.c ---------------------------------------------------------------- */
enum { INQUEST_HOST_BYTES = 64, INQUEST_PLACE_BYTES = 320 };

typedef struct inquest_card {
    char host[INQUEST_HOST_BYTES], place[INQUEST_PLACE_BYTES];
} inquest_card;

typedef struct inquest_facts {
    int ranks;
    const bool *heard;        /* [ranks] */
    const inquest_card *card; /* [ranks], of those that were heard */
    const int *node_of;       /* [ranks] */
    double still_seconds;     /* since anything moved on this rank */
} inquest_facts;

/* The first cause named is the one that fits best to who is silent, and where. */
void inquest_write(const inquest_facts *facts, char *text, size_t bytes);

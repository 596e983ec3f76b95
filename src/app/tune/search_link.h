/*
 * app/tune/search_link.h: how the groups of ranks that train trials reach the desk, which is rank 0's.
 *
 * A group's first rank asks for work, reports scores and says when a part of a trial is over. Rank 0 asks its own desk,
 * the others ask over a socket each, whose thread on rank 0 sleeps but for the time of an answer. Calls are answered
 * one at a time, so the journal has them in one order. A rank that dies ends the job, and the journal has what was
 * answered.
 *
 *     link_serve(&desk, groups, &server, &place)     rank 0; place: address and secret, for all ranks (comm_bcast)
 *     link_open(&server or &place, &link)            the first rank of each group
 *     link_next, link_report, link_end               from epochs of its trial
 *     link_close, link_finish
 *
 * Messages hold numbers as this program has them: all ranks run one build on one kind of machine, as MPI's do here.
 */
#pragma once

#include "app/tune/search_desk.h"

enum { LINK_HOST_BYTES = 256, LINK_SECRET_BYTES = 16 };

typedef struct link_server link_server;

typedef struct link_place {
    char host[LINK_HOST_BYTES];
    int32_t port; /* 0: there is one group alone, and nobody listens */
    uint8_t secret[LINK_SECRET_BYTES];
} link_place;

typedef struct search_link {
    link_server *server; /* rank 0's */
    int socket;          /* of another group's first rank; -1: none */
    int dimensions;
} search_link;

/* Rank 0. Threads answer from now on. groups: others than rank 0's. alone: all of them are on this host, so no other is
 * listened to. WEFT_ERR_IO: no socket. */
weft_status link_serve(search_desk *desk, int groups, bool alone, link_server **server, link_place *place);
/* Rank 0 looks at its desk between these two; nobody is answered meanwhile. */
void link_hold(link_server *server);
void link_release(link_server *server);
/* Waits until all links are closed. Returns the first failure of the desk. */
weft_status link_finish(link_server *server);

/* server: rank 0's, else NULL. WEFT_ERR_IO: rank 0 cannot be reached, with the address. */
weft_status link_open(link_server *server, const link_place *place, int dimensions, search_link *link);
void link_close(search_link *link);

/* Waits a few seconds for work. [out] order: of work, or over, or it waits still; values: [dimensions] of its trial. */
weft_status link_next(search_link *link, desk_order *order, double *values);
/* As those of the desk. lower: a lower score is the better one, for those who print. */
weft_status link_report(search_link *link, int trial, int64_t epoch, double score, bool lower, bool *stops);
weft_status link_end(search_link *link, int trial, double seconds, const char *failed);

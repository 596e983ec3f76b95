/*
 * app/tune/search_link.h: how the seats that train trials reach the desk of rank 0 (app/tune/search_counter.h).
 *
 * A seat's first rank asks for work. The first rank of those that train a part reports scores and says when the part is
 * over. Rank 0 asks its own desk, the others ask over a socket each, whose thread on rank 0 sleeps but for the time of
 * an answer. A rank that dies ends the job, and the journal has what was answered.
 *
 *     link_serve(&desk, seats, most, alone, &server, &place)     rank 0; place: address and secret, for all ranks
 *     link_open(&server or NULL, &place, seat, ..., &link)       the first rank of each seat
 *     link_next, link_report, link_end                           from epochs of its trial
 *     link_close, link_finish
 *
 * Messages hold numbers as this program has them: all ranks run one build on one kind of machine, as MPI's do here.
 */
#pragma once

#include "app/tune/search_counter.h"

enum { LINK_HOST_BYTES = 256, LINK_SECRET_BYTES = 16 };

typedef struct link_server link_server;

typedef struct link_place {
    char host[LINK_HOST_BYTES];
    int32_t port; /* 0: there is one seat alone, and nobody listens */
    uint8_t secret[LINK_SECRET_BYTES];
} link_place;

typedef struct search_link {
    search_counter *counter; /* rank 0's */
    int socket;              /* of another seat's first rank; -1: none */
    int seat, dimensions;
} search_link;

/* Rank 0. Threads answer from now on. seats, most: see crew_open. alone: all of them are on this host, so no other is
 * listened to. WEFT_ERR_IO: no socket. */
weft_status link_serve(search_desk *desk, int seats, int most, bool alone, link_server **server, link_place *place);
search_counter *link_counter(link_server *server);
/* Waits until all links are closed, and for the disk. Returns the first failure of the desk. */
weft_status link_finish(link_server *server);

/* server: rank 0's, else NULL. WEFT_ERR_IO: rank 0 cannot be reached, with the address. */
weft_status link_open(link_server *server, const link_place *place, int seat, int dimensions, search_link *link);
void link_close(search_link *link);

/* As those of the counter. */
weft_status link_next(search_link *link, bool leaves, desk_order *order, double *values);
weft_status link_report(search_link *link, const desk_news *news, bool *stops);
weft_status link_end(search_link *link, const desk_ended *ended, const char *failed);

/* comm/core/inquest.c: cards to and from everybody, over the bare transport: the engine is what stalled. */
#include "comm/core/inquest.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/escape.h"
#include "comm/core/comm_internal.h"

enum { NAP_NANOSECONDS = 1000000 };

typedef struct inquest_room {
    inquest_card *card; /* [P] by rank */
    bool *heard;        /* [P] */
    void *request;      /* [2 P] cells: receive and send of the next rank, of the one after it, ... */
    int *ended;         /* [2 P] */
} inquest_room;

static weft_status room_create(const weft_comm *comm, inquest_room *room)
{
    size_t size = (size_t)comm_size(comm);
    size_t cell = comm->transport->ops->request_bytes;
    WEFT_TRY(WEFT_NEW_ZERO(&room->card, size, WEFT_MEM_COMM));
    WEFT_TRY(WEFT_NEW_ZERO(&room->heard, size, WEFT_MEM_COMM));
    WEFT_TRY(WEFT_NEW_ZERO(&room->ended, 2 * size, WEFT_MEM_COMM));
    WEFT_TRY(weft_malloc(2 * size, cell, WEFT_MEM_COMM, &room->request));
    memset(room->request, 0, 2 * size * cell);
    return WEFT_OK;
}

static void room_free(inquest_room *room)
{
    WEFT_FREE_ALL(room->card, room->heard, room->ended, room->request);
}

static void nap(void)
{
    struct timespec pause = {.tv_sec = 0, .tv_nsec = NAP_NANOSECONDS};
    nanosleep(&pause, NULL);
}

/* *pending: messages still under way when the time is over. */
static weft_status exchange_cards(weft_comm *comm, inquest_room *room, double patience, int *pending)
{
    transport *t = comm->transport;
    int rank = comm_rank(comm);
    int size = comm_size(comm);
    size_t cell = t->ops->request_bytes;
    char *cells = room->request;
    int missing = size - 1;
    for (int k = 1; k < size; ++k) {
        int q = (rank + k) % size;
        char *pair = cells + (size_t)*pending * cell;
        WEFT_TRY(t->ops->irecv(t, COMM_LANE_ALARM, q, 0, &room->card[q], sizeof *room->card, pair));
        WEFT_TRY(t->ops->isend(t, COMM_LANE_ALARM, q, 0, &room->card[rank], sizeof *room->card, pair + cell));
        *pending += 2;
    }
    for (double start = clock_seconds(); (missing > 0 || *pending > 0) && clock_seconds() - start < patience;) {
        int count = 0;
        WEFT_TRY(t->ops->test_some(t, cells, 2 * (size - 1), room->ended, &count));
        *pending -= count;
        for (int i = 0; i < count; ++i) {
            if (room->ended[i] % 2 == 0) {
                room->heard[(rank + 1 + room->ended[i] / 2) % size] = true;
                --missing;
            }
        }
        nap();
    }
    return WEFT_OK;
}

/* Long enough for ranks that stand still to notice the call, and a small part of a long timeout. */
static double patience_of(double stall_timeout)
{
    double patience = 0.5 + stall_timeout / 20.0;
    return patience < 3.0 ? patience : 3.0;
}

void comm_hold_inquest(weft_comm *comm, const char *host, const char *place, comm_inquest *result)
{
    inquest_room room = {0};
    int pending = 0;
    int rank = comm_rank(comm);
    *result = (comm_inquest){.speaks = true};
    snprintf(result->text, sizeof result->text, "%s", place);
    progress_lock(comm->progress);
    if (room_create(comm, &room) == WEFT_OK) {
        escape_text(room.card[rank].host, INQUEST_HOST_BYTES, host);
        escape_text(room.card[rank].place, INQUEST_PLACE_BYTES, place);
        room.heard[rank] = true;
        /* A transport that fails leaves what was heard until then. */
        (void)exchange_cards(comm, &room, patience_of(progress_stall_timeout(comm->progress)), &pending);
        for (int q = 0; q < comm_size(comm); ++q) {
            result->silent += !room.heard[q];
            result->speaks = result->speaks && (q >= rank || !room.heard[q]);
        }
        const inquest_facts facts = {.ranks = comm_size(comm),
                                     .heard = room.heard,
                                     .card = room.card,
                                     .node_of = comm->layout->node_of,
                                     .still_seconds = progress_still_seconds(comm->progress)};
        inquest_write(&facts, result->text, sizeof result->text);
    }
    progress_unlock(comm->progress);
    if (pending == 0) {
        room_free(&room);
    } /* else the transport may still use the cards: they stay until the process ends */
}

bool comm_await_call(weft_comm *comm, double seconds)
{
    bool called = false;
    for (double start = clock_seconds(); !called && clock_seconds() - start < seconds;) {
        progress_lock(comm->progress);
        called = comm->transport->ops->called(comm->transport, COMM_LANE_ALARM);
        progress_unlock(comm->progress);
        nap();
    }
    return called;
}

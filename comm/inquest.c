/* comm/inquest.c: cards to and from everybody, over the bare transport: the engine is what stalled. */
#include "comm/inquest.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "comm/comm_internal.h"

enum { PLACE_BYTES = 320, HOST_BYTES = 64, LINES = 8, NAMES = 16, NAP_NANOSECONDS = 1000000 };

typedef struct inquest_card {
    char host[HOST_BYTES], place[PLACE_BYTES];
} inquest_card;

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
    weft_free(room->card);
    weft_free(room->heard);
    weft_free(room->ended);
    weft_free(room->request);
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
        struct timespec nap = {.tv_sec = 0, .tv_nsec = NAP_NANOSECONDS};
        nanosleep(&nap, NULL);
    }
    return WEFT_OK;
}

/* ---- the text -------------------------------------------------------------------------------------------- */
typedef struct inquest_text {
    char *at;
    size_t left;
} inquest_text;

static void say(inquest_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(inquest_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text->at, text->left, format, args);
    va_end(args);
    size_t used = length < 0 ? 0 : (size_t)length < text->left ? (size_t)length : text->left - 1;
    text->at += used;
    text->left -= used;
}

static void name_silent(const inquest_room *room, int size, int silent, inquest_text *text)
{
    int named = 0;
    if (silent == 0) {
        say(text, "all %d ranks wait for each other: they do not post the same operations in the same order", size);
        return;
    }
    say(text, silent == 1 ? "rank" : "ranks");
    for (int q = 0; q < size && named < NAMES; ++q) {
        if (!room->heard[q]) {
            say(text, "%s %d", named++ == 0 ? "" : ",", q);
        }
    }
    say(text,
        "%s of %d %s not answer: stopped, dead, cut off from the network, or busy for longer than the stall timeout",
        silent > named ? ", ..." : "", size, silent == 1 ? "does" : "do");
}

static void write_text(const weft_comm *comm, const inquest_room *room, comm_inquest *result)
{
    inquest_text text = {result->text, sizeof result->text};
    int size = comm_size(comm);
    int lines = 0;
    name_silent(room, size, result->silent, &text);
    for (int q = 0; q < size && lines < LINES; ++q) {
        if (room->heard[q]) {
            say(&text, "\n    rank %d on %.*s: %.*s", q, HOST_BYTES - 1, room->card[q].host, PLACE_BYTES - 1,
                room->card[q].place);
            ++lines;
        }
    }
    if (size - result->silent > lines) {
        say(&text, "\n    ... and %d more ranks wait", size - result->silent - lines);
    }
}

void comm_hold_inquest(weft_comm *comm, const char *host, const char *place, double patience, comm_inquest *result)
{
    inquest_room room = {0};
    int pending = 0;
    int rank = comm_rank(comm);
    *result = (comm_inquest){.speaks = true};
    snprintf(result->text, sizeof result->text, "%s", place);
    progress_lock(comm->progress);
    if (room_create(comm, &room) == WEFT_OK) {
        snprintf(room.card[rank].host, HOST_BYTES, "%s", host);
        snprintf(room.card[rank].place, PLACE_BYTES, "%s", place);
        room.heard[rank] = true;
        /* A transport that fails leaves what was heard until then. */
        (void)exchange_cards(comm, &room, patience, &pending);
        for (int q = 0; q < comm_size(comm); ++q) {
            result->silent += !room.heard[q];
            result->speaks = result->speaks && (q >= rank || !room.heard[q]);
        }
        write_text(comm, &room, result);
    }
    progress_unlock(comm->progress);
    if (pending == 0) {
        room_free(&room);
    } /* else the transport may still use the cards: they stay until the process ends */
}

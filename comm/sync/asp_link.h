/*
 * comm/sync/asp_link.h: messages between sites whose size the receiver learns from their head.
 *
 * A message is a head of fixed size, then a payload if the head says so. It is an operation of its own in the engine of
 * comm/core/progress.h, posted and then tested or waited for, like any other. The engine may start operations in
 * another order than that of their posting: the number that both sides give a message is its tag, so that each is
 * received in its own place.
 *
 *      sender     post: head and payload leave together
 *      receiver   post: head ... its size is checked against the room ... payload ... ended
 */
#pragma once

#include "comm/core/progress.h"
#include "comm/core/transfer.h"

typedef struct asp_head {
    int64_t clock;   /* of the site that speaks */
    int64_t run;     /* which values; -1: there is no more (inside a site) */
    int64_t entries; /* comm/sync/significance.h */
    int64_t bytes;   /* of the payload */
} asp_head;

typedef enum asp_message_phase { MESSAGE_HEAD, MESSAGE_HEAD_MOVES, MESSAGE_PAYLOAD_MOVES } asp_message_phase;

typedef struct asp_message {
    comm_operation operation; /* first: the engine sees only this */
    comm_transfers transfers;
    int peer;
    bool sends, posted; /* posted: and its end not taken note of */
    asp_message_phase phase;
    asp_head head; /* receiver: filled */
    void *payload;
    int64_t room; /* bytes of the payload at most */
} asp_message;

/* payload: fixed for the message's life. */
weft_status asp_message_init(asp_message *message, weft_comm *comm, int peer, bool sends, void *payload, int64_t room);
/* A zeroed message is fine; cancels. */
void asp_message_free(asp_message *message);
/* Sender: head and payload are set. number: modulo TRANSPORT_TAGS unlike those under way between the two. Not while it
 * is under way itself. */
void asp_message_post(asp_message *message, int64_t number);
/* Ended? Drives, never waits. */
weft_status asp_message_test(asp_message *message, bool *done);
weft_status asp_message_wait(asp_message *message);

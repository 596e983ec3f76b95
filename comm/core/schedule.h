/*
 * comm/core/schedule.h: a collective as a list of steps, and the state machine that runs it.
 *
 * An algorithm (comm/coll) writes down once what its rank does: rounds of messages that travel together, each followed
 * by local work on what arrived. Running the list needs no memory and no knowledge of the algorithm:
 *
 *      round 0   send, receive, ...   | when all arrived: reduce, copy
 *      round 1   send, receive, ...   | reduce, copy
 *
 *      schedule_begin(s, comm, lane, "name");
 *      schedule_scratch(s, bytes, &scratch);              at most once, before the steps
 *      schedule_round(s, "phase");  schedule_send(...); schedule_receive(...); schedule_reduce(...); ...
 *      WEFT_TRY(schedule_end(s));
 *
 * Building never fails in between: the first failure is kept and returned by schedule_end. A schedule that is built
 * again keeps its memory, so the blocking collectives reuse one.
 */
#pragma once

#include "base/trace/trace.h"
#include "comm/comm.h"
#include "comm/core/progress.h"
#include "comm/core/transfer.h"

typedef enum schedule_step_kind {
    STEP_SEND,
    STEP_RECEIVE,
    STEP_REDUCE,
    STEP_COPY,
    STEP_ENCODE,
    STEP_DECODE,
    STEP_DECODE_ADD,
    STEP_CALL,
    STEP_TRY,
    STEP_AWAIT
} schedule_step_kind;

/* Local work of an algorithm; runs on whichever thread drives. post: 1 for the first time the schedule was posted. */
typedef weft_status (*schedule_fn)(void *argument, uint64_t post);
/* The same where what it works on may come late: *done false, and it is called again; never blocks. */
typedef weft_status (*schedule_try_fn)(void *argument, bool *done);
/* Whether what a step waits for has happened (a flag in shared memory); never blocks. */
typedef bool (*schedule_ready_fn)(void *argument, uint64_t post);

typedef struct schedule_step {
    schedule_step_kind kind;
    int round;
    int peer;
    weft_dtype dtype;
    comm_op op;
    comm_wire wire;
    int64_t amount; /* bytes; elements of a reduction, encoding or decoding */
    void *to;
    const void *left, *right; /* what is sent or copied is `left` */
    /* Of a transfer whose size is known only when its round begins; NULL: the fields above hold. */
    const int64_t *late_bytes;
    union {
        schedule_fn call;
        schedule_try_fn attempt;
        schedule_ready_fn ready;
    } fn;
    void *argument;
} schedule_step;

typedef enum schedule_phase { SCHEDULE_POST, SCHEDULE_TRANSFER, SCHEDULE_LOCAL, SCHEDULE_DONE } schedule_phase;

/* The round that is under way, for the trace: named by its label, "inter" when it sends to or hears from another node.
 */
typedef struct schedule_span {
    int round; /* -1: none */
    trace_category category;
    double begin;
    int64_t bytes; /* sent; -1: no messages */
} schedule_span;

typedef struct comm_schedule {
    comm_operation operation; /* first: the engine sees only this */
    weft_comm *comm;
    schedule_step *step;
    int64_t steps, step_capacity;
    const char **label; /* [rounds] the algorithm's own phase names */
    int64_t rounds, label_capacity;
    void *scratch;
    int64_t scratch_bytes;
    comm_transfers transfers;
    weft_status build_status;
    const int *member; /* peers named while building are member[peer]; NULL: ranks of the communicator */
    /* running */
    uint64_t posts;
    int missing;      /* who has not come, set by a ready function that awaits several ranks; -1: the step's peer */
    unsigned blocked; /* looks at a flag that was not there yet */
    schedule_phase phase;
    int64_t cursor;
    schedule_span span;
} comm_schedule;

void schedule_begin(comm_schedule *s, weft_comm *comm, comm_lane lane, const char *name);
/* Begins the steps of a schedule anew, between two posts, whose number goes on. */
void schedule_again(comm_schedule *s);
void schedule_scratch(comm_schedule *s, int64_t bytes, void **scratch);
/* From here on peers are numbers in a group of ranks: member[peer] is the rank. NULL ends it. The array must live
 * until schedule_end. */
void schedule_members(comm_schedule *s, const int *member);
void schedule_round(comm_schedule *s, const char *label);
void schedule_send(comm_schedule *s, int peer, const void *data, int64_t bytes);
void schedule_receive(comm_schedule *s, int peer, void *data, int64_t bytes);
/* to = left op right; `to` may be either. The order matters to the bits (NaN payloads, signed zeros). */
void schedule_reduce(comm_schedule *s, weft_dtype dtype, comm_op op, void *to, const void *left, const void *right,
                     int64_t count);
void schedule_copy(comm_schedule *s, void *to, const void *from, int64_t bytes);
/* float32 to the wire's type, and back: `to` = decoded, or += decoded. */
void schedule_encode(comm_schedule *s, comm_wire wire, void *to, const float *from, int64_t count);
void schedule_decode(comm_schedule *s, comm_wire wire, float *to, const void *from, int64_t count);
void schedule_decode_add(comm_schedule *s, comm_wire wire, float *to, const void *from, int64_t count);
/* Transfers of *bytes, read when the round begins (0: nothing is sent) and never more than `most`, which reserves room
 * for the messages. Both sides must agree by then. */
void schedule_send_late(comm_schedule *s, int peer, const void *data, const int64_t *bytes, int64_t most);
void schedule_receive_late(comm_schedule *s, int peer, void *data, const int64_t *bytes, int64_t most);
/* Local work: a failure ends the operation with its status. */
void schedule_call(comm_schedule *s, schedule_fn fn, void *argument);
void schedule_try(comm_schedule *s, schedule_try_fn fn, void *argument);
/* Wait, without blocking the driver, until fn says so. peer: who is named when it never does, unless fn sets
 * s->missing.
 */
void schedule_await(comm_schedule *s, int peer, schedule_ready_fn fn, void *argument);
weft_status schedule_end(comm_schedule *s);

/* Post on its lane. A failure of the first steps is told by the test or wait. */
void schedule_post(comm_schedule *s);
/* Take a pass unless it has ended; the status when it has. */
weft_status schedule_test(comm_schedule *s, bool *done);
/* The time counts as waiting on the lane. */
weft_status schedule_wait(comm_schedule *s);
/* Post and wait, without waking the communication thread. */
weft_status schedule_run(comm_schedule *s);
void schedule_free(comm_schedule *s); /* cancels; a zeroed schedule is fine */

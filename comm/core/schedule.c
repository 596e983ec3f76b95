/* comm/core/schedule.c: building and running lists of steps. */
#include "comm/core/schedule.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "comm/core/comm_internal.h"
#include "comm/core/wire.h"
#include "hal/pack.h"

/* ---- running: one function a phase ----------------------------------------------------------------------- */
static bool is_transfer(const schedule_step *step)
{
    return step->kind == STEP_SEND || step->kind == STEP_RECEIVE;
}

static void span_end(comm_schedule *s)
{
    if (s->span.round >= 0) {
        trace_end(s->span.begin, s->span.category, s->label[s->span.round], s->span.bytes);
        s->span.round = -1;
    }
}

/* A step begins, and with it perhaps a round. */
static void span_step(comm_schedule *s, const schedule_step *step, int64_t bytes)
{
    if (!trace_on()) {
        return;
    }
    if (step->round != s->span.round) {
        span_end(s);
        s->span = (schedule_span){.round = step->round, .category = TRACE_COMM, .begin = trace_begin(), .bytes = -1};
    }
    if (is_transfer(step)) {
        const int *node_of = s->comm->layout->node_of;
        bool inter = s->span.category == TRACE_INTER || node_of[step->peer] != node_of[comm_rank(s->comm)];
        s->span.category = inter ? TRACE_INTER : TRACE_INTRA;
        s->span.bytes = (s->span.bytes < 0 ? 0 : s->span.bytes) + (step->kind == STEP_SEND ? bytes : 0);
    } else if (step->kind == STEP_AWAIT && s->span.category == TRACE_COMM) {
        s->span.category = TRACE_INTRA;
    }
}

static weft_status phase_post(comm_schedule *s)
{
    int round = s->step[s->cursor].round;
    transfers_clear(&s->transfers);
    for (; s->cursor < s->steps && s->step[s->cursor].round == round && is_transfer(&s->step[s->cursor]); ++s->cursor) {
        const schedule_step *step = &s->step[s->cursor];
        int64_t bytes = step->amount;
        if (step->late_bytes != NULL) {
            bytes = *step->late_bytes;
            WEFT_CHECK(bytes >= 0 && bytes <= step->amount, WEFT_ERR_INTERNAL,
                       "%s: a message of %lld bytes where at most %lld fit", s->operation.name, (long long)bytes,
                       (long long)step->amount);
        }
        span_step(s, step, bytes);
        if (step->kind == STEP_SEND) {
            WEFT_TRY(transfers_send(&s->transfers, step->peer, step->left, bytes, 0));
        } else {
            WEFT_TRY(transfers_receive(&s->transfers, step->peer, step->to, bytes, 0));
        }
    }
    s->phase = SCHEDULE_TRANSFER;
    return WEFT_OK;
}

static weft_status phase_transfer(comm_schedule *s, bool *moved)
{
    WEFT_TRY(transfers_test(&s->transfers));
    *moved = *moved || s->transfers.ended_count > 0;
    if (transfers_done(&s->transfers)) {
        s->phase = SCHEDULE_LOCAL;
    }
    return WEFT_OK;
}

static void local_work(const schedule_step *step)
{
    switch (step->kind) {
    case STEP_REDUCE:
        hal_pack_reduce(step->dtype, (hal_reduction)step->op, step->to, step->left, step->right, step->amount);
        break;
    case STEP_COPY:
        memmove(step->to, step->left, (size_t)step->amount);
        break;
    case STEP_ENCODE:
        hal_pack_encode(wire_dtype(step->wire), step->left, step->to, step->amount);
        break;
    case STEP_DECODE:
        hal_pack_decode(wire_dtype(step->wire), step->left, step->to, step->amount);
        break;
    case STEP_DECODE_ADD:
        hal_pack_decode_add(wire_dtype(step->wire), step->left, step->to, step->amount);
        break;
    case STEP_SEND:
    case STEP_RECEIVE:
    case STEP_CALL:
    case STEP_TRY:
    case STEP_AWAIT:
        break;
    }
}

/* *blocked: a flag, or what is to be worked on, is not there yet. */
static weft_status phase_local(comm_schedule *s, bool *moved, bool *blocked)
{
    *blocked = false;
    for (; s->cursor < s->steps && !is_transfer(&s->step[s->cursor]); ++s->cursor) {
        const schedule_step *step = &s->step[s->cursor];
        span_step(s, step, 0);
        if (step->kind == STEP_AWAIT) {
            if (!step->fn.ready(step->argument, s->posts)) {
                *blocked = true;
                return window_look_again(s->comm, &s->blocked);
            }
            s->missing = -1;
        } else if (step->kind == STEP_TRY) {
            bool done = false;
            WEFT_TRY(step->fn.attempt(step->argument, &done));
            if (!done) {
                *blocked = true;
                return WEFT_OK;
            }
        } else if (step->kind == STEP_CALL) {
            WEFT_TRY(step->fn.call(step->argument, s->posts));
        } else {
            local_work(step);
        }
        *moved = true;
    }
    s->phase = s->cursor < s->steps ? SCHEDULE_POST : SCHEDULE_DONE;
    return WEFT_OK;
}

static weft_status schedule_advance(comm_operation *op, bool *done, bool *moved)
{
    comm_schedule *s = (comm_schedule *)op;
    bool blocked = false;
    for (;;) {
        switch (s->phase) {
        case SCHEDULE_POST:
            WEFT_TRY(phase_post(s));
            *moved = true;
            break;
        case SCHEDULE_TRANSFER:
            WEFT_TRY(phase_transfer(s, moved));
            if (s->phase == SCHEDULE_TRANSFER) {
                return WEFT_OK;
            }
            break;
        case SCHEDULE_LOCAL:
            WEFT_TRY(phase_local(s, moved, &blocked));
            if (blocked) {
                return WEFT_OK;
            }
            break;
        case SCHEDULE_DONE:
            span_end(s);
            *done = true;
            return WEFT_OK;
        }
    }
}

static void schedule_cancel(comm_operation *op)
{
    comm_schedule *s = (comm_schedule *)op;
    transfers_cancel(&s->transfers);
    if (s->phase == SCHEDULE_LOCAL) {
        s->comm->transport->ops->abandon(s->comm->transport);
    }
}

static void schedule_describe(const comm_operation *op, char *text, size_t bytes)
{
    const comm_schedule *s = (const comm_schedule *)op;
    char missing[OPERATION_MESSAGE_BYTES / 2];
    const bool local = s->phase == SCHEDULE_LOCAL && s->cursor < s->steps;
    const bool late = local && s->step[s->cursor].kind == STEP_TRY;
    const bool awaits = late || (local && s->step[s->cursor].kind == STEP_AWAIT);
    if (late) {
        snprintf(missing, sizeof missing, "the vector has not come from the device");
    } else if (awaits) {
        snprintf(missing, sizeof missing, "rank %d has not come",
                 s->missing >= 0 ? s->missing : s->step[s->cursor].peer);
    } else {
        transfers_describe(&s->transfers, missing, sizeof missing);
    }
    /* In the transfer phase the cursor is past the round's messages. */
    int64_t at = awaits || s->cursor == 0 ? s->cursor : s->cursor - 1;
    int round = at < s->steps ? s->step[at].round : 0;
    snprintf(text, bytes, "%s, round %d of %lld: %s", s->rounds > 0 ? s->label[round] : "start", round + 1,
             (long long)s->rounds, missing);
}

static void rewind_steps(comm_schedule *s)
{
    assert(!operation_active(&s->operation));
    s->cursor = 0;
    s->span.round = -1;
    ++s->posts;
    s->phase = s->steps == 0 ? SCHEDULE_DONE : is_transfer(&s->step[0]) ? SCHEDULE_POST : SCHEDULE_LOCAL;
    s->transfers.tag = comm_next_tag(s->comm, s->operation.lane);
}

void schedule_post(comm_schedule *s)
{
    double begin = trace_begin();
    rewind_steps(s);
    progress_post(s->comm->progress, &s->operation);
    trace_end(begin, TRACE_SYNC, "submit", -1);
}

weft_status schedule_test(comm_schedule *s, bool *done)
{
    return progress_test(&s->operation, done);
}

weft_status schedule_wait(comm_schedule *s)
{
    if (!operation_active(&s->operation)) {
        return progress_status(&s->operation);
    }
    double start = clock_seconds();
    double begin = trace_begin();
    weft_status status = progress_wait(s->comm->progress, &s->operation);
    trace_end(begin, TRACE_SYNC, "wait", -1);
    /* It may have ended between the look above and the clock. */
    double waited = s->operation.ended_at - start;
    comm_count_seconds(&s->comm->counters[s->operation.lane].wait_ns, waited > 0.0 ? waited : 0.0);
    return status;
}

weft_status schedule_run(comm_schedule *s)
{
    double begin = trace_begin();
    rewind_steps(s);
    weft_status status = progress_run(s->comm->progress, &s->operation);
    trace_end(begin, TRACE_SYNC, "wait", -1);
    comm_count_seconds(&s->comm->counters[s->operation.lane].wait_ns, s->operation.ended_at - s->operation.posted_at);
    return status;
}

/* ---- building --------------------------------------------------------------------------------------------------- */
void schedule_again(comm_schedule *s)
{
    assert(!operation_active(&s->operation));
    s->steps = 0;
    s->rounds = 0;
    s->missing = -1;
    s->blocked = 0;
    s->member = NULL;
    s->build_status = WEFT_OK;
}

void schedule_begin(comm_schedule *s, weft_comm *comm, comm_lane lane, const char *name)
{
    schedule_again(s);
    s->comm = comm;
    s->operation.comm = comm;
    s->transfers.comm = comm;
    s->transfers.lane = lane;
    s->posts = 0;
    s->operation.lane = lane;
    s->operation.advance = schedule_advance;
    s->operation.cancel = schedule_cancel;
    s->operation.describe = schedule_describe;
    s->operation.status = WEFT_OK;
    snprintf(s->operation.name, sizeof s->operation.name, "%s", name);
}

void schedule_scratch(comm_schedule *s, int64_t bytes, void **scratch)
{
    assert(bytes >= 0);
    *scratch = NULL;
    if (s->build_status == WEFT_OK && bytes > s->scratch_bytes) {
        weft_free(s->scratch);
        s->scratch = NULL;
        s->scratch_bytes = 0;
        s->build_status = weft_malloc((size_t)bytes, 1, WEFT_MEM_COMM, &s->scratch);
        s->scratch_bytes = s->build_status == WEFT_OK ? bytes : 0;
    }
    if (s->build_status == WEFT_OK) {
        *scratch = s->scratch;
    }
}

static void grow(comm_schedule *s, void **array, int64_t used, int64_t *capacity, size_t size)
{
    if (s->build_status == WEFT_OK && used == *capacity) {
        int64_t wanted = *capacity == 0 ? 32 : 2 * *capacity;
        s->build_status = weft_realloc(array, (size_t)wanted, size, WEFT_MEM_COMM);
        *capacity = s->build_status == WEFT_OK ? wanted : *capacity;
    }
}

void schedule_round(comm_schedule *s, const char *label)
{
    grow(s, (void **)&s->label, s->rounds, &s->label_capacity, sizeof *s->label);
    if (s->build_status == WEFT_OK) {
        s->label[s->rounds++] = label;
    }
}

static void append(comm_schedule *s, schedule_step step)
{
    assert(s->rounds > 0 || s->build_status != WEFT_OK);
    grow(s, (void **)&s->step, s->steps, &s->step_capacity, sizeof *s->step);
    if (s->build_status == WEFT_OK && step.amount > 0) {
        step.round = (int)s->rounds - 1;
        step.peer = s->member != NULL ? s->member[step.peer] : step.peer;
        s->step[s->steps++] = step;
    }
}

void schedule_members(comm_schedule *s, const int *member)
{
    s->member = member;
}

void schedule_send(comm_schedule *s, int peer, const void *data, int64_t bytes)
{
    append(s, (schedule_step){.kind = STEP_SEND, .peer = peer, .left = data, .amount = bytes});
}

void schedule_receive(comm_schedule *s, int peer, void *data, int64_t bytes)
{
    append(s, (schedule_step){.kind = STEP_RECEIVE, .peer = peer, .to = data, .amount = bytes});
}

void schedule_send_late(comm_schedule *s, int peer, const void *data, const int64_t *bytes, int64_t most)
{
    append(s, (schedule_step){.kind = STEP_SEND, .peer = peer, .left = data, .amount = most, .late_bytes = bytes});
}

void schedule_receive_late(comm_schedule *s, int peer, void *data, const int64_t *bytes, int64_t most)
{
    append(s, (schedule_step){.kind = STEP_RECEIVE, .peer = peer, .to = data, .amount = most, .late_bytes = bytes});
}

void schedule_call(comm_schedule *s, schedule_fn fn, void *argument)
{
    append(s, (schedule_step){.kind = STEP_CALL, .fn.call = fn, .argument = argument, .amount = 1});
}

void schedule_try(comm_schedule *s, schedule_try_fn fn, void *argument)
{
    append(s, (schedule_step){.kind = STEP_TRY, .fn.attempt = fn, .argument = argument, .amount = 1});
}

void schedule_await(comm_schedule *s, int peer, schedule_ready_fn fn, void *argument)
{
    append(s, (schedule_step){.kind = STEP_AWAIT, .peer = peer, .fn.ready = fn, .argument = argument, .amount = 1});
}

void schedule_reduce(comm_schedule *s, weft_dtype dtype, comm_op op, void *to, const void *left, const void *right,
                     int64_t count)
{
    append(s,
           (schedule_step){
               .kind = STEP_REDUCE, .dtype = dtype, .op = op, .to = to, .left = left, .right = right, .amount = count});
}

void schedule_copy(comm_schedule *s, void *to, const void *from, int64_t bytes)
{
    append(s, (schedule_step){.kind = STEP_COPY, .to = to, .left = from, .amount = bytes});
}

void schedule_encode(comm_schedule *s, comm_wire wire, void *to, const float *from, int64_t count)
{
    append(s, (schedule_step){.kind = STEP_ENCODE, .wire = wire, .to = to, .left = from, .amount = count});
}

void schedule_decode(comm_schedule *s, comm_wire wire, float *to, const void *from, int64_t count)
{
    append(s, (schedule_step){.kind = STEP_DECODE, .wire = wire, .to = to, .left = from, .amount = count});
}

void schedule_decode_add(comm_schedule *s, comm_wire wire, float *to, const void *from, int64_t count)
{
    append(s, (schedule_step){.kind = STEP_DECODE_ADD, .wire = wire, .to = to, .left = from, .amount = count});
}

weft_status schedule_end(comm_schedule *s)
{
    WEFT_TRY(s->build_status);
    int64_t most = 0;
    int64_t chunks = 0;
    for (int64_t i = 0; i < s->steps; ++i) {
        chunks = i > 0 && s->step[i].round == s->step[i - 1].round ? chunks : 0;
        chunks += is_transfer(&s->step[i]) ? transfers_chunks(s->comm, s->step[i].amount) : 0;
        most = chunks > most ? chunks : most;
    }
    return transfers_reserve(&s->transfers, most);
}

void schedule_free(comm_schedule *s)
{
    if (s->comm != NULL) {
        progress_cancel(s->comm->progress, &s->operation);
        transfers_free(&s->transfers);
    }
    WEFT_FREE_ALL(s->step, (void *)s->label, s->scratch);
    memset(s, 0, sizeof *s);
}

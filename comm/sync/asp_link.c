/* comm/sync/asp_link.c: the state machine of one message. */
#include "comm/sync/asp_link.h"

#include <assert.h>
#include <stdio.h>

#include "comm/core/comm_internal.h"

static weft_status send_whole(asp_message *message)
{
    transfers_clear(&message->transfers);
    WEFT_TRY(transfers_send(&message->transfers, message->peer, &message->head, (int64_t)sizeof message->head, 0));
    WEFT_TRY(transfers_send(&message->transfers, message->peer, message->payload, message->head.bytes, 0));
    message->phase = MESSAGE_PAYLOAD_MOVES;
    return WEFT_OK;
}

static weft_status receive_head(asp_message *message)
{
    transfers_clear(&message->transfers);
    message->phase = MESSAGE_HEAD_MOVES;
    return transfers_receive(&message->transfers, message->peer, &message->head, (int64_t)sizeof message->head, 0);
}

static weft_status receive_payload(asp_message *message)
{
    WEFT_CHECK(message->head.bytes >= 0 && message->head.bytes <= message->room, WEFT_ERR_INTERNAL,
               "%s: a payload of %lld bytes where %lld fit", message->operation.name, (long long)message->head.bytes,
               (long long)message->room);
    transfers_clear(&message->transfers);
    message->phase = MESSAGE_PAYLOAD_MOVES;
    return transfers_receive(&message->transfers, message->peer, message->payload, message->head.bytes, 0);
}

static weft_status message_advance(comm_operation *op, bool *done, bool *moved)
{
    asp_message *message = (asp_message *)op;
    if (message->phase == MESSAGE_HEAD) {
        WEFT_TRY(message->sends ? send_whole(message) : receive_head(message));
        *moved = true;
    }
    WEFT_TRY(transfers_test(&message->transfers));
    *moved = *moved || message->transfers.ended_count > 0;
    if (message->phase == MESSAGE_HEAD_MOVES && transfers_done(&message->transfers)) {
        WEFT_TRY(receive_payload(message));
        WEFT_TRY(transfers_test(&message->transfers));
    }
    *done = message->phase == MESSAGE_PAYLOAD_MOVES && transfers_done(&message->transfers);
    return WEFT_OK;
}

static void message_cancel(comm_operation *op)
{
    transfers_cancel(&((asp_message *)op)->transfers);
}

static void message_describe(const comm_operation *op, char *text, size_t bytes)
{
    transfers_describe(&((const asp_message *)op)->transfers, text, bytes);
}

weft_status asp_message_init(asp_message *message, weft_comm *comm, int peer, bool sends, void *payload, int64_t room)
{
    message->peer = peer;
    message->sends = sends;
    message->payload = payload;
    message->room = room;
    message->operation.comm = comm;
    message->operation.lane = COMM_LANE_GRADIENT;
    message->operation.advance = message_advance;
    message->operation.cancel = message_cancel;
    message->operation.describe = message_describe;
    snprintf(message->operation.name, sizeof message->operation.name, "updates %s site %d", sends ? "to" : "from",
             peer);
    transfers_init(&message->transfers, comm, COMM_LANE_GRADIENT);
    return transfers_reserve(&message->transfers, 1 + transfers_chunks(comm, room));
}

void asp_message_free(asp_message *message)
{
    if (message->transfers.comm != NULL) {
        progress_cancel(message->transfers.comm->progress, &message->operation);
        transfers_free(&message->transfers);
    }
}

void asp_message_post(asp_message *message, int64_t number)
{
    assert(!message->posted && number >= 0);
    message->transfers.tag = (int)(number % TRANSPORT_TAGS);
    message->posted = true;
    message->phase = MESSAGE_HEAD;
    progress_post(message->transfers.comm->progress, &message->operation);
}

weft_status asp_message_test(asp_message *message, bool *done)
{
    const weft_status status = progress_test(&message->operation, done);
    message->posted = !*done;
    return status;
}

weft_status asp_message_wait(asp_message *message)
{
    weft_comm *comm = message->transfers.comm;
    WEFT_TRY(progress_wait(comm->progress, &message->operation));
    message->posted = false;
    return WEFT_OK;
}

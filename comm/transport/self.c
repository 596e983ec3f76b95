/* comm/transport/self.c: the transport of one rank. Collectives of one rank send nothing, so sending is a bug. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "comm/comm.h"
#include "comm/transport/transport.h"

static weft_status self_isend(transport *t, int lane, int peer, int tag, const void *data, size_t bytes, void *request)
{
    (void)t;
    (void)tag;
    (void)data;
    (void)request;
    return weft_fail(WEFT_ERR_INTERNAL, "a single rank sends %zu bytes to rank %d on lane %d", bytes, peer, lane);
}

static weft_status self_irecv(transport *t, int lane, int peer, int tag, void *data, size_t bytes, void *request)
{
    (void)t;
    (void)tag;
    (void)data;
    (void)request;
    return weft_fail(WEFT_ERR_INTERNAL, "a single rank receives %zu bytes from rank %d on lane %d", bytes, peer, lane);
}

static weft_status self_test_some(transport *t, void *requests, int count, int *ended, int *ended_count)
{
    (void)t;
    (void)requests;
    (void)count;
    (void)ended;
    *ended_count = 0;
    return WEFT_OK;
}

static void self_cancel(transport *t, void *request)
{
    (void)t;
    (void)request;
}

static uint64_t self_token(transport *t)
{
    (void)t;
    return 0;
}

static weft_status self_split(transport *t, const int *members, int count, int me, uint64_t token, transport **out)
{
    (void)t;
    (void)members;
    (void)count;
    (void)me;
    (void)token;
    return transport_self_create(out);
}

static weft_status self_poll(transport *t)
{
    (void)t;
    return WEFT_OK;
}

static bool self_called(transport *t, int lane)
{
    (void)t;
    (void)lane;
    return false;
}

static void self_abandon(transport *t)
{
    (void)t;
}

static _Noreturn void self_abort(transport *t, int exit_status)
{
    (void)t;
    fflush(NULL);
    _Exit(exit_status);
}

static void self_destroy(transport *t)
{
    weft_free(t);
}

static const transport_ops self_ops = {
    .name = "self",
    .request_bytes = sizeof(char),
    .isend = self_isend,
    .irecv = self_irecv,
    .test_some = self_test_some,
    .cancel = self_cancel,
    .token = self_token,
    .split = self_split,
    .poll = self_poll,
    .called = self_called,
    .abandon = self_abandon,
    .abort = self_abort,
    .destroy = self_destroy,
};

weft_status transport_self_create(transport **out)
{
    *out = NULL;
    transport *t = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&t, 1, WEFT_MEM_COMM));
    *t = (transport){.ops = &self_ops, .rank = 0, .size = 1, .node_leader = 0};
    *out = t;
    return WEFT_OK;
}

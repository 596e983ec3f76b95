/*
 * comm/halo/exchange.c: an all-to-all with counts a post.
 *
 *      sender of p    count --8 bytes-->              elements --in chunks-->
 *      receiver       asked for from the start        asked for once the count is here, straight into p's area
 *
 * Both travel under the tag of the post: messages between two ranks do not overtake each other, so the first one is the
 * count. The receiver learns its size before it asks for the elements, so neither side moves more than there is, and a
 * count beyond what was agreed is told and not written. Latency: one message more than with counts known beforehand.
 *
 * Memory: the areas, one 64-byte line a peer and side at least.
 */
#include "comm/exchange.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/integer/integers.h"
#include "comm/core/comm_internal.h"
#include "comm/core/transfer.h"

enum { AREA_ALIGN = 64 };

/* One direction of one pair. */
typedef struct exchange_side {
    int64_t most;  /* elements */
    int64_t count; /* of the last post: as it is sent */
    char *area;
} exchange_side;

typedef enum exchange_phase { EXCHANGE_START, EXCHANGE_TRANSFER } exchange_phase;

struct comm_exchange {
    comm_operation operation; /* first: the engine sees only this */
    weft_comm *comm;
    int64_t element_bytes;
    int64_t *sent;            /* of the caller, or NULL */
    exchange_side *to, *from; /* [P] */
    char *memory;             /* of all areas */
    comm_transfers transfers;
    exchange_phase phase; /* the driver's */
};

/* A transfer's group: the count of peer p, or P + p for its elements. */
static int group_of_elements(const comm_exchange *x, int peer)
{
    return comm_size(x->comm) + peer;
}

/* ---- one exchange ------------------------------------------------------------------------------------------------ */

static weft_status start_messages(comm_exchange *x)
{
    const int size = comm_size(x->comm);
    const int rank = comm_rank(x->comm);
    transfers_clear(&x->transfers);
    for (int p = 0; p < size; ++p) {
        if (p != rank && x->from[p].most > 0) {
            WEFT_TRY(transfers_receive(&x->transfers, p, &x->from[p].count, sizeof x->from[p].count, p));
        }
    }
    for (int k = 1; k < size; ++k) { /* from the next rank on: no rank is everybody's first target */
        const int p = (rank + k) % size;
        const exchange_side *side = &x->to[p];
        if (side->most > 0) {
            WEFT_TRY(transfers_send(&x->transfers, p, &side->count, sizeof side->count, p));
            WEFT_TRY(
                transfers_send(&x->transfers, p, side->area, side->count * x->element_bytes, group_of_elements(x, p)));
        }
    }
    return WEFT_OK;
}

/* The count of a peer is here: ask for its elements. */
static weft_status expect_elements(comm_exchange *x, int peer)
{
    const exchange_side *side = &x->from[peer];
    WEFT_CHECK(side->count >= 0 && side->count <= side->most, WEFT_ERR_INTERNAL,
               "%s: rank %d sends %lld elements to rank %d, at most %lld were agreed", x->operation.name, peer,
               (long long)side->count, comm_rank(x->comm), (long long)side->most);
    return transfers_receive(&x->transfers, peer, side->area, side->count * x->element_bytes,
                             group_of_elements(x, peer));
}

static weft_status exchange_advance(comm_operation *op, bool *done, bool *moved)
{
    comm_exchange *x = (comm_exchange *)op;
    if (x->phase == EXCHANGE_START) {
        WEFT_TRY(start_messages(x));
        x->phase = EXCHANGE_TRANSFER;
        *moved = true;
    }
    WEFT_TRY(transfers_test(&x->transfers));
    *moved = *moved || x->transfers.ended_count > 0;
    for (int i = 0; i < x->transfers.ended_count; ++i) {
        /* By value: asking for elements adds to the same list. */
        const transfer_info info = x->transfers.info[x->transfers.ended[i]];
        if (!info.is_send && info.group < comm_size(x->comm)) {
            WEFT_TRY(expect_elements(x, info.group));
        }
    }
    *done = transfers_done(&x->transfers);
    return WEFT_OK;
}

static void exchange_cancel(comm_operation *op)
{
    transfers_cancel(&((comm_exchange *)op)->transfers);
}

static void exchange_describe(const comm_operation *op, char *text, size_t bytes)
{
    transfers_describe(&((const comm_exchange *)op)->transfers, text, bytes);
}

/* ---- the plan ---------------------------------------------------------------------------------------------------- */

static weft_status check_desc(const weft_comm *comm, const comm_exchange_desc *desc)
{
    WEFT_CHECK(desc->lane >= 0 && desc->lane < COMM_LANES, WEFT_ERR_INTERNAL, "lane %d of %d", (int)desc->lane,
               (int)COMM_LANES);
    WEFT_CHECK(desc->element_bytes > 0, WEFT_ERR_INTERNAL, "an exchange of elements of %lld bytes",
               (long long)desc->element_bytes);
    for (int p = 0; p < comm_size(comm); ++p) {
        int64_t bytes = 0;
        WEFT_CHECK(desc->most[p] >= 0 && !__builtin_mul_overflow(desc->most[p], desc->element_bytes, &bytes) &&
                       bytes <= INT64_MAX / 4 / comm_size(comm),
                   WEFT_ERR_INTERNAL, "an exchange of up to %lld elements of %lld bytes with rank %d",
                   (long long)desc->most[p], (long long)desc->element_bytes, p);
    }
    return WEFT_OK;
}

static int64_t area_bytes(const comm_exchange *x, const exchange_side *side)
{
    return whole(side->most * x->element_bytes, AREA_ALIGN);
}

static weft_status reserve(comm_exchange *x)
{
    int64_t bytes = 0;
    int64_t messages = 0;
    const int size = comm_size(x->comm);
    for (int i = 0; i < 2 * size; ++i) {
        const exchange_side *side = i < size ? &x->to[i] : &x->from[i - size];
        bytes += area_bytes(x, side);
        messages += side->most > 0 ? transfers_chunks(x->comm, sizeof side->count) +
                                         transfers_chunks(x->comm, side->most * x->element_bytes)
                                   : 0;
    }
    WEFT_TRY(weft_malloc((size_t)bytes, 1, WEFT_MEM_COMM, (void **)&x->memory));
    char *next = x->memory;
    for (int i = 0; i < 2 * size; ++i) {
        exchange_side *side = i < size ? &x->to[i] : &x->from[i - size];
        side->area = side->most > 0 ? next : NULL;
        next += area_bytes(x, side);
    }
    return transfers_reserve(&x->transfers, messages);
}

static weft_status create_local(weft_comm *comm, const comm_exchange_desc *desc, const char *text, comm_exchange **out)
{
    weft_status status = WEFT_OK;
    comm_exchange *x = NULL;
    *out = NULL;
    WEFT_TRY(check_desc(comm, desc));
    WEFT_TRY(WEFT_NEW_ZERO(&x, 1, WEFT_MEM_COMM));
    *x = (comm_exchange){.comm = comm, .element_bytes = desc->element_bytes, .sent = desc->sent};
    x->operation.comm = comm;
    x->operation.lane = desc->lane;
    x->operation.advance = exchange_advance;
    x->operation.cancel = exchange_cancel;
    x->operation.describe = exchange_describe;
    snprintf(x->operation.name, sizeof x->operation.name, "%s", text);
    transfers_init(&x->transfers, comm, desc->lane);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&x->to, comm_size(comm), WEFT_MEM_COMM), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&x->from, comm_size(comm), WEFT_MEM_COMM), status, done);
    for (int p = 0; p < comm_size(comm); ++p) {
        x->to[p].most = desc->most[p];
    }
    *out = x;
    return WEFT_OK;
done:
    comm_exchange_destroy(x);
    return status;
}

/* Every rank learns the most that each of the others may send to it. Collective. */
static weft_status tell_most(comm_exchange *x)
{
    weft_status status = WEFT_OK;
    const int size = comm_size(x->comm);
    int64_t *room = NULL;
    WEFT_TRY_GOTO(comm_agree(x->comm, WEFT_NEW(&room, 3 * (int64_t)size, WEFT_MEM_COMM)), status, done);
    int64_t *bytes = room, *send = room + size, *receive = room + 2 * (int64_t)size;
    for (int p = 0; p < size; ++p) {
        bytes[p] = (int64_t)sizeof *send;
        send[p] = x->to[p].most;
    }
    WEFT_TRY_GOTO(comm_alltoallv(x->comm, send, bytes, receive, bytes), status, done);
    for (int p = 0; p < size; ++p) {
        x->from[p].most = receive[p];
    }
done:
    weft_free(room);
    return status;
}

weft_status comm_exchange_plan(weft_comm *comm, const comm_exchange_desc *desc, comm_exchange **exchange)
{
    char text[OPERATION_NAME_BYTES];
    comm_exchange *x = NULL;
    *exchange = NULL;
    snprintf(text, sizeof text, "exchange%s%.60s of elements of %lld bytes on lane %d",
             desc->name != NULL ? " of " : "", desc->name != NULL ? desc->name : "", (long long)desc->element_bytes,
             (int)desc->lane);
    WEFT_TRY(comm_check_same(comm, text));
    weft_status status = comm_agree(comm, create_local(comm, desc, text, &x));
    if (x != NULL && status == WEFT_OK) {
        status = tell_most(x);
        status = status == WEFT_OK ? comm_agree(comm, reserve(x)) : status;
    }
    if (status != WEFT_OK) {
        comm_exchange_destroy(x);
        return status;
    }
    *exchange = x;
    return WEFT_OK;
}

/* ---- public ------------------------------------------------------------------------------------------------------ */

void *comm_exchange_area(comm_exchange *exchange, int peer)
{
    assert(peer >= 0 && peer < comm_size(exchange->comm));
    return exchange->to[peer].area;
}

weft_status comm_exchange_post(comm_exchange *exchange, const int64_t *count)
{
    comm_exchange *x = exchange;
    const int rank = comm_rank(x->comm);
    WEFT_CHECK(!operation_active(&x->operation), WEFT_ERR_INTERNAL, "%s is posted twice without a wait",
               x->operation.name);
    for (int p = 0; p < comm_size(x->comm); ++p) {
        WEFT_CHECK(count[p] >= 0 && count[p] <= x->to[p].most, WEFT_ERR_INTERNAL,
                   "%s: %lld elements for rank %d, at most %lld were planned", x->operation.name, (long long)count[p],
                   p, (long long)x->to[p].most);
    }
    for (int p = 0; p < comm_size(x->comm); ++p) {
        x->to[p].count = count[p];
        x->from[p].count = 0;
    }
    for (int p = 0; x->sent != NULL && p < comm_size(x->comm); ++p) {
        *x->sent += p != rank && x->to[p].most > 0 ? (int64_t)sizeof *count + count[p] * x->element_bytes : 0;
    }
    x->from[rank].count = count[rank];
    if (count[rank] > 0) {
        memcpy(x->from[rank].area, x->to[rank].area, (size_t)(count[rank] * x->element_bytes));
    }
    x->transfers.tag = comm_next_tag(x->comm, x->operation.lane);
    x->phase = EXCHANGE_START;
    progress_post(x->comm->progress, &x->operation);
    return operation_active(&x->operation) ? WEFT_OK : progress_status(&x->operation);
}

weft_status comm_exchange_test(comm_exchange *exchange, bool *done)
{
    return progress_test(&exchange->operation, done);
}

weft_status comm_exchange_wait(comm_exchange *exchange)
{
    comm_operation *op = &exchange->operation;
    if (!operation_active(op)) {
        return progress_status(op);
    }
    const double start = clock_seconds();
    weft_status status = progress_wait(exchange->comm->progress, op);
    const double waited = op->ended_at - start; /* it may have ended between the look above and the clock */
    comm_count_seconds(&exchange->comm->counters[op->lane].wait_ns, waited > 0.0 ? waited : 0.0);
    return status;
}

const void *comm_exchange_received(const comm_exchange *exchange, int peer, int64_t *count)
{
    *count = exchange->from[peer].count;
    return exchange->from[peer].area;
}

void comm_exchange_destroy(comm_exchange *exchange)
{
    if (exchange == NULL) {
        return;
    }
    progress_cancel(exchange->comm->progress, &exchange->operation);
    transfers_free(&exchange->transfers);
    WEFT_FREE_ALL(exchange->memory, exchange->to, exchange->from, exchange);
}

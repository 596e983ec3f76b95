/*
 * comm/group/planned_shares.c: planned all-gathers, reduce-scatters and broadcasts on shares that the caller cuts:
 * checked, compared with the other ranks once, and written as steps (comm/coll/cut.h).
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/log.h"
#include "comm/core/comm_internal.h"
#include "comm/group/plan.h"

/* The three operations, as rows. */
typedef struct share_kind {
    const char *name;
    bool sums;
    int64_t (*board)(const coll_cut *cut);
    void (*build)(comm_schedule *s, coll_cut *cut);
    comm_cost (*cost)(const coll_cut *cut);
} share_kind;

static const share_kind all_gather = {"all-gather of shares", false, coll_cut_gather_board, coll_cut_gather_build,
                                      coll_cut_gather_cost};
static const share_kind reduce_scatter = {"reduce-scatter into shares", true, coll_cut_scatter_board,
                                          coll_cut_scatter_build, coll_cut_scatter_cost};
static const share_kind broadcast = {"broadcast", false, coll_cut_bcast_board, coll_cut_bcast_build,
                                     coll_cut_bcast_cost};

static weft_status check(const weft_comm *comm, const share_kind *kind, const comm_shares_desc *desc, int64_t *total)
{
    *total = 0;
    WEFT_CHECK(desc->lane >= 0 && desc->lane < COMM_LANES, WEFT_ERR_INTERNAL, "lane %d of %d", (int)desc->lane,
               (int)COMM_LANES);
    WEFT_CHECK(weft_dtype_bytes(desc->dtype) > 0, WEFT_ERR_INTERNAL, "%s: data type %d is unknown", kind->name,
               (int)desc->dtype);
    for (int r = 0; r < comm_size(comm); ++r) {
        WEFT_CHECK(desc->count[r] >= 0 && desc->count[r] <= MOST_ELEMENTS - *total, WEFT_ERR_INTERNAL,
                   "%s: %lld elements for rank %d", kind->name, (long long)desc->count[r], r);
        *total += desc->count[r];
    }
    WEFT_CHECK(desc->buffer != NULL || *total == 0, WEFT_ERR_INTERNAL, "%s: %lld elements without a buffer", kind->name,
               (long long)*total);
    WEFT_CHECK(!kind->sums || hal_reduces(desc->dtype, (hal_reduction)desc->op), WEFT_ERR_UNSUPPORTED,
               "sums of %s overflow: use a wider type", weft_dtype_name(desc->dtype));
    return WEFT_OK;
}

/* "reduce-scatter into shares of 1000 int64 sum (cut 0123456789abcdef), on lane rows (histogram)" */
static void describe(const weft_comm *comm, const share_kind *kind, const comm_shares_desc *desc, int64_t total,
                     char text[OPERATION_NAME_BYTES])
{
    const bool named = desc->name != NULL;
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a over the counts */
    for (int r = 0; r < comm_size(comm); ++r) {
        hash = (hash ^ (uint64_t)desc->count[r]) * 0x100000001b3u;
    }
    snprintf(text, OPERATION_NAME_BYTES, "%s of %lld %s%s%s (cut %016" PRIx64 ") on lane %s%s%s%s", kind->name,
             (long long)total, weft_dtype_name(desc->dtype), kind->sums ? " " : "",
             kind->sums ? plan_op_name(desc->op) : "", hash, comm_lane_name(desc->lane), named ? " (" : "",
             named ? desc->name : "", named ? ")" : "");
}

/* Collective: the board, where a node has several ranks that share memory; without room for it messages go instead. */
static weft_status make_board(weft_comm *comm, const share_kind *kind, coll_cut *cut)
{
    if (comm->messages_only || comm->layout->most == 1) {
        return WEFT_OK;
    }
    cut->room = kind->board(cut);
    const weft_status status = board_create(comm, cut->room, &cut->board);
    if (status == WEFT_ERR_RESOURCE) {
        log_warn("a %s of %lld bytes sends messages inside the node: %s", kind->name, (long long)coll_cut_total(cut),
                 weft_error_message());
        weft_error_clear();
        return WEFT_OK;
    }
    return status;
}

static weft_status allocate(weft_comm *comm, const comm_shares_desc *desc, int root, comm_plan **out)
{
    weft_status status = WEFT_OK;
    comm_plan *plan = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&plan, 1, WEFT_MEM_COMM));
    plan->cut = (coll_cut){
        .comm = comm, .buffer = desc->buffer, .dtype = desc->dtype, .op = desc->op, .lane = desc->lane, .root = root};
    WEFT_TRY_GOTO(coll_cut_init(&plan->cut, desc->count), status, done);
    *out = plan;
    plan = NULL;
done:
    comm_plan_destroy(plan);
    return status;
}

static coll_range owned_of(const weft_comm *comm, const share_kind *kind, const comm_shares_desc *desc, int64_t total)
{
    const coll_shares shares = {.count = desc->count};
    const int rank = comm_rank(comm);
    return kind->sums ? (coll_range){coll_shares_begin(shares, rank), coll_shares_count(shares, rank)}
                      : (coll_range){0, total};
}

static weft_status build(weft_comm *comm, const share_kind *kind, const comm_shares_desc *desc, const char *text,
                         comm_plan *plan)
{
    const int64_t total = coll_cut_total(&plan->cut);
    plan->owned = owned_of(comm, kind, desc, total / (int64_t)weft_dtype_bytes(desc->dtype));
    schedule_begin(&plan->schedule, comm, desc->lane, text);
    if (total > 0 && comm_size(comm) > 1) {
        kind->build(&plan->schedule, &plan->cut);
        plan->cost = kind->cost(&plan->cut);
    }
    return schedule_end(&plan->schedule);
}

static weft_status make(weft_comm *comm, const share_kind *kind, const comm_shares_desc *desc, int root,
                        comm_plan **out)
{
    weft_status status = WEFT_OK;
    char text[OPERATION_NAME_BYTES];
    int64_t total = 0;
    comm_plan *plan = NULL;
    *out = NULL;
    WEFT_TRY(comm_agree(comm, check(comm, kind, desc, &total)));
    describe(comm, kind, desc, total, text);
    WEFT_TRY(comm_check_same(comm, text));
    const weft_status local = allocate(comm, desc, root, &plan);
    COMM_AGREED_GOTO(comm_agree(comm, local), local, status, done);
    assert(coll_cut_total(&plan->cut) == total * (int64_t)weft_dtype_bytes(desc->dtype));
    if (total > 0 && comm_size(comm) > 1) {
        WEFT_TRY_GOTO(make_board(comm, kind, &plan->cut), status, done);
    }
    WEFT_TRY_GOTO(comm_agree(comm, build(comm, kind, desc, text, plan)), status, done);
    *out = plan;
    plan = NULL;
done:
    comm_plan_destroy(plan);
    return status;
}

weft_status comm_allgather_plan(weft_comm *comm, const comm_shares_desc *desc, comm_plan **plan)
{
    return make(comm, &all_gather, desc, 0, plan);
}

weft_status comm_reduce_scatter_plan(weft_comm *comm, const comm_shares_desc *desc, comm_plan **plan)
{
    return make(comm, &reduce_scatter, desc, 0, plan);
}

weft_status comm_plan_recut(comm_plan *plan, const int64_t *count)
{
    coll_cut *cut = &plan->cut;
    coll_cut_set(cut, count);
    assert(cut->board == NULL || coll_cut_scatter_board(cut) <= cut->room);
    const int64_t element = (int64_t)weft_dtype_bytes(cut->dtype);
    const int me = comm_rank(cut->comm);
    plan->owned = (coll_range){cut->begin[me] / element, cut->bytes[me] / element};
    schedule_again(&plan->schedule);
    if (comm_size(cut->comm) > 1) { /* also of empty shares: the flags of the board count posts */
        coll_cut_scatter_build(&plan->schedule, cut);
        plan->cost = coll_cut_scatter_cost(cut);
    }
    return schedule_end(&plan->schedule);
}

weft_status comm_bcast_plan(weft_comm *comm, int root, const comm_bcast_desc *desc, comm_plan **plan)
{
    weft_status status = WEFT_OK;
    int64_t *count = NULL;
    *plan = NULL;
    const weft_status local = root >= 0 && root < comm_size(comm)
                                  ? WEFT_NEW_ZERO(&count, comm_size(comm), WEFT_MEM_COMM)
                                  : weft_fail(WEFT_ERR_INTERNAL, "broadcast from rank %d of %d", root, comm_size(comm));
    status = comm_agree(comm, local);
    if (local != WEFT_OK || status != WEFT_OK || count == NULL) {
        goto done;
    }
    count[root] = desc->count;
    const comm_shares_desc whole = {
        .lane = desc->lane, .dtype = desc->dtype, .count = count, .buffer = desc->buffer, .name = desc->name};
    status = make(comm, &broadcast, &whole, root, plan);
done:
    weft_free(count);
    return status;
}

/* comm/group/planned.c: planned all-reduces: checked against the other ranks once, then posted, tested and waited
 * on. */
#include <assert.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/log.h"
#include "comm/core/comm_internal.h"
#include "comm/core/wire.h"
#include "comm/group/plan.h"

const char *plan_op_name(comm_op op)
{
    switch (op) {
    case COMM_SUM:
        return "sum";
    case COMM_MAX:
        return "max";
    case COMM_MIN:
        return "min";
    }
    return "unknown op";
}

static const char *half_name(comm_half half)
{
    return half == COMM_REDUCE_SCATTER ? "reduce-scatter" : half == COMM_ALL_GATHER ? "all-gather" : "all-reduce";
}

/* "all-reduce ring of 1000 float32 sum, bf16 on the wire, on lane gradient (bucket 3)" */
static void describe(const comm_allreduce_desc *desc, const coll_algorithm *chosen, char text[OPERATION_NAME_BYTES])
{
    bool encoded = desc->wire != COMM_WIRE_SAME;
    bool named = desc->name != NULL;
    snprintf(text, OPERATION_NAME_BYTES, "%s %s of %lld %s %s%s%s%s on lane %s%s%s%s", half_name(desc->half),
             chosen->name, (long long)desc->count, weft_dtype_name(desc->dtype),
             desc->merge != NULL ? "merged" : plan_op_name(desc->op), encoded ? ", " : "",
             encoded ? wire_name(desc->wire) : "", encoded ? " on the wire," : "", comm_lane_name(desc->lane),
             named ? " (" : "", named ? desc->name : "", named ? ")" : "");
}

static weft_status check_form(const comm_allreduce_desc *desc)
{
    const coll_algorithm *asked = coll_algorithm_of(desc->algorithm);
    WEFT_CHECK(desc->algorithm == COMM_ALGO_AUTO || asked != NULL, WEFT_ERR_INTERNAL,
               "all-reduce algorithm %d is unknown", (int)desc->algorithm);
    WEFT_CHECK(desc->wire >= COMM_WIRE_SAME && desc->wire <= COMM_WIRE_FP16, WEFT_ERR_INTERNAL,
               "wire type %d is unknown", (int)desc->wire);
    WEFT_CHECK(desc->half >= COMM_WHOLE && desc->half <= COMM_ALL_GATHER, WEFT_ERR_INTERNAL,
               "half %d of an all-reduce is unknown", (int)desc->half);
    WEFT_CHECK(desc->half == COMM_WHOLE || asked == NULL || asked->owned != NULL, WEFT_ERR_UNSUPPORTED,
               "the all-reduce %s has no halves: ask for halving-doubling, ring, fixed-order, two-level or auto",
               asked->name);
    WEFT_CHECK(desc->wire == COMM_WIRE_SAME || asked == NULL || asked->encodes, WEFT_ERR_UNSUPPORTED,
               "the all-reduce %s cannot send %s: ask for two-level, master, fixed-order or auto", asked->name,
               wire_name(desc->wire));
    WEFT_CHECK(desc->wire == COMM_WIRE_SAME || (desc->dtype == WEFT_DTYPE_F32 && desc->op == COMM_SUM),
               WEFT_ERR_UNSUPPORTED, "only float32 sums can travel as %s, not a %s of %s", wire_name(desc->wire),
               plan_op_name(desc->op), weft_dtype_name(desc->dtype));
    return WEFT_OK;
}

static weft_status check(const comm_allreduce_desc *desc)
{
    WEFT_CHECK(desc->lane >= 0 && desc->lane < COMM_LANES, WEFT_ERR_INTERNAL, "lane %d of %d", (int)desc->lane,
               (int)COMM_LANES);
    WEFT_CHECK(desc->count >= 0 && desc->count <= MOST_ELEMENTS, WEFT_ERR_INTERNAL, "an all-reduce of %lld elements",
               (long long)desc->count);
    WEFT_CHECK(desc->buffer != NULL || desc->count == 0, WEFT_ERR_INTERNAL,
               "an all-reduce of %lld elements without a buffer", (long long)desc->count);
    WEFT_CHECK(desc->merge != NULL || hal_reduces(desc->dtype, (hal_reduction)desc->op), WEFT_ERR_UNSUPPORTED,
               "sums of %s overflow: use a wider type", weft_dtype_name(desc->dtype));
    WEFT_CHECK(desc->merge == NULL || (desc->dtype == WEFT_DTYPE_U8 && desc->algorithm == COMM_ALGO_RECURSIVE_DOUBLING),
               WEFT_ERR_UNSUPPORTED, "bytes alone are merged, by recursive-doubling");
    return check_form(desc);
}

/* What the descriptor asks for, and what answers it; the same on every rank. */
static const coll_algorithm *resolve(const weft_comm *comm, const comm_allreduce_desc *desc, coll_allreduce *args)
{
    *args = coll_arguments(comm, desc->buffer, desc->count, desc->dtype, desc->op);
    args->wire = desc->wire;
    args->half = desc->half;
    if (desc->algorithm != COMM_ALGO_AUTO) {
        return coll_algorithm_of(desc->algorithm);
    }
    /* Nothing travels between nodes, so nothing needs to be short. */
    args->wire = args->layout->nodes == 1 ? COMM_WIRE_SAME : args->wire;
    coll_place place = coll_place_of(args);
    const coll_algorithm *preferred = coll_algorithm_of(desc->preferred);
    return preferred != NULL && coll_eligible(preferred, &place)
               ? preferred
               : coll_choose_form(&place, args->count, (int64_t)weft_dtype_bytes(args->dtype));
}

static void set_owned(comm_plan *plan, const coll_algorithm *algorithm, const coll_allreduce *args)
{
    assert(args->half == COMM_WHOLE || algorithm->owned != NULL);
    bool all = args->half == COMM_WHOLE || args->size == 1 || args->count == 0;
    plan->owned = all ? (coll_range){0, args->count} : algorithm->owned(args);
}

/* Collective: what a plan in shared memory needs beside its steps. Where there is no room, stages send messages, and
 * AUTO takes another algorithm. */
static weft_status prepare(weft_comm *comm, const comm_allreduce_desc *desc, const coll_algorithm **algorithm,
                           coll_allreduce *args)
{
    weft_status status = WEFT_OK;
    bool staged = (*algorithm)->id == COMM_ALGO_TWO_LEVEL;
    if (desc->count == 0 || comm_size(comm) == 1) {
        return WEFT_OK;
    }
    if (staged && args->shared_memory && comm->layout->most > 1) {
        status = node_shared_create(comm, args, &args->stage);
    } else if ((*algorithm)->one_node) {
        WEFT_CHECK(coll_shared_possible(comm->layout, comm_size(comm)), WEFT_ERR_UNSUPPORTED,
                   "the all-reduce shared needs all ranks on one node, these are on %d: ask for two-level or auto",
                   comm->layout->nodes);
        status = coll_shared_create(comm, args, &args->shared);
    }
    if (status == WEFT_ERR_RESOURCE && (staged || desc->algorithm == COMM_ALGO_AUTO)) {
        log_warn("an all-reduce of %lld elements sends messages inside the node: %s", (long long)desc->count,
                 weft_error_message());
        weft_error_clear();
        args->shared_memory = false;
        const coll_place place = coll_place_of(args);
        *algorithm =
            staged ? *algorithm : coll_choose_form(&place, args->count, (int64_t)weft_dtype_bytes(args->dtype));
        return WEFT_OK;
    }
    return status;
}

/* Takes over args->shared and args->stage, also on failure. */
static weft_status build(weft_comm *comm, const comm_allreduce_desc *desc, const coll_algorithm *algorithm,
                         coll_allreduce *args, const char *text, comm_plan **out)
{
    weft_status status = WEFT_OK;
    comm_plan *plan = NULL;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&plan, 1, WEFT_MEM_COMM), status, done);
    plan->shared = args->shared;
    plan->algorithm = algorithm->id;
    const coll_place place = coll_place_of(args);
    plan->cost = algorithm->cost(&place, desc->count, (int64_t)weft_dtype_bytes(desc->dtype));
    plan->stage = args->stage;
    schedule_begin(&plan->schedule, comm, desc->lane, text);
    if (desc->before != NULL) {
        schedule_round(&plan->schedule, "before");
        schedule_try(&plan->schedule, desc->before, desc->argument);
    }
    plan->merge.fn = desc->merge;
    args->merge = desc->merge != NULL ? &plan->merge : NULL;
    coll_build(&plan->schedule, algorithm, args);
    set_owned(plan, algorithm, args);
    plan->args = *args;
    plan->most = args->count;
    WEFT_TRY_GOTO(schedule_end(&plan->schedule), status, done);
    *out = plan;
    return WEFT_OK;
done:
    if (plan == NULL) {
        coll_shared_destroy(args->shared);
        node_shared_destroy(args->stage);
    }
    comm_plan_destroy(plan);
    return status;
}

weft_status comm_allreduce_plan(weft_comm *comm, const comm_allreduce_desc *desc, comm_plan **plan)
{
    char text[OPERATION_NAME_BYTES];
    coll_allreduce args;
    *plan = NULL;
    WEFT_TRY(comm_agree(comm, check(desc)));
    const coll_algorithm *algorithm = resolve(comm, desc, &args);
    describe(desc, algorithm, text);
    WEFT_TRY(comm_check_same(comm, text));
    WEFT_TRY(prepare(comm, desc, &algorithm, &args));
    weft_status status = comm_agree(comm, build(comm, desc, algorithm, &args, text, plan));
    if (status != WEFT_OK) {
        comm_plan_destroy(*plan);
        *plan = NULL;
    }
    return status;
}

weft_status comm_plan_shorten(comm_plan *plan, int64_t count)
{
    const coll_algorithm *algorithm = coll_algorithm_of(plan->algorithm);
    assert(plan->algorithm == COMM_ALGO_RECURSIVE_DOUBLING && count >= 0 && count <= plan->most);
    const coll_place place = coll_place_of(&plan->args);
    plan->args.count = count;
    plan->owned = (coll_range){0, count};
    plan->cost = algorithm->cost(&place, count, (int64_t)weft_dtype_bytes(plan->args.dtype));
    schedule_again(&plan->schedule);
    coll_build(&plan->schedule, algorithm, &plan->args);
    return schedule_end(&plan->schedule);
}

void comm_plan_owned(const comm_plan *plan, int64_t *begin, int64_t *count)
{
    *begin = plan->owned.begin;
    *count = plan->owned.count;
}

weft_status comm_post(comm_plan *plan)
{
    WEFT_CHECK(!operation_active(&plan->schedule.operation), WEFT_ERR_INTERNAL, "%s is posted twice without a wait",
               plan->schedule.operation.name);
    schedule_post(&plan->schedule);
    return operation_active(&plan->schedule.operation) ? WEFT_OK : progress_status(&plan->schedule.operation);
}

weft_status comm_test(comm_plan *plan, bool *done)
{
    return schedule_test(&plan->schedule, done);
}

weft_status comm_wait(comm_plan *plan)
{
    return schedule_wait(&plan->schedule);
}

comm_algorithm comm_plan_algorithm(const comm_plan *plan)
{
    return plan->algorithm;
}

comm_cost comm_plan_cost(const comm_plan *plan)
{
    return plan->cost;
}

void comm_plan_destroy(comm_plan *plan)
{
    if (plan != NULL) {
        schedule_free(&plan->schedule);
        coll_shared_destroy(plan->shared);
        node_shared_destroy(plan->stage);
        coll_cut_free(&plan->cut);
        weft_free(plan);
    }
}

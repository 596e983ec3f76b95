/* comm/plan.c: planned all-reduces: checked against the other ranks once, then posted, tested and waited on. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/log.h"
#include "comm/coll/shared.h"
#include "comm/comm_internal.h"
#include "comm/reduce.h"

struct comm_plan {
    comm_schedule schedule;
    coll_shared *shared; /* NULL: it sends messages */
};

static const char *op_name(comm_op op)
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

static void describe(const comm_allreduce_desc *desc, char text[OPERATION_NAME_BYTES])
{
    const char *name = desc->name != NULL ? desc->name : "";
    snprintf(text, OPERATION_NAME_BYTES, "all-reduce %s of %lld %s %s on lane %s%s%s",
             comm_algorithm_name(desc->algorithm), (long long)desc->count, weft_dtype_name(desc->dtype),
             op_name(desc->op), comm_lane_name(desc->lane), name[0] != '\0' ? ", " : "", name);
}

static weft_status check(const comm_allreduce_desc *desc)
{
    WEFT_CHECK(desc->lane >= 0 && desc->lane < COMM_LANES, WEFT_ERR_INTERNAL, "lane %d of %d", (int)desc->lane,
               (int)COMM_LANES);
    WEFT_CHECK(desc->count >= 0 && desc->count <= INT64_MAX / 16, WEFT_ERR_INTERNAL, "an all-reduce of %lld elements",
               (long long)desc->count);
    WEFT_CHECK(desc->buffer != NULL || desc->count == 0, WEFT_ERR_INTERNAL,
               "an all-reduce of %lld elements without a buffer", (long long)desc->count);
    WEFT_CHECK(desc->algorithm == COMM_ALGO_AUTO || coll_algorithm_of(desc->algorithm) != NULL, WEFT_ERR_INTERNAL,
               "all-reduce algorithm %d is unknown", (int)desc->algorithm);
    WEFT_CHECK(comm_reduce_supported(desc->dtype, desc->op), WEFT_ERR_UNSUPPORTED,
               "sums of %s overflow: use a wider type", weft_dtype_name(desc->dtype));
    return WEFT_OK;
}

/* Collective: what a plan in shared memory needs beside its steps. AUTO makes do with messages when there is no room.
 */
static weft_status prepare(weft_comm *comm, const comm_allreduce_desc *desc, const coll_algorithm **algorithm,
                           coll_allreduce *args)
{
    if ((*algorithm)->id != COMM_ALGO_SHARED || desc->count == 0 || comm_size(comm) == 1) {
        return WEFT_OK;
    }
    WEFT_CHECK(coll_shared_possible(comm->layout, comm_size(comm)), WEFT_ERR_UNSUPPORTED,
               "the all-reduce shared needs all ranks on one node, these are on %d: ask for two-level or auto",
               comm->layout->nodes);
    weft_status status = coll_shared_create(comm, args, &args->shared);
    if (status == WEFT_ERR_RESOURCE && desc->algorithm == COMM_ALGO_AUTO) {
        log_warn("an all-reduce of %lld elements sends messages inside the node: %s", (long long)desc->count,
                 weft_error_message());
        *algorithm = coll_choose_messages(&comm->model, comm->layout, comm_size(comm), desc->count, desc->dtype);
        return WEFT_OK;
    }
    return status;
}

/* Takes over args->shared, also on failure. */
static weft_status build(weft_comm *comm, const comm_allreduce_desc *desc, const coll_algorithm *algorithm,
                         const coll_allreduce *args, const char *text, comm_plan **out)
{
    weft_status status = WEFT_OK;
    comm_plan *plan = NULL;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&plan, 1, WEFT_MEM_COMM), status, done);
    plan->shared = args->shared;
    schedule_begin(&plan->schedule, comm, desc->lane, text);
    if (desc->count > 0 && comm_size(comm) > 1) {
        algorithm->build(&plan->schedule, args);
    }
    WEFT_TRY_GOTO(schedule_end(&plan->schedule), status, done);
    *out = plan;
    return WEFT_OK;
done:
    if (plan == NULL) {
        coll_shared_destroy(args->shared);
    }
    comm_plan_destroy(plan);
    return status;
}

weft_status comm_allreduce_plan(weft_comm *comm, const comm_allreduce_desc *desc, comm_plan **plan)
{
    char text[OPERATION_NAME_BYTES];
    *plan = NULL;
    describe(desc, text);
    WEFT_TRY(comm_check_same(comm, text));
    WEFT_TRY(comm_agree(comm, check(desc)));
    const coll_algorithm *algorithm =
        desc->algorithm == COMM_ALGO_AUTO
            ? coll_choose(&comm->model, comm->layout, comm_size(comm), desc->count, desc->dtype)
            : coll_algorithm_of(desc->algorithm);
    coll_allreduce args = {comm_rank(comm), comm_size(comm), desc->buffer, desc->count, desc->dtype, desc->op, NULL};
    WEFT_TRY(prepare(comm, desc, &algorithm, &args));
    weft_status status = comm_agree(comm, build(comm, desc, algorithm, &args, text, plan));
    if (status != WEFT_OK) {
        comm_plan_destroy(*plan);
        *plan = NULL;
    }
    return status;
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

void comm_plan_destroy(comm_plan *plan)
{
    if (plan != NULL) {
        schedule_free(&plan->schedule);
        coll_shared_destroy(plan->shared);
        weft_free(plan);
    }
}

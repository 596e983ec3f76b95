/* comm/plan.c: planned all-reduces: checked against the other ranks once, then posted, tested and waited on. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "comm/coll/coll.h"
#include "comm/comm_internal.h"
#include "comm/reduce.h"

struct comm_plan {
    comm_schedule schedule;
    comm_algorithm algorithm;
    comm_cost cost;
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
    snprintf(text, OPERATION_NAME_BYTES, "all-reduce %s of %lld %s %s on lane %s", comm_algorithm_name(desc->algorithm),
             (long long)desc->count, weft_dtype_name(desc->dtype), op_name(desc->op), comm_lane_name(desc->lane));
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

static weft_status build(weft_comm *comm, const comm_allreduce_desc *desc, const char *text, comm_plan **out)
{
    weft_status status = WEFT_OK;
    comm_plan *plan = NULL;
    WEFT_TRY(check(desc));
    WEFT_TRY(WEFT_NEW_ZERO(&plan, 1, WEFT_MEM_COMM));
    const coll_algorithm *algorithm =
        desc->algorithm == COMM_ALGO_AUTO
            ? coll_choose(&comm->model, comm->layout, comm_size(comm), desc->count, desc->dtype)
            : coll_algorithm_of(desc->algorithm);
    const coll_place place = {comm_rank(comm), comm_size(comm), comm->layout};
    plan->algorithm = algorithm->id;
    plan->cost = algorithm->cost(&place, desc->count, (int64_t)weft_dtype_bytes(desc->dtype));
    schedule_begin(&plan->schedule, comm, desc->lane, text);
    if (desc->count > 0 && comm_size(comm) > 1) {
        coll_allreduce args = {comm_rank(comm), comm_size(comm), desc->buffer, desc->count, desc->dtype, desc->op};
        algorithm->build(&plan->schedule, &args);
    }
    WEFT_TRY_GOTO(schedule_end(&plan->schedule), status, done);
    *out = plan;
    plan = NULL;
done:
    comm_plan_destroy(plan);
    return status;
}

weft_status comm_allreduce_plan(weft_comm *comm, const comm_allreduce_desc *desc, comm_plan **plan)
{
    char text[OPERATION_NAME_BYTES];
    *plan = NULL;
    describe(desc, text);
    WEFT_TRY(comm_check_same(comm, text));
    weft_status status = comm_agree(comm, build(comm, desc, text, plan));
    if (status != WEFT_OK) {
        comm_plan_destroy(*plan);
        *plan = NULL;
    }
    return status;
}

weft_status comm_post(comm_plan *plan)
{
    WEFT_CHECK(!plan->schedule.operation.active, WEFT_ERR_INTERNAL, "%s is posted twice without a wait",
               plan->schedule.operation.name);
    schedule_post(&plan->schedule);
    return plan->schedule.operation.active ? WEFT_OK : progress_status(&plan->schedule.operation);
}

weft_status comm_test(comm_plan *plan, bool *done)
{
    if (plan->schedule.operation.active) {
        progress_drive(plan->schedule.comm->progress);
    }
    *done = !plan->schedule.operation.active;
    return *done ? progress_status(&plan->schedule.operation) : WEFT_OK;
}

weft_status comm_wait(comm_plan *plan)
{
    weft_comm *comm = plan->schedule.comm;
    double start = clock_seconds();
    weft_status status = progress_wait(comm->progress, &plan->schedule.operation, comm_rank(comm));
    comm->stats[plan->schedule.operation.lane].wait_seconds += clock_seconds() - start;
    return status;
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
        weft_free(plan);
    }
}

/*
 * The calibration over MPI: the same figures on every rank, all of them possible, on one node and on imitated ones.
 * ranks: 1 2 4
 */
#include "comm/core/comm_internal.h"
#include "comm/model/calibrate.h"
#include "support/comm_run.h"

static bool possible(double seconds, double most)
{
    return seconds > 1e-13 && seconds <= most;
}

static weft_status calibrate(weft_comm *comm)
{
    comm_model model;
    double ratio = 0.0;
    int size = comm_size(comm);
    WEFT_TRY(comm_calibrate(comm, &model));
    WEFT_TRY(case_same_on_all(comm, &model, sizeof model));
    CASE_CHECK(model.measured == (size > 1), "measured is %d on %d ranks", model.measured, size);
    CASE_CHECK(possible(model.inter.latency, 1) && possible(model.intra.latency, 1), "latencies are %g and %g s",
               model.inter.latency, model.intra.latency);
    CASE_CHECK(possible(model.inter.seconds_per_byte, 1e-6) && possible(model.intra.seconds_per_byte, 1e-6),
               "a byte takes %g and %g s", model.inter.seconds_per_byte, model.intra.seconds_per_byte);
    CASE_CHECK(possible(model.sync, 1) && possible(model.shared_per_byte, 1e-6), "shared memory takes %g and %g s",
               model.sync, model.shared_per_byte);
    CASE_CHECK(possible(model.reduce_per_byte, 1e-6) && possible(model.select_per_element, 1e-5) &&
                   possible(model.scatter_per_element, 1e-5),
               "local work takes %g, %g and %g s", model.reduce_per_byte, model.select_per_element,
               model.scatter_per_element);
    WEFT_TRY(comm_check_model(comm, &model, &ratio));
    WEFT_TRY(case_same_on_all(comm, &ratio, sizeof ratio));
    CASE_CHECK(ratio > 0.0, "the network takes %g times", ratio);
    return WEFT_OK;
}

static weft_status case_one_node(weft_comm *comm, void *argument)
{
    (void)argument;
    return calibrate(comm);
}

static weft_status case_imitated_nodes(weft_comm *comm, void *argument)
{
    (void)argument;
    WEFT_TRY(comm_imitate_nodes(comm, 2));
    return calibrate(comm);
}

static weft_status case_a_rank_a_node(weft_comm *comm, void *argument)
{
    (void)argument;
    WEFT_TRY(comm_imitate_nodes(comm, 1));
    return calibrate(comm);
}

int main(void)
{
    static const comm_case cases[] = {
        {"one node", case_one_node}, {"imitated nodes", case_imitated_nodes}, {"a rank a node", case_a_rank_a_node}};
    return comm_run_mpi(cases, 3, 1);
}

/* comm/core/cost.c: the prediction, and the constants that hold until something was measured. */
#include "comm/core/cost.h"

#include "comm/core/comm_internal.h"

comm_model comm_model_default(void)
{
    return (comm_model){.inter = {10e-6, 1e-9},
                        .intra = {1e-6, 0.3e-9},
                        .sync = 0.3e-6,
                        .shared_per_byte = 0.1e-9,
                        .reduce_per_byte = 0.2e-9,
                        .select_per_element = 1e-9,
                        .scatter_per_element = 2e-9,
                        .measured = false};
}

double comm_model_seconds(const comm_model *model, const comm_cost *cost)
{
    return (double)cost->inter_rounds * model->inter.latency +
           (double)cost->inter_bytes * model->inter.seconds_per_byte +
           (double)cost->inter_paired * model->paired_per_byte + (double)cost->intra_rounds * model->intra.latency +
           (double)cost->intra_bytes * model->intra.seconds_per_byte + (double)cost->shared_syncs * model->sync +
           (double)cost->shared_bytes * model->shared_per_byte + (double)cost->reduced * model->reduce_per_byte +
           (double)cost->selected * model->select_per_element + (double)cost->scattered * model->scatter_per_element;
}

const comm_model *comm_get_model(const weft_comm *comm)
{
    return &comm->model;
}

void comm_set_model(weft_comm *comm, const comm_model *model)
{
    comm->model = *model;
}

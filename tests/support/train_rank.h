/* support/train_rank.h: what a rank of a training test holds: backend, its part of a graph, model and labels. */
#pragma once

#include "gnn/dataset.h"
#include "gnn/gnn_model.h"
#include "partition/partition.h"
#include "support/test.h"
#include "train/loop/loop.h"

typedef struct train_rank {
    weft_hal *hal;
    weft_part part;
    gnn_model *model;
    train_labels labels;
} train_rank;

/* Close it also after a failure. Collective. */
static inline weft_status train_rank_open(weft_comm *comm, const char *backend, const weft_graph *graph,
                                          const weft_partition *partition, const gnn_config *config, hal_spmm_form form,
                                          train_rank *rank)
{
    *rank = (train_rank){.hal = NULL};
    WEFT_TRY(weft_hal_open(test_device(backend), 1, &rank->hal));
    WEFT_TRY(WEFT_NEW_ZERO(&rank->model, 1, WEFT_MEM_GENERAL));
    WEFT_TRY(part_extract(graph, partition, comm_rank(comm), NULL, PART_SHARED_FIRST, &rank->part));
    WEFT_TRY(gnn_model_create(comm, rank->hal, WEFT_DTYPE_F32, config, &rank->part, NULL, form, rank->model));
    weft_tensor features = gnn_model_features(rank->model);
    WEFT_TRY(gnn_load_features(comm, graph, &rank->part, GNN_SCALE_NONE, NULL, &features));
    WEFT_TRY(gnn_load_labels(comm, rank->hal, graph, &rank->part, TRAIN_LOSS_XENT, NULL, &rank->labels));
    return gnn_model_prepare(rank->model);
}

static inline void train_rank_close(train_rank *rank)
{
    labels_destroy(&rank->labels);
    if (rank->model != NULL) {
        gnn_model_destroy(rank->model);
    }
    weft_free(rank->model);
    part_destroy(&rank->part);
    weft_hal_close(rank->hal);
}

/* Edges dealt at random: every rank borders on every other. */
static inline weft_status train_rank_partition(const weft_graph *graph, int ranks, weft_partition *partition)
{
    const partition_options cut = {.method = "random", .parts = ranks, .seed = 1, .balance = 1.1, .threads = 1};
    partition_report report;
    return partition_compute(graph, &cut, partition, &report);
}

/* on_run of an observer that looks at epochs. */
static inline weft_status train_rank_ignore_run(void *self, int run, const train_run *result)
{
    (void)self;
    (void)run;
    (void)result;
    return WEFT_OK;
}

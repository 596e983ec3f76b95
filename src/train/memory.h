/*
 * train/memory.h: the bytes that training keeps for the parameters of a model, known before the model is made.
 *
 *      values      every parameter and running statistic         gradients    trained parameters
 *      moments     the optimiser's slots (train/optimizer.h)     best         values of the best evaluation
 *      averages    moving average of the values over steps, and a copy of the values for which it stands in
 *      parts       sum of the micro-batches' gradients, where a batch comes in parts
 *      packed      copies of one layer's weights and of its gradient in the backend's layout, where it makes such
 *                  copies
 *      start       one layer's first values on their way from the host, before the first step
 *      checkpoint  host copy of values and moments, on every rank, while a checkpoint is written
 *
 * A gradient all-reduce and other modes of synchronisation keep copies of their own (app/setup/sync_setup.h).
 */
#pragma once

#include "train/optimizer.h"

/* Facts of a model and of its training that decide how many bytes are kept. */
typedef struct train_memory_desc {
    /* Elements with gradients: parameters that all ranks hold alike, and this rank's own. */
    int64_t trained, own;
    /* Elements without gradients: running statistics of batch norm. */
    int64_t state;
    /* Elements of the largest parameter. */
    int64_t largest;
    weft_dtype dtype;
    /* The optimiser; NULL: the model only answers. */
    const optimizer_options *optimizer;
    /* Batches come in several parts. */
    bool in_parts;
    /* Checkpoints are written. */
    bool checkpoints;
    /* The backend packs the weights of the layer under way. */
    bool packs;
} train_memory_desc;

/* Bytes. */
typedef struct train_memory {
    uint64_t values, gradients, moments, best, averages, parts, packed;
    /* For a while only, before the first step and between steps. They are never in memory together. */
    uint64_t start, checkpoint;
    /* Kept in every step: the sum of `values` to `packed`. */
    uint64_t kept;
    /* One vector of gradients, which modes of synchronisation keep copies of. */
    uint64_t gradient;
} train_memory;

train_memory train_memory_of(const train_memory_desc *desc);

/* The most bytes of the host that are needed for a while beside those kept. */
static inline uint64_t train_memory_passing(const train_memory *memory)
{
    return memory->start > memory->checkpoint ? memory->start : memory->checkpoint;
}

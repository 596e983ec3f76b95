/* hal/cuda/kernels/cuda_dropout.h: masks as base/philox.h defines them: the same bits as on any other backend. */
#ifndef WEFT_HAL_CUDA_KERNELS_CUDA_DROPOUT_H
#define WEFT_HAL_CUDA_KERNELS_CUDA_DROPOUT_H

#include "base/philox.h"
#include "hal/cuda/kernels/cuda_launch.h"
#include "hal/op_args.h"

struct cuda_mask {
    const int64_t *row_id; /* NULL: row_base + row */
    int64_t row_base;
    uint64_t seed;
    uint32_t purpose, epoch, threshold;
    bool on;
    double scale; /* of what is kept */
};

static inline cuda_mask cuda_mask_of(const hal_dropout &dropout)
{
    const bool on = dropout.probability > 0.0f;
    return {static_cast<const int64_t *>(dropout.row_id.source),
            dropout.row_base,
            dropout.seed,
            dropout.purpose,
            dropout.epoch,
            philox_dropout_threshold(dropout.probability),
            on,
            on ? 1.0 / (1.0 - (double)dropout.probability) : 1.0};
}

static __device__ inline bool cuda_keeps(const cuda_mask &mask, int64_t row, int64_t column)
{
    if (!mask.on) {
        return true;
    }
    const int64_t id = mask.row_id != nullptr ? mask.row_id[row] : mask.row_base + row;
    const philox_block block =
        philox4x32(philox_counter((uint32_t)(column / 8), (uint64_t)id, mask.purpose, mask.epoch), mask.seed);
    return philox_lane16(block, (unsigned)(column % 8)) >= mask.threshold;
}

/* 0, or what element (row, column) is multiplied by. */
template <typename real> static __device__ inline real cuda_kept(const cuda_mask &mask, int64_t row, int64_t column)
{
    return cuda_keeps(mask, row, column) ? (real)mask.scale : (real)0;
}

/* The same of the edge from row `source` to row `target` for a head. */
template <typename real>
static __device__ inline real cuda_kept_edge(const cuda_mask &mask, int64_t source, int64_t target, int head)
{
    if (!mask.on) {
        return (real)1;
    }
    const philox_block block = philox_edge((uint32_t)(head / 8), (uint64_t)mask.row_id[source],
                                           (uint64_t)mask.row_id[target], mask.purpose, mask.epoch, mask.seed);
    return philox_lane16(block, (unsigned)(head % 8)) >= mask.threshold ? (real)mask.scale : (real)0;
}

#endif

/* hal/cuda/kernels/cuda_dropout.h: masks as base/philox.h defines them: the same bits as on any other backend. */
#pragma once

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

/* Of the 8 columns that `column` is one of. */
static __device__ inline philox_block cuda_random_words(const cuda_mask &mask, int64_t row, int64_t column)
{
    const int64_t id = mask.row_id != nullptr ? mask.row_id[row] : mask.row_base + row;
    return philox4x32(philox_counter((uint32_t)(column / 8), (uint64_t)id, mask.purpose, mask.epoch), mask.seed);
}

static __device__ inline bool cuda_keeps(const cuda_mask &mask, int64_t row, int64_t column)
{
    if (!mask.on) {
        return true;
    }
    return philox_lane16(cuda_random_words(mask, row, column), (unsigned)(column % 8)) >= mask.threshold;
}

/* A bit for each of columns j .. j + N - 1 of a row: whether it is kept. N is 1, or 8 from a multiple of 8 on, which is
 * one block of random words. */
template <int N> static __device__ inline unsigned cuda_keeps_cells(const cuda_mask &mask, int64_t row, int64_t j)
{
    static_assert(N == 1 || N == 8, "one block of random words");
    unsigned kept = 0;
    if (N == 1 || !mask.on) {
        return cuda_keeps(mask, row, j) ? ~0u : 0u;
    }
    const philox_block block = cuda_random_words(mask, row, j);
    for (unsigned k = 0; k < N; ++k) {
        kept |= (philox_lane16(block, k) >= mask.threshold ? 1u : 0u) << k;
    }
    return kept;
}

/* 0, or what element (row, column) is multiplied by. */
template <typename real> static __device__ inline real cuda_kept(const cuda_mask &mask, int64_t row, int64_t column)
{
    return cuda_keeps(mask, row, column) ? (real)mask.scale : (real)0;
}

/* Bit i: head `first` + i, one of up to 32, keeps the edge from row `source` to row `target`. */
static __device__ inline unsigned cuda_kept_heads(const cuda_mask &mask, int64_t source, int64_t target, int first,
                                                  int heads)
{
    unsigned kept = 0;
    for (int head = first; head < first + heads;) {
        const philox_block block = philox_edge((uint32_t)(head / 8), (uint64_t)mask.row_id[source],
                                               (uint64_t)mask.row_id[target], mask.purpose, mask.epoch, mask.seed);
        do {
            const bool keeps = philox_lane16(block, (unsigned)(head % 8)) >= mask.threshold;
            kept |= keeps ? 1u << (head - first) : 0u;
            head += 1;
        } while (head % 8 != 0 && head < first + heads);
    }
    return kept;
}

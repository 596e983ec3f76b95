/*
 * hal/cpu/kernels_cells.h: what the bodies over cells share. Each is included by kernels_*.c once for float32 and once
 * for bfloat16 (kernels_cells_bf16.h), with
 *   cell           the type in memory
 *   LOAD, STORE    a cell as a float, and back
 *   PASSES         whether a float is above 0 once it is stored
 *   CELL(name)     the name of a function for this type
 */
#pragma once

enum { LINE_BYTES = 64 };
#define CELLS_OF_LINE ((int64_t)(LINE_BYTES / sizeof(cell)))

/* What tells where the ReLU behind batch norm let something through: nothing, there is none; x; its output. */
typedef enum bn_mask { BN_MASK_NONE, BN_MASK_X, BN_MASK_Y } bn_mask;

/* The table of batch norm for a type (kernels_norm_body.h). */
#define NORM_OF(type)                                                                                                  \
    {                                                                                                                  \
        .stats = bn_stats_##type, .apply = bn_apply_##type, .backward_stats = bn_backward_stats_##type,                \
        .backward_apply = bn_backward_apply_##type                                                                     \
    }

#define BY_FORM static inline __attribute__((always_inline))

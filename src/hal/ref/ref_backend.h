/*
 * hal/ref/ref_backend.h: the reference backend.
 *
 * Plain C on one thread, one loop nest an operation, sums in double: the definition that other backends are tested
 * against and the fallback for what they leave out. Each file of typed operations includes its *_body.h once for each
 * type of rows (ref_typed.h); what chooses between the types is made of hal/ops.def.
 */
#pragma once

#include "base/half.h"
#include "base/philox.h"
#include "hal/hal.h"

/* Element (i, j) of the operand `name` of args, whose elements the pointer of the same name has. */
#define AT(name, i, j) name[(i)*args->name.ld + (j)]
/* For all elements (i, j) of an operand of args, row by row. */
#define EACH_ELEMENT(name)                                                                                             \
    for (int64_t i = 0; i < args->name.rows; ++i)                                                                      \
        for (int64_t j = 0; j < args->name.cols; ++j)

/* An element of a matrix of floating-point numbers, for operations whose operands have types of their own. */
static inline double ref_load(const hal_mat *mat, int64_t row, int64_t col)
{
    const int64_t at = row * mat->ld + col;
    switch (mat->dtype) {
    case WEFT_DTYPE_F64:
        return ((const double *)mat->source)[at];
    case WEFT_DTYPE_BF16:
        return (double)bf16_to_float(((const uint16_t *)mat->source)[at]);
    case WEFT_DTYPE_F16:
        return (double)fp16_to_float(((const uint16_t *)mat->source)[at]);
    default:
        return (double)((const float *)mat->source)[at];
    }
}

/* To float32 first, where the type is shorter. */
static inline void ref_store(const hal_mat *mat, int64_t row, int64_t col, double x)
{
    const int64_t at = row * mat->ld + col;
    switch (mat->dtype) {
    case WEFT_DTYPE_F64:
        ((double *)mat->data)[at] = x;
        break;
    case WEFT_DTYPE_BF16:
        ((uint16_t *)mat->data)[at] = bf16_from_float((float)x);
        break;
    case WEFT_DTYPE_F16:
        ((uint16_t *)mat->data)[at] = fp16_from_float((float)x);
        break;
    default:
        ((float *)mat->data)[at] = (float)x;
        break;
    }
}

/* Whether dropout keeps element (row, column); the definition stands in base/philox.h. */
static inline bool dropout_keeps(const hal_dropout *dropout, int64_t row, int64_t column)
{
    const int64_t *row_id = dropout->row_id.source;
    int64_t id = row_id != NULL ? row_id[row] : dropout->row_base + row;
    philox_block block = philox4x32(
        philox_counter((uint32_t)(column / 8), (uint64_t)id, dropout->purpose, dropout->epoch), dropout->seed);
    return philox_lane16(block, (unsigned)(column % 8)) >= philox_dropout_threshold(dropout->probability);
}

static inline bool dropout_is_on(const hal_dropout *dropout)
{
    return dropout->probability > 0.0F;
}

/* Fill every table with the reference operations. */
void ref_fill_ops(weft_hal *hal);

void ref_mem_ops(hal_mem_ops *ops);
void ref_sparse_ops(hal_sparse_ops *ops);
void ref_image_ops(hal_image_ops *ops);

/* The operations, by element type; those whose operands have types of their own, for all of them. */
#define HAL_OP(group, name, flops, operands, ...)                                                                      \
    weft_status ref_##name##_f32(const hal_##name##_args *args);                                                       \
    weft_status ref_##name##_f64(const hal_##name##_args *args);
#define HAL_DATA_OP(group, name, flops, operands, ...)                                                                 \
    weft_status ref_##name##_f32(const hal_##name##_args *args);                                                       \
    weft_status ref_##name##_f64(const hal_##name##_args *args);                                                       \
    weft_status ref_##name##_bf16(const hal_##name##_args *args);
#define HAL_VALUE_OP(group, name, flops, operands, ...)                                                                \
    HAL_DATA_OP(group, name, flops, operands, __VA_ARGS__)                                                             \
    weft_status ref_##name##_f16(const hal_##name##_args *args);
#define HAL_MIXED_OP(group, name, types, flops, operands, ...)                                                         \
    weft_status ref_##name##_mixed(const hal_##name##_args *args);
#include "hal/ops.def"

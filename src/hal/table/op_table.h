/*
 * hal/table/op_table.h: hal/ops.def as data, for code that treats all operations alike: counting, checking types,
 * and backends that wrap another one.
 */
#ifndef WEFT_HAL_TABLE_OP_TABLE_H
#define WEFT_HAL_TABLE_OP_TABLE_H

#include "hal/hal.h"

enum { HAL_MOST_OPERANDS = 12 };

typedef struct hal_operand {
    const char *name;
    const hal_mat *mat;
    int type; /* a weft_dtype, or HAL_REAL and its like */
    hal_access access;
} hal_operand;

const char *hal_op_name(hal_op op);
const char *hal_op_group(hal_op op);
/* Bytes of the operation's arguments. */
size_t hal_op_args_bytes(hal_op op);
/* [out] operand  [HAL_MOST_OPERANDS] the operands of this call with what it does to them; those that were left out too.
 * Returns their number. */
int hal_op_operands(hal_op op, const void *args, hal_operand *operand);
hal_cost hal_op_cost(hal_op op, const void *args);

/* Call the backend's slot, without counting. */
weft_status hal_op_call(weft_hal *hal, hal_op op, const void *args);

/* Whether an optional operand is there. An empty matrix counts as left out: it makes no difference. */
static inline bool hal_mat_given(const hal_mat *mat)
{
    return mat->data != NULL;
}

/* The type of the first operand, for backends on host memory: HAL_REAL operands are all float32 or all float64, HAL_DATA
 * and HAL_PARAM operands as they say, every other operand is of its declared type or of those that its operation allows; else WEFT_ERR_UNSUPPORTED. */
weft_status hal_op_type(hal_op op, const void *args, weft_dtype *dtype);
/* WEFT_ERR_UNSUPPORTED: "gemm: no operation on a float32, b bfloat16, c float32". */
weft_status hal_op_refuse_types(hal_op op, const void *args);

#endif

/*
 * hal/table/op_table.h: hal/ops.def as data, for code that treats all operations alike: counting, checking types,
 * and backends that wrap another one.
 */
#pragma once

#include "hal/hal.h"

enum { HAL_MOST_OPERANDS = 12 };

typedef struct hal_operand {
    const char *name;
    const hal_mat *mat;
    int type; /* a weft_dtype, or one of HAL_REAL, HAL_ANY, HAL_DATA, HAL_PARAM and HAL_OWN */
    hal_access access;
} hal_operand;

const char *hal_op_name(hal_op op);
/* Returns the bytes of the struct hal_<op>_args. */
size_t hal_op_args_bytes(hal_op op);
/* [out] operand: [HAL_MOST_OPERANDS] operands of this call and what it does to them, including operands that were left
 * out. Returns their number. */
int hal_op_operands(hal_op op, const void *args, hal_operand *operand);
hal_cost hal_op_cost(hal_op op, const void *args);

/* Calls the backend's slot without counting its cost. */
weft_status hal_op_call(weft_hal *hal, hal_op op, const void *args);

/* Returns true if an optional operand is given. An empty matrix may count as left out, which makes no difference. */
static inline bool hal_mat_given(const hal_mat *mat)
{
    return mat->data != NULL;
}

/* [out] dtype: type of the first operand. Returns WEFT_ERR_UNSUPPORTED if an operand has a type that the operation's
 * row in hal/ops.def does not allow. */
weft_status hal_op_type(hal_op op, const void *args, weft_dtype *dtype);
/* Returns WEFT_ERR_UNSUPPORTED with the message "gemm: no operation on a float32, b bfloat16, c float32". */
weft_status hal_op_refuse_types(hal_op op, const void *args);

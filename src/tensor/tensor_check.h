/* tensor/tensor_check.h: shapes, types and backends of operands; WEFT_ERR_INTERNAL names the operation and operand. */
#pragma once

#include "tensor/tensor.h"

/* Checks that both live on the same backend; the operation checks types itself. */
weft_status tensor_check_near(const char *op, const char *name, const weft_tensor *t, const weft_tensor *like);
/* Checks that both live on the same backend and have the same type. */
weft_status tensor_check_alike(const char *op, const char *name, const weft_tensor *t, const weft_tensor *like);
/* rows x cols of exactly this type, without gaps, on the backend of `like`. */
weft_status tensor_check_exact(const char *op, const char *name, const weft_tensor *t, const hal_mat *shape,
                               const weft_tensor *like);
weft_status tensor_check_shape(const char *op, const char *name, const weft_tensor *t, int64_t rows, int64_t cols);
/* The type of parameters and sums beside rows of this type. */
weft_dtype tensor_param_type(weft_dtype rows);
/* Checks that v is a vector of that type (rows or cols 1) on the same backend. NULL passes. */
weft_status tensor_check_vector(const char *op, const char *name, const weft_tensor *t, int64_t rows, int64_t cols,
                                const weft_tensor *like);
/* x has the shape of y. */
weft_status tensor_check_same(const char *op, const char *name, const weft_tensor *x, const weft_tensor *y);

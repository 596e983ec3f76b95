/*
 * hal/ref/ref_backend.h: the reference backend.
 *
 * Plain C on one thread, one loop nest an operation, sums in double: the definition that other backends are tested
 * against and the fallback for what they leave out. Each file of typed operations includes its *_body.h twice, once
 * with real = float and once with real = double.
 */
#ifndef WEFT_HAL_REF_REF_BACKEND_H
#define WEFT_HAL_REF_REF_BACKEND_H

#include "hal/hal.h"

/* Fill every table with the reference operations. */
void ref_fill_ops(weft_hal *hal);

void ref_mem_ops(hal_mem_ops *ops);
void ref_dense_ops(hal_dense_ops *ops);
void ref_nn_ops(hal_nn_ops *ops);
void ref_sparse_ops(hal_sparse_ops *ops);
void ref_optim_ops(hal_optim_ops *ops);

/* Call the operation of the type, or refuse the type. */
#define REF_DISPATCH(operation, dtype, ...)                                                                            \
    do {                                                                                                               \
        switch (dtype) {                                                                                               \
        case WEFT_DTYPE_F32:                                                                                           \
            operation##_f32(__VA_ARGS__);                                                                              \
            return WEFT_OK;                                                                                            \
        case WEFT_DTYPE_F64:                                                                                           \
            operation##_f64(__VA_ARGS__);                                                                              \
            return WEFT_OK;                                                                                            \
        default:                                                                                                       \
            return weft_fail(WEFT_ERR_UNSUPPORTED, "%s: no operation on %s", #operation, weft_dtype_name(dtype));      \
        }                                                                                                              \
    } while (0)

#endif

/* hal/cpu/pack/pack_internal.h: what the pack operations share with the kernels that are called straight. */
#pragma once

#include "hal/pack.h"

extern const hal_pack pack_base, pack_avx2, pack_avx512;

/* to[i] = left[i] op right[i] on the calling thread. */
void pack_reduce(weft_dtype dtype, hal_reduction reduction, void *to, const void *left, const void *right,
                 int64_t count);

/* The kernels that convert between float32 and this 16-bit type. */
const hal_pack_cast *pack_cast_of(const hal_pack *pack, weft_dtype dtype);

/* encode_rows and decode_rows; in cpu_pack_rows.c. */
void cpu_pack_row_ops(hal_ops *ops);

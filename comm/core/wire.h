/*
 * comm/core/wire.h: what goes on the wire in place of float32. Reductions stay in float32: a receiver decodes and adds
 * (hal/pack.h).
 */
#pragma once

#include "comm/comm.h"

static inline weft_dtype wire_dtype(comm_wire wire)
{
    static const weft_dtype dtypes[] = {
        [COMM_WIRE_SAME] = WEFT_DTYPE_F32, [COMM_WIRE_BF16] = WEFT_DTYPE_BF16, [COMM_WIRE_FP16] = WEFT_DTYPE_F16};
    return dtypes[wire];
}

/* Bytes of one element on the wire. */
static inline int64_t wire_bytes(comm_wire wire)
{
    return (int64_t)weft_dtype_bytes(wire_dtype(wire));
}

/* As --wire spells it. */
static inline const char *wire_name(comm_wire wire)
{
    static const char *const names[] = {
        [COMM_WIRE_SAME] = "float32", [COMM_WIRE_BF16] = "bf16", [COMM_WIRE_FP16] = "fp16"};
    return names[wire];
}

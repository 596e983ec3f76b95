/*
 * comm/codec/codec.h: what goes on the wire in place of float32: shorter numbers, or a few of them with their places.
 *
 * Reductions stay in float32: a receiver decodes and adds. Rounding is to nearest, ties to even; NaN stays NaN; values
 * past the largest fp16 become infinity (IEEE 754).
 */
#ifndef WEFT_COMM_CODEC_CODEC_H
#define WEFT_COMM_CODEC_CODEC_H

#include <stdint.h>

#include "comm/comm.h"

/* Bytes of one element on the wire. */
int64_t codec_bytes(comm_wire wire);
const char *codec_name(comm_wire wire);

/* to[count] in the wire's type. */
void codec_encode(comm_wire wire, const float *from, void *to, int64_t count);
/* to = decoded, or += decoded. */
void codec_decode(comm_wire wire, const void *from, float *to, int64_t count);
void codec_decode_add(comm_wire wire, const void *from, float *to, int64_t count);

#endif

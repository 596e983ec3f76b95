/*
 * io/protobuf.h: messages of Protocol Buffers, written: fields one behind the other, in memory that grows. A field is a
 * key (its number and how it is written), then a number of variable length, four or eight bytes, or a length and that
 * many bytes; an inner message is such bytes. https://protobuf.dev/programming-guides/encoding
 *
 *      protobuf m = {.size = 0};
 *      protobuf_int(&m, 1, 8);
 *      protobuf_text(&m, 2, "weft");
 *      WEFT_TRY(m.status);             the first failure is kept, and what follows it does nothing
 *      protobuf_free(&m);
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* All zero = empty. */
typedef struct protobuf {
    uint8_t *data; /* [size] */
    size_t size, room;
    weft_status status; /* WEFT_ERR_RESOURCE once memory was refused */
} protobuf;

/* A field that is an integer; a negative one takes ten bytes, as int64 has it. */
void protobuf_int(protobuf *m, unsigned field, int64_t value);
void protobuf_float(protobuf *m, unsigned field, float value);
void protobuf_double(protobuf *m, unsigned field, double value);
void protobuf_text(protobuf *m, unsigned field, const char *text);
void protobuf_bytes(protobuf *m, unsigned field, const void *data, size_t bytes);
/* A field that is the message `inner`, whose failure becomes that of m. */
void protobuf_message(protobuf *m, unsigned field, const protobuf *inner);
/* The beginning of a field of so many bytes that the caller writes elsewhere, behind this message. */
void protobuf_open(protobuf *m, unsigned field, uint64_t bytes);
/* Appends the fields of another message. */
void protobuf_join(protobuf *m, const protobuf *fields);
void protobuf_free(protobuf *m);

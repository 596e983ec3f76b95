/* io/protobuf.c: see io/protobuf.h. */
#include "io/protobuf.h"

#include <string.h>

#include "base/alloc.h"

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5, FIRST_ROOM = 256 };

static void append(protobuf *m, const void *data, size_t bytes)
{
    if (m->status != WEFT_OK || bytes == 0) {
        return;
    }
    if (bytes > m->room - m->size) {
        const size_t least = m->size + bytes;
        size_t room = m->room > 0 ? m->room : FIRST_ROOM;
        while (room < least) {
            room *= 2;
        }
        uint8_t *larger = NULL;
        m->status = WEFT_NEW(&larger, room, WEFT_MEM_GENERAL);
        if (m->status != WEFT_OK) {
            return;
        }
        if (m->size > 0) {
            memcpy(larger, m->data, m->size);
        }
        weft_free(m->data);
        m->data = larger;
        m->room = room;
    }
    memcpy(m->data + m->size, data, bytes);
    m->size += bytes;
}

static void append_varint(protobuf *m, uint64_t value)
{
    uint8_t byte[10];
    size_t bytes = 0;
    for (; value >= 0x80; value >>= 7) {
        byte[bytes++] = (uint8_t)(value | 0x80);
    }
    byte[bytes++] = (uint8_t)value;
    append(m, byte, bytes);
}

static void append_key(protobuf *m, unsigned field, unsigned wire)
{
    append_varint(m, (uint64_t)field << 3 | wire);
}

void protobuf_int(protobuf *m, unsigned field, int64_t value)
{
    append_key(m, field, WIRE_VARINT);
    append_varint(m, (uint64_t)value);
}

/* Little-endian, whatever the machine. */
static void append_fixed(protobuf *m, uint64_t bits, size_t bytes)
{
    uint8_t byte[8];
    for (size_t i = 0; i < bytes; ++i) {
        byte[i] = (uint8_t)(bits >> (8 * i));
    }
    append(m, byte, bytes);
}

void protobuf_float(protobuf *m, unsigned field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    append_key(m, field, WIRE_32);
    append_fixed(m, bits, sizeof bits);
}

void protobuf_double(protobuf *m, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    append_key(m, field, WIRE_64);
    append_fixed(m, bits, sizeof bits);
}

void protobuf_bytes(protobuf *m, unsigned field, const void *data, size_t bytes)
{
    protobuf_open(m, field, bytes);
    append(m, data, bytes);
}

void protobuf_text(protobuf *m, unsigned field, const char *text)
{
    protobuf_bytes(m, field, text, strlen(text));
}

void protobuf_message(protobuf *m, unsigned field, const protobuf *inner)
{
    m->status = m->status == WEFT_OK ? inner->status : m->status;
    protobuf_bytes(m, field, inner->data, inner->size);
}

void protobuf_open(protobuf *m, unsigned field, uint64_t bytes)
{
    append_key(m, field, WIRE_BYTES);
    append_varint(m, bytes);
}

void protobuf_join(protobuf *m, const protobuf *fields)
{
    m->status = m->status == WEFT_OK ? fields->status : m->status;
    append(m, fields->data, fields->size);
}

void protobuf_free(protobuf *m)
{
    weft_free(m->data);
    memset(m, 0, sizeof *m);
}

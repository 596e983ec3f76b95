/* embed/embed_key.h: the 64-bit key of an id of a field: 10 bits for the field, 54 for the id or its hash. */
#pragma once

#include <stdint.h>

enum { EMBED_FIELD_BITS = 10, EMBED_FIELDS_MOST = 1 << EMBED_FIELD_BITS, EMBED_ID_BITS = 64 - EMBED_FIELD_BITS };

static inline uint64_t embed_key(int field, uint64_t id)
{
    return (uint64_t)field << EMBED_ID_BITS | (id & (((uint64_t)1 << EMBED_ID_BITS) - 1));
}

static inline int embed_key_field(uint64_t key)
{
    return (int)(key >> EMBED_ID_BITS);
}

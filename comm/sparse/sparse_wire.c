/*
 * comm/sparse/sparse_wire.c: entries of a selection in as few bytes as their number allows.
 *
 *      places | values: float32 [entries], or the upper halves of those that are bfloat16
 *
 * Places ascend and lie in [0, domain). Both sides know domain and number of entries, and take the shortest of
 *
 *      words     int32 [entries]
 *      shorts    uint16 [blocks of 65,535 places]: entries of the block, then uint16 [entries]: places in the block
 *      bytes     uint8 [blocks of 255 places], then uint8 [entries]
 *      bits      a bit for each place of the domain
 *
 * A block has no more entries than its number's type holds. At 4 % of the elements an entry's place takes 1.1 bytes, at
 * 1 % 1.4, at 0.1 % 2.03, from 1/8 on less than 1.
 */
#include <assert.h>

#include "comm/sparse/sparse_internal.h"

typedef enum place_code { PLACES_WORDS, PLACES_SHORTS, PLACES_BYTES, PLACES_BITS, PLACE_CODES } place_code;

enum { BYTE_BITS = 8, SHORT_BYTES = 2, VALUE_BYTES = 4, BYTE_BLOCK = UINT8_MAX, SHORT_BLOCK = UINT16_MAX };

static int64_t pieces(int64_t count, int64_t piece)
{
    return (count + piece - 1) / piece;
}

/* Bytes of the places; code: the one that takes as few. */
static int64_t place_bytes(int64_t domain, int64_t entries, place_code *code)
{
    const int64_t bytes[PLACE_CODES] = {
        [PLACES_WORDS] = entries * (int64_t)sizeof(int32_t),
        [PLACES_SHORTS] = SHORT_BYTES * (entries + pieces(domain, SHORT_BLOCK)),
        [PLACES_BYTES] = entries + pieces(domain, BYTE_BLOCK),
        [PLACES_BITS] = pieces(domain, BYTE_BITS),
    };
    *code = PLACES_WORDS;
    for (int c = PLACES_SHORTS; c < PLACE_CODES; ++c) {
        *code = bytes[c] < bytes[*code] ? (place_code)c : *code;
    }
    return bytes[*code];
}

int64_t wire_bytes(int64_t domain, int64_t entries, bool rounded)
{
    place_code code;
    return place_bytes(domain, entries, &code) + entries * (rounded ? SHORT_BYTES : VALUE_BYTES);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Number i of numbers of 1 or 2 bytes. */
static int64_t number_at(const uint8_t *from, int width, int64_t i)
{
    return width == 1 ? from[i] : from[SHORT_BYTES * i] | from[SHORT_BYTES * i + 1] << BYTE_BITS;
}

static void put_number(uint8_t *to, int width, int64_t i, int64_t number)
{
    to[width * i] = (uint8_t)number;
    if (width == SHORT_BYTES) {
        to[width * i + 1] = (uint8_t)(number >> BYTE_BITS);
    }
}

static int64_t block_of(int width)
{
    return width == 1 ? BYTE_BLOCK : SHORT_BLOCK;
}

static void pack_blocks(int width, int64_t domain, int64_t entries, const int32_t *index, uint8_t *to)
{
    const int64_t block = block_of(width), blocks = pieces(domain, block);
    uint8_t *places = to + width * blocks;
    int64_t e = 0;
    for (int64_t b = 0; b < blocks; ++b) {
        const int64_t first = e;
        for (; e < entries && index[e] < (b + 1) * block; ++e) {
            put_number(places, width, e, index[e] - b * block);
        }
        put_number(to, width, b, e - first);
    }
    assert(e == entries);
}

/* Returns the entries that were there, or more than `entries`. */
static int64_t unpack_blocks(int width, int64_t domain, int64_t entries, const uint8_t *from, int32_t *index)
{
    const int64_t block = block_of(width), blocks = pieces(domain, block);
    const uint8_t *places = from + width * blocks;
    int64_t e = 0;
    for (int64_t b = 0; b < blocks; ++b) {
        const int64_t end = e + number_at(from, width, b);
        if (end > entries) {
            return end;
        }
        for (; e < end; ++e) {
            index[e] = (int32_t)(b * block + number_at(places, width, e));
        }
    }
    return e;
}

/* ---- bits -------------------------------------------------------------------------------------------------------- */

static void pack_bits(int64_t domain, int64_t entries, const int32_t *index, uint8_t *to)
{
    memset(to, 0, (size_t)pieces(domain, BYTE_BITS));
    for (int64_t e = 0; e < entries; ++e) {
        to[index[e] / BYTE_BITS] |= (uint8_t)(1 << index[e] % BYTE_BITS);
    }
}

static int64_t unpack_bits(int64_t domain, int64_t entries, const uint8_t *from, int32_t *index)
{
    int64_t e = 0;
    for (int64_t b = 0; b < pieces(domain, BYTE_BITS); ++b) {
        for (unsigned left = from[b]; left != 0; left &= left - 1, ++e) {
            if (e == entries) {
                return e + 1;
            }
            index[e] = (int32_t)(b * BYTE_BITS + __builtin_ctz(left));
        }
    }
    return e;
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

weft_status wire_pack(int64_t domain, int64_t entries, bool rounded, const int32_t *index, const float *value,
                      uint8_t *to)
{
    place_code code;
    uint8_t *values = to + place_bytes(domain, entries, &code);
    for (int64_t e = 0; e < entries; ++e) {
        WEFT_CHECK(index[e] > (e > 0 ? index[e - 1] : -1) && index[e] < domain, WEFT_ERR_INTERNAL,
                   "sparse exchange: entry %lld is for element %d of %lld", (long long)e, index[e], (long long)domain);
    }
    switch (code) {
    case PLACES_SHORTS:
    case PLACES_BYTES:
        pack_blocks(code == PLACES_BYTES ? 1 : SHORT_BYTES, domain, entries, index, to);
        break;
    case PLACES_BITS:
        pack_bits(domain, entries, index, to);
        break;
    default:
        memcpy(to, index, (size_t)entries * sizeof *index);
        break;
    }
    if (!rounded) {
        memcpy(values, value, (size_t)entries * sizeof *value);
        return WEFT_OK;
    }
    for (int64_t e = 0; e < entries; ++e) {
        const uint16_t half = bf16_from_float(value[e]);
        memcpy(values + e * SHORT_BYTES, &half, sizeof half);
    }
    return WEFT_OK;
}

weft_status wire_unpack(int64_t domain, int64_t entries, bool rounded, const uint8_t *from, int32_t *index,
                        float *value)
{
    place_code code;
    const uint8_t *values = from + place_bytes(domain, entries, &code);
    int64_t found = entries;
    switch (code) {
    case PLACES_SHORTS:
    case PLACES_BYTES:
        found = unpack_blocks(code == PLACES_BYTES ? 1 : SHORT_BYTES, domain, entries, from, index);
        break;
    case PLACES_BITS:
        found = unpack_bits(domain, entries, from, index);
        break;
    default:
        memcpy(index, from, (size_t)entries * sizeof *index);
        break;
    }
    WEFT_CHECK(found == entries, WEFT_ERR_INTERNAL, "sparse exchange: places of %lld entries instead of %lld",
               (long long)found, (long long)entries);
    if (!rounded) {
        memcpy(value, values, (size_t)entries * sizeof *value);
        return WEFT_OK;
    }
    for (int64_t e = 0; e < entries; ++e) {
        uint16_t half = 0;
        memcpy(&half, values + e * SHORT_BYTES, sizeof half);
        value[e] = bf16_to_float(half);
    }
    return WEFT_OK;
}

/*
 * comm/sparse/sparse_wire.c: entries of a selection in as few bytes as their number allows.
 *
 *      low bits of the places [entries * low] | high bits [entries + (domain - 1) >> low] | values
 *
 * Places ascend and lie in [0, domain). Both sides know domain and number of entries, and with them the `low` for which
 * the places take least (Elias and Fano's code): the low bits of each stand one after the other, and entry e sets bit
 * (place >> low) + e of the high ones. At 12 % of the elements a place takes 5 bits, at 1 % 8.6, at 0.1 % 12.
 *
 * Values are float32, or numbers of 16 or 4 bits, behind the largest of them (16 bits): a sign, and how many steps the
 * magnitude is below the largest one, where a binade has 128 steps or 1. So 4 bits are for powers of two, the largest
 * and six below it; what is further below is 0.
 *
 *   P. Elias: Efficient storage and retrieval by content and address of static files. Journal of the ACM 21 (2), 1974,
 *   doi:10.1145/321812.321820
 */
#include <math.h>

#include "base/integer/integers.h"
#include "comm/sparse/sparse_internal.h"
#include "hal/pack.h"

enum { BYTE_BITS = 8, TOP_BITS = 16, PLACE_BITS_MOST = 31 };

static const struct value_code {
    int bits;
    int dropped; /* bits of a float32 below a step */
} codes[] = {[SPARSE_FLOAT32] = {32, 0}, [SPARSE_BFLOAT16] = {16, 16}, [SPARSE_4_BITS] = {4, 23}};

static int64_t bytes_of(int64_t bits)
{
    return (bits + BYTE_BITS - 1) / BYTE_BITS;
}

static int64_t high_bits(int64_t domain, int64_t entries, int low)
{
    return entries + ((domain - 1) >> low);
}

/* Bytes of the places; low: the number of low bits that takes as few. */
static int64_t place_bytes(int64_t domain, int64_t entries, int *low)
{
    int64_t least = INT64_MAX;
    *low = 0;
    for (int bits = 0; bits <= PLACE_BITS_MOST && entries > 0; ++bits) {
        const int64_t bytes = bytes_of(entries * bits) + bytes_of(high_bits(domain, entries, bits));
        *low = bytes < least ? bits : *low;
        least = smaller(bytes, least);
    }
    return entries > 0 ? least : 0;
}

int64_t wire_bytes(int64_t domain, int64_t entries, sparse_values values)
{
    int low;
    const int64_t top = values != SPARSE_FLOAT32 ? TOP_BITS : 0;
    return place_bytes(domain, entries, &low) + bytes_of(top + entries * codes[values].bits);
}

/* ---- bits -------------------------------------------------------------------------------------------------------- */

/* A stream of numbers of few bits. */
typedef struct bit_stream {
    uint8_t *to;
    const uint8_t *from;
    uint64_t word; /* bits that wait for their byte */
    int held;      /* of word */
} bit_stream;

static void put_bits(bit_stream *s, int bits, uint32_t number)
{
    s->word |= (uint64_t)number << s->held;
    for (s->held += bits; s->held >= BYTE_BITS; s->held -= BYTE_BITS) {
        *s->to++ = (uint8_t)s->word;
        s->word >>= BYTE_BITS;
    }
}

static void put_rest(bit_stream *s)
{
    if (s->held > 0) {
        put_bits(s, BYTE_BITS - s->held, 0);
    }
}

static uint32_t take_bits(bit_stream *s, int bits)
{
    for (; s->held < bits; s->held += BYTE_BITS) {
        s->word |= (uint64_t)*s->from++ << s->held;
    }
    const uint32_t number = (uint32_t)(s->word & ((1ull << bits) - 1));
    s->word >>= bits;
    s->held -= bits;
    return number;
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

static void pack_places(int64_t domain, int64_t entries, int low, const int32_t *index, uint8_t *to)
{
    bit_stream lows = {.to = to};
    uint8_t *high = to + bytes_of(entries * low);
    memset(high, 0, (size_t)bytes_of(high_bits(domain, entries, low)));
    for (int64_t e = 0; e < entries; ++e) {
        const int64_t bit = (index[e] >> low) + e;
        put_bits(&lows, low, (uint32_t)index[e] & ((1u << low) - 1));
        high[bit / BYTE_BITS] |= (uint8_t)(1 << bit % BYTE_BITS);
    }
    put_rest(&lows);
}

/* Returns the entries that were there, or more than `entries`. */
static int64_t unpack_places(int64_t domain, int64_t entries, int low, const uint8_t *from, int32_t *index)
{
    bit_stream lows = {.from = from};
    const uint8_t *high = from + bytes_of(entries * low);
    int64_t e = 0;
    for (int64_t b = 0; b < bytes_of(high_bits(domain, entries, low)); ++b) {
        for (unsigned left = high[b]; left != 0; left &= left - 1, ++e) {
            if (e == entries) {
                return e + 1;
            }
            const int64_t place = b * BYTE_BITS + __builtin_ctz(left) - e;
            index[e] = (int32_t)(place << low | take_bits(&lows, low));
        }
    }
    return e;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Number of steps of a magnitude, the one of 0 not counted. */
static uint32_t steps_of(sparse_values values)
{
    return (1u << (codes[values].bits - 1)) - 1;
}

/* The nearest step, ties to the even one; past the largest finite one that one. */
static uint32_t step_of(float value, int dropped)
{
    const uint32_t magnitude = hal_magnitude(value), infinite = HAL_MAGNITUDE_INFINITY >> dropped;
    const uint32_t step = (magnitude + (1u << (dropped - 1)) - 1 + (magnitude >> dropped & 1)) >> dropped;
    return step < infinite ? step : infinite - 1;
}

static uint32_t top_step(int64_t entries, int dropped, const float *value)
{
    uint32_t top = 0;
    for (int64_t e = 0; e < entries; ++e) {
        const uint32_t step = step_of(value[e], dropped);
        top = step > top ? step : top;
    }
    return top;
}

/* Sign and step: the number that travels. */
static uint32_t number_of(float value, int dropped, uint32_t steps, uint32_t top)
{
    const uint32_t step = step_of(value, dropped) + steps;
    return (signbit(value) ? steps + 1 : 0) | (step > top ? step - top : 0);
}

static float value_of(uint32_t number, int dropped, uint32_t steps, uint32_t top)
{
    const uint32_t step = number & steps;
    const uint32_t bits = step > 0 ? (top + step - steps) << dropped : 0;
    float value = 0.0f;
    memcpy(&value, &bits, sizeof value);
    return number > steps ? -value : value;
}

void wire_round(int64_t entries, sparse_values values, float *value)
{
    if (values == SPARSE_FLOAT32) {
        return;
    }
    const int dropped = codes[values].dropped;
    const uint32_t steps = steps_of(values), top = top_step(entries, dropped, value);
    for (int64_t e = 0; e < entries; ++e) {
        value[e] = value_of(number_of(value[e], dropped, steps, top), dropped, steps, top);
    }
}

static void pack_values(int64_t entries, sparse_values values, const float *value, uint8_t *to)
{
    bit_stream s = {.to = to};
    const int dropped = codes[values].dropped;
    const uint32_t steps = steps_of(values), top = top_step(entries, dropped, value);
    put_bits(&s, TOP_BITS, top);
    for (int64_t e = 0; e < entries; ++e) {
        put_bits(&s, codes[values].bits, number_of(value[e], dropped, steps, top));
    }
    put_rest(&s);
}

static void unpack_values(int64_t entries, sparse_values values, const uint8_t *from, float *value)
{
    bit_stream s = {.from = from};
    const uint32_t steps = steps_of(values), top = take_bits(&s, TOP_BITS);
    for (int64_t e = 0; e < entries; ++e) {
        value[e] = value_of(take_bits(&s, codes[values].bits), codes[values].dropped, steps, top);
    }
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

weft_status wire_pack(int64_t domain, int64_t entries, sparse_values values, const int32_t *index, const float *value,
                      uint8_t *to)
{
    int low;
    uint8_t *behind = to + place_bytes(domain, entries, &low);
    for (int64_t e = 0; e < entries; ++e) {
        WEFT_CHECK(index[e] > (e > 0 ? index[e - 1] : -1) && index[e] < domain, WEFT_ERR_INTERNAL,
                   "sparse exchange: entry %lld is for element %d of %lld", (long long)e, index[e], (long long)domain);
    }
    if (entries > 0) {
        pack_places(domain, entries, low, index, to);
    }
    if (values == SPARSE_FLOAT32) {
        memcpy(behind, value, (size_t)entries * sizeof *value);
    } else {
        pack_values(entries, values, value, behind);
    }
    return WEFT_OK;
}

weft_status wire_unpack(int64_t domain, int64_t entries, sparse_values values, const uint8_t *from, int32_t *index,
                        float *value)
{
    int low;
    const uint8_t *behind = from + place_bytes(domain, entries, &low);
    const int64_t found = entries > 0 ? unpack_places(domain, entries, low, from, index) : 0;
    WEFT_CHECK(found == entries, WEFT_ERR_INTERNAL, "sparse exchange: places of %lld entries instead of %lld",
               (long long)found, (long long)entries);
    if (values == SPARSE_FLOAT32) {
        memcpy(value, behind, (size_t)entries * sizeof *value);
    } else {
        unpack_values(entries, values, behind, value);
    }
    return WEFT_OK;
}

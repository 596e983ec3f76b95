/*
 * Entries of selections as they travel: places and values come back, in the bytes of the shortest code by its formula;
 * values are rounded to the nearest that travels, by arithmetic of doubles, and what that takes away fits a float32;
 * damaged places are found.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "comm/sparse/sparse_internal.h"
#include "support/test.h"

static const int bits_of[] = {[SPARSE_FLOAT32] = 32, [SPARSE_BFLOAT16] = 16, [SPARSE_4_BITS] = 4};

static int64_t expected_bytes(int64_t domain, int64_t entries, sparse_values values)
{
    int64_t places = entries == 0 ? 0 : INT64_MAX;
    for (int64_t low = 0, high = domain; entries > 0 && low < 32; ++low, high = (high + 1) / 2) {
        const int64_t bytes = (entries * low + 7) / 8 + (entries + high - 1 + 7) / 8;
        places = bytes < places ? bytes : places;
    }
    return places + (values == SPARSE_FLOAT32 ? 4 * entries : 2 + (entries * bits_of[values] + 7) / 8);
}

/* Entry e of `entries` whose places are spread, or stand at one end of the domain. */
static int32_t place_of(int form, int64_t domain, int64_t entries, int64_t e)
{
    return (int32_t)(form == 0 ? e : form == 1 ? domain - entries + e : e * domain / entries);
}

static void round_trip(int64_t domain, int64_t entries, int form, sparse_values values)
{
    const int64_t bytes = wire_bytes(domain, entries, values);
    int32_t *index = malloc((size_t)(2 * entries + 1) * sizeof *index), *came = index + entries;
    float *value = malloc((size_t)(2 * entries + 1) * sizeof *value), *brought = value + entries;
    uint8_t *wire = malloc((size_t)bytes + 1); /* the address sanitizer sees a byte too many */
    assert_int_equal(bytes, expected_bytes(domain, entries, values));
    for (int64_t e = 0; e < entries; ++e) {
        index[e] = place_of(form, domain, entries, e);
        value[e] = ldexpf((float)(e % 255 - 127), (int)(e % 90) - 45);
    }
    wire[bytes] = 0xa5;
    wire_round(entries, values, value);
    assert_int_equal(wire_pack(domain, entries, values, index, value, wire), WEFT_OK);
    assert_int_equal(wire[bytes], 0xa5);
    assert_int_equal(wire_unpack(domain, entries, values, wire, came, brought), WEFT_OK);
    for (int64_t e = 0; e < entries; ++e) {
        assert_int_equal(came[e], index[e]);
        assert_true(brought[e] == value[e]);
    }
    free(index);
    free(value);
    free(wire);
}

static void entries_come_back(void **state)
{
    static const int64_t domains[] = {0, 1, 2, 7, 8, 9, 255, 256, 4096, 65535, 200000};
    (void)state;
    for (size_t d = 0; d < sizeof domains / sizeof *domains; ++d) {
        const int64_t n = domains[d];
        const int64_t entries[] = {0, 1, n / 2000, n / 300, n / 100, n / 25, n / 8, n / 3, n - 1, n};
        for (size_t k = 0; k < sizeof entries / sizeof *entries; ++k) {
            for (int form = 0; form < 3 && entries[k] >= 0 && entries[k] <= n; ++form) {
                round_trip(n, entries[k], form, (sparse_values)((form + (int)k) % 3));
                round_trip(n, entries[k], form, (sparse_values)((form + (int)k + 1) % 3));
            }
        }
    }
    assert_int_equal(wire_bytes(INT32_MAX, 1, SPARSE_FLOAT32), 9); /* the place takes 5 bytes: 31 bits, and one set */
}

/* The nearest multiple of a step: a binade has 2^fraction of them; 0 below the last binade of all. */
static double nearest(double x, int fraction)
{
    const int exponent = x == 0.0 ? 0 : ilogb(x);
    return ldexp(nearbyint(ldexp(x, fraction - exponent)), exponent - fraction);
}

static void values_are_rounded_to_the_nearest(void **state)
{
    static const int fraction[] = {[SPARSE_BFLOAT16] = 7, [SPARSE_4_BITS] = 0};
    static const double least[] = {[SPARSE_BFLOAT16] = 0.0, [SPARSE_4_BITS] = 8.0 / 64}; /* six steps below 8 */
    enum { VALUES = 4000 };
    static float value[VALUES], rounded[VALUES];
    (void)state;
    for (sparse_values code = SPARSE_BFLOAT16; code <= SPARSE_4_BITS; ++code) {
        double top = 0.0;
        for (int i = 0; i < VALUES; ++i) {
            value[i] = (i % 2 ? -1.0f : 1.0f) * ldexpf(1.0f + (float)(i * 37 % 4099) / 4099.0f, i % 21 - 18);
            top = fmax(top, fabs(nearest(value[i], fraction[code])));
        }
        assert_true(top == 8.0);
        memcpy(rounded, value, sizeof value);
        wire_round(VALUES, code, rounded);
        for (int i = 0; i < VALUES; ++i) {
            const double near = nearest(value[i], fraction[code]);
            assert_true(rounded[i] == (float)(fabs(near) < least[code] ? 0.0 : near));
            assert_true((double)(value[i] - rounded[i]) == (double)value[i] - (double)rounded[i]);
        }
        memcpy(value, rounded, sizeof value);
        wire_round(VALUES, code, rounded);
        assert_memory_equal(rounded, value, sizeof value);
        float huge[] = {-FLT_MAX, FLT_MAX, 0.0f};
        wire_round(3, code, huge);
        assert_true(isfinite(huge[0]) && huge[0] < -0.4f * FLT_MAX && huge[1] == -huge[0] && huge[2] == 0.0f);
    }
}

/* One place more or less than announced, places that do not ascend or lie outside. */
static void damage_is_found(void **state)
{
    enum { DOMAIN = 2550, ENTRIES = 40, LOW_BYTES = ENTRIES * 5 / 8 };
    int32_t index[ENTRIES], came[ENTRIES];
    float value[ENTRIES] = {0}, brought[ENTRIES];
    uint8_t wire[512];
    (void)state;
    for (int32_t e = 0; e < ENTRIES; ++e) {
        index[e] = 2 * e;
    }
    index[ENTRIES - 1] = index[ENTRIES - 2];
    assert_int_equal(wire_pack(DOMAIN, ENTRIES, SPARSE_FLOAT32, index, value, wire), WEFT_ERR_INTERNAL);
    index[ENTRIES - 1] = DOMAIN;
    assert_int_equal(wire_pack(DOMAIN, ENTRIES, SPARSE_FLOAT32, index, value, wire), WEFT_ERR_INTERNAL);
    index[ENTRIES - 1] = 2 * (ENTRIES - 1);
    assert_int_equal(wire_pack(DOMAIN, ENTRIES, SPARSE_FLOAT32, index, value, wire), WEFT_OK);
    wire[LOW_BYTES + 12] |= 1;
    assert_int_equal(wire_unpack(DOMAIN, ENTRIES, SPARSE_FLOAT32, wire, came, brought), WEFT_ERR_INTERNAL);
    wire[LOW_BYTES + 12] = 0;
    wire[LOW_BYTES] &= (uint8_t)~1;
    assert_int_equal(wire_unpack(DOMAIN, ENTRIES, SPARSE_FLOAT32, wire, came, brought), WEFT_ERR_INTERNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_come_back),
        cmocka_unit_test(values_are_rounded_to_the_nearest),
        cmocka_unit_test(damage_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

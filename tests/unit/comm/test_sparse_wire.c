/*
 * Entries of selections as they travel: places and values come back, in the bytes of the shortest code by its formula,
 * for domains and numbers of entries around the borders of blocks; damaged places are found.
 */
#include <math.h>
#include <stdlib.h>

#include "comm/sparse/sparse_internal.h"
#include "support/test.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t expected_bytes(int64_t domain, int64_t entries, bool rounded)
{
    const int64_t blocks = least(entries + (domain + 254) / 255, 2 * (entries + (domain + 65534) / 65535));
    return least(least(4 * entries, (domain + 7) / 8), blocks) + entries * (rounded ? 2 : 4);
}

/* Entry e of `entries` whose places are spread, or stand at one end of the domain. */
static int32_t place_of(int form, int64_t domain, int64_t entries, int64_t e)
{
    return (int32_t)(form == 0 ? e : form == 1 ? domain - entries + e : e * domain / entries);
}

static void round_trip(int64_t domain, int64_t entries, int form, bool rounded)
{
    const int64_t bytes = wire_bytes(domain, entries, rounded);
    int32_t *index = malloc((size_t)(2 * entries + 1) * sizeof *index), *came = index + entries;
    float *value = malloc((size_t)(2 * entries + 1) * sizeof *value), *brought = value + entries;
    uint8_t *wire = malloc((size_t)bytes + 1); /* the address sanitizer sees a byte too many */
    assert_int_equal(bytes, expected_bytes(domain, entries, rounded));
    for (int64_t e = 0; e < entries; ++e) {
        index[e] = place_of(form, domain, entries, e);
        value[e] = ldexpf((float)(e % 255 - 127), (int)(e % 90) - 45); /* 8 bits: bfloat16 */
    }
    wire[bytes] = 0xa5;
    assert_int_equal(wire_pack(domain, entries, rounded, index, value, wire), WEFT_OK);
    assert_int_equal(wire[bytes], 0xa5);
    assert_int_equal(wire_unpack(domain, entries, rounded, wire, came, brought), WEFT_OK);
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
    static const int64_t domains[] = {0, 1, 7, 8, 9, 254, 255, 256, 510, 511, 4096, 65534, 65535, 65536, 200000};
    (void)state;
    for (size_t d = 0; d < sizeof domains / sizeof *domains; ++d) {
        const int64_t n = domains[d];
        const int64_t entries[] = {0, 1, n / 2000, n / 300, n / 100, n / 25, n / 8, n / 3, n - 1, n};
        for (size_t k = 0; k < sizeof entries / sizeof *entries; ++k) {
            for (int form = 0; form < 3 && entries[k] >= 0 && entries[k] <= n; ++form) {
                round_trip(n, entries[k], form, form % 2 == 0);
                round_trip(n, entries[k], form, form % 2 == 1);
            }
        }
    }
}

/* Each code has numbers for which it is the shortest. */
static void codes_are_used(void **state)
{
    (void)state;
    assert_int_equal(wire_bytes(100000000, 10, false), 80);          /* words */
    assert_int_equal(wire_bytes(65535 * 10, 200, false), 420 + 800); /* shorts */
    assert_int_equal(wire_bytes(25500, 1020, true), 1120 + 2040);    /* bytes, at 4 % */
    assert_int_equal(wire_bytes(8000, 2000, false), 1000 + 8000);    /* bits */
}

/* One place more or less than announced, places that do not ascend or lie outside; in either kind of code. */
static void damage_is_found(void **state)
{
    static const int64_t domain[] = {2550, 80};
    int32_t index[40], came[40];
    float value[40] = {0}, brought[40];
    uint8_t wire[512];
    (void)state;
    for (int code = 0; code < 2; ++code) {
        for (int32_t e = 0; e < 40; ++e) {
            index[e] = 2 * e;
        }
        index[39] = index[38];
        assert_int_equal(wire_pack(domain[code], 40, false, index, value, wire), WEFT_ERR_INTERNAL);
        index[39] = (int32_t)domain[code];
        assert_int_equal(wire_pack(domain[code], 40, false, index, value, wire), WEFT_ERR_INTERNAL);
        index[39] = 2 * 39;
        assert_int_equal(wire_pack(domain[code], 40, false, index, value, wire), WEFT_OK);
        for (int change = -1; change <= 1; change += 2) {
            const uint8_t kept = wire[0];
            wire[0] = (uint8_t)(code == 0 ? kept + change : change > 0 ? kept | 2 : kept & ~1);
            assert_int_equal(wire_unpack(domain[code], 40, false, wire, came, brought), WEFT_ERR_INTERNAL);
            wire[0] = kept;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_come_back),
        cmocka_unit_test(codes_are_used),
        cmocka_unit_test(damage_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * bf16 and fp16 against their definition: every pattern decoded by the formula of its fields, and every float32 at and
 * around every boundary between two patterns encoded to the nearer one, ties to the even one; each instruction set.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/isa.h"
#include "comm/codec/codec.h"
#include "comm/codec/codec_kernels.h"
#include "support/random.h"
#include "support/test.h"

enum { PATTERNS = 1 << 16 };

typedef struct format {
    comm_wire wire;
    int fraction_bits, exponent_bits;
    const codec_kernels *level[HAL_ISAS];
} format;

static const format formats[] = {
    {COMM_WIRE_BF16, 7, 8, {&codec_bf16_kernels, &codec_bf16_kernels_avx2, &codec_bf16_kernels_avx512}},
    {COMM_WIRE_FP16, 10, 5, {&codec_fp16_kernels, &codec_fp16_kernels_avx2, &codec_fp16_kernels_avx512}},
};

static int bias_of(const format *f)
{
    return (1 << (f->exponent_bits - 1)) - 1;
}

/* The value of a pattern by its fields; NaN for the NaNs. */
static double value_of(const format *f, unsigned pattern)
{
    int exponent = (int)(pattern >> f->fraction_bits) & ((1 << f->exponent_bits) - 1);
    int fraction = (int)(pattern & ((1u << f->fraction_bits) - 1));
    double sign = (pattern & 0x8000u) != 0 ? -1.0 : 1.0;
    if (exponent == (1 << f->exponent_bits) - 1) {
        return fraction == 0 ? sign * INFINITY : NAN;
    }
    int hidden = exponent == 0 ? 0 : 1 << f->fraction_bits;
    int scale = (exponent == 0 ? 1 : exponent) - bias_of(f) - f->fraction_bits;
    return sign * ldexp(hidden + fraction, scale);
}

/* The nearest value of the format in double precision, which holds all that is needed exactly. */
static double nearest(const format *f, double x)
{
    if (x == 0.0 || isinf(x) || isnan(x)) {
        return x;
    }
    int exponent = ilogb(x) < 1 - bias_of(f) ? 1 - bias_of(f) : ilogb(x);
    double unit = ldexp(1.0, exponent - f->fraction_bits);
    double rounded = nearbyint(x / unit) * unit;
    double largest = ldexp(2.0 - ldexp(1.0, -f->fraction_bits), bias_of(f));
    return fabs(rounded) > largest ? copysign(INFINITY, x) : rounded;
}

static uint32_t bits_of(float x)
{
    uint32_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x = 0.0f;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void check_decoding(const format *f, const codec_kernels *kernels)
{
    static uint16_t pattern[PATTERNS];
    static float decoded[PATTERNS];
    static float added[PATTERNS];
    for (unsigned p = 0; p < PATTERNS; ++p) {
        pattern[p] = (uint16_t)p;
        added[p] = 0.25f;
    }
    kernels->decode(pattern, decoded, PATTERNS);
    kernels->decode_add(pattern, added, PATTERNS);
    for (unsigned p = 0; p < PATTERNS; ++p) {
        double expected = value_of(f, p);
        bool right = isnan(expected) ? isnan(decoded[p]) && isnan(added[p])
                                     : (double)decoded[p] == expected && (signbit(decoded[p]) != 0) == (p >= 0x8000u) &&
                                           added[p] == 0.25f + (float)expected;
        if (!right) {
            fail_msg("%s: pattern 0x%04x decodes to %g and %g, not %g", codec_name(f->wire), p, (double)decoded[p],
                     (double)added[p], expected);
        }
    }
}

static void check_encoding(const format *f, const codec_kernels *kernels, const float *x, int64_t count)
{
    uint16_t *encoded = NULL;
    ASSERT_OK(WEFT_NEW(&encoded, count, WEFT_MEM_GENERAL));
    kernels->encode(x, encoded, count);
    for (int64_t i = 0; i < count; ++i) {
        double expected = nearest(f, (double)x[i]);
        double actual = value_of(f, encoded[i]);
        bool sign = (encoded[i] >= 0x8000u) == (signbit(x[i]) != 0);
        if (!sign || !(isnan(expected) ? isnan(actual) : actual == expected)) {
            fail_msg("%s: %.9g (0x%08x) becomes 0x%04x = %g, not %g", codec_name(f->wire), (double)x[i], bits_of(x[i]),
                     encoded[i], actual, expected);
        }
    }
    weft_free(encoded);
}

/* Every pattern's value, the midpoint to the next one, and the float32 beside each. */
static void check_boundaries(const format *f, const codec_kernels *kernels)
{
    enum { EACH = 6 };
    float *x = NULL;
    int64_t count = 0;
    ASSERT_OK(WEFT_NEW(&x, (size_t)PATTERNS * EACH, WEFT_MEM_GENERAL));
    for (unsigned p = 0; p < PATTERNS; ++p) {
        double value = value_of(f, p);
        double above = value_of(f, p + 1 < PATTERNS ? p + 1 : p);
        if (isnan(value)) {
            /* Every kind of NaN, with bits above and below the cut. */
            x[count++] = float_of(0x7f800001u + p);
            x[count++] = float_of(0xff800000u + (p + 1) * 0x7fu);
            continue;
        }
        bool last = isinf(above) || isnan(above) || isinf(value);
        double largest_step = ldexp(1.0, bias_of(f) - f->fraction_bits);
        double middle = last ? value + copysign(largest_step / 2, value) : (value + above) / 2;
        const float around[2] = {(float)value, (float)middle};
        for (int k = 0; k < 2; ++k) {
            x[count++] = around[k];
            x[count++] = nextafterf(around[k], INFINITY);
            x[count++] = nextafterf(around[k], -INFINITY);
        }
    }
    check_encoding(f, kernels, x, count);
    weft_free(x);
}

static void check_random(const format *f, const codec_kernels *kernels)
{
    enum { COUNT = 200003 };
    static float x[COUNT];
    uint64_t seed = 1;
    for (int i = 0; i < COUNT; ++i) {
        x[i] = float_of((uint32_t)(test_random_bits(&seed) >> 32));
    }
    check_encoding(f, kernels, x, COUNT);
}

static void test_every_level(void **state)
{
    (void)state;
    for (int f = 0; f < 2; ++f) {
        for (int level = 0; level <= (int)hal_isa_best(); ++level) {
            check_decoding(&formats[f], formats[f].level[level]);
            check_boundaries(&formats[f], formats[f].level[level]);
            check_random(&formats[f], formats[f].level[level]);
        }
    }
}

/* The same bits from every instruction set, NaN payloads included, on any length and alignment. */
static void test_levels_agree(void **state)
{
    (void)state;
    enum { COUNT = 1 << 16 };
    static float x[COUNT];
    static uint16_t encoded[2][COUNT];
    static float decoded[2][COUNT];
    for (uint32_t i = 0; i < COUNT; ++i) {
        x[i] = float_of(i * 65537u + (i << 3));
    }
    for (int f = 0; f < 2; ++f) {
        for (int level = 1; level <= (int)hal_isa_best(); ++level) {
            for (int64_t begin = 0; begin < 5; ++begin) {
                int64_t count = COUNT - 7 * begin;
                formats[f].level[0]->encode(x + begin, encoded[0], count);
                formats[f].level[level]->encode(x + begin, encoded[1], count);
                assert_memory_equal(encoded[0], encoded[1], (size_t)count * sizeof encoded[0][0]);
                formats[f].level[0]->decode(encoded[0] + begin, decoded[0], count - begin);
                formats[f].level[level]->decode(encoded[0] + begin, decoded[1], count - begin);
                assert_memory_equal(decoded[0], decoded[1], (size_t)(count - begin) * sizeof decoded[0][0]);
            }
        }
    }
}

/* The public functions, past the length from which threads share the work. */
static void test_long_vectors(void **state)
{
    (void)state;
    enum { COUNT = 300007 };
    static float x[COUNT];
    static uint16_t encoded[COUNT];
    static float decoded[COUNT];
    for (int i = 0; i < COUNT; ++i) {
        x[i] = (float)(i % 2039) / 16.0f - 40.0f;
    }
    for (int f = 0; f < 2; ++f) {
        assert_int_equal(codec_bytes(formats[f].wire), 2);
        codec_encode(formats[f].wire, x, encoded, COUNT);
        codec_decode(formats[f].wire, encoded, decoded, COUNT);
        for (int i = 0; i < COUNT; ++i) {
            if ((double)decoded[i] != nearest(&formats[f], (double)x[i])) {
                fail_msg("element %d is %g instead of %g", i, (double)decoded[i], nearest(&formats[f], (double)x[i]));
            }
        }
        codec_decode_add(formats[f].wire, encoded, decoded, COUNT);
        for (int i = 0; i < COUNT; ++i) {
            if ((double)decoded[i] != 2.0 * nearest(&formats[f], (double)x[i])) {
                fail_msg("element %d doubles to %g", i, (double)decoded[i]);
            }
        }
    }
    assert_int_equal(codec_bytes(COMM_WIRE_SAME), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_level),
        cmocka_unit_test(test_levels_agree),
        cmocka_unit_test(test_long_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

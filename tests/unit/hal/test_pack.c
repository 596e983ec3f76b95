/*
 * The kernels of hal/pack.h on each instruction set. bf16 and fp16 against their definition: every pattern decoded by
 * the formula of its fields, and every float32 at and around every boundary between two patterns encoded to the nearer
 * one, ties to the even one. Sums against additions one by one, selection against a plain look at every element.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "hal/pack.h"
#include "support/random.h"
#include "support/test.h"

enum { PATTERNS = 1 << 16 };

typedef struct format {
    weft_dtype dtype;
    int fraction_bits, exponent_bits;
} format;

static const format formats[] = {{WEFT_DTYPE_BF16, 7, 8}, {WEFT_DTYPE_F16, 10, 5}};

static const hal_pack_cast *kernels_of(const format *f, int level)
{
    const hal_pack *pack = hal_pack_of((hal_isa)level);
    return f->dtype == WEFT_DTYPE_BF16 ? &pack->bf16 : &pack->fp16;
}

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

static void check_decoding(const format *f, const hal_pack_cast *kernels)
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
            fail_msg("%s: pattern 0x%04x decodes to %g and %g, not %g", weft_dtype_name(f->dtype), p,
                     (double)decoded[p], (double)added[p], expected);
        }
    }
}

static void check_encoding(const format *f, const hal_pack_cast *kernels, const float *x, int64_t count)
{
    uint16_t *encoded = NULL;
    ASSERT_OK(WEFT_NEW(&encoded, count, WEFT_MEM_GENERAL));
    kernels->encode(x, encoded, count);
    for (int64_t i = 0; i < count; ++i) {
        double expected = nearest(f, (double)x[i]);
        double actual = value_of(f, encoded[i]);
        bool sign = (encoded[i] >= 0x8000u) == (signbit(x[i]) != 0);
        if (!sign || !(isnan(expected) ? isnan(actual) : actual == expected)) {
            fail_msg("%s: %.9g (0x%08x) becomes 0x%04x = %g, not %g", weft_dtype_name(f->dtype), (double)x[i],
                     bits_of(x[i]), encoded[i], actual, expected);
        }
    }
    weft_free(encoded);
}

/* Every pattern's value, the midpoint to the next one, and the float32 beside each. */
static void check_boundaries(const format *f, const hal_pack_cast *kernels)
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

static void check_random(const format *f, const hal_pack_cast *kernels)
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
            check_decoding(&formats[f], kernels_of(&formats[f], level));
            check_boundaries(&formats[f], kernels_of(&formats[f], level));
            check_random(&formats[f], kernels_of(&formats[f], level));
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
                kernels_of(&formats[f], 0)->encode(x + begin, encoded[0], count);
                kernels_of(&formats[f], level)->encode(x + begin, encoded[1], count);
                assert_memory_equal(encoded[0], encoded[1], (size_t)count * sizeof encoded[0][0]);
                kernels_of(&formats[f], 0)->decode(encoded[0] + begin, decoded[0], count - begin);
                kernels_of(&formats[f], level)->decode(encoded[0] + begin, decoded[1], count - begin);
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
        hal_pack_encode(formats[f].dtype, x, encoded, COUNT);
        hal_pack_decode(formats[f].dtype, encoded, decoded, COUNT);
        for (int i = 0; i < COUNT; ++i) {
            if ((double)decoded[i] != nearest(&formats[f], (double)x[i])) {
                fail_msg("element %d is %g instead of %g", i, (double)decoded[i], nearest(&formats[f], (double)x[i]));
            }
        }
        hal_pack_decode_add(formats[f].dtype, encoded, decoded, COUNT);
        for (int i = 0; i < COUNT; ++i) {
            if ((double)decoded[i] != 2.0 * nearest(&formats[f], (double)x[i])) {
                fail_msg("element %d doubles to %g", i, (double)decoded[i]);
            }
        }
    }
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* Numbers whose sum depends on the order of the additions. */
static float noise(int vector, int64_t i)
{
    uint64_t seed = (uint64_t)i * 64 + (uint64_t)vector;
    return ldexpf((float)(test_random_bits(&seed) >> 40) - 0x1p23f, (int)(i + vector) % 21 - 10);
}

static float sum_in_order(int vectors, int64_t i)
{
    float sum = noise(0, i);
    for (int q = 1; q < vectors; ++q) {
        sum += noise(q, i);
    }
    return sum;
}

static void check_sum(const hal_pack *pack, int froms, int tos, int64_t begin, int64_t count)
{
    enum { MOST = 5, ROOM = 3000 };
    static float vector[2 * MOST][ROOM];
    const void *from[MOST];
    void *to[MOST];
    for (int q = 0; q < froms; ++q) {
        from[q] = vector[q];
        for (int64_t i = 0; i < ROOM; ++i) {
            vector[q][i] = noise(q, i);
        }
    }
    for (int t = 0; t < tos; ++t) {
        /* Results go over the operands, as far as there are any, or elsewhere. */
        to[t] = t % 2 == 0 && t < froms ? vector[t] : vector[MOST + t];
    }
    pack->sum(to, tos, from, froms, begin, begin + count);
    for (int64_t i = begin; i < begin + count; ++i) {
        float expected = sum_in_order(froms, i);
        for (int t = 0; t < tos; ++t) {
            assert_memory_equal((float *)to[t] + i, &expected, sizeof expected);
        }
    }
}

static void test_sums(void **state)
{
    (void)state;
    static const int64_t counts[] = {0, 1, 15, 16, 17, 64, 100, 1023, 1024, 1025, 2049};
    for (hal_isa level = HAL_ISA_BASE; level <= hal_isa_best(); ++level) {
        for (int froms = 2; froms <= 5; ++froms) {
            for (int tos = 1; tos <= 5; ++tos) {
                for (int c = 0; c < 11; ++c) {
                    check_sum(hal_pack_of(level), froms, tos, c % 4, counts[c]);
                }
            }
        }
    }
}

/* Past the length from which threads share the work, over the operands. */
static void test_long_sums(void **state)
{
    (void)state;
    enum { COUNT = 700001 };
    float *left = malloc(COUNT * sizeof *left);
    float *right = malloc(COUNT * sizeof *right);
    assert_true(left != NULL && right != NULL);
    for (int64_t i = 0; i < COUNT; ++i) {
        left[i] = noise(0, i);
        right[i] = noise(1, i);
    }
    void *to[2] = {left, right};
    const void *from[2] = {left, right};
    hal_pack_reduce_all(WEFT_DTYPE_F32, HAL_SUM, to, 2, from, 2, COUNT);
    for (int64_t i = 0; i < COUNT; ++i) {
        float expected = sum_in_order(2, i);
        assert_memory_equal(&left[i], &expected, sizeof expected);
        assert_memory_equal(&right[i], &expected, sizeof expected);
    }
    free(left);
    free(right);
}

/* ---- selection --------------------------------------------------------------------------------------------------- */

enum { ELEMENTS = 1000 };

/* Kinds of vectors: noise, few distinct values, denormals, all zero, and one with infinities and NaN. */
static void fill_vector(float *x, int kind, uint64_t *seed)
{
    for (int i = 0; i < ELEMENTS; ++i) {
        uint32_t bits = (uint32_t)(test_random_bits(seed) >> 32);
        switch (kind) {
        case 0:
            x[i] = (float)(bits >> 8) - 0x1p23f;
            break;
        case 1:
            x[i] = (float)(bits >> 30) - 1.0f;
            break;
        case 2:
            x[i] = float_of(bits & 0x80ffffffu);
            break;
        case 3:
            x[i] = (bits & 1u) != 0 ? -0.0f : 0.0f;
            break;
        default:
            x[i] = bits % 50 == 0 ? INFINITY : bits % 50 == 1 ? NAN : (float)(bits >> 20);
            break;
        }
    }
}

/* One vector's part against a plain look at every element. */
static void check_selection(const hal_pack *pack, const float *x, int64_t begin, int64_t end, uint32_t floor)
{
    int32_t index[ELEMENTS + HAL_PACK_SLACK];
    float value[ELEMENTS + HAL_PACK_SLACK];
    uint32_t top[2] = {1, 1};
    int64_t found = pack->compact(x, begin, end, floor, ELEMENTS, index, value, &top[0]);
    int64_t wanted = 0;
    uint32_t largest = 0;
    double sum = 0.0;
    for (int64_t i = begin; i < end; ++i) {
        uint32_t magnitude = bits_of(fabsf(x[i]));
        if (magnitude >= floor) {
            assert_true(wanted < found && index[wanted] == i && bits_of(value[wanted]) == bits_of(x[i]));
            wanted += 1;
        }
        largest = magnitude > largest ? magnitude : largest;
        sum += fabs((double)x[i]);
    }
    assert_int_equal(found, wanted);
    assert_int_equal(pack->count(x, begin, end, floor), wanted);
    assert_int_equal(top[0], largest);
    double total = pack->sum_magnitudes(x, begin, end, &top[1]);
    assert_int_equal(top[1], largest);
    assert_true(isnan(sum) ? isnan(total) : total == sum || fabs(total - sum) <= 1e-12 * sum);
    double total_of_base = hal_pack_of(HAL_ISA_BASE)->sum_magnitudes(x, begin, end, &top[1]);
    assert_true(isnan(total) || total == total_of_base);
    if (wanted > 0) { /* too many: the first ones stand there all the same */
        int32_t less_index[ELEMENTS + HAL_PACK_SLACK];
        float less_value[ELEMENTS + HAL_PACK_SLACK];
        const int64_t room = wanted / 2;
        assert_int_equal(pack->compact(x, begin, end, floor, wanted, less_index, less_value, &top[1]), wanted);
        assert_int_equal(pack->compact(x, begin, end, floor, room, less_index, less_value, &top[1]), -1);
        assert_memory_equal(less_index, index, (size_t)room * sizeof *index);
        assert_memory_equal(less_value, value, (size_t)room * sizeof *value);
    }
}

static void test_selection(void **state)
{
    (void)state;
    float x[ELEMENTS];
    uint64_t seed = 7;
    for (int c = 0; c < 300; ++c) {
        fill_vector(x, c % 5, &seed);
        int64_t begin = (int64_t)(test_random_bits(&seed) % 40);
        int64_t end = begin + (int64_t)(test_random_bits(&seed) % (uint64_t)(ELEMENTS - begin));
        uint32_t floor = end > begin ? hal_magnitude(x[begin + (end - begin) / 2]) : 1;
        for (hal_isa level = HAL_ISA_BASE; level <= hal_isa_best(); ++level) {
            check_selection(hal_pack_of(level), x, begin, end, floor);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_level), cmocka_unit_test(test_levels_agree), cmocka_unit_test(test_long_vectors),
        cmocka_unit_test(test_sums),        cmocka_unit_test(test_long_sums),    cmocka_unit_test(test_selection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

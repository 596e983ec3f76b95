/* Bytes in words, a NaN without its sign, and the shortest text of a number. */
#include <math.h>
#include <stdlib.h>

#include "base/number.h"
#include "base/philox.h"
#include "support/test.h"

static void test_bytes_in_words(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *words;
    } cases[] = {
        {0, "0 bytes"},
        {1, "1 bytes"},
        {1023, "1023 bytes"},
        {1024, "1.00 KiB"},
        {1536, "1.50 KiB"},
        {10240, "10.0 KiB"},
        {64 << 10, "64.0 KiB"},
        {200 << 10, "200 KiB"},
        {1023 << 10, "1023 KiB"},
        {(1 << 20) - 1, "1.00 MiB"}, /* 1023.999 KiB, not 1024 KiB */
        {1 << 20, "1.00 MiB"},
        {(uint64_t)64 << 20, "64.0 MiB"},
        {(uint64_t)5 << 40, "5.00 TiB"},
        {UINT64_MAX, "16.0 EiB"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(number_say_bytes(cases[i].bytes).text, cases[i].words);
    }
}

static void test_nan_is_plain(void **state)
{
    (void)state;
    char text[32];
    const double odd[] = {copysign((double)NAN, -1.0), copysign((double)NAN, 1.0)};
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "%g", number_plain(odd[i]));
        assert_string_equal(text, "nan");
    }
    snprintf(text, sizeof text, "%g %g", number_plain(-HUGE_VAL), number_plain(-0.5));
    assert_string_equal(text, "-inf -0.5");
}

/* The shortest text by definition: the fewest digits of printf that read back equal. */
static void shortest(double value, char text[NUMBER_TEXT_MAX])
{
    if (fabs(value) < 1e15 && value == trunc(value)) {
        snprintf(text, NUMBER_TEXT_MAX, "%.0f", value);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, NUMBER_TEXT_MAX, "%.*g", digits, value);
        if (strtod(text, NULL) == value) {
            return;
        }
    }
}

/* Doubles of every size and of few digits, floats, neighbours of powers of ten and of halves of the last digit. */
static double odd_double(int i)
{
    const philox_block bits = philox4x32((philox_block){{(uint32_t)i, 0, 0, 0}}, 7);
    const double share = philox_uniform_double(bits.word[0], bits.word[1]), ten = pow(10.0, (double)(i % 40 - 10));
    switch (i % 6) {
    case 0:
        return share;
    case 1:
        return ldexp(share - 0.5, i % 200 - 100);
    case 2:
        return (double)(float)share * ten;
    case 3:
        return floor(share * 1e6) / 1e3;
    case 4:
        return nextafter(ten, i % 7 < 3 ? 0.0 : 1e300);
    default:
        return (floor(share * 1e15) + 0.5) / 1e4;
    }
}

static void test_shortest(void **state)
{
    (void)state;
    char text[NUMBER_TEXT_MAX], want[NUMBER_TEXT_MAX];
    for (int i = 0; i < 60000; i++) {
        const double value = i % 2 == 0 ? odd_double(i) : -odd_double(i);
        shortest(value, want);
        assert_string_equal(number_format_real(value, text), want);
    }
    assert_string_equal(number_format_real(-0.0, text), "-0");
    assert_string_equal(number_format_int(INT64_MIN, text), "-9223372036854775808");
    assert_string_equal(number_format_int(0, text), "0");
    assert_string_equal(number_format_int(1200, text), "1200");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_in_words),
        cmocka_unit_test(test_nan_is_plain),
        cmocka_unit_test(test_shortest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Bytes in words, and a NaN without its sign. */
#include <math.h>

#include "base/number.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_in_words),
        cmocka_unit_test(test_nan_is_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

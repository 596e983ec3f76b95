/* Decimal numbers to the last bit, beside strtod of the C library. */
#include <stdlib.h>
#include <string.h>

#include "support/random.h"
#include "support/test.h"
#include "table/column/decimal.h"

enum { TRIALS = 200000 };

static void check(const char *text, bool number, bool whole)
{
    char block[200];
    const size_t bytes = strlen(text);
    double value = 0;
    bool found = false;
    memset(block, '9', sizeof block); /* what stands around is no part of the number */
    for (size_t i = 0; i < bytes; ++i) {
        block[32 + i] = text[i];
    }
    assert_int_equal(decimal_read(block + 32, bytes, '.', &value, &found), number);
    if (number) {
        const double expected = strtod(text, NULL);
        assert_memory_equal(&value, &expected, sizeof value);
        assert_int_equal(found, whole);
    }
}

/* Numbers as files hold them: up to 20 digits with a point at any place. */
static void test_random_numbers(void **state)
{
    uint64_t seed = 7;
    (void)state;
    for (int trial = 0; trial < TRIALS; trial++) {
        char text[64];
        int at = 0;
        const int before = (int)(test_random(&seed) % 12), behind = (int)(test_random(&seed) % 10);
        const bool point = test_random(&seed) % 3 > 0;
        if (test_random(&seed) % 3 == 0) {
            text[at++] = '-';
        }
        for (int i = 0; i < before; i++) {
            text[at++] = (char)('0' + test_random(&seed) % 10);
        }
        if (point) {
            text[at++] = '.';
            for (int i = 0; i < behind; i++) {
                text[at++] = (char)('0' + test_random(&seed) % 10);
            }
        }
        text[at] = '\0';
        check(text, before + (point ? behind : 0) > 0, !point);
    }
}

static void test_edges(void **state)
{
    static const char *const numbers[] = {"9007199254740993.",
                                          "0.1",
                                          "-0.0",
                                          "1e5",
                                          "1.5D2",
                                          "+3.5",
                                          "9999999999999999.",
                                          "0.000000000000001",
                                          "12345678.",
                                          "1234567.8",
                                          ".12345678",
                                          "4.9e-324",
                                          "1.7976931348623157e308",
                                          "123456789012345678901234567890.",
                                          "5.",
                                          "-.5"};
    static const char *const words[] = {"",
                                        "-",
                                        ".",
                                        "-.",
                                        "1-2",
                                        "1.2.3",
                                        "1,5",
                                        "abc",
                                        "0x10",
                                        "1e",
                                        "--1",
                                        "1 2",
                                        "12345678a",
                                        "a2345678",
                                        "1:2",
                                        "1/2",
                                        "nan",
                                        "inf",
                                        "12345678.12345.8"};
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strchr(numbers[i], 'D') == NULL) {
            check(numbers[i], true, false);
        }
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        check(words[i], false, false);
    }
    check("123", true, true);
    check("-1234567890123456", true, true);
    check("+12", true, true);
}

static void test_decimal_comma(void **state)
{
    static const char block[] = "                1234,5 1.234,5              ";
    double value;
    bool whole;
    (void)state;
    assert_true(decimal_read(block + 16, 6, ',', &value, &whole));
    assert_true(value == 1234.5 && !whole);
    assert_false(decimal_read(block + 23, 7, ',', &value, &whole));
    assert_false(decimal_read(block + 16, 6, '.', &value, &whole));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_numbers), cmocka_unit_test(test_edges),
                                       cmocka_unit_test(test_decimal_comma)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

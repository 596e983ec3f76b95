/* Letters that UTF-8 spells in two ways, against Unicode's NFC (values of Python's unicodedata.normalize). */
#include "base/letters/letters.h"
#include "support/test.h"

static const char *composed(const char *text)
{
    static char out[256];
    assert_true(letters_compose(text, strlen(text), out, sizeof out));
    return out;
}

static void test_marks_join_their_letters(void **state)
{
    (void)state;
    assert_string_equal(composed("cafe\xcc\x81"), "caf\xc3\xa9");
    assert_string_equal(composed("caf\xc3\xa9"), "caf\xc3\xa9");
    assert_string_equal(composed("Mu\xcc\x88nchen"), "M\xc3\xbcnchen");
    assert_string_equal(composed("e\xcc\x81"), "\xc3\xa9");
    assert_string_equal(composed("\xd0\xb8\xcc\x86"), "\xd0\xb9");             /* Cyrillic short i */
    assert_string_equal(composed("\xce\xb1\xcc\x81"), "\xce\xac");             /* Greek alpha with tonos */
    assert_string_equal(composed("\xe3\x81\x8b\xe3\x82\x99"), "\xe3\x81\x8c"); /* Japanese ga */
    assert_string_equal(composed("x\xcc\x81"), "x\xcc\x81");                   /* no such letter */
    assert_string_equal(composed("\xcc\x81z"), "\xcc\x81z");
    assert_string_equal(composed("plain"), "plain");
    assert_string_equal(composed(""), "");
}

static void test_several_marks_in_any_order(void **state)
{
    (void)state;
    static const char *const forms[] = {"e\xcc\xa3\xcc\x82", "e\xcc\x82\xcc\xa3", "\xc3\xaa\xcc\xa3",
                                        "\xe1\xba\xb9\xcc\x82", "\xe1\xbb\x87"};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; ++i) {
        assert_string_equal(composed(forms[i]), "\xe1\xbb\x87"); /* Vietnamese e with circumflex and dot below */
    }
    assert_string_equal(composed("\xc3\xa4\xcc\xa3"), "\xe1\xba\xa1\xcc\x88"); /* a with diaeresis and dot below */
    assert_string_equal(composed("a\xcc\x81\xcc\x81"), "\xc3\xa1\xcc\x81");    /* the second of one class stays */
}

static void test_hangul(void **state)
{
    (void)state;
    assert_string_equal(composed("\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab\xe1\x84\x80\xe1\x85\xb3\xe1\x86\xaf"),
                        "\xed\x95\x9c\xea\xb8\x80");
    assert_string_equal(composed("\xed\x95\x9c"), "\xed\x95\x9c");
}

static void test_what_is_no_text_stays(void **state)
{
    char out[4];
    (void)state;
    assert_string_equal(composed("a\xff\xcc\x81"), "a\xff\xcc\x81");
    assert_string_equal(composed("\xf0\x9f\x90\x88"), "\xf0\x9f\x90\x88"); /* beyond the table */
    assert_false(letters_compose("abcdef", 6, out, sizeof out));
    assert_string_equal(out, "abc");
    assert_false(letters_compose("ab\xc3\xa9", 4, out, sizeof out));
    assert_string_equal(out, "ab");
    assert_true(letters_compose("abcdef", 3, out, sizeof out));
    assert_string_equal(out, "abc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_marks_join_their_letters),
                                       cmocka_unit_test(test_several_marks_in_any_order), cmocka_unit_test(test_hangul),
                                       cmocka_unit_test(test_what_is_no_text_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

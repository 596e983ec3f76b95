/*
 * Foreign text made safe: every string of one and two bytes, every code point, malformed sequences, cuts at every
 * length. What comes out is plain UTF-8 by the C library's own decoder, and the escapes read back give the bytes that
 * went in.
 */
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/status.h"
#include "support/test.h"

/* Nothing that a terminal obeys: by mbrtowc and iswcntrl of a UTF-8 locale. */
static void assert_harmless(const char *text)
{
    mbstate_t state = {0};
    for (size_t left = strlen(text), taken; left > 0; left -= taken, text += taken) {
        wchar_t code;
        taken = mbrtowc(&code, text, left, &state);
        assert_true(taken > 0 && taken <= 4);
        assert_false(iswcntrl((wint_t)code));
        assert_true(code >= 0x20 && code != 0x7f && !(code >= 0x80 && code < 0xa0));
        assert_false(code == 0x2028 || code == 0x2029 || (code >= 0x202a && code <= 0x202e));
    }
}

/* \n, \t, \r and \xNN of C back to bytes. */
static void unescape(const char *from, char *to)
{
    while (*from != '\0') {
        if (from[0] != '\\') {
            *to++ = *from++;
        } else if (from[1] == 'x') {
            const char digits[3] = {from[2], from[3], '\0'};
            *to++ = (char)strtol(digits, NULL, 16);
            from += 4;
        } else {
            *to++ = from[1] == 'n' ? '\n' : from[1] == 't' ? '\t' : '\r';
            from += 2;
        }
    }
    *to = '\0';
}

static void check(const char *text)
{
    char shown[128], back[128];
    size_t length = escape_text(shown, sizeof shown, text);
    assert_int_equal(length, strlen(shown));
    assert_harmless(shown);
    if (strchr(text, '\\') == NULL) {
        unescape(shown, back);
        assert_string_equal(back, text);
    }
    char again[128];
    escape_text(again, sizeof again, shown);
    assert_string_equal(again, shown);
}

static void test_bytes(void **state)
{
    (void)state;
    for (int a = 1; a < 256; a++) {
        for (int b = 0; b < 256; b++) {
            const char text[] = {(char)a, (char)b, '\0'};
            check(text);
            const char inner[] = {'x', (char)a, (char)(b > 0 ? b : 'y'), 'z', '\0'};
            check(inner);
        }
    }
    assert_string_equal(escape_say("a\x1b[31mb\n\tc\r\x7f").text, "a\\x1b[31mb\\n\\tc\\r\\x7f");
    assert_string_equal(escape_say("C:\\n \xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x9f").text,
                        "C:\\n \xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x9f");
    assert_string_equal(escape_say("\xc2\x9b"
                                   "31m \xe2\x80\xae \xc0\x80 \xed\xa0\x80")
                            .text,
                        "\\xc2\\x9b31m \\xe2\\x80\\xae \\xc0\\x80 \\xed\\xa0\\x80");
}

/* A value of ESCAPED_SHORT bytes is whole; of a longer one whole characters are, and its length. */
static void test_long_values_are_cut(void **state)
{
    char text[ESCAPED_SHORT + 2] = "";
    (void)state;
    memset(text, 'a', ESCAPED_SHORT);
    assert_string_equal(escape_short(text).text, text);
    text[ESCAPED_SHORT - 1] = '\xc3';
    text[ESCAPED_SHORT] = '\xa9';
    const escaped_text cut = escape_short(text);
    assert_memory_equal(cut.text, text, ESCAPED_SHORT - 1);
    assert_string_equal(cut.text + ESCAPED_SHORT - 1, "... (401 bytes)");
    assert_string_equal(escape_short("a\n").text, "a\\n");
}

static void test_code_points(void **state)
{
    (void)state;
    for (uint32_t code = 1; code < 0x110000; code++) {
        char text[8] = "";
        mbstate_t shift = {0};
        size_t length = wcrtomb(text, (wchar_t)code, &shift);
        if (length == (size_t)-1) {
            continue; /* surrogates */
        }
        uint32_t found = 0;
        assert_int_equal(utf8_length(text, &found), length);
        assert_int_equal(found, code);
        if (code % 97 == 0 || code < 0x3000) {
            check(text);
        }
    }
}

/* Cut at every length: whole characters and whole escapes, never past the end. */
static void test_cuts(void **state)
{
    (void)state;
    const char text[] = "ab\xe2\x82\xac\x1b\xc2\x9b"
                        "c\xf0\x9f\x90\x9f\xff.";
    char whole[64];
    escape_text(whole, sizeof whole, text);
    for (size_t capacity = 1; capacity <= strlen(whole) + 2; capacity++) {
        char shown[64];
        memset(shown, '#', sizeof shown);
        size_t length = escape_text(shown, capacity, text);
        assert_true(length < capacity);
        assert_int_equal(shown[length], '\0');
        assert_int_equal(shown[capacity], '#');
        assert_memory_equal(shown, whole, length);
        assert_harmless(shown);
    }
}

static void test_fitting(void **state)
{
    (void)state;
    static const char text[] = "a\xc3\xa4\xe6\xbc\xa2"; /* of 1, 2 and 3 bytes */
    static const size_t expected[] = {0, 0, 1, 1, 3, 3, 3, 6, 6};
    for (size_t room = 0; room < sizeof expected / sizeof *expected; room++) {
        assert_int_equal(utf8_fitting(text, room), expected[room]);
    }
    assert_int_equal(utf8_fitting("", 5), 0);
    assert_int_equal(utf8_fitting("\xff\xff\xff", 3), 2); /* a byte that is no character counts as one */
}

static void test_messages(void **state)
{
    (void)state;
    weft_fail(WEFT_ERR_DATA, "%s: bad", "a\nweft: done\x1b[2J");
    assert_string_equal(weft_error_message(), "a\\nweft: done\\x1b[2J: bad");
    weft_fail(WEFT_ERR_DATA, "%s", weft_error_message());
    assert_string_equal(weft_error_message(), "a\\nweft: done\\x1b[2J: bad");
    weft_fail_context(WEFT_ERR_DATA, "in %s: ", "b\r");
    assert_string_equal(weft_error_message(), "in b\\r: a\\nweft: done\\x1b[2J: bad");
    char endless[5000];
    memset(endless, '\x1b', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    weft_fail(WEFT_ERR_DATA, "%s", endless);
    assert_harmless(weft_error_message());
    weft_error_clear();
}

int main(void)
{
    if (setlocale(LC_ALL, "C.UTF-8") == NULL) {
        printf("skipped: no locale C.UTF-8\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),       cmocka_unit_test(test_long_values_are_cut),
        cmocka_unit_test(test_code_points), cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_fitting),     cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

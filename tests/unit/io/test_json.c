/* JSON: what the writer writes the reader reads back; what RFC 8259 forbids is refused. */
#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>

#include "base/alloc.h"
#include "base/number.h"
#include "io/json.h"
#include "support/test.h"

static json_document *parse(const char *text)
{
    json_document *document = NULL;
    ASSERT_OK(json_parse("t.json", text, strlen(text), &document));
    return document;
}

static void refuse(const char *text, const char *message)
{
    json_document *document = NULL;
    ASSERT_STATUS(json_parse("t.json", text, strlen(text), &document), WEFT_ERR_DATA);
    assert_null(document);
    ASSERT_MESSAGE("t.json");
    ASSERT_MESSAGE(message);
}

/* Pseudo-random bits (splitmix64), so that every exponent and mantissa length occurs. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static void test_doubles_round_trip(void **state)
{
    (void)state;
    double values[4096] = {0.0,     -0.0,    0.1,          1.0 / 3, 1e15, 1e22, 123456789012345678.0,
                           DBL_MAX, DBL_MIN, DBL_TRUE_MIN, -1e-7};
    for (size_t i = 11; i < 4096; i++) {
        uint64_t bits = mix(i);
        memcpy(&values[i], &bits, sizeof bits);
        if (!isfinite(values[i])) {
            values[i] = (double)i / 7;
        }
    }
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    json_writer json = json_begin(out, false);
    json_array(&json, NULL);
    for (size_t i = 0; i < 4096; i++) {
        json_real(&json, NULL, values[i]);
    }
    json_end(&json);
    fclose(out);
    json_document *document = parse(text);
    const json_value *value = json_root(document)->child;
    for (size_t i = 0; i < 4096; i++, value = value->next) {
        assert_non_null(value);
        assert_memory_equal(&value->number, &values[i], sizeof(double));
    }
    assert_null(value);
    json_free(document);
    free(text);
}

static void test_numbers_are_short(void **state)
{
    (void)state;
    char text[NUMBER_TEXT_MAX];
    assert_string_equal(number_format_real(0.1, text), "0.1");
    assert_string_equal(number_format_real(100000, text), "100000");
    assert_string_equal(number_format_real(5e-324, text), "5e-324");
    assert_string_equal(number_format_real(0.30000000000000004, text), "0.30000000000000004");
    assert_string_equal(number_format_real(1e300, text), "1e+300");
}

static void test_number_parsing_is_strict(void **state)
{
    (void)state;
    static const char *const bad[] = {"",   " 1",    "1 ", "1x", "0x10", "inf", "nan",   "-nan", "1e",
                                      "e5", "1e999", ".",  "-",  "+",    "1,5", "1.5.2", "--1",  "infinity"};
    double real = 0;
    int64_t integer = 0;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(number_parse_real(bad[i], &real));
        assert_false(number_parse_int(bad[i], &integer));
    }
    assert_true(number_parse_real("+.5e-1", &real));
    assert_true(real == 0.05);
    assert_true(number_parse_int("-9223372036854775808", &integer));
    assert_true(integer == INT64_MIN);
    assert_false(number_parse_int("9223372036854775808", &integer));
    assert_false(number_parse_int("1.0", &integer));
}

static void test_locale_does_not_matter(void **state)
{
    (void)state;
    char text[NUMBER_TEXT_MAX];
    double real = 0;
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL && setlocale(LC_ALL, "fr_FR.UTF-8") == NULL) {
        skip(); /* no locale with a decimal comma is installed */
    }
    assert_string_equal(number_format_real(0.5, text), "0.5");
    assert_true(number_parse_real("0.25", &real));
    assert_true(real == 0.25);
    assert_false(number_parse_real("0,25", &real));
    setlocale(LC_ALL, "C");
}

static char *write_sample(bool pretty)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    json_writer json = json_begin(out, pretty);
    json_object(&json, NULL);
    json_text(&json, "text", "a\"b\\c\n\t\x01 \xc3\xa9");
    json_int(&json, "int", INT64_MIN);
    json_real(&json, "nan", NAN);
    json_real(&json, "inf", -INFINITY);
    json_bool(&json, "yes", true);
    json_text(&json, "none", NULL);
    json_array(&json, "list");
    json_int(&json, NULL, 1);
    json_object(&json, NULL);
    json_end(&json);
    json_end(&json);
    json_array(&json, "empty");
    json_end(&json);
    json_end(&json);
    json_line_end(&json);
    fclose(out);
    return text;
}

static void test_writer_layout(void **state)
{
    (void)state;
    char *text = write_sample(false);
    assert_string_equal(
        text, "{\"text\": \"a\\\"b\\\\c\\n\\t\\u0001 \xc3\xa9\", \"int\": -9223372036854775808, \"nan\": null, "
              "\"inf\": null, \"yes\": true, \"none\": null, \"list\": [1, {}], \"empty\": []}\n");
    free(text);
    text = write_sample(true);
    assert_non_null(strstr(text, "{\n  \"text\""));
    assert_non_null(strstr(text, "  \"list\": [\n    1,\n    {}\n  ],\n  \"empty\": []\n}\n"));
    free(text);
}

static void test_what_is_written_reads_back(void **state)
{
    (void)state;
    for (int pretty = 0; pretty < 2; pretty++) {
        char *text = write_sample(pretty == 1);
        json_document *document = parse(text);
        const json_value *root = json_root(document);
        const char *string = NULL;
        int64_t integer = 0;
        bool yes = false;
        ASSERT_OK(json_get_text("t", root, "text", &string));
        assert_string_equal(string, "a\"b\\c\n\t\x01 \xc3\xa9");
        ASSERT_OK(json_get_int("t", root, "int", INT64_MIN, 0, &integer));
        assert_true(integer == INT64_MIN);
        ASSERT_OK(json_get_bool("t", root, "yes", &yes));
        assert_true(yes);
        assert_int_equal(json_find(root, "nan")->kind, JSON_NULL);
        assert_int_equal(json_find(root, "list")->child->next->kind, JSON_OBJECT);
        assert_null(json_find(root, "empty")->child);
        assert_null(json_find(root, "absent"));
        json_free(document);
        free(text);
    }
}

static void test_malformed_text_is_refused(void **state)
{
    (void)state;
    refuse("", "ends where a value");
    refuse("  \n ", "line 2");
    refuse("{\"a\": 1,}", "key in double quotes");
    refuse("[1,]", "expected a value");
    refuse("[1 2]", "expected ',' or ']'");
    refuse("{\"a\" 1}", "expected ':'");
    refuse("{a: 1}", "key in double quotes");
    refuse("{\"a\":1 \"b\":2}", "expected ',' or '}'");
    refuse("[1] x", "after the end");
    refuse("nul", "expected a value");
    refuse("'a'", "expected a value");
    refuse("\"abc", "not closed");
    refuse("\"a\nb\"", "control character");
    refuse("\"\\x\"", "unknown escape");
    refuse("{\n\"a\": 1,\n\"b\": ]}", "line 3, column 6");
    static const char *const numbers[] = {"01",  "1.",  ".5",  "+1",       "-",    "1e",
                                          "1e+", "0x1", "NaN", "Infinity", "1.5.", "--1"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        refuse(numbers[i], "line 1");
    }
    refuse("1e999", "too large");
}

static void test_duplicate_keys_are_refused(void **state)
{
    (void)state;
    refuse("{\"a\": 1, \"b\": 2, \"a\": 3}", "\"a\" appears twice");
    refuse("{\"a\": 1, \"\\u0061\": 3}", "\"a\" appears twice");
    json_free(parse("{\"a\": {\"a\": 1}, \"b\": [{\"a\": 1}, {\"a\": 2}]}"));
}

static void test_utf8(void **state)
{
    (void)state;
    static const char *const bad[] = {"\x80",
                                      "\xc0\xaf",
                                      "\xc3",
                                      "\xe0\x80\xaf",
                                      "\xed\xa0\x80",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf8\x88\x80\x80\x80",
                                      "\xff",
                                      "\xe2\x82"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[16];
        snprintf(text, sizeof text, "\"%s\"", bad[i]);
        refuse(text, "UTF-8");
    }
    json_document *document = parse("\"\\u00e9 \\u20ac \\ud83d\\ude00 \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf\"");
    assert_string_equal(json_root(document)->text,
                        "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf");
    json_free(document);
    refuse("\"\\ud83d\"", "surrogate");
    refuse("\"\\ud83d\\u0041\"", "surrogate");
    refuse("\"\\ude00\"", "surrogate");
    refuse("\"\\u0000\"", "u0000");
    refuse("\"\\u12g4\"", "hexadecimal");
    refuse("\xef\xbb\xbf{}", "expected a value");
    json_document *none = NULL;
    ASSERT_STATUS(json_parse("t", "[\0]", 3, &none), WEFT_ERR_DATA);
    ASSERT_MESSAGE("NUL");
}

static void test_limits(void **state)
{
    (void)state;
    char text[64];
    memset(text, '[', 16);
    memset(text + 16, ']', 16);
    text[32] = '\0';
    json_free(parse(text));
    memset(text, '[', 17);
    memset(text + 17, ']', 17);
    text[34] = '\0';
    refuse(text, "16 deep");
    size_t bytes = ((size_t)1 << 20) + 1;
    char *large = malloc(bytes);
    memset(large, ' ', bytes);
    large[0] = '1';
    json_document *document = NULL;
    ASSERT_STATUS(json_parse("t", large, bytes, &document), WEFT_ERR_DATA);
    ASSERT_MESSAGE("at most");
    ASSERT_OK(json_parse("t", large, bytes - 1, &document));
    json_free(document);
    free(large);
}

/* Many keys in one object must not be quadratic: 60,000 keys pass at once, and each is found apart. */
static void test_many_keys(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    fputc('{', out);
    for (int i = 0; i < 60000; i++) {
        fprintf(out, "%s\"k%d\":%d", i == 0 ? "" : ",", i, i);
    }
    fputc('}', out);
    fclose(out);
    json_document *document = parse(text);
    int64_t value = 0;
    ASSERT_OK(json_get_int("t", json_root(document), "k59999", 0, 60000, &value));
    assert_int_equal(value, 59999);
    json_free(document);
    free(text);
}

static void test_typed_access_names_key_and_limit(void **state)
{
    (void)state;
    json_document *document = parse("{\"n\": 5, \"x\": 1.5, \"s\": \"t\", \"big\": 9223372036854775808}");
    const json_value *root = json_root(document);
    int64_t integer = 0;
    const char *string = NULL;
    bool flag = false;
    ASSERT_STATUS(json_get_int("m.json", root, "n", 6, 9, &integer), WEFT_ERR_DATA);
    ASSERT_MESSAGE("m.json: \"n\" is 5, must be between 6 and 9");
    ASSERT_STATUS(json_get_int("m.json", root, "x", 0, 9, &integer), WEFT_ERR_DATA);
    ASSERT_STATUS(json_get_int("m.json", root, "big", 0, INT64_MAX, &integer), WEFT_ERR_DATA);
    ASSERT_STATUS(json_get_int("m.json", root, "absent", 0, 9, &integer), WEFT_ERR_DATA);
    ASSERT_MESSAGE("\"absent\" is missing");
    ASSERT_STATUS(json_get_text("m.json", root, "n", &string), WEFT_ERR_DATA);
    ASSERT_STATUS(json_get_bool("m.json", root, "n", &flag), WEFT_ERR_DATA);
    ASSERT_STATUS(json_get_text("m.json", root->child, "n", &string), WEFT_ERR_DATA);
    ASSERT_STATUS(json_get_text("m.json", NULL, "n", &string), WEFT_ERR_DATA);
    json_free(document);
}

static void test_tolerant_access(void **state)
{
    (void)state;
    static const char text[] =
        "{\"n\": 2.5, \"t\": \"x\", \"empty\": \"\", \"none\": null, \"a\": [7], \"o\": {\"k\": 1}}";
    json_document *document = NULL;
    assert_int_equal(json_parse("text", text, sizeof text - 1, &document), WEFT_OK);
    const json_value *root = json_root(document), *array = json_find(root, "a");
    assert_true(json_number(root, "n") == 2.5);
    assert_true(isnan(json_number(root, "t")) && isnan(json_number(root, "none")) && isnan(json_number(NULL, "n")));
    assert_true(isnan(json_number(array, "n")));
    assert_string_equal(json_string(root, "t", "other"), "x");
    assert_string_equal(json_string(root, "empty", "other"), "other");
    assert_string_equal(json_string(root, "n", "other"), "other");
    assert_null(json_string(NULL, "t", NULL));
    assert_int_equal(json_first(array, JSON_ARRAY)->integer, 7);
    assert_string_equal(json_first(json_find(root, "o"), JSON_OBJECT)->key, "k");
    assert_null(json_first(array, JSON_OBJECT));
    assert_null(json_first(NULL, JSON_ARRAY));
    json_free(document);
}

static void test_allocation_failures_leave_nothing(void **state)
{
    (void)state;
    uint64_t before = weft_mem_usage_total().current_bytes;
    weft_status status = WEFT_ERR_RESOURCE;
    uint64_t failures = 0;
    while (status == WEFT_ERR_RESOURCE) {
        json_document *document = NULL;
        weft_alloc_fail_after(failures + 1);
        status = json_parse("t", "{\"a\": [1, 2]}", 13, &document);
        weft_alloc_fail_after(0);
        failures += status == WEFT_ERR_RESOURCE;
        json_free(document);
        assert_int_equal(weft_mem_usage_total().current_bytes, before);
    }
    assert_int_equal(status, WEFT_OK);
    assert_true(failures >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_doubles_round_trip),
        cmocka_unit_test(test_numbers_are_short),
        cmocka_unit_test(test_number_parsing_is_strict),
        cmocka_unit_test(test_locale_does_not_matter),
        cmocka_unit_test(test_writer_layout),
        cmocka_unit_test(test_what_is_written_reads_back),
        cmocka_unit_test(test_malformed_text_is_refused),
        cmocka_unit_test(test_duplicate_keys_are_refused),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_many_keys),
        cmocka_unit_test(test_typed_access_names_key_and_limit),
        cmocka_unit_test(test_tolerant_access),
        cmocka_unit_test(test_allocation_failures_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

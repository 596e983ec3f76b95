/* Texts that grow: pieces and items one behind the other, cut off where the array ends. */
#include "base/text/append.h"
#include "support/test.h"

static void test_pieces_and_items(void **state)
{
    (void)state;
    char text[16] = "";
    text_append_item(text, sizeof text, "%d", 1);
    assert_string_equal(text, "1");
    text_append_item(text, sizeof text, "%s", "two");
    assert_string_equal(text, "1, two");
    text_append(text, sizeof text, " of %d", 3);
    assert_string_equal(text, "1, two of 3");
    text_append(text, sizeof text, "%s", "");
    assert_string_equal(text, "1, two of 3");
}

static void test_the_end_of_the_array_cuts(void **state)
{
    (void)state;
    char text[8] = "";
    text_append(text, sizeof text, "%s", "123456789");
    assert_string_equal(text, "1234567");
    text_append(text, sizeof text, "%s", "x");
    text_append_item(text, sizeof text, "%s", "y");
    assert_string_equal(text, "1234567");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_and_items),
        cmocka_unit_test(test_the_end_of_the_array_cuts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Messages of Protocol Buffers against bytes from its documentation, and against the rules for lengths. */
#include <string.h>

#include "base/alloc.h"
#include "io/protobuf.h"
#include "support/test.h"

static void expect(protobuf *m, const char *bytes, size_t count)
{
    ASSERT_OK(m->status);
    assert_int_equal(m->size, count);
    assert_memory_equal(m->data, bytes, count);
    protobuf_free(m);
}

/* Examples of protobuf.dev/programming-guides/encoding. */
static void test_documented(void **state)
{
    (void)state;
    protobuf m = {.size = 0}, outer = {.size = 0};
    protobuf_int(&m, 1, 150);
    protobuf_message(&outer, 3, &m);
    expect(&m, "\x08\x96\x01", 3);
    expect(&outer, "\x1a\x03\x08\x96\x01", 5);
    protobuf_text(&m, 2, "testing");
    expect(&m, "\x12\x07testing", 9);
    protobuf_int(&m, 1, -2);
    expect(&m, "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
}

static void test_fields(void **state)
{
    (void)state;
    protobuf m = {.size = 0}, rest = {.size = 0};
    protobuf_float(&m, 2, 1.0F);
    protobuf_int(&m, 20, 0);
    protobuf_open(&m, 9, 300);
    protobuf_text(&rest, 1, "");
    protobuf_join(&m, &rest);
    protobuf_free(&rest);
    expect(&m, "\x15\x00\x00\x80\x3f\xa0\x01\x00\x4a\xac\x02\x0a\x00", 13);
}

/* Long texts make the memory grow; what stood there stays. */
static void test_growth(void **state)
{
    (void)state;
    enum { TEXTS = 40, LENGTH = 100 };
    char text[LENGTH + 1];
    protobuf m = {.size = 0};
    memset(text, 'x', LENGTH);
    text[LENGTH] = '\0';
    for (int i = 0; i < TEXTS; ++i) {
        text[0] = (char)('A' + i);
        protobuf_text(&m, 1, text);
    }
    ASSERT_OK(m.status);
    assert_int_equal(m.size, TEXTS * (LENGTH + 2));
    for (int i = 0; i < TEXTS; ++i) {
        assert_int_equal(m.data[i * (LENGTH + 2) + 2], 'A' + i);
    }
    protobuf_free(&m);
    assert_null(m.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_documented), cmocka_unit_test(test_fields),
                                       cmocka_unit_test(test_growth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

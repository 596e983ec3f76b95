/* A .gz is what gunzip expects, always the same bytes, and whole or absent; floats as short text keep their bits. */
#include <math.h>
#include <zlib.h>

#include "base/number.h"
#include "io/gzip_writer.h"
#include "support/folder.h"
#include "support/random.h"

enum { BYTES = 300000 };

static void write_pieces(const char *path, const uint8_t *data, size_t piece)
{
    gzip_writer *writer;
    ASSERT_OK(gzip_writer_open(path, &writer));
    for (size_t at = 0; at < BYTES; at += piece) {
        ASSERT_OK(gzip_write(writer, data + at, BYTES - at < piece ? BYTES - at : piece));
    }
    assert_false(file_exists(path));
    ASSERT_OK(gzip_writer_commit(writer));
}

static void test_round_trip(void **state)
{
    static uint8_t data[BYTES], back[BYTES + 1];
    uint64_t seed = 1;
    for (int i = 0; i < BYTES; i++) { /* half noise, half repetition: some blocks are stored, some deflated */
        data[i] = i % 60000 < 30000 ? (uint8_t)(test_random_bits(&seed) >> 56) : (uint8_t)(i % 7);
    }
    write_pieces(in_folder(state, "a.gz"), data, BYTES);
    write_pieces(in_folder(state, "b.gz"), data, BYTES);
    gzFile stream = gzopen(in_folder(state, "a.gz"), "rb");
    assert_non_null(stream);
    assert_int_equal(gzread(stream, back, BYTES + 1), BYTES);
    assert_int_equal(gzclose(stream), Z_OK);
    assert_memory_equal(data, back, BYTES);
    size_t one, other;
    uint8_t *first = get_file(in_folder(state, "a.gz"), &one);
    uint8_t *second = get_file(in_folder(state, "b.gz"), &other);
    assert_int_equal(one, other);
    assert_memory_equal(first, second, one);
    free(first);
    free(second);
}

static void test_nothing_is_left_behind(void **state)
{
    gzip_writer *writer;
    ASSERT_OK(gzip_writer_open(in_folder(state, "c.gz"), &writer));
    ASSERT_OK(gzip_write(writer, "abc", 3));
    gzip_writer_discard(writer);
    assert_false(file_exists(in_folder(state, "c.gz")));
    ASSERT_STATUS(gzip_writer_open(in_folder(state, "no/d.gz"), &writer), WEFT_ERR_IO);
    assert_null(writer);
    gzip_writer_discard(NULL);
    for (uint64_t n = 1; n <= 2; n++) {
        weft_alloc_fail_after(n);
        weft_status status = gzip_writer_open(in_folder(state, "e.gz"), &writer);
        weft_alloc_fail_after(0);
        if (status == WEFT_OK) {
            gzip_writer_discard(writer);
        } else {
            assert_int_equal(status, WEFT_ERR_RESOURCE);
        }
    }
    /* The folder is empty again: removing it needs nothing else. */
    assert_int_equal(rmdir(*state), 0);
    assert_int_equal(folder_make(*state), WEFT_OK);
}

static void test_short_floats_keep_their_bits(void **state)
{
    (void)state;
    uint64_t seed = 7;
    char text[NUMBER_TEXT_MAX];
    for (int i = 0; i < 200000; i++) {
        uint32_t x = (uint32_t)(test_random_bits(&seed) >> 32);
        /* Every second one near 1, where most features lie. */
        uint32_t bits = i % 2 == 0 ? x : (x & 0x80ffffffU) + 0x39000000U + ((x >> 27) << 22);
        float value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value)) {
            number_format_float(value, text);
            float back = (float)strtod(text, NULL);
            assert_memory_equal(&back, &value, sizeof value);
            assert_true(strlen(text) <= 16);
        }
    }
    assert_string_equal(number_format_float(0.1F, text), "0.1");
    assert_string_equal(number_format_float(-3.0F, text), "-3");
    assert_string_equal(number_format_float(16777216.0F, text), "16777216");
    assert_string_equal(number_format_float(1e-30F, text), "1e-30");
    assert_string_equal(number_format_float(-0.00123F, text), "-0.00123");
    assert_string_equal(number_format_float(999999.9F, text), "999999.9");
    assert_string_equal(number_format_float(0.0F, text), "0");
    assert_string_equal(number_format_float(100.0F, text), "100");
    assert_string_equal(number_format_float(0.33333334F, text), "0.33333334");
    assert_string_equal(number_format_float(1e-5F, text), "1e-05");
}

int main(void)
{
#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(test_round_trip),
        FOLDER_TEST(test_nothing_is_left_behind),
        cmocka_unit_test(test_short_floats_keep_their_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

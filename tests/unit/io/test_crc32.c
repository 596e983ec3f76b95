/* zip_crc32 beside zlib's function: every length up to 1,200, every offset in a register, pieces, and the standard's
 * check value. */
#include <zlib.h>

#include "io/zip/crc32.h"
#include "support/random.h"
#include "support/test.h"

enum { BYTES = 1200, LARGE = 100003, OFFSETS = 16 };

static void test_standard(void **state)
{
    (void)state;
    assert_int_equal(zip_crc32(0, "123456789", 9), 0xcbf43926u);
    assert_int_equal(zip_crc32(0, "", 0), 0);
    assert_int_equal(zip_crc32(0x12345678u, "", 0), 0x12345678u);
}

static void test_equals_zlib(void **state)
{
    (void)state;
    static uint8_t data[LARGE];
    uint64_t seed = 7;
    for (int i = 0; i < LARGE; i++) {
        data[i] = (uint8_t)(test_random_bits(&seed) >> 56);
    }
    for (size_t bytes = 0; bytes <= BYTES; bytes++) {
        const size_t offset = bytes % OFFSETS;
        assert_int_equal(zip_crc32(0, data + offset, bytes), crc32_z(0, data + offset, bytes));
        assert_int_equal(zip_crc32(0xfeedbeefu, data + offset, bytes), crc32_z(0xfeedbeefu, data + offset, bytes));
    }
    const uint32_t whole = (uint32_t)crc32_z(0, data, LARGE);
    for (size_t piece = 1; piece < LARGE; piece = piece * 3 + 1) {
        uint32_t crc = 0;
        for (size_t at = 0; at < LARGE; at += piece) {
            crc = zip_crc32(crc, data + at, LARGE - at < piece ? LARGE - at : piece);
        }
        assert_int_equal(crc, whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_standard), cmocka_unit_test(test_equals_zlib)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

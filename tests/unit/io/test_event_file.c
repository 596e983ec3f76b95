/*
 * Event files: CRC32C against published vectors, a record against bytes worked out by hand, and cuts of files that are
 * whole, cut short, damaged and foreign. tests/app/test_tensorboard.sh reads them with a reader of its own.
 */
#include <unistd.h>

#include "io/event_file.h"
#include "support/folder.h"

/* RFC 3720, appendix B.4, and the check value of the catalogue of parametrised CRC algorithms. */
static void test_crc(void **state)
{
    (void)state;
    uint8_t bytes[32] = {0};
    assert_int_equal(event_file_crc("123456789", 9), 0xe3069283u);
    assert_int_equal(event_file_crc(bytes, 32), 0x8a9136aau);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(event_file_crc(bytes, 32), 0x62a8ab43u);
    for (int i = 0; i < 32; ++i) {
        bytes[i] = (uint8_t)i;
    }
    assert_int_equal(event_file_crc(bytes, 32), 0x46dd794eu);
    assert_int_equal(event_file_crc("", 0), 0);
}

static void write_steps(const char *folder, int64_t from, int64_t to, char path[FILE_PATH_MAX])
{
    event_file file;
    ASSERT_OK(event_file_create(folder, "host", &file));
    for (int64_t step = from; step <= to; ++step) {
        const event_value values[] = {{"loss", 1.5f}, {"lr", (float)step}};
        ASSERT_OK(event_file_write(&file, step, values, 2));
    }
    memcpy(path, file.path, FILE_PATH_MAX);
    event_file_close(&file);
}

static size_t read_all(const char *path, uint8_t *data, size_t capacity)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t bytes = fread(data, 1, capacity, file);
    fclose(file);
    return bytes;
}

/* length, its checksum, time, step, summary of two values, checksum. */
static void test_record(void **state)
{
    char path[FILE_PATH_MAX];
    uint8_t data[4096];
    static const uint8_t expected[] = {0x10, 0xac, 0x02, 0x2a, 24, /* step 300, summary */
                                       0x0a, 11,   0x0a, 4,    'l', 'o', 's',  's', 0x15, 0,    0,
                                       0xc0, 0x3f,                                                     /* 1.5f */
                                       0x0a, 9,    0x0a, 2,    'l', 'r', 0x15, 0,   0,    0x96, 0x43}; /* 300.0f */
    write_steps(*state, 300, 300, path);
    size_t bytes = read_all(path, data, sizeof data);
    static const uint8_t version[] = {0x1a, 13, 'b', 'r', 'a', 'i', 'n', '.', 'E', 'v', 'e', 'n', 't', ':', '2'};
    const size_t first = 12 + 9 + sizeof version + 4;
    assert_int_equal(bytes, first + 12 + 9 + sizeof expected + 4);
    assert_int_equal(data[0], 9 + sizeof version);
    assert_int_equal(data[12], 0x09); /* the time, a double */
    assert_memory_equal(data + 12 + 9, version, sizeof version);
    assert_int_equal(data[first], 9 + sizeof expected);
    assert_memory_equal(data + first + 12 + 9, expected, sizeof expected);
}

static void expect_cut(const char *path, int64_t step, size_t expected)
{
    uint8_t data[65536];
    ASSERT_OK(event_file_cut(path, step));
    assert_int_equal(read_all(path, data, sizeof data), expected);
}

static void test_cut(void **state)
{
    char path[FILE_PATH_MAX];
    uint8_t data[65536];
    write_steps(*state, 1, 100, path); /* steps of one byte: records are equally long */
    const size_t whole = read_all(path, data, sizeof data);
    const size_t first = 12 + 9 + 15 + 4;
    const size_t record = (whole - first) / 100;
    assert_int_equal(first + 100 * record, whole);
    expect_cut(path, 100, whole);
    expect_cut(path, 1000, whole);
    expect_cut(path, 57, first + 57 * record);
    assert_int_equal(truncate(path, (off_t)(first + 40 * record + 7)), 0); /* killed while it wrote */
    expect_cut(path, 57, first + 40 * record);
    data[first + 20 * record + 20] ^= 1; /* a flipped bit: what follows is not trusted */
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fwrite(data, 1, first + 40 * record, file);
    fclose(file);
    expect_cut(path, 57, first + 20 * record);
    expect_cut(path, 0, first);
}

/* A length beyond the file, whose checksum holds, reads nothing past its end; what is no event file stays. */
static void test_hostile(void **state)
{
    static const uint8_t lengths[][8] = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
                                         {0xf0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
                                         {100, 0, 0, 0, 0, 0, 0, 0}};
    const char *path = in_folder(state, EVENT_FILE_PREFIX "0.x");
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
        uint8_t data[40] = {0};
        uint32_t crc = event_file_crc(lengths[i], 8);
        crc = ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
        memcpy(data, lengths[i], 8);
        for (int b = 0; b < 4; ++b) {
            data[8 + b] = (uint8_t)(crc >> (8 * b));
        }
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        fwrite(data, 1, sizeof data, file);
        fclose(file);
        ASSERT_STATUS(event_file_cut(path, 5), WEFT_ERR_DATA);
        uint8_t after[64];
        assert_int_equal(read_all(path, after, sizeof after), sizeof data);
    }
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fclose(file);
    ASSERT_OK(event_file_cut(path, 5)); /* empty: nothing to cut */
    ASSERT_STATUS(event_file_cut(in_folder(state, "absent"), 5), WEFT_ERR_NOINPUT);
}

/* Two of the same second have names of their own, in order. */
static void test_names(void **state)
{
    char first[FILE_PATH_MAX];
    char second[FILE_PATH_MAX];
    write_steps(*state, 1, 1, first);
    write_steps(*state, 1, 1, second);
    assert_true(strcmp(first, second) < 0);
    event_file file;
    ASSERT_STATUS(event_file_create(in_folder(state, "absent"), "host", &file), WEFT_ERR_NOINPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crc),
        cmocka_unit_test_setup_teardown(test_record, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_cut, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_hostile, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_names, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* .npz: archives as NumPy and zip tools write them are read; archives that lie are refused with what is wrong. */
#include <math.h>

#include "io/npy.h"
#include "support/folder.h"
#include "support/zip_image.h"

static zip_image zip; /* one at a time; too large for a stack */

/* The .npy image of int32 0, 1, ..., n - 1, with trailing `surplus` bytes. */
static size_t make_npy(uint8_t *out, int n, size_t surplus)
{
    int length = snprintf((char *)out + 10, 118, "{'descr': '<i4', 'fortran_order': False, 'shape': (%d,), }", n);
    memset(out + 10 + length, ' ', (size_t)(118 - length));
    out[127] = '\n';
    memcpy(out, "\x93NUMPY\1\0", 8);
    out[8] = 118;
    out[9] = 0;
    for (int i = 0; i < n; i++) {
        int32_t value = i;
        memcpy(out + 128 + 4 * i, &value, 4);
    }
    memset(out + 128 + 4 * n, 7, surplus);
    return 128 + 4 * (size_t)n + surplus;
}

static void start(void)
{
    zip.size = 0;
    zip.count = 0;
    zip.count_said = -1;
    zip.wide_end = 0;
    zip.comment = NULL;
}

static zip_entry *add(const char *name, int method, int flags, int wide, int n)
{
    uint8_t image[8192];
    size_t bytes = make_npy(image, n, 0);
    return zip_add(&zip, name, method, flags, wide, image, bytes);
}

static void check_values(npz_file *npz, const char *name, int n)
{
    npy_array array;
    int i = npz_find(npz, name);
    assert_true(i >= 0);
    npy_header header;
    ASSERT_OK(npz_read_header(npz, i, &header));
    assert_int_equal(header.count, n);
    ASSERT_OK(npz_read(npz, i, &array));
    assert_int_equal(array.header.count, n);
    for (int k = 0; k < n; k++) {
        assert_int_equal(((int32_t *)array.data)[k], k);
    }
    npy_array_free(&array);
}

static void put_zip(void **state)
{
    put_file(in_folder(state, "a.npz"), zip.bytes, zip.size);
}

static void test_good_archives(void **state)
{
    for (int form = 0; form < 32; form++) {
        start();
        int flags = (form & 1) != 0 ? 8 : 0;
        int wide = (form & 2) != 0;
        zip.wide_end = (form & 4) != 0;
        zip.comment = (form & 8) != 0 ? "made by hand" : NULL;
        int method = (form & 16) != 0 ? 8 : 0;
        add("x.npy", method, flags, wide, 5);
        add("empty.npy", method, flags, wide, 0);
        add("long.npy", 8 - method, flags, wide, 1500);
        zip_finish(&zip);
        put_zip(state);
        npz_file *npz;
        ASSERT_OK(npz_open(in_folder(state, "a.npz"), &npz));
        assert_int_equal(npz_count(npz), 3);
        assert_string_equal(npz_name(npz, 0), "x");
        assert_int_equal(npz_find(npz, "none"), -1);
        check_values(npz, "x", 5);
        check_values(npz, "empty", 0);
        check_values(npz, "long", 1500);
        npz_close(npz);
    }
}

/* Open and read every member; the first failure's status. */
static weft_status read_all(const char *path)
{
    npz_file *npz;
    WEFT_TRY(npz_open(path, &npz));
    weft_status status = WEFT_OK;
    for (int i = 0; i < npz_count(npz) && status == WEFT_OK; i++) {
        npy_array array;
        status = npz_read(npz, i, &array);
        if (status == WEFT_OK) {
            npy_array_free(&array);
        }
    }
    npz_close(npz);
    return status;
}

static void expect_refusal(void **state, const char *message)
{
    put_zip(state);
    weft_status status = read_all(in_folder(state, "a.npz"));
    if (status != WEFT_ERR_DATA) {
        fail_msg("expected \"%s\": %s: %s", message, weft_status_name(status),
                 status != WEFT_OK ? weft_error_message() : "");
    }
    ASSERT_MESSAGE(message);
    ASSERT_MESSAGE("a.npz");
}

/* change: statement on `x`, the first of two deflated members, and on zip, before the directory is written. */
#define DIRECTORY_LIE(change, message)                                                                                 \
    do {                                                                                                               \
        start();                                                                                                       \
        zip_entry *x = add("x.npy", 8, 0, 0, 500);                                                                     \
        add("y.npy", 0, 0, 0, 3);                                                                                      \
        (void)x;                                                                                                       \
        change;                                                                                                        \
        zip_finish(&zip);                                                                                              \
        expect_refusal(state, message);                                                                                \
    } while (0)

/* change: statement on the finished bytes. */
#define BYTE_LIE(change, message)                                                                                      \
    do {                                                                                                               \
        start();                                                                                                       \
        zip_entry *x = add("x.npy", 8, 0, 0, 500);                                                                     \
        add("y.npy", 0, 0, 0, 3);                                                                                      \
        zip_finish(&zip);                                                                                              \
        (void)x;                                                                                                       \
        change;                                                                                                        \
        expect_refusal(state, message);                                                                                \
    } while (0)

static void test_lying_directories(void **state)
{
    DIRECTORY_LIE(x->flags |= 1, "encrypted");
    DIRECTORY_LIE(x->flags |= 64, "encrypted");
    DIRECTORY_LIE(x->flags |= 8192, "encrypted");
    DIRECTORY_LIE(x->method = 12, "method 12");
    DIRECTORY_LIE(x->method = 0, "two sizes");
    DIRECTORY_LIE(x->disk = 1, "another disk");
    DIRECTORY_LIE(x->crc ^= 1, "CRC or a size differs");
    DIRECTORY_LIE(x->bytes += 1, "CRC or a size differs");
    DIRECTORY_LIE(x->packed += 1, "CRC or a size differs");
    DIRECTORY_LIE(x->packed = 1 << 20, "packed bytes in a file of");
    DIRECTORY_LIE(x->bytes = 0xfffffff0, "cannot hold");
    DIRECTORY_LIE((x->wide = 1, x->bytes = UINT64_MAX), "cannot hold");
    DIRECTORY_LIE((x->wide = 1, x->packed = UINT64_MAX), "packed bytes in a file of");
    DIRECTORY_LIE((x->wide = 1, x->offset = UINT64_MAX), "outside of the file's data");
    DIRECTORY_LIE(x->offset = 1, "no local header");
    DIRECTORY_LIE(x->offset = 1 << 20, "outside of the file's data");
    DIRECTORY_LIE(x->flags |= 8, "method or a flag differs");
    DIRECTORY_LIE(strcpy(x->name, "z.npy"), "the name differs");
    DIRECTORY_LIE(strcpy(x->name, "xx.npy"), "the name differs");
    DIRECTORY_LIE(strcpy(x->name, ""), "without a name");
    DIRECTORY_LIE(strcpy(x->name, "x\033[2J"), "control character (0x1b)");
    DIRECTORY_LIE(zip.entries[1] = *x, "overlap");
    DIRECTORY_LIE(zip.count_said = 1, "after the last entry");
    DIRECTORY_LIE(zip.count_said = 3, "members in a zip directory");
    DIRECTORY_LIE(zip.count_said = 60000, "members in a zip directory");
}

static void test_lying_bytes(void **state)
{
    BYTE_LIE(zip.bytes[x->data + 20] ^= 0x40, "a.npz[x]");
    BYTE_LIE(zip.bytes[zip.entries[1].data + 130] ^= 1, "wrong CRC");
    BYTE_LIE(zip.bytes[x->offset] ^= 1, "no local header");
    BYTE_LIE(zip.bytes[x->offset + 28] = 4, "extra field is cut short");
    BYTE_LIE(zip.bytes[zip.directory] ^= 1, "garbled");
    BYTE_LIE(zip.bytes[zip.directory + 28] = 255, "cut short");
    BYTE_LIE(zip.bytes[zip.end + 4] = 1, "several disks");
    BYTE_LIE(zip.bytes[zip.end + 6] = 1, "several disks");
    BYTE_LIE(zip.bytes[zip.end + 8] = 1, "several disks");
    BYTE_LIE(zip.bytes[zip.end + 12] ^= 1, "does not end at its end record");
    BYTE_LIE(zip.bytes[zip.end + 16] ^= 1, "does not end at its end record");
    BYTE_LIE(zip.bytes[zip.end + 20] = 1, "no zip end record");
    BYTE_LIE(zip.bytes[zip.size++] = 0, "no zip end record");
    BYTE_LIE(memcpy(zip.bytes, "\x80\x02", 2), "scripts/convert_planetoid");
    BYTE_LIE(zip.size = 10, "too short");
    BYTE_LIE(zip.size = 0, "is empty");
}

static void test_lying_zip64_records(void **state)
{
    static const struct {
        size_t back; /* bytes before the end record */
        const char *message;
    } lies[] = {
        {20 - 4, "several disks"},    /* locator: disk */
        {20 - 8, "is not at offset"}, /* locator: offset */
        {76 - 4, "wrong length"},     /* record: length */
        {76 - 16, "several disks"},   /* record: disk */
        {76 - 24, "several disks"},   /* record: entries of this disk */
        {76 - 40, "does not end"},    /* record: directory bytes */
        {76 - 48, "does not end"},    /* record: directory offset */
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        start();
        zip.wide_end = 1;
        add("x.npy", 8, 0, 1, 500);
        zip_finish(&zip);
        zip.bytes[zip.end - lies[i].back] ^= 1;
        expect_refusal(state, lies[i].message);
    }
    start();
    zip.wide_end = 1;
    add("x.npy", 8, 0, 0, 5);
    zip_finish(&zip);
    zip.bytes[zip.end + 8] = 2; /* the short record tells of another number of entries */
    zip.bytes[zip.end + 9] = 0;
    expect_refusal(state, "disagree");
    start();
    add("x.npy", 8, 0, 1, 5);
    zip_finish(&zip);
    zip.bytes[zip.directory + 46 + 5] = 9; /* no zip64 block in the extra field */
    expect_refusal(state, "without its zip64 field");
    start();
    add("x.npy", 8, 0, 1, 5);
    zip_finish(&zip);
    zip.bytes[zip.directory + 46 + 7] = 200; /* its length */
    expect_refusal(state, "extra field is cut short");
}

static void test_lying_descriptors(void **state)
{
    start();
    zip_entry *x = add("x.npy", 8, 8, 0, 500);
    zip_finish(&zip);
    zip.bytes[x->data + x->packed + 4] ^= 1;
    expect_refusal(state, "data descriptor differs");
}

static void test_two_names(void **state)
{
    start();
    add("x.npy", 0, 0, 0, 3);
    add("x.npy", 0, 0, 0, 3);
    zip_finish(&zip);
    expect_refusal(state, "two members named 'x.npy'");
    start();
    add("x.npy", 0, 0, 0, 3);
    add("x", 0, 0, 0, 3);
    zip_finish(&zip);
    expect_refusal(state, "two arrays named 'x'");
}

/* Member sizes are true as a zip, but the array inside is not. */
static void test_lying_arrays(void **state)
{
    uint8_t image[8192];
    for (int method = 0; method <= 8; method += 8) {
        start();
        size_t bytes = make_npy(image, 10, 3);
        zip_add(&zip, "x.npy", method, 0, 0, image, bytes);
        zip_finish(&zip);
        expect_refusal(state, "something follows the array");
        start();
        bytes = make_npy(image, 10, 0);
        zip_add(&zip, "x.npy", method, 0, 0, image, bytes - 1);
        zip_finish(&zip);
        expect_refusal(state, "truncated");
        static const size_t cuts[] = {0, 1, 5, 9, 11, 12, 60, 127};
        for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
            start();
            zip_add(&zip, "x.npy", method, 0, 0, image, cuts[i]);
            zip_finish(&zip);
            expect_refusal(state, "a.npz[x]");
        }
        start();
        zip_add(&zip, "x.npy", method, 0, 0, "\x80\x02pickle, not an array", 22);
        zip_finish(&zip);
        expect_refusal(state, "scripts/convert_planetoid");
        start();
        image[21] = '|'; /* the element type becomes '|O4' */
        image[22] = 'O';
        zip_add(&zip, "x.npy", method, 0, 0, image, bytes);
        zip_finish(&zip);
        expect_refusal(state, "contains Python objects; convert with numpy.save of a plain array");
    }
}

/* A deflate stream that goes on after the declared size, or ends before it. */
static void test_streams_of_another_length(void **state)
{
    uint8_t image[8192];
    size_t bytes = make_npy(image, 500, 0);
    for (int less = -1; less <= 1; less += 2) {
        start();
        zip_entry *x = zip_add(&zip, "x.npy", 8, 0, 0, image, bytes);
        make_npy(image, 500 + less, 0);
        x->bytes = bytes + (size_t)(4 * less);
        x->crc = (uint32_t)crc32(0, image, (uInt)x->bytes);
        zip_finish(&zip);
        for (int i = 0; i < 4; i++) { /* make the local header agree */
            zip.bytes[x->offset + 14 + (size_t)i] = (uint8_t)(x->crc >> (8 * i));
            zip.bytes[x->offset + 22 + (size_t)i] = (uint8_t)(x->bytes >> (8 * i));
        }
        expect_refusal(state, "a.npz[x]");
    }
}

static void test_every_truncation_is_refused(void **state)
{
    start();
    add("x.npy", 8, 0, 1, 20);
    add("y.npy", 0, 8, 0, 3);
    zip_finish(&zip);
    size_t whole = zip.size;
    for (size_t size = 0; size < whole; size++) {
        zip.size = size;
        put_zip(state);
        ASSERT_STATUS(read_all(in_folder(state, "a.npz")), WEFT_ERR_DATA);
        ASSERT_MESSAGE("a.npz");
    }
    zip.size = whole;
    put_zip(state);
    ASSERT_OK(read_all(in_folder(state, "a.npz")));
}

/* Whatever bit flips: an error, or the very same values (names and the padding of a deflate stream are not data). */
static void test_bit_flips(void **state)
{
    start();
    add("x.npy", 8, 0, 1, 20);
    zip_finish(&zip);
    int refused = 0;
    for (size_t bit = 0; bit < 8 * zip.size; bit += 3) {
        zip.bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
        put_zip(state);
        weft_status status = read_all(in_folder(state, "a.npz"));
        refused += status == WEFT_ERR_DATA;
        if (status != WEFT_ERR_DATA) {
            npz_file *npz;
            ASSERT_OK(status);
            ASSERT_OK(npz_open(in_folder(state, "a.npz"), &npz));
            check_values(npz, npz_name(npz, 0), 20);
            npz_close(npz);
        }
        zip.bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    assert_true(refused > 300);
}

static void test_written_archives_read_back(void **state)
{
    const char *path = in_folder(state, "w.npz");
    const int64_t matrix[2] = {2, 3};
    const int64_t zero[1] = {0};
    const double a[6] = {1, 2, 3, 4, 5, NAN};
    const int64_t n = 42;
    npz_writer *writer;
    ASSERT_OK(npz_writer_open(path, &writer));
    ASSERT_OK(npz_writer_add(writer, "a", 'f', 8, 2, matrix, a));
    ASSERT_OK(npz_writer_add(writer, "n", 'i', 8, 0, NULL, &n));
    ASSERT_OK(npz_writer_add(writer, "none", 'u', 1, 1, zero, NULL));
    assert_false(file_exists(path));
    ASSERT_OK(npz_writer_commit(writer));
    npz_file *npz;
    ASSERT_OK(npz_open(path, &npz));
    assert_int_equal(npz_count(npz), 3);
    npy_array array;
    ASSERT_OK(npz_read(npz, npz_find(npz, "a"), &array));
    assert_int_equal(array.header.shape[1], 3);
    assert_memory_equal(array.data, a, sizeof a);
    npy_array_free(&array);
    ASSERT_OK(npz_read(npz, npz_find(npz, "n"), &array));
    assert_int_equal(array.header.dims, 0);
    assert_int_equal(*(int64_t *)array.data, 42);
    npy_array_free(&array);
    ASSERT_OK(npz_read(npz, npz_find(npz, "none"), &array));
    assert_int_equal(array.header.count, 0);
    npy_array_free(&array);
    npz_close(npz);
    ASSERT_OK(npz_writer_open(in_folder(state, "dropped.npz"), &writer));
    npz_writer_discard(writer);
    assert_false(file_exists(in_folder(state, "dropped.npz")));
}

static void test_every_allocation_may_fail(void **state)
{
    start();
    add("x.npy", 8, 0, 0, 20);
    add("y.npy", 0, 0, 0, 20);
    zip_finish(&zip);
    put_zip(state);
    for (uint64_t n = 1;; n++) {
        weft_alloc_fail_after(n);
        weft_status status = read_all(in_folder(state, "a.npz"));
        weft_alloc_fail_after(0);
        if (status == WEFT_OK) {
            assert_true(n > 5);
            break;
        }
        assert_int_equal(status, WEFT_ERR_RESOURCE);
        assert_true(n < 100);
    }
}

int main(void)
{
#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(test_good_archives),
        FOLDER_TEST(test_lying_directories),
        FOLDER_TEST(test_lying_bytes),
        FOLDER_TEST(test_lying_zip64_records),
        FOLDER_TEST(test_lying_descriptors),
        FOLDER_TEST(test_two_names),
        FOLDER_TEST(test_lying_arrays),
        FOLDER_TEST(test_streams_of_another_length),
        FOLDER_TEST(test_every_truncation_is_refused),
        FOLDER_TEST(test_bit_flips),
        FOLDER_TEST(test_written_archives_read_back),
        FOLDER_TEST(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

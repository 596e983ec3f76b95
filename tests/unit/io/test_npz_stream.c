/* Members of an .npz in pieces: read like whole ones, damaged ones refused; written like whole ones. */
#include "io/npy.h"
#include "support/folder.h"
#include "support/zip_image.h"

enum { COUNT = 70001 }; /* more than one buffer of eight-byte elements, and not a multiple */

static int64_t integer_of(int64_t i)
{
    return (i * 2654435761) % 1000003 - 500000;
}

static void fill_integers(const void *self, int64_t first, int64_t count, void *out)
{
    assert_null(self);
    int64_t *values = out;
    for (int64_t i = 0; i < count; i++) {
        values[i] = integer_of(first + i);
    }
}

static void write_both(void **state)
{
    static int64_t whole[COUNT];
    static float real[COUNT];
    fill_integers(NULL, 0, COUNT, whole);
    for (int i = 0; i < COUNT; i++) {
        real[i] = (float)(i % 1000) + 0.25F;
    }
    const int64_t shape[2] = {COUNT, 1};
    const int64_t none = 0;
    npz_writer *npz;
    ASSERT_OK(npz_writer_open(in_folder(state, "whole.npz"), &npz));
    ASSERT_OK(npz_writer_add(npz, "i", 'i', 8, 1, shape, whole));
    ASSERT_OK(npz_writer_add(npz, "none", 'i', 8, 1, &none, NULL));
    ASSERT_OK(npz_writer_commit(npz));
    ASSERT_OK(npz_writer_open(in_folder(state, "filled.npz"), &npz));
    ASSERT_OK(npz_writer_add_filled(npz, "i", 'i', 8, 1, shape, fill_integers, NULL));
    ASSERT_OK(npz_writer_add_filled(npz, "none", 'i', 8, 1, &none, fill_integers, NULL));
    ASSERT_OK(npz_writer_commit(npz));
    ASSERT_OK(npz_writer_open(in_folder(state, "real.npz"), &npz));
    ASSERT_OK(npz_writer_add(npz, "f", 'f', 4, 2, shape, real));
    ASSERT_OK(npz_writer_add(npz, "word", 'S', 3, 0, NULL, "coo"));
    ASSERT_OK(npz_writer_commit(npz));
}

static void test_filled_is_written_like_whole(void **state)
{
    write_both(state);
    size_t whole_bytes, filled_bytes;
    uint8_t *whole = get_file(in_folder(state, "whole.npz"), &whole_bytes);
    uint8_t *filled = get_file(in_folder(state, "filled.npz"), &filled_bytes);
    assert_int_equal(whole_bytes, filled_bytes);
    assert_memory_equal(whole, filled, whole_bytes);
    free(whole);
    free(filled);
}

static npz_stream *open_stream(npz_file *npz, const char *name)
{
    npz_stream *stream;
    ASSERT_OK(npz_stream_open(npz, npz_find(npz, name), &stream));
    return stream;
}

static void test_pieces_of_any_length(void **state)
{
    write_both(state);
    npz_file *npz;
    ASSERT_OK(npz_open(in_folder(state, "whole.npz"), &npz));
    npz_stream *stream = open_stream(npz, "i");
    assert_int_equal(npz_stream_header(stream)->count, COUNT);
    static int64_t got[COUNT];
    static float real[COUNT];
    ASSERT_OK(npz_stream_i64(stream, 1, got));
    ASSERT_OK(npz_stream_i64(stream, 40000, got + 1));
    ASSERT_OK(npz_stream_skip(stream, 20000));
    ASSERT_OK(npz_stream_f32(stream, COUNT - 60001, real));
    ASSERT_OK(npz_stream_finish(stream));
    ASSERT_STATUS(npz_stream_i64(stream, 1, got), WEFT_ERR_INTERNAL);
    npz_stream_close(stream);
    for (int64_t i = 0; i < 40001; i++) {
        assert_int_equal(got[i], integer_of(i));
    }
    for (int64_t i = 60001; i < COUNT; i++) {
        assert_true(real[i - 60001] == (float)integer_of(i));
    }
    stream = open_stream(npz, "none");
    ASSERT_OK(npz_stream_finish(stream));
    npz_stream_close(stream);
    npz_close(npz);
    npz_stream_close(NULL);
}

static void test_wrong_elements_are_named(void **state)
{
    write_both(state);
    npz_file *npz;
    ASSERT_OK(npz_open(in_folder(state, "real.npz"), &npz));
    npz_stream *stream = open_stream(npz, "f");
    int64_t value;
    ASSERT_OK(npz_stream_skip(stream, 40000));
    ASSERT_STATUS(npz_stream_i64(stream, 1, &value), WEFT_ERR_DATA);
    ASSERT_MESSAGE("real.npz[f]: element 40000 is ");
    npz_stream_close(stream);
    stream = open_stream(npz, "word");
    ASSERT_STATUS(npz_stream_i64(stream, 1, &value), WEFT_ERR_DATA);
    ASSERT_MESSAGE("holds text");
    npz_stream_close(stream);
    npz_close(npz);
}

/* An archive of one member: a header and six 16-bit elements. */
static void put_archive(void **state, const char *dictionary, int damaged)
{
    static zip_image zip;
    zip = (zip_image){.count_said = -1};
    uint8_t image[10 + 118 + 12] = "\x93NUMPY\1";
    image[8] = 118;
    memset(image + 10, ' ', 118);
    for (size_t i = 0; dictionary[i] != '\0'; i++) {
        image[10 + i] = (uint8_t)dictionary[i];
    }
    for (uint8_t i = 0; i < 6; i++) {
        image[128 + 2 * i] = 1; /* big-endian 256 + i */
        image[129 + 2 * i] = i;
    }
    zip_entry *entry = zip_add(&zip, "x.npy", 8, 0, 0, image, sizeof image);
    entry->crc ^= (uint32_t)damaged;
    if (damaged != 0) { /* the local header must agree with the directory */
        memcpy(zip.bytes + entry->offset + 14, &entry->crc, 4);
    }
    zip_finish(&zip);
    put_file(in_folder(state, "x.npz"), zip.bytes, zip.size);
}

static void test_orders_and_damage(void **state)
{
    npz_file *npz;
    put_archive(state, "{'descr': '>i2', 'fortran_order': False, 'shape': (2, 3)}", 0);
    ASSERT_OK(npz_open(in_folder(state, "x.npz"), &npz));
    npz_stream *stream = open_stream(npz, "x");
    int64_t got[6];
    ASSERT_OK(npz_stream_i64(stream, 4, got));
    ASSERT_OK(npz_stream_i64(stream, 2, got + 4));
    ASSERT_OK(npz_stream_finish(stream));
    for (int64_t i = 0; i < 6; i++) {
        assert_int_equal(got[i], 256 + i);
    }
    npz_stream_close(stream);
    npz_close(npz);

    put_archive(state, "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3)}", 0);
    ASSERT_OK(npz_open(in_folder(state, "x.npz"), &npz));
    ASSERT_STATUS(npz_stream_open(npz, 0, &stream), WEFT_ERR_DATA);
    ASSERT_MESSAGE("ascontiguousarray");
    npz_close(npz);

    put_archive(state, "{'descr': '>i2', 'fortran_order': False, 'shape': (2, 3)}", 1);
    ASSERT_OK(npz_open(in_folder(state, "x.npz"), &npz));
    stream = open_stream(npz, "x");
    ASSERT_OK(npz_stream_skip(stream, 6));
    ASSERT_STATUS(npz_stream_finish(stream), WEFT_ERR_DATA);
    ASSERT_MESSAGE("CRC");
    npz_stream_close(stream);
    npz_close(npz);
}

int main(void)
{
#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(test_filled_is_written_like_whole),
        FOLDER_TEST(test_pieces_of_any_length),
        FOLDER_TEST(test_wrong_elements_are_named),
        FOLDER_TEST(test_orders_and_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

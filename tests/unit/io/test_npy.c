/* .npy: what numpy.save writes is read; everything else is refused with what is wrong. */
#include <math.h>

#include "io/npy.h"
#include "support/folder.h"

/* A .npy image of version `major` with this header text and `payload` zero bytes. Returns its size. */
static size_t make_image(uint8_t *out, int major, const char *text, size_t payload)
{
    size_t length = strlen(text);
    size_t lead = major == 1 ? 10 : 12;
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (uint8_t)major;
    out[7] = 0;
    for (size_t i = 8; i < lead; i++) {
        out[i] = (uint8_t)(length >> (8 * (i - 8)));
    }
    memcpy(out + lead, text, length);
    memset(out + lead + length, 0, payload);
    return lead + length + payload;
}

#define HEADER(descr, order, shape) "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }\n"
#define F4(shape)                   HEADER("'<f4'", "False", shape)

typedef struct image_case {
    const char *text;
    size_t payload;
    const char *message; /* NULL: must be read */
} image_case;

static const image_case cases[] = {
    /* good */
    {F4("(3,)"), 12, NULL},
    {F4("()"), 4, NULL},
    {F4("(2, 3)"), 24, NULL},
    {F4("(2, 3,)"), 24, NULL},
    {F4("(0, 3)"), 0, NULL},
    {F4("(1, 1, 1, 1, 1, 1, 1, 2)"), 8, NULL},
    {F4("(2L, 3L)"), 24, NULL},
    {"{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (1,)}", 4, NULL},
    {"  {'shape': (1,), 'fortran_order': True, 'descr': '=i8'}   \n", 8, NULL},
    {HEADER("'|b1'", "False", "(5,)"), 5, NULL},
    {HEADER("'|u1'", "False", "(5,)"), 5, NULL},
    {HEADER("'<U3'", "False", "(2,)"), 24, NULL},
    {HEADER("'|S7'", "False", "(2,)"), 14, NULL},
    {HEADER("'>i2'", "False", "(2,)"), 4, NULL},
    /* header text */
    {"", 0, "'{'"},
    {"{}", 0, "lacks descr"},
    {"{'descr': '<f4', 'fortran_order': False}", 4, "lacks shape"},
    {"{'descr': '<f4', 'shape': ()}", 4, "lacks fortran_order"},
    {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", 4, "descr twice"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (), 'x': 1}", 4, "unknown key"},
    {"{'descr': '<f4' 'fortran_order': False, 'shape': ()}", 4, "',' or '}'"},
    {"{'descr' '<f4', 'fortran_order': False, 'shape': ()}", 4, "':'"},
    {"{'descr': '<f4, 'fortran_order': False, 'shape': ()}", 4, "'<f4, ' is not supported"},
    {"{'descr': '<f4\\', 'fortran_order': False, 'shape': ()}", 4, "closing quote"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': ()", 4, "ends where"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", 4, "end of the header"},
    {"{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", 4, "True or False"},
    {"{'descr': '<f4', 'fortran_order': Tru", 4, "True or False"},
    {"{descr: '<f4', 'fortran_order': False, 'shape': ()}", 4, "quoted key"},
    {"__import__('os').system('id')", 4, "'{'"},
    {F4("(1)"), 4, "expected a tuple"},
    {F4("3"), 12, "'('"},
    {F4("[3]"), 12, "'('"},
    {F4("(,)"), 4, "a length"},
    {F4("(1 2)"), 8, "',' or ')'"},
    {F4("(-1,)"), 4, "a length"},
    {F4("(1.0,)"), 4, "',' or ')'"},
    {F4("(True,)"), 4, "a length"},
    {F4("(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)"), 4, "more than 16 dimensions"},
    /* sizes */
    {F4("(3,)"), 11, "truncated"},
    {F4("(3,)"), 13, "something follows"},
    {F4("(3,)"), 0, "truncated"},
    {F4("(9223372036854775807,)"), 4, "does not fit"},
    {F4("(9223372036854775808,)"), 4, "does not fit 63 bits"},
    {F4("(99999999999999999999999999,)"), 4, "does not fit 63 bits"},
    {F4("(4294967296, 4294967296)"), 4, "does not fit 63 bits"},
    {F4("(4294967296, 4294967296, 0)"), 0, "does not fit 63 bits"},
    {HEADER("'<f8'", "False", "(2305843009213693953,)"), 8, "does not fit 64 bits"},
    /* element types */
    {HEADER("'|O'", "False", "(1,)"), 8, "contains Python objects; convert with numpy.save of a plain array"},
    {HEADER("'O'", "False", "(1,)"), 8, "contains Python objects"},
    {HEADER("[('a', '<f4')]", "False", "(1,)"), 4, "structured"},
    {HEADER("'|V8'", "False", "(1,)"), 8, "'|V8' is not supported"},
    {HEADER("'<c8'", "False", "(1,)"), 8, "'<c8' is not supported"},
    {HEADER("'<M8[ns]'", "False", "(1,)"), 8, "is not supported"},
    {HEADER("'<f16'", "False", "(1,)"), 16, "is not supported"},
    {HEADER("'<f1'", "False", "(1,)"), 1, "is not supported"},
    {HEADER("'<i3'", "False", "(1,)"), 3, "is not supported"},
    {HEADER("'|f4'", "False", "(1,)"), 4, "is not supported"},
    {HEADER("'f4'", "False", "(1,)"), 4, "is not supported"},
    {HEADER("'<f'", "False", "(1,)"), 4, "is not supported"},
    {HEADER("''", "False", "(1,)"), 4, "is not supported"},
    {HEADER("'|b2'", "False", "(1,)"), 2, "is not supported"},
    {HEADER("'<f4 '", "False", "(1,)"), 4, "is not supported"},
    {HEADER("'<U99999999999999999999'", "False", "(1,)"), 4, "is not supported"},
    {HEADER("4", "False", "(1,)"), 4, "the element type"},
};

static void test_headers(void **state)
{
    (void)state;
    for (int major = 1; major <= 3; major++) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            uint8_t image[512];
            npy_header header;
            size_t size = make_image(image, major, cases[i].text, cases[i].payload);
            weft_status status = npy_parse_header("some/file.npy", image, size, &header);
            if (status != (cases[i].message == NULL ? WEFT_OK : WEFT_ERR_DATA)) {
                fail_msg("case %zu (%s): %s: %s", i, cases[i].text, weft_status_name(status), weft_error_message());
            }
            if (cases[i].message != NULL) {
                ASSERT_MESSAGE(cases[i].message);
                ASSERT_MESSAGE("some/file.npy");
            } else {
                assert_int_equal(header.data_offset + header.data_bytes, size);
            }
        }
    }
}

static void test_magic_and_version(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *message;
    } images[] = {
        {"", 0, "is empty"},
        {"\x80\x02}q\x00.", 6, "scripts/convert_planetoid"},
        {"PK\3\4xxxxxxxx", 12, "zip archive"},
        {"hello, world", 12, "magic"},
        {"\x93NUMP", 5, "magic"},
        {"\x93NUMPY\1\0\0", 9, "truncated after 9"},
        {"\x93NUMPY\0\0\0\0", 10, "version 0.0"},
        {"\x93NUMPY\4\0\0\0\0\0", 12, "version 4.0"},
        {"\x93NUMPY\1\1\0\0", 10, "version 1.1"},
        {"\x93NUMPY\2\0\0\0", 10, "truncated after 10"},
        {"\x93NUMPY\1\0\xff\xff", 10, "header of 65535 bytes"},
        {"\x93NUMPY\2\0\xff\xff\xff\xff", 12, "header of 4294967295 bytes; the limit is 65536"},
        {"\x93NUMPY\2\0\1\0\1\0", 12, "header of 65537 bytes; the limit is 65536"},
    };
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        npy_header header;
        uint8_t *exact = malloc(images[i].size + 1); /* on the heap: reading past the end is seen by ASan */
        memcpy(exact, images[i].bytes, images[i].size);
        exact = realloc(exact, images[i].size > 0 ? images[i].size : 1);
        ASSERT_STATUS(npy_parse_header("x.npy", exact, images[i].size, &header), WEFT_ERR_DATA);
        ASSERT_MESSAGE(images[i].message);
        free(exact);
    }
}

static void test_every_truncation_is_refused(void **state)
{
    const int64_t shape[2] = {3, 2};
    const float data[6] = {1, 2, 3, 4, 5, 6};
    const char *path = in_folder(state, "a.npy");
    ASSERT_OK(npy_write(path, 'f', 4, 2, shape, data));
    size_t bytes;
    uint8_t *image = get_file(path, &bytes);
    for (size_t size = 0; size < bytes; size++) {
        uint8_t *cut = malloc(size + 1);
        memcpy(cut, image, size);
        cut = realloc(cut, size > 0 ? size : 1);
        npy_header header;
        ASSERT_STATUS(npy_parse_header("cut.npy", cut, size, &header), WEFT_ERR_DATA);
        ASSERT_MESSAGE("cut.npy");
        free(cut);
    }
    free(image);
}

static void test_round_trip(void **state)
{
    const int64_t shape[2] = {2, 3};
    const double data[6] = {1.5, -2, 3, 1e300, -0.0, INFINITY};
    const char *path = in_folder(state, "a.npy");
    ASSERT_OK(npy_write(path, 'f', 8, 2, shape, data));
    npy_map npy;
    ASSERT_OK(npy_map_open(path, &npy));
    ASSERT_OK(npy_expect(path, &npy.header, 'f', 8, 2, shape));
    const int64_t any[2] = {-1, -1};
    ASSERT_OK(npy_expect(path, &npy.header, 'f', 8, 2, any));
    assert_int_equal((uintptr_t)npy.data % 64, 0);
    assert_memory_equal(npy.data, data, sizeof data);
    npy_map_close(&npy);
}

static void test_expect_says_what_was_found(void **state)
{
    (void)state;
    npy_header header = {.kind = 'i', .item_bytes = 8, .dims = 1, .shape = {7}, .count = 7};
    const int64_t seven[1] = {7};
    const int64_t eight[1] = {8};
    const int64_t matrix[2] = {7, -1};
    ASSERT_OK(npy_expect("a", &header, 'i', 8, 1, seven));
    ASSERT_STATUS(npy_expect("a", &header, 'i', 4, 1, seven), WEFT_ERR_DATA);
    ASSERT_MESSAGE("a: holds int64 (7,), expected int32 (7,)");
    ASSERT_STATUS(npy_expect("a", &header, 'i', 8, 1, eight), WEFT_ERR_DATA);
    ASSERT_STATUS(npy_expect("a", &header, 'f', 4, 2, matrix), WEFT_ERR_DATA);
    ASSERT_MESSAGE("expected float32 (7, any)");
    header.big_endian = true;
    ASSERT_STATUS(npy_expect("a", &header, 'i', 8, 1, seven), WEFT_ERR_DATA);
    ASSERT_MESSAGE("big-endian");
    header = (npy_header){.kind = 'f', .item_bytes = 4, .dims = 2, .shape = {7, 2}, .count = 14, .fortran_order = true};
    ASSERT_STATUS(npy_expect("a", &header, 'f', 4, 2, matrix), WEFT_ERR_DATA);
    ASSERT_MESSAGE("ascontiguousarray");
}

static void test_pieces_make_the_same_file(void **state)
{
    const int64_t shape[2] = {4, 2};
    const int32_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    ASSERT_OK(npy_write(in_folder(state, "whole.npy"), 'i', 4, 2, shape, data));
    file_writer writer;
    ASSERT_OK(npy_writer_begin(in_folder(state, "pieces.npy"), 'i', 4, 2, shape, &writer));
    for (int row = 0; row < 4; row++) {
        ASSERT_OK(file_write(&writer, data + 2 * row, 2 * sizeof *data));
    }
    char hash[33];
    char expected[33];
    file_writer_hash(&writer, hash);
    ASSERT_OK(file_writer_commit(&writer));
    size_t a_bytes;
    size_t b_bytes;
    uint8_t *a = get_file(in_folder(state, "whole.npy"), &a_bytes);
    uint8_t *b = get_file(in_folder(state, "pieces.npy"), &b_bytes);
    assert_int_equal(a_bytes, b_bytes);
    assert_memory_equal(a, b, a_bytes);
    file_hash(b, b_bytes, expected);
    assert_string_equal(hash, expected);
    free(a);
    free(b);
}

static npy_array array_of(char kind, int item_bytes, int64_t count, void *data)
{
    return (npy_array){.header = {.kind = kind,
                                  .item_bytes = item_bytes,
                                  .dims = 1,
                                  .shape = {count},
                                  .count = count,
                                  .data_bytes = (size_t)count * (size_t)item_bytes},
                       .data = data};
}

static void test_conversion_to_integers(void **state)
{
    (void)state;
    int64_t *values;
    int8_t i8[3] = {-128, 0, 127};
    npy_array array = array_of('i', 1, 3, i8);
    ASSERT_OK(npy_array_to_i64("a", &array, &values));
    assert_int_equal(values[0], -128);
    assert_int_equal(values[2], 127);
    weft_free(values);
    uint16_t u16[2] = {65535, 3};
    array = array_of('u', 2, 2, u16);
    ASSERT_OK(npy_array_to_i64("a", &array, &values));
    assert_int_equal(values[0], 65535);
    weft_free(values);
    uint64_t u64[2] = {1, UINT64_C(1) << 63};
    array = array_of('u', 8, 2, u64);
    ASSERT_STATUS(npy_array_to_i64("a", &array, &values), WEFT_ERR_DATA);
    ASSERT_MESSAGE("element 1");
    uint8_t b[3] = {0, 1, 7};
    array = array_of('b', 1, 3, b);
    ASSERT_OK(npy_array_to_i64("a", &array, &values));
    assert_int_equal(values[2], 1);
    weft_free(values);
    float f[3] = {-3, 16777216, 0};
    array = array_of('f', 4, 3, f);
    ASSERT_OK(npy_array_to_i64("a", &array, &values));
    assert_int_equal(values[0], -3);
    assert_int_equal(values[1], 16777216);
    weft_free(values);
    static const float bad[] = {1.5F, NAN, INFINITY, 9.3e18F, -1e19F};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        f[2] = bad[i];
        ASSERT_STATUS(npy_array_to_i64("a", &array, &values), WEFT_ERR_DATA);
        ASSERT_MESSAGE("element 2");
        assert_null(values);
    }
    uint32_t text[1] = {'x'};
    array = array_of('U', 4, 1, text);
    ASSERT_STATUS(npy_array_to_i64("a", &array, &values), WEFT_ERR_DATA);
    array = array_of('i', 8, 0, NULL);
    ASSERT_OK(npy_array_to_i64("a", &array, &values));
    weft_free(values);
}

static void test_conversion_to_floats(void **state)
{
    (void)state;
    float *values;
    /* binary16 by its definition: 1, -2, largest, smallest normal, smallest subnormal, infinity, NaN, -0 */
    uint16_t half[8] = {0x3c00, 0xc000, 0x7bff, 0x0400, 0x0001, 0x7c00, 0x7e00, 0x8000};
    npy_array array = array_of('f', 2, 8, half);
    ASSERT_OK(npy_array_to_f32("a", &array, &values));
    static const float expected[5] = {1, -2, 65504, 0x1p-14F, 0x1p-24F};
    assert_memory_equal(values, expected, sizeof expected);
    assert_true(isinf(values[5]) && isnan(values[6]) && values[7] == 0 && signbit(values[7]));
    weft_free(values);
    double d[2] = {0.1, NAN};
    array = array_of('f', 8, 2, d);
    ASSERT_OK(npy_array_to_f32("a", &array, &values));
    assert_true(values[0] == 0.1F && isnan(values[1]));
    weft_free(values);
    d[1] = 1e39;
    ASSERT_STATUS(npy_array_to_f32("a", &array, &values), WEFT_ERR_DATA);
    ASSERT_MESSAGE("element 1 is 1e+39");
    uint64_t u[1] = {UINT64_MAX};
    array = array_of('u', 8, 1, u);
    ASSERT_OK(npy_array_to_f32("a", &array, &values));
    assert_true(values[0] == 0x1p64F);
    weft_free(values);
}

int main(void)
{
#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_magic_and_version),
        FOLDER_TEST(test_every_truncation_is_refused),
        FOLDER_TEST(test_round_trip),
        cmocka_unit_test(test_expect_says_what_was_found),
        FOLDER_TEST(test_pieces_make_the_same_file),
        cmocka_unit_test(test_conversion_to_integers),
        cmocka_unit_test(test_conversion_to_floats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

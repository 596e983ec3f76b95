/* safetensors: files laid out by hand are read to the bit; files that lie, are cut or end too late are refused. */
#include <math.h>

#include "io/safetensors.h"
#include "support/folder.h"

enum { IMAGE_MAX = 4096 };

typedef struct image {
    uint8_t bytes[IMAGE_MAX];
    size_t size;
} image;

/* Length, header text, `data_bytes` bytes 0, 1, 2, ... */
static image make_image(const char *header, size_t data_bytes)
{
    image made = {.size = 8};
    size_t length = strlen(header);
    assert_true(8 + length + data_bytes <= IMAGE_MAX);
    for (int i = 0; i < 8; i++) {
        made.bytes[i] = (uint8_t)((uint64_t)length >> 8 * i);
    }
    memcpy(made.bytes + 8, header, length);
    for (size_t i = 0; i < data_bytes; i++) {
        made.bytes[8 + length + i] = (uint8_t)i;
    }
    made.size = 8 + length + data_bytes;
    return made;
}

static weft_status open_image(void **state, const image *made)
{
    safetensors_file *file = NULL;
    const char *path = in_folder(state, "x.safetensors");
    put_file(path, made->bytes, made->size);
    weft_status status = safetensors_open(path, &file);
    safetensors_close(file);
    return status;
}

static void refuse(void **state, const char *header, size_t data_bytes, const char *text)
{
    image made = make_image(header, data_bytes);
    ASSERT_STATUS(open_image(state, &made), WEFT_ERR_DATA);
    ASSERT_MESSAGE(text);
    ASSERT_MESSAGE("x.safetensors");
}

static void accept(void **state, const char *header, size_t data_bytes)
{
    image made = make_image(header, data_bytes);
    ASSERT_OK(open_image(state, &made));
}

static void test_reads_every_float_type(void **state)
{
    const char *header = "{\"__metadata__\":{\"format\":\"pt\"},"
                         "\"half\":{\"dtype\":\"F16\",\"shape\":[5],\"data_offsets\":[24,34]},"
                         "\"b\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[34,36]},"
                         "\"w\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]},"
                         "\"d\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[8,24]},"
                         "\"n\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[36,44]}}   ";
    const float w[2] = {1.5f, -0.1f};
    const double d[2] = {0.1, -3e38};
    const uint16_t half[5] = {0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00}; /* 1, -2, 2^-24, 65504, infinity */
    const uint16_t b = 0xc049;                                         /* -3.140625 */
    image made = make_image(header, 44);
    uint8_t *data = made.bytes + 8 + strlen(header);
    memcpy(data, w, 8);
    memcpy(data + 8, d, 16);
    memcpy(data + 24, half, 10);
    memcpy(data + 34, &b, 2);
    const char *path = in_folder(state, "x.safetensors");
    put_file(path, made.bytes, made.size);
    safetensors_file *file = NULL;
    float values[5];
    ASSERT_OK(safetensors_open(path, &file));
    assert_int_equal(safetensors_count(file), 5);
    assert_string_equal(safetensors_entry_at(file, 0)->name, "w");
    assert_int_equal(safetensors_entry_at(file, 0)->dims, 2);
    assert_int_equal(safetensors_entry_at(file, 0)->shape[1], 2);
    ASSERT_OK(safetensors_read_f32(file, safetensors_find(file, "w"), values));
    assert_memory_equal(values, w, 8);
    ASSERT_OK(safetensors_read_f32(file, safetensors_find(file, "d"), values));
    assert_true(values[0] == 0.1f && values[1] == -3e38f);
    ASSERT_OK(safetensors_read_f32(file, safetensors_find(file, "half"), values));
    assert_true(values[0] == 1.0f && values[1] == -2.0f && values[2] == 0x1p-24f && values[3] == 65504.0f);
    assert_true(isinf(values[4]));
    ASSERT_OK(safetensors_read_f32(file, safetensors_find(file, "b"), values));
    assert_true(values[0] == -3.140625f);
    ASSERT_STATUS(safetensors_read_f32(file, safetensors_find(file, "n"), values), WEFT_ERR_DATA);
    ASSERT_MESSAGE("holds I64");
    assert_int_equal(safetensors_find(file, "none"), -1);
    assert_string_equal(safetensors_metadata(file, "format"), "pt");
    assert_null(safetensors_metadata(file, "other"));
    safetensors_close(file);
}

static void test_a_double_too_large_for_a_float(void **state)
{
    const char *header = "{\"d\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]}}";
    const double large = 1e39;
    image made = make_image(header, 8);
    memcpy(made.bytes + 8 + strlen(header), &large, 8);
    const char *path = in_folder(state, "x.safetensors");
    put_file(path, made.bytes, made.size);
    safetensors_file *file = NULL;
    float value;
    ASSERT_OK(safetensors_open(path, &file));
    ASSERT_STATUS(safetensors_read_f32(file, 0, &value), WEFT_ERR_DATA);
    ASSERT_MESSAGE("1e+39");
    safetensors_close(file);
}

#define TENSOR(name, dtype, shape, offsets)                                                                            \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void test_hostile_headers(void **state)
{
    accept(state, "{}", 0);
    accept(state, "{" TENSOR("a", "F32", "[0,3]", "[0,0]") "," TENSOR("b", "U8", "[3]", "[0,3]") "}", 3);
    refuse(state, "", 0, "does not begin with");
    refuse(state, " {}", 0, "does not begin with");
    refuse(state, "[]", 0, "does not begin with");
    refuse(state, "{}", 1, "1 bytes of data, the tensors have 0");
    refuse(state, "{", 0, "line 1");
    refuse(state, "{} x", 0, "text after");
    refuse(state, "{\"a\":3}", 0, "expected an object");
    refuse(state, "{" TENSOR("a", "F33", "[1]", "[0,4]") "}", 4, "unknown dtype \"F33\"");
    refuse(state, "{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "no dtype");
    refuse(state, "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "no shape");
    refuse(state, "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "data_offsets");
    refuse(state, "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1}}", 4, "unknown key \"x\"");
    refuse(state, "{" TENSOR("a", "F32", "[-1]", "[0,4]") "}", 4, "whole number");
    refuse(state, "{" TENSOR("a", "F32", "[1.5]", "[0,4]") "}", 4, "whole number");
    refuse(state, "{" TENSOR("a", "F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4, "8 dimensions");
    refuse(state, "{" TENSOR("a", "F32", "[4294967296,4294967296]", "[0,4]") "}", 4, "63 bits");
    refuse(state, "{" TENSOR("a", "F64", "[4611686018427387904]", "[0,4]") "}", 4, "64 bits");
    refuse(state, "{" TENSOR("a", "F32", "[1]", "[0,4,4]") "}", 4, "two whole numbers");
    refuse(state, "{" TENSOR("a", "F32", "[1]", "[4,0]") "}", 4, "outside");
    refuse(state, "{" TENSOR("a", "F32", "[1]", "[-4,0]") "}", 4, "outside");
    refuse(state, "{" TENSOR("a", "F32", "[1]", "[4,8]") "}", 4, "outside");
    refuse(state, "{" TENSOR("a", "F32", "[1]", "[0,8]") "}", 8, "type and shape say 4");
    refuse(state, "{" TENSOR("a", "F32", "[1]", "[4,8]") "}", 8, "hole");
    refuse(state, "{" TENSOR("a", "F32", "[1]", "[0,4]") "," TENSOR("b", "F32", "[1]", "[2,6]") "}", 6,
           "inside another");
    refuse(state, "{" TENSOR("a", "F32", "[1]", "[0,4]") "," TENSOR("b", "F32", "[1]", "[0,4]") "}", 4,
           "inside another");
    refuse(state, "{" TENSOR("a", "F32", "[1]", "[0,4]") "," TENSOR("a", "F32", "[1]", "[4,8]") "}", 8, "twice");
    refuse(state, "{" TENSOR("a", "F32", "[1]", "[0,4]") "}", 5, "5 bytes of data");
    refuse(state, "{\"__metadata__\":{\"a\":1}}", 0, "is no text");
    refuse(state, "{\"__metadata__\":7}", 0, "__metadata__");
}

static void test_lengths_that_lie(void **state)
{
    image made = make_image("{}", 0);
    memset(made.bytes, 0xff, 7);
    ASSERT_STATUS(open_image(state, &made), WEFT_ERR_DATA);
    ASSERT_MESSAGE("truncated");
    memset(made.bytes, 0xff, 8);
    ASSERT_STATUS(open_image(state, &made), WEFT_ERR_DATA);
    made = make_image("{}", 0);
    memcpy(made.bytes, "PK\3\4\0\0\0\0", 8);
    ASSERT_STATUS(open_image(state, &made), WEFT_ERR_DATA);
    ASSERT_MESSAGE("safetensors.torch.save_file");
    ASSERT_STATUS(safetensors_open(in_folder(state, "absent"), &(safetensors_file *){NULL}), WEFT_ERR_NOINPUT);
}

/* Its lowest byte is what a pickle begins with. */
static void test_a_length_like_a_pickle(void **state)
{
    char header[0x180 + 1];
    snprintf(header, sizeof header, "%-384s", "{" TENSOR("a", "F32", "[1]", "[0,4]") "}");
    image made = make_image(header, 4);
    assert_int_equal(made.bytes[0], 0x80);
    ASSERT_OK(open_image(state, &made));
}

static const char *write_example(void **state, size_t *bytes, uint8_t **content)
{
    static const float matrix[6] = {1, -2, 3.25f, 1e-30f, 5, 6}, vector[3] = {0.5f, 0, -1};
    const safetensors_item items[] = {{.name = "convs.0.lin.weight", .dims = 2, .shape = {2, 3}, .values = matrix},
                                      {.name = "convs.0.bias", .dims = 1, .shape = {3, 0}, .values = vector}};
    const safetensors_text texts[] = {{"format", "pt"}, {"weft.model", "a \"quoted\" \n text"}};
    const char *path = in_folder(state, "good.safetensors");
    ASSERT_OK(safetensors_write(path, items, 2, texts, 2));
    *content = get_file(path, bytes);
    return path;
}

static void test_written_files_read_back(void **state)
{
    size_t bytes = 0;
    uint8_t *content = NULL;
    const char *path = write_example(state, &bytes, &content);
    uint64_t length;
    memcpy(&length, content, 8);
    assert_int_equal(length % 8, 0);
    assert_int_equal(bytes, 8 + length + 36);
    float expected = 3.25f;
    assert_memory_equal(content + 8 + length + 8, &expected, 4);
    safetensors_file *file = NULL;
    float values[6];
    ASSERT_OK(safetensors_open(path, &file));
    assert_string_equal(safetensors_metadata(file, "weft.model"), "a \"quoted\" \n text");
    ASSERT_OK(safetensors_read_f32(file, safetensors_find(file, "convs.0.bias"), values));
    assert_true(values[0] == 0.5f && values[2] == -1.0f);
    safetensors_close(file);
    free(content);
}

static void test_every_truncation_is_refused(void **state)
{
    size_t bytes = 0;
    uint8_t *content = NULL;
    write_example(state, &bytes, &content);
    image cut = {.size = 0};
    assert_true(bytes <= IMAGE_MAX);
    memcpy(cut.bytes, content, bytes);
    for (cut.size = 0; cut.size < bytes; cut.size++) {
        ASSERT_STATUS(open_image(state, &cut), WEFT_ERR_DATA);
    }
    cut.size = bytes + 1;
    ASSERT_STATUS(open_image(state, &cut), WEFT_ERR_DATA);
    free(content);
}

/* A flipped bit may make another valid file (another name, another number); it must never make one that reads outside.
 */
static void test_bit_flips(void **state)
{
    size_t bytes = 0;
    uint8_t *content = NULL;
    write_example(state, &bytes, &content);
    uint64_t header;
    memcpy(&header, content, 8);
    for (size_t bit = 0; bit < 8 * (8 + header); bit++) {
        content[bit / 8] ^= (uint8_t)(1u << bit % 8);
        const char *path = in_folder(state, "flip.safetensors");
        put_file(path, content, bytes);
        safetensors_file *file = NULL;
        if (safetensors_open(path, &file) == WEFT_OK) {
            assert_true(bit >= 64); /* no other length fits */
            for (int i = 0; i < safetensors_count(file); i++) {
                const safetensors_entry *entry = safetensors_entry_at(file, i);
                float *values = malloc((size_t)entry->count * sizeof *values + 1);
                assert_non_null(values);
                (void)safetensors_read_f32(file, i, values);
                free(values);
            }
        }
        safetensors_close(file);
        content[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(content);
}

static void test_too_many_names_for_a_header(void **state)
{
    enum { ITEMS = 20000 };
    static const float value = 1;
    safetensors_item *items = calloc(ITEMS, sizeof *items);
    assert_non_null(items);
    for (int i = 0; i < ITEMS; i++) {
        items[i] = (safetensors_item){.name = "the same long name again and again", .dims = 0, .values = &value};
    }
    ASSERT_STATUS(safetensors_write(in_folder(state, "many.safetensors"), items, ITEMS, NULL, 0), WEFT_ERR_UNSUPPORTED);
    assert_false(file_exists(in_folder(state, "many.safetensors")));
    free(items);
}

static void test_every_allocation_may_fail(void **state)
{
    size_t bytes = 0;
    uint8_t *content = NULL;
    const char *path = write_example(state, &bytes, &content);
    free(content);
    for (uint64_t n = 1;; n++) {
        safetensors_file *file = NULL;
        weft_alloc_fail_after(n);
        weft_status status = safetensors_open(path, &file);
        weft_alloc_fail_after(0);
        safetensors_close(file);
        if (status == WEFT_OK) {
            assert_true(n > 3);
            break;
        }
        assert_int_equal(status, WEFT_ERR_RESOURCE);
        assert_true(n < 100);
    }
    assert_int_equal(weft_mem_usage_total().current_bytes, 0);
}

int main(void)
{
#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(test_reads_every_float_type),
        FOLDER_TEST(test_a_double_too_large_for_a_float),
        FOLDER_TEST(test_hostile_headers),
        FOLDER_TEST(test_lengths_that_lie),
        FOLDER_TEST(test_a_length_like_a_pickle),
        FOLDER_TEST(test_written_files_read_back),
        FOLDER_TEST(test_every_truncation_is_refused),
        FOLDER_TEST(test_bit_flips),
        FOLDER_TEST(test_too_many_names_for_a_header),
        FOLDER_TEST(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

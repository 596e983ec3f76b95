/* Means and deviations of inputs come back from each kind of file to the bit, and damaged ones are refused by name. */
#include "train/input_moments.h"

#include <math.h>
#include <string.h>

#include "support/folder.h"
#include "support/test.h"
#include "train/weights.h"

static const double means[3] = {0.1, -1e-300, 123456789.25}, deviations[3] = {1.0 / 3.0, 0, 2e10};

static input_moments example(void)
{
    input_moments moments;
    ASSERT_OK(input_moments_create(3, &moments));
    memcpy(moments.mean, means, sizeof means);
    memcpy(moments.deviation, deviations, sizeof deviations);
    return moments;
}

static void check(input_moments *moments)
{
    assert_int_equal(moments->columns, 3);
    assert_memory_equal(moments->mean, means, sizeof means);
    assert_memory_equal(moments->deviation, deviations, sizeof deviations);
    input_moments_destroy(moments);
}

/* An .npz of one parameter and these two arrays; NULL leaves one out. */
static void write_npz(const char *path, const double *mean, const double *deviation, int64_t count)
{
    npz_writer *npz = NULL;
    const float weight = 1;
    ASSERT_OK(npz_writer_open(path, &npz));
    ASSERT_OK(npz_writer_add(npz, "layer0.bias", 'f', 4, 1, (int64_t[]){1}, &weight));
    if (mean != NULL) {
        ASSERT_OK(npz_writer_add(npz, "feature.mean", 'f', 8, 2, (int64_t[]){1, 3}, mean));
    }
    if (deviation != NULL) {
        ASSERT_OK(npz_writer_add(npz, "feature.deviation", 'f', 8, 1, &count, deviation));
    }
    ASSERT_OK(npz_writer_commit(npz));
}

static void refuse(const char *path, const char *expected)
{
    train_weights weights = {0};
    ASSERT_STATUS(weights_read_npz(path, &weights), WEFT_ERR_DATA);
    ASSERT_MESSAGE(expected);
    weights_destroy(&weights);
}

static void test_npz(void **state)
{
    (void)state;
    train_weights weights = {0};
    write_npz("m.npz", means, deviations, 3);
    ASSERT_OK(weights_read_npz("m.npz", &weights));
    assert_int_equal(weights.count, 1); /* they are no parameters */
    check(&weights.moments);
    weights_destroy(&weights);
    write_npz("half.npz", means, NULL, 3);
    refuse("half.npz", "half.npz: of feature.mean and feature.deviation one is missing");
    write_npz("short.npz", means, deviations, 2);
    refuse("short.npz", "short.npz: feature.deviation has 2 elements, expected 3");
    write_npz("negative.npz", means, (double[]){1, -1, 1}, 3);
    refuse("negative.npz", "in column 1 are -1e-300 and -1");
    write_npz("nan.npz", (double[]){1, 1, NAN}, deviations, 3);
    refuse("nan.npz", "in column 2 are nan");
}

static void read_metadata(const char *mean, const char *deviation, input_moments *moments, weft_status expected)
{
    const float value = 1;
    const safetensors_item item = {.name = "convs.0.bias", .dims = 1, .shape = {1}, .values = &value};
    const safetensors_text texts[] = {{INPUT_MOMENTS_KEY_MEAN, mean}, {INPUT_MOMENTS_KEY_DEV, deviation}};
    safetensors_file *file = NULL;
    ASSERT_OK(safetensors_write("m.safetensors", &item, 1, texts, deviation != NULL ? 2 : 1));
    ASSERT_OK(safetensors_open("m.safetensors", &file));
    ASSERT_STATUS(input_moments_read_metadata("m.safetensors", file, moments), expected);
    safetensors_close(file);
}

static void test_metadata(void **state)
{
    (void)state;
    input_moments moments = example(), again;
    safetensors_text texts[INPUT_MOMENTS_TEXTS];
    char *numbers = NULL;
    int count = 0;
    ASSERT_OK(input_moments_to_metadata("m.safetensors", &moments, texts, &count, &numbers));
    assert_int_equal(count, 2);
    read_metadata(texts[0].value, texts[1].value, &again, WEFT_OK);
    check(&again);
    weft_free(numbers);
    input_moments_destroy(&moments);
    static const char *const bad[][2] = {{"1,2", "1"}, {"1", "1,2"}, {"1,,2", "1,2,3"}, {"1,x", "1,2"}, {"1,2", "1,-2"},
                                         {"", "1"},    {"1", NULL},  {"1,2 ", "1,2"},   {"nan", "1"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        read_metadata(bad[i][0], bad[i][1], &again, WEFT_ERR_DATA);
        ASSERT_MESSAGE("m.safetensors: ");
        assert_int_equal(again.columns, 0);
    }
}

/* A header has room for some 20,000 columns; more are left out with a word. */
static void test_too_many(void **state)
{
    (void)state;
    input_moments moments;
    safetensors_text texts[INPUT_MOMENTS_TEXTS];
    char *numbers = NULL;
    int count = 1;
    ASSERT_OK(input_moments_create(65536, &moments));
    for (int64_t c = 0; c < moments.columns; c++) {
        moments.mean[c] = 1.0 / (double)(c + 3);
        moments.deviation[c] = 1.0 / (double)(c + 7);
    }
    ASSERT_OK(input_moments_to_metadata("wide.safetensors", &moments, texts, &count, &numbers));
    assert_int_equal(count, 0);
    weft_free(numbers);
    input_moments_destroy(&moments);
}

/* Files lie in a folder of their own, where this process stands from here on. */
static int enter(void **state)
{
    return folder_setup(state) == 0 ? chdir(*state) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_npz), cmocka_unit_test(test_metadata),
                                       cmocka_unit_test(test_too_many)};
    return cmocka_run_group_tests(tests, enter, folder_teardown);
}

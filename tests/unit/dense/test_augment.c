/* Changes of pixels: what is promised of them, and figures worked out by other means. */
#include <math.h>

#include "dense/data/augment.h"
#include "hal/hal.h"
#include "support/test.h"

enum { HEIGHT = 9, WIDTH = 11, PIXELS = HEIGHT * WIDTH, CHANNELS = 3, DRAWS = 4000 };

/* ---- pixels ---------------------------------------------------------------------------------------------------- */

static uint8_t image[PIXELS * CHANNELS];
static float out[PIXELS * CHANNELS];

/* Every pixel tells its place: channel 0 the row, 1 the column, 2 constant. */
static void make_image(void)
{
    for (int p = 0; p < PIXELS; ++p) {
        image[p * CHANNELS] = (uint8_t)(10 + p / WIDTH);
        image[p * CHANNELS + 1] = (uint8_t)(100 + p % WIDTH);
        image[p * CHANNELS + 2] = 255;
    }
}

static augment as_it_is(void)
{
    augment a = {.height = HEIGHT, .width = WIDTH, .channels = CHANNELS, .crop_height = HEIGHT, .crop_width = WIDTH};
    for (int c = 0; c < CHANNELS; ++c) {
        a.mean[c] = 0.0f;
        a.deviation[c] = 1.0f / 255.0f; /* values stay as they are */
    }
    return a;
}

static void test_values_are_normalised(void **state)
{
    augment a = as_it_is();
    (void)state;
    make_image();
    for (int c = 0; c < CHANNELS; ++c) {
        a.mean[c] = 0.25f * (float)(c + 1);
        a.deviation[c] = 0.5f / (float)(c + 1);
    }
    ASSERT_OK(augment_check(&a));
    augment_plain(&a, image, out);
    for (int i = 0; i < PIXELS * CHANNELS; ++i) {
        const int c = i % CHANNELS;
        ASSERT_NEAR(out[i], (image[i] / 255.0 - 0.25 * (c + 1)) / (0.5 / (c + 1)), 1e-5);
    }
}

static void test_the_centre_is_taken_to_evaluate(void **state)
{
    augment a = as_it_is();
    (void)state;
    make_image();
    a.crop_height = 5;
    a.crop_width = 4;
    augment_plain(&a, image, out);
    for (int p = 0; p < 20; ++p) {
        const int y = p / 4;
        ASSERT_NEAR(out[p * CHANNELS], 10 + 2 + y, 1e-3);
        ASSERT_NEAR(out[p * CHANNELS + 1], 100 + 3 + p % 4, 1e-3);
    }
}

/* Where the crop lies is read off its pixels: each offset as often as another, mirrored half of the time. */
static void test_crops_and_flips(void **state)
{
    enum { PAD = 2, OFFSETS = 2 * PAD + 1 };
    int places[OFFSETS][OFFSETS] = {{0}};
    int flipped = 0;
    augment a = as_it_is();
    (void)state;
    make_image();
    a.pad = PAD;
    a.flip = true;
    for (int64_t sample = 0; sample < DRAWS; ++sample) {
        augment_train(&a, 7, 1, sample, image, out);
        /* a pixel that is inside wherever the crop lies */
        const float *middle = out + ((HEIGHT / 2) * WIDTH + WIDTH / 2) * CHANNELS;
        const float *right = middle + CHANNELS;
        const int top = (int)lrintf(middle[0]) - 10 - HEIGHT / 2;
        const bool mirrored = right[1] < middle[1];
        const int left = (int)lrintf(middle[1]) - 100 - WIDTH / 2;
        assert_in_range(top + PAD, 0, OFFSETS - 1);
        assert_in_range(left + PAD, 0, OFFSETS - 1);
        places[top + PAD][left + PAD] += 1;
        flipped += mirrored;
        for (int p = 0; p < PIXELS; ++p) {
            const int y = top + p / WIDTH;
            const int x = left + (mirrored ? WIDTH - 1 - p % WIDTH : p % WIDTH);
            const bool inside = y >= 0 && y < HEIGHT && x >= 0 && x < WIDTH;
            ASSERT_NEAR(out[p * CHANNELS], inside ? 10 + y : 0, 1e-3);
            ASSERT_NEAR(out[p * CHANNELS + 1], inside ? 100 + x : 0, 1e-3);
        }
    }
    for (int i = 0; i < OFFSETS * OFFSETS; ++i) {
        assert_in_range(places[i / OFFSETS][i % OFFSETS], DRAWS / 25 / 2, DRAWS / 25 * 2);
    }
    assert_in_range(flipped, DRAWS / 2 - 150, DRAWS / 2 + 150);
}

static bool differ(const float *a, const float *b)
{
    int i = 0;
    while (i < PIXELS * CHANNELS && a[i] == b[i]) {
        i += 1;
    }
    return i < PIXELS * CHANNELS;
}

static void test_draws_are_keyed(void **state)
{
    float again[PIXELS * CHANNELS];
    int other_epoch = 0;
    int other_seed = 0;
    augment a = as_it_is();
    (void)state;
    make_image();
    a.pad = 3;
    a.cutout = 3;
    for (int64_t sample = 0; sample < 100; ++sample) {
        augment_train(&a, 7, 1, sample, image, out);
        augment_train(&a, 7, 1, sample, image, again);
        assert_memory_equal(out, again, sizeof out);
        augment_train(&a, 7, 2, sample, image, again);
        other_epoch += differ(out, again);
        augment_train(&a, 8, 1, sample, image, again);
        other_seed += differ(out, again);
    }
    assert_in_range(other_epoch, 95, 100);
    assert_in_range(other_seed, 95, 100);
}

static void test_cutout_is_a_square(void **state)
{
    int whole = 0;
    augment a = as_it_is();
    (void)state;
    make_image();
    a.cutout = 3;
    for (int64_t sample = 0; sample < DRAWS; ++sample) {
        int low[2] = {HEIGHT, WIDTH};
        int high[2] = {-1, -1};
        int cut = 0;
        augment_train(&a, 7, 1, sample, image, out);
        for (int p = 0; p < PIXELS; ++p) {
            if (out[p * CHANNELS + 2] == 0.0f) {
                const int at[2] = {p / WIDTH, p % WIDTH};
                for (int k = 0; k < 2; ++k) {
                    low[k] = at[k] < low[k] ? at[k] : low[k];
                    high[k] = at[k] > high[k] ? at[k] : high[k];
                }
                cut += 1;
            }
        }
        assert_int_equal(cut, (high[0] - low[0] + 1) * (high[1] - low[1] + 1));
        assert_in_range(cut, 4, 9);
        whole += cut == 9;
    }
    /* centres away from the border: 7 of 9 rows, 9 of 11 columns */
    ASSERT_NEAR((double)whole / DRAWS, 7.0 * 9 / 99, 0.05);
}

/* Rectangles inside the image, as often as asked, of 2 to 33 % of it, and of all shapes that fit. */
static void test_erased_is_a_rectangle(void **state)
{
    int erased = 0, tall = 0, wide = 0;
    double least = 1.0, most = 0.0;
    augment a = as_it_is();
    (void)state;
    make_image();
    a.erase = 0.5f;
    for (int64_t sample = 0; sample < DRAWS; ++sample) {
        int low[2] = {HEIGHT, WIDTH}, high[2] = {-1, -1}, cut = 0;
        augment_train(&a, 7, 1, sample, image, out);
        for (int p = 0; p < PIXELS; ++p) {
            const int at[2] = {p / WIDTH, p % WIDTH};
            for (int k = 0; k < 2 && out[p * CHANNELS + 2] == 0.0f; ++k) {
                low[k] = at[k] < low[k] ? at[k] : low[k];
                high[k] = at[k] > high[k] ? at[k] : high[k];
                cut += k;
            }
        }
        const int height = high[0] - low[0] + 1, width = high[1] - low[1] + 1;
        if (cut > 0) {
            assert_int_equal(cut, height * width);
            assert_true(height < HEIGHT && width < WIDTH);
            erased += 1;
            tall += height > width;
            wide += width > height;
            least = fmin(least, (double)cut / PIXELS);
            most = fmax(most, (double)cut / PIXELS);
        }
    }
    ASSERT_NEAR((double)erased / DRAWS, 0.5, 0.05);
    assert_true(tall > erased / 4 && wide > erased / 4);
    ASSERT_NEAR(least, 0.02, 0.015); /* sides are whole pixels */
    ASSERT_NEAR(most, 0.33, 0.05);
    a.erase = 1.5f;
    ASSERT_STATUS(augment_check(&a), WEFT_ERR_USAGE);
}

/* A ramp stretched stays a ramp within its part; parts have shares of the area between the least and all. */
static void test_parts_are_stretched(void **state)
{
    double least = 1;
    double most = 0;
    augment a = as_it_is();
    (void)state;
    make_image();
    a.resized_crop = true;
    a.area_least = 0.2f;
    a.flip = true;
    for (int64_t sample = 0; sample < DRAWS; ++sample) {
        float low[2] = {1e9f, 1e9f};
        float high[2] = {0, 0};
        augment_train(&a, 7, 1, sample, image, out);
        for (int p = 0; p < PIXELS; ++p) {
            for (int k = 0; k < 2; ++k) {
                const float v = out[p * CHANNELS + k];
                low[k] = v < low[k] ? v : low[k];
                high[k] = v > high[k] ? v : high[k];
            }
            ASSERT_NEAR(out[p * CHANNELS + 2], 255, 0.01);
        }
        assert_true(low[0] >= 10 - 0.01 && high[0] <= 10 + HEIGHT - 1 + 0.01);
        assert_true(low[1] >= 100 - 0.01 && high[1] <= 100 + WIDTH - 1 + 0.01);
        const double share = (high[0] - low[0] + 1.0) * (high[1] - low[1] + 1.0) / PIXELS;
        least = share < least ? share : least;
        most = share > most ? share : most;
    }
    ASSERT_NEAR(least, 0.2, 0.08); /* sides are whole pixels */
    ASSERT_NEAR(most, 1, 0.08);
}

static void test_bad_settings_are_refused(void **state)
{
    augment a = as_it_is();
    (void)state;
    a.crop_height = HEIGHT + 1;
    ASSERT_STATUS(augment_check(&a), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("crops of 10 x 11 pixels from images of 9 x 11");
    a = as_it_is();
    a.pad = HEIGHT;
    ASSERT_STATUS(augment_check(&a), WEFT_ERR_USAGE);
    a = as_it_is();
    a.resized_crop = true;
    a.area_least = 1.5f;
    ASSERT_STATUS(augment_check(&a), WEFT_ERR_USAGE);
    a = as_it_is();
    a.deviation[1] = 0;
    ASSERT_STATUS(augment_check(&a), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("channel 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_normalised), cmocka_unit_test(test_the_centre_is_taken_to_evaluate),
        cmocka_unit_test(test_crops_and_flips),       cmocka_unit_test(test_draws_are_keyed),
        cmocka_unit_test(test_erased_is_a_rectangle), cmocka_unit_test(test_cutout_is_a_square),
        cmocka_unit_test(test_parts_are_stretched),   cmocka_unit_test(test_bad_settings_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

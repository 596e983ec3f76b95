/* Changes of pixels: what is promised of them, and figures worked out by other means. */
#include <math.h>

#include "dense/data/vary/augment.h"
#include "dense/data/vary/mixup.h"
#include "hal/hal.h"
#include "support/test.h"
#include "train/loop/share_loss.h"

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
    /* The same numbers as one long row. */
    for (int rows = HEIGHT; rows >= 1; rows -= HEIGHT - 1) {
        a.height = a.crop_height = rows;
        a.width = a.crop_width = PIXELS / rows;
        memset(out, 0, sizeof out);
        ASSERT_OK(augment_check(&a));
        augment_plain(&a, image, out);
        for (int i = 0; i < PIXELS * CHANNELS; ++i) {
            const int c = i % CHANNELS;
            ASSERT_NEAR(out[i], (image[i] / 255.0 - 0.25 * (c + 1)) / (0.5 / (c + 1)), 1e-5);
        }
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

/* ---- mixtures -------------------------------------------------------------------------------------------------- */

/* Mean and variance of the larger part of Beta(alpha, alpha): of 1/2 the arcsine law, of 1 the uniform one, of 2 the
 * density 6 x (1 - x), of 0.01 nearly always 1. Partners are an order of the batch, another one every step. */
static void test_shares_and_partners_of_mixtures(void **state)
{
    static const struct {
        double alpha, mean, variance;
    } laws[] = {
        {0.5, 0.8183099, 0.0236788}, {1.0, 0.75, 0.0208333}, {2.0, 0.6875, 0.0148438}, {0.01, 0.9931963, 0.0018557}};
    enum { IMAGES = 7 };
    (void)state;
    for (size_t l = 0; l < sizeof laws / sizeof laws[0]; ++l) {
        double sum = 0, squares = 0;
        int with[IMAGES] = {0};
        for (int64_t step = 0; step < DRAWS; ++step) {
            const mixup mix = mixup_draw(laws[l].alpha, 5, 2, step, IMAGES);
            uint64_t taken = 0;
            assert_true(mix.share >= 0.5 && mix.share <= 1.0);
            sum += mix.share;
            squares += mix.share * mix.share;
            for (uint64_t i = 0; i < IMAGES; ++i) {
                taken |= (uint64_t)1 << permute(&mix.partner, i);
            }
            assert_int_equal(taken, (1 << IMAGES) - 1);
            with[permute(&mix.partner, 0)] += 1;
        }
        const double mean = sum / DRAWS;
        ASSERT_NEAR(mean, laws[l].mean, 4 * sqrt(laws[l].variance / DRAWS)); /* four deviations of a mean */
        ASSERT_NEAR(squares / DRAWS - mean * mean, laws[l].variance, 0.0015);
        for (int i = 0; i < IMAGES; ++i) {
            ASSERT_NEAR((double)with[i] * IMAGES / DRAWS, 1, 0.2);
        }
    }
    const mixup one = mixup_draw(1.0, 5, 2, 3, IMAGES), again = mixup_draw(1.0, 5, 2, 3, IMAGES);
    const mixup others[] = {mixup_draw(1.0, 6, 2, 3, IMAGES), mixup_draw(1.0, 5, 3, 3, IMAGES),
                            mixup_draw(1.0, 5, 2, 4, IMAGES)};
    assert_true(one.share == again.share);
    for (int i = 0; i < 3; ++i) {
        assert_true(one.share != others[i].share);
    }
}

/* The mean of 0.7 cross_entropy(x, a) + 0.3 cross_entropy(x, b) over three rows, and its gradient, in float64 by
 * PyTorch 2.13, without and with label_smoothing=0.1. */
static void test_loss_of_mixtures_is_that_of_pytorch(void **state)
{
    enum { ROWS = 3, CLASSES = 4, CELLS = ROWS * CLASSES };
    static const float logits_of[CELLS] = {1.5f, -0.5f, 0.25f, 2.0f, 0.0f, 3.0f, -2.0f, 1.0f, -1.0f, -1.0f, 4.0f, 0.5f};
    static const int32_t a[ROWS] = {3, 1, 2}, b[ROWS] = {0, 2, 2};
    static const double smoothing[] = {0.0, 0.1}, loss_of[] = {0.830040749, 1.010457415};
    static const double slope_of[][CELLS] = {{0.0085578, 0.0146917, 0.0311023, -0.0543518, 0.0139242, 0.0463415,
                                              -0.0981156, 0.0378499, 0.0021520, 0.0021520, -0.0139486, 0.0096446},
                                             {0.0102244, 0.0063584, 0.0227690, -0.0393518, 0.0055909, 0.0613415,
                                              -0.0964489, 0.0295165, -0.0061813, -0.0061813, 0.0110514, 0.0013113}};
    weft_hal *hal;
    weft_tensor logits, loss;
    (void)state;
    ASSERT_OK(weft_hal_open("ref", 1, &hal));
    ASSERT_OK(tensor_create(hal, WEFT_DTYPE_F32, ROWS, CLASSES, WEFT_MEM_WORKSPACE, &logits));
    ASSERT_OK(tensor_create(hal, WEFT_DTYPE_F64, 1, 1, WEFT_MEM_WORKSPACE, &loss));
    for (int s = 0; s < 2; ++s) {
        float shares[CELLS], slope[CELLS];
        double sum = 0;
        for (int i = 0; i < ROWS; ++i) {
            mixup_shares(0.7, smoothing[s], a[i], b[i], CLASSES, shares + (ptrdiff_t)i * CLASSES);
        }
        const train_targets targets = {
            .rows = ROWS, .outputs = CLASSES, .loss = TRAIN_LOSS_XENT, .share_host = shares, .temperature = 1.0};
        ASSERT_OK(tensor_upload(&logits, logits_of));
        ASSERT_OK(tensor_upload(&loss, &sum));
        ASSERT_OK(share_loss(&targets, 1.0 / ROWS, &loss, &logits));
        ASSERT_OK(tensor_download(&logits, slope));
        ASSERT_OK(tensor_download(&loss, &sum));
        ASSERT_NEAR(sum / ROWS, loss_of[s], 1e-6);
        for (int i = 0; i < CELLS; ++i) {
            ASSERT_NEAR(slope[i], slope_of[s][i], 1e-6);
        }
    }
    TENSOR_DESTROY_ALL(&logits, &loss);
    weft_hal_close(hal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_normalised),
        cmocka_unit_test(test_the_centre_is_taken_to_evaluate),
        cmocka_unit_test(test_crops_and_flips),
        cmocka_unit_test(test_draws_are_keyed),
        cmocka_unit_test(test_erased_is_a_rectangle),
        cmocka_unit_test(test_cutout_is_a_square),
        cmocka_unit_test(test_parts_are_stretched),
        cmocka_unit_test(test_bad_settings_are_refused),
        cmocka_unit_test(test_shares_and_partners_of_mixtures),
        cmocka_unit_test(test_loss_of_mixtures_is_that_of_pytorch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

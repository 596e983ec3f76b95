/* JPEG and PNG into pixels of a wanted size: what is made here comes back, what is damaged is refused with a reason. */
#include "base/alloc.h"
#include "dense/data/decode/image_decode.h"
#include "support/image_bytes.h"

enum { SIDE = 64 };

static image_bytes file;
static uint8_t pixels[SIDE * SIDE * 4], out[SIDE * SIDE * 4];
static image_scratch scratch;

/* Smooth, so that JPEG keeps it: channel c is a slope of its own. */
static void make_slopes(int height, int width, int channels)
{
    for (int i = 0; i < height * width * channels; ++i) {
        const int c = i % channels;
        const int x = i / channels % width;
        const int y = i / channels / width;
        pixels[i] = (uint8_t)(c == 0 ? 3 * x : c == 1 ? 255 - 3 * y : c == 2 ? 60 + x + y : 255);
    }
}

static weft_status decode(int64_t height, int64_t width, int64_t channels)
{
    const image_shape wanted = {.height = height, .width = width, .channels = channels};
    return image_decode("it.jpg", file.data, file.bytes, &wanted, &scratch, out);
}

static void test_png_is_exact(void **state)
{
    image_shape is;
    (void)state;
    make_slopes(20, 33, 3);
    make_png(&file, pixels, 20, 33, 3, 0);
    ASSERT_OK(image_look("it.png", file.data, file.bytes, &is));
    assert_int_equal(is.height, 20);
    assert_int_equal(is.width, 33);
    assert_int_equal(is.channels, 3);
    ASSERT_OK(decode(20, 33, 3));
    assert_memory_equal(out, pixels, 20 * 33 * 3);
    make_slopes(20, 33, 1);
    make_png(&file, pixels, 20, 33, 1, 0);
    ASSERT_OK(image_look("it.png", file.data, file.bytes, &is));
    assert_int_equal(is.channels, 1);
    ASSERT_OK(decode(20, 33, 1));
    assert_memory_equal(out, pixels, 20 * 33);
    ASSERT_OK(decode(20, 33, 3));
    for (int i = 0; i < 20 * 33 * 3; ++i) {
        assert_int_equal(out[i], pixels[i / 3]);
    }
}

static void test_transparent_pixels_are_black(void **state)
{
    (void)state;
    for (int i = 0; i < 64; ++i) {
        const uint8_t pixel[4] = {0x20, 0x40, 0x60, i % 2 == 0 ? 255 : 0};
        memcpy(pixels + 4 * i, pixel, sizeof pixel);
    }
    make_png(&file, pixels, 8, 8, 4, 0);
    ASSERT_OK(decode(8, 8, 3));
    for (int i = 0; i < 64; ++i) {
        assert_memory_equal(out + 3 * i, i % 2 == 0 ? "\x20\x40\x60" : "\0\0\0", 3);
    }
}

/* Whatever the depth, and whatever the file says of gamma: values are those that stand in it, in colour and grey. */
static void test_values_are_taken_as_they_stand(void **state)
{
    static const uint32_t gammas[] = {0, 45455, 100000, 220000};
    static uint8_t first[SIDE * SIDE * 3];
    (void)state;
    for (int channels = 1; channels <= 4; ++channels) {
        for (int wanted = 1; wanted <= 3; wanted += 2) {
            for (int form = 0; form < 8; ++form) {
                for (int i = 0; i < SIDE * SIDE * channels; ++i) {
                    pixels[i] = (uint8_t)(i * 37 + i / 11);
                }
                make_png_of(&file, pixels, SIDE, SIDE, channels, form < 4 ? 8 : 16, gammas[form % 4], 0);
                ASSERT_OK(decode(SIDE, SIDE, wanted));
                if (form == 0) {
                    memcpy(first, out, sizeof first);
                }
                assert_memory_equal(out, first, (size_t)(SIDE * SIDE * wanted));
            }
        }
    }
    make_slopes(SIDE, SIDE, 1);
    make_png_of(&file, pixels, SIDE, SIDE, 1, 16, 0, 0);
    ASSERT_OK(decode(SIDE, SIDE, 1));
    assert_memory_equal(out, pixels, SIDE * SIDE);
    make_slopes(SIDE, SIDE, 3);
    make_png_of(&file, pixels, SIDE, SIDE, 3, 16, 45455, 0);
    ASSERT_OK(decode(SIDE, SIDE, 3));
    assert_memory_equal(out, pixels, SIDE * SIDE * 3);
}

/* Grey has the weights that JPEG gives its own: 0.299, 0.587, 0.114. */
static void test_colours_become_the_grey_of_jpeg(void **state)
{
    static const uint8_t colours[6][3] = {{255, 0, 0},     {0, 255, 0},     {0, 0, 255},
                                          {255, 255, 255}, {100, 100, 100}, {200, 100, 50}};
    static const uint8_t greys[6] = {76, 150, 29, 255, 100, 124};
    (void)state;
    make_png(&file, &colours[0][0], 1, 6, 3, 0);
    ASSERT_OK(decode(1, 6, 1));
    assert_memory_equal(out, greys, sizeof greys);
    for (int k = 0; k < 6; ++k) {
        for (int i = 0; i < 64; ++i) {
            memcpy(pixels + 3 * (size_t)i, colours[k], 3);
        }
        make_jpeg(&file, pixels, 8, 8, 3, false);
        ASSERT_OK(decode(8, 8, 1));
        ASSERT_NEAR(out[0], greys[k], 1);
    }
}

static void test_alpha_mixes_with_black(void **state)
{
    (void)state;
    for (int alpha = 0; alpha < 256; ++alpha) {
        const uint8_t pixel[4] = {200, 100, 50, (uint8_t)alpha};
        const uint8_t grey[2] = {200, (uint8_t)alpha};
        make_png(&file, pixel, 1, 1, 4, 0);
        ASSERT_OK(decode(1, 1, 3));
        for (int c = 0; c < 3; ++c) {
            ASSERT_NEAR(out[c], pixel[c] * alpha / 255.0, 0.5);
        }
        ASSERT_OK(decode(1, 1, 1));
        ASSERT_NEAR(out[0], (0.299 * 200 + 0.587 * 100 + 0.114 * 50) * alpha / 255, 1);
        make_png(&file, grey, 1, 1, 2, 0);
        ASSERT_OK(decode(1, 1, 1));
        ASSERT_NEAR(out[0], 200 * alpha / 255.0, 0.5);
        ASSERT_OK(decode(1, 1, 3));
        ASSERT_NEAR(out[2], 200 * alpha / 255.0, 0.5);
    }
}

static void assert_slopes(int height, int width, int within)
{
    for (int i = 0; i < height * width * 3; ++i) {
        assert_in_range(out[i] + within, pixels[i], pixels[i] + 2 * within);
    }
}

static void test_jpeg_is_near(void **state)
{
    (void)state;
    make_slopes(SIDE, SIDE, 3);
    make_jpeg(&file, pixels, SIDE, SIDE, 3, false);
    ASSERT_OK(decode(SIDE, SIDE, 3));
    assert_slopes(SIDE, SIDE, 6);
    make_jpeg(&file, pixels, SIDE, SIDE, 3, true);
    ASSERT_OK(decode(SIDE, SIDE, 3));
    assert_slopes(SIDE, SIDE, 6);
    ASSERT_OK(decode(SIDE, SIDE, 1));
    for (int i = 0; i < SIDE * SIDE; ++i) {
        ASSERT_NEAR(out[i], 0.299 * pixels[3 * i] + 0.587 * pixels[3 * i + 1] + 0.114 * pixels[3 * i + 2], 4);
    }
}

static void test_inks_become_light(void **state)
{
    (void)state;
    make_slopes(SIDE, SIDE, 4); /* without black, inverted inks are light */
    make_jpeg(&file, pixels, SIDE, SIDE, 4, false);
    ASSERT_OK(decode(SIDE, SIDE, 3));
    for (int i = 0; i < SIDE * SIDE * 3; ++i) {
        const int from = i / 3 * 4 + i % 3;
        ASSERT_NEAR(out[i], pixels[from], 5);
    }
}

/* A slope that is scaled is a slope; of a wide image the middle is taken. JPEG takes its way through 1/2, 1/4. */
static void test_scaling_keeps_slopes(void **state)
{
    (void)state;
    for (int jpeg = 0; jpeg < 2; ++jpeg) {
        make_slopes(48, 64, 3);
        if (jpeg) {
            make_jpeg(&file, pixels, 48, 64, 3, false);
        } else {
            make_png(&file, pixels, 48, 64, 3, 0);
        }
        for (int to = 6; to <= 24; to += 6) {
            const double ratio = 48.0 / to;
            ASSERT_OK(decode(to, to, 3));
            for (int y = 1; y < to - 1; ++y) {
                for (int x = 1; x < to - 1; ++x) {
                    const double from_x = 8 + (x + 0.5) * ratio - 0.5; /* 8 columns are cut off on each side */
                    const double from_y = (y + 0.5) * ratio - 0.5;
                    ASSERT_NEAR(out[(y * to + x) * 3], 3 * from_x, jpeg ? 7 : 1);
                    ASSERT_NEAR(out[(y * to + x) * 3 + 1], 255 - 3 * from_y, jpeg ? 7 : 1);
                }
            }
        }
    }
    make_slopes(16, 16, 3);
    make_png(&file, pixels, 16, 16, 3, 0);
    ASSERT_OK(decode(32, 32, 3)); /* larger: bilinear */
    for (int x = 1; x < 31; ++x) {
        ASSERT_NEAR(out[(16 * 32 + x) * 3], 3 * ((x + 0.5) / 2 - 0.5), 1);
    }
}

static void test_cut_off_files_are_refused(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; ++kind) {
        make_slopes(SIDE, SIDE, 3);
        if (kind < 2) {
            make_jpeg(&file, pixels, SIDE, SIDE, 3, kind == 1);
        } else {
            make_png(&file, pixels, SIDE, SIDE, 3, 0);
        }
        const size_t whole = file.bytes;
        for (size_t left = 0; left + 16 < whole; left += 7) {
            file.bytes = left;
            ASSERT_STATUS(decode(SIDE, SIDE, 3), WEFT_ERR_DATA);
            ASSERT_MESSAGE("it.jpg: ");
        }
    }
}

static void test_damaged_files_are_refused_or_read(void **state)
{
    (void)state;
    for (int png = 0; png < 2; ++png) {
        for (size_t at = 0; at < 2000; at += 3) {
            make_slopes(SIDE, SIDE, 3);
            if (png) {
                make_png(&file, pixels, SIDE, SIDE, 3, 0);
            } else {
                make_jpeg(&file, pixels, SIDE, SIDE, 3, false);
            }
            if (at < file.bytes) {
                file.data[at] ^= 0x55;
                const weft_status status = decode(SIDE, SIDE, 3);
                assert_true(status == WEFT_OK || status == WEFT_ERR_DATA);
            }
        }
    }
}

static void test_other_files_are_refused(void **state)
{
    (void)state;
    file.bytes = 0;
    ASSERT_STATUS(decode(8, 8, 3), WEFT_ERR_DATA);
    ASSERT_MESSAGE("is empty");
    memcpy(file.data, "GIF89a", 6);
    file.bytes = 6;
    ASSERT_STATUS(decode(8, 8, 3), WEFT_ERR_DATA);
    ASSERT_MESSAGE("neither a JPEG nor a PNG file");
}

/* Heads that tell of more than there is: refused before memory is taken. */
static void test_absurd_sizes_are_refused(void **state)
{
    const uint64_t before = weft_mem_usage_total().peak_bytes;
    image_shape is;
    (void)state;
    make_slopes(SIDE, SIDE, 3);
    make_png(&file, pixels, SIDE, SIDE, 3, 2000000000u);
    ASSERT_STATUS(decode(8, 8, 3), WEFT_ERR_DATA);
    memset(pixels, 0, sizeof pixels);
    make_png(&file, pixels, SIDE, SIDE, 3, 1000000);
    ASSERT_STATUS(image_look("it.png", file.data, file.bytes, &is), WEFT_ERR_DATA);
    ASSERT_MESSAGE("bytes can hold");
    make_slopes(SIDE, SIDE, 3);
    make_jpeg(&file, pixels, SIDE, SIDE, 3, false);
    for (size_t at = 2; at + 9 < file.bytes; ++at) {
        if (file.data[at] == 0xff && file.data[at + 1] == 0xc0) { /* start of frame: height at 5 */
            file.data[at + 5] = 0xea;
            file.data[at + 7] = 0x40;
            break;
        }
    }
    ASSERT_STATUS(decode(8, 8, 3), WEFT_ERR_DATA);
    ASSERT_MESSAGE("an image has 1 to 67108864");
    assert_int_equal(weft_mem_usage_total().peak_bytes, before);
}

static int free_scratch(void **state)
{
    (void)state;
    image_scratch_free(&scratch);
    return weft_mem_usage_total().current_bytes == 0 ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_png_is_exact),
        cmocka_unit_test(test_transparent_pixels_are_black),
        cmocka_unit_test(test_values_are_taken_as_they_stand),
        cmocka_unit_test(test_colours_become_the_grey_of_jpeg),
        cmocka_unit_test(test_alpha_mixes_with_black),
        cmocka_unit_test(test_jpeg_is_near),
        cmocka_unit_test(test_inks_become_light),
        cmocka_unit_test(test_scaling_keeps_slopes),
        cmocka_unit_test(test_cut_off_files_are_refused),
        cmocka_unit_test(test_damaged_files_are_refused_or_read),
        cmocka_unit_test(test_other_files_are_refused),
        cmocka_unit_test(test_absurd_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, free_scratch);
}

/*
 * dense/data/image_png.c: PNG files through libpng's simplified interface, a codec of image_decode.h. It keeps its errors
 * to itself and says them in words.
 */
#include <string.h>

#include <png.h>

#include "dense/data/image_decode.h"

enum { PIXELS_PER_BYTE = 8 * 1032 /* a bit each; a deflate stream grows at most 1032-fold */ };

static weft_status fail(const char *name, png_image *png)
{
    weft_status status = weft_fail(WEFT_ERR_DATA, "%s: malformed PNG file (%s)", name, png->message);
    png_image_free(png);
    return status;
}

/* The head, checked. To be closed with png_image_free where it answers WEFT_OK. */
static weft_status open_file(const char *name, const uint8_t *data, size_t bytes, png_image *png)
{
    *png = (png_image){.version = PNG_IMAGE_VERSION};
    if (png_image_begin_read_from_memory(png, data, bytes) == 0) {
        return fail(name, png);
    }
    weft_status status = image_check_size(name, bytes, png->height, png->width, PIXELS_PER_BYTE);
    if (status != WEFT_OK) {
        png_image_free(png);
    }
    return status;
}

static weft_status look(const char *name, const uint8_t *data, size_t bytes, int64_t *height, int64_t *width)
{
    png_image png;
    WEFT_TRY(open_file(name, data, bytes, &png));
    *height = png.height;
    *width = png.width;
    png_image_free(&png);
    return WEFT_OK;
}

static weft_status decode(const char *name, const uint8_t *data, size_t bytes, const image_shape *wanted,
                          image_scratch *scratch, image_shape *is)
{
    static const png_color black = {0, 0, 0};
    png_image png;
    WEFT_TRY(open_file(name, data, bytes, &png));
    png.format = wanted->channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
    weft_status status = image_scratch_grow(scratch, PNG_IMAGE_SIZE(png));
    if (status != WEFT_OK) {
        png_image_free(&png);
        return status;
    }
    if (png_image_finish_read(&png, &black, scratch->data, 0, NULL) == 0) {
        return fail(name, &png);
    }
    *is = (image_shape){.height = png.height, .width = png.width, .channels = wanted->channels};
    return WEFT_OK; /* it is closed */
}

const char *image_png_version(void)
{
    return png_get_libpng_ver(NULL);
}

const image_codec image_png = {.magic = "\x89PNG\r\n\x1a\n", .magic_bytes = 8, .look = look, .decode = decode};

/*
 * dense/data/decode/image_png.c: PNG files through libpng, a codec of image_decode.h.
 *
 * Values are taken as they stand, without regard to what a file says of gamma and colour spaces: grey is mixed of them
 * as JPEG's is, transparent pixels are mixed with black, and of 16 bits the upper 8 count, so that a picture has the
 * same values in whatever form it comes. libpng's simplified interface would take 16 bits, and mix, as linear light.
 *
 * libpng leaves its errors by longjmp: it is only called inside guarded(), whose frame holds nothing that could be
 * lost. Chunks that say nothing about pixels are skipped unread: they may unpack to much.
 */
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <png.h>

#include "dense/data/decode/image_decode.h"

enum {
    PIXELS_PER_BYTE = 8 * 1032, /* a bit each; a deflate stream grows at most 1032-fold */
    REASON_BYTES = 128
};

typedef struct png_file {
    png_structp png;
    png_infop info;
    jmp_buf back;
    char reason[REASON_BYTES];
    const uint8_t *data;
    size_t bytes, at;
    bool coloured;  /* wanted as red, green, blue */
    size_t entries; /* of a pixel, once its form is chosen: 1 to 4 */
    uint8_t *rows;  /* of decoded pixels */
} png_file;

static void leave(png_structp png, png_const_charp reason)
{
    png_file *file = png_get_error_ptr(png);
    snprintf(file->reason, sizeof file->reason, "%s", reason);
    longjmp(file->back, 1);
}

static void stay_silent(png_structp png, png_const_charp reason)
{
    (void)png;
    (void)reason;
}

static void read_data(png_structp png, png_bytep to, size_t bytes)
{
    png_file *file = png_get_io_ptr(png);
    if (bytes > file->bytes - file->at) {
        png_error(png, "cut off");
    }
    memcpy(to, file->data + file->at, bytes);
    file->at += bytes;
}

static bool guarded(png_file *file, void (*work)(png_file *))
{
    if (setjmp(file->back) != 0) {
        return false;
    }
    work(file);
    return true;
}

static void read_head(png_file *file)
{
    png_set_read_fn(file->png, file, read_data);
    png_set_benign_errors(file->png, 1); /* what can be read nevertheless is read */
    png_set_keep_unknown_chunks(file->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_read_info(file->png, file->info);
}

/* 8 bits an entry: grey or red, green, blue, each with or without alpha; where grey is wanted it is mixed later. */
static void choose_form(png_file *file)
{
    png_set_expand(file->png);
    png_set_strip_16(file->png);
    if (file->coloured) {
        png_set_gray_to_rgb(file->png);
    }
    (void)png_set_interlace_handling(file->png);
    png_read_update_info(file->png, file->info);
    file->entries = png_get_channels(file->png, file->info);
}

static void read_rows(png_file *file)
{
    const png_uint_32 height = png_get_image_height(file->png, file->info);
    const size_t row_bytes = png_get_rowbytes(file->png, file->info);
    const int passes =
        png_get_interlace_type(file->png, file->info) == PNG_INTERLACE_ADAM7 ? PNG_INTERLACE_ADAM7_PASSES : 1;
    for (int pass = 0; pass < passes; ++pass) {
        for (png_uint_32 y = 0; y < height; ++y) {
            png_read_row(file->png, file->rows + y * row_bytes, NULL);
        }
    }
}

static void close_file(png_file *file)
{
    png_destroy_read_struct(&file->png, &file->info, NULL);
}

static weft_status fail(const char *name, const png_file *file)
{
    return weft_fail(WEFT_ERR_DATA, "%s: malformed PNG file (%s)", name, file->reason);
}

/* The head, checked. To be closed with close_file whatever it answers. */
static weft_status open_file(const char *name, const uint8_t *data, size_t bytes, png_file *file)
{
    *file = (png_file){.data = data, .bytes = bytes};
    file->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, file, leave, stay_silent);
    file->info = file->png != NULL ? png_create_info_struct(file->png) : NULL;
    WEFT_CHECK(file->info != NULL, WEFT_ERR_RESOURCE, "%s: no memory to decode it", name);
    if (!guarded(file, read_head)) {
        return fail(name, file);
    }
    return image_check_size(name, bytes, png_get_image_height(file->png, file->info),
                            png_get_image_width(file->png, file->info), PIXELS_PER_BYTE);
}

static weft_status look(const char *name, const uint8_t *data, size_t bytes, image_shape *is)
{
    png_file file;
    weft_status status = open_file(name, data, bytes, &file);
    if (status == WEFT_OK) {
        const bool coloured = (png_get_color_type(file.png, file.info) & PNG_COLOR_MASK_COLOR) != 0;
        *is = (image_shape){.height = png_get_image_height(file.png, file.info),
                            .width = png_get_image_width(file.png, file.info),
                            .channels = coloured ? 3 : 1};
    }
    close_file(&file);
    return status;
}

/* ---- from what the file has to what is wanted -------------------------------------------------------------------- */

static uint8_t on_black(unsigned value, unsigned alpha)
{
    return (uint8_t)((value * alpha + 127) / 255);
}

/* The weights of ITU-R BT.601 in 65536ths, as libjpeg has them. */
static uint8_t grey_of(const uint8_t *colour)
{
    return (uint8_t)((19595u * colour[0] + 38470u * colour[1] + 7471u * colour[2] + 32768u) >> 16);
}

/* In place: a pixel never gets more entries than it had. */
static void mix(uint8_t *rows, size_t pixels, size_t entries, bool coloured)
{
    const size_t colours = entries >= 3 ? 3 : 1;
    const size_t kept = coloured ? 3 : 1;
    if (entries == kept) {
        return;
    }
    for (size_t i = 0; i < pixels; ++i) {
        const uint8_t *from = rows + i * entries;
        uint8_t pixel[3] = {0};
        for (size_t c = 0; c < colours; ++c) {
            pixel[c] = entries > colours ? on_black(from[c], from[colours]) : from[c];
        }
        if (colours > kept) {
            pixel[0] = grey_of(pixel);
        }
        memcpy(rows + i * kept, pixel, kept);
    }
}

static weft_status read_pixels(const char *name, png_file *file, image_scratch *scratch, image_shape *is)
{
    if (!guarded(file, choose_form)) {
        return fail(name, file);
    }
    const size_t height = png_get_image_height(file->png, file->info);
    const size_t width = png_get_image_width(file->png, file->info);
    WEFT_CHECK(file->entries >= (file->coloured ? 3 : 1) && file->entries <= 4 &&
                   png_get_rowbytes(file->png, file->info) == width * file->entries,
               WEFT_ERR_DATA, "%s: a PNG file whose pixels are of no form that is read", name);
    WEFT_TRY(image_scratch_grow(scratch, height * width * file->entries));
    file->rows = scratch->data;
    if (!guarded(file, read_rows)) {
        return fail(name, file);
    }
    mix(scratch->data, height * width, file->entries, file->coloured);
    *is = (image_shape){.height = (int64_t)height, .width = (int64_t)width, .channels = file->coloured ? 3 : 1};
    return WEFT_OK;
}

static weft_status decode(const char *name, const uint8_t *data, size_t bytes, const image_shape *wanted,
                          image_scratch *scratch, image_shape *is)
{
    png_file file;
    weft_status status = open_file(name, data, bytes, &file);
    if (status == WEFT_OK) {
        file.coloured = wanted->channels != 1;
        status = read_pixels(name, &file, scratch, is);
    }
    close_file(&file);
    return status;
}

const char *image_png_version(void)
{
    return png_get_libpng_ver(NULL);
}

const image_codec image_png = {.magic = "\x89PNG\r\n\x1a\n", .magic_bytes = 8, .look = look, .decode = decode};

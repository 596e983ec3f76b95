/* support/image_bytes.h: files of images made byte by byte: PNG (stored as it is), JPEG (libjpeg), tar. */
#pragma once

#include <stdio.h>

#include <jpeglib.h>
#include <zlib.h>

#include "support/folder.h"

enum { IMAGE_BYTES_MAX = 1 << 20 };

typedef struct image_bytes {
    uint8_t data[IMAGE_BYTES_MAX];
    size_t bytes;
} image_bytes;

static inline void image_put_number(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; ++i) {
        at[i] = (uint8_t)(value >> (24 - 8 * i));
    }
}

static inline void png_chunk(image_bytes *to, const char *type, const uint8_t *data, size_t bytes)
{
    uint8_t *at = to->data + to->bytes;
    assert_true(to->bytes + bytes + 12 <= sizeof to->data);
    image_put_number(at, (uint32_t)bytes);
    memcpy(at + 4, type, 4);
    if (bytes > 0) {
        memcpy(at + 8, data, bytes);
    }
    image_put_number(at + 8 + bytes, (uint32_t)crc32(0, at + 4, (uInt)(bytes + 4)));
    to->bytes += bytes + 12;
}

/*
 * pixels [height, width, channels]; channels: grey, grey and alpha, colours, colours and alpha. bits: 8, or 16, whose
 * lower ones are the inverse of the upper. gamma: of a gAMA chunk, in 100000ths, 0: there is none. states: a height
 * that the header tells instead, 0: the true one.
 */
static inline void make_png_of(image_bytes *to, const uint8_t *pixels, int height, int width, int channels, int bits,
                               uint32_t gamma, uint32_t states)
{
    static const uint8_t colour_type[] = {0, 0, 4, 2, 6};
    const size_t values = (size_t)(width * channels);
    const size_t row = values * (size_t)(bits / 8);
    uint8_t *raw = calloc((size_t)height, row + 1);
    uLongf packed = compressBound((uLong)((row + 1) * (size_t)height));
    uint8_t *deflated = malloc(packed);
    uint8_t head[13] = {0};
    uint8_t chunk[4];
    assert_non_null(raw);
    assert_non_null(deflated);
    for (int y = 0; y < height; ++y) {
        uint8_t *at = raw + (size_t)y * (row + 1) + 1;
        for (size_t i = 0; i < values; ++i) {
            *at++ = pixels[(size_t)y * values + i];
            if (bits == 16) {
                *at = (uint8_t)~at[-1];
                at += 1;
            }
        }
    }
    assert_int_equal(compress(deflated, &packed, raw, (uLong)((row + 1) * (size_t)height)), Z_OK);
    image_put_number(head, (uint32_t)width);
    image_put_number(head + 4, states > 0 ? states : (uint32_t)height);
    head[8] = (uint8_t)bits;
    head[9] = colour_type[channels];
    memcpy(to->data, "\x89PNG\r\n\x1a\n", 8);
    to->bytes = 8;
    png_chunk(to, "IHDR", head, sizeof head);
    if (gamma > 0) {
        image_put_number(chunk, gamma);
        png_chunk(to, "gAMA", chunk, sizeof chunk);
    }
    png_chunk(to, "IDAT", deflated, packed);
    png_chunk(to, "IEND", NULL, 0);
    free(raw);
    free(deflated);
}

static inline void make_png(image_bytes *to, const uint8_t *pixels, int height, int width, int channels,
                            uint32_t states)
{
    make_png_of(to, pixels, height, width, channels, 8, 0, states);
}

/* channels 1, 3, or 4: inks. */
static inline void make_jpeg(image_bytes *to, const uint8_t *pixels, int height, int width, int channels,
                             bool progressive)
{
    struct jpeg_compress_struct info;
    struct jpeg_error_mgr error;
    unsigned char *data = NULL;
    unsigned long bytes = 0;
    info.err = jpeg_std_error(&error);
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &data, &bytes);
    info.image_width = (JDIMENSION)width;
    info.image_height = (JDIMENSION)height;
    info.input_components = channels;
    info.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, 100, TRUE);
    if (progressive) {
        jpeg_simple_progression(&info);
    }
    jpeg_start_compress(&info, TRUE);
    for (int y = 0; y < height; ++y) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(pixels + (size_t)(y * width * channels));
        jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
    assert_true(bytes <= sizeof to->data);
    memcpy(to->data, data, bytes);
    to->bytes = bytes;
    jpeg_destroy_compress(&info);
    free(data);
}

/* The checksum of a header. */
static inline void tar_seal(uint8_t *block)
{
    unsigned sum = 0;
    memset(block + 148, ' ', 8);
    for (int i = 0; i < 512; ++i) {
        sum += block[i];
    }
    snprintf((char *)block + 148, 8, "%06o", sum);
}

/* An entry behind what the archive holds; type '0': a file, '1': a hard link to `link`, '2': a symbolic one, '5': a
 * folder, 'L': the next one's name, 'K': its link. */
static inline void tar_add_entry(image_bytes *tar, const char *name, char type, const char *link, const void *data,
                                 size_t bytes)
{
    uint8_t *block = tar->data + tar->bytes;
    assert_true(tar->bytes + 1024 + bytes <= sizeof tar->data && strlen(name) <= 100 && strlen(link) <= 100);
    memset(block, 0, 512);
    memcpy(block, name, strlen(name));
    snprintf((char *)block + 124, 12, "%011zo", bytes);
    block[156] = (uint8_t)type;
    memcpy(block + 157, link, strlen(link));
    memcpy(block + 257, "ustar\0", 6);
    tar_seal(block);
    const size_t whole = (bytes + 511) / 512 * 512;
    memset(block + 512, 0, whole);
    if (bytes > 0) {
        memcpy(block + 512, data, bytes);
    }
    tar->bytes += 512 + whole;
}

static inline void tar_add(image_bytes *tar, const char *name, char type, const void *data, size_t bytes)
{
    tar_add_entry(tar, name, type, "", data, bytes);
}

static inline void tar_end(image_bytes *tar)
{
    assert_true(tar->bytes + 1024 <= sizeof tar->data);
    memset(tar->data + tar->bytes, 0, 1024);
    tar->bytes += 1024;
}

static inline void put_gzip(const char *path, const void *data, size_t bytes)
{
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, data, (unsigned)bytes), (int)bytes);
    assert_int_equal(gzclose(file), Z_OK);
}

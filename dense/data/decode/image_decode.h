/*
 * dense/data/decode/image_decode.h: a JPEG or PNG file in memory, as pixels of a wanted size.
 *
 *      file --libjpeg (at 1/2, 1/4, 1/8 where that is enough), libpng--> pixels --shorter side, centre--> wanted pixels
 *
 * The image is scaled, its proportions kept, until it covers the wanted size, and what sticks out on two sides is cut
 * off. Scaling down is a mean over the pixels that fall together (triangle filter), scaling up is bilinear. Colours
 * become red, green, blue or grey (0.299, 0.587, 0.114 of them, of PNG as of JPEG); transparent pixels are mixed with
 * black by their alpha; of 16 bits the upper 8 count; gamma and colour spaces that a file states change nothing; the
 * orientation that a camera noted is ignored.
 *
 * Files are hostile: a size that a file of so many bytes cannot hold, or above IMAGE_PIXELS_MAX, is refused before
 * memory is taken; so is what is cut off or damaged in the middle, where libjpeg would go on with grey.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { IMAGE_PIXELS_MAX = 1 << 26 };

/* What is wanted. channels: 1 or 3. */
typedef struct image_shape {
    int64_t height, width, channels;
} image_shape;

/* Memory that decoding needs and keeps from image to image; zero at first, free with image_scratch_free. */
typedef struct image_scratch {
    uint8_t *memory;
    uint8_t *data; /* [bytes] in memory */
    size_t bytes;
} image_scratch;

/* Returns true if a file that begins with these bytes is said to be JPEG or PNG. */
bool image_begins(const uint8_t *data, size_t bytes);
extern const char image_unknown[]; /* what is said of the others */

/* [out] is: the size that the file states, checked, and 1 channel if its pixels are grey, else 3. `name` is for
 * messages. WEFT_ERR_DATA: neither JPEG nor PNG, or malformed. */
weft_status image_look(const char *name, const uint8_t *data, size_t bytes, image_shape *is);

/* [out] pixels [wanted->height, wanted->width, wanted->channels]; NULL: whether it can be decoded is all.
 * WEFT_ERR_DATA: malformed; WEFT_ERR_RESOURCE. */
weft_status image_decode(const char *name, const uint8_t *data, size_t bytes, const image_shape *wanted,
                         image_scratch *scratch, uint8_t *pixels);

/* The image as its format's decoder leaves it in scratch, [is->height, is->width, least->channels]: no smaller than
 * `least` where the file is not. [out] is. Fails like image_decode. */
weft_status image_decode_large(const char *name, const uint8_t *data, size_t bytes, const image_shape *least,
                               image_scratch *scratch, image_shape *is);

/* A part of an image, in its pixels. */
typedef struct image_cutout {
    float left, top, width, height;
} image_cutout;

/* from: [is->height, is->width, is->channels]. part: inside it. [out] to: the part, stretched to `wanted`, which has as
 * many channels. */
void image_cut(const uint8_t *from, const image_shape *is, const image_cutout *part, const image_shape *wanted,
               uint8_t *to);

/* Of the libraries that decode. */
const char *image_jpeg_version(void);
const char *image_png_version(void);

/* ---- the parts ------------------------------------------------------------------------------------------------- */

/* A format: decode leaves the image, no smaller than wanted where the file's is not, in scratch; *is says how large. */
typedef struct image_codec {
    const char *magic;
    size_t magic_bytes;
    weft_status (*look)(const char *name, const uint8_t *data, size_t bytes, image_shape *is);
    weft_status (*decode)(const char *name, const uint8_t *data, size_t bytes, const image_shape *wanted,
                          image_scratch *scratch, image_shape *is);
} image_codec;

extern const image_codec image_jpeg;
extern const image_codec image_png;

/* At least so many bytes. */
weft_status image_scratch_grow(image_scratch *scratch, size_t bytes);
void image_scratch_free(image_scratch *scratch);

/* most_per_byte: pixels that a byte of such a file can hold. */
weft_status image_check_size(const char *name, size_t bytes, int64_t height, int64_t width, int64_t most_per_byte);

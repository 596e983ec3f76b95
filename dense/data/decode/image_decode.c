/* dense/data/decode/image_decode.c: see dense/data/decode/image_decode.h. */
#include "dense/data/decode/image_decode.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "io/foreign_kind.h"

static const image_codec *const codecs[] = {&image_jpeg, &image_png};
enum {
    CODECS = sizeof codecs / sizeof codecs[0],
    /* Byte of an aligned block at which images are decoded. libjpeg-turbo stores rows at multiples of 32 past the
     * cache, and waits for the memory after each, while small images are read again at once. */
    CACHED_AT = 16
};

const char image_unknown[] = "neither a JPEG nor a PNG file";

static const image_codec *codec_of(const uint8_t *data, size_t bytes)
{
    for (int i = 0; i < CODECS; ++i) {
        if (bytes >= codecs[i]->magic_bytes && memcmp(data, codecs[i]->magic, codecs[i]->magic_bytes) == 0) {
            return codecs[i];
        }
    }
    return NULL;
}

bool image_begins(const uint8_t *data, size_t bytes)
{
    return codec_of(data, bytes) != NULL;
}

static weft_status find_codec(const char *name, const uint8_t *data, size_t bytes, const image_codec **codec)
{
    *codec = codec_of(data, bytes);
    if (*codec != NULL) {
        return WEFT_OK;
    }
    const foreign_kind *kind = foreign_kind_of(data, bytes < FOREIGN_HEAD ? bytes : FOREIGN_HEAD);
    WEFT_CHECK(bytes > 0, WEFT_ERR_DATA, "%s: is empty", name);
    WEFT_CHECK(kind == NULL, WEFT_ERR_DATA, "%s: %s, but %s: %s", name, image_unknown, kind->what, kind->cure);
    return weft_fail(WEFT_ERR_DATA, "%s: %s", name, image_unknown);
}

weft_status image_scratch_grow(image_scratch *scratch, size_t bytes)
{
    if (bytes <= scratch->bytes) {
        return WEFT_OK;
    }
    image_scratch_free(scratch);
    WEFT_TRY(WEFT_NEW(&scratch->memory, bytes + CACHED_AT, WEFT_MEM_WORKSPACE));
    scratch->data = scratch->memory + CACHED_AT;
    scratch->bytes = bytes;
    return WEFT_OK;
}

void image_scratch_free(image_scratch *scratch)
{
    weft_free(scratch->memory);
    *scratch = (image_scratch){.bytes = 0};
}

weft_status image_check_size(const char *name, size_t bytes, int64_t height, int64_t width, int64_t most_per_byte)
{
    WEFT_CHECK(height >= 1 && width >= 1 && height <= IMAGE_PIXELS_MAX / width, WEFT_ERR_DATA,
               "%s: %lld x %lld pixels; an image has 1 to %d", name, (long long)height, (long long)width,
               IMAGE_PIXELS_MAX);
    WEFT_CHECK((uint64_t)(height * width) / (uint64_t)most_per_byte <= bytes, WEFT_ERR_DATA,
               "%s: states %lld x %lld pixels, more than its %zu bytes can hold: cut off or malformed", name,
               (long long)height, (long long)width, bytes);
    return WEFT_OK;
}

weft_status image_look(const char *name, const uint8_t *data, size_t bytes, image_shape *is)
{
    const image_codec *codec;
    WEFT_TRY(find_codec(name, data, bytes, &codec));
    return codec->look(name, data, bytes, is);
}

/* ---- scaling --------------------------------------------------------------------------------------------------- */

/* One direction: `count` pixels become more or fewer by `ratio` (old a new one), of which those from `skip` on
 * count. */
typedef struct axis {
    int64_t count;
    float ratio, skip;
} axis;

/* The pixels that weigh in the i-th new one: *first to *last, around *centre, which each weighs by its distance. */
static void reach(const axis *a, int64_t i, float *centre, float *radius, int64_t *first, int64_t *last)
{
    *radius = a->ratio > 1 ? a->ratio : 1;
    *centre = ((float)i + a->skip + 0.5f) * a->ratio - 0.5f;
    const float low = ceilf(*centre - *radius), high = floorf(*centre + *radius);
    *first = low > 0 ? (int64_t)low : 0;
    *last = high < (float)(a->count - 1) ? (int64_t)high : a->count - 1;
}

static float weight(float centre, float radius, int64_t at)
{
    const float away = 1 - fabsf((float)at - centre) / radius;
    return away > 0 ? away : 0;
}

static void mix_pixel(const uint8_t *from, const axis axes[2], int64_t y, int64_t x, int64_t channels, uint8_t *to)
{
    float centre[2], radius[2];
    int64_t first[2], last[2];
    float sum[4] = {0}, total = 0;
    reach(&axes[0], y, &centre[0], &radius[0], &first[0], &last[0]);
    reach(&axes[1], x, &centre[1], &radius[1], &first[1], &last[1]);
    for (int64_t i = first[0]; i <= last[0]; ++i) {
        const float down = weight(centre[0], radius[0], i);
        for (int64_t j = first[1]; j <= last[1]; ++j) {
            const float w = down * weight(centre[1], radius[1], j);
            const uint8_t *pixel = from + (i * axes[1].count + j) * channels;
            total += w;
            for (int64_t c = 0; c < channels; ++c) {
                sum[c] += w * (float)pixel[c];
            }
        }
    }
    for (int64_t c = 0; c < channels; ++c) {
        to[c] = (uint8_t)(sum[c] / total + 0.5f);
    }
}

static void mix_all(const uint8_t *from, const axis axes[2], const image_shape *wanted, uint8_t *to)
{
    for (int64_t y = 0; y < wanted->height; ++y) {
        for (int64_t x = 0; x < wanted->width; ++x, to += wanted->channels) {
            mix_pixel(from, axes, y, x, wanted->channels, to);
        }
    }
}

static void resize(const uint8_t *from, const image_shape *is, const image_shape *wanted, uint8_t *to)
{
    const float high = (float)is->height / (float)wanted->height;
    const float wide = (float)is->width / (float)wanted->width;
    const float ratio = high < wide ? high : wide;
    const axis axes[2] = {
        {.count = is->height, .ratio = ratio, .skip = ((float)is->height / ratio - (float)wanted->height) / 2},
        {.count = is->width, .ratio = ratio, .skip = ((float)is->width / ratio - (float)wanted->width) / 2}};
    mix_all(from, axes, wanted, to);
}

void image_cut(const uint8_t *from, const image_shape *is, const image_cutout *part, const image_shape *wanted,
               uint8_t *to)
{
    const float high = part->height / (float)wanted->height, wide = part->width / (float)wanted->width;
    const axis axes[2] = {{.count = is->height, .ratio = high, .skip = part->top / high},
                          {.count = is->width, .ratio = wide, .skip = part->left / wide}};
    mix_all(from, axes, wanted, to);
}

weft_status image_decode_large(const char *name, const uint8_t *data, size_t bytes, const image_shape *least,
                               image_scratch *scratch, image_shape *is)
{
    const image_codec *codec;
    WEFT_TRY(find_codec(name, data, bytes, &codec));
    return codec->decode(name, data, bytes, least, scratch, is);
}

weft_status image_decode(const char *name, const uint8_t *data, size_t bytes, const image_shape *wanted,
                         image_scratch *scratch, uint8_t *pixels)
{
    image_shape is;
    WEFT_TRY(image_decode_large(name, data, bytes, wanted, scratch, &is));
    if (pixels == NULL) {
        return WEFT_OK;
    }
    if (is.height == wanted->height && is.width == wanted->width) {
        memcpy(pixels, scratch->data, (size_t)(is.height * is.width * is.channels));
    } else {
        resize(scratch->data, &is, wanted, pixels);
    }
    return WEFT_OK;
}

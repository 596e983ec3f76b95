/* dense/data/vary/augment.c: see dense/data/vary/augment.h. */
#include "dense/data/vary/augment.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/philox.h"

/* Numbers of draws; each of the last two has its tries behind it. */
enum { TRIES = 10, DRAW_CROP = 0, DRAW_CUTOUT, DRAW_PART, DRAW_ERASE = DRAW_PART + TRIES };

/* Which part of the image is stretched over the crop; not stretched where the sizes agree. */
typedef struct place {
    int64_t top, left, height, width;
    bool flip;
} place;

/* value * scale + shift, of RUN values of a row of pixels: a multiple of each number of channels, and of a vector. */
enum { RUN = 48 };
typedef struct normaliser {
    float scale[RUN], shift[RUN];
} normaliser;

weft_status augment_check(const augment *a)
{
    WEFT_CHECK(a->channels >= 1 && a->channels <= AUGMENT_CHANNELS_MAX, WEFT_ERR_USAGE,
               "images of %lld channels; 1 to %d can be augmented", (long long)a->channels, AUGMENT_CHANNELS_MAX);
    WEFT_CHECK(a->crop_height >= 1 && a->crop_width >= 1 && a->crop_height <= a->height && a->crop_width <= a->width,
               WEFT_ERR_USAGE, "crops of %lld x %lld pixels from images of %lld x %lld", (long long)a->crop_height,
               (long long)a->crop_width, (long long)a->height, (long long)a->width);
    WEFT_CHECK(a->pad >= 0 && a->pad < a->crop_height && a->pad < a->crop_width, WEFT_ERR_USAGE,
               "a padding of %lld pixels around crops of %lld x %lld: smaller than these", (long long)a->pad,
               (long long)a->crop_height, (long long)a->crop_width);
    WEFT_CHECK(a->cutout >= 0, WEFT_ERR_USAGE, "a cutout of side %lld", (long long)a->cutout);
    WEFT_CHECK(a->erase >= 0 && a->erase <= 1, WEFT_ERR_USAGE, "%g of the images erased: a share up to 1",
               (double)a->erase);
    WEFT_CHECK(!a->resized_crop || (a->area_least > 0 && a->area_least <= 1), WEFT_ERR_USAGE,
               "crops of at least %g of the image: a share above 0 and up to 1", (double)a->area_least);
    for (int64_t c = 0; c < augment_channels(a); ++c) {
        WEFT_CHECK(isfinite(a->mean[c]) && isfinite(a->deviation[c]) && a->deviation[c] > 0, WEFT_ERR_USAGE,
                   "channel %lld has mean %g and deviation %g; the deviation is above 0", (long long)c,
                   (double)a->mean[c], (double)a->deviation[c]);
    }
    return WEFT_OK;
}

/* ---- draws ----------------------------------------------------------------------------------------------------- */

static int64_t below(uint32_t word, int64_t count)
{
    return (int64_t)(((uint64_t)word * (uint64_t)count) >> 32);
}

/* A part of random area and shape that fits; after many that do not, the whole. */
static void draw_part(const augment *a, uint64_t seed, uint32_t epoch, int64_t sample, place *p)
{
    const float widest = logf(4.0f / 3.0f);
    for (uint32_t try = 0; try < TRIES; ++try) {
        const philox_block draw =
            philox4x32(philox_counter(DRAW_PART + try, (uint64_t)sample, WEFT_RNG_AUGMENT, epoch), seed);
        const float share = a->area_least + (1 - a->area_least) * philox_uniform(draw.word[0]);
        const float area = share * (float)(a->height * a->width);
        const float ratio = expf(widest * (2 * philox_uniform(draw.word[1]) - 1));
        const int64_t height = (int64_t)lrintf(sqrtf(area / ratio));
        const int64_t width = (int64_t)lrintf(sqrtf(area * ratio));
        if (height >= 1 && width >= 1 && height <= a->height && width <= a->width) {
            p->height = height;
            p->width = width;
            p->top = below(draw.word[2], a->height - height + 1);
            p->left = below(draw.word[3], a->width - width + 1);
            return;
        }
    }
    p->height = a->height;
    p->width = a->width;
}

static place draw_place(const augment *a, uint64_t seed, uint32_t epoch, int64_t sample)
{
    const philox_block draw = philox4x32(philox_counter(DRAW_CROP, (uint64_t)sample, WEFT_RNG_AUGMENT, epoch), seed);
    place p = {.height = a->crop_height, .width = a->crop_width, .flip = a->flip && (draw.word[2] & 1) != 0};
    if (a->resized_crop) {
        draw_part(a, seed, epoch, sample, &p);
    } else {
        p.top = below(draw.word[0], a->height + 2 * a->pad - a->crop_height + 1) - a->pad;
        p.left = below(draw.word[1], a->width + 2 * a->pad - a->crop_width + 1) - a->pad;
    }
    return p;
}

/* ---- pixels ---------------------------------------------------------------------------------------------------- */

static normaliser normaliser_of(const augment *a)
{
    normaliser n = {.scale = {0}};
    for (int64_t c = 0; c < a->channels; ++c) {
        n.scale[c] = 1.0f / (255.0f * a->deviation[c]);
        n.shift[c] = -a->mean[c] / a->deviation[c];
    }
    for (int64_t k = a->channels; k < RUN; ++k) {
        n.scale[k] = n.scale[k - a->channels];
        n.shift[k] = n.shift[k - a->channels];
    }
    return n;
}

static void normalise(const normaliser *n, const uint8_t *restrict from, int64_t values, float *restrict out)
{
    for (; values >= RUN; values -= RUN, from += RUN, out += RUN) {
#pragma omp simd
        for (int64_t k = 0; k < RUN; ++k) {
            out[k] = (float)from[k] * n->scale[k] + n->shift[k];
        }
    }
    for (int64_t k = 0; k < values; ++k) {
        out[k] = (float)from[k] * n->scale[k] + n->shift[k];
    }
}

static void copy_part(const augment *a, const place *p, const uint8_t *pixels, float *out)
{
    const normaliser n = normaliser_of(a);
    const int64_t channels = a->channels;
    for (int64_t y = 0; y < a->crop_height; ++y) {
        const int64_t from_y = p->top + y;
        const bool whole = from_y >= 0 && from_y < a->height && p->left >= 0 && p->left + a->crop_width <= a->width;
        if (whole && !p->flip) {
            normalise(&n, pixels + (from_y * a->width + p->left) * channels, a->crop_width * channels, out);
            out += a->crop_width * channels;
            continue;
        }
        for (int64_t x = 0; x < a->crop_width; ++x, out += channels) {
            const int64_t from_x = p->left + (p->flip ? a->crop_width - 1 - x : x);
            const bool inside = from_y >= 0 && from_y < a->height && from_x >= 0 && from_x < a->width;
            const uint8_t *from = inside ? pixels + (from_y * a->width + from_x) * channels : NULL;
            for (int64_t c = 0; c < channels; ++c) {
                out[c] = inside ? (float)from[c] * n.scale[c] + n.shift[c] : 0.0f;
            }
        }
    }
}

/* Between which two of `count` pixels the i-th of `wanted` lies, and how far behind the first. */
static float between(int64_t i, int64_t wanted, int64_t count, int64_t *first, int64_t *second)
{
    const float at = ((float)i + 0.5f) * (float)count / (float)wanted - 0.5f;
    const float low = floorf(at);
    *first = low < 0 ? 0 : (int64_t)low;
    *second = (int64_t)low + 1 < count ? (int64_t)low + 1 : count - 1;
    return at - low;
}

/* Bilinear. */
static void stretch_part(const augment *a, const place *p, const uint8_t *pixels, float *out)
{
    const normaliser n = normaliser_of(a);
    const int64_t channels = a->channels;
    for (int64_t y = 0; y < a->crop_height; ++y) {
        int64_t y0, y1;
        const float down = between(y, a->crop_height, p->height, &y0, &y1);
        const uint8_t *upper = pixels + ((p->top + y0) * a->width + p->left) * channels;
        const uint8_t *lower = pixels + ((p->top + y1) * a->width + p->left) * channels;
        for (int64_t x = 0; x < a->crop_width; ++x, out += channels) {
            int64_t x0, x1;
            const int64_t column = p->flip ? a->crop_width - 1 - x : x;
            const float right = between(column, a->crop_width, p->width, &x0, &x1);
            for (int64_t c = 0; c < channels; ++c) {
                const float above =
                    (1 - right) * (float)upper[x0 * channels + c] + right * (float)upper[x1 * channels + c];
                const float under =
                    (1 - right) * (float)lower[x0 * channels + c] + right * (float)lower[x1 * channels + c];
                out[c] = ((1 - down) * above + down * under) * n.scale[c] + n.shift[c];
            }
        }
    }
}

static void clear(const augment *a, int64_t top, int64_t left, int64_t height, int64_t width, float *out)
{
    const int64_t begin = left > 0 ? left : 0;
    const int64_t end = left + width < a->crop_width ? left + width : a->crop_width;
    for (int64_t y = top > 0 ? top : 0; y < top + height && y < a->crop_height; ++y) {
        memset(out + (y * a->crop_width + begin) * a->channels, 0, (size_t)((end - begin) * a->channels) * sizeof *out);
    }
}

/* As torchvision.transforms.RandomErasing: areas of 2 to 33 % are drawn evenly, and logarithms of height / width from
 * 0.3 to 3.3; after many that do not fit nothing is erased. */
static void erase(const augment *a, uint64_t seed, uint32_t epoch, int64_t sample, float *out)
{
    const float least = logf(0.3f), most = logf(3.3f);
    const philox_block whether =
        philox4x32(philox_counter(DRAW_ERASE + TRIES, (uint64_t)sample, WEFT_RNG_AUGMENT, epoch), seed);
    for (uint32_t try = 0; try < TRIES && philox_uniform(whether.word[0]) < a->erase; ++try) {
        const philox_block draw =
            philox4x32(philox_counter(DRAW_ERASE + try, (uint64_t)sample, WEFT_RNG_AUGMENT, epoch), seed);
        const float share = 0.02f + 0.31f * philox_uniform(draw.word[0]);
        const float area = share * (float)(a->crop_height * a->crop_width);
        const float ratio = expf(least + (most - least) * philox_uniform(draw.word[1]));
        const int64_t height = (int64_t)lrintf(sqrtf(area * ratio)), width = (int64_t)lrintf(sqrtf(area / ratio));
        if (height >= 1 && width >= 1 && height < a->crop_height && width < a->crop_width) {
            clear(a, below(draw.word[2], a->crop_height - height + 1), below(draw.word[3], a->crop_width - width + 1),
                  height, width, out);
            return;
        }
    }
}

static void cut_out(const augment *a, uint64_t seed, uint32_t epoch, int64_t sample, float *out)
{
    const philox_block draw = philox4x32(philox_counter(DRAW_CUTOUT, (uint64_t)sample, WEFT_RNG_AUGMENT, epoch), seed);
    const int64_t top = below(draw.word[0], a->crop_height) - a->cutout / 2;
    const int64_t left = below(draw.word[1], a->crop_width) - a->cutout / 2;
    clear(a, top, left, a->cutout, a->cutout, out);
}

/* Up to three bytes, which float32 holds exactly. */
static void read_numbers(const augment *a, const uint8_t *pixels, float *out)
{
    for (int64_t i = 0; i < a->height * a->width; ++i, pixels += a->channels) {
        int32_t number = 0;
        for (int64_t c = 0; c < a->channels; ++c) {
            number |= (int32_t)pixels[c] << (8 * c);
        }
        out[i] = (float)number;
    }
}

void augment_train(const augment *a, uint64_t seed, uint32_t epoch, int64_t sample, const uint8_t *pixels, float *out)
{
    if (a->numbers) {
        read_numbers(a, pixels, out);
        return;
    }
    const place p = draw_place(a, seed, epoch, sample);
    assert(sample >= 0 && a->crop_height >= 1 && a->crop_width >= 1);
    if (a->resized_crop) {
        stretch_part(a, &p, pixels, out);
    } else {
        copy_part(a, &p, pixels, out);
    }
    if (a->cutout > 0) {
        cut_out(a, seed, epoch, sample, out);
    }
    if (a->erase > 0) {
        erase(a, seed, epoch, sample, out);
    }
}

void augment_plain(const augment *a, const uint8_t *pixels, float *out)
{
    if (a->numbers) {
        read_numbers(a, pixels, out);
        return;
    }
    const place centre = {.top = (a->height - a->crop_height) / 2, .left = (a->width - a->crop_width) / 2};
    copy_part(a, &centre, pixels, out);
}

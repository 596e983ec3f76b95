/*
 * dense/data/image_synth.c: images made from a seed, "synth:images,n=10000,size=32".
 *
 * A class is a grating: stripes of one of eight directions and of a width of its own, at a random phase and in random
 * colours, under noise. A linear model of the pixels finds stripes near one phase and misses those opposite, about
 * half; filters of a few pixels, rectified and averaged over the image, tell the classes apart.
 *
 *      pixel (y, x), channel c = 128 + 64 gain[c] cos(2 pi f (x cos a + y sin a) + phase) + 32 noise
 *
 * A sample is a function of the seed and its number over all splits: label, phase, gains and noise are its own.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/philox.h"
#include "base/text/key_numbers.h"
#include "dense/data/image_reader.h"
#include "dense/data/image_synth.h"

#define PREFIX "synth:images"

enum { RNG_LABEL = WEFT_RNG_IMAGES, RNG_LOOKS, RNG_NOISE, DIRECTIONS = 8, WIDTHS = 6 };

/* Stripes of each width: periods a pixel. */
static const double frequency[WIDTHS] = {0.18, 0.28, 0.11, 0.36, 0.07, 0.44};

typedef struct synth {
    int64_t n, test, size, channels, classes, seed;
} synth;

static const key_number keys[] = {
    {"n", offsetof(synth, n), 1, INT32_MAX},
    {"test", offsetof(synth, test), 0, INT32_MAX},
    {"size", offsetof(synth, size), 4, 4096},
    {"channels", offsetof(synth, channels), 1, 3},
    {"classes", offsetof(synth, classes), 2, DIRECTIONS *WIDTHS},
    {"seed", offsetof(synth, seed), 0, UINT32_MAX},
};
static bool matches(const char *path)
{
    const size_t length = strlen(PREFIX);
    return strncmp(path, PREFIX, length) == 0 && (path[length] == '\0' || path[length] == ',');
}

static weft_status parse(const char *path, synth *s)
{
    *s = (synth){.n = 10000, .test = 2000, .size = 32, .channels = 3, .classes = 10};
    WEFT_CHECK(matches(path), WEFT_ERR_USAGE, "%s: made images are " PREFIX ",n=...,size=...", path);
    return key_numbers_parse("synth", path + strlen(PREFIX), keys, sizeof keys / sizeof *keys, s);
}

static philox_block draw(uint64_t seed, int64_t sample, uint32_t purpose, uint32_t index)
{
    return philox4x32(philox_counter(index, (uint64_t)sample, purpose, 0), seed);
}

static int32_t label_of(const synth *s, int64_t sample)
{
    return (int32_t)(((uint64_t)draw((uint64_t)s->seed, sample, RNG_LABEL, 0).word[0] * (uint64_t)s->classes) >> 32);
}

void image_synth_draw(const image_synth_look *s, uint8_t *pixels)
{
    const double two_pi = 6.283185307179586;
    const double angle = two_pi / 2 * (s->class % DIRECTIONS) / DIRECTIONS;
    const double step = two_pi * frequency[s->class / DIRECTIONS];
    const philox_block looks = draw(s->seed, s->sample, RNG_LOOKS, 0);
    const double phase = two_pi * (double)philox_uniform(looks.word[3]);
    philox_block noise = {{0}};
    for (int64_t i = 0; i < s->size * s->size * s->channels; ++i) {
        const int64_t c = i % s->channels, x = i / s->channels % s->size;
        const int64_t y = i / s->channels / s->size;
        const double gain = 0.5 + 0.5 * (double)philox_uniform(looks.word[c]);
        if (i % 4 == 0) {
            noise = draw(s->seed, s->sample, RNG_NOISE, (uint32_t)(i / 4));
        }
        const double wave = cos(step * ((double)x * cos(angle) + (double)y * sin(angle)) + phase);
        const double value = 128 + 64 * gain * wave + 32 * (2 * (double)philox_uniform(noise.word[i % 4]) - 1);
        pixels[i] = (uint8_t)lrint(value); /* 32 to 224 */
    }
}

static weft_status make(void *self, int64_t number, uint8_t *pixels)
{
    const synth *s = self;
    image_synth_draw(&(image_synth_look){.size = s->size,
                                         .channels = s->channels,
                                         .class = label_of(s, number),
                                         .sample = number,
                                         .seed = (uint64_t)s->seed},
                     pixels);
    return WEFT_OK;
}

static weft_status fill_part(const synth *s, int64_t first, int64_t count, const image_options *options,
                             image_part *part)
{
    int32_t *label;
    WEFT_TRY(WEFT_NEW(&label, count, WEFT_MEM_IMAGE));
    part->owned = label;
    part->label = label;
    part->count = count;
#pragma omp parallel for schedule(static) num_threads(options->threads)
    for (int64_t i = 0; i < count; ++i) {
        label[i] = label_of(s, first + i);
    }
    return WEFT_OK;
}

static weft_status open_set(weft_comm *comm, const char *path, const image_options *options, image_set *set)
{
    synth *s;
    (void)comm;
    WEFT_TRY(WEFT_NEW(&s, 1, WEFT_MEM_GENERAL));
    set->store->self = s;
    set->store->make = make;
    set->store->close = weft_free;
    WEFT_TRY(parse(path, s));
    set->height = s->size;
    set->width = s->size;
    set->channels = s->channels;
    set->classes = s->classes;
    image_hash_mix(set->hash, s, sizeof *s);
    WEFT_TRY(fill_part(s, 0, s->n, options, &set->store->part[IMAGE_TRAIN]));
    return fill_part(s, s->n, s->test, options, &set->store->part[IMAGE_TEST]);
}

const image_reader image_reader_synth = {.format = IMAGE_FORMAT_SYNTH, .matches = matches, .open = open_set};

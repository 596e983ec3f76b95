/* dense/data/image_synth.h: the pixels of a made image (image_synth.c), for other makers of images. */
#pragma once

#include <stdint.h>

typedef struct image_synth_look {
    int64_t size, channels; /* pixels of a side; 1 or 3 */
    int32_t class;          /* 0 .. 47: stripes of a direction and width */
    int64_t sample;         /* phase, colours and noise are functions of this number and the seed */
    uint64_t seed;
} image_synth_look;

/* [out] pixels: [size, size, channels], from 32 to 224. */
void image_synth_draw(const image_synth_look *look, uint8_t *pixels);

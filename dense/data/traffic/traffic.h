/*
 * dense/data/traffic/traffic.h: frames of a still camera made from a seed, "synth:traffic,frames=600,objects=6": things
 * of known classes cross a road, and a file says where they are.
 *
 *      OUT/frames/000001.jpg ...            the frames
 *      OUT/truth.csv                        frame,object,class,left,top,width,height: the part of each thing in sight
 *      OUT/objects/class0/000017-1.jpg ...  things cut out of frames, to train networks on: three views of each
 *
 * A frame is a smooth dark ground, light that changes slowly, things, and noise. Thing number i looks like a sample of
 * synth:images of its class, with a faded rim, and crosses a lane in `dwell` frames; lanes are straight, and things of
 * a lane follow each other, so that none hides another. Everything is a function of the seed, the thing and the frame:
 * the same files for any number of threads.
 *
 *      frames, width, height, seed
 *      classes       of things
 *      objects       in sight on average
 *      dwell         frames in which a thing is in sight
 *      skew          tenths of the exponent by which classes get rarer (Zipf): class c has weight (c + 1)^-(skew / 10)
 *      drift=1       classes change their weights, the last becoming the most frequent, at half of the frames
 *      jump=F        the light changes at once at frame F; 0: never
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct traffic {
    int64_t frames, width, height, classes, objects, dwell, skew, drift, jump, seed;
} traffic;

/* The part of a thing that a frame shows, in pixels. */
typedef struct traffic_box {
    int64_t left, top, width, height;
} traffic_box;

bool traffic_named(const char *text);
/* WEFT_ERR_USAGE: an unknown key, a value out of range, or sizes that leave no room for a lane. */
weft_status traffic_parse(const char *text, traffic *t);

/* ---- things ---- */

/* Returns how many things there are; they come into sight in the order of their numbers. */
int64_t traffic_things(const traffic *t);
int32_t traffic_class(const traffic *t, int64_t thing);
/* Returns true if the thing is in sight. [out] box. */
bool traffic_sees(const traffic *t, int64_t thing, int64_t frame, traffic_box *box);
/* [out] first, end: things that may be in sight in a frame. */
void traffic_near(const traffic *t, int64_t frame, int64_t *first, int64_t *end);

/* ---- pictures ---- */

/* [out] pixels: [height, width, 3]. WEFT_ERR_RESOURCE. */
weft_status traffic_draw(const traffic *t, int64_t frame, uint8_t *pixels);

/* Writes the folder; whole, or nothing of it. WEFT_ERR_IO, _RESOURCE. */
weft_status traffic_write(const traffic *t, const char *path, int threads, bool force);

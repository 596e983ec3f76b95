/*
 * dense/data/motion/motion_frame.h: what moves in front of a still camera: a background, and boxes around the pixels
 * that differ from it.
 *
 *      frames --median of each pixel--> background
 *      frame - background - change of light --above a threshold--> mask --cells of 4 x 4--> components --> boxes
 *
 * A change of light that the whole frame shares is the median of the differences, and is taken off. The threshold is
 * MOTION_THRESHOLD grey levels, or six times the median deviation where a frame has more noise. A cell counts where a
 * third of its pixels are above the threshold, so that a box may lack less than a cell of a thing's side; cells that
 * touch, corners too, are one component. All of it is whole numbers: the same boxes on every machine.
 *
 * M. Piccardi: Background subtraction techniques: a review. IEEE SMC 2004, doi:10.1109/ICSMC.2004.1400815
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum {
    MOTION_THRESHOLD = 24, /* grey levels */
    MOTION_CELL = 4,       /* pixels of a cell's side */
    MOTION_LEAST = 16,     /* pixels of the smallest component */
    MOTION_BOXES_MAX = 64, /* boxes of a frame: the largest ones */
    MOTION_SAMPLES_MAX = 64
};

/* A box of a frame. */
typedef struct motion_box {
    int32_t left, top, width, height; /* pixels */
    int32_t frame, track;             /* numbers from 0 */
} motion_box;

/* Memory for boxes of frames of one size; for one thread. */
typedef struct motion_bench {
    int64_t height, width;
    struct motion_cell *cell;
    int32_t *stack;
} motion_bench;

/* [out] bench: for motion_bench_free, also after a failure. */
weft_status motion_bench_make(int64_t height, int64_t width, motion_bench *bench);
void motion_bench_free(motion_bench *bench);

/* [out] background [pixels]: the median of each pixel over `frames` of 1 to MOTION_SAMPLES_MAX frames; of an even
 * number the lower of the two in the middle. */
void motion_background(const uint8_t *const *frame, int frames, int64_t pixels, uint8_t *background);

/* frame, background: [height, width] grey. [out] box: [MOTION_BOXES_MAX], from top to bottom, then from left to right;
 * frame and track are 0. Returns how many, or -1 where most of the frame differs: the camera moved, or the scene is
 * another one. */
int motion_boxes(motion_bench *bench, const uint8_t *frame, const uint8_t *background, motion_box *box);

/*
 * dense/data/image_moving.h: the samples of a set of frames are what moves in them: boxes (motion/motion_frame.h), cut
 * out and scaled.
 *
 *      frames of a folder, in the order of their names
 *      | window 0 | window 1 | window 2 | ..      the background of a window is that of the window before it, of the
 *                                                 first window its own
 *
 * Windows of MOTION_WINDOW frames are dealt to the ranks whole, in runs; boxes are a function of a window and of the
 * one before it, and all ranks make the tracks of all boxes, so that the set is the same for any number of ranks, and
 * frames that are added behind a whole first window change no box of those before them. Another folder, or frames of
 * another size, begin a scene with a first window of its own. Boxes are looked for in grey frames of at most
 * MOTION_SIDE pixels.
 *
 * A box grows by an eighth on each side and to the proportions of the samples before it is cut out.
 */
#pragma once

#include "dense/data/image_list.h"
#include "dense/data/motion/motion_frame.h"
#include "io/item_origin.h"

enum { MOTION_WINDOW = 128 /* frames */, MOTION_SIDE = 240 };

typedef struct image_moving {
    motion_box *box; /* [count] in pixels of whole frames, in the order of frames */
    int64_t count, tracks;
    int64_t still;    /* frames that are another scene than their background, and have no boxes */
    char *names;      /* NAME#WIDTHxHEIGHT+LEFT+TOP, each with its NUL */
    int64_t *name_at; /* [count] */
} image_moving;

/* Fills in files->moving by options->known, else by looking at all frames; for image_moving_free, also after a failure.
 * WEFT_ERR_DATA: nothing moves, a frame that was known is missing, or with strict one is malformed. Collective. */
weft_status image_moving_find(weft_comm *comm, const char *path, const image_options *options, image_files *files);
void image_moving_free(image_moving *moving); /* NULL is allowed */

/* [out] pixels: of files->wanted. Any thread. WEFT_ERR_DATA: the frame is malformed. */
weft_status image_moving_cut(image_files *files, int64_t number, uint8_t *pixels);
item_origin image_moving_origin(const image_files *files, int64_t number);

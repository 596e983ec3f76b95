/*
 * dense/data/motion/motion_track.h: boxes of following frames that are one thing: a track.
 *
 * A track goes on with the box that overlaps most with where its last one would be by now, at the speed of its last two
 * boxes: the intersection is at least MOTION_OVERLAP of the union. The pairs of a frame are taken from the largest
 * overlap down. A track that has no box for MOTION_GAP frames is over. Two things that touch are one box, and so one of
 * their tracks has a gap.
 *
 * A. Bewley, Z. Ge, L. Ott, F. Ramos, B. Upcroft: Simple online and realtime tracking. ICIP 2016 (its frame, without a
 * Kalman filter), doi:10.1109/ICIP.2016.7533003
 */
#pragma once

#include "dense/data/motion/motion_frame.h"

enum { MOTION_GAP = 3 /* frames */ };

#define MOTION_OVERLAP 0.1

/* [in, out] box: [count] in the order of their frames; each gets its track, numbered in the order of first boxes. Boxes
 * whose frames are of two scenes share no track: scene [frames] is a number for each frame. [out] tracks.
 * WEFT_ERR_RESOURCE. */
weft_status motion_track(motion_box *box, int64_t count, const int32_t *scene, int64_t *tracks);

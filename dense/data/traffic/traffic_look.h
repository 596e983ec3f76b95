/* dense/data/traffic/traffic_look.h: what the files of traffic.h share: random numbers and the shape of a thing. */
#pragma once

#include "base/philox.h"
#include "dense/data/traffic/traffic.h"

enum { TRAFFIC_SIDE_MIN = 20, TRAFFIC_SIDE_MAX = 30 /* pixels of a thing's side */ };

/* What random numbers are for: the last word of their counter. */
enum { TRAFFIC_ENTRY, TRAFFIC_CLASS, TRAFFIC_SIZE, TRAFFIC_GROUND, TRAFFIC_NOISE };

typedef struct traffic_shape {
    int64_t side, lane, top;
} traffic_shape;

philox_block traffic_random(const traffic *t, int64_t thing, uint32_t use, uint32_t index);
traffic_shape traffic_shape_of(const traffic *t, int64_t thing);
/* Returns where the thing itself begins, left of the frame too, by the part of it that is in sight. */
int64_t traffic_left(const traffic *t, int64_t thing, const traffic_box *box);

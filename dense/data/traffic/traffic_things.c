/* dense/data/traffic/traffic_things.c: which things there are, and where; see dense/data/traffic/traffic.h. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/philox.h"
#include "base/text/key_numbers.h"
#include "dense/data/traffic/traffic.h"
#include "dense/data/traffic/traffic_look.h"

#define PREFIX "synth:traffic"

enum { LANE = 36 /* pixels */, LANES_MAX = 16, RNG_TRAFFIC = WEFT_RNG_IMAGES + 3 };

static const key_number keys[] = {
    {"frames", offsetof(traffic, frames), 1, 10000000}, {"width", offsetof(traffic, width), 64, 4096},
    {"height", offsetof(traffic, height), LANE, 4096},  {"classes", offsetof(traffic, classes), 2, 48},
    {"objects", offsetof(traffic, objects), 1, 64},     {"dwell", offsetof(traffic, dwell), 4, 10000},
    {"skew", offsetof(traffic, skew), 0, 50},           {"drift", offsetof(traffic, drift), 0, 1},
    {"jump", offsetof(traffic, jump), 0, 10000000},     {"seed", offsetof(traffic, seed), 0, UINT32_MAX},
};

bool traffic_named(const char *text)
{
    const size_t length = strlen(PREFIX);
    return strncmp(text, PREFIX, length) == 0 && (text[length] == '\0' || text[length] == ',');
}

static int64_t lanes_of(const traffic *t)
{
    const int64_t lanes = t->height / LANE;
    return lanes < LANES_MAX ? lanes : LANES_MAX;
}

/* Frames between two things, in all lanes together, as a fraction: dwell / objects. */
static double gap_of(const traffic *t)
{
    return (double)t->dwell / (double)t->objects;
}

weft_status traffic_parse(const char *text, traffic *t)
{
    *t = (traffic){.frames = 600, .width = 160, .height = 120, .classes = 4, .objects = 2, .dwell = 30, .skew = 10};
    WEFT_CHECK(traffic_named(text), WEFT_ERR_USAGE, "%s: made frames are " PREFIX ",frames=...,seed=...", text);
    WEFT_TRY(key_numbers_parse("synth", text + strlen(PREFIX), keys, sizeof keys / sizeof *keys, t));
    /* The way between two things of a lane, of which each takes the width of one and its share of the gap. */
    const double way = (double)(t->width + TRAFFIC_SIDE_MAX) / (double)t->dwell * gap_of(t) * (double)lanes_of(t);
    WEFT_CHECK(
        way >= 2.0 * TRAFFIC_SIDE_MAX, WEFT_ERR_USAGE,
        "%s: %lld things in sight would hide each other on %lld lanes of %lld pixels: fewer objects, or a larger "
        "width or height",
        text, (long long)t->objects, (long long)lanes_of(t), (long long)t->width);
    return WEFT_OK;
}

philox_block traffic_random(const traffic *t, int64_t thing, uint32_t use, uint32_t index)
{
    return philox4x32(philox_counter(index, (uint64_t)thing, RNG_TRAFFIC, use), (uint64_t)t->seed);
}

static double uniform(const traffic *t, int64_t thing, uint32_t use)
{
    const philox_block block = traffic_random(t, thing, use, 0);
    return philox_uniform_double(block.word[0], block.word[1]);
}

static int64_t entry_of(const traffic *t, int64_t thing)
{
    return (int64_t)(((double)thing + 0.5 * uniform(t, thing, TRAFFIC_ENTRY)) * gap_of(t));
}

int64_t traffic_things(const traffic *t)
{
    int64_t things = (int64_t)((double)t->frames / gap_of(t)) + 1;
    while (things > 1 && entry_of(t, things - 1) >= t->frames) {
        --things;
    }
    return things;
}

int32_t traffic_class(const traffic *t, int64_t thing)
{
    const double exponent = (double)t->skew / 10.0;
    double all = 0.0, sum = 0.0;
    int64_t class = 0;
    for (int64_t c = 0; c < t->classes; ++c) {
        all += pow((double)(c + 1), -exponent);
    }
    const double at = all * uniform(t, thing, TRAFFIC_CLASS);
    while (class + 1 < t->classes && (sum += pow((double)(class + 1), -exponent)) <= at) {
        ++class;
    }
    const bool turned = t->drift == 1 && 2 * entry_of(t, thing) >= t->frames;
    return (int32_t)(turned ? t->classes - 1 - class : class);
}

traffic_shape traffic_shape_of(const traffic *t, int64_t thing)
{
    const int64_t side =
        TRAFFIC_SIDE_MIN + (int64_t)(uniform(t, thing, TRAFFIC_SIZE) * (TRAFFIC_SIDE_MAX - TRAFFIC_SIDE_MIN + 1));
    const int64_t lane = thing % lanes_of(t);
    return (traffic_shape){.side = side, .lane = lane, .top = lane * (t->height / lanes_of(t)) + (LANE - side) / 2};
}

bool traffic_sees(const traffic *t, int64_t thing, int64_t frame, traffic_box *box)
{
    const traffic_shape shape = traffic_shape_of(t, thing);
    const int64_t age = frame - entry_of(t, thing);
    if (age < 0 || age >= t->dwell) {
        return false;
    }
    /* It comes into sight by a third of its side and leaves so. */
    const double way = (double)(t->width + TRAFFIC_SIDE_MAX) / (double)t->dwell * ((double)age + 0.5);
    const int64_t along = lrint(way) - (TRAFFIC_SIDE_MAX + shape.side) / 2;
    const int64_t left = shape.lane % 2 == 0 ? along : t->width - shape.side - along;
    const int64_t from = left > 0 ? left : 0;
    const int64_t to = left + shape.side < t->width ? left + shape.side : t->width;
    *box = (traffic_box){.left = from, .top = shape.top, .width = to - from, .height = shape.side};
    return to > from;
}

int64_t traffic_left(const traffic *t, int64_t thing, const traffic_box *box)
{
    return box->left > 0 ? box->left : box->left + box->width - traffic_shape_of(t, thing).side;
}

void traffic_near(const traffic *t, int64_t frame, int64_t *first, int64_t *end)
{
    const int64_t things = traffic_things(t);
    const int64_t from = (int64_t)((double)(frame - t->dwell) / gap_of(t)) - 2;
    const int64_t to = (int64_t)((double)frame / gap_of(t)) + 2;
    *first = from > 0 ? from : 0;
    *end = to < things ? to : things;
}

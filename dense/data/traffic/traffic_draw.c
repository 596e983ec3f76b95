/* dense/data/traffic/traffic_draw.c: the pixels of a frame; see dense/data/traffic/traffic.h. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "dense/data/image_synth.h"
#include "dense/data/traffic/traffic.h"
#include "dense/data/traffic/traffic_look.h"

enum {
    CHANNELS = 3,
    GRID = 16,
    DARKEST = 40,
    GROUND_RANGE = 40,
    LIGHT_RANGE = 8,
    LIGHT_PERIOD = 500,
    JUMP = 30,
    NOISE = 3
};

/* A number of the grid that the ground is interpolated from, 0 to 1. */
static double grid_at(const traffic *t, int64_t y, int64_t x, int64_t c)
{
    const philox_block block = traffic_random(t, y * 4096 + x, TRAFFIC_GROUND, 0);
    return (double)philox_uniform(block.word[c]);
}

static double light_of(const traffic *t, int64_t frame)
{
    const double slow = LIGHT_RANGE * sin(6.283185307179586 * (double)frame / LIGHT_PERIOD);
    return slow + (t->jump > 0 && frame >= t->jump ? JUMP : 0.0);
}

static void draw_ground(const traffic *t, double light, uint8_t *pixels)
{
    for (int64_t gy = 0; gy * GRID < t->height; ++gy) {
        for (int64_t gx = 0; gx * GRID < t->width; ++gx) {
            double corner[2][2][CHANNELS];
            for (int64_t k = 0; k < 4 * CHANNELS; ++k) {
                corner[k / CHANNELS / 2][k / CHANNELS % 2][k % CHANNELS] =
                    grid_at(t, gy + k / CHANNELS / 2, gx + k / CHANNELS % 2, k % CHANNELS);
            }
            for (int64_t y = gy * GRID; y < (gy + 1) * GRID && y < t->height; ++y) {
                for (int64_t i = 0; i < GRID * CHANNELS && gx * GRID + i / CHANNELS < t->width; ++i) {
                    const int64_t x = gx * GRID + i / CHANNELS, c = i % CHANNELS;
                    const double v = (double)(y % GRID) / GRID, u = (double)(x % GRID) / GRID;
                    const double upper = corner[0][0][c] * (1.0 - u) + corner[0][1][c] * u;
                    const double lower = corner[1][0][c] * (1.0 - u) + corner[1][1][c] * u;
                    const double value = DARKEST + light + GROUND_RANGE * (upper * (1.0 - v) + lower * v);
                    pixels[(y * t->width + x) * CHANNELS + c] = (uint8_t)lrint(value);
                }
            }
        }
    }
}

/* 1 inside an ellipse, 0 outside, and in between at its rim. */
static double cover_of(int64_t side, int64_t y, int64_t x)
{
    const double middle = ((double)side - 1.0) / 2.0;
    const double v = ((double)y - middle) / (double)side * 2.0, u = ((double)x - middle) / (double)side * 2.0;
    return fmin(fmax((1.0 - u * u - v * v) * 4.0, 0.0), 1.0);
}

static void draw_thing(const traffic *t, int64_t thing, const traffic_box *box, double light, uint8_t *look,
                       uint8_t *pixels)
{
    const traffic_shape shape = traffic_shape_of(t, thing);
    const int64_t left = traffic_left(t, thing, box);
    image_synth_draw(&(image_synth_look){.size = shape.side,
                                         .channels = CHANNELS,
                                         .class = traffic_class(t, thing),
                                         .sample = thing,
                                         .seed = (uint64_t)t->seed},
                     look);
    for (int64_t y = 0; y < shape.side; ++y) {
        for (int64_t x = box->left - left; x < box->left - left + box->width; ++x) {
            const double cover = cover_of(shape.side, y, x);
            uint8_t *pixel = pixels + ((box->top + y) * t->width + left + x) * CHANNELS;
            for (int64_t c = 0; c < CHANNELS; ++c) {
                const double own = fmin((double)look[(y * shape.side + x) * CHANNELS + c] + light, 250.0);
                pixel[c] = (uint8_t)lrint(cover * own + (1.0 - cover) * (double)pixel[c]);
            }
        }
    }
}

static void add_noise(const traffic *t, int64_t frame, uint8_t *pixels)
{
    enum { BYTES = sizeof(philox_block) };
    const int64_t count = t->height * t->width * CHANNELS;
    for (int64_t at = 0; at < count; at += BYTES) {
        const philox_block block = traffic_random(t, frame, TRAFFIC_NOISE, (uint32_t)(at / BYTES));
        uint8_t random[BYTES];
        memcpy(random, &block, sizeof random);
        for (int64_t i = 0; i < BYTES && at + i < count; ++i) {
            const int value = pixels[at + i] + random[i] % (2 * NOISE + 1) - NOISE;
            pixels[at + i] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
        }
    }
}

weft_status traffic_draw(const traffic *t, int64_t frame, uint8_t *pixels)
{
    const double light = light_of(t, frame);
    uint8_t *look = NULL;
    int64_t first, end;
    WEFT_TRY(WEFT_NEW(&look, TRAFFIC_SIDE_MAX * TRAFFIC_SIDE_MAX * CHANNELS, WEFT_MEM_WORKSPACE));
    draw_ground(t, light, pixels);
    traffic_near(t, frame, &first, &end);
    for (int64_t thing = first; thing < end; ++thing) {
        traffic_box box;
        if (traffic_sees(t, thing, frame, &box)) {
            draw_thing(t, thing, &box, light, look, pixels);
        }
    }
    add_noise(t, frame, pixels);
    weft_free(look);
    return WEFT_OK;
}

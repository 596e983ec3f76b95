/* dense/data/motion/motion_frame.c: see dense/data/motion/motion_frame.h. */
#include "dense/data/motion/motion_frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { LEVELS = 256, NOISE_TIMES = 6, NOISE_MOST = 4 * MOTION_THRESHOLD, MOST_PERCENT = 60 };

/* A cell of the mask. Bounds are places of its marked pixels inside the cell. */
typedef struct motion_cell {
    int8_t count, low_x, high_x, low_y, high_y;
    bool taken;
} motion_cell;

typedef struct component {
    int32_t low_x, high_x, low_y, high_y, pixels;
} component;

static int64_t cells_along(int64_t side)
{
    return (side + MOTION_CELL - 1) / MOTION_CELL;
}

weft_status motion_bench_make(int64_t height, int64_t width, motion_bench *bench)
{
    const int64_t cells = cells_along(height) * cells_along(width);
    *bench = (motion_bench){.height = height, .width = width};
    WEFT_TRY(WEFT_NEW(&bench->cell, cells, WEFT_MEM_WORKSPACE));
    return WEFT_NEW(&bench->stack, cells, WEFT_MEM_WORKSPACE);
}

void motion_bench_free(motion_bench *bench)
{
    WEFT_FREE_ALL(bench->cell, bench->stack);
    *bench = (motion_bench){.height = 0};
}

/* ---- background ---- */

void motion_background(const uint8_t *const *frame, int frames, int64_t pixels, uint8_t *background)
{
    uint8_t sorted[MOTION_SAMPLES_MAX] = {0};
    assert(frames >= 1 && frames <= MOTION_SAMPLES_MAX);
    for (int64_t p = 0; p < pixels; ++p) {
        for (int i = 0; i < frames; ++i) {
            const uint8_t value = frame[i][p];
            int at = i;
            for (; at > 0 && sorted[at - 1] > value; --at) {
                sorted[at] = sorted[at - 1];
            }
            sorted[at] = value;
        }
        background[p] = sorted[(frames - 1) / 2];
    }
}

/* ---- mask ---- */

/* Returns the place where a histogram reaches half of its count. */
static int middle_of(const int32_t *histogram, int64_t count)
{
    int64_t sum = 0;
    int at = 0;
    while ((sum += histogram[at]) * 2 < count) {
        ++at;
    }
    return at;
}

/* [out] light: the change that the frame shares. Returns the least difference from it that counts. */
static int threshold_of(const uint8_t *frame, const uint8_t *background, int64_t pixels, int *light)
{
    int32_t difference[2 * LEVELS] = {0}, deviation[2 * LEVELS] = {0};
    for (int64_t p = 0; p < pixels; ++p) {
        difference[frame[p] - background[p] + LEVELS]++;
    }
    *light = middle_of(difference, pixels) - LEVELS;
    for (int d = 0; d < 2 * LEVELS; ++d) {
        const int away = abs(d - LEVELS - *light);
        deviation[away < 2 * LEVELS ? away : 2 * LEVELS - 1] += difference[d];
    }
    const int noise = NOISE_TIMES * middle_of(deviation, pixels);
    return noise > MOTION_THRESHOLD ? noise : MOTION_THRESHOLD;
}

static void mark(motion_cell *cell, int x, int y)
{
    if (cell->count == 0) {
        *cell = (motion_cell){.low_x = (int8_t)x, .high_x = (int8_t)x, .low_y = (int8_t)y, .high_y = (int8_t)y};
    }
    cell->count++;
    cell->low_x = (int8_t)(x < cell->low_x ? x : cell->low_x);
    cell->high_x = (int8_t)(x > cell->high_x ? x : cell->high_x);
    cell->high_y = (int8_t)y; /* rows come from above */
}

/* Returns how many cells count; the others lose their marks. A frame with too much noise to tell things from it is all
 * cells. */
static int64_t mark_cells(const motion_bench *bench, const uint8_t *frame, const uint8_t *background)
{
    const int64_t height = bench->height, width = bench->width, across = cells_along(width);
    const int64_t cells = cells_along(height) * across;
    int light;
    const int least = threshold_of(frame, background, height * width, &light);
    if (least > NOISE_MOST) {
        return cells;
    }
    memset(bench->cell, 0, (size_t)cells * sizeof *bench->cell);
    for (int64_t y = 0; y < height; ++y) {
        for (int64_t x = 0; x < width; ++x) {
            if (abs(frame[y * width + x] - background[y * width + x] - light) > least) {
                mark(&bench->cell[y / MOTION_CELL * across + x / MOTION_CELL], (int)(x % MOTION_CELL),
                     (int)(y % MOTION_CELL));
            }
        }
    }
    int64_t marked = 0;
    for (int64_t i = 0; i < cells; ++i) {
        motion_cell *cell = &bench->cell[i];
        cell->count = (int8_t)(3 * cell->count >= MOTION_CELL * MOTION_CELL ? cell->count : 0);
        marked += cell->count > 0;
    }
    return marked;
}

/* ---- components ---- */

static void widen(component *c, const motion_cell *cell, int32_t x, int32_t y)
{
    const int32_t left = x * MOTION_CELL + cell->low_x, right = x * MOTION_CELL + cell->high_x;
    const int32_t top = y * MOTION_CELL + cell->low_y, bottom = y * MOTION_CELL + cell->high_y;
    c->low_x = c->pixels == 0 || left < c->low_x ? left : c->low_x;
    c->high_x = c->pixels == 0 || right > c->high_x ? right : c->high_x;
    c->low_y = c->pixels == 0 || top < c->low_y ? top : c->low_y;
    c->high_y = c->pixels == 0 || bottom > c->high_y ? bottom : c->high_y;
    c->pixels += cell->count;
}

/* Pushes the marked neighbours of a cell that nobody took. Returns the new height of the stack. */
static int64_t push_around(const motion_bench *bench, int32_t at, int64_t depth)
{
    const int32_t across = (int32_t)cells_along(bench->width), down = (int32_t)cells_along(bench->height);
    const int32_t x = at % across, y = at / across;
    for (int32_t j = y > 0 ? y - 1 : 0; j <= y + 1 && j < down; ++j) {
        for (int32_t i = x > 0 ? x - 1 : 0; i <= x + 1 && i < across; ++i) {
            motion_cell *cell = &bench->cell[j * across + i];
            if (cell->count > 0 && !cell->taken) {
                cell->taken = true;
                bench->stack[depth++] = j * across + i;
            }
        }
    }
    return depth;
}

static component grow(const motion_bench *bench, int32_t from)
{
    const int32_t across = (int32_t)cells_along(bench->width);
    component c = {.pixels = 0};
    int64_t depth = 1;
    bench->stack[0] = from;
    bench->cell[from].taken = true;
    while (depth > 0) {
        const int32_t at = bench->stack[--depth];
        widen(&c, &bench->cell[at], at % across, at / across);
        depth = push_around(bench, at, depth);
    }
    return c;
}

/* Keeps a box; of too many the smallest goes. */
static int keep(motion_box *box, int count, const motion_box *new)
{
    int least = 0;
    if (count < MOTION_BOXES_MAX) {
        box[count] = *new;
        return count + 1;
    }
    for (int i = 1; i < count; ++i) {
        least = box[i].width * box[i].height < box[least].width * box[least].height ? i : least;
    }
    if (new->width *new->height > box[least].width * box[least].height) {
        box[least] = *new;
    }
    return count;
}

static int by_place(const void *a, const void *b)
{
    const motion_box *x = a, *y = b;
    return x->top != y->top ? (x->top > y->top) - (x->top < y->top) : (x->left > y->left) - (x->left < y->left);
}

int motion_boxes(motion_bench *bench, const uint8_t *frame, const uint8_t *background, motion_box *box)
{
    const int64_t cells = cells_along(bench->height) * cells_along(bench->width);
    int count = 0;
    if (100 * mark_cells(bench, frame, background) > MOST_PERCENT * cells) {
        return -1;
    }
    for (int64_t i = 0; i < cells; ++i) {
        if (bench->cell[i].count == 0 || bench->cell[i].taken) {
            continue;
        }
        const component c = grow(bench, (int32_t)i);
        if (c.pixels >= MOTION_LEAST) {
            count = keep(box, count,
                         &(motion_box){.left = c.low_x,
                                       .top = c.low_y,
                                       .width = c.high_x - c.low_x + 1,
                                       .height = c.high_y - c.low_y + 1});
        }
    }
    qsort(box, (size_t)count, sizeof *box, by_place);
    return count;
}

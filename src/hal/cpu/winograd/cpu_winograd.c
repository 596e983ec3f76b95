/*
 * hal/cpu/winograd/cpu_winograd.c: the passes of a convolution by transformed tiles.
 *
 * Forward, and backward to the input with kernels turned round: each thread takes tiles a block at a time, which stay in its
 * second-level cache, through panels of TILE_BLOCK columns of all kernels.
 *
 *      weight --> kernels [panel, cell, pair of terms, column] \
 *                                                               multiply, cell by cell --> products --> y
 *      x --> tiles [cell, tile, channel] ----------------------/
 *
 * Backward to the weights the terms are all tiles of a batch, two side by side:
 *
 *      dy --> [cell, panel of rows, pair of tiles, row] ------\
 *                                                              multiply, cell by cell --> sums [cell, row, column] --> dweight
 *      x --> [cell, panel of columns, pair of tiles, column] -/
 *
 * Threads share out the tiles and sum on their own; where sums are large, they share out the cells and have tiles in common.
 */
#include "hal/cpu/winograd/winograd.h"

#include <string.h>

#include "hal/cpu/cpu_backend.h"
#include "hal/cpu/gemm/gemm_sizes.h"

enum { SIDE = 4, OUT_SIDE = 2, KERNEL = 3 };

typedef struct plane {
    int64_t height, width, channels;
} plane;

/* Where tiles are: tile by tile along rows of `out`, then down, then image by image. */
typedef struct tiling {
    plane in, out;
    int64_t pad[2]; /* above and to the left of `in` */
    int64_t down, across, tiles;
} tiling;

static tiling tiling_between(plane in, plane out, int64_t above, int64_t left, int64_t images)
{
    const int64_t down = (out.height + 1) / OUT_SIDE;
    const int64_t across = (out.width + 1) / OUT_SIDE;
    return (tiling){
        .in = in, .out = out, .pad = {above, left}, .down = down, .across = across, .tiles = images * down * across};
}

static tiling tiling_of(const hal_conv_shape *s, int64_t images)
{
    int64_t extent[2];
    hal_conv_extent(s, extent);
    const plane in = {s->height, s->width, s->in};
    const plane out = {extent[0], extent[1], s->out};
    return tiling_between(in, out, s->pad[0][0], s->pad[1][0], images);
}

/* Of the pass from the output back to the input. */
static tiling tiling_back(const hal_conv_shape *s, int64_t images)
{
    const tiling forward = tiling_of(s, images);
    return tiling_between(forward.out, forward.in, KERNEL - 1 - forward.pad[0], KERNEL - 1 - forward.pad[1], images);
}

bool cpu_winograd_takes(const weft_hal *hal, const hal_conv_shape *s)
{
    bool takes = cpu_state_of(hal)->kernels.winograd != NULL && s->winograd && s->dtype == WEFT_DTYPE_BF16 &&
                 !s->bias && !s->add && !s->relu && s->groups == 1 && s->in % TILE_BLOCK == 0 &&
                 s->out % TILE_BLOCK == 0;
    for (int d = 0; d < 2; ++d) {
        takes = takes && s->kernel[d] == KERNEL && s->stride[d] == 1 && s->dilation[d] == 1 && s->pad[d][0] < KERNEL &&
                s->pad[d][1] < KERNEL;
    }
    if (!takes) {
        return false;
    }
    const tiling t = tiling_of(s, 1);
    return t.tiles * TILE_CELLS < t.out.height * t.out.width * TILE_TAPS; /* else tiles are mostly outside */
}

/* ---- pixels of a tile ------------------------------------------------------------------------------------------------ */

/* A tile's square of pixels: side 4 of input, or 2 of output. offset[side * side]: of their first cells; negative outside the
 * image, and of all of a tile behind the last. */
static void find_pixels(const tiling *t, int64_t tile, int side, int64_t *offset)
{
    const bool input = side == SIDE;
    const plane *p = input ? &t->in : &t->out;
    const int64_t row = tile / t->across;
    const int64_t image = row / t->down;
    const int64_t top = row % t->down * OUT_SIDE - (input ? t->pad[0] : 0);
    const int64_t left = tile % t->across * OUT_SIDE - (input ? t->pad[1] : 0);
    for (int i = 0; i < side; ++i) {
        const int64_t y = top + i;
        for (int j = 0; j < side; ++j) {
            const int64_t x = left + j;
            const bool inside = tile < t->tiles && y >= 0 && y < p->height && x >= 0 && x < p->width;
            offset[i * side + j] = inside ? ((image * p->height + y) * p->width + x) * p->channels : -1;
        }
    }
}

/* pixel[side * side]: the same in `cells`; what is outside is zeros. */
static void find_cells(const tiling *t, int64_t tile, int side, const uint16_t *cells, const uint16_t *zeros,
                       const uint16_t **pixel)
{
    int64_t offset[TILE_CELLS];
    find_pixels(t, tile, side, offset);
    for (int i = 0; i < side * side; ++i) {
        pixel[i] = offset[i] < 0 ? zeros : cells + offset[i];
    }
}

/* ---- rooms: in elements of four bytes, whole lines ------------------------------------------------------------------ */

/* Neighbouring cells of a tile are a whole block apart, and GAP more: at multiples of 4 KiB they would all compete for the
 * same lines of a first-level cache. */
enum { LINE = 16, GAP = 2 * LINE };

static int64_t zeros_room(const tiling *t)
{
    const int64_t channels = t->in.channels > t->out.channels ? t->in.channels : t->out.channels;
    return whole(channels / 2, LINE);
}

/* Forward and back to the input. */
typedef struct plane_plan {
    int parts;
    int64_t block; /* tiles that a thread transforms at once */
    int64_t zeros, kernels, tiles, products;
} plane_plan;

static plane_plan plane_plan_of(const weft_hal *hal, const tiling *t)
{
    const int64_t bytes_of_tile = TILE_CELLS * (t->in.channels * 2 + TILE_BLOCK * 4);
    const int64_t fit = (int64_t)(cpu_l2_bytes() / 4 * 3) / bytes_of_tile / PAIR_A_PANEL * PAIR_A_PANEL;
    const int64_t all = whole((t->tiles + hal->threads - 1) / hal->threads, PAIR_A_PANEL);
    plane_plan p = {.block = smaller(fit > PAIR_A_PANEL ? fit : PAIR_A_PANEL, all)};
    p.parts = (int)smaller(hal->threads, (t->tiles + p.block - 1) / p.block);
    p.zeros = zeros_room(t);
    p.kernels = TILE_CELLS * t->in.channels * t->out.channels / 2;
    p.tiles = TILE_CELLS * (p.block * t->in.channels / 2 + GAP);
    p.products = TILE_CELLS * (p.block * TILE_BLOCK + GAP);
    return p;
}

static int64_t plane_room(const plane_plan *p)
{
    return p->zeros + p->kernels + p->parts * (p->tiles + p->products);
}

/* Back to the weights. */
typedef struct weights_plan {
    int parts;
    bool own_sums;
    int64_t block; /* pairs of tiles that are transformed at once, by a thread or by all */
    int64_t zeros, gradients, tiles, sums;
} weights_plan;

static weights_plan weights_plan_of(const weft_hal *hal, const tiling *t)
{
    const int64_t pairs = (t->tiles + 1) / 2;
    const int64_t bytes_of_pair = TILE_CELLS * 4 * (t->in.channels + t->out.channels);
    const int64_t fit = (int64_t)(cpu_l2_bytes() / 2) / bytes_of_pair;
    enum { FEWEST = 64, MOST = 128 }; /* sums come and go once for so many; a panel takes half of a first-level cache */
    weights_plan p = {.parts = (int)smaller(hal->threads, pairs)};
    p.sums = TILE_CELLS * t->in.channels * t->out.channels;
    p.own_sums = p.parts == 1 || p.sums <= OWN_C;
    p.block = p.own_sums ? (fit < FEWEST ? FEWEST : smaller(fit, MOST)) : MOST;
    p.block = smaller(p.block, p.own_sums ? (pairs + p.parts - 1) / p.parts : pairs);
    p.zeros = zeros_room(t);
    p.gradients = TILE_CELLS * (p.block * t->out.channels + GAP);
    p.tiles = TILE_CELLS * (p.block * t->in.channels + GAP);
    return p;
}

static int64_t weights_room(const weights_plan *p)
{
    return p->zeros + (p->own_sums ? p->parts : 1) * (p->gradients + p->tiles + p->sums);
}

static weft_status take_room(weft_hal *hal, int64_t elements, uint32_t **room)
{
    void *memory = NULL;
    WEFT_TRY(cpu_workspace(hal, (size_t)elements * sizeof **room, &memory));
    *room = memory;
    return WEFT_OK;
}

weft_status cpu_winograd_prepare(weft_hal *hal, const hal_conv_shape *shape, int64_t images)
{
    if (images == 0) {
        return WEFT_OK;
    }
    const tiling forward = tiling_of(shape, images);
    const tiling back = tiling_back(shape, images);
    const plane_plan plans[] = {plane_plan_of(hal, &forward), plane_plan_of(hal, &back)};
    const weights_plan weights = weights_plan_of(hal, &forward);
    uint32_t *room = NULL;
    WEFT_TRY(take_room(hal, plane_room(&plans[0]), &room));
    WEFT_TRY(take_room(hal, plane_room(&plans[1]), &room));
    return take_room(hal, weights_room(&weights), &room);
}

/* ---- forward, and back to the input ---------------------------------------------------------------------------------- */

typedef struct plane_pass {
    const cpu_winograd_kernels *kernels;
    tiling t;
    const uint16_t *zeros;
    const uint32_t *packed; /* kernels */
    const uint16_t *x;
    uint16_t *y;
} plane_pass;

/* Tiles [first, first + count) of a pass: into `tiles`, their products with a panel of kernels, and out. */
static void pass_block(const plane_pass *pass, int64_t first, int64_t count, uint16_t *tiles, float *products)
{
    const int64_t channels = pass->t.in.channels;
    const int64_t rows = whole(count, PAIR_A_PANEL);
    const int64_t pairs = channels / 2;
    const int64_t tile_cell = rows * channels + 2 * GAP;
    const int64_t product_cell = rows * TILE_BLOCK + GAP;
    for (int64_t i = 0; i < rows; ++i) {
        const uint16_t *pixel[TILE_CELLS];
        find_cells(&pass->t, i < count ? first + i : pass->t.tiles, SIDE, pass->x, pass->zeros, pixel);
        pass->kernels->input(channels, pixel, tiles + i * channels, tile_cell);
    }
    for (int64_t column = 0; column < pass->t.out.channels; column += TILE_BLOCK) {
        for (int64_t cell = 0; cell < TILE_CELLS; ++cell) {
            const uint32_t *kernels = pass->packed + (column * TILE_CELLS + cell * TILE_BLOCK) * pairs;
            pass->kernels->multiply(rows, pairs, (const uint32_t *)(const void *)(tiles + cell * tile_cell), pairs,
                                    kernels, products + cell * product_cell);
        }
        for (int64_t i = 0; i < count; ++i) {
            int64_t offset[TILE_OUT];
            uint16_t *pixel[TILE_OUT];
            find_pixels(&pass->t, first + i, OUT_SIDE, offset);
            for (int p = 0; p < TILE_OUT; ++p) {
                pixel[p] = offset[p] < 0 ? NULL : pass->y + offset[p] + column;
            }
            pass->kernels->output(products + i * TILE_BLOCK, product_cell, pixel);
        }
    }
}

/* `term` and `column`: numbers between the kernels of neighbours in `in` and in `out`. */
static weft_status run_plane(weft_hal *hal, const tiling *t, const uint16_t *x, const float *weight, int64_t term,
                             int64_t column, bool turned, uint16_t *y)
{
    const plane_plan plan = plane_plan_of(hal, t);
    const int64_t pairs = t->in.channels / 2;
    const int64_t part_room = plan.tiles + plan.products;
    uint32_t *room = NULL;
    WEFT_TRY(take_room(hal, plane_room(&plan), &room));
    uint32_t *kernels = room + plan.zeros;
    uint32_t *parts = kernels + plan.kernels;
    const plane_pass pass = {.kernels = cpu_state_of(hal)->kernels.winograd,
                             .t = *t,
                             .zeros = (const uint16_t *)room,
                             .packed = kernels,
                             .x = x,
                             .y = y};
    memset(room, 0, (size_t)plan.zeros * sizeof *room);
#pragma omp parallel for collapse(2) schedule(static) num_threads(hal->threads)
    for (int64_t to = 0; to < t->out.channels; to += TILE_BLOCK) {
        for (int64_t from = 0; from < pairs; from += TILE_BLOCK / 2) {
            pass.kernels->weights(from, from + TILE_BLOCK / 2, pairs, weight + to * column, term, column, turned,
                                  kernels + to * TILE_CELLS * pairs);
        }
    }
#pragma omp parallel for schedule(static) num_threads(plan.parts) if (plan.parts > 1)
    for (int part = 0; part < plan.parts; ++part) {
        uint32_t *own = parts + part * part_room;
        int64_t begin = 0;
        int64_t end = 0;
        hal_split_rows(t->tiles, plan.parts, part, &begin, &end);
        for (int64_t first = begin; first < end; first += plan.block) {
            pass_block(&pass, first, smaller(plan.block, end - first), (uint16_t *)own,
                       (float *)(void *)(own + plan.tiles));
        }
    }
    return WEFT_OK;
}

weft_status cpu_winograd_forward(weft_hal *hal, const hal_conv_shape *shape, int64_t images, const uint16_t *x,
                                 const float *weight, uint16_t *y)
{
    const tiling t = tiling_of(shape, images);
    return run_plane(hal, &t, x, weight, TILE_TAPS, TILE_TAPS * shape->in, false, y);
}

weft_status cpu_winograd_backward_data(weft_hal *hal, const hal_conv_shape *shape, int64_t images, const uint16_t *dy,
                                       const float *weight, uint16_t *dx)
{
    const tiling t = tiling_back(shape, images);
    return run_plane(hal, &t, dy, weight, TILE_TAPS * shape->in, TILE_TAPS, true, dx);
}

/* ---- back to the weights --------------------------------------------------------------------------------------------- */

typedef struct weights_pass {
    const cpu_winograd_kernels *winograd;
    const cpu_pair_kernels *products;
    tiling t;
    const uint16_t *zeros, *x, *dy;
} weights_pass;

/* Pairs [begin, end) of a block that begins with pair `first` and has `pairs`. */
static void pack_pairs(const weights_pass *pass, int64_t first, int64_t pairs, int64_t begin, int64_t end,
                       uint32_t *gradients, uint32_t *tiles)
{
    const int64_t in = pass->t.in.channels;
    const int64_t out = pass->t.out.channels;
    for (int64_t pair = begin; pair < end; ++pair) {
        const uint16_t *x[2][TILE_CELLS];
        const uint16_t *dy[2][TILE_OUT];
        for (int i = 0; i < 2; ++i) {
            find_cells(&pass->t, 2 * (first + pair) + i, SIDE, pass->x, pass->zeros, x[i]);
            find_cells(&pass->t, 2 * (first + pair) + i, OUT_SIDE, pass->dy, pass->zeros, dy[i]);
        }
        pass->winograd->gradient_pair(out, dy, pairs, pair, gradients, pairs * out + GAP);
        pass->winograd->input_pair(in, x, pairs, pair, tiles, pairs * in + GAP);
    }
}

/* Adds a block's products of one cell to its sums. */
static void add_products(const weights_pass *pass, int64_t cell, int64_t pairs, const uint32_t *gradients,
                         const uint32_t *tiles, bool adds, float *sums)
{
    const int64_t in = pass->t.in.channels;
    const int64_t out = pass->t.out.channels;
    pass->products->multiply(out, in, pairs, gradients + cell * (pairs * out + GAP), tiles + cell * (pairs * in + GAP),
                             adds, sums + cell * out * in, in, &(cpu_pair_ahead){.rows = 0});
}

static void sum_own(const weights_pass *pass, const weights_plan *plan, int part, uint32_t *room)
{
    uint32_t *tiles = room + plan->gradients;
    int64_t begin = 0;
    int64_t end = 0;
    hal_split_rows((pass->t.tiles + 1) / 2, plan->parts, part, &begin, &end);
    for (int64_t first = begin; first < end; first += plan->block) {
        const int64_t pairs = smaller(plan->block, end - first);
        pack_pairs(pass, first, pairs, 0, pairs, room, tiles);
        for (int64_t cell = 0; cell < TILE_CELLS; ++cell) {
            add_products(pass, cell, pairs, room, tiles, first > begin, (float *)(void *)(tiles + plan->tiles));
        }
    }
}

static void sum_together(const weights_pass *pass, const weights_plan *plan, uint32_t *room)
{
    uint32_t *tiles = room + plan->gradients;
    float *sums = (float *)(void *)(tiles + plan->tiles);
    const int64_t all = (pass->t.tiles + 1) / 2;
    for (int64_t first = 0; first < all; first += plan->block) {
        const int64_t pairs = smaller(plan->block, all - first);
#pragma omp parallel num_threads(plan->parts)
        {
#pragma omp for schedule(static)
            for (int part = 0; part < plan->parts; ++part) {
                int64_t begin = 0;
                int64_t end = 0;
                hal_split_rows(pairs, plan->parts, part, &begin, &end);
                pack_pairs(pass, first, pairs, begin, end, room, tiles);
            }
#pragma omp for schedule(static)
            for (int64_t cell = 0; cell < TILE_CELLS; ++cell) {
                add_products(pass, cell, pairs, room, tiles, first > 0, sums);
            }
        }
    }
}

weft_status cpu_winograd_backward_weights(weft_hal *hal, const hal_conv_shape *shape, int64_t images, const uint16_t *x,
                                          const uint16_t *dy, float *dweight, bool adds)
{
    const cpu_kernels *kernels = &cpu_state_of(hal)->kernels;
    const tiling t = tiling_of(shape, images);
    const weights_plan plan = weights_plan_of(hal, &t);
    const int64_t part_room = plan.gradients + plan.tiles + plan.sums;
    uint32_t *room = NULL;
    WEFT_TRY(take_room(hal, weights_room(&plan), &room));
    memset(room, 0, (size_t)plan.zeros * sizeof *room);
    const weights_pass pass = {.winograd = kernels->winograd,
                               .products = kernels->pairs,
                               .t = t,
                               .zeros = (const uint16_t *)room,
                               .x = x,
                               .dy = dy};
    uint32_t *parts = room + plan.zeros;
    if (plan.own_sums) {
#pragma omp parallel for schedule(static) num_threads(plan.parts) if (plan.parts > 1)
        for (int part = 0; part < plan.parts; ++part) {
            sum_own(&pass, &plan, part, parts + part * part_room);
        }
    } else {
        sum_together(&pass, &plan, parts);
    }
    const float *sums = (const float *)(const void *)(parts + plan.gradients + plan.tiles);
    const int64_t row = shape->in;
#pragma omp parallel for schedule(static) num_threads(hal->threads)
    for (int64_t place = 0; place < shape->out; ++place) {
        kernels->winograd->taps(row, plan.own_sums ? plan.parts : 1, sums + place * row, part_room, shape->out * row,
                                adds, dweight + tile_channel(place) * row * TILE_TAPS);
    }
    return WEFT_OK;
}

/*
 * hal/cpu/winograd/cpu_winograd.c: the passes of a convolution by transformed tiles.
 *
 * Forward, and backward to the input with kernels turned round: each thread takes tiles a block at a time, which stay
 * in its second-level cache, through blocks of columns of all kernels.
 *
 *      weight --> kernels [block, cell, term, column] \
 *                                                      multiply, cell by cell --> products --> y
 *      x --> tiles [cell, tile, term] ----------------/
 *
 * Backward to the weights the terms are all tiles of a batch:
 *
 *      dy --> [cell, block of rows, term, row] -------\
 *                                                      sum, cell by cell --> sums [cell, row, column] --> dweight
 *      x --> [cell, block of columns, term, column] --/
 *
 * Threads share out the tiles and sum on their own; where sums are large, they share out the cells and have tiles in
 * common.
 *
 * Where x comes through a norm, a thread makes the lines of pixels that its block of tiles needs, in its cache: they
 * never go to memory. Lines that two blocks need are made twice.
 */
#include "hal/cpu/winograd/winograd.h"

#include <string.h>

#include "hal/cpu/cpu_backend.h"
#include "hal/cpu/gemm/gemm_sizes.h"

static const cpu_winograd_kernels *kernels_for(const weft_hal *hal, weft_dtype dtype)
{
    const cpu_kernels *kernels = &cpu_state_of(hal)->kernels;
    switch (dtype) {
    case WEFT_DTYPE_F32:
        return kernels->winograd_f32;
    case WEFT_DTYPE_BF16:
        return kernels->winograd_bf16;
    default:
        return NULL;
    }
}

static int64_t cell_bytes(const cpu_winograd_kernels *kernels)
{
    return (int64_t)sizeof(float) / kernels->fold;
}

typedef struct plane {
    int64_t height, width, channels;
} plane;

/* Where tiles are: tile by tile along rows of `out`, then down, then image by image. */
typedef struct tiling {
    plane in, out;
    int64_t pad[2]; /* above and to the left of `in` */
    int64_t images, down, across, tiles;
} tiling;

static tiling tiling_between(plane in, plane out, int64_t above, int64_t left, int64_t images)
{
    const int64_t down = (out.height + 1) / OUT_SIDE;
    const int64_t across = (out.width + 1) / OUT_SIDE;
    return (tiling){.in = in,
                    .out = out,
                    .pad = {above, left},
                    .images = images,
                    .down = down,
                    .across = across,
                    .tiles = images * down * across};
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
    return tiling_between(forward.out, forward.in, TAPS_SIDE - 1 - forward.pad[0], TAPS_SIDE - 1 - forward.pad[1],
                          images);
}

const char *cpu_winograd_name(const weft_hal *hal, const hal_conv_shape *s)
{
    const cpu_winograd_kernels *kernels = kernels_for(hal, s->dtype);
    bool takes = kernels != NULL && s->winograd && !s->bias && !s->add && !s->relu && s->groups == 1 &&
                 s->in % kernels->block == 0 && s->out % kernels->block == 0;
    for (int d = 0; d < 2; ++d) {
        takes = takes && s->kernel[d] == TAPS_SIDE && s->stride[d] == 1 && s->dilation[d] == 1 &&
                s->pad[d][0] < TAPS_SIDE && s->pad[d][1] < TAPS_SIDE;
    }
    if (!takes) {
        return NULL;
    }
    const tiling t = tiling_of(s, 1);
    const bool saves = t.tiles * TILE_CELLS < t.out.height * t.out.width * TILE_TAPS;
    return saves ? kernels->name : NULL; /* else tiles are mostly outside */
}

/* ---- pixels of a tile -------------------------------------------------------------------------------------------- */

/* A tile's place, in tiles. */
typedef struct tile_place {
    int64_t image, down, across;
} tile_place;

static tile_place place_of(const tiling *t, int64_t tile)
{
    const int64_t row = tile / t->across;
    return (tile_place){.image = row / t->down, .down = row % t->down, .across = tile % t->across};
}

static void next_place(const tiling *t, tile_place *at)
{
    if (++at->across == t->across) {
        at->across = 0;
        if (++at->down == t->down) {
            at->down = 0;
            at->image += 1;
        }
    }
}

/* Pixels of consecutive images, from the first one's on, or lines in the middle of them. */
typedef struct pixels {
    tile_pixel first;
    int64_t skipped; /* bytes of the images before it */
} pixels;

/* A tile's square of pixels in `images`, of cells of so many bytes: side 4 of input, or 2 of output. pixel[side *
 * side]: their first cells; `outside` where there is none, as for all of a tile behind the last. */
static inline __attribute__((always_inline)) void find_pixels(const tiling *t, const tile_place *at, int side,
                                                              pixels images, int64_t bytes, tile_pixel outside,
                                                              tile_pixel *pixel)
{
    const plane *p = side == TILE_SIDE ? &t->in : &t->out;
    const int64_t top = at->down * OUT_SIDE - (side == TILE_SIDE ? t->pad[0] : 0);
    const int64_t left = at->across * OUT_SIDE - (side == TILE_SIDE ? t->pad[1] : 0);
    const int64_t across = p->channels * bytes;
    const int64_t down = p->width * across;
    const int64_t corner = (at->image * p->height + top) * down + left * across - images.skipped;
    const char *from = images.first.from;
    const bool there = at->image < t->images;
    if (there && top >= 0 && left >= 0 && top + side <= p->height && left + side <= p->width) {
        for (int i = 0; i < side * side; ++i) {
            pixel[i].from = from + corner + i / side * down + i % side * across;
        }
        return;
    }
    for (int i = 0; i < side * side; ++i) {
        const int64_t y = top + i / side;
        const int64_t x = left + i % side;
        const bool inside = there && y >= 0 && y < p->height && x >= 0 && x < p->width;
        pixel[i].from = inside ? from + corner + i / side * down + i % side * across : outside.from;
    }
}

/* Asks for piece `piece` of TILE_CELLS of the pixels of tiles [first, end), those of a plane without padding: tiles lie
 * there in order, so that the rest is not far. Products take turns with this, memory and arithmetic at once. */
static inline __attribute__((always_inline)) void fetch_pixels(const tiling *t, int64_t first, int64_t end, int side,
                                                               tile_pixel image, int64_t bytes, int64_t piece,
                                                               bool to_write)
{
    enum { LINE_BYTES = 64 };
    const plane *p = side == TILE_SIDE ? &t->in : &t->out;
    const int64_t all = t->images * p->height * p->width;
    const int64_t begin = smaller(first * TILE_OUT, all);
    const int64_t count = smaller(end * TILE_OUT, all) - begin;
    const int64_t pixel = p->channels * bytes;
    const char *from = (const char *)image.from + (begin + count * piece / TILE_CELLS) * pixel;
    const char *to = (const char *)image.from + (begin + count * (piece + 1) / TILE_CELLS) * pixel;
    for (; from < to; from += LINE_BYTES) {
        if (to_write) {
            __builtin_prefetch(from, 1, 2);
        } else {
            __builtin_prefetch(from, 0, 2);
        }
    }
}

/* ---- input that comes through a norm ----------------------------------------------------------------------------- */

typedef struct input {
    tile_pixel x;
    void (*apply)(const cpu_bn_forward *rows); /* NULL: x comes as it is */
    cpu_bn_forward norm;                       /* all but rows */
} input;

static input input_of(const weft_hal *hal, const hal_conv_shape *s, const void *x, const hal_conv_norm *norm)
{
    const cpu_kernels *kernels = &cpu_state_of(hal)->kernels;
    if (!s->norm) {
        return (input){.x.from = x};
    }
    return (input){.x.from = x,
                   .apply = (s->dtype == WEFT_DTYPE_BF16 ? &kernels->bf16 : &kernels->f32)->norm.apply,
                   .norm = {.n = s->in,
                            .ld_x = s->in,
                            .ld_y = s->in,
                            .mean = norm->mean.source,
                            .rstd = norm->rstd.source,
                            .gamma = norm->gamma.source,
                            .beta = norm->beta.source,
                            .relu = norm->relu}};
}

/* The most lines of input that so many tiles need which follow each other: two for each line of tiles, two more at the
 * end of each image. */
static int64_t lines_of(const tiling *t, int64_t tiles)
{
    const int64_t down = tiles / t->across + 2;
    return smaller(2 * (down + down / t->down + 2), t->images * t->in.height);
}

/* The pixels that tiles [first, end) need, at least one: x, or what the norm makes of it, in `lines`. */
static pixels take_pixels(const tiling *t, const input *from, int64_t first, int64_t end, int64_t bytes, void *lines)
{
    if (from->apply == NULL) {
        return (pixels){.first = from->x};
    }
    const tile_place a = place_of(t, first);
    const tile_place b = place_of(t, smaller(end, t->tiles) - 1);
    const int64_t above = a.down * OUT_SIDE - t->pad[0];
    const int64_t below = b.down * OUT_SIDE - t->pad[0] + TILE_SIDE;
    const int64_t begin = a.image * t->in.height + (above > 0 ? above : 0);
    const int64_t behind = b.image * t->in.height + smaller(below, t->in.height);
    cpu_bn_forward rows = from->norm;
    rows.m = (behind - begin) * t->in.width;
    rows.x = (const char *)from->x.from + begin * t->in.width * t->in.channels * bytes;
    rows.y = lines;
    from->apply(&rows);
    return (pixels){.first.to = lines, .skipped = begin * t->in.width * t->in.channels * bytes};
}

/* ---- rooms: in elements of four bytes, whole lines --------------------------------------------------------------- */

/* Neighbouring cells of a tile are a whole block apart, and GAP more: at multiples of 4 KiB they would all compete for
 * the same lines of a first-level cache. */
enum { LINE = 16, GAP = 2 * LINE };

static int64_t lines_room(const cpu_winograd_kernels *kernels, const tiling *t, int64_t tiles, bool norm)
{
    return norm ? whole(lines_of(t, tiles) * t->in.width * t->in.channels / kernels->fold, LINE) : 0;
}

static int64_t zeros_room(const cpu_winograd_kernels *kernels, const tiling *t)
{
    const int64_t channels = t->in.channels > t->out.channels ? t->in.channels : t->out.channels;
    return whole(channels / kernels->fold, LINE);
}

/* Forward and back to the input. */
typedef struct plane_plan {
    int parts;
    int64_t block; /* tiles that a thread transforms at once */
    int64_t zeros, kernels, tiles, products, lines;
} plane_plan;

static plane_plan plane_plan_of(const weft_hal *hal, const cpu_winograd_kernels *kernels, const tiling *t, bool norm)
{
    const int64_t terms = t->in.channels / kernels->fold;
    const int64_t bytes_of_tile = TILE_CELLS * (terms + kernels->block) * (int64_t)sizeof(float);
    /* A quarter of the cache, beside kernels and what is fetched; more only so that a kernel serves ENOUGH tiles. */
    enum { ENOUGH = 64 };
    const int64_t quarter = (int64_t)(cpu_l2_bytes() / 4) / bytes_of_tile;
    const int64_t fit = (quarter > ENOUGH ? quarter : smaller(3 * quarter, ENOUGH)) / TILE_ROWS * TILE_ROWS;
    const int64_t all = whole((t->tiles + hal->threads - 1) / hal->threads, TILE_ROWS);
    plane_plan p = {.block = smaller(fit > TILE_ROWS ? fit : TILE_ROWS, all)};
    p.parts = (int)smaller(hal->threads, (t->tiles + p.block - 1) / p.block);
    p.zeros = zeros_room(kernels, t);
    p.kernels = TILE_CELLS * terms * t->out.channels;
    p.tiles = TILE_CELLS * (p.block * terms + GAP);
    p.products = TILE_CELLS * (p.block * kernels->block + GAP);
    p.lines = lines_room(kernels, t, p.block, norm);
    return p;
}

static int64_t plane_part_room(const plane_plan *p)
{
    return p->tiles + p->products + p->lines + LINE;
}

static int64_t plane_room(const plane_plan *p)
{
    return p->zeros + p->kernels + p->parts * plane_part_room(p);
}

/* Back to the weights. */
typedef struct weights_plan {
    int parts;
    bool own_sums;
    int64_t block;                         /* terms that are transformed at once, by a thread or by all */
    int64_t zeros, gradients, tiles, sums; /* of one part, or of all together */
    int64_t lines;                         /* of each part */
} weights_plan;

static int64_t tile_terms(const cpu_winograd_kernels *kernels, const tiling *t)
{
    return (t->tiles + kernels->fold - 1) / kernels->fold;
}

static weights_plan weights_plan_of(const weft_hal *hal, const cpu_winograd_kernels *kernels, const tiling *t,
                                    bool norm)
{
    const int64_t terms = tile_terms(kernels, t);
    const int64_t bytes_of_term = TILE_CELLS * (int64_t)sizeof(float) * (t->in.channels + t->out.channels);
    const int64_t fit = (int64_t)(cpu_l2_bytes() / 2) / bytes_of_term;
    enum { FEWEST = 64, MOST = 128 }; /* sums come and go once for so many; a panel takes half of a first-level cache */
    weights_plan p = {.parts = (int)smaller(hal->threads, terms)};
    p.sums = TILE_CELLS * t->in.channels * t->out.channels;
    p.own_sums = p.parts == 1 || p.sums <= OWN_C;
    p.block = p.own_sums ? (fit < FEWEST ? FEWEST : smaller(fit, MOST)) : MOST;
    p.block = smaller(p.block, p.own_sums ? (terms + p.parts - 1) / p.parts : terms);
    p.zeros = zeros_room(kernels, t);
    p.gradients = TILE_CELLS * (p.block * t->out.channels + GAP);
    p.tiles = TILE_CELLS * (p.block * t->in.channels + GAP);
    p.lines = lines_room(kernels, t, p.block * kernels->fold, norm);
    return p;
}

static int64_t weights_room(const weights_plan *p)
{
    return p->zeros + (p->own_sums ? p->parts : 1) * (p->gradients + p->tiles + p->sums) + p->parts * p->lines;
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
    const cpu_winograd_kernels *kernels = kernels_for(hal, shape->dtype);
    const tiling forward = tiling_of(shape, images);
    const tiling back = tiling_back(shape, images);
    const plane_plan plans[] = {plane_plan_of(hal, kernels, &forward, shape->norm),
                                plane_plan_of(hal, kernels, &back, false)};
    const weights_plan weights = weights_plan_of(hal, kernels, &forward, shape->norm);
    uint32_t *room = NULL;
    WEFT_TRY(take_room(hal, plane_room(&plans[0]), &room));
    WEFT_TRY(take_room(hal, plane_room(&plans[1]), &room));
    return take_room(hal, weights_room(&weights), &room);
}

/* ---- forward, and back to the input ------------------------------------------------------------------------------ */

typedef struct plane_pass {
    const cpu_winograd_kernels *kernels;
    tiling t;
    const uint32_t *packed; /* kernels */
    input from;
    tile_pixel zeros, y;
} plane_pass;

/* Where a part works, and how many blocks of its tiles are taken. */
typedef struct plane_rooms {
    uint32_t *tiles, *lines, *taken;
    float *products;
} plane_rooms;

static plane_rooms rooms_of(const plane_plan *plan, uint32_t *parts, int part)
{
    uint32_t *tiles = parts + part * plane_part_room(plan);
    uint32_t *products = tiles + plan->tiles;
    uint32_t *lines = products + plan->products;
    return (plane_rooms){
        .tiles = tiles, .products = (float *)(void *)products, .lines = lines, .taken = lines + plan->lines};
}

/* Tiles [first, first + count) of a part that ends before `end`: into `tiles`, their products with a block of kernels,
 * and out. */
static void pass_block(const plane_pass *pass, int64_t first, int64_t count, int64_t end, const plane_rooms *own)
{
    const cpu_winograd_kernels *kernels = pass->kernels;
    const int64_t rows = whole(count, TILE_ROWS);
    const int64_t terms = pass->t.in.channels / kernels->fold;
    const int64_t tile_cell = rows * terms + GAP;
    const int64_t product_cell = rows * kernels->block + GAP;
    const int64_t bytes = cell_bytes(kernels);
    const pixels x = take_pixels(&pass->t, &pass->from, first, first + count, bytes, own->lines);
    const pixels y = {.first = pass->y};
    tile_place at = place_of(&pass->t, first);
    for (int64_t i = 0; i < rows; ++i, next_place(&pass->t, &at)) {
        tile_pixel pixel[TILE_CELLS];
        find_pixels(&pass->t, &at, TILE_SIDE, x, bytes, pass->zeros, pixel);
        kernels->input(pass->t.in.channels, pixel, own->tiles + i * terms, tile_cell);
    }
    for (int64_t column = 0; column < pass->t.out.channels; column += kernels->block) {
        for (int64_t cell = 0; cell < TILE_CELLS; ++cell) {
            if (column == 0) {
                fetch_pixels(&pass->t, first + count, smaller(first + 2 * count, end), TILE_SIDE, pass->from.x, bytes,
                             cell, false);
                fetch_pixels(&pass->t, first, first + count, OUT_SIDE, pass->y, bytes, cell, true);
            }
            kernels->multiply(rows, terms, own->tiles + cell * tile_cell, terms,
                              pass->packed + (column * TILE_CELLS + cell * kernels->block) * terms,
                              own->products + cell * product_cell);
        }
        at = place_of(&pass->t, first);
        for (int64_t i = 0; i < count; ++i, next_place(&pass->t, &at)) {
            tile_pixel pixel[TILE_OUT];
            find_pixels(&pass->t, &at, OUT_SIDE, y, bytes, (tile_pixel){.to = NULL}, pixel);
            kernels->output(own->products + i * kernels->block, product_cell, column, pixel);
        }
    }
}

/* What is left of a part's tiles, in the rooms of another or its own: the thread that is done first helps the next. */
static void pass_part(const plane_pass *pass, const plane_plan *plan, int part, uint32_t *parts, const plane_rooms *own)
{
    const plane_rooms of_part = rooms_of(plan, parts, part);
    const hal_span span = hal_split_rows(pass->t.tiles, plan->parts, part);
    for (;;) {
        uint32_t block;
#pragma omp atomic capture
        block = (*of_part.taken)++;
        const int64_t first = span.begin + block * plan->block;
        if (first >= span.end) {
            return;
        }
        pass_block(pass, first, smaller(plan->block, span.end - first), span.end, own);
    }
}

/* `channel` and `column`: numbers between the kernels of neighbours in `in` and in `out`. */
static weft_status run_plane(weft_hal *hal, const cpu_winograd_kernels *kernels, const tiling *t, const input *from,
                             const float *weight, int64_t channel, int64_t column, bool turned, void *y)
{
    const plane_plan plan = plane_plan_of(hal, kernels, t, from->apply != NULL);
    const int64_t terms = t->in.channels / kernels->fold;
    const int64_t few = kernels->block / kernels->fold;
    uint32_t *room = NULL;
    WEFT_TRY(take_room(hal, plane_room(&plan), &room));
    uint32_t *packed = room + plan.zeros;
    uint32_t *parts = packed + plan.kernels;
    const plane_pass pass = {
        .kernels = kernels, .t = *t, .packed = packed, .from = *from, .zeros.from = room, .y.to = y};
    memset(room, 0, (size_t)plan.zeros * sizeof *room);
#pragma omp parallel for collapse(2) schedule(static) num_threads(hal->threads)
    for (int64_t to = 0; to < t->out.channels; to += kernels->block) {
        for (int64_t term = 0; term < terms; term += few) {
            kernels->weights(term, term + few, terms, weight + to * column, channel, column, turned,
                             packed + to * TILE_CELLS * terms);
        }
    }
    for (int part = 0; part < plan.parts; ++part) {
        *rooms_of(&plan, parts, part).taken = 0;
    }
#pragma omp parallel for schedule(static) num_threads(plan.parts) if (plan.parts > 1)
    for (int part = 0; part < plan.parts; ++part) {
        const plane_rooms own = rooms_of(&plan, parts, part);
        for (int turn = 0; turn < plan.parts; ++turn) {
            pass_part(&pass, &plan, (part + turn) % plan.parts, parts, &own);
        }
    }
    return WEFT_OK;
}

weft_status cpu_winograd_forward(weft_hal *hal, const hal_conv_shape *shape, int64_t images, const void *x,
                                 const hal_conv_norm *norm, const float *weight, void *y)
{
    const tiling t = tiling_of(shape, images);
    const input from = input_of(hal, shape, x, norm);
    return run_plane(hal, kernels_for(hal, shape->dtype), &t, &from, weight, TILE_TAPS, TILE_TAPS * shape->in, false,
                     y);
}

weft_status cpu_winograd_backward_data(weft_hal *hal, const hal_conv_shape *shape, int64_t images, const void *dy,
                                       const float *weight, void *dx)
{
    const tiling t = tiling_back(shape, images);
    const input from = {.x.from = dy};
    return run_plane(hal, kernels_for(hal, shape->dtype), &t, &from, weight, TILE_TAPS * shape->in, TILE_TAPS, true,
                     dx);
}

/* ---- back to the weights ----------------------------------------------------------------------------------------- */

typedef struct weights_pass {
    const cpu_winograd_kernels *kernels;
    tiling t;
    input from;
    tile_pixel zeros, dy;
} weights_pass;

/* Terms [begin, end) of a block that begins with term `first` and has `terms`. */
static void pack_terms(const weights_pass *pass, int64_t first, int64_t terms, int64_t begin, int64_t end,
                       uint32_t *gradients, uint32_t *tiles, uint32_t *lines)
{
    const cpu_winograd_kernels *kernels = pass->kernels;
    const int64_t in = pass->t.in.channels;
    const int64_t out = pass->t.out.channels;
    const int64_t bytes = cell_bytes(kernels);
    if (begin == end) {
        return;
    }
    const pixels inputs = take_pixels(&pass->t, &pass->from, kernels->fold * (first + begin),
                                      kernels->fold * (first + end), bytes, lines);
    const pixels outputs = {.first = pass->dy};
    tile_place at = place_of(&pass->t, kernels->fold * (first + begin));
    for (int64_t term = begin; term < end; ++term) {
        tile_pixel x[TILE_FOLD][TILE_CELLS];
        tile_pixel dy[TILE_FOLD][TILE_OUT];
        for (int i = 0; i < kernels->fold; ++i, next_place(&pass->t, &at)) {
            find_pixels(&pass->t, &at, TILE_SIDE, inputs, bytes, pass->zeros, x[i]);
            find_pixels(&pass->t, &at, OUT_SIDE, outputs, bytes, pass->zeros, dy[i]);
        }
        kernels->gradient_term(out, dy, terms, term, gradients, terms * out + GAP);
        kernels->input_term(in, x, terms, term, tiles, terms * in + GAP);
    }
}

/* Adds a block's products of one cell to its sums. */
static void add_products(const weights_pass *pass, int64_t cell, int64_t terms, const uint32_t *gradients,
                         const uint32_t *tiles, bool adds, float *sums)
{
    const int64_t in = pass->t.in.channels;
    const int64_t out = pass->t.out.channels;
    pass->kernels->sum(out, in, terms, gradients + cell * (terms * out + GAP), tiles + cell * (terms * in + GAP), adds,
                       sums + cell * out * in);
}

static void sum_own(const weights_pass *pass, const weights_plan *plan, int part, uint32_t *room, uint32_t *lines)
{
    uint32_t *tiles = room + plan->gradients;
    const int64_t fold = pass->kernels->fold;
    const int64_t bytes = cell_bytes(pass->kernels);
    const hal_span own = hal_split_rows(tile_terms(pass->kernels, &pass->t), plan->parts, part);
    for (int64_t first = own.begin; first < own.end; first += plan->block) {
        const int64_t terms = smaller(plan->block, own.end - first);
        pack_terms(pass, first, terms, 0, terms, room, tiles, lines);
        const int64_t next = (first + terms) * fold;
        const int64_t behind = smaller(first + terms + plan->block, own.end) * fold;
        for (int64_t cell = 0; cell < TILE_CELLS; ++cell) {
            fetch_pixels(&pass->t, next, behind, TILE_SIDE, pass->from.x, bytes, cell, false);
            fetch_pixels(&pass->t, next, behind, OUT_SIDE, pass->dy, bytes, cell, false);
            add_products(pass, cell, terms, room, tiles, first > own.begin, (float *)(void *)(tiles + plan->tiles));
        }
    }
}

static void sum_together(const weights_pass *pass, const weights_plan *plan, uint32_t *room, uint32_t *lines)
{
    uint32_t *tiles = room + plan->gradients;
    float *sums = (float *)(void *)(tiles + plan->tiles);
    const int64_t all = tile_terms(pass->kernels, &pass->t);
    for (int64_t first = 0; first < all; first += plan->block) {
        const int64_t terms = smaller(plan->block, all - first);
#pragma omp parallel num_threads(plan->parts)
        {
#pragma omp for schedule(static)
            for (int part = 0; part < plan->parts; ++part) {
                const hal_span own = hal_split_rows(terms, plan->parts, part);
                pack_terms(pass, first, terms, own.begin, own.end, room, tiles, lines + part * plan->lines);
            }
#pragma omp for schedule(static)
            for (int64_t cell = 0; cell < TILE_CELLS; ++cell) {
                add_products(pass, cell, terms, room, tiles, first > 0, sums);
            }
        }
    }
}

weft_status cpu_winograd_backward_weights(weft_hal *hal, const hal_conv_shape *shape, int64_t images, const void *x,
                                          const hal_conv_norm *norm, const void *dy, float *dweight, bool adds)
{
    const cpu_winograd_kernels *kernels = kernels_for(hal, shape->dtype);
    const tiling t = tiling_of(shape, images);
    const weights_plan plan = weights_plan_of(hal, kernels, &t, shape->norm);
    const int64_t part_room = plan.gradients + plan.tiles + plan.sums;
    uint32_t *room = NULL;
    WEFT_TRY(take_room(hal, weights_room(&plan), &room));
    memset(room, 0, (size_t)plan.zeros * sizeof *room);
    const weights_pass pass = {
        .kernels = kernels, .t = t, .from = input_of(hal, shape, x, norm), .zeros.from = room, .dy.from = dy};
    uint32_t *lines = room + plan.zeros;
    uint32_t *parts = lines + plan.parts * plan.lines;
    if (plan.own_sums) {
#pragma omp parallel for schedule(static) num_threads(plan.parts) if (plan.parts > 1)
        for (int part = 0; part < plan.parts; ++part) {
            sum_own(&pass, &plan, part, parts + part * part_room, lines + part * plan.lines);
        }
    } else {
        sum_together(&pass, &plan, parts, lines);
    }
    const float *sums = (const float *)(const void *)(parts + plan.gradients + plan.tiles);
#pragma omp parallel for schedule(static) num_threads(hal->threads)
    for (int64_t row = 0; row < shape->out; ++row) {
        kernels->taps(row, shape->in, plan.own_sums ? plan.parts : 1, sums, part_room, shape->out * shape->in, adds,
                      dweight);
    }
    return WEFT_OK;
}

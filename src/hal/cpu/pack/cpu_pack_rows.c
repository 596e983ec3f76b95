/*
 * hal/cpu/pack/cpu_pack_rows.c: rows in messages (hal_row_codec, hal/hal.h), cut evenly over the threads. Eight columns
 * share a block of random numbers, whose loops over lanes compilers turn into vectors.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "base/philox.h"
#include "hal/cpu/cpu_backend.h"
#include "hal/cpu/pack/pack_internal.h"

enum { LANES = 8 };

/* Columns [8 block, 8 block + 8) of a row. */
static void random_lanes(const hal_row_rounding *r, int64_t id, int64_t block, uint32_t *lane)
{
    const philox_block random =
        philox4x32(philox_counter(r->sender << 20 | (uint32_t)block, (uint64_t)id, r->purpose, r->epoch), r->seed);
    for (unsigned l = 0; l < LANES; ++l) {
        lane[l] = philox_lane16(random, l);
    }
}

static void encode_bf16(const float *x, int count, const uint32_t *lane, uint8_t *y)
{
    for (int l = 0; l < count; ++l) {
        uint32_t bits = 0;
        memcpy(&bits, &x[l], sizeof bits);
        const uint16_t half =
            hal_magnitude(x[l]) < HAL_MAGNITUDE_INFINITY ? (uint16_t)((bits + lane[l]) >> 16) : bf16_from_float(x[l]);
        memcpy(y + 2 * l, &half, sizeof half);
    }
}

/* Magnitudes order like their bits, and what is not finite lies above everything. */
static float scale_of(const float *x, int64_t cols, float levels)
{
    int32_t most = 0;
    float top = 0.0f;
#pragma omp simd reduction(max : most)
    for (int64_t j = 0; j < cols; ++j) {
        const int32_t bits = (int32_t)hal_magnitude(x[j]);
        most = bits > most ? bits : most;
    }
    memcpy(&top, &most, sizeof top);
    return (uint32_t)most >= HAL_MAGNITUDE_INFINITY ? NAN : top < HAL_ROW_TINY ? 0.0f : top / levels;
}

/* The numbers low + q / inverse, least <= q <= most, that a row is rounded to. */
typedef struct row_grid {
    float low, inverse, least, most;
} row_grid;

/* Of int8 and int4; its first four bytes into y. */
static row_grid grid_around_zero(const float *x, int64_t cols, float levels, uint8_t *y)
{
    const float scale = scale_of(x, cols, levels);
    memcpy(y, &scale, sizeof scale);
    return (row_grid){.inverse = scale > 0.0f ? 1.0f / scale : 0.0f, .least = -levels, .most = levels};
}

/* Whole numbers in the order of the finite float32s: compilers turn their minimum and maximum into vectors. */
static int32_t place_of(float x)
{
    int32_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    return bits ^ (int32_t)((uint32_t)(bits >> 31) >> 1);
}

static float float_at(int32_t place)
{
    const int32_t bits = place ^ (int32_t)((uint32_t)(place >> 31) >> 1);
    float x = 0.0f;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Of int2. */
static row_grid grid_of_four(const float *x, int64_t cols, uint8_t *y)
{
    const float top = scale_of(x, cols, 1.0f);
    int32_t least = INT32_MAX, most = INT32_MIN;
#pragma omp simd reduction(min : least) reduction(max : most)
    for (int64_t j = 0; j < cols; ++j) {
        const int32_t place = place_of(x[j]);
        least = place < least ? place : least;
        most = place > most ? place : most;
    }
    const float low = float_at(least), high = float_at(most);
    const float width = high - bf16_to_float(bf16_below(low));
    const bool finite = isfinite(top) && isfinite(width), zeros = top == 0.0f;
    const uint16_t grid[2] = {finite && !zeros ? bf16_below(low + 0.0f) : 0, /* one zero of the two */
                              !finite ? bf16_from_float(NAN)
                              : zeros ? 0
                                      : bf16_above(width / 3.0f)};
    const float scale = bf16_to_float(grid[1]);
    memcpy(y, grid, sizeof grid);
    return (row_grid){.low = bf16_to_float(grid[0]), .inverse = scale > 0.0f ? 1.0f / scale : 0.0f, .most = 3.0f};
}

/* LANES numbers to the grid. */
static void quantise(const float *x, int count, const row_grid *grid, const uint32_t *lane, int32_t *q)
{
    float padded[LANES] = {0.0f};
    memcpy(padded, x, (size_t)count * sizeof *x);
    for (int l = 0; l < LANES; ++l) {
        const float moved = (padded[l] - grid->low) * grid->inverse + ((float)lane[l] + 0.5f) * 0x1p-16f;
        const float bounded = moved < grid->least ? grid->least : moved > grid->most ? grid->most : moved;
        const int32_t towards_zero = (int32_t)bounded;
        q[l] = towards_zero - ((float)towards_zero > bounded ? 1 : 0);
    }
}

static void encode_whole(hal_row_codec codec, const int32_t *q, int count, uint8_t *y)
{
    for (int l = 0; l < count && codec == HAL_ROWS_INT8; ++l) {
        y[l] = (uint8_t)(int8_t)q[l];
    }
    for (int l = 0; l < count && codec == HAL_ROWS_INT4; l += 2) {
        const int32_t upper = l + 1 < count ? q[l + 1] + 8 : 0;
        y[l / 2] = (uint8_t)((q[l] + 8) | upper << 4);
    }
    for (int l = 0; l < count && codec == HAL_ROWS_INT2; ++l) {
        y[l / 4] = (uint8_t)((l % 4 > 0 ? y[l / 4] : 0) | q[l] << (2 * (l % 4)));
    }
}

static void encode_row(const hal_encode_rows_args *a, const float *x, int64_t id, uint8_t *y)
{
    const int64_t cols = a->x.cols;
    const bool whole = a->codec != HAL_ROWS_BF16;
    const int a_byte = a->codec == HAL_ROWS_INT8 ? 1 : a->codec == HAL_ROWS_INT4 ? 2 : 4;
    row_grid grid = {.inverse = 0.0f};
    if (whole) {
        grid = a_byte == 4 ? grid_of_four(x, cols, y) : grid_around_zero(x, cols, a_byte == 1 ? 127.0f : 7.0f, y);
        y += 4;
    }
    for (int64_t j = 0; j < cols; j += LANES) {
        uint32_t lane[LANES];
        int32_t q[LANES] = {0};
        const int count = cols - j < LANES ? (int)(cols - j) : LANES;
        random_lanes(&a->rounding, id, j / LANES, lane);
        if (!whole) {
            encode_bf16(x + j, count, lane, y + 2 * j);
            continue;
        }
        if (grid.inverse > 0.0f) {
            quantise(x + j, count, &grid, lane, q);
        }
        encode_whole(a->codec, q, count, y + j / a_byte);
    }
}

static weft_status cpu_encode_rows(weft_hal *hal, const hal_encode_rows_args *a)
{
    const int64_t *id = a->id.source;
    assert(a->id.rows == a->x.rows && a->y.rows == a->x.rows && a->rounding.sender < 4096);
    assert(a->y.cols == hal_row_bytes(a->codec, a->x.cols));
    const int parts = cpu_parts(hal, a->x.rows * a->x.cols);
    const int64_t rows = a->x.cols > 0 ? a->x.rows : 0;
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int64_t i = 0; i < rows; ++i) {
        encode_row(a, (const float *)a->x.source + i * a->x.ld, id[i], (uint8_t *)a->y.data + i * a->y.ld);
    }
    return WEFT_OK;
}

static void decode_row(hal_row_codec codec, const uint8_t *x, int64_t cols, float *y)
{
    float scale = 0.0f;
    if (codec == HAL_ROWS_BF16) {
        for (int64_t j = 0; j < cols; ++j) {
            uint16_t half = 0;
            memcpy(&half, x + 2 * j, sizeof half);
            y[j] = bf16_to_float(half);
        }
        return;
    }
    if (codec == HAL_ROWS_INT2) {
        uint16_t grid[2];
        memcpy(grid, x, sizeof grid);
        const float low = bf16_to_float(grid[0]), step = bf16_to_float(grid[1]);
        for (int64_t j = 0; j < cols; ++j) {
            y[j] = low + step * (float)(x[4 + j / 4] >> (2 * (j % 4)) & 3);
        }
        return;
    }
    memcpy(&scale, x, sizeof scale);
    x += sizeof scale;
    if (codec == HAL_ROWS_INT8) {
        for (int64_t j = 0; j < cols; ++j) {
            y[j] = scale * (float)(int8_t)x[j];
        }
        return;
    }
    for (int64_t j = 0; j < cols; ++j) {
        y[j] = scale * (float)((x[j / 2] >> (4 * (j % 2)) & 15) - 8);
    }
}

static weft_status cpu_decode_rows(weft_hal *hal, const hal_decode_rows_args *a)
{
    assert(a->x.rows == a->y.rows && a->x.cols == hal_row_bytes(a->codec, a->y.cols));
    const int parts = cpu_parts(hal, a->y.rows * a->y.cols);
    const int64_t rows = a->y.cols > 0 ? a->y.rows : 0;
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int64_t i = 0; i < rows; ++i) {
        decode_row(a->codec, (const uint8_t *)a->x.source + i * a->x.ld, a->y.cols, (float *)a->y.data + i * a->y.ld);
    }
    return WEFT_OK;
}

void cpu_pack_row_ops(hal_ops *ops)
{
    ops->encode_rows = cpu_encode_rows;
    ops->decode_rows = cpu_decode_rows;
}

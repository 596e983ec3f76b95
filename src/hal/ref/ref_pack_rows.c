/* hal/ref/ref_pack_rows.c: rows in messages as they are defined; see hal_row_codec in hal/hal.h. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "base/philox.h"
#include "hal/ref/ref_backend.h"

/* The 16 random bits of one element. */
static uint32_t random_bits(const hal_row_rounding *r, int64_t id, int64_t col)
{
    const uint32_t index = r->sender << 20 | (uint32_t)(col / 8);
    return philox_lane16(philox4x32(philox_counter(index, (uint64_t)id, r->purpose, r->epoch), r->seed),
                         (unsigned)(col % 8));
}

/* bfloat16 is the upper half: adding random bits below it carries into it with the right probability. */
static uint16_t bf16_at_random(float x, uint32_t random)
{
    uint32_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    return isfinite(x) ? (uint16_t)((bits + random) >> 16) : bf16_from_float(x);
}

static float scale_of(const float *x, int64_t cols, float levels)
{
    float top = 0.0f;
    bool finite = true;
    for (int64_t j = 0; j < cols; ++j) {
        finite = finite && isfinite(x[j]);
        top = fabsf(x[j]) > top ? fabsf(x[j]) : top;
    }
    return !finite ? NAN : top < HAL_ROW_TINY ? 0.0f : top / levels;
}

/* x / scale to a whole number, up or down at random. */
static int quantise(float x, float scale, int levels, uint32_t random)
{
    const float q = floorf(x * (1.0f / scale) + ((float)random + 0.5f) * 0x1p-16f);
    return q > (float)levels ? levels : q < (float)-levels ? -levels : (int)q;
}

static void encode_row(const hal_encode_rows_args *args, const float *x, int64_t id, uint8_t *y)
{
    const bool bytes = args->codec == HAL_ROWS_INT8;
    const int levels = bytes ? 127 : 7;
    const int64_t cols = args->x.cols;
    const float scale = scale_of(x, cols, (float)levels);
    memset(y, 0, (size_t)hal_row_bytes(args->codec, cols));
    memcpy(y, &scale, sizeof scale);
    for (int64_t j = 0; j < cols; ++j) {
        const int q = scale > 0.0f ? quantise(x[j], scale, levels, random_bits(&args->rounding, id, j)) : 0;
        if (bytes) {
            y[4 + j] = (uint8_t)(int8_t)q;
        } else {
            y[4 + j / 2] |= (uint8_t)((unsigned)(q + 8) << (4 * (j % 2)));
        }
    }
}

/* low and scale of a row of int2. */
static void write_grid(const float *x, int64_t cols, uint16_t grid[2])
{
    const float scale = scale_of(x, cols, 1.0f);
    float low = x[0], high = x[0];
    for (int64_t j = 1; j < cols; ++j) {
        low = x[j] < low ? x[j] : low;
        high = x[j] > high ? x[j] : high;
    }
    const float width = high - bf16_to_float(bf16_below(low));
    const bool finite = isfinite(scale) && isfinite(width);
    grid[0] = finite && scale > 0.0f ? bf16_below(low + 0.0f) : 0; /* one zero of the two */
    grid[1] = !finite ? bf16_from_float(NAN) : scale > 0.0f ? bf16_above(width / 3.0f) : 0;
}

static void encode_row_int2(const hal_encode_rows_args *args, const float *x, int64_t id, uint8_t *y)
{
    uint16_t grid[2];
    memset(y, 0, (size_t)hal_row_bytes(HAL_ROWS_INT2, args->x.cols));
    write_grid(x, args->x.cols, grid);
    memcpy(y, grid, sizeof grid);
    const float low = bf16_to_float(grid[0]), scale = bf16_to_float(grid[1]);
    for (int64_t j = 0; j < args->x.cols && scale > 0.0f; ++j) {
        const int q = quantise(x[j] - low, scale, 3, random_bits(&args->rounding, id, j));
        y[4 + j / 4] |= (uint8_t)((unsigned)q << (2 * (j % 4)));
    }
}

weft_status ref_encode_rows_mixed(const hal_encode_rows_args *args)
{
    const int64_t *id = args->id.source;
    assert(args->id.rows == args->x.rows && args->y.rows == args->x.rows);
    assert(args->y.cols == hal_row_bytes(args->codec, args->x.cols) && args->rounding.sender < 4096);
    for (int64_t i = 0; i < args->x.rows && args->x.cols > 0; ++i) {
        const float *x = (const float *)args->x.source + i * args->x.ld;
        uint8_t *y = (uint8_t *)args->y.data + i * args->y.ld;
        if (args->codec != HAL_ROWS_BF16) {
            (args->codec == HAL_ROWS_INT2 ? encode_row_int2 : encode_row)(args, x, id[i], y);
            continue;
        }
        for (int64_t j = 0; j < args->x.cols; ++j) {
            const uint16_t half = bf16_at_random(x[j], random_bits(&args->rounding, id[i], j));
            memcpy(y + 2 * j, &half, sizeof half);
        }
    }
    return WEFT_OK;
}

static float decode_element(hal_row_codec codec, const uint8_t *x, int64_t j)
{
    uint16_t half = 0;
    float scale = 0.0f;
    if (codec == HAL_ROWS_BF16) {
        memcpy(&half, x + 2 * j, sizeof half);
        return bf16_to_float(half);
    }
    if (codec == HAL_ROWS_INT2) {
        uint16_t grid[2];
        memcpy(grid, x, sizeof grid);
        return bf16_to_float(grid[0]) + bf16_to_float(grid[1]) * (float)(x[4 + j / 4] >> (2 * (j % 4)) & 3);
    }
    memcpy(&scale, x, sizeof scale);
    const int q = codec == HAL_ROWS_INT8 ? (int8_t)x[4 + j] : (x[4 + j / 2] >> (4 * (j % 2)) & 15) - 8;
    return scale * (float)q;
}

weft_status ref_decode_rows_mixed(const hal_decode_rows_args *args)
{
    assert(args->x.rows == args->y.rows && args->x.cols == hal_row_bytes(args->codec, args->y.cols));
    EACH_ELEMENT(y) {
        ((float *)args->y.data)[i * args->y.ld + j] =
            decode_element(args->codec, (const uint8_t *)args->x.source + i * args->x.ld, j);
    }
    return WEFT_OK;
}

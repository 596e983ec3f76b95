/* comm/halo/halo_mix.c: see comm/halo/halo_mix.h. */
#include "comm/halo/halo_mix.h"

#include <math.h>
#include <string.h>

enum { CLASS_INT8, CLASS_INT4, CLASS_INT2, LANES = 16 };

const hal_row_codec halo_mix_codecs[MIX_CLASSES] = {HAL_ROWS_INT8, HAL_ROWS_INT4, HAL_ROWS_INT2};

/* In lanes, so that the compiler makes vectors of them. */
halo_mix_range halo_mix_range_of(const float *row, int64_t cols)
{
    float low[LANES], high[LANES], sum[LANES];
    for (int i = 0; i < LANES; ++i) {
        low[i] = INFINITY;
        high[i] = -INFINITY;
        sum[i] = 0.0f;
    }
    int64_t j = 0;
    for (; j + LANES <= cols; j += LANES) {
        for (int i = 0; i < LANES; ++i) {
            const float x = row[j + i];
            low[i] = x < low[i] ? x : low[i];
            high[i] = x > high[i] ? x : high[i];
            sum[i] += x * 0.0f; /* NaN of what is not finite */
        }
    }
    for (; j < cols; ++j) {
        const float x = row[j];
        low[0] = x < low[0] ? x : low[0];
        high[0] = x > high[0] ? x : high[0];
        sum[0] += x * 0.0f;
    }
    for (int i = 1; i < LANES; ++i) {
        low[0] = low[i] < low[0] ? low[i] : low[0];
        high[0] = high[i] > high[0] ? high[i] : high[0];
        sum[0] += sum[i];
    }
    return cols > 0 ? (halo_mix_range){low[0] + sum[0], high[0] + sum[0]} : (halo_mix_range){0.0f, 0.0f};
}

static int64_t budget(int64_t rows, int64_t cols, double bits)
{
    const int64_t least = rows * hal_row_bytes(HAL_ROWS_INT2, cols);
    const double scale_bytes = 4.0;
    const int64_t wanted = (int64_t)((double)rows * (scale_bytes + bits * (double)cols / 8.0));
    return wanted > least ? wanted : least;
}

int64_t halo_mix_bytes(int64_t rows, int64_t cols, double bits)
{
    return rows > 0 && cols > 0 ? halo_mix_header(rows) + budget(rows, cols, bits) : 0;
}

/* ---- choosing --------------------------------------------------------------------------------------------------- */

static double of_step(double step, int64_t cols)
{
    return (double)cols * step * step / 6.0;
}

void halo_mix_variances(halo_mix_range range, int64_t cols, double variance[MIX_CLASSES])
{
    const double low = (double)range.low, high = (double)range.high;
    const double largest = fmax(fabs(low), fabs(high));
    variance[CLASS_INT8] = of_step(largest / 127.0, cols);
    variance[CLASS_INT4] = of_step(largest / 7.0, cols);
    variance[CLASS_INT2] = of_step((high - low) / 3.0, cols);
}

/* A piece of a row's curve: what it takes off the variance a byte, and its bytes. */
typedef struct mix_step {
    int to; /* class */
    int64_t bytes;
    double slope;
} mix_step;

/* From int2 upwards, slopes falling. Returns how many. */
static int steps_of(halo_mix_range range, int64_t cols, mix_step step[2])
{
    double v[MIX_CLASSES];
    const int64_t bytes8 = hal_row_bytes(HAL_ROWS_INT8, cols) - hal_row_bytes(HAL_ROWS_INT2, cols);
    const int64_t bytes4 = hal_row_bytes(HAL_ROWS_INT4, cols) - hal_row_bytes(HAL_ROWS_INT2, cols);
    halo_mix_variances(range, cols, v);
    if (!(v[CLASS_INT2] > v[CLASS_INT8]) || bytes8 == 0) { /* nothing to gain; NaN arrives as NaN in any class */
        return 0;
    }
    const double whole = (v[CLASS_INT2] - v[CLASS_INT8]) / (double)bytes8;
    const double first = bytes4 > 0 ? (v[CLASS_INT2] - v[CLASS_INT4]) / (double)bytes4 : 0.0;
    if (first <= whole) {
        step[0] = (mix_step){.to = CLASS_INT8, .bytes = bytes8, .slope = whole};
        return 1;
    }
    step[0] = (mix_step){.to = CLASS_INT4, .bytes = bytes4, .slope = first};
    step[1] = (mix_step){.to = CLASS_INT8,
                         .bytes = bytes8 - bytes4,
                         .slope = (v[CLASS_INT4] - v[CLASS_INT8]) / (double)(bytes8 - bytes4)};
    return 2;
}

/* Of a slope above 0: exponent and leading bits of the mantissa, which order as numbers do. */
static int bucket_of(double slope)
{
    uint32_t bits = 0;
    const float narrow = slope < (double)HAL_ROW_TINY ? HAL_ROW_TINY : slope > 3e38 ? 3e38f : (float)slope;
    memcpy(&bits, &narrow, sizeof bits);
    return (int)(bits >> 18);
}

void halo_mix_choose(const halo_mix_range *range, int64_t rows, int64_t cols, double bits, int64_t *bucket,
                     uint8_t *class)
{
    int64_t left = budget(rows, cols, bits) - rows * hal_row_bytes(HAL_ROWS_INT2, cols);
    mix_step step[2];
    memset(bucket, 0, MIX_BUCKETS * sizeof *bucket);
    for (int64_t i = 0; i < rows; ++i) {
        const int steps = steps_of(range[i], cols, step);
        for (int k = 0; k < steps; ++k) {
            bucket[bucket_of(step[k].slope)] += step[k].bytes;
        }
    }
    int last = MIX_BUCKETS - 1; /* all steps above it fit; of its own some may */
    while (last > 0 && bucket[last] <= left) {
        left -= bucket[last--];
    }
    for (int64_t i = 0; i < rows; ++i) {
        const int steps = steps_of(range[i], cols, step);
        class[i] = CLASS_INT2;
        for (int k = 0; k < steps; ++k) {
            const int at = bucket_of(step[k].slope);
            if (at < last || (at == last && step[k].bytes > left)) {
                break;
            }
            left -= at == last ? step[k].bytes : 0;
            class[i] = (uint8_t)step[k].to;
        }
    }
}

/* ---- the beginning of a message ---------------------------------------------------------------------------------- */

void halo_mix_write(const uint8_t *class, int64_t rows, uint8_t *header)
{
    memset(header, 0, (size_t)halo_mix_header(rows));
    for (int64_t i = 0; i < rows; ++i) {
        header[i / 4] |= (uint8_t)(class[i] << (2 * (i % 4)));
    }
}

weft_status halo_mix_read(const uint8_t *header, int64_t rows, int64_t cols, double bits, uint8_t *class,
                          int64_t count[MIX_CLASSES])
{
    int64_t bytes = 0;
    memset(count, 0, MIX_CLASSES * sizeof *count);
    for (int64_t i = 0; i < rows; ++i) {
        class[i] = header[i / 4] >> (2 * (i % 4)) & 3;
        WEFT_CHECK(class[i] < MIX_CLASSES, WEFT_ERR_INTERNAL, "halo: row %lld of a message has no number of bits",
                   (long long)i);
        count[class[i]] += 1;
        bytes += hal_row_bytes(halo_mix_codecs[class[i]], cols);
    }
    WEFT_CHECK(bytes <= budget(rows, cols, bits), WEFT_ERR_INTERNAL,
               "halo: the %lld rows of a message say that they take %lld bytes, it has %lld", (long long)rows,
               (long long)bytes, (long long)budget(rows, cols, bits));
    return WEFT_OK;
}

void halo_mix_order(const uint8_t *class, int64_t rows, int64_t count[MIX_CLASSES], int32_t *order)
{
    int64_t next[MIX_CLASSES] = {0};
    memset(count, 0, MIX_CLASSES * sizeof *count);
    for (int64_t i = 0; i < rows; ++i) {
        count[class[i]] += 1;
    }
    for (int c = 1; c < MIX_CLASSES; ++c) {
        next[c] = next[c - 1] + count[c - 1];
    }
    for (int64_t i = 0; i < rows; ++i) {
        order[next[class[i]]++] = (int32_t)i;
    }
}

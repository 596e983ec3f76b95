/*
 * gnn/data/generate/generator_vertex.c: classes, labels, splits and features of generated vertices, each a function of
 * the id.
 *
 * Feature noise takes its normal deviates from a table of 2^15 quantiles: 15 bits of a 16-bit Philox lane choose the
 * magnitude, one bit the sign. Eight values cost one Philox block, so 600 columns of 230,000 vertices take about a
 * second; the largest magnitude is 4.2.
 */
#include <assert.h>
#include <math.h>

#include "base/alloc.h"
#include "gnn/data/generate/generator_parts.h"

enum { QUANTILES = 1 << 15, LANES = 8 };

struct generator_features {
    int64_t width, classes;
    uint64_t seed;
    int threads;
    float *mean;             /* [classes, width], signal included */
    float *quantile;         /* [QUANTILES] positive half of the standard normal */
    const int32_t *class_of; /* [n], the caller's */
};

/* Uniform integer below `count` from one word. */
static int32_t uniform_below(uint32_t word, int64_t count)
{
    return (int32_t)(((uint64_t)word * (uint64_t)count) >> 32);
}

void generator_labels(const generator_spec *spec, const int32_t *group, int threads, int32_t *class_of, int32_t *label)
{
    int64_t n = (int64_t)spec->vertices, classes = (int64_t)spec->classes;
    assert(classes >= 1);
    uint64_t seed = (uint64_t)spec->seed;
    float noise = (float)spec->label_noise;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t v = 0; v < n; ++v) {
        philox_block block = philox4x32(philox_counter(0, (uint64_t)v, GENERATOR_RNG_LABEL, 0), seed);
        class_of[v] = group != NULL ? (int32_t)(group[v] % classes) : uniform_below(block.word[0], classes);
        bool redraw = philox_uniform(block.word[1]) < noise;
        label[v] = redraw ? uniform_below(block.word[2], classes) : class_of[v];
    }
}

void generator_splits(const generator_spec *spec, int threads, uint8_t *split)
{
    int64_t n = (int64_t)spec->vertices, train = llround(spec->train * spec->vertices);
    int64_t valid = train + llround(spec->valid * spec->vertices);
    int64_t test = spec->test < 0 ? n : valid + llround(spec->test * spec->vertices);
    permutation deal = permutation_make((uint64_t)n, (uint64_t)spec->seed, GENERATOR_RNG_SPLIT, 0);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t v = 0; v < n; ++v) {
        int64_t place = (int64_t)permute(&deal, (uint64_t)v);
        split[v] = (uint8_t)(place < train ? 0 : place < valid ? 1 : place < test ? 2 : 255);
    }
}

/* Magnitudes at the middles of QUANTILES equal shares of the half normal, by Newton's method on erf, upwards. */
static void fill_quantiles(float *quantile)
{
    double x = 0;
    for (int i = 0; i < QUANTILES; ++i) {
        double tail = 1 - (i + 0.5) / QUANTILES;
        for (int step = 0; step < 20; ++step) {
            double miss = erfc(x * M_SQRT1_2) - tail, slope = sqrt(2 / M_PI) * exp(-0.5 * x * x);
            x += miss / slope;
            if (fabs(miss) < 1e-14) {
                break;
            }
        }
        quantile[i] = (float)x;
    }
}

static inline float lane_normal(const float *quantile, uint32_t lane)
{
    float magnitude = quantile[lane >> 1];
    return (lane & 1u) != 0 ? -magnitude : magnitude;
}

/* out [width] += scale * standard normals of (purpose, id), eight a block. */
static void add_normals(const float *quantile, uint64_t seed, uint32_t purpose, uint64_t id, float scale, int64_t width,
                        float *out)
{
    for (int64_t j = 0; j < width; j += LANES) {
        philox_block block = philox4x32(philox_counter((uint32_t)(j / LANES), id, purpose, 0), seed);
        int64_t lanes = width - j < LANES ? width - j : LANES;
        for (int64_t lane = 0; lane < lanes; ++lane) {
            out[j + lane] += scale * lane_normal(quantile, philox_lane16(block, (unsigned)lane));
        }
    }
}

weft_status generator_features_create(const generator_spec *spec, const int32_t *class_of, int threads,
                                      generator_features **out)
{
    weft_status status;
    generator_features *features = NULL;
    *out = NULL;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&features, 1, WEFT_MEM_WORKSPACE), status, done);
    features->width = (int64_t)spec->features;
    features->classes = (int64_t)spec->classes;
    features->seed = (uint64_t)spec->seed;
    features->threads = threads;
    features->class_of = class_of;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&features->mean, features->classes * features->width, WEFT_MEM_WORKSPACE), status,
                  done);
    WEFT_TRY_GOTO(WEFT_NEW(&features->quantile, QUANTILES, WEFT_MEM_WORKSPACE), status, done);
    fill_quantiles(features->quantile);
    for (int64_t c = 0; c < features->classes; ++c) {
        add_normals(features->quantile, features->seed, GENERATOR_RNG_MEAN, (uint64_t)c, (float)spec->signal,
                    features->width, features->mean + c * features->width);
    }
    *out = features;
    features = NULL;

done:
    generator_features_destroy(features);
    return status;
}

void generator_features_fill(const generator_features *features, int64_t row, int64_t rows, float *out)
{
    int64_t width = features->width;
#pragma omp parallel for schedule(static) num_threads(features->threads)
    for (int64_t i = 0; i < rows; ++i) {
        assert(features->class_of[row + i] >= 0 && features->class_of[row + i] < features->classes);
        const float *mean = features->mean + features->class_of[row + i] * width;
        float *x = out + i * width;
        for (int64_t j = 0; j < width; ++j) {
            x[j] = mean[j];
        }
        add_normals(features->quantile, features->seed, GENERATOR_RNG_FEATURE, (uint64_t)(row + i), 1.0f, width, x);
    }
}

void generator_features_destroy(generator_features *features)
{
    if (features == NULL) {
        return;
    }
    WEFT_FREE_ALL(features->mean, features->quantile, features);
}

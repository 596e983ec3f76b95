/*
 * clicks/synth/made_rows_body.h: the kernel of made_rows.h, included once for each instruction set with its name as
 * MADE_ROW. Fields are the lanes of vectors.
 *
 * Ids are drawn by rejection-inversion (W. Hormann, G. Derflinger, Rejection-inversion to generate variates from
 * monotone discrete distributions, ACM TOMACS 6(3), 1996, doi:10.1145/235025.235029). With s = 1 + 1/20 the integral
 * of x^-s is 20 (1 - x^(-1/20)), so the draw is uniform in t = x^(-1/20) and x = t^-20 takes products alone:
 *
 *     t = low + U span,   low = (R + 1/2)^(-1/20),   low + span = 1.5^(-1/20) + 1/20: k = 1 is always taken
 *     k = x to the nearest; it is taken if t <= (k + 1/2)^(-1/20) + k^-s / 20, else U is drawn again
 *
 * x is refused only at the end of k's cell, over less than 0.09 / k^2 of it; so most draws are seen to be good
 * without a root.
 */
#include <math.h>
#include <string.h>

#include "base/philox.h"
#include "clicks/synth/made_rows.h"

enum { RNG_ID = WEFT_RNG_CLICKS, RNG_TEACHER, RNG_NUMBER, RNG_LABEL, ATTEMPT = 1 << 8, FIELDS = CLICK_SPEC_FIELDS };

/* Words of the blocks of some lanes. */
typedef struct words {
    uint32_t w[4][FIELDS];
} words;

/* Counters become blocks: round by round, each over all lanes, which every compiler turns into vectors. */
static void draw(words *b, int lanes, uint64_t key)
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < PHILOX_ROUNDS; ++round) {
#pragma omp simd
        for (int l = 0; l < lanes; ++l) {
            const philox_block c =
                philox_round((philox_block){{b->w[0][l], b->w[1][l], b->w[2][l], b->w[3][l]}}, k0, k1);
            b->w[0][l] = c.word[0];
            b->w[1][l] = c.word[1];
            b->w[2][l] = c.word[2];
            b->w[3][l] = c.word[3];
        }
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
}

static inline void set_counter(words *b, int lane, philox_block counter)
{
    for (int i = 0; i < 4; ++i) {
        b->w[i][lane] = counter.word[i];
    }
}

/* ---- functions of one number ------------------------------------------------------------------------------------- */

static inline float with_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Natural logarithm of a normal number: 2 atanh((m - 1) / (m + 1)) of its mantissa m in [sqrt(1/2), sqrt(2)). */
static inline float log_of(float x)
{
    const uint32_t bits = bits_of(x), mantissa = (bits & 0x7FFFFFU) | 0x3F800000U;
    const uint32_t high = (0x3FB504F3U - mantissa) >> 31; /* 1: above the root of 2 */
    const float m = with_bits(mantissa - (high << 23));
    const float exponent = (float)((int32_t)(bits >> 23) - 127 + (int32_t)high);
    const float s = (m - 1.0F) / (m + 1.0F), q = s * s;
    return exponent * 0.693147181F + 2.0F * s * (1.0F + q * (1.0F / 3 + q * (1.0F / 5 + q * (1.0F / 7))));
}

/* e^x of |x| < 80, to 1e-7 of it. */
static inline float exp_of(float x)
{
    const float y = x * 1.44269504F, n = y + 12582912.0F - 12582912.0F; /* the nearest whole number */
    const float f = (y - n) * 0.693147181F;
    const float p =
        1.0F + f * (1.0F + f * (0.5F + f * (1.0F / 6 + f * (1.0F / 24 + f * (1.0F / 120 + f * (1.0F / 720))))));
    return p * with_bits((uint32_t)((int32_t)n + 127) << 23);
}

static inline float tanh_of(float x)
{
    return 1.0F - 2.0F / (exp_of(2.0F * x) + 1.0F);
}

/* Two standard normals of two words (Box and Muller): an angle within 45 degrees of an axis, which two bits choose. */
static inline void normals_of(uint32_t radius, uint32_t turn, float *first, float *second)
{
    const float r = sqrtf(-2.0F * log_of(philox_uniform(radius)));
    const float angle = (philox_uniform(turn) - 0.5F) * 1.57079633F, q = angle * angle;
    const float sine = angle * (1.0F - q * (1.0F / 6 - q * (1.0F / 120 - q * (1.0F / 5040 - q * (1.0F / 362880)))));
    const float cosine = 1.0F - q * (0.5F - q * (1.0F / 24 - q * (1.0F / 720 - q * (1.0F / 40320))));
    const uint32_t swap = 0U - (turn & 1U), sign = (turn & 2U) << 30, differ = (bits_of(sine) ^ bits_of(cosine)) & swap;
    *first = r * with_bits(bits_of(cosine) ^ differ ^ sign);
    *second = r * with_bits(bits_of(sine) ^ differ ^ sign);
}

/* ---- ids --------------------------------------------------------------------------------------------------------- */

/* Uniform in (0, 1) of 52 bits; halves of the words are signed for the sake of vectors. */
static inline double uniform_of(uint32_t high, uint32_t low)
{
    return (double)(int32_t)(high >> 1) * 0x1.0p-31 + ((double)(int32_t)(low >> 11) + 0.5) * 0x1.0p-52;
}

static inline double place_of(double t)
{
    const double t2 = t * t, t4 = t2 * t2, t5 = t4 * t, t10 = t5 * t5;
    return 1.0 / (t10 * t10);
}

static inline int32_t nearest_id(double x, int32_t size)
{
    const int32_t k = (int32_t)(x + 0.5);
    return k < 1 ? 1 : k > size ? size : k;
}

/* Returns true if the draw is good at first sight. */
static inline bool inside(int32_t k, double x)
{
    const double d = (double)k;
    return k == 1 || (d - x) * (d * d) <= 0.5 * (d * d) - 0.1;
}

static bool accepted(int32_t k, double t)
{
    const double d = (double)k, root = 1.0 / MADE_ROOT;
    return t <= pow(d + 0.5, -root) + pow(d, -1.0 - root) * root;
}

/* The id of a field whose first draw was not good at first sight. */
static int32_t draw_again(const click_teacher *t, uint32_t world, int64_t row, int f)
{
    for (uint32_t attempt = 0;; ++attempt) {
        const uint32_t index = (uint32_t)f + attempt * ATTEMPT;
        const philox_block b = philox4x32(philox_counter(index, (uint64_t)row, RNG_ID, world), (uint64_t)t->spec.seed);
        const double at = t->low[f] + uniform_of(b.word[0], b.word[1]) * t->span[f], x = place_of(at);
        const int32_t k = nearest_id(x, t->size[f]);
        if (inside(k, x) || accepted(k, at)) {
            return k;
        }
    }
}

static void draw_ids(const click_teacher *t, uint32_t world, int64_t row, int32_t *restrict id)
{
    words b;
    int32_t unsure[FIELDS];
    int32_t any = 0;
    const int lanes = t->lanes;
    for (int f = 0; f < lanes; ++f) {
        set_counter(&b, f, philox_counter((uint32_t)f, (uint64_t)row, RNG_ID, world));
    }
    draw(&b, lanes, (uint64_t)t->spec.seed);
#pragma omp simd reduction(| : any)
    for (int f = 0; f < lanes; ++f) {
        const double x = place_of(t->low[f] + uniform_of(b.w[0][f], b.w[1][f]) * t->span[f]);
        id[f] = nearest_id(x, t->size[f]);
        unsure[f] = !inside(id[f], x);
        any |= unsure[f];
    }
    for (int f = 0; any != 0 && f < lanes; ++f) {
        id[f] = unsure[f] ? draw_again(t, world, row, f) : id[f];
    }
}

/* ---- what the teacher knows -------------------------------------------------------------------------------------- */

/* Biases of the row's ids, and their vectors of CLICK_HIDDEN numbers. */
typedef struct knowledge {
    float bias[FIELDS], hidden[FIELDS][CLICK_HIDDEN];
} knowledge;

static void draw_of_ids(const click_teacher *t, const int32_t *restrict id, uint32_t part, words *restrict b)
{
    for (int f = 0; f < t->lanes; ++f) {
        set_counter(b, f, philox_counter((uint32_t)f * 2 + part, (uint64_t)(uint32_t)id[f], RNG_TEACHER, 0));
    }
    draw(b, t->lanes, (uint64_t)t->spec.seed);
}

static void recall(const click_teacher *t, const int32_t *restrict id, knowledge *restrict k)
{
    words b, c;
    const int lanes = t->lanes;
    draw_of_ids(t, id, 0, &b);
    draw_of_ids(t, id, 1, &c);
#pragma omp simd
    for (int f = 0; f < lanes; ++f) {
        float n[CLICK_HIDDEN + 2];
        normals_of(b.w[0][f], b.w[1][f], &n[0], &n[1]);
        normals_of(b.w[2][f], b.w[3][f], &n[2], &n[3]);
        normals_of(c.w[0][f], c.w[1][f], &n[4], &n[5]);
        k->hidden[f][0] = 0.5F * n[0];
        k->hidden[f][1] = 0.5F * n[1];
        k->hidden[f][2] = 0.5F * n[2];
        k->hidden[f][3] = 0.5F * n[3];
        k->bias[f] = f < t->spec.fields ? 0.591607978F * n[4] : 0.0F;
    }
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* Four standard normals a block; blocks fill a vector, of which `numbers` may need a part. */
static void draw_numbers(const click_teacher *t, uint32_t world, int64_t row, float *restrict number)
{
    words b;
    const int count = (int)t->spec.numbers;
    for (int first = 0; first < count; first += 4 * CLICK_LANES) {
        float n[4][CLICK_LANES];
        for (int l = 0; l < CLICK_LANES; ++l) {
            set_counter(&b, l, philox_counter((uint32_t)(first / 4 + l), (uint64_t)row, RNG_NUMBER, world));
        }
        draw(&b, CLICK_LANES, (uint64_t)t->spec.seed);
#pragma omp simd
        for (int l = 0; l < CLICK_LANES; ++l) {
            normals_of(b.w[0][l], b.w[1][l], &n[0][l], &n[1][l]);
            normals_of(b.w[2][l], b.w[3][l], &n[2][l], &n[3][l]);
        }
        for (int i = 0; i < 4 * CLICK_LANES && first + i < count; ++i) {
            number[first + i] = n[i % 4][i / 4];
        }
    }
}

/* ---- a row ------------------------------------------------------------------------------------------------------- */

/* Sums stand in lanes, which are added as a tree: the same order whatever the length of vectors. */
static float logit_of(const click_teacher *t, const knowledge *k, const float *restrict number)
{
    float sum[CLICK_LANES] = {0}, bent[CLICK_SPEC_NUMBERS];
    const int count = (int)t->spec.numbers;
    for (int f = 0; f < t->lanes; f += CLICK_LANES) {
        for (int l = 0; l < CLICK_LANES; ++l) {
            sum[l] += k->bias[f + l];
        }
    }
    for (int p = 0; p < t->pairs; ++p) {
        const float *u = k->hidden[t->pair[p][0]], *v = k->hidden[t->pair[p][1]];
        float *to = sum + p % 4 * CLICK_HIDDEN;
        for (int d = 0; d < CLICK_HIDDEN; ++d) {
            to[d] += u[d] * v[d];
        }
    }
#pragma omp simd
    for (int j = 0; j < count; ++j) {
        bent[j] = t->weight[j] * tanh_of(number[j]);
    }
    for (int j = 0; j < count; ++j) {
        sum[j % CLICK_LANES] += 0.3F * bent[j];
    }
    for (int half = CLICK_LANES / 2; half > 0; half /= 2) {
        for (int l = 0; l < half; ++l) {
            sum[l] += sum[l + half];
        }
    }
    return t->offset + sum[0];
}

static bool clicked(const click_teacher *t, uint32_t world, int64_t row, float logit)
{
    const philox_block b = philox4x32(philox_counter(0, (uint64_t)row, RNG_LABEL, world), (uint64_t)t->spec.seed);
    const float bounded = logit < -30.0F ? -30.0F : logit > 30.0F ? 30.0F : logit;
    return philox_uniform(b.word[0]) * (1.0F + exp_of(-bounded)) < 1.0F;
}

void MADE_ROW(const click_teacher *t, uint32_t world, int64_t row, click_made_row *made)
{
    knowledge k;
    draw_ids(t, world, row, made->id);
    recall(t, made->id, &k);
    draw_numbers(t, world, row, made->number);
    made->logit = logit_of(t, &k, made->number);
    made->clicked = clicked(t, world, row, made->logit);
}

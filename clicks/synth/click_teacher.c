/* clicks/synth/click_teacher.c: see clicks/synth/click_teacher.h. */
#include "clicks/synth/click_teacher.h"

#include <math.h>

#include "base/alloc.h"
#include "base/integer/integers.h"
#include "base/isa.h"
#include "base/permutation.h"
#include "base/philox.h"
#include "clicks/synth/made_rows.h"

enum { RNG_WEIGHT = WEFT_RNG_CLICKS + 4, RNG_PAIR, SAMPLE = 1 << 17 };

made_rows_kernel *made_rows_get(void)
{
    static made_rows_kernel *const kernels[HAL_ISAS] = {made_row_base, made_row_avx2, made_row_avx512};
    return kernels[hal_isa_best()];
}

/* See made_rows_body.h; lanes behind the last field draw as it does. */
static void set_fields(click_teacher *t)
{
    const double root = 1.0 / MADE_ROOT;
    t->lanes = (int)whole(t->spec.fields, CLICK_LANES);
    for (int f = 0; f < t->lanes; ++f) {
        t->size[f] = click_spec_size(&t->spec, (int)smaller(f, t->spec.fields - 1));
        t->low[f] = pow((double)t->size[f] + 0.5, -root);
        t->span[f] = pow(1.5, -root) + root - t->low[f];
    }
}

/* The first of all pairs, numbered (1, 0) (2, 0) (2, 1) (3, 0) ..., in a random order. */
static void set_pairs(click_teacher *t)
{
    const int64_t all = t->spec.fields * (t->spec.fields - 1) / 2;
    const permutation order = permutation_make((uint64_t)larger(all, 1), (uint64_t)t->spec.seed, RNG_PAIR, 0);
    t->pairs = (int)smaller(all, CLICK_PAIRS);
    for (int p = 0; p < t->pairs; ++p) {
        int64_t at = (int64_t)permute(&order, (uint64_t)p), row = 1;
        while (at >= row) {
            at -= row++;
        }
        t->pair[p][0] = (int32_t)row;
        t->pair[p][1] = (int32_t)at;
    }
}

static void set_weights(click_teacher *t)
{
    for (int64_t j = 0; j < t->spec.numbers; ++j) {
        const philox_block b = philox4x32(philox_counter((uint32_t)j, 0, RNG_WEIGHT, 0), (uint64_t)t->spec.seed);
        t->weight[j] = philox_normal(b.word[0], b.word[1]);
    }
}

static double share_of_clicks(const float *logit, double offset)
{
    double sum = 0.0;
    for (int i = 0; i < SAMPLE; ++i) {
        sum += 1.0 / (1.0 + exp(-((double)logit[i] + offset)));
    }
    return sum / SAMPLE;
}

static float find_offset(const float *logit)
{
    double low = -50.0, high = 50.0;
    for (int step = 0; step < 40; ++step) {
        const double middle = 0.5 * (low + high);
        if (share_of_clicks(logit, middle) < 0.25) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (float)(0.5 * (low + high));
}

weft_status click_teacher_make(const click_spec *spec, int threads, click_teacher *t)
{
    float *logit = NULL;
    *t = (click_teacher){.spec = *spec};
    set_fields(t);
    set_pairs(t);
    set_weights(t);
    WEFT_TRY(WEFT_NEW(&logit, SAMPLE, WEFT_MEM_WORKSPACE));
    made_rows_kernel *const kernel = made_rows_get();
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int i = 0; i < SAMPLE; ++i) {
        click_made_row made;
        kernel(t, MADE_SAMPLE, i, &made);
        logit[i] = made.logit;
    }
    t->offset = find_offset(logit);
    weft_free(logit);
    return WEFT_OK;
}

void click_teacher_row(const click_teacher *teacher, int64_t row, click_made_row *made)
{
    made_rows_get()(teacher, MADE_DATA, row, made);
}

/* The sum over ids 1 to size of k^-s, or, with that sum, of the probability that one of `rows` has the id k. Many ids
 * of like frequency are one term. */
static double sum_of_ids(int64_t size, double total, double rows)
{
    enum { ALONE = 128 }; /* ids of a term: this share of their numbers */
    double sum = 0.0;
    for (int64_t k = 1, next; k <= size; k = next) {
        next = smaller(k + 1 + k / ALONE, size + 1);
        const double middle = 0.5 * (double)(k + next - 1), weight = pow(middle, -1.0 - 1.0 / MADE_ROOT);
        sum += (double)(next - k) * (total > 0.0 ? -expm1(rows * log1p(-weight / total)) : weight);
    }
    return sum;
}

int64_t click_teacher_distinct(const click_teacher *teacher, int field, int64_t rows)
{
    const int64_t size = teacher->size[field];
    return size < 2 ? size : (int64_t)(sum_of_ids(size, sum_of_ids(size, 0.0, 0.0), (double)rows) + 0.5);
}

/* tune/search/importance.c: see tune/search/importance.h. */
#include "tune/search/importance.h"

#include <math.h>
#include <string.h>

#include "tune/search/surrogate.h"

/* Others are averaged over OTHERS configurations that fill the space evenly, the same ones for every value. A dimension
 * of more values has LEVELS of them. */
enum { OTHERS = 64, LEVELS = 8, FITTED_MOST = 100 };

typedef struct variance {
    double sum, square;
    int count;
} variance;

static void variance_add(variance *v, double x)
{
    v->sum += x;
    v->square += x * x;
    v->count++;
}

static double variance_of(const variance *v)
{
    const double mean = v->sum / v->count;
    return fmax(v->square / v->count - mean * mean, 0.0);
}

static void draw_others(const searcher *s, double *values)
{
    search_draws draws = {s->desc.seed, UINT32_MAX - 1, 0};
    for (int i = 0; i < OTHERS; i++) {
        search_even_point(s, (uint32_t)i, &draws, values + (int64_t)i * s->space->count);
    }
}

static double expected(const searcher *s, const double *values)
{
    double x[SURROGATE_DIMENSIONS], mean;
    surrogate_point(s->space, values, 1.0, x);
    gp_predict(s->surrogate->gp, x, &mean, NULL);
    return mean;
}

/* The variance over values of dimension d of the mean over the others. */
static double explained(const searcher *s, const double *others, int d)
{
    const space_dimension *dimension = &s->space->dimension[d];
    const int64_t cells = space_cells(dimension);
    const int levels = cells > 0 && cells < LEVELS ? (int)cells : LEVELS;
    double values[SPACE_DIMENSIONS_MAX];
    variance over = {0};
    for (int l = 0; l < levels; l++) {
        double sum = 0.0;
        for (int i = 0; i < OTHERS; i++) {
            memcpy(values, others + (int64_t)i * s->space->count, (size_t)s->space->count * sizeof *values);
            values[d] = space_value(dimension, (l + 0.5) / levels);
            sum += expected(s, values);
        }
        variance_add(&over, sum / OTHERS);
    }
    return variance_of(&over);
}

weft_status searcher_importance(searcher *s, double *share)
{
    double *others = NULL;
    variance whole = {0};
    for (int d = 0; d < s->space->count; d++) {
        share[d] = (double)NAN;
    }
    if (s->history.told < IMPORTANCE_VALUES) {
        return WEFT_OK;
    }
    /* Where no suggestion needed the model, it is not worth the seconds that its lengths from all values take. */
    s->fit_most = s->surrogate == NULL ? FITTED_MOST : s->fit_most;
    WEFT_TRY(surrogate_update(s));
    WEFT_TRY(WEFT_NEW(&others, (int64_t)OTHERS * s->space->count, WEFT_MEM_SEARCH));
    draw_others(s, others);
    for (int i = 0; i < OTHERS; i++) {
        variance_add(&whole, expected(s, others + (int64_t)i * s->space->count));
    }
    const double all = variance_of(&whole);
    for (int d = 0; d < s->space->count && all > 0.0; d++) {
        share[d] = fmin(explained(s, others, d) / all, 1.0);
    }
    weft_free(others);
    return WEFT_OK;
}

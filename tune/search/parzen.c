/* tune/search/parzen.c: see tune/search/parzen.h. */
#include "tune/search/parzen.h"

#include <math.h>
#include <string.h>

#include "base/integer/integers.h"
#include "base/integer/search.h"

enum { FULL_WEIGHT = 25, MOST_DIVISIONS = 100 };
static const double log_root_two_pi = 0.91893853320467274;
/* The logarithm of a share of a sum that does not count: a thousand of them are below 1e-6. */
static const double negligible = -22.0;

weft_status parzen_reserve(parzen *p, const search_space *space, int count)
{
    p->space = space;
    if (count <= p->room && p->trial != NULL) {
        return WEFT_OK;
    }
    parzen_free(p);
    p->space = space;
    const int room = (int)larger(2 * count, 64);
    const size_t kernels = (size_t)room + 1, all = kernels * (size_t)space->count;
    WEFT_TRY(WEFT_NEW(&p->trial, room, WEFT_MEM_SEARCH));
    WEFT_TRY(WEFT_NEW(&p->log_weight, kernels, WEFT_MEM_SEARCH));
    WEFT_TRY(WEFT_NEW(&p->until, kernels, WEFT_MEM_SEARCH));
    WEFT_TRY(WEFT_NEW(&p->sum, kernels, WEFT_MEM_SEARCH));
    WEFT_TRY(WEFT_NEW_ZERO(&p->mean, all, WEFT_MEM_SEARCH));
    WEFT_TRY(WEFT_NEW_ZERO(&p->deviation, all, WEFT_MEM_SEARCH));
    WEFT_TRY(WEFT_NEW_ZERO(&p->inverse, all, WEFT_MEM_SEARCH));
    WEFT_TRY(WEFT_NEW_ZERO(&p->constant, all, WEFT_MEM_SEARCH));
    WEFT_TRY(WEFT_NEW(&p->rank, all, WEFT_MEM_SEARCH));
    p->room = room;
    return WEFT_OK;
}

void parzen_free(parzen *p)
{
    WEFT_FREE_ALL(p->trial, p->log_weight, p->until, p->sum, p->mean, p->deviation, p->inverse, p->constant, p->rank);
    *p = (parzen){0};
}

static int64_t row_of(const parzen *p, int d)
{
    return (int64_t)d * (p->room + 1);
}

static double below(double u)
{
    return 0.5 * erfc(-u * M_SQRT1_2);
}

/* ---- kernels ----------------------------------------------------------------------------------------------------
 * */

/* The logarithm of what is left of a normal between 0 and 1. */
static double log_inside(double mean, double deviation)
{
    return log(below((1.0 - mean) / deviation) - below(-mean / deviation));
}

static void set_normal(parzen *p, int d, int kernel, double mean, double deviation)
{
    const int64_t at = row_of(p, d) + kernel;
    if (p->mean[at] == mean && p->deviation[at] == deviation) {
        return; /* as it was in an earlier build */
    }
    p->mean[at] = mean;
    p->deviation[at] = deviation;
    p->inverse[at] = 1.0 / deviation;
    p->constant[at] = -log_inside(mean, deviation);
    if (!space_is_whole(&p->space->dimension[d])) {
        p->constant[at] -= log(deviation) + log_root_two_pi;
    }
}

/* The deviations of one dimension, from neighbours in their order. */
static void build_ordered(parzen *p, int d, const search_history *history)
{
    const int *rank = p->rank + row_of(p, d), n = p->count;
    const double least = 1.0 / (double)smaller(MOST_DIVISIONS, n + 2);
    double before = 0.0, here = 0.0, after = 0.0;
    for (int k = 0; k < n; k++) {
        here = k == 0 ? history_coordinate(history, p->trial[rank[0]], d) : after;
        after = 1.0;
        if (k + 1 < n) {
            after = history_coordinate(history, p->trial[rank[k + 1]], d);
        }
        const bool ends = n == 1;
        const double left = k > 0 || ends ? here - before : 0.0, right = k + 1 < n || ends ? after - here : 0.0;
        set_normal(p, d, rank[k], here, fmin(fmax(fmax(left, right), least), 1.0));
        before = here;
    }
    const space_dimension *dimension = &p->space->dimension[d];
    set_normal(p, d, n, dimension->has_prior ? space_coordinate(dimension, dimension->prior) : 0.5, 1.0);
}

/* mean: the choice; constant: the logarithm of its share; deviation: that of each other choice. */
static void build_choices(parzen *p, int d, const search_history *history)
{
    const space_dimension *dimension = &p->space->dimension[d];
    const double base = 1.0 / (p->count + 1.0), all = base * dimension->choices + 1.0;
    const double own = log((base + 1.0) / all), other = log(base / all);
    for (int k = 0; k < p->count; k++) {
        const int64_t at = row_of(p, d) + k;
        p->mean[at] = history_values(history, history->trial[p->trial[k]].config)[d];
        p->constant[at] = own;
        p->deviation[at] = other;
    }
    const int64_t at = row_of(p, d) + p->count;
    p->mean[at] = dimension->has_prior ? dimension->prior : -1.0;
    p->constant[at] = own;
    p->deviation[at] = dimension->has_prior ? other : -log(dimension->choices);
}

/* Kernels of the newest trials weigh 1, those before them from 1 / n up to 1, as the prior does. */
static void build_weights(parzen *p)
{
    const int n = p->count, ramp = n - FULL_WEIGHT;
    double sum = 0.0;
    for (int k = 0; k <= n; k++) {
        double weight = 1.0;
        if (k < ramp) {
            weight = ramp > 1 ? 1.0 / n + (1.0 - 1.0 / n) * k / (ramp - 1) : 1.0 / n;
        }
        p->log_weight[k] = log(weight);
        p->until[k] = sum += weight;
    }
    for (int k = 0; k <= n; k++) {
        p->log_weight[k] -= log(sum);
    }
}

void parzen_build(parzen *p, const search_history *history, const int *order, int stride, int ordered, const int *place)
{
    build_weights(p);
    for (int d = 0; d < p->space->count; d++) {
        if (!space_is_ordered(&p->space->dimension[d])) {
            build_choices(p, d, history);
            continue;
        }
        int *rank = p->rank + row_of(p, d), count = 0;
        for (int k = 0; k < ordered; k++) {
            const int kernel = place[order[(int64_t)d * stride + k]];
            rank[count] = kernel;
            count += kernel >= 0;
        }
        build_ordered(p, d, history);
    }
}

/* ---- draws ------------------------------------------------------------------------------------------------------
 * */

/* Box and Muller, until a number falls between 0 and 1: a third of them do at least. */
static double draw_normal(search_draws *draws, double mean, double deviation)
{
    for (;;) {
        const double radius = sqrt(-2.0 * log(search_draw(draws)));
        const double at = mean + deviation * radius * cos(2.0 * M_PI * search_draw(draws));
        if (at >= 0.0 && at <= 1.0) {
            return at;
        }
    }
}

static double draw_choice(const parzen *p, search_draws *draws, int d, int64_t at)
{
    const int choices = p->space->dimension[d].choices;
    if (p->mean[at] >= 0.0 && search_draw(draws) < exp(p->constant[at]) - exp(p->deviation[at])) {
        return p->mean[at];
    }
    return floor(search_draw(draws) * choices); /* each alike, the own one too */
}

void parzen_draw(const parzen *p, search_draws *draws, int first, int end, double *values)
{
    const double u = search_draw(draws) * p->until[p->count];
    int64_t kernel = 0;
    SEARCH_FIRST(kernel, p->count, p->until[at] < u);
    for (int d = first; d < end; d++) {
        const int64_t at = row_of(p, d) + kernel;
        values[d] = space_is_ordered(&p->space->dimension[d])
                        ? space_value(&p->space->dimension[d], draw_normal(draws, p->mean[at], p->deviation[at]))
                        : draw_choice(p, draws, d, at);
    }
}

/* ---- density ----------------------------------------------------------------------------------------------------
 * */

static void add_normal(const parzen *p, int d, double x)
{
    const double *mean = p->mean + row_of(p, d), *inverse = p->inverse + row_of(p, d);
    const double *constant = p->constant + row_of(p, d);
#pragma omp simd
    for (int k = 0; k <= p->count; k++) {
        const double u = (x - mean[k]) * inverse[k];
        p->sum[k] += constant[k] - 0.5 * u * u;
    }
}

/* The cell's share. Kernels of one mean and deviation stand side by side in the order of means. */
static void add_cell(const parzen *p, int d, double x)
{
    const space_dimension *dimension = &p->space->dimension[d];
    const double low = space_coordinate(dimension, x - 0.5), high = space_coordinate(dimension, x + 0.5);
    const int64_t row = row_of(p, d);
    int64_t before = row + p->count;
    double share = 0.0;
    for (int k = p->count; k >= 0; k--) {
        const int64_t at = k == p->count ? before : row + p->rank[row + k];
        if (k == p->count || p->mean[at] != p->mean[before] || p->deviation[at] != p->deviation[before]) {
            share =
                p->constant[at] +
                log(fmax(below((high - p->mean[at]) / p->deviation[at]) - below((low - p->mean[at]) / p->deviation[at]),
                         1e-300));
        }
        p->sum[at - row] += share;
        before = at;
    }
}

static void add_choice(const parzen *p, int d, double value)
{
    const int64_t row = row_of(p, d);
    for (int k = 0; k <= p->count; k++) {
        const int64_t at = row + k;
        p->sum[k] += p->mean[at] == value ? p->constant[at] : p->deviation[at];
    }
}

double parzen_log_density(parzen *p, const double *values, int first, int end)
{
    memcpy(p->sum, p->log_weight, ((size_t)p->count + 1) * sizeof *p->sum);
    for (int d = first; d < end; d++) {
        const space_dimension *dimension = &p->space->dimension[d];
        if (!space_is_ordered(dimension)) {
            add_choice(p, d, values[d]);
        } else if (space_is_whole(dimension)) {
            add_cell(p, d, values[d]);
        } else {
            add_normal(p, d, space_coordinate(dimension, values[d]));
        }
    }
    double most = p->sum[p->count], sum = 0.0;
    for (int k = 0; k < p->count; k++) {
        most = p->sum[k] > most ? p->sum[k] : most;
    }
    for (int k = 0; k <= p->count; k++) {
        const double share = p->sum[k] - most;
        sum += share > negligible ? exp(share) : 0.0;
    }
    return most + log(sum);
}

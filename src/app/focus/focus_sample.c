/* app/focus/focus_sample.c: see app/focus/focus_sample.h. */
#include "app/focus/focus_sample.h"

#include <stdlib.h>
#include <string.h>

#include "app/focus/focus_scores.h"
#include "app/predict/predictions.h"
#include "base/integer/integers.h"
#include "focus/bounds/thresholds.h"
#include "focus/index/focus_index.h"
#include "focus/index/focus_units.h"

static int by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* ---- the draw ---- */

/* Units, where they are tracks, and what every s-th frame shows of them. */
static weft_status find_tracks(front_sample *s, const workload *work)
{
    int32_t *seen = NULL;
    WEFT_TRY(WEFT_NEW(&s->origin, s->items, WEFT_MEM_FOCUS));
    s->units = 0;
    for (int64_t i = 0; i < s->items; ++i) {
        s->origin[i] = workload_row_origin(work, i);
        s->units = larger(s->units, (int64_t)s->origin[i].track + 1);
    }
    WEFT_TRY(WEFT_NEW_ZERO(&seen, s->units, WEFT_MEM_FOCUS));
    for (int k = 0; k < FRONT_STRIDES; ++k) {
        const int64_t tracks = focus_units_of_stride(s->origin, s->items, (int64_t)2 << k, seen, &s->stride_runs[k]);
        s->stride_share[k] = (double)tracks / (double)s->units;
    }
    weft_free(seen);
    return WEFT_OK;
}

/* Uniform units first, then runs of consecutive ones; `unit` is all of them, each once. */
static weft_status draw_units(front_sample *s, int64_t labels, uint64_t seed)
{
    const int64_t runs = s->units / FRONT_RUN;
    WEFT_TRY(WEFT_NEW(&s->uniform, labels, WEFT_MEM_FOCUS));
    WEFT_TRY(WEFT_NEW(&s->unit, labels + FRONT_RUNS * FRONT_RUN, WEFT_MEM_FOCUS));
    s->uniforms = focus_draw_uniform(s->units, labels, seed, FOCUS_NO_CLASS, s->uniform);
    s->runs = focus_draw_uniform(runs, FRONT_RUNS, seed, FOCUS_NO_CLASS, s->run);
    memcpy(s->unit, s->uniform, (size_t)s->uniforms * sizeof *s->unit);
    s->drawn = s->uniforms;
    for (int64_t r = 0; r < s->runs * FRONT_RUN; ++r) {
        s->unit[s->drawn++] = s->run[r / FRONT_RUN] * FRONT_RUN + r % FRONT_RUN;
    }
    qsort(s->unit, (size_t)s->drawn, sizeof *s->unit, by_number);
    int64_t once = 0;
    for (int64_t i = 0; i < s->drawn; ++i) {
        if (once == 0 || s->unit[once - 1] != s->unit[i]) {
            s->unit[once++] = s->unit[i];
        }
    }
    s->drawn = once;
    return WEFT_OK;
}

static weft_status list_rows(front_sample *s)
{
    const int64_t most = s->origin != NULL ? s->items : s->drawn;
    WEFT_TRY(WEFT_NEW(&s->row, most, WEFT_MEM_FOCUS));
    WEFT_TRY(WEFT_NEW(&s->owner, most, WEFT_MEM_FOCUS));
    for (int64_t i = 0; i < most; ++i) {
        const int64_t unit = s->origin != NULL ? (int64_t)s->origin[i].track : s->unit[i];
        const int64_t *found = bsearch(&unit, s->unit, (size_t)s->drawn, sizeof unit, by_number);
        if (found != NULL) {
            s->row[s->rows] = s->origin != NULL ? i : unit;
            s->owner[s->rows++] = found - s->unit;
        }
    }
    return WEFT_OK;
}

weft_status front_sample_draw(front_sample *s, const workload *work, int64_t labels, uint64_t seed)
{
    s->items = s->units = work->held.total;
    WEFT_TRY(s->items > 0 && workload_row_origin(work, 0).width > 0 ? find_tracks(s, work) : WEFT_OK);
    WEFT_TRY(draw_units(s, smaller(labels, s->units), seed));
    return list_rows(s);
}

void front_sample_free(front_sample *s)
{
    for (int i = 0; i < FRONT_NETWORKS; ++i) {
        front_network *n = &s->network[i];
        WEFT_FREE_ALL(n->class_of, n->code, n->asked, n->class, n->truth);
        name_list_free(&n->names);
    }
    WEFT_FREE_ALL(s->unit, s->row, s->owner, s->uniform, s->origin);
}

/* ---- answers of a cheap network ---- */

static weft_status begin(front_fold *f)
{
    front_network *n = f->network;
    const int64_t units = f->sample->drawn;
    WEFT_TRY(WEFT_NEW_ZERO(&f->sum, units * n->classes, WEFT_MEM_FOCUS));
    WEFT_TRY(WEFT_NEW_ZERO(&f->count, units, WEFT_MEM_FOCUS));
    WEFT_TRY(WEFT_NEW_ZERO(&f->most, units, WEFT_MEM_FOCUS));
    WEFT_TRY(WEFT_NEW(&f->odds, n->classes, WEFT_MEM_FOCUS));
    WEFT_TRY(WEFT_NEW(&n->code, units * n->classes, WEFT_MEM_FOCUS));
    WEFT_TRY(WEFT_NEW(&n->asked, units, WEFT_MEM_FOCUS));
    return WEFT_NEW(&n->class, units, WEFT_MEM_FOCUS);
}

weft_status front_fold_take(void *self, int64_t first, int64_t rows, const float *logits, int64_t classes)
{
    front_fold *f = self;
    WEFT_TRY(f->sum == NULL ? begin(f) : WEFT_OK);
    for (int64_t i = 0; i < rows; ++i) {
        const int64_t unit = f->sample->owner[first + i];
        uint16_t most = 0;
        WEFT_TRY(focus_scores_odds(logits + i * classes, classes, f->odds));
        for (int64_t c = 0; c < classes; ++c) {
            const uint16_t code = focus_code(f->odds[c]);
            f->sum[unit * classes + c] += code;
            most = code > most ? code : most;
        }
        if (f->count[unit]++ == 0 || most > f->most[unit]) {
            f->most[unit] = most;
            f->network->asked[unit] = f->sample->row[first + i];
            f->network->class[unit] = predictions_class(logits + i * classes, classes);
        }
    }
    return WEFT_OK;
}

void front_fold_end(front_fold *f)
{
    const int64_t classes = f->network->classes;
    for (int64_t i = 0; f->sum != NULL && i < f->sample->drawn * classes; ++i) {
        f->network->code[i] = focus_mean_code(f->sum[i], f->count[i / classes]);
    }
}

void front_fold_free(front_fold *f)
{
    WEFT_FREE_ALL(f->sum, f->count, f->most, f->odds);
}

/*
 * app/focus/focus_front.c: see app/focus/focus_front.h.
 *
 * Figures are sums over the classes that the sample has: a class with many items counts for much in recall and
 * precision, and numbers of runs are means over classes.
 */
#include "app/focus/focus_front.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/integer/integers.h"
#include "focus/bounds/thresholds.h"
#include "focus/index/focus_index.h"

/* Sums over classes. */
typedef struct tally {
    double hits, positives, answers, runs;
} tally;

typedef struct front {
    const front_sample *sample;
    const front_goal *goal;
    int64_t *place; /* [uniforms + judges] of units in the sample: those that set thresholds, then those that judge */
    int64_t judges; /* units of the runs; without runs the uniform ones judge, too */
    focus_label *label;    /* [uniforms] */
    focus_label *repeated; /* [goal->labels] */
    focus_plan *plan;
} front;

/* ---- the sample ---- */

static int by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t place_of(const front_sample *s, int64_t unit)
{
    const int64_t *found = bsearch(&unit, s->unit, (size_t)s->drawn, sizeof unit, by_number);
    assert(found != NULL);
    return found - s->unit;
}

static weft_status prepare(front *f)
{
    const front_sample *s = f->sample;
    f->judges = s->runs > 0 ? s->runs * FRONT_RUN : s->uniforms;
    WEFT_TRY(WEFT_NEW(&f->place, s->uniforms + f->judges, WEFT_MEM_FOCUS));
    WEFT_TRY(WEFT_NEW(&f->label, s->uniforms, WEFT_MEM_FOCUS));
    WEFT_TRY(WEFT_NEW(&f->repeated, f->goal->labels, WEFT_MEM_FOCUS));
    for (int64_t i = 0; i < s->uniforms; ++i) {
        f->place[i] = place_of(s, s->uniform[i]);
    }
    for (int64_t i = 0; i < f->judges; ++i) {
        f->place[s->uniforms + i] =
            s->runs > 0 ? place_of(s, s->run[i / FRONT_RUN] * FRONT_RUN + i % FRONT_RUN) : f->place[i];
    }
    return WEFT_OK;
}

/* Returns true if any unit of the sample is of the class. */
static bool has_class(const front *f, const front_network *n, int64_t class)
{
    for (int64_t i = 0; i < f->sample->drawn; ++i) {
        if (n->truth[i] == class) {
            return true;
        }
    }
    return false;
}

/* ---- cheap networks ---- */

/* The score of a unit of the sample for a class of the expensive network. */
static uint16_t code_of(const front_network *n, int64_t at, int64_t class)
{
    return n->code[at * n->classes + n->class_of[class]];
}

/* What a query of a class would do. */
typedef struct class_plan {
    int32_t lo, hi;
    double sure; /* labelled to set hi, and above it */
} class_plan;

/* hi as a query would set it on a sample of its size, if that had the labels of the likeliest of the uniform sample:
 * they are taken several times over, which is a forecast and no promise. */
static void forecast_high(const front *f, int64_t likely, int64_t items, class_plan *c)
{
    const focus_label *of = f->label + f->sample->uniforms - likely;
    const int64_t wanted = f->goal->labels;
    for (int64_t i = 0; i < wanted; ++i) {
        f->repeated[i] = of[i * likely / wanted];
    }
    focus_precision_answers(f->repeated, wanted, items, NULL, f->goal->precision, focus_delta_high(f->goal->delta),
                            &c->hi);
    for (int64_t i = 0; i < wanted; ++i) {
        c->sure += f->repeated[i].code >= c->hi;
    }
}

static class_plan plan_class(const front *f, const front_network *n, int64_t class)
{
    const front_sample *s = f->sample;
    class_plan c = {.hi = FOCUS_NONE};
    int64_t candidates = 0, positives = 0;
    for (int64_t i = 0; i < s->uniforms; ++i) {
        const int64_t at = f->place[i];
        f->label[i] = (focus_label){.code = code_of(n, at, class), .positive = n->truth[at] == class};
        positives += f->label[i].positive;
    }
    (void)focus_recall_exact(f->label, s->uniforms, f->goal->recall, focus_delta_low(f->goal->delta), &c.lo);
    while (candidates < s->uniforms && f->label[s->uniforms - 1 - candidates].code >= c.lo) {
        ++candidates; /* the sample is sorted by now */
    }
    const int64_t likely = smaller(candidates, positives + (positives + 1) / 2);
    const double items = (double)likely / (double)s->uniforms * (double)s->units;
    if (items > (double)f->goal->labels) {
        forecast_high(f, likely, (int64_t)items, &c);
    }
    return c;
}

static void judge(const front *f, const front_network *n, int64_t class, tally *sum)
{
    const class_plan c = plan_class(f, n, class);
    double between = 0.0;
    for (int64_t i = 0; i < f->judges; ++i) {
        const int64_t at = f->place[f->sample->uniforms + i];
        const int32_t code = code_of(n, at, class);
        const bool positive = n->truth[at] == class;
        sum->positives += positive;
        sum->hits += positive && code >= c.lo;
        sum->answers += code >= c.hi || (positive && code >= c.lo);
        between += code >= c.lo && code < c.hi;
    }
    sum->runs += between / (double)f->judges * (double)f->sample->units + c.sure;
}

static double ratio(double part, double whole)
{
    return whole > 0.0 ? part / whole : 1.0;
}

static double agreement(const front *f, const front_network *n)
{
    int64_t same = 0;
    for (int64_t i = 0; i < f->judges; ++i) {
        const int64_t at = f->place[f->sample->uniforms + i];
        same += n->class[at] == n->class_of[n->truth[at]];
    }
    return ratio((double)same, (double)f->judges);
}

static void add(front *f, const focus_plan_row *row)
{
    assert(f->plan->count < FOCUS_PLANS_MAX);
    f->plan->row[f->plan->count++] = *row;
}

static void plan_cheap(front *f, const front_network *n)
{
    tally sum = {.hits = 0.0};
    int classes = 0;
    for (int64_t c = 0; c < f->sample->network[0].classes; ++c) {
        if (has_class(f, n, c)) {
            judge(f, n, c, &sum);
            ++classes;
        }
    }
    f->plan->classes = classes;
    add(f, &(focus_plan_row){.plan = "cheap",
                             .network = n->path,
                             .agreement = agreement(f, n),
                             .ingest_mflop = n->flops / 1e6,
                             .ingest_ms = n->seconds * 1e3,
                             .query_runs = sum.runs / (double)classes,
                             .recall = ratio(sum.hits, sum.positives),
                             .precision = ratio(sum.hits, sum.answers)});
}

/* ---- plans without a cheap network ---- */

static void plan_everything(front *f)
{
    add(f, &(focus_plan_row){.plan = "everything",
                             .network = f->sample->network[0].path,
                             .agreement = 1.0,
                             .query_runs = (double)f->sample->items,
                             .recall = 1.0,
                             .precision = 1.0});
}

/* The share of items that have the class of the last one before them that the network ran on. Of each class all answers
 * count, so that recall and precision are this share of right answers. */
static double right_of_stride(const front *f, int64_t stride)
{
    const int64_t *place = f->place + f->sample->uniforms;
    const int32_t *truth = f->sample->network[1].truth;
    double right = 0.0;
    for (int64_t i = 0; i < f->judges; ++i) {
        right += truth[place[i]] == truth[place[i - i % stride]];
    }
    return right / (double)f->judges;
}

/* Tracks: those that some frame shows are answered for by the network itself, and the others are missed. */
static void plan_strides(front *f)
{
    static const char *const names[FRONT_STRIDES] = {"every 2nd", "every 4th", "every 8th", "every 16th", "every 32nd"};
    const front_sample *s = f->sample;
    const bool tracks = s->origin != NULL;
    for (int k = 0; k < FRONT_STRIDES && (tracks || s->runs > 0); ++k) {
        const int64_t stride = (int64_t)2 << k;
        const double share = tracks ? s->stride_share[k] : right_of_stride(f, stride);
        add(f, &(focus_plan_row){.plan = names[k],
                                 .network = s->network[0].path,
                                 .agreement = share,
                                 .query_runs = (double)(tracks ? s->stride_runs[k] : (s->items + stride - 1) / stride),
                                 .recall = share,
                                 .precision = tracks ? 1.0 : share});
    }
}

/* ---- comparison ---- */

static bool dominates(const focus_plan_row *a, const focus_plan_row *b)
{
    const bool as_good = a->ingest_ms <= b->ingest_ms && a->query_runs <= b->query_runs && a->recall >= b->recall &&
                         a->precision >= b->precision;
    const bool better = a->ingest_ms < b->ingest_ms || a->query_runs < b->query_runs || a->recall > b->recall ||
                        a->precision > b->precision;
    return as_good && better;
}

/* The plan that reaches both targets in the least time of one ingest and one query is chosen; running on everything
 * always reaches them. */
static void compare(front *f)
{
    focus_plan *plan = f->plan;
    int chosen = -1;
    for (int i = 0; i < plan->count; ++i) {
        focus_plan_row *row = &plan->row[i];
        row->seconds = row->ingest_ms / 1e3 * (double)plan->items + row->query_runs * f->sample->network[0].seconds;
        row->meets = row->recall >= f->goal->recall && row->precision >= f->goal->precision;
        row->front = true;
        for (int k = 0; k < plan->count; ++k) {
            row->front = row->front && !dominates(&plan->row[k], row);
        }
        chosen = row->meets && (chosen < 0 || row->seconds < plan->row[chosen].seconds) ? i : chosen;
    }
    plan->row[chosen].chosen = true;
}

weft_status front_make(const front_sample *sample, const front_goal *goal, focus_plan *plan)
{
    front f = {.sample = sample, .goal = goal, .plan = plan};
    plan->items = sample->items;
    plan->units = sample->units;
    if (sample->network[1].truth == NULL) {
        return WEFT_OK; /* another rank */
    }
    const weft_status status = prepare(&f);
    if (status == WEFT_OK) {
        for (int i = 1; i < sample->networks; ++i) {
            plan_cheap(&f, &sample->network[i]);
        }
        plan_everything(&f);
        plan_strides(&f);
        compare(&f);
    }
    WEFT_FREE_ALL(f.place, f.label, f.repeated);
    return status;
}

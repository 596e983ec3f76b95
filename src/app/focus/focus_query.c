/* app/focus/focus_query.c: see app/focus/focus_query.h. */
#include "app/focus/focus_query.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/table/grid.h"
#include "base/clock.h"
#include "base/integer/integers.h"
#include "focus/bounds/binomial.h"
#include "focus/bounds/thresholds.h"

enum { ROUND = 64 /* units that are asked about at once where a query may end early: a batch or more */ };

/* A sample, and room for it. */
typedef struct labelled {
    int64_t *item;
    double *mass;
    focus_label *label;
    int64_t count;
} labelled;

static int64_t units_of(const focus_query *q)
{
    return q->units.count;
}

/* 1: of the class, 0: not, -1: nobody asked. */
static int truth_of(const focus_query *q, int64_t unit)
{
    const int32_t answer = q->asker->index->answer[focus_unit_item(&q->units, unit)];
    return answer < 0 ? -1 : answer == q->asked_class;
}

static int by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Returns the end of the round that begins with item `at` and asks about `most` items that have no answer yet. [out]
 * missing: so many it has. */
static int64_t end_of_round(const focus_query *q, const int64_t *item, int64_t at, int64_t count, int64_t most,
                            int64_t *missing)
{
    *missing = 0;
    while (at < count && *missing < most) {
        *missing += q->asker->index->answer[item[at]] < 0;
        ++at;
    }
    return at;
}

/* Whatever the time is, a query asks one round: so the same query again gets on. */
static bool time_is_up(const focus_query *q)
{
    return q->seconds > 0.0 && q->rounds > 0 && clock_seconds() - q->start >= q->seconds;
}

/* Asks about units, each once; [in, out] unit: [count] their items afterwards, ascending. With q->seconds in rounds,
 * until the time is up: q->late. What has its answer takes no time. */
static weft_status ask(focus_query *q, int64_t *unit, int64_t count)
{
    const int64_t most = q->seconds > 0.0 ? ROUND : count;
    int64_t missing, end;
    for (int64_t i = 0; i < count; ++i) {
        unit[i] = focus_unit_item(&q->units, unit[i]);
    }
    qsort(unit, (size_t)count, sizeof *unit, by_number);
    for (int64_t at = 0; at < count; at = end) {
        end = end_of_round(q, unit, at, count, most, &missing);
        q->late = q->late || (missing > 0 && time_is_up(q));
        if (q->late) {
            return WEFT_OK;
        }
        q->rounds += missing > 0;
        WEFT_TRY(focus_asker_ask(q->asker, unit + at, end - at));
    }
    return WEFT_OK;
}

/* ---- samples ---- */

static weft_status reserve(labelled *sample, int64_t count)
{
    WEFT_TRY(WEFT_NEW(&sample->item, count, WEFT_MEM_FOCUS));
    WEFT_TRY(WEFT_NEW_ZERO(&sample->mass, count, WEFT_MEM_FOCUS));
    return WEFT_NEW(&sample->label, count, WEFT_MEM_FOCUS);
}

static void release(labelled *sample)
{
    WEFT_FREE_ALL(sample->item, sample->mass, sample->label);
}

/* Asks for the items of a sample, each once. */
static weft_status label(focus_query *q, labelled *sample)
{
    int64_t *once = NULL, different = 0;
    WEFT_TRY(WEFT_NEW(&once, sample->count, WEFT_MEM_FOCUS));
    for (int64_t i = 0; i < sample->count; ++i) {
        once[i] = sample->item[i];
    }
    qsort(once, (size_t)sample->count, sizeof *once, by_number);
    for (int64_t i = 0; i < sample->count; ++i) {
        if (different == 0 || once[different - 1] != once[i]) {
            once[different++] = once[i];
        }
    }
    const weft_status status = ask(q, once, different);
    weft_free(once);
    for (int64_t i = 0; status == WEFT_OK && i < sample->count; ++i) {
        sample->label[i] = (focus_label){
            .code = q->code[sample->item[i]], .positive = truth_of(q, sample->item[i]) == 1, .mass = sample->mass[i]};
    }
    return status;
}

/* ---- thresholds ---- */

/* What the uniform sample says about items below lo: their share that is of the class, times how many they are. */
static double estimate_below(const focus_query *q)
{
    int64_t below = 0, drawn = 0, positive = 0, found = 0;
    for (int64_t i = 0; i < units_of(q); ++i) {
        const int truth = q->code[i] < q->lo ? truth_of(q, i) : 0;
        below += q->code[i] < q->lo && truth < 0;
        found += q->code[i] < q->lo && truth == 1;
    }
    for (int64_t i = 0; i < q->drawn; ++i) {
        drawn += q->sample[i].code < q->lo;
        positive += q->sample[i].code < q->lo && q->sample[i].positive;
    }
    return (double)found + (drawn > 0 ? (double)below * (double)positive / (double)drawn : 0.0);
}

static weft_status draw_by_score(focus_query *q)
{
    labelled sample = {.count = q->labels};
    weft_status status = reserve(&sample, q->labels);
    status = status == WEFT_OK ? focus_draw_importance(q->code, units_of(q), q->labels, q->seed,
                                                       (uint32_t)q->asked_class, sample.item, sample.mass)
                               : status;
    status = status == WEFT_OK ? label(q, &sample) : status;
    if (status == WEFT_OK && !q->late) {
        q->importance =
            focus_recall_importance(sample.label, sample.count, q->recall, focus_delta_low(q->delta), &q->lo);
    }
    release(&sample);
    return status;
}

static weft_status set_low(focus_query *q)
{
    labelled sample = {.count = 0};
    int64_t shown = 0; /* items of the class in it */
    weft_status status = reserve(&sample, q->labels);
    if (status == WEFT_OK) {
        sample.count = focus_draw_uniform(units_of(q), q->labels, q->seed, FOCUS_NO_CLASS, sample.item);
        status = label(q, &sample);
    }
    q->lo = FOCUS_ALL;
    if (status == WEFT_OK && !q->late) {
        q->sample = sample.label;
        q->drawn = sample.count;
        sample.label = NULL;
        for (int64_t i = 0; i < q->drawn; ++i) {
            shown += q->sample[i].positive;
        }
        q->positives = (double)units_of(q) * (double)shown / (double)q->drawn;
        /* All of them are above the quantile 1 - r of the class with probability r^shown. */
        q->recall_most = shown > 0 ? pow(focus_delta_low(q->delta), 1.0 / (double)shown) : 0.0;
        /* The number of positives alone decides between the samples, so the promise of each stands. */
        const bool enough = focus_recall_exact(q->sample, q->drawn, q->recall, focus_delta_low(q->delta), &q->lo);
        status = !enough && q->drawn < units_of(q) ? draw_by_score(q) : WEFT_OK;
    }
    release(&sample);
    return status;
}

/* [out] item: [items] those from lo up to hi. Returns how many. */
static int64_t list_between(const focus_query *q, int32_t lo, int32_t hi, int64_t *item)
{
    int64_t count = 0;
    for (int64_t i = 0; i < units_of(q); ++i) {
        if (q->code[i] >= lo && q->code[i] < hi) {
            item[count++] = i;
        }
    }
    return count;
}

/* Returns the share of the class among those of a sample from a code on. */
static double share_from(const labelled *sample, int32_t code)
{
    int64_t from = 0, positive = 0;
    for (int64_t i = 0; i < sample->count; ++i) {
        from += sample->label[i].code >= code;
        positive += sample->label[i].code >= code && sample->label[i].positive;
    }
    return from > 0 ? (double)positive / (double)from : 1.0;
}

/* [out] from: [FOCUS_NONE + 1] units from each code on. */
static void count_from(const focus_query *q, int64_t *from)
{
    memset(from, 0, (FOCUS_NONE + 1) * sizeof *from);
    for (int64_t i = 0; i < units_of(q); ++i) {
        from[q->code[i]]++;
    }
    for (int32_t code = FOCUS_NONE; code > FOCUS_ALL; --code) {
        from[code - 1] += from[code];
    }
}

/* Returns the lowest code from which on there are at most half as many items again as the first sample says are of the
 * class: further down most are not, and no threshold there keeps a precision. */
static int32_t likely_from(const focus_query *q, int64_t labels, const int64_t *from)
{
    const int64_t most = larger((int64_t)ceil(1.5 * q->positives), labels);
    int32_t code = FOCUS_NONE;
    while (code > FOCUS_ALL && (from[code] == 0 || from[code - 1] <= most)) {
        --code;
    }
    return code;
}

/* hi counts on what is verified below it; where time ends that, high_alone keeps the precision by itself. */
static void choose_high(focus_query *q, labelled *sample, int64_t candidates, const int64_t *from)
{
    const double delta = focus_delta_high(q->delta);
    focus_precision_exact(sample->label, sample->count, q->precision, delta, &q->high_alone);
    focus_precision_answers(sample->label, sample->count, candidates, from, q->precision, delta, &q->hi);
    q->accepted_share = share_from(sample, q->hi);
}

static weft_status sample_high(focus_query *q, int64_t *item, const int64_t *from)
{
    labelled sample = {.count = 0};
    const int64_t labels = (q->labels + 1) / 2;
    const int32_t likely = likely_from(q, labels, from);
    const int64_t candidates = list_between(q, (int32_t)larger(q->lo, likely), FOCUS_NONE, item);
    if (candidates <= labels || q->precision >= 1.0) {
        return WEFT_OK; /* the network runs on all of them */
    }
    weft_status status = reserve(&sample, labels);
    if (status == WEFT_OK) {
        sample.count = focus_draw_uniform(candidates, labels, q->seed, (uint32_t)q->asked_class, sample.item);
        for (int64_t i = 0; i < sample.count; ++i) {
            sample.item[i] = item[sample.item[i]];
        }
        status = label(q, &sample);
    }
    if (status == WEFT_OK && !q->late) {
        choose_high(q, &sample, candidates, from);
    }
    release(&sample);
    return status;
}

/* [in, out] item: [units] of work space. */
static weft_status set_high(focus_query *q, int64_t *item)
{
    int64_t *from = NULL;
    q->hi = q->high_alone = FOCUS_NONE;
    WEFT_TRY(WEFT_NEW(&from, FOCUS_NONE + 1, WEFT_MEM_FOCUS));
    count_from(q, from);
    const weft_status status = sample_high(q, item, from);
    weft_free(from);
    return status;
}

/* ---- units in doubt ---- */

typedef struct ranked {
    int64_t item;
    uint16_t code;
} ranked;

static int likeliest_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return x->code != y->code ? (x->code < y->code) - (x->code > y->code) : (x->item > y->item) - (x->item < y->item);
}

/* [in, out] unit: [count] the likeliest first. */
static weft_status rank_units(const focus_query *q, int64_t *unit, int64_t count)
{
    ranked *order = NULL;
    WEFT_TRY(WEFT_NEW(&order, count, WEFT_MEM_FOCUS));
    for (int64_t i = 0; i < count; ++i) {
        order[i] = (ranked){unit[i], q->code[unit[i]]};
    }
    qsort(order, (size_t)count, sizeof *order, likeliest_first);
    for (int64_t i = 0; i < count; ++i) {
        unit[i] = order[i].item;
    }
    weft_free(order);
    return WEFT_OK;
}

/* The time was up, and lo is where it was up: answers are from lo up to hi, and from high_alone on. The uniform sample
 * bounds the share of the class there, wherever lo is, because when time is up does not depend on labels. */
static void bound_late(focus_query *q)
{
    int64_t positives = 0, answered = 0;
    for (int64_t i = 0; i < q->drawn; ++i) {
        const uint16_t code = q->sample[i].code;
        positives += q->sample[i].positive;
        answered += q->sample[i].positive && ((code >= q->lo && code < q->hi) || code >= q->high_alone);
    }
    q->hi = q->high_alone;
    q->kept = positives > 0 ? 1.0 - binomial_upper(positives, positives - answered, focus_delta_low(q->delta)) : 0.0;
    q->kept = fmin(q->kept, q->recall);
}

/* [in, out] unit: [count] from lo up to hi. If the time is up first, lo becomes the code down to which all were asked
 * about. */
static weft_status decide(focus_query *q, int64_t *unit, int64_t count)
{
    int64_t round[ROUND];
    q->kept = q->recall;
    if (q->seconds <= 0.0) {
        return ask(q, unit, count);
    }
    WEFT_TRY(rank_units(q, unit, count));
    for (int64_t at = 0; at < count; at += ROUND) {
        const int64_t some = smaller(ROUND, count - at);
        memcpy(round, unit + at, (size_t)some * sizeof *round);
        WEFT_TRY(ask(q, round, some));
        if (q->late) {
            q->lo = q->code[unit[at]] + 1; /* units of this very score may be asked and may not be */
            bound_late(q);
            return WEFT_OK;
        }
    }
    return WEFT_OK;
}

/* ---- answers ---- */

/* Of the answers at least the share `precision` is of the class, and they are at least the share `recall` of all items
 * of it: the interval holds whenever both thresholds do. */
static void count_answers(focus_query *q)
{
    int64_t verified = 0;
    for (int64_t i = 0; i < units_of(q); ++i) {
        const int truth = truth_of(q, i);
        const bool high = q->code[i] >= q->hi;
        verified += truth == 1;
        q->accepted += high && truth < 0;
        if (truth == 1 || (high && truth < 0)) {
            q->found[q->count++] = i;
        }
    }
    q->least = fmax((double)verified, ceil(q->precision * (double)q->count - 1e-9));
    q->most = (double)units_of(q);
    if (q->kept > 0.0) {
        q->most = fmin(floor((double)q->count / q->kept + 1e-9), q->most);
    }
    if (q->lo == FOCUS_ALL && !q->late) {
        q->most = (double)q->count; /* nothing was left out */
    }
    q->estimate = estimate_below(q);
    for (int64_t i = 0; i < units_of(q); ++i) {
        q->estimate += q->code[i] >= q->lo && truth_of(q, i) == 1;
    }
    q->estimate += (double)q->accepted * q->accepted_share;
    q->estimate = fmin(fmax(q->estimate, q->least), q->most);
}

static weft_status run_thresholds(focus_query *q)
{
    int64_t *item = NULL;
    q->hi = FOCUS_NONE;
    WEFT_TRY(set_low(q));
    weft_status status = WEFT_NEW(&item, units_of(q), WEFT_MEM_FOCUS);
    status = status == WEFT_OK && !q->late ? set_high(q, item) : status;
    if (status == WEFT_OK && q->drawn > 0) {
        q->late = false; /* it may have been up in the sample for hi: the first round sees it again */
        status = decide(q, item, list_between(q, q->lo, q->hi, item));
    }
    weft_free(item);
    if (status == WEFT_OK) {
        count_answers(q);
    }
    return status;
}

/* ---- with a limit ---- */

/* Asks in rounds, and stops behind the one that has enough. */
static weft_status run_limit(focus_query *q)
{
    const int64_t items = units_of(q);
    int64_t *order = NULL, *round = NULL;
    weft_status status;
    WEFT_TRY_GOTO(WEFT_NEW(&order, items, WEFT_MEM_FOCUS), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&round, items, WEFT_MEM_FOCUS), status, done);
    for (int64_t i = 0; i < items; ++i) {
        order[i] = i;
    }
    WEFT_TRY_GOTO(rank_units(q, order, items), status, done);
    for (int64_t at = 0; at < items && q->count < q->limit && !q->late;) {
        const int64_t missing = q->limit - q->count, wanted = missing > ROUND ? missing : ROUND;
        const int64_t end = at + wanted < items ? at + wanted : items;
        for (int64_t i = at; i < end; ++i) {
            round[i - at] = order[i];
        }
        WEFT_TRY_GOTO(ask(q, round, end - at), status, done);
        for (; at < end; ++at) {
            if (truth_of(q, order[at]) == 1 && q->count < q->limit) {
                q->found[q->count++] = order[at];
            }
        }
    }
    q->lo = FOCUS_ALL;
    q->hi = FOCUS_NONE;
done:
    WEFT_FREE_ALL(order, round);
    return status;
}

weft_status focus_query_run(focus_query *q, int64_t indexed_class)
{
    const focus_index *index = q->asker->index;
    WEFT_CHECK(index->items > 0, WEFT_ERR_DATA, "%s: holds no items: add some with weft focus ingest", q->asker->path);
    WEFT_TRY(focus_units_make(index, q->span, &q->units));
    WEFT_CHECK(q->units.count > 0, WEFT_ERR_USAGE,
               "%s: holds nothing of the frames that " FLAG_FOCUS_FRAMES " names: it has frames 0-%lld", q->asker->path,
               (long long)q->units.frames - 1);
    q->labels = smaller(q->labels, units_of(q));
    q->start = clock_seconds();
    WEFT_TRY(WEFT_NEW(&q->code, units_of(q), WEFT_MEM_FOCUS));
    WEFT_TRY(WEFT_NEW(&q->found, units_of(q), WEFT_MEM_FOCUS));
    WEFT_TRY(focus_units_score(&q->units, index, indexed_class, q->code));
    if (q->units.all == index->items && q->units.item != NULL && q->limit == 0) {
        WEFT_TRY(
            focus_units_stride(q->asker->origin, index->items, index->tracks, q->recall, &q->stride, &q->stride_runs));
    }
    return q->limit > 0 ? run_limit(q) : run_thresholds(q);
}

/* ---- print ---- */

/* NAME of NAME#WIDTHxHEIGHT+LEFT+TOP. */
static void print_frame(FILE *out, const focus_query *q, int64_t item)
{
    char frame[FOCUS_NAME_BYTES];
    const char *name = focus_index_name(q->asker->index, item), *end = strrchr(name, '#');
    snprintf(frame, sizeof frame, "%.*s", end != NULL ? (int)(end - name) : (int)strlen(name), name);
    table_print_text(out, frame, TABLE_CSV);
}

static void print_item(FILE *out, const focus_query *q, int64_t unit)
{
    const int64_t item = focus_unit_item(&q->units, unit);
    const char *name = focus_index_name(q->asker->index, item);
    if (q->units.item != NULL) {
        fprintf(out, "%lld,", (long long)q->units.track[unit]);
    }
    if (name != NULL) {
        table_print_text(out, name, TABLE_CSV);
    } else {
        fprintf(out, "%lld", (long long)item);
    }
    if (q->units.item != NULL) {
        putc(',', out);
        print_frame(out, q, q->units.first[unit]);
        putc(',', out);
        print_frame(out, q, q->units.last[unit]);
        fprintf(out, ",%lld", (long long)q->units.items[unit]);
    }
}

void focus_query_print(FILE *out, const focus_query *q, const char *title)
{
    fprintf(out, q->units.item != NULL ? "track,%s,first,last,boxes,score,answer\n" : "%s,score,answer\n", title);
    for (int64_t i = 0; i < q->count; ++i) {
        const int64_t unit = q->found[i];
        print_item(out, q, unit);
        fprintf(out, ",%.6f,%s\n", 1.0 / (1.0 + exp(-focus_log_odds(q->code[unit]))),
                truth_of(q, unit) == 1 ? "verified" : "accepted");
    }
}

void focus_query_free(focus_query *q)
{
    WEFT_FREE_ALL(q->code, q->found, q->sample);
    focus_units_free(&q->units);
}

/*
 * app/cli/command_focus.c: weft focus: an index that a cheap network makes of data, and queries that an expensive one
 * answers from it, on any number of ranks (docs/howto-focus.md).
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "app/cli/model_job.h"
#include "app/focus/focus_ingest.h"
#include "app/focus/focus_network.h"
#include "app/focus/focus_plan.h"
#include "app/focus/focus_query.h"
#include "app/table/grid.h"
#include "base/escape.h"
#include "base/integer/integers.h"
#include "base/log.h"
#include "base/number.h"
#include "focus/bounds/thresholds.h"

typedef enum focus_action { FOCUS_PLAN, FOCUS_INGEST, FOCUS_QUERY, FOCUS_ACTIONS } focus_action;

static const char *const actions[FOCUS_ACTIONS] = {"plan", "ingest", "query"};

typedef struct focus_work {
    focus_action action;
    focus_plan plan;
    focus_ingested ingested;
    focus_index index; /* rank 0's */
    focus_asker asker;
    focus_query query;
} focus_work;

/* ---- query ---- */

static double probability_of(int32_t code)
{
    return code <= FOCUS_ALL ? 0.0 : code >= FOCUS_NONE ? 1.0 : 1.0 / (1.0 + exp(-focus_log_odds((uint16_t)code)));
}

/* The index keeps what was asked, so that the same query goes on. */
static void tell_late(const focus_query *q)
{
    if (q->limit > 0 || q->drawn == 0) {
        log_warn(FLAG_FOCUS_TIME
                 ": the time was up%s: nothing is promised about what else there is; the same query goes on",
                 q->limit > 0 ? "" : " before the sample of " FLAG_FOCUS_LABELS " was labelled");
        return;
    }
    log_warn(FLAG_FOCUS_TIME ": the time was up at p = %.6f: the answers hold at least the share %.3f of the class, at "
                             "confidence %g; the same query goes on",
             probability_of(q->lo), q->kept, 1.0 - q->delta);
}

/* Says why no item is left out, and the largest recall for which this sample would leave some out, rounded down. */
static void tell_all(const focus_query *q)
{
    const bool whole = q->drawn == q->units.count;
    char most[80] = "";
    if (!whole && q->recall_most >= 0.01) {
        snprintf(most, sizeof most, "; " FLAG_FOCUS_RECALL " %.4f is the most that this sample promises",
                 floor(q->recall_most * 1e4) / 1e4);
    }
    log_info("thresholds: nothing is left out: %s%s",
             whole              ? "the sample of " FLAG_FOCUS_LABELS " is everything"
             : q->recall >= 1.0 ? "no sample promises " FLAG_FOCUS_RECALL " 1, as what it lacks may have any score"
                                : "the sample shows too few items of the class",
             most);
}

static void tell_thresholds(const focus_query *q)
{
    if (q->lo == FOCUS_ALL && !q->late) {
        tell_all(q);
    } else {
        log_info("thresholds: left out below p = %.6f (%s)", probability_of(q->lo),
                 q->late         ? "where the time was up"
                 : q->importance ? "a sample drawn by scores"
                                 : "a uniform sample");
    }
    if (q->hi == FOCUS_NONE) {
        log_info("thresholds: nothing is accepted unseen: %s",
                 q->late               ? "the time was up"
                 : q->precision >= 1.0 ? "no sample promises " FLAG_FOCUS_PRECISION " 1, so every answer is verified"
                                       : "the network ran on all that is not left out");
    } else {
        log_info("thresholds: accepted from p = %.6f on", probability_of(q->hi));
    }
}

/* Looking at some frames alone is the plan that needs no small network; answers that the index held already count, as
 * it would have asked for them, too. */
static void tell_stride(const focus_query *q)
{
    const double asked = (double)(q->asker->runs + q->asker->known);
    if (q->stride == 1) {
        log_info("looking at every s-th frame alone would miss more of the tracks for any s from 2 to %d",
                 FOCUS_STRIDE_MOST);
    } else {
        log_info("looking at one frame in %lld alone, the cheapest up to %d that shows the share %g of all tracks, "
                 "needs %lld "
                 "runs: %.2f times those of this query",
                 (long long)q->stride, FOCUS_STRIDE_MOST, q->recall, (long long)q->stride_runs,
                 (double)q->stride_runs / fmax(asked, 1.0));
    }
}

static void tell(const focus_query *q, const char *class)
{
    const focus_asker *a = q->asker;
    log_info(
        "class %s: %lld answer%s (%lld accepted, the others verified) of %lld %s%s; the network ran on %lld of %lld "
        "item%s, and the index held its answers for %lld more",
        class, (long long)q->count, q->count == 1 ? "" : "s", (long long)q->accepted, (long long)q->units.count,
        q->units.item != NULL ? "track" : "item", q->units.count == 1 ? "" : "s", (long long)a->runs,
        (long long)q->units.all, q->units.all == 1 ? "" : "s", (long long)a->known);
    if (q->units.all < a->index->items) {
        log_info("frames %lld-%lld alone: promises and counts are about them", (long long)q->span.first,
                 (long long)smaller(q->span.last, q->units.frames - 1));
    }
    if (q->late) {
        tell_late(q);
    }
    if (q->limit > 0 && q->count < q->limit && !q->late) {
        log_info("the network ran on everything: there are no more than %lld", (long long)q->count);
    }
    if (q->limit == 0 && !(q->late && q->drawn == 0)) { /* without a sample there are no thresholds */
        tell_thresholds(q);
    }
    if (q->stride > 0 && !q->late) {
        tell_stride(q);
    }
}

/* A-B of --frames; "": all. */
static weft_status span_of(const weft_options *o, focus_span *span)
{
    const char *text = option_text(o, OPT_FOCUS_FRAMES), *dash = strchr(text, '-');
    char first[NUMBER_TEXT_MAX + 1] = "";
    *span = FOCUS_ALL_FRAMES;
    if (text[0] == '\0') {
        return WEFT_OK;
    }
    if (dash != NULL && dash - text < (ptrdiff_t)sizeof first) {
        memcpy(first, text, (size_t)(dash - text));
    }
    WEFT_CHECK(first[0] != '\0' && number_parse_int(first, &span->first) && number_parse_int(dash + 1, &span->last) &&
                   span->first >= 0 && span->first <= span->last,
               WEFT_ERR_USAGE,
               FLAG_FOCUS_FRAMES " %s: two numbers of frames from 0 on, the first and the last, such as 900-1799",
               text);
    return WEFT_OK;
}

/* Rank 0, while the others serve. */
static weft_status run_query(focus_work *w, const weft_options *o)
{
    focus_asker *a = &w->asker;
    focus_query *q = &w->query;
    const saved_model *m = a->network->model;
    const char *class = option_text(o, OPT_FOCUS_CLASS);
    int64_t indexed = 0;
    *q = (focus_query){.asker = a,
                       .span = q->span,
                       .recall = option_real(o, OPT_FOCUS_RECALL),
                       .precision = option_real(o, OPT_FOCUS_PRECISION),
                       .delta = 1.0 - option_real(o, OPT_FOCUS_CONFIDENCE),
                       .labels = option_int(o, OPT_FOCUS_LABELS),
                       .limit = option_int(o, OPT_FOCUS_LIMIT),
                       .seconds = option_real(o, OPT_FOCUS_TIME),
                       .seed = (uint64_t)option_int(o, OPT_FOCUS_SEED)};
    focus_network_hash(a->network, a->hash);
    const focus_head *head = &a->index->head;
    WEFT_TRY(focus_network_class(&m->classes, m->outputs, m->path, class, &q->asked_class));
    WEFT_TRY(
        focus_network_indexed(&head->class_name, head->classes, a->path, &m->classes, m->outputs, class, &indexed));
    WEFT_TRY(focus_asker_begin(a));
    const workload *data = a->network->work;
    if (data->held.total > a->index->items) {
        log_warn("%s: holds %lld of the %lld %s of %s, and the others are not looked at: weft focus ingest adds them",
                 a->path, (long long)a->index->items, (long long)data->held.total, data->ops->rows, data->name);
    }
    WEFT_TRY(focus_query_run(q, indexed));
    tell(q, class);
    return WEFT_OK;
}

/* [out] span: that of the options. */
static weft_status check_options(const weft_options *o, focus_span *span)
{
    const bool limit = option_int(o, OPT_FOCUS_LIMIT) > 0;
    WEFT_CHECK(option_text(o, OPT_FOCUS_INDEX)[0] != '\0', WEFT_ERR_USAGE,
               FLAG_FOCUS_INDEX " is missing: name the index");
    WEFT_CHECK(option_text(o, OPT_FOCUS_CLASS)[0] != '\0', WEFT_ERR_USAGE,
               FLAG_FOCUS_CLASS " is missing: name the class to look for");
    WEFT_CHECK(option_text(o, OPT_FOCUS_EXPENSIVE)[0] != '\0', WEFT_ERR_USAGE,
               FLAG_FOCUS_EXPENSIVE " is missing: name the trained network whose answers count");
    WEFT_TRY(span_of(o, span));
    return limit && option_flag(o, OPT_FOCUS_COUNT)
               ? option_contradict(o, OPT_FOCUS_LIMIT, OPT_FOCUS_COUNT, "a count is of all items")
               : WEFT_OK;
}

static weft_status query(model_job *job, focus_work *w)
{
    const weft_options *o = job->asked;
    focus_asker *a = &w->asker;
    WEFT_TRY(check_options(o, &w->query.span));
    *a = (focus_asker){.network = &job->predictor, .path = option_text(o, OPT_FOCUS_INDEX), .index = &w->index};
    WEFT_TRY(focus_asker_open(a, job->context.comm));
    WEFT_TRY(predictor_open_model(&job->context, o, option_text(o, OPT_FOCUS_EXPENSIVE), 1, &job->predictor));
    job->predictor.known = a->origin;
    job->predictor.known_count = a->origins;
    WEFT_TRY(predictor_load(&job->predictor, true));
    WEFT_TRY(focus_network_check(&job->predictor));
    return comm_rank(job->context.comm) == 0 ? focus_asker_dismiss(a, run_query(w, o)) : focus_asker_serve(a);
}

/* ---- the command ---- */

static void warn_of_idle(const weft_options *o, focus_action action)
{
    switch (action) {
    case FOCUS_PLAN:
        option_warn_idle(o,
                         OPTION_IDS(OPT_FOCUS_INDEX, OPT_FOCUS_KEPT, OPT_FOCUS_CLASS, OPT_FOCUS_LIMIT, OPT_FOCUS_TIME,
                                    OPT_FOCUS_FRAMES, OPT_FOCUS_COUNT),
                         "on weft focus plan, which is for all classes and makes no index");
        break;
    case FOCUS_INGEST:
        option_warn_idle(o,
                         OPTION_IDS(OPT_FOCUS_EXPENSIVE, OPT_FOCUS_CLASS, OPT_FOCUS_RECALL, OPT_FOCUS_PRECISION,
                                    OPT_FOCUS_CONFIDENCE, OPT_FOCUS_LABELS, OPT_FOCUS_LIMIT, OPT_FOCUS_TIME,
                                    OPT_FOCUS_FRAMES, OPT_FOCUS_COUNT),
                         "on weft focus ingest: it is for weft focus query");
        break;
    default:
        option_warn_idle(o, OPTION_IDS(OPT_FOCUS_CHEAP, OPT_FOCUS_KEPT),
                         "on weft focus query: it is for weft focus ingest");
    }
}

static weft_status run(model_job *job, void *self)
{
    focus_work *w = self;
    const char *asked = option_argument(job->asked, 0);
    while (w->action < FOCUS_ACTIONS && strcmp(asked, actions[w->action]) != 0) {
        w->action++;
    }
    WEFT_CHECK(w->action < FOCUS_ACTIONS, WEFT_ERR_USAGE, "weft focus %s: it is plan, ingest or query", asked);
    WEFT_TRY(option_check_rules(job->asked));
    warn_of_idle(job->asked, w->action);
    switch (w->action) {
    case FOCUS_PLAN:
        return focus_plan_make(&job->context, job->asked, &job->predictor, &w->plan);
    case FOCUS_INGEST:
        return focus_ingest(&job->context, job->asked, &job->predictor, &w->ingested);
    default:
        return query(job, w);
    }
}

static weft_status print_plan(const focus_plan *plan, const weft_options *o)
{
    char folder[FILE_PATH_MAX];
    log_info("plans for %lld %s by %lld runs of the expensive network; figures are means over %d classes",
             (long long)plan->units, plan->units < plan->items ? "tracks" : "items", (long long)plan->labels,
             plan->classes);
    WEFT_TRY(focus_plan_write(plan, option_text(o, OPT_FOCUS_EXPENSIVE), folder));
    if (folder[0] != '\0') {
        log_info("%s/front.csv holds these lines; weft report %s draws them", folder,
                 option_text(o, OPT_FOCUS_EXPENSIVE));
    }
    return focus_plan_print(stdout, plan);
}

static void print_answers(const focus_work *w, const weft_options *o, const char *title)
{
    const focus_query *q = &w->query;
    if (!option_flag(o, OPT_FOCUS_COUNT)) {
        focus_query_print(stdout, q, title);
        return;
    }
    printf("class,count,least,most,confidence,runs\n");
    table_print_text(stdout, option_text(o, OPT_FOCUS_CLASS), TABLE_CSV);
    printf(",%.0f,%.0f,%.0f,%g,%lld\n", q->estimate, q->least, q->most, 1.0 - q->delta, (long long)w->asker.runs);
}

static weft_status print(const model_job *job, void *self)
{
    const focus_work *w = self;
    const workload_ops *ops = job->predictor.work->ops;
    switch (w->action) {
    case FOCUS_PLAN:
        return print_plan(&w->plan, job->asked);
    case FOCUS_INGEST:
        printf("index: %s\nadded: %lld of %lld %s in %.3f s\n",
               escape_say(option_text(job->asked, OPT_FOCUS_INDEX)).text, (long long)w->ingested.added,
               (long long)w->ingested.items, ops->rows, w->ingested.seconds);
        return WEFT_OK;
    default:
        print_answers(w, job->asked, ops->row_title[w->index.head.data[0] == '\0' ? 0 : 1]);
        return WEFT_OK;
    }
}

static void free_work(void *self)
{
    focus_work *w = self;
    focus_query_free(&w->query);
    focus_asker_free(&w->asker);
    focus_index_close(&w->index);
}

weft_status app_focus(const weft_options *options)
{
    static const model_work work = {run, print, free_work};
    focus_work *w = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&w, 1, WEFT_MEM_GENERAL));
    const weft_status status = model_job_run(options, &work, w);
    weft_free(w);
    return status;
}

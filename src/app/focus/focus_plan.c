/* app/focus/focus_plan.c: see app/focus/focus_plan.h. Networks answer here; plans are compared in focus_front.c. */
#include "app/focus/focus_plan.h"

#include <stdlib.h>
#include <string.h>

#include "app/focus/focus_front.h"
#include "app/focus/focus_network.h"
#include "app/focus/focus_scores.h"
#include "app/predict/predictions.h"
#include "base/clock.h"
#include "base/integer/integers.h"
#include "focus/bounds/thresholds.h"
#include "hal/hal.h"

typedef struct planner {
    app_context *context;
    const weft_options *asked;
    front_sample sample; /* units and items are the same on every rank */
    /* ---- rank 0: items that the expensive network is asked about, ascending, and what it says ---- */
    int64_t *item;
    int32_t *said;
    int64_t items;
} planner;

/* Opens a network and its data. What moves is looked for once, and the networks behind the first hear of it. */
static weft_status open_network(planner *s, predictor *p, const char *path)
{
    WEFT_TRY(predictor_open_model(s->context, s->asked, path, 1, p));
    p->known = s->sample.origin;
    p->known_count = s->sample.origin != NULL ? s->sample.items : 0;
    WEFT_TRY(predictor_load(p, true));
    return focus_network_check(p);
}

static weft_status draw(planner *s, const workload *work)
{
    WEFT_CHECK(work->held.total > 1, WEFT_ERR_DATA, "%s: has %lld %s, too few for a plan", work->name,
               (long long)work->held.total, work->ops->rows);
    return front_sample_draw(&s->sample, work, option_int(s->asked, OPT_FOCUS_LABELS),
                             (uint64_t)option_int(s->asked, OPT_FOCUS_SEED));
}

static weft_status copy_names(const predictor *p, front_network *n)
{
    const name_list *names = &p->model->classes;
    return names->text != NULL ? name_list_copy((const char *const *)names->text, names->count, &n->names) : WEFT_OK;
}

/* What `take` makes of these rows' answers, and what an item costs. Collective. */
static weft_status answer(const planner *s, predictor *p, front_network *n, const int64_t *row, int64_t rows,
                          weft_status (*take)(void *, int64_t, int64_t, const float *, int64_t), void *self)
{
    WEFT_TRY(predictor_select(p, row, rows));
    double cost[2] = {-hal_cost_of_thread()->flops, -clock_seconds()};
    WEFT_TRY(focus_scores_run(p, take, self));
    cost[0] += hal_cost_of_thread()->flops;
    cost[1] += clock_seconds();
    WEFT_TRY(comm_allreduce(s->context->comm, &cost[0], 1, WEFT_DTYPE_F64, COMM_SUM));
    n->flops = cost[0] / (double)rows;
    n->seconds = cost[1] / (double)rows;
    return WEFT_OK;
}

/* ---- a cheap network ---- */

static weft_status answer_cheap(planner *s, predictor *p, front_network *n)
{
    weft_comm *comm = s->context->comm;
    front_fold fold = {.sample = &s->sample, .network = n};
    WEFT_TRY(open_network(s, p, n->path));
    WEFT_TRY(comm_agree(comm, s->sample.items == 0 ? draw(s, p->work) : WEFT_OK));
    WEFT_CHECK(p->work->held.total == s->sample.items, WEFT_ERR_INTERNAL, "%s: another number of rows", p->work->name);
    n->classes = p->model->outputs;
    WEFT_TRY(comm_agree(comm, comm_rank(comm) == 0 ? copy_names(p, n) : WEFT_OK));
    const weft_status status = answer(s, p, n, s->sample.row, s->sample.rows, front_fold_take, &fold);
    if (status == WEFT_OK) {
        front_fold_end(&fold);
    }
    front_fold_free(&fold);
    return status;
}

/* ---- the expensive network ---- */

/* Which class of a cheap network stands for a class of the expensive one: that of its name, or that of all others. */
static weft_status match_class(const front_network *large, const front_network *n, int64_t class, int64_t *found)
{
    char number[24];
    (void)snprintf(number, sizeof number, "%lld", (long long)class);
    const char *name = large->names.text != NULL ? large->names.text[class] : number;
    if (n->names.text == NULL) {
        *found = class;
        WEFT_CHECK(n->classes == large->classes, WEFT_ERR_USAGE,
                   "%s: answers with %lld classes, and the expensive network with %lld, without names by which they "
                   "could be matched: leave this one out",
                   n->path, (long long)n->classes, (long long)large->classes);
        return WEFT_OK;
    }
    if (focus_network_indexed(&n->names, n->classes, n->path, &large->names, large->classes, name, found) != WEFT_OK) {
        weft_error_clear();
        return weft_fail(
            WEFT_ERR_USAGE,
            "%s: does not know the class %s of the expensive network, and has no class of all others: leave "
            "it out",
            n->path, name);
    }
    return WEFT_OK;
}

/* Rank 0. */
static weft_status match_classes(planner *s)
{
    const front_network *large = &s->sample.network[0];
    for (int i = 1; i < s->sample.networks; ++i) {
        front_network *n = &s->sample.network[i];
        WEFT_TRY(WEFT_NEW(&n->class_of, large->classes, WEFT_MEM_FOCUS));
        for (int64_t c = 0; c < large->classes; ++c) {
            WEFT_TRY(match_class(large, n, c, &n->class_of[c]));
        }
    }
    return WEFT_OK;
}

static int by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Rank 0: what the cheap networks would have asked about, each item once. */
static weft_status list_asked(planner *s)
{
    const front_sample *f = &s->sample;
    int64_t all = 0;
    WEFT_TRY(WEFT_NEW(&s->item, f->drawn * (f->networks - 1), WEFT_MEM_FOCUS));
    for (int i = 1; i < f->networks; ++i) {
        memcpy(s->item + all, f->network[i].asked, (size_t)f->drawn * sizeof *s->item);
        all += f->drawn;
    }
    qsort(s->item, (size_t)all, sizeof *s->item, by_number);
    for (int64_t i = 0; i < all; ++i) {
        if (s->items == 0 || s->item[s->items - 1] != s->item[i]) {
            s->item[s->items++] = s->item[i];
        }
    }
    return WEFT_NEW(&s->said, s->items, WEFT_MEM_FOCUS);
}

/* Collective. */
static weft_status share_asked(planner *s)
{
    weft_comm *comm = s->context->comm;
    const bool first = comm_rank(comm) == 0;
    WEFT_TRY(comm_agree(comm, first ? list_asked(s) : WEFT_OK));
    WEFT_TRY(comm_bcast(comm, 0, &s->items, sizeof s->items));
    WEFT_TRY(comm_agree(comm, first ? WEFT_OK : WEFT_NEW(&s->item, s->items, WEFT_MEM_FOCUS)));
    return comm_bcast(comm, 0, s->item, s->items * (int64_t)sizeof *s->item);
}

static weft_status take_classes(void *self, int64_t first, int64_t rows, const float *logits, int64_t classes)
{
    planner *s = self;
    for (int64_t i = 0; i < rows; ++i) {
        s->said[first + i] = predictions_class(logits + i * classes, classes);
    }
    return WEFT_OK;
}

/* Rank 0. */
static weft_status hand_out(planner *s)
{
    for (int i = 1; i < s->sample.networks; ++i) {
        front_network *n = &s->sample.network[i];
        WEFT_TRY(WEFT_NEW(&n->truth, s->sample.drawn, WEFT_MEM_FOCUS));
        for (int64_t u = 0; u < s->sample.drawn; ++u) {
            const int64_t *found = bsearch(&n->asked[u], s->item, (size_t)s->items, sizeof *s->item, by_number);
            n->truth[u] = s->said[found - s->item];
        }
    }
    return WEFT_OK;
}

static weft_status answer_expensive(planner *s, predictor *p)
{
    weft_comm *comm = s->context->comm;
    const bool first = comm_rank(comm) == 0;
    front_network *n = &s->sample.network[0];
    WEFT_TRY(open_network(s, p, n->path));
    n->classes = p->model->outputs;
    WEFT_TRY(comm_agree(comm, first ? copy_names(p, n) : WEFT_OK));
    WEFT_TRY(comm_agree(comm, first ? match_classes(s) : WEFT_OK));
    WEFT_TRY(share_asked(s));
    WEFT_TRY(answer(s, p, n, s->item, s->items, take_classes, s));
    return comm_agree(comm, first ? hand_out(s) : WEFT_OK);
}

/* ---- all of them ---- */

/* [in, out] text: a copy of the list, cut at its commas. [out] path: its parts. */
static weft_status cut_list(char *text, const char *path[FRONT_NETWORKS], int *count)
{
    for (char *at = text; at != NULL;) {
        char *comma = strchr(at, ',');
        WEFT_CHECK(*count < FRONT_NETWORKS, WEFT_ERR_USAGE, FLAG_FOCUS_CHEAP ": at most %d networks",
                   FRONT_NETWORKS - 1);
        path[(*count)++] = at;
        if (comma != NULL) {
            *comma++ = '\0';
        }
        at = comma;
    }
    return WEFT_OK;
}

/* The expensive network comes last: what it is asked about depends on the others. */
static weft_status answer_each(planner *s, predictor *p, const char *const *path, int count)
{
    s->sample.networks = count;
    for (int i = 0; i < count; ++i) {
        s->sample.network[i].path = path[i];
    }
    for (int i = 1; i < count; ++i) {
        WEFT_TRY(answer_cheap(s, p, &s->sample.network[i]));
        predictor_close(p);
    }
    return answer_expensive(s, p);
}

weft_status focus_plan_make(app_context *context, const weft_options *asked, predictor *p, focus_plan *plan)
{
    planner s = {.context = context, .asked = asked};
    const char *path[FRONT_NETWORKS] = {option_text(asked, OPT_FOCUS_EXPENSIVE)};
    int count = 1;
    WEFT_CHECK(path[0][0] != '\0', WEFT_ERR_USAGE,
               FLAG_FOCUS_EXPENSIVE " is missing: name the trained network whose answers count");
    WEFT_CHECK(option_text(asked, OPT_FOCUS_CHEAP)[0] != '\0', WEFT_ERR_USAGE,
               FLAG_FOCUS_CHEAP " is missing: name trained networks to compare, separated by commas");
    WEFT_TRY(file_path(plan->cheap, "%s", option_text(asked, OPT_FOCUS_CHEAP)));
    WEFT_TRY(cut_list(plan->cheap, path, &count));
    weft_status status = answer_each(&s, p, path, count);
    if (status == WEFT_OK) {
        const front_goal goal = {.recall = option_real(asked, OPT_FOCUS_RECALL),
                                 .precision = option_real(asked, OPT_FOCUS_PRECISION),
                                 .delta = 1.0 - option_real(asked, OPT_FOCUS_CONFIDENCE),
                                 .labels = (smaller(option_int(asked, OPT_FOCUS_LABELS), s.sample.units) + 1) / 2};
        plan->labels = s.items;
        status = comm_agree(context->comm, front_make(&s.sample, &goal, plan));
    }
    front_sample_free(&s.sample);
    WEFT_FREE_ALL(s.item, s.said);
    return status;
}

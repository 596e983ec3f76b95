/* app/focus/focus_plan.c: see app/focus/focus_plan.h. Networks answer here; plans are compared in focus_front.c. */
#include "app/focus/focus_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/focus/focus_front.h"
#include "app/focus/focus_network.h"
#include "app/focus/focus_scores.h"
#include "base/clock.h"
#include "base/integer/integers.h"
#include "focus/bounds/thresholds.h"
#include "hal/hal.h"

/* What a network says of the sample, and what that cost. */
typedef struct planner {
    app_context *context;
    const weft_options *asked;
    front_sample sample; /* the same on every rank */
    name_list names;     /* of the expensive network's classes, on rank 0 */
} planner;

/* ---- the sample ---- */

static int by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Uniform rows first, then runs of consecutive ones; `row` is all of them, each once. */
static weft_status draw(planner *s, int64_t items)
{
    front_sample *f = &s->sample;
    const int64_t labels = smaller(option_int(s->asked, OPT_FOCUS_LABELS), items), runs = items / FRONT_RUN;
    const uint64_t seed = (uint64_t)option_int(s->asked, OPT_FOCUS_SEED);
    f->items = items;
    WEFT_TRY(WEFT_NEW(&f->uniform, labels, WEFT_MEM_FOCUS));
    WEFT_TRY(WEFT_NEW(&f->row, labels + FRONT_RUNS * FRONT_RUN, WEFT_MEM_FOCUS));
    f->uniforms = focus_draw_uniform(items, labels, seed, FOCUS_NO_CLASS, f->uniform);
    f->runs = focus_draw_uniform(runs, FRONT_RUNS, seed, FOCUS_NO_CLASS, f->run);
    memcpy(f->row, f->uniform, (size_t)f->uniforms * sizeof *f->row);
    f->rows = f->uniforms;
    for (int64_t r = 0; r < f->runs * FRONT_RUN; ++r) {
        f->row[f->rows++] = f->run[r / FRONT_RUN] * FRONT_RUN + r % FRONT_RUN;
    }
    qsort(f->row, (size_t)f->rows, sizeof *f->row, by_number);
    int64_t once = 0;
    for (int64_t i = 0; i < f->rows; ++i) {
        if (once == 0 || f->row[once - 1] != f->row[i]) {
            f->row[once++] = f->row[i];
        }
    }
    f->rows = once;
    return WEFT_OK;
}

/* ---- a network ---- */

static weft_status take_logits(void *self, int64_t first, int64_t rows, const float *logits, int64_t classes)
{
    front_network *n = self;
    if (n->logits == NULL) {
        WEFT_TRY(WEFT_NEW(&n->logits, n->rows * classes, WEFT_MEM_FOCUS));
    }
    memcpy(n->logits + first * classes, logits, (size_t)(rows * classes) * sizeof *logits);
    return WEFT_OK;
}

/* Which class of the network stands for a class of the expensive one: that of its name, or that of all others. */
static weft_status match_class(const planner *s, const predictor *p, int64_t class, int64_t *found)
{
    const saved_model *m = p->model;
    const front_network *large = &s->sample.network[0];
    char number[24];
    (void)snprintf(number, sizeof number, "%lld", (long long)class);
    const char *name = s->names.text != NULL ? s->names.text[class] : number;
    if (m->classes.text == NULL) {
        *found = class;
        WEFT_CHECK(m->outputs == large->classes, WEFT_ERR_USAGE,
                   "%s: answers with %lld classes, and the expensive network with %lld, without names by which they "
                   "could be matched: leave this one out",
                   m->path, (long long)m->outputs, (long long)large->classes);
        return WEFT_OK;
    }
    if (focus_network_indexed(&m->classes, m->outputs, m->path, &s->names, large->classes, name, found) != WEFT_OK) {
        weft_error_clear();
        return weft_fail(
            WEFT_ERR_USAGE,
            "%s: does not know the class %s of the expensive network, and has no class of all others: leave "
            "it out",
            m->path, name);
    }
    return WEFT_OK;
}

/* Rank 0, which has the names. The first network is the expensive one. */
static weft_status match_classes(planner *s, const predictor *p, front_network *n)
{
    const saved_model *m = p->model;
    if (s->sample.networks == 0 && m->classes.text != NULL) {
        WEFT_TRY(name_list_copy((const char *const *)m->classes.text, m->classes.count, &s->names));
    }
    const int64_t classes = s->sample.networks == 0 ? m->outputs : s->sample.network[0].classes;
    WEFT_TRY(WEFT_NEW(&n->class_of, classes, WEFT_MEM_FOCUS));
    for (int64_t c = 0; c < classes; ++c) {
        n->class_of[c] = c;
        WEFT_TRY(s->sample.networks > 0 ? match_class(s, p, c, &n->class_of[c]) : WEFT_OK);
    }
    return WEFT_OK;
}

static weft_status answer(planner *s, predictor *p, const char *path)
{
    front_network *n = &s->sample.network[s->sample.networks];
    weft_comm *comm = s->context->comm;
    WEFT_TRY(predictor_open_model(s->context, s->asked, path, 1, p));
    WEFT_TRY(predictor_load(p, true));
    WEFT_TRY(focus_network_check(p));
    WEFT_TRY(comm_agree(comm, comm_rank(comm) == 0 ? match_classes(s, p, n) : WEFT_OK));
    WEFT_CHECK(p->work->held.total == 0 || workload_row_origin(p->work, 0).width == 0, WEFT_ERR_UNSUPPORTED,
               "%s: plans are made of whole files, not of what moves in frames: weft focus query says what a pair of "
               "networks does there, and what looking at every s-th frame would",
               p->work->name);
    if (s->sample.networks == 0) {
        WEFT_CHECK(p->work->held.total > 1, WEFT_ERR_DATA, "%s: has %lld %s, too few for a plan", p->work->name,
                   (long long)p->work->held.total, p->work->ops->rows);
        WEFT_TRY(comm_agree(comm, draw(s, p->work->held.total)));
    }
    WEFT_CHECK(p->work->held.total == s->sample.items, WEFT_ERR_INTERNAL, "%s: another number of rows", p->work->name);
    n->rows = s->sample.rows;
    n->classes = p->work->outputs;
    WEFT_TRY(predictor_select(p, s->sample.row, s->sample.rows));
    double cost[2] = {-hal_cost_of_thread()->flops, -clock_seconds()};
    WEFT_TRY(focus_scores_run(p, take_logits, n));
    cost[0] += hal_cost_of_thread()->flops;
    cost[1] += clock_seconds();
    WEFT_TRY(comm_allreduce(comm, &cost[0], 1, WEFT_DTYPE_F64, COMM_SUM));
    n->flops = cost[0] / (double)n->rows;
    n->seconds = cost[1] / (double)n->rows;
    n->path = path;
    s->sample.networks++;
    return WEFT_OK;
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

static weft_status answer_each(planner *s, predictor *p, const char *const *path, int count)
{
    for (int i = 0; i < count; ++i) {
        if (i > 0) {
            predictor_close(p);
        }
        WEFT_TRY(answer(s, p, path[i]));
    }
    return WEFT_OK;
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
                                 .labels = (smaller(option_int(asked, OPT_FOCUS_LABELS), s.sample.items) + 1) / 2};
        status = comm_agree(context->comm, front_make(&s.sample, &goal, plan));
    }
    for (int i = 0; i < FRONT_NETWORKS; ++i) {
        WEFT_FREE_ALL(s.sample.network[i].logits, s.sample.network[i].class_of);
    }
    WEFT_FREE_ALL(s.sample.uniform, s.sample.row);
    name_list_free(&s.names);
    return status;
}

/* tune/sched/sched.c: what schedulers of all kinds share: checks, trials, reports. */
#include <math.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/integer/integers.h"
#include "tune/sched/sched_state.h"

weft_mem_tag WEFT_MEM_SCHED[1] = {{.text = "trials of the search"}};

static const char *const kind_names[] = {SCHED_KINDS(CHOICE_NAME)};

static const sched_rule *const rules[] = {
    [SCHED_KIND_FIFO] = &sched_rule_fifo,
    [SCHED_MEDIAN] = &sched_rule_median,
    [SCHED_MEDIAN_OPTUNA] = &sched_rule_median_optuna,
    [SCHED_HYPERBAND] = &sched_rule_hyperband,
    [SCHED_ASHA] = &sched_rule_asha,
    [SCHED_ASHA_STOP] = &sched_rule_asha_stop,
    [SCHED_ASHA_OPTUNA] = &sched_rule_asha_optuna,
    [SCHED_PASHA] = &sched_rule_pasha,
    [SCHED_PBT] = &sched_rule_pbt,
};

static const int64_t most_resource = INT64_C(1) << 40;

/* ---- open and close ---- */

int64_t sched_default_grace(int64_t max_resource, int64_t warmup)
{
    const int64_t part = (3 * max_resource + 25) / 50;
    return smaller(larger(larger(part, warmup), 2), max_resource);
}

static weft_status check_unused(const sched_desc *desc, const sched_rule *rule)
{
    const char *name = kind_names[desc->kind];
    WEFT_CHECK(rule->grace || desc->grace == 0, WEFT_ERR_USAGE, "scheduler %s takes no grace: it stops no trial early",
               name);
    WEFT_CHECK(rule->rungs || desc->reduction == 0, WEFT_ERR_USAGE,
               "scheduler %s takes no reduction factor: it has no rungs", name);
    WEFT_CHECK(desc->kind == SCHED_HYPERBAND || desc->brackets == 0, WEFT_ERR_USAGE,
               "scheduler %s takes no number of brackets: hyperband alone has several", name);
    WEFT_CHECK(desc->kind == SCHED_PBT || (desc->interval == 0 && desc->seed == 0), WEFT_ERR_USAGE,
               "scheduler %s takes neither interval nor seed: pbt alone exchanges weights", name);
    return WEFT_OK;
}

static weft_status check_desc(const sched_desc *desc)
{
    WEFT_CHECK((unsigned)desc->kind <= SCHED_PBT, WEFT_ERR_USAGE, "there is no scheduler %d", (int)desc->kind);
    const char *name = kind_names[desc->kind];
    WEFT_CHECK(desc->max_resource >= 1 && desc->max_resource <= most_resource, WEFT_ERR_USAGE,
               "scheduler %s: a full training of %lld; 1 to %lld", name, (long long)desc->max_resource,
               (long long)most_resource);
    WEFT_CHECK(desc->grace >= 0 && desc->grace <= desc->max_resource, WEFT_ERR_USAGE,
               "scheduler %s: a grace of %lld; 1 to the %lld of a full training", name, (long long)desc->grace,
               (long long)desc->max_resource);
    WEFT_CHECK(desc->reduction == 0 || (desc->reduction >= 2 && desc->reduction <= 1024), WEFT_ERR_USAGE,
               "scheduler %s: a reduction factor of %lld; 2 to 1024", name, (long long)desc->reduction);
    WEFT_CHECK(desc->brackets >= 0, WEFT_ERR_USAGE, "scheduler %s: %lld brackets; 1 and more, or 0 for all", name,
               (long long)desc->brackets);
    WEFT_CHECK(desc->trials >= 0, WEFT_ERR_USAGE, "scheduler %s: %d trials; 1 and more, or 0 for any number", name,
               desc->trials);
    return check_unused(desc, rules[desc->kind]);
}

weft_status sched_open(const sched_desc *desc, sched **out)
{
    weft_status status = WEFT_OK;
    sched *s = NULL;
    *out = NULL;
    WEFT_TRY(check_desc(desc));
    WEFT_TRY(WEFT_NEW_ZERO(&s, 1, WEFT_MEM_SCHED));
    s->desc = *desc;
    s->rule = rules[desc->kind];
    if (s->rule->grace && desc->grace == 0) {
        s->desc.grace = sched_default_grace(desc->max_resource, 0);
    }
    if (s->rule->rungs && desc->reduction == 0) {
        s->desc.reduction = 3;
    }
    if (s->rule->open != NULL) {
        WEFT_TRY_GOTO(s->rule->open(s), status, done);
    }
    *out = s;
    s = NULL;
done:
    sched_close(s);
    return status;
}

void sched_close(sched *s)
{
    if (s == NULL) {
        return;
    }
    for (int t = 0; s->curve != NULL && t < s->trials; t++) {
        weft_free(s->curve[t].point);
    }
    for (int b = 0; b < s->ladders; b++) {
        for (int k = 0; k < s->ladder[b].rungs; k++) {
            weft_free(s->ladder[b].rung[k].entry);
        }
    }
    WEFT_FREE_ALL(s->trial, s->curve, s->ladder, s->distance, s->exploit, s);
}

/* ---- trials ---- */

bool sched_may_start(const sched *s)
{
    return s->desc.trials == 0 || s->trials < s->desc.trials;
}

weft_status sched_start(sched *s, int64_t until, sched_work *work)
{
    WEFT_CHECK(s->trials < INT32_MAX, WEFT_ERR_RESOURCE, "%d trials: there can be no more of a search", s->trials);
    WEFT_TRY(grow_array((void **)&s->trial, sizeof *s->trial, s->trials, &s->trial_capacity, WEFT_MEM_SCHED));
    if (s->rule->curves) {
        WEFT_TRY(grow_array((void **)&s->curve, sizeof *s->curve, s->trials, &s->curve_capacity, WEFT_MEM_SCHED));
        s->curve[s->trials] = (sched_curve){0};
    }
    const double none = (double)NAN;
    s->trial[s->trials] =
        (sched_trial){.state = SCHED_RUNNING, .source = -1, .until = until, .value = none, .best = none};
    *work = (sched_work){.action = SCHED_START, .trial = s->trials, .until = until, .source = -1};
    s->trials++;
    s->running++;
    return WEFT_OK;
}

void sched_resume(sched *s, int trial, int64_t until, sched_work *work)
{
    sched_trial *t = &s->trial[trial];
    t->state = SCHED_RUNNING;
    t->until = until;
    s->running++;
    *work = (sched_work){.action = SCHED_RESUME, .trial = trial, .from = t->resource, .until = until, .source = -1};
}

void sched_idle(const sched *s, sched_work *work)
{
    *work = (sched_work){.action = s->running > 0 ? SCHED_WAIT : SCHED_DONE, .trial = -1, .source = -1};
}

weft_status sched_next_whole(sched *s, sched_work *work)
{
    if (sched_may_start(s)) {
        return sched_start(s, s->desc.max_resource, work);
    }
    sched_idle(s, work);
    return WEFT_OK;
}

weft_status sched_start_whole(sched *s, sched_work *work)
{
    WEFT_CHECK(s->desc.kind == SCHED_ASHA || s->desc.kind == SCHED_PASHA, WEFT_ERR_USAGE,
               "this scheduler trains no trial beside its rungs: take asha or pasha");
    WEFT_TRY(sched_start(s, s->desc.max_resource, work));
    s->trial[work->trial].whole = work->whole = true;
    return WEFT_OK;
}

weft_status sched_next(sched *s, sched_work *work)
{
    return s->rule->next(s, work);
}

/* ---- reports ---- */

static weft_status check_trial(const sched *s, int trial)
{
    WEFT_CHECK(trial >= 0 && trial < s->trials, WEFT_ERR_USAGE, "there is no trial %d: %d have been started", trial,
               s->trials);
    return WEFT_OK;
}

static void end_trial(sched *s, int trial, sched_decision decision)
{
    static const sched_state states[] = {[SCHED_CONTINUE] = SCHED_RUNNING,
                                         [SCHED_PAUSE] = SCHED_PAUSED,
                                         [SCHED_STOP] = SCHED_STOPPED,
                                         [SCHED_COMPLETE] = SCHED_COMPLETED};
    s->trial[trial].state = states[decision];
    s->running -= decision != SCHED_CONTINUE;
}

static weft_status keep_point(sched_curve *curve, int64_t resource, double score)
{
    WEFT_TRY(grow_array((void **)&curve->point, sizeof *curve->point, curve->count, &curve->capacity, WEFT_MEM_SCHED));
    curve->point[curve->count++] = (curve_point){resource, score};
    return WEFT_OK;
}

static weft_status report_diverged(sched *s, int trial, sched_decision *decision)
{
    *decision = SCHED_STOP;
    s->trial[trial].diverged = true;
    return s->rule->left != NULL ? s->rule->left(s, trial, decision) : WEFT_OK;
}

static weft_status report_value(sched *s, int trial, double value, sched_decision *decision)
{
    sched_trial *t = &s->trial[trial];
    const double score = sched_score(s, value);
    t->value = value;
    t->diverged = false;
    if (isnan(t->best) || score > sched_score(s, t->best)) {
        t->best = value;
        t->best_resource = t->resource;
    }
    if (s->rule->curves) {
        WEFT_TRY(keep_point(&s->curve[trial], t->resource, score));
    }
    WEFT_TRY(s->rule->report(s, trial, score, decision));
    if (*decision == SCHED_CONTINUE && t->resource >= s->desc.max_resource) {
        *decision = SCHED_COMPLETE;
    }
    return WEFT_OK;
}

weft_status sched_report(sched *s, int trial, int64_t resource, double value, sched_decision *decision)
{
    *decision = SCHED_CONTINUE;
    WEFT_TRY(check_trial(s, trial));
    sched_trial *t = &s->trial[trial];
    WEFT_CHECK(t->state == SCHED_RUNNING, WEFT_ERR_USAGE, "trial %d reports at %lld, and does not run", trial,
               (long long)resource);
    WEFT_CHECK(resource >= 1, WEFT_ERR_USAGE, "trial %d reports at %lld; resources begin at 1", trial,
               (long long)resource);
    if (resource <= t->resource) {
        return WEFT_OK;
    }
    t->resource = resource;
    WEFT_TRY(isfinite(value) ? report_value(s, trial, value, decision) : report_diverged(s, trial, decision));
    end_trial(s, trial, *decision);
    return WEFT_OK;
}

weft_status sched_remove(sched *s, int trial)
{
    WEFT_TRY(check_trial(s, trial));
    sched_trial *t = &s->trial[trial];
    WEFT_CHECK(t->state == SCHED_RUNNING || t->state == SCHED_PAUSED, WEFT_ERR_USAGE,
               "trial %d has ended: it cannot be taken out", trial);
    s->running -= t->state == SCHED_RUNNING;
    t->state = SCHED_REMOVED;
    return s->rule->left != NULL ? s->rule->left(s, trial, NULL) : WEFT_OK;
}

weft_status sched_limit(sched *s, int trials)
{
    WEFT_CHECK(s->desc.kind != SCHED_PBT, WEFT_ERR_USAGE,
               "scheduler pbt has the population with which it began: start another search for more trials");
    WEFT_CHECK(trials >= 0, WEFT_ERR_USAGE, "%d trials; 1 and more, or 0 for any number", trials);
    s->desc.trials = trials;
    return WEFT_OK;
}

/* ---- facts ---- */

int sched_trials(const sched *s)
{
    return s->trials;
}

int sched_running(const sched *s)
{
    return s->running;
}

const sched_trial *sched_trial_at(const sched *s, int trial)
{
    return &s->trial[trial];
}

const sched_desc *sched_desc_of(const sched *s)
{
    return &s->desc;
}

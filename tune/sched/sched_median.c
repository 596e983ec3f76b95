/*
 * tune/sched/sched_median.c: kinds in which a trial is compared with the median of others at the same resource, and the
 * kind that compares nothing.
 *
 * D. Golovin et al.: Google Vizier: a service for black-box optimization. KDD'17, doi:10.1145/3097983.3098043. Two
 * programs understand the rule differently:
 *
 *   median         Ray 2.60, MedianStoppingRule: from `grace` on, against the median over other trials that reached
 *                  this resource, at least 3, of the mean of their values from grace to now, stopped trials included.
 *   median-optuna  Optuna 5.0, MedianPruner: from `grace` on, against the median of values at exactly this resource of
 *                  completed trials, of which there are at least 5.
 *
 * Both stop a trial whose best value so far is strictly worse. Each decision looks at every trial.
 */
#include <math.h>

#include "base/sample.h"
#include "tune/sched/sched_state.h"

enum { FEWEST_MEANS = 3, FEWEST_COMPLETED = 5 };

/* ---- fifo ---- */

static weft_status go_on(sched *s, int trial, double score, sched_decision *decision)
{
    (void)s;
    (void)trial;
    (void)score;
    (void)decision;
    return WEFT_OK;
}

const sched_rule sched_rule_fifo = {.report = go_on, .next = sched_next_whole};

/* ---- medians ---- */

/* Mean of the scores from grace to `resource` of a trial that reached it; NaN if there is none. */
static double running_mean(const sched *s, int trial, int64_t resource)
{
    const sched_curve *curve = &s->curve[trial];
    double sum = 0.0;
    int count = 0;
    const sched_trial *t = &s->trial[trial];
    if (t->resource < resource || (t->diverged && t->resource == resource)) {
        return (double)NAN;
    }
    for (int i = 0; i < curve->count && curve->point[i].resource <= resource; i++) {
        if (curve->point[i].resource >= s->desc.grace) {
            sum += curve->point[i].score;
            count++;
        }
    }
    return sum / count;
}

/* Score that a completed trial reported at exactly this resource; NaN if there is none. */
static double score_at(const sched *s, int trial, int64_t resource)
{
    const sched_curve *curve = &s->curve[trial];
    for (int i = 0; i < curve->count && s->trial[trial].state == SCHED_COMPLETED; i++) {
        if (curve->point[i].resource == resource) {
            return curve->point[i].score;
        }
    }
    return (double)NAN;
}

static int completed(const sched *s)
{
    int count = 0;
    for (int t = 0; t < s->trials; t++) {
        count += s->trial[t].state == SCHED_COMPLETED;
    }
    return count;
}

/* Medians of an even count, rounded as the sources of the rules round them, so that ties are the same. */
static double ray_median(const sched *s, double low, double high)
{
    (void)s;
    return (low + high) / 2.0;
}

static double optuna_median(const sched *s, double low, double high)
{
    const double half = (high - low) * 0.5;
    return s->desc.maximise ? high - half : low + half;
}

typedef struct median_rule {
    int fewest; /* values to compare with */
    double (*of)(const sched *s, int trial, int64_t resource);
    double (*median)(const sched *s, double low, double high);
} median_rule;

static double median_of(const sched *s, const median_rule *rule, double *value, int count)
{
    sample_sort(value, count);
    return count % 2 != 0 ? value[count / 2] : rule->median(s, value[count / 2 - 1], value[count / 2]);
}

static weft_status compare(sched *s, int trial, const median_rule *rule, sched_decision *decision)
{
    const sched_trial *t = &s->trial[trial];
    double *other = NULL;
    int count = 0;
    WEFT_TRY(WEFT_NEW(&other, s->trials, WEFT_MEM_WORKSPACE));
    for (int u = 0; u < s->trials; u++) {
        const double value = u != trial ? rule->of(s, u, t->resource) : (double)NAN;
        if (isfinite(value)) {
            other[count++] = value;
        }
    }
    if (count >= rule->fewest && sched_score(s, t->best) < median_of(s, rule, other, count)) {
        *decision = SCHED_STOP;
    }
    weft_free(other);
    return WEFT_OK;
}

static weft_status report_ray(sched *s, int trial, double score, sched_decision *decision)
{
    static const median_rule rule = {FEWEST_MEANS, running_mean, ray_median};
    const int64_t resource = s->trial[trial].resource;
    (void)score;
    return resource < s->desc.grace || resource >= s->desc.max_resource ? WEFT_OK : compare(s, trial, &rule, decision);
}

static weft_status report_optuna(sched *s, int trial, double score, sched_decision *decision)
{
    static const median_rule rule = {1, score_at, optuna_median};
    const int64_t resource = s->trial[trial].resource;
    (void)score;
    return resource < s->desc.grace || resource >= s->desc.max_resource || completed(s) < FEWEST_COMPLETED
               ? WEFT_OK
               : compare(s, trial, &rule, decision);
}

const sched_rule sched_rule_median = {.grace = true, .curves = true, .report = report_ray, .next = sched_next_whole};
const sched_rule sched_rule_median_optuna = {
    .grace = true, .curves = true, .report = report_optuna, .next = sched_next_whole};

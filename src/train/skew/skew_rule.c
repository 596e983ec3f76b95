/* train/skew/skew_rule.c: see train/skew/skew_rule.h. */
#include "train/skew/skew_rule.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* The part of `bound` by which the reference falls a check. */
#define AGING 0.125
/* Standard errors that a rise may be off by. */
#define ERRORS 2.0

skew_rule skew_rule_begin(double bound, int rungs, int start, double rise_most)
{
    assert(bound > 0.0 && rise_most >= 0.0 && rungs >= 1 && rungs <= SKEW_RUNGS_MOST && start >= 0 && start < rungs);
    return (skew_rule){.bound = bound, .rungs = rungs, .rung = start, .rise_most = rise_most, .over = 1};
}

static double level_of(const skew_rule *rule, double judge)
{
    double sum = judge;
    int count = 1;
    for (int i = 0; i + 1 < rule->over && rule->judged[i] > 0.0; ++i) {
        sum += rule->judged[i];
        count += 1;
    }
    return sum / count;
}

static double score_of(const skew_rule *rule, const skew_check *check, double level)
{
    const double alarm = (check->home - check->away) / (SKEW_ALARM * rule->bound);
    const double loss = (rule->reference - level) / rule->bound;
    return alarm > loss ? alarm : loss;
}

static void remember(skew_rule *rule, double score, double cost)
{
    const double half = pow(0.5, 1.0 / SKEW_HALF_LIFE);
    for (int64_t r = 0; r < rule->rungs; ++r) {
        rule->memory[r].score *= half;
    }
    skew_memory *here = &rule->memory[rule->rung];
    here->score = score > 1.0 ? score : 0.5 * (here->score + score);
    here->cost = cost;
}

static bool may_climb(const skew_rule *rule)
{
    if (rule->good < SKEW_GOOD_CHECKS || rule->rung + 1 == rule->rungs) {
        return false;
    }
    const skew_memory *here = &rule->memory[rule->rung], *next = here + 1;
    return next->score <= 1.0 && (next->cost == 0.0 || next->cost < here->cost);
}

/* Returns how much the judge rose a check, over a window: one check alone moves by chance as much as a slow rise does.
 * Where a mean is judged, as scores jump, they hide how fast they rise: it is the most that may be, twice the standard
 * error above. The latest judge takes its place in the window. */
static double rise_of(skew_rule *rule, double judge)
{
    const double rise = (judge - rule->judged[SKEW_WINDOW - 1]) / SKEW_WINDOW;
    double apart = 0.0, after = judge;
    for (int i = 0; i < SKEW_WINDOW; ++i) {
        const double by = after - rule->judged[i] - rise;
        apart += by * by;
        after = rule->judged[i];
    }
    memmove(rule->judged + 1, rule->judged, (SKEW_WINDOW - 1) * sizeof *rule->judged);
    rule->judged[0] = judge;
    return rule->over > 1 ? rise + ERRORS * sqrt(apart / SKEW_WINDOW) / SKEW_WINDOW : rise;
}

double skew_rule_decide(skew_rule *rule, const skew_check *check)
{
    const double aged = rule->reference - AGING * rule->bound, level = level_of(rule, check->judge);
    const double score = score_of(rule, check, level), rise = rise_of(rule, check->judge);
    rule->reference = level > aged ? level : aged;
    rule->checks += 1;
    remember(rule, score, check->cost);
    if (score > 1.0) {
        rule->broken += 1;
        rule->good = 0;
        rule->rung -= rule->rung > 0 ? 1 : 0;
        return score;
    }
    /* Equal replicas raise no alarm, and fewer bytes slow down a fast rise, which hides it. */
    rule->good = rule->rise_most > 0.0 && rise > rule->rise_most ? 0 : rule->good + 1;
    if (may_climb(rule)) {
        rule->good = 0;
        rule->rung += 1;
    }
    return score;
}

bool skew_rule_is_valid(const skew_rule *rule, int rungs)
{
    bool valid = rule->rungs == rungs && rule->rung >= 0 && rule->rung < rungs && rule->good >= 0 &&
                 rule->checks >= 0 && rule->rise_most >= 0.0 && isfinite(rule->rise_most) && rule->broken >= 0 &&
                 rule->broken <= rule->checks && rule->bound > 0.0 && rule->bound <= 1.0 &&
                 (rule->over == 1 || rule->over == SKEW_WINDOW) && fabs(rule->reference) <= 2.0;
    for (int i = 0; valid && i < SKEW_WINDOW; ++i) {
        valid = rule->judged[i] >= 0.0 && rule->judged[i] <= 1.0;
    }
    for (int r = 0; valid && r < rungs; ++r) {
        valid = isfinite(rule->memory[r].score) && rule->memory[r].cost >= 0.0 && isfinite(rule->memory[r].cost);
    }
    return valid;
}

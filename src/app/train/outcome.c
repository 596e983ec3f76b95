/* app/train/outcome.c: see app/train/outcome.h. */
#include "app/train/outcome.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "comm/halo_options.def"

static const double hardly_share = 0.1;  /* of the way from the baseline to 1 */
static const double hardly_errors = 2.0; /* standard errors of the baseline's share */
static const double early_share = 0.05;  /* of the epochs */
static const double jump_ratio = 2.0;
static const double jump_floor = 0.05; /* of the first loss: losses near 0 rattle */

enum { EARLY_EPOCHS = 3, EARLY_LEAST = 20 };

/* ---- losses ---- */

void outcome_watch(outcome_losses *l, int run, int64_t epoch, double loss)
{
    if (l->run != run + 1) {
        l->run = run + 1;
        l->first = l->least = loss;
        l->jumped = false;
    }
    const bool jump = loss > jump_ratio * l->least && loss - l->least > jump_floor * l->first;
    if (jump) {
        l->runs_jumped += l->jumped ? 0 : 1;
        l->jumped = true;
    }
    if (jump && (l->to == 0.0 || loss * l->from > l->to * l->least)) { /* the larger ratio, also where one is 0 */
        l->worst_run = run;
        l->worst_epoch = epoch;
        l->from = l->least;
        l->to = loss;
    }
    l->least = fmin(l->least, loss);
}

bool outcome_is_early(int64_t best_epoch, int64_t epochs, double best_score)
{
    const bool first = best_epoch <= EARLY_EPOCHS || (double)best_epoch <= early_share * (double)epochs;
    return epochs >= EARLY_LEAST && best_epoch > 0 && first && !isnan(best_score) && best_score < 1.0;
}

/* ---- rules ---- */

static void rule_empty_test(const outcome_facts *f, char *line)
{
    if (f->test_rows > 0) {
        return;
    }
    snprintf(line, OUTCOME_BYTES, "no labelled %s in the test split: there is no test score (%s)", f->rows,
             f->test_cure);
}

static void rule_empty_valid(const outcome_facts *f, char *line)
{
    if (f->valid_rows > 0) {
        return;
    }
    snprintf(line, OUTCOME_BYTES,
             "no labelled %s in the validation split: the last evaluation stands for the best epoch (%s)", f->rows,
             f->split_cure);
}

/* Nothing to learn: every score is 100 %. */
static void rule_one_class(const outcome_facts *f, char *line)
{
    if (f->train_classes != 1) {
        return;
    }
    snprintf(line, OUTCOME_BYTES,
             "all labelled %s of the training split are of one class: there is nothing to learn, and a score is no "
             "success, not even 100 %% (check the labels and the split)",
             f->rows);
}

/* Of ROC-AUC: labelled rows alone are not enough. */
static void rule_undefined(const outcome_facts *f, char *line)
{
    const bool test = f->test_rows > 0 && isnan(f->test);
    const bool valid = f->valid_rows > 0 && isnan(f->valid);
    if (f->shares || f->numbers || (!test && !valid)) {
        return;
    }
    snprintf(line, OUTCOME_BYTES,
             "no task has both labels in the %s split: ROC-AUC compares rows of label 1 with rows of label 0, so there "
             "is no such score (%s)",
             test && valid ? "validation and in the test"
             : test        ? "test"
                           : "validation",
             f->split_cure);
}

/* What accuracy must gain on the baseline, on so many rows. */
static double least_gain(const outcome_facts *f, double baseline, int64_t rows)
{
    const double part = hardly_share * (1.0 - baseline);
    const double chance = f->shares ? hardly_errors * sqrt(baseline * (1.0 - baseline) / (double)rows) : 0.0;
    return fmax(part, chance);
}

static void rule_baseline(const outcome_facts *f, char *line)
{
    const bool on_test = f->test_rows > 0;
    const int64_t rows = on_test ? f->test_rows : f->valid_rows;
    const double score = on_test ? f->test : f->valid;
    const double baseline = on_test ? f->test_baseline : f->valid_baseline;
    const double gain = score - baseline;
    const bool all = baseline >= 1.0; /* of one class alone, which no score surpasses */
    char rate[48] = "";
    if (!f->no_rate) {
        snprintf(rate, sizeof rate, ", change --lr (now %g)", f->lr);
    }
    if (rows == 0 || f->train_classes == 1 || !(gain < least_gain(f, baseline, rows) || (all && gain <= 0.0))) {
        return;
    }
    snprintf(line, OUTCOME_BYTES,
             "%s %s of %.2f %% is hardly better than %s, %.2f %%: train for more --epochs%s%s, or check that "
             "labels, features and split belong to the same %s%s%s",
             on_test ? "test" : "validation", f->metric, 100.0 * score,
             f->shares ? "answering the largest class of the training split every time" : "a guess", 100.0 * baseline,
             rate, f->normalized ? "" : ", try --normalize standard", f->rows, f->guess_cure[0] != '\0' ? "; " : "",
             f->guess_cure);
}

static void rule_early(const outcome_facts *f, char *line)
{
    char where[96] = "";
    if (f->early_runs == 0 || f->no_rate) {
        return;
    }
    if (f->runs > 1) {
        snprintf(where, sizeof where, " of run %d (%d of %d runs are like it)", f->early_run + 1, f->early_runs,
                 f->runs);
    }
    snprintf(line, OUTCOME_BYTES,
             "the best epoch%s is %" PRId64 " of %" PRId64
             ", and what followed was no better: try a lower --lr (now %g), more --dropout or --weight-decay, and "
             "--patience to stop earlier",
             where, f->early_epoch, f->early_end, f->lr);
}

static void rule_jump(const outcome_facts *f, char *line)
{
    char where[96] = "";
    const outcome_losses *l = &f->losses;
    if (l->runs_jumped == 0 || f->no_rate) {
        return;
    }
    if (f->runs > 1) {
        snprintf(where, sizeof where, " of run %d (%d of %d runs jumped)", l->worst_run + 1, l->runs_jumped, f->runs);
    }
    snprintf(line, OUTCOME_BYTES,
             "the loss jumped from %.4g to %.4g in epoch %" PRId64 "%s: lower --lr (now %g)%s%s%s%s", l->from, l->to,
             l->worst_epoch, where, f->lr, f->normed ? "" : ", or try --norm batch",
             f->old_gradients ? ", " FLAG_FRESH_GRADIENTS : "", f->input_dropped ? ", --input-dropout 0" : "",
             f->normalized ? "" : ", --normalize standard");
}

/* Backends that round differently part by less than this. */
static const double drift_of_rounding = 1e-3;

static void rule_drift(const outcome_facts *f, char *line)
{
    if (f->drift == 0.0 || (f->mixed && f->drift < drift_of_rounding)) {
        return;
    }
    snprintf(line, OUTCOME_BYTES,
             "the ranks' parameters parted: by up to %.2g of their root mean square at the end of a run. Processors or "
             "devices that round differently do so; of one kind, suspect memory: compare a run on fewer nodes",
             f->drift);
}

/* What makes the other figures meaningless comes first. */
static void (*const rules[])(const outcome_facts *facts,
                             char *line) = {rule_empty_test, rule_empty_valid, rule_one_class, rule_undefined,
                                            rule_drift,      rule_baseline,    rule_jump,      rule_early};

int outcome_warn(const outcome_facts *facts, char line[OUTCOME_LINES][OUTCOME_BYTES])
{
    int count = 0;
    _Static_assert(sizeof rules / sizeof *rules <= OUTCOME_LINES, "a line for every rule");
    for (size_t i = 0; i < sizeof rules / sizeof *rules; ++i) {
        line[count][0] = '\0';
        rules[i](facts, line[count]);
        count += line[count][0] != '\0';
    }
    return count;
}
